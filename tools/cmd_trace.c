/*
 * cmd_trace.c - `cuvet trace`: the launches of a run, by kernel, by NVTX range or by layer, or as
 * events for Chrome's tracing page and Perfetto.
 *
 * Exit status: 0; 1 for a failure of ours; 2 for a wrong command line or what is no trace.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "text/json_out.h"
#include "text/printable.h"
#include "tools/cmd.h"
#include "tools/report/trace/layer_order.h"
#include "tools/report/trace/layers.h"
#include "tools/report/trace/trace_rows.h"
#include "tools/report/formats/whole_file.h"

enum { EXIT_OURS = 1, EXIT_INPUT = 2, NAME_WIDTH = 60 };
enum by { BY_KERNEL, BY_RANGE, BY_LAYER };
enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CHROME };

struct view {
    enum by by;
    enum format format;
    const char *pattern; /* of layers; NULL: none */
    struct layers layers;
    struct layer_order order;
    struct trace_rows *counts; /* by order: launches of each kernel so far in the file */
    const char *output;
    FILE *file;
    unsigned rows_shown;
    struct trace_rows *rows;
    struct trace_process process; /* the file's that is being read */
    int64_t origin_ms;            /* of chrome's clock */
    uint64_t events, files, launches, dropped, lost, unended;
    struct json_out json;
};

static const char usage[] =
    "usage: cuvet trace [OPTIONS] FOLDER|TRACE ...\n"
    "      --by WHAT        kernel (the default), range (NVTX) or layer\n"
    "      --layer REGEX    what names a layer, in a range or in a kernel's name: the first "
    "group,\n"
    "                       or the whole match (extended regular expression); implies --by layer\n"
    "      --layers N           by layer, where launch L of a kernel is of layer L modulo N\n"
    "      --begins REGEX   with --layers: a layer begins at each launch of a kernel that it "
    "matches\n"
    "  -n, --rows N         rows that are printed (40); 0: all\n"
    "  -f, --format FORMAT  text, json, or chrome for Perfetto and chrome://tracing\n"
    "      --json           the same as --format json\n"
    "  -o, --output FILE    write there instead of to standard output\n";

static int wrong(const char *sentence, const char *value)
{
    fprintf(stderr, "cuvet trace: %s%s\n%s", sentence, PRINTABLE(value), usage);
    return EXIT_INPUT;
}

/* The number of `word` in a list that ends with NULL, or -1. */
static int word_of(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], word) == 0)
            return i;
    }
    return -1;
}

static int compile_layer(struct view *view)
{
    struct error err = {{0}};
    if (view->order.begins && !view->order.every)
        return wrong("--begins needs --layers N", "");
    if (!view->pattern)
        return view->by == BY_LAYER && !view->order.every
                   ? wrong("--by layer needs --layer REGEX or --layers N", "")
                   : 0;
    if (view->order.every)
        return wrong("--layer does not go with --layers", "");
    if (layers_compile(&view->layers, view->pattern, &err))
        return wrong(err.text, "");
    view->by = BY_LAYER;
    return 0;
}

static int take_layers(struct view *view)
{
    struct error err = {{0}};
    view->by = BY_LAYER;
    return layer_order_number(&view->order, optarg, &err) ? wrong(err.text, "") : 0;
}

static int take_option(struct view *view, int option)
{
    static const char *const bys[] = {"kernel", "range", "layer", NULL};
    static const char *const forms[] = {"text", "json", "chrome", NULL};
    struct error err = {{0}};
    char *end = NULL;
    int found = 0;
    switch (option) {
    case 'b':
        found = word_of(bys, optarg);
        view->by = (enum by)found;
        return found < 0 ? wrong("--by expects kernel, range or layer, not ", optarg) : 0;
    case 'l':
        view->pattern = optarg;
        return 0;
    case 'm':
        return take_layers(view);
    case 'g':
        return layer_order_begins(&view->order, optarg, &err) ? wrong(err.text, "") : 0;
    case 'f':
        found = word_of(forms, optarg);
        view->format = (enum format)found;
        return found < 0 ? wrong("--format expects text, json or chrome, not ", optarg) : 0;
    case 'j':
        view->format = FORMAT_JSON;
        return 0;
    case 'o':
        view->output = optarg;
        return 0;
    default: /* 'n' */
        errno = 0;
        view->rows_shown = (unsigned)strtoul(optarg, &end, 10);
        return errno || *end || *optarg == '-' || end == optarg
                   ? wrong("--rows expects a count, not ", optarg)
                   : 0;
    }
}

/* 0, an exit status, or -1: help was given. */
static int parse(struct view *view, int argc, char **argv)
{
    static const struct option options[] = {
        {"by", required_argument, NULL, 'b'},     {"layer", required_argument, NULL, 'l'},
        {"layers", required_argument, NULL, 'm'}, {"begins", required_argument, NULL, 'g'},
        {"rows", required_argument, NULL, 'n'},   {"format", required_argument, NULL, 'f'},
        {"output", required_argument, NULL, 'o'}, {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},         {0}};
    int option, result = 0;
    optind = 0;
    opterr = 0;
    while (!result && (option = getopt_long(argc, argv, ":f:o:n:h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return -1;
        }
        if (option == ':' || option == '?')
            result = wrong(option == ':' ? "a value is missing after " : "unknown option ",
                           argv[optind - 1]);
        else
            result = take_option(view, option);
    }
    if (!result)
        result = compile_layer(view);
    return !result && optind == argc ? wrong("expected a folder or a trace", "") : result;
}

/* ---- rows ---- */

/* Each file is of a process of its own. False: no memory. */
static bool new_counts(struct view *view)
{
    trace_rows_destroy(view->counts);
    view->counts = view->order.every ? trace_rows_create() : NULL;
    return view->counts || !view->order.every;
}

static const char *kernel_of(const struct trace_line *line)
{
    if (line->kernel)
        return line->kernel;
    return strcmp(line->mode, "graph") == 0 ? "(graph launch)" : "(unknown kernel)";
}

/* By the launches before this one. */
static const char *layer_by_order(const struct view *view, const struct trace_line *line,
                                  char layer[LAYER_BYTES])
{
    struct trace_row *row = line->kernel ? trace_rows_find(view->counts, line->kernel) : NULL;
    if (!row || row == &view->counts->others)
        return "(no layer)";
    int64_t number =
        layer_order_find(&view->order, view->files, line->n, line->kernel, row->launches++);
    if (number < 0)
        return "(no layer)";
    snprintf(layer, LAYER_BYTES, "%" PRId64, number);
    return layer;
}

static const char *name_of(const struct view *view, const struct trace_line *line,
                           char layer[LAYER_BYTES])
{
    if (view->by == BY_RANGE)
        return line->range ? line->range : "(no range)";
    if (view->order.every)
        return layer_by_order(view, line, layer);
    if (view->by == BY_LAYER) {
        const char *const texts[] = {line->range, line->label, line->kernel};
        return layers_find(&view->layers, texts, layer) ? layer : "(no layer)";
    }
    return kernel_of(line);
}

static void put_event(struct view *view, const struct trace_process *process,
                      const struct trace_line *line, const char *plain);

static enum status take_line(void *user, const struct trace_process *process,
                             const struct trace_line *line, struct error *err)
{
    struct view *view = user;
    char layer[LAYER_BYTES];
    struct trace_row *row = trace_rows_find(view->rows, name_of(view, line, layer));
    if (!row)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the trace");
    trace_row_add(row, line);
    view->launches++;
    if (view->format == FORMAT_CHROME)
        put_event(view, process, line, view->by == BY_KERNEL ? row->plain : kernel_of(line));
    return STATUS_OK;
}

/* ---- forms ---- */

static void put_text_row(const struct view *view, const struct trace_row *row)
{
    char name[NAME_WIDTH + 1], shapes[16];
    printable_copy(name, sizeof name, row->plain);
    snprintf(shapes, sizeof shapes, "%u%s", row->shapes, row->shapes == TRACE_SHAPES ? "+" : "");
    fprintf(view->file,
            "  %-*s  %10" PRIu64 "  %5.1f%%  %8" PRIu64 "  %8" PRIu64 "  %7" PRIu64
            "  %6s  %10.2f\n",
            NAME_WIDTH, name, row->launches, 100 * (double)row->launches / (double)view->launches,
            row->checked, row->captured, row->graphs, shapes,
            (double)row->host_ns / 1e3 / (double)row->launches);
}

static void put_text(const struct view *view)
{
    static const char *const titles[] = {"kernel", "range", "layer"};
    const struct trace_rows *rows = view->rows;
    uint32_t shown =
        view->rows_shown && view->rows_shown < rows->rows ? view->rows_shown : rows->rows;
    fprintf(view->file, "%" PRIu64 " launches in %" PRIu64 " trace%s", view->launches, view->files,
            view->files == 1 ? "" : "s");
    if (view->dropped + view->lost > 0)
        fprintf(view->file, "; %" PRIu64 " more were dropped, %" PRIu64 " could not be written",
                view->dropped, view->lost);
    if (view->unended > 0)
        fprintf(view->file, "; %" PRIu64 " without an end", view->unended);
    fprintf(view->file, "\n\n  %-*s  %10s  %6s  %8s  %8s  %7s  %6s  %10s\n", NAME_WIDTH,
            titles[view->by], "launches", "share", "checked", "captured", "graphs", "shapes",
            "us a launch");
    for (uint32_t i = 0; i < shown; i++)
        put_text_row(view, rows->row[i]);
    if (rows->others.launches)
        put_text_row(view, &rows->others);
    if (shown < rows->rows)
        fprintf(view->file, "  ... and %u more (-n 0)\n", rows->rows - shown);
}

static void put_json_row(struct json_out *json, const struct trace_row *row)
{
    json_begin_object(json);
    json_put_string(json, "name", row->name);
    json_put_string(json, "plain", row->plain);
    json_put_uint(json, "launches", row->launches);
    json_put_uint(json, "checked", row->checked);
    json_put_uint(json, "captured", row->captured);
    json_put_uint(json, "graphs", row->graphs);
    json_put_uint(json, "failed", row->failed);
    json_put_uint(json, "shapes", row->shapes);
    json_put_double(json, "host_seconds", (double)row->host_ns / 1e9);
    json_end(json);
}

static void put_json(struct view *view)
{
    struct json_out *json = &view->json;
    json->lines = 2;
    json_begin_object(json);
    json_put_int(json, "version", 1);
    json_put_uint(json, "launches", view->launches);
    json_put_uint(json, "traces", view->files);
    json_put_uint(json, "dropped", view->dropped);
    json_put_uint(json, "lost", view->lost);
    json_put_uint(json, "unended", view->unended);
    json_put_array(json, "rows");
    for (uint32_t i = 0; i < view->rows->rows; i++)
        put_json_row(json, view->rows->row[i]);
    if (view->rows->others.launches)
        put_json_row(json, &view->rows->others);
    json_end(json);
    json_end(json);
    if (json_out_ok(json))
        fprintf(view->file, "%s\n", json->text.data);
}

static void end_event(struct view *view)
{
    json_end(&view->json);
    if (json_out_ok(&view->json))
        fprintf(view->file, "%s%s", view->events++ ? ",\n" : "", view->json.text.data);
}

/* Of the trace that is being read: processes of two hosts, or of two containers, may share a pid.
 */
static uint64_t event_pid(const struct view *view)
{
    return view->files + 1;
}

static void put_process_name(struct view *view, const struct trace_process *process)
{
    char name[160];
    if (process->rank >= 0)
        snprintf(name, sizeof name, "rank %" PRId64 " on %s, pid %" PRId64, process->rank,
                 process->host, process->pid);
    else
        snprintf(name, sizeof name, "%s, pid %" PRId64, process->host, process->pid);
    json_out_clear(&view->json);
    json_begin_object(&view->json);
    json_put_string(&view->json, "ph", "M");
    json_put_string(&view->json, "name", "process_name");
    json_put_uint(&view->json, "pid", event_pid(view));
    json_put_object(&view->json, "args");
    json_put_string(&view->json, "name", name);
    json_end(&view->json);
    end_event(view);
}

static void put_dim3(struct json_out *json, const char *key, const uint32_t value[3])
{
    json_put_array(json, key);
    for (int i = 0; i < 3; i++)
        json_uint(json, value[i]);
    json_end(json);
}

static void put_event_args(struct json_out *json, const struct trace_line *line)
{
    const char *name;
    json_t *value;
    json_put_object(json, "args");
    json_put_uint(json, "n", line->n);
    put_dim3(json, "grid", line->grid);
    put_dim3(json, "block", line->block);
    if (line->stream)
        json_put_string(json, "stream", line->stream);
    json_put_string(json, "mode", line->mode);
    json_put_string(json, "outcome", line->outcome);
    if (line->range)
        json_put_string(json, "range", line->range);
    if (line->args)
        json_object_foreach(line->args, name, value)
        {
            if (json_is_integer(value)) /* beyond 2^53 a double loses digits */
                json_put_int(json, name, json_integer_value(value));
            else if (json_is_number(value))
                json_put_double(json, name, json_number_value(value));
            else
                json_put_string(json, name, json_string_value(value));
        }
    json_end(json);
}

static void put_event(struct view *view, const struct trace_process *process,
                      const struct trace_line *line, const char *plain)
{
    struct json_out *json = &view->json;
    double origin = (double)(process->begin_ms - view->origin_ms) * 1e3;
    if (view->process.launches == 1) {
        if (view->events == 0)
            view->origin_ms = process->begin_ms, origin = 0;
        put_process_name(view, process);
    }
    json_out_clear(json);
    json_begin_object(json);
    json_put_string(json, "ph", "X");
    json_put_string(json, "cat", "launch");
    json_put_string(json, "name", line->label ? line->label : plain);
    json_put_uint(json, "pid", event_pid(view));
    json_put_uint(json, "tid", line->thread);
    json_put_double(json, "ts", origin + (double)line->t / 1e3);
    json_put_double(json, "dur", (double)line->dur / 1e3);
    put_event_args(json, line);
    end_event(view);
}

/* ---- reading ---- */

static enum status add_order(void *user, const struct trace_process *process,
                             const struct trace_line *line, struct error *err)
{
    struct view *view = user;
    const char *const names[] = {line->kernel, line->label};
    (void)process;
    return layer_order_add(&view->order, view->files, line->n, 0, names, err);
}

static enum status read_order(struct view *view, const struct lines_files *files, struct error *err)
{
    char note[LAYER_NAME + 256];
    struct trace_process process;
    enum status status = STATUS_OK;
    for (view->files = 0; !status && view->files < files->count; view->files++)
        status = trace_lines_read(files->path[view->files], add_order, view, &process, err);
    view->files = 0;
    if (!status && layer_order_settle(&view->order, note, sizeof note))
        fprintf(stderr, "cuvet trace: %s\n", PRINTABLE(note));
    return status;
}

static enum status read_all(struct view *view, const struct lines_files *files, struct error *err)
{
    enum status status = STATUS_OK;
    if (view->format == FORMAT_CHROME)
        fprintf(view->file, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    for (size_t i = 0; !status && i < files->count; i++) {
        status = new_counts(view)
                     ? trace_lines_read(files->path[i], take_line, view, &view->process, err)
                     : error_set(err, STATUS_NO_MEMORY, "no memory for the trace");
        view->files++;
        view->dropped += view->process.dropped;
        view->lost += view->process.lost;
        view->unended += !view->process.ended;
    }
    if (view->format == FORMAT_CHROME)
        fprintf(view->file, "\n]}\n");
    return status;
}

static enum status run(struct view *view, int argc, char **argv, struct error *err)
{
    struct lines_files files = {0};
    enum status status = STATUS_OK;
    for (int i = optind; !status && i < argc; i++)
        status = lines_add(&files, argv[i], "trace-", err);
    if (!status && files.count == 0)
        status =
            error_set(err, STATUS_INVALID,
                      "%s holds no trace: expected files trace-*.jsonl, which CUVET_TRACE=1 or "
                      "CUVET_MODE=trace writes into the folder of CUVET_REPORT",
                      argv[optind]);
    if (!status && view->order.every)
        status = read_order(view, &files, err);
    if (!status)
        status = read_all(view, &files, err);
    trace_rows_sort(view->rows);
    lines_release(&files);
    return status;
}

static int cannot_write(const struct view *view)
{
    fprintf(stderr, "cuvet trace: cannot write %s: %s\n",
            PRINTABLE(view->output ? view->output : "to standard output"), strerror(errno));
    return EXIT_OURS;
}

static int show(struct view *view, int argc, char **argv)
{
    struct error err = {{0}};
    struct whole_file out;
    if (!whole_file_open(&out, view->output))
        return cannot_write(view);
    view->file = out.file;
    enum status status = run(view, argc, argv, &err);
    if (!status && view->format == FORMAT_TEXT)
        put_text(view);
    else if (!status && view->format == FORMAT_JSON)
        put_json(view);
    bool written = whole_file_close(&out, !status);
    if (status)
        fprintf(stderr, "cuvet trace: %s\n", err.text);
    if (status)
        return status == STATUS_INVALID ? EXIT_INPUT : EXIT_OURS;
    return written ? 0 : cannot_write(view);
}

int cmd_trace(int argc, char **argv)
{
    struct view view = {.rows_shown = 40};
    int result = parse(&view, argc, argv);
    json_out_init(&view.json);
    if (!result && !(view.rows = trace_rows_create())) {
        fprintf(stderr, "cuvet trace: no memory\n");
        result = EXIT_OURS;
    }
    if (!result)
        result = show(&view, argc, argv);
    layers_release(&view.layers);
    layer_order_release(&view.order);
    trace_rows_destroy(view.rows);
    trace_rows_destroy(view.counts);
    json_out_release(&view.json);
    return result < 0 ? 0 : result;
}
