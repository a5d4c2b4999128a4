/*
 * cmd_report.c - `cuvet report`: the journals of any number of processes, ranks and hosts as one
 * report.
 *
 * Exit status: 0; 1 for a failure of ours; 2 for a wrong command line or what is no journal; 3 when
 * a launch is a mismatch.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "text/printable.h"
#include "tools/cmd.h"
#include "tools/report/formats/out.h"
#include "tools/report/formats/whole_file.h"

enum { EXIT_OURS = 1, EXIT_INPUT = 2, EXIT_FINDINGS = 3 };

struct format {
    const char *name;
    void (*write)(FILE *file, const struct model *model);
};

static const struct format formats[] = {{"text", out_text},   {"html", out_html},
                                        {"json", out_json},   {"junit", out_junit},
                                        {"sarif", out_sarif}, {"openmetrics", out_openmetrics},
                                        {NULL, NULL}};

static const char usage[] =
    "usage: cuvet report [OPTIONS] FOLDER|JOURNAL ...\n"
    "  -f, --format FORMAT  text, html, json, junit, sarif or openmetrics; without it what the\n"
    "                       name after -o ends with (.html, .json, .xml, .sarif, .prom), or text\n"
    "      --json           the same as --format json\n"
    "  -o, --output FILE    write there instead of to standard output\n"
    "exits with 3 when a launch is a mismatch, with 2 for input that is no journal\n";

static int wrong(const char *sentence, const char *value)
{
    fprintf(stderr, "cuvet report: %s%s\n%s", sentence, PRINTABLE(value), usage);
    return EXIT_INPUT;
}

static const struct format *find_format(const char *name)
{
    const struct format *format = formats;
    while (format->name && strcmp(format->name, name) != 0)
        format++;
    return format->name ? format : NULL;
}

static const struct format *format_of_file(const char *output)
{
    static const char *const ends[][2] = {{".html", "html"},   {".htm", "html"},
                                          {".json", "json"},   {".xml", "junit"},
                                          {".sarif", "sarif"}, {".prom", "openmetrics"}};
    size_t length = output ? strlen(output) : 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i][0]);
        if (length > end && strcmp(output + length - end, ends[i][0]) == 0)
            return find_format(ends[i][1]);
    }
    return formats;
}

/* 0, an exit status, or -1: help was given. */
static int parse(int argc, char **argv, const struct format **format, const char **output)
{
    static const struct option options[] = {{"format", required_argument, NULL, 'f'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int option;
    optind = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":f:o:h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return -1;
        }
        if (option == ':')
            return wrong("a value is missing after ", argv[optind - 1]);
        if (option == '?')
            return wrong("unknown option ", argv[optind - 1]);
        if (option == 'o')
            *output = optarg;
        else if (!(*format = find_format(option == 'j' ? "json" : optarg)))
            return wrong("--format expects text, html, json, junit, sarif or openmetrics, not ",
                         optarg);
    }
    if (!*format)
        *format = format_of_file(*output);
    return optind == argc ? wrong("expected a folder or a journal", "") : 0;
}

static int failed(const struct error *err, enum status status)
{
    fprintf(stderr, "cuvet report: %s\n", err->text);
    return status == STATUS_INVALID ? EXIT_INPUT : EXIT_OURS;
}

static int read_all(struct model *model, int argc, char **argv)
{
    struct lines_files files = {0};
    struct error err = {{0}};
    enum status status = STATUS_OK;
    for (int i = optind; !status && i < argc; i++)
        status = lines_add(&files, argv[i], "journal-", &err);
    if (!status && files.count == 0)
        status = error_set(&err, STATUS_INVALID,
                           "%s holds no journal: expected files journal-*.jsonl, which a program "
                           "under cuvet writes into the folder of CUVET_REPORT",
                           argv[optind]);
    for (size_t i = 0; !status && i < files.count; i++)
        status = model_read(model, files.path[i], &err);
    if (!status && model->all_processes == 0)
        status = error_set(&err, STATUS_INVALID, "%s%s: no whole line of a process", files.path[0],
                           files.count > 1 ? " and others" : "");
    if (!status && files.refused > 0)
        fprintf(stderr, "cuvet report: %llu link%s not followed\n",
                (unsigned long long)files.refused, files.refused == 1 ? " was" : "s were");
    lines_release(&files);
    model_finish(model);
    return status ? failed(&err, status) : 0;
}

static int write_out(const struct model *model, const struct format *format, const char *output)
{
    struct whole_file out;
    bool written = whole_file_open(&out, output);
    if (written) {
        format->write(out.file, model);
        written = whole_file_close(&out, true);
    }
    if (!written)
        fprintf(stderr, "cuvet report: cannot write %s: %s\n",
                PRINTABLE(output ? output : "to standard output"), strerror(errno));
    return written ? 0 : EXIT_OURS;
}

int cmd_report(int argc, char **argv)
{
    const struct format *format = NULL;
    const char *output = NULL;
    int result = parse(argc, argv, &format, &output);
    if (result)
        return result < 0 ? 0 : result;
    struct model *model = model_create();
    if (!model) {
        fprintf(stderr, "cuvet report: no memory\n");
        return EXIT_OURS;
    }
    result = read_all(model, argc, argv);
    if (!result)
        result = write_out(model, format, output);
    if (!result && model->verdict[VERDICT_MISMATCH] > 0)
        result = EXIT_FINDINGS;
    model_destroy(model);
    return result;
}
