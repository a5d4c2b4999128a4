/*
 * cmd_check.c - `cuvet check FILES...`: read registry files as a program under cuvet would, and
 * compile the references that they bring along, where there is NVRTC.
 *
 * With --json one object on standard output: "errors", each with file, line, column and message as
 * far as they are known, and "entries".
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/options.h"
#include "text/json_out.h"
#include "text/printable.h"
#include "driver/nvrtc_api.h"
#include "tools/cmd.h"
#include "tools/progress.h"
#include "tools/fuzz/case/rule.h"
#include "compile/ref_compile.h"
#include "registry/registry.h"
#include "registry/user_ref.h"

extern char **environ;

struct checking {
    const char *tolerances;
    bool as_json;
    struct json_out json;
    size_t problems;
};

/* ---- JSON ---- */

/* ":12" -> 12, behind which *end stands; 0: it is none. */
static unsigned long number_behind(const char *colon, const char **end)
{
    char *stop = NULL;
    bool digit = colon[0] == ':' && colon[1] >= '0' && colon[1] <= '9';
    unsigned long number = digit ? strtoul(colon + 1, &stop, 10) : 0;
    *end = stop ? stop : colon;
    return number;
}

/* "k.yaml:12:7: ...", where the column, or all of the place, may lack: returns the message. A
 * file's name holds no colon, for these separate files. */
static const char *put_place(struct json_out *json, const char *text)
{
    const char *colon = strchr(text, ':'), *end = colon;
    unsigned long line = colon ? number_behind(colon, &end) : 0;
    if (!line)
        return text;
    json_key(json, "file");
    json_string_n(json, text, (size_t)(colon - text));
    json_put_uint(json, "line", line);
    unsigned long column = number_behind(end, &end);
    if (column)
        json_put_uint(json, "column", column);
    end += *end == ':';
    return end + strspn(end, " ");
}

static void put_problem(struct json_out *json, const char *sentence)
{
    json_begin_object(json);
    json_put_string(json, "message", put_place(json, sentence));
    json_end(json);
}

static void put_entry(void *user, const struct registry_row *row)
{
    struct json_out *json = user;
    json_begin_object(json);
    json_put_string(json, "kernel", row->kernel);
    json_put_string(json, "label", row->label);
    json_put_string(json, "reference", row->reference);
    put_place(json, row->where);
    json_end(json);
}

static void begin_json(struct json_out *json)
{
    json_out_init(json);
    json->lines = 2;
    json_begin_object(json);
    json_put_int(json, "version", 1);
    json_put_array(json, "errors");
}

static bool end_json(struct json_out *json, struct registry *registry)
{
    json_end(json);
    json_put_array(json, "entries");
    if (registry)
        registry_visit(registry, put_entry, json);
    json_end(json);
    json_end(json);
    bool good = json_out_ok(json);
    if (good)
        puts(json->text.data);
    json_out_release(json);
    return good;
}

/* ---- the files ---- */

static void complain(void *user, const char *sentence)
{
    struct checking *checking = user;
    ++checking->problems;
    if (checking->as_json)
        put_problem(&checking->json, sentence);
    else
        fprintf(stderr, "%s\n", PRINTABLE(sentence));
}

/* "a.yaml", "b.yaml" -> "a.yaml:b.yaml", the form of CUVET_CONFIG. The caller frees it. */
static char *join_paths(int count, char **paths)
{
    size_t size = 1;
    for (int i = 0; i < count; i++)
        size += strlen(paths[i]) + 1;
    char *joined = malloc(size);
    if (!joined)
        return NULL;
    char *end = joined;
    for (int i = 0; i < count; i++) {
        if (i > 0)
            *end++ = ':';
        end = stpcpy(end, paths[i]);
    }
    *end = '\0';
    return joined;
}

/* Any architecture will do: what is wrong with a text is so for all. */
static void compile_references(const struct user_references *users, struct checking *checking)
{
    struct options options;
    struct error err = {{0}};
    if (!users->texts)
        return;
    options_read(&options, environ, NULL, NULL);
    struct find_hints hints = {.path = options.nvrtc};
    find_homes(&hints);
    if (nvrtc_api_load(&hints, &err)) {
        fprintf(stderr, "cuvet: references of the registry's own were not compiled: %s\n",
                err.text);
        return;
    }
    for (unsigned i = 0; i < users->texts; i++) {
        struct ref_image image;
        err = (struct error){{0}};
        progress_tick("cuvet check: compiling the registry's references");
        enum status status = ref_compile(users->text[i], 0, &image, &err);
        progress_clear();
        if (status)
            complain(checking, err.text);
        ref_image_release(&image);
    }
}

/* What files name goes to the terminal line by line, through the filter. */
static void print_registry(struct registry *registry)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return;
    registry_print(registry, memory);
    if (fclose(memory) == 0) {
        for (char *line = text, *end; *line; line = end) {
            size_t length = strcspn(line, "\n");
            end = line + length + (line[length] == '\n');
            line[length] = '\0';
            printable_text(line);
            puts(line);
        }
    }
    free(text);
    fflush(stdout);
}

static void check_registry(struct checking *checking, struct registry *registry)
{
    if (!registry)
        return;
    fuzz_rules_check(registry, complain, checking);
    if (!checking->as_json)
        print_registry(registry);
    compile_references(registry_user_references(registry), checking);
}

static int check(struct checking *checking, const char *files)
{
    const struct registry_source source = {.files = files, .tolerances = checking->tolerances};
    struct registry *registry = NULL;
    if (checking->as_json)
        begin_json(&checking->json);
    enum status status = registry_load(&registry, &source, complain, checking);
    check_registry(checking, registry);
    if (checking->as_json && !end_json(&checking->json, registry))
        status = STATUS_NO_MEMORY;
    if (checking->problems && !checking->as_json)
        fprintf(stderr, "cuvet: %zu problem%s\n", checking->problems,
                checking->problems == 1 ? "" : "s");
    else if (status != STATUS_OK && !checking->problems)
        fprintf(stderr, "cuvet: the registry could not be read\n");
    registry_destroy(registry);
    return status == STATUS_NO_MEMORY ? 1 : status || checking->problems ? 2 : 0;
}

/* -1: help was given; -2: a wrong command line. */
static int parse(struct checking *checking, int argc, char **argv)
{
    static const struct option options[] = {{"tolerances", required_argument, NULL, 't'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    optind = 0;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (option == 'h')
            return -1;
        if (option == '?')
            return -2;
        if (option == 't')
            checking->tolerances = optarg;
        checking->as_json |= option == 'j';
    }
    return optind < argc ? 0 : -2;
}

int cmd_check(int argc, char **argv)
{
    struct checking checking = {0};
    int parsed = parse(&checking, argc, argv);
    if (parsed) {
        fprintf(parsed == -1 ? stdout : stderr,
                "usage: cuvet check [--json] [--tolerances FILE] FILES...\n");
        return parsed == -1 ? 0 : 2;
    }
    char *files = join_paths(argc - optind, argv + optind);
    int result = files ? check(&checking, files) : 1;
    free(files);
    return result;
}
