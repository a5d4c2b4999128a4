/*
 * cmd_diff.c - `cuvet diff`: where two runs of a program part, by the hashes of what their checked
 * launches read and wrote (CUVET_DIGEST).
 *
 * Launches are held against each other by process (rank), kernel and number of the launch among
 * those that ran: one that a graph captures has no number. The second run is kept in memory, the
 * first is read line by line against it. With --align both are kept, and launches are paired by
 * their order (tools/report/diff/aligned.h).
 *
 * Exit status: 0: all launches that both runs have are equal; 1 for a failure of ours; 2 for a
 * wrong command line or input; 3: some differ.
 */
#include <getopt.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text/json_out.h"
#include "text/printable.h"
#include "tools/cmd.h"
#include "tools/report/diff/aligned.h"
#include "tools/report/diff/alone.h"
#include "tools/report/diff/digests.h"
#include "tools/report/trace/layer_order.h"
#include "tools/report/trace/layers.h"
#include "tools/report/diff/processes.h"
#include "tools/report/diff/slots.h"
#include "tools/report/diff/slots_out.h"

enum { EXIT_OURS = 1, EXIT_INPUT = 2, EXIT_FINDINGS = 3, KERNELS = 4096, NAME_WIDTH = 44 };

/* A launch in which the runs differ. */
struct parting {
    bool any;
    char name[DIGESTS_KERNEL];
    uint32_t process, grid[3], block[3];
    uint64_t launch, sequence, unseen;
    int64_t time_ms;
    uint64_t input[2], output[2]; /* of the runs */
    uint64_t second;              /* the number of the launch in the second run */
};

/* Launches of one kernel, or of one layer. */
struct kernel {
    char *symbol;
    uint64_t equal, outputs,
        inputs;           /* launches: equal, other outputs of equal inputs, other inputs */
    struct parting first; /* of either kind */
    bool first_is_output;
};

struct diff {
    struct digests second;
    uint64_t first_launches, both, equal, outputs, inputs;
    struct parting output, input; /* the first of each kind */
    struct rows {
        struct kernel row[KERNELS];
        uint32_t count;
    } kernels, layers;
    struct layers names; /* of layers */
    struct layer_order order;
    bool ranks; /* one process of each run is held against one of the other */
    uint32_t rank[2];
    struct processes processes[2];
    struct only {
        bool compiled;
        regex_t regex; /* of kernels */
    } only;
    bool slots;                   /* what the caches hold, instead of launches */
    struct cache_slots caches[2]; /* of the runs */
    bool align;                   /* launches are paired by their order */
    struct aligned_run aligned[2];
    struct alone alone;
    bool json;
};

static const char usage[] =
    "usage: cuvet diff [--json] [--layer REGEX | --layers N [--begins REGEX]] [--ranks A,B]\n"
    "                  [--kernel REGEX] [--align | --slots] RUN_A RUN_B\n"
    "  RUN_A, RUN_B   folders of journals (CUVET_REPORT, or -o of cuvet "
    "run), or journals, of runs\n"
    "                 with CUVET_DIGEST=1\n"
    "  --layer REGEX  what names a layer in a launch's NVTX range, its label "
    "or its kernel\n"
    "  --layers N     launch L of a kernel is of layer L modulo N\n"
    "  --begins REGEX with --layers: a layer begins at each launch of a kernel that it matches\n"
    "  --ranks A,B    process A of the first run against process B of the second, which may be the "
    "same\n"
    "  --kernel REGEX launches of kernels whose name or label it matches\n"
    "  --align        pairs launches by their order, where one run has launches that the other "
    "lacks\n"
    "  --slots        what the caches hold in the end, instead of launches\n"
    "exits with 3 when a launch that both runs have differs\n";

static int wrong(const char *sentence, const char *value)
{
    fprintf(stderr, "cuvet diff: %s%s\n%s", sentence, PRINTABLE(value), usage);
    return EXIT_INPUT;
}

/* Whether the launch came before the other: by its place among those of its process, by time among
 * processes. */
static bool before(const struct digest_line *line, const struct parting *other)
{
    if (!other->any)
        return true;
    if (line->process == other->process)
        return line->sequence < other->sequence;
    return line->time_ms < other->time_ms;
}

/* What the other run has for a launch. */
struct other {
    uint64_t input, output, launch;
};

static void note(struct parting *parting, const struct digest_line *line, const struct other *other)
{
    if (!before(line, parting))
        return;
    *parting = (struct parting){.any = true,
                                .process = line->process,
                                .launch = line->launch,
                                .sequence = line->sequence,
                                .unseen = line->unseen,
                                .time_ms = line->time_ms,
                                .input = {line->input, other->input},
                                .output = {line->output, other->output},
                                .second = other->launch};
    snprintf(parting->name, sizeof parting->name, "%s", line->label ? line->label : line->kernel);
    memcpy(parting->grid, line->grid, sizeof parting->grid);
    memcpy(parting->block, line->block, sizeof parting->block);
}

/* NULL: no room for a row. */
static struct kernel *find_row(struct rows *rows, const char *name)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        if (strcmp(rows->row[i].symbol, name) == 0)
            return &rows->row[i];
    }
    if (rows->count == KERNELS || !(rows->row[rows->count].symbol = strdup(name)))
        return NULL;
    return &rows->row[rows->count++];
}

/* "(no layer)" where nothing names it. */
static void name_layer(const struct diff *diff, const struct digest_line *line,
                       char layer[LAYER_BYTES])
{
    const char *const texts[] = {line->range, line->label, line->kernel};
    int64_t number = -1;
    if (diff->order.every)
        number = layer_order_find(&diff->order, line->process, line->sequence, line->kernel,
                                  line->number);
    if (number >= 0)
        snprintf(layer, LAYER_BYTES, "%" PRId64, number);
    else if (diff->order.every || !layers_find(&diff->names, texts, layer))
        snprintf(layer, LAYER_BYTES, "(no layer)");
}

/* Whether the line takes part; *out is it, by the process that it is held against. */
static bool select_line(struct diff *diff, const struct digest_line *line, int run,
                        struct digest_line *out)
{
    *out = *line;
    processes_add(&diff->processes[run], line->process);
    if (diff->only.compiled && regexec(&diff->only.regex, line->kernel, 0, NULL, 0) &&
        (!line->label || regexec(&diff->only.regex, line->label, 0, NULL, 0)))
        return false;
    if (!diff->ranks)
        return true;
    out->process = diff->rank[0];
    return line->process == diff->rank[run];
}

static enum status add_second(void *user, const struct digest_line *line, struct error *err)
{
    struct diff *diff = user;
    struct digest_line own;
    if (!select_line(diff, line, 1, &own))
        return STATUS_OK;
    if (diff->slots)
        return cache_slots_add(&diff->caches[1], &own, err);
    return diff->align ? aligned_add(&diff->aligned[1], &own, err)
                       : digests_add(&diff->second, &own, err);
}

static void add_row(struct rows *rows, const char *name, const struct digest_line *line,
                    const struct other *other)
{
    struct kernel *row = find_row(rows, name);
    if (!row)
        return;
    bool inputs = other->input != line->input, outputs = !inputs && other->output != line->output;
    *(inputs ? &row->inputs : outputs ? &row->outputs : &row->equal) += 1;
    if (!inputs && !outputs)
        return;
    if (before(line, &row->first))
        row->first_is_output = outputs;
    note(&row->first, line, other);
}

/* A launch of the first run, and what the second has for it. */
static void compare(struct diff *diff, const struct digest_line *line, const struct other *other)
{
    char layer[LAYER_BYTES];
    diff->both++;
    bool inputs = other->input != line->input, outputs = !inputs && other->output != line->output;
    *(inputs ? &diff->inputs : outputs ? &diff->outputs : &diff->equal) += 1;
    add_row(&diff->kernels, line->kernel, line, other);
    if (diff->order.every || diff->names.compiled) {
        name_layer(diff, line, layer);
        add_row(&diff->layers, layer, line, other);
    }
    if (inputs || outputs)
        note(inputs ? &diff->input : &diff->output, line, other);
}

static enum status add_first(void *user, const struct digest_line *line, struct error *err)
{
    struct diff *diff = user;
    struct digest_line own;
    if (!select_line(diff, line, 0, &own))
        return STATUS_OK;
    if (diff->slots)
        return cache_slots_add(&diff->caches[0], &own, err);
    diff->first_launches++;
    if (diff->align)
        return aligned_add(&diff->aligned[0], &own, err);
    struct digest_entry *entry = digests_find(&diff->second, &own);
    if (!entry || entry->met)
        return STATUS_OK;
    entry->met = true;
    compare(diff, &own, &(struct other){entry->input, entry->output, own.launch});
    return STATUS_OK;
}

static void compare_aligned(void *user, const struct digest_line *first,
                            const struct digest_line *second)
{
    struct diff *diff = user;
    if (first && second)
        compare(diff, first, &(struct other){second->input, second->output, second->launch});
    else
        alone_add(&diff->alone, first ? first : second, first ? 0 : 1);
}

static int by_first(const void *left, const void *right)
{
    const struct kernel *a = left, *b = right;
    if (a->first.any != b->first.any)
        return a->first.any ? -1 : 1;
    if (a->first.process == b->first.process)
        return a->first.sequence < b->first.sequence ? -1 : a->first.sequence > b->first.sequence;
    return a->first.time_ms < b->first.time_ms ? -1 : a->first.time_ms > b->first.time_ms;
}

/* ---- text ---- */

static void put_parting(const struct diff *diff, const char *title, const struct parting *p)
{
    if (!p->any)
        return;
    printf("\n  %s\n    %s, launch %" PRIu64 " of process %u (grid %ux%ux%u, block %ux%ux%u)\n",
           title, PRINTABLE(p->name), p->launch, p->process, p->grid[0], p->grid[1], p->grid[2],
           p->block[0], p->block[1], p->block[2]);
    if (diff->align)
        printf("    launch %" PRIu64 " in the second run\n", p->second);
    printf("    inputs  %016" PRIx64 "  %016" PRIx64 "\n    outputs %016" PRIx64 "  %016" PRIx64
           "\n",
           p->input[0], p->input[1], p->output[0], p->output[1]);
    if (p->unseen > 0)
        printf("    %" PRIu64 " array%s that it may read %s not hashed: they may differ\n",
               p->unseen, p->unseen == 1 ? "" : "s", p->unseen == 1 ? "is" : "are");
}

static void put_rows(const struct rows *rows, const char *title, const char *what)
{
    for (uint32_t i = 0; i < rows->count && rows->row[i].first.any; i++) {
        const struct kernel *k = &rows->row[i];
        char name[NAME_WIDTH + 1];
        if (i == 0)
            printf("%s    %-*s  %7s  %14s  %13s  %9s\n", title, NAME_WIDTH, what, "first",
                   "other outputs", "other inputs", "equal");
        printf("    %-*s  %7" PRIu64 "  %14" PRIu64 "  %13" PRIu64 "  %9" PRIu64 "\n", NAME_WIDTH,
               printable_copy(name, sizeof name, *what == 'k' ? k->first.name : k->symbol),
               k->first.launch, k->outputs, k->inputs, k->equal);
    }
}

/* The layer in which the runs part. */
static void put_layers(const struct rows *rows)
{
    const struct kernel *first = &rows->row[0];
    if (rows->count == 0 || !first->first.any)
        return;
    printf("\n  The first layer that differs: %s, by %s of %s\n", PRINTABLE(first->symbol),
           first->first_is_output ? "other outputs" : "other inputs", PRINTABLE(first->first.name));
    put_rows(rows, "\n  Layers, in the order in which they differed first:\n", "layer");
}

/* Which of the two came first is the place to start from. */
static const char *conclusion(const struct diff *diff)
{
    bool output_first = false;
    if (diff->output.any && diff->input.any)
        output_first = diff->output.process == diff->input.process
                           ? diff->output.sequence < diff->input.sequence
                           : diff->output.time_ms <= diff->input.time_ms;
    if (!diff->output.any && !diff->input.any)
        return "the runs are equal";
    if (!diff->input.any || output_first)
        return "a kernel gave other outputs for equal inputs before any inputs differed";
    return "inputs differed before any kernel gave other outputs for equal ones: what made them "
           "was "
           "not checked, or the runs were given other data";
}

static uint64_t second_launches(const struct diff *diff)
{
    return diff->align ? diff->aligned[1].count : diff->second.count;
}

static void put_text(const struct diff *diff)
{
    printf("cuvet diff: %" PRIu64 " launches with digests in the first run, %" PRIu64
           " in the second, %" PRIu64 " in both.\n  %" PRIu64 " are equal, %" PRIu64
           " gave other outputs for equal inputs, %" PRIu64 " had other inputs:\n  %s.\n",
           diff->first_launches, second_launches(diff), diff->both, diff->equal, diff->outputs,
           diff->inputs, conclusion(diff));
    put_parting(diff, "The first launch with equal inputs and other outputs:", &diff->output);
    put_parting(diff, "The first launch with other inputs:", &diff->input);
    put_layers(&diff->layers);
    put_rows(&diff->kernels, "\n  Kernels, in the order in which they differed first:\n", "kernel");
    if (diff->align)
        alone_text(&diff->alone);
}

/* ---- JSON ---- */

static void put_hash(struct json_out *json, uint64_t hash)
{
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    json_text(json, text);
}

static void put_json_parting(struct json_out *json, const struct diff *diff, const char *key,
                             const struct parting *p)
{
    if (!p->any)
        return;
    json_put_object(json, key);
    json_put_string(json, "kernel", p->name);
    json_put_uint(json, "process", p->process);
    json_put_uint(json, "launch", p->launch);
    if (diff->align)
        json_put_uint(json, "second_launch", p->second);
    json_put_uint(json, "unseen", p->unseen);
    for (int run = 0; run < 2; run++) {
        json_put_array(json, run ? "second" : "first");
        put_hash(json, p->input[run]);
        put_hash(json, p->output[run]);
        json_end(json);
    }
    json_end(json);
}

static void put_json_rows(struct json_out *json, const char *key, const char *what,
                          const struct rows *rows)
{
    json_put_array(json, key);
    for (uint32_t i = 0; i < rows->count && rows->row[i].first.any; i++) {
        const struct kernel *k = &rows->row[i];
        json_begin_object(json);
        json_put_string(json, what, k->symbol);
        json_put_uint(json, "first", k->first.launch);
        json_put_bool(json, "first_is_output", k->first_is_output);
        json_put_uint(json, "equal", k->equal);
        json_put_uint(json, "other_outputs", k->outputs);
        json_put_uint(json, "other_inputs", k->inputs);
        json_end(json);
    }
    json_end(json);
}

static void put_json(const struct diff *diff)
{
    struct json_out json;
    json_out_init(&json);
    json.lines = 2;
    json_begin_object(&json);
    json_put_int(&json, "version", 1);
    json_put_uint(&json, "first_launches", diff->first_launches);
    json_put_uint(&json, "second_launches", second_launches(diff));
    json_put_uint(&json, "both", diff->both);
    json_put_uint(&json, "equal", diff->equal);
    json_put_uint(&json, "other_outputs", diff->outputs);
    json_put_uint(&json, "other_inputs", diff->inputs);
    json_put_string(&json, "conclusion", conclusion(diff));
    put_json_parting(&json, diff, "first_other_output", &diff->output);
    put_json_parting(&json, diff, "first_other_input", &diff->input);
    put_json_rows(&json, "kernels", "kernel", &diff->kernels);
    if (diff->order.every || diff->names.compiled)
        put_json_rows(&json, "layers", "layer", &diff->layers);
    if (diff->align)
        alone_json(&diff->alone, &json);
    json_end(&json);
    if (json_out_ok(&json))
        printf("%s\n", json.text.data);
    json_out_release(&json);
}

/* ---- command line ---- */

/* "A,B" */
static int take_ranks(struct diff *diff)
{
    char *end = NULL;
    unsigned long first = strtoul(optarg, &end, 10);
    bool good = end > optarg && *end == ',';
    const char *next = good ? end + 1 : optarg;
    unsigned long second = good ? strtoul(next, &end, 10) : 0;
    if (!good || end == next || *end || first >= DIGESTS_PROCESSES || second >= DIGESTS_PROCESSES)
        return wrong("--ranks expects two numbers, A,B, not ", optarg);
    diff->ranks = true;
    diff->rank[0] = (uint32_t)first;
    diff->rank[1] = (uint32_t)second;
    return 0;
}

static int take_kernel(struct diff *diff)
{
    if (diff->only.compiled)
        regfree(&diff->only.regex);
    diff->only.compiled = !regcomp(&diff->only.regex, optarg, REG_EXTENDED | REG_NOSUB);
    return diff->only.compiled ? 0 : wrong("--kernel: no regular expression: ", optarg);
}

static int take_option(struct diff *diff, int option, const char *word)
{
    struct error err = {{0}};
    if (option == 'l')
        return layers_compile(&diff->names, optarg, &err) ? wrong(err.text, "") : 0;
    if (option == 'r')
        return take_ranks(diff);
    if (option == 'k')
        return take_kernel(diff);
    if (option == 'n')
        return layer_order_number(&diff->order, optarg, &err) ? wrong(err.text, "") : 0;
    if (option == 'b')
        return layer_order_begins(&diff->order, optarg, &err) ? wrong(err.text, "") : 0;
    diff->json |= option == 'j';
    diff->slots |= option == 's';
    diff->align |= option == 'a';
    return strchr("jsa", option) ? 0 : wrong("unknown option ", word);
}

/* 0, an exit status, or -1: help was given. */
static int parse(struct diff *diff, int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},         {"slots", no_argument, NULL, 's'},
        {"layer", required_argument, NULL, 'l'},  {"layers", required_argument, NULL, 'n'},
        {"begins", required_argument, NULL, 'b'}, {"ranks", required_argument, NULL, 'r'},
        {"kernel", required_argument, NULL, 'k'}, {"align", no_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},         {0}};
    int option;
    optind = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return -1;
        }
        int result = take_option(diff, option, argv[optind - 1]);
        if (result)
            return result;
    }
    if (diff->order.begins && !diff->order.every)
        return wrong("--begins needs --layers N", "");
    if (diff->align && diff->slots)
        return wrong("--align does not go with --slots", "");
    return argc - optind == 2 ? 0 : wrong("expected two runs", "");
}

/* ---- the whole ---- */

/* What the caches hold in the end, whatever launches wrote it. */
static int show_slots(struct diff *diff)
{
    struct cache_slots_diff result;
    cache_slots_settle(&diff->caches[0]);
    cache_slots_settle(&diff->caches[1]);
    cache_slots_compare(&diff->caches[0], &diff->caches[1], &result);
    if (result.both == 0) {
        fprintf(stderr, "cuvet diff: the runs have no row of a cache in common: expected entries "
                        "with 'append', and CUVET_DIGEST=1\n");
        return EXIT_INPUT;
    }
    if (diff->json)
        slots_json(&result);
    else
        slots_text(&result);
    bool differ = result.differ + result.first_only + result.second_only > 0;
    return fflush(stdout) != 0 || ferror(stdout) ? EXIT_OURS : differ ? EXIT_FINDINGS : 0;
}

static enum status none_in_common(const struct diff *diff, struct error *err)
{
    char text[512];
    if (processes_apart(diff->processes, diff->ranks ? diff->rank : NULL, text, sizeof text))
        return error_set(err, STATUS_INVALID, "%s", text);
    return error_set(err, STATUS_INVALID,
                     "the runs have no checked launch in common: give both CUVET_SAMPLE=1 and "
                     "CUVET_BUDGET=off, or the same CUVET_SEED");
}

static enum status add_order(void *user, const struct digest_line *line, struct error *err)
{
    struct diff *diff = user;
    const char *const names[] = {line->kernel, line->label};
    if (diff->ranks && line->process != diff->rank[0])
        return STATUS_OK;
    return layer_order_add(&diff->order, line->process, line->sequence, line->number, names, err);
}

/* Reads both runs. */
static enum status read_runs(struct diff *diff, const char *first, const char *second,
                             struct error *err)
{
    char note[LAYER_NAME + 256];
    enum status status = STATUS_OK;
    if (diff->order.every)
        status = digests_read(first, add_order, diff, err);
    if (!status && layer_order_settle(&diff->order, note, sizeof note))
        fprintf(stderr, "cuvet diff: %s\n", PRINTABLE(note));
    if (!status)
        status = digests_read(second, add_second, diff, err);
    return status ? status : digests_read(first, add_first, diff, err);
}

static int show(struct diff *diff, const char *first, const char *second)
{
    struct error err = {{0}};
    enum status status = read_runs(diff, first, second, &err);
    if (!status && diff->align)
        status = aligned_visit(&diff->aligned[0], &diff->aligned[1], compare_aligned, diff, &err);
    if (!status && diff->slots)
        return show_slots(diff);
    if (!status && diff->both == 0)
        status = none_in_common(diff, &err);
    if (status) {
        fprintf(stderr, "cuvet diff: %s\n", err.text);
        return status == STATUS_INVALID ? EXIT_INPUT : EXIT_OURS;
    }
    qsort(diff->kernels.row, diff->kernels.count, sizeof *diff->kernels.row, by_first);
    qsort(diff->layers.row, diff->layers.count, sizeof *diff->layers.row, by_first);
    if (diff->json)
        put_json(diff);
    else
        put_text(diff);
    if (fflush(stdout) != 0 || ferror(stdout))
        return EXIT_OURS;
    return diff->inputs + diff->outputs > 0 ? EXIT_FINDINGS : 0;
}

static void release(struct rows *rows)
{
    for (uint32_t i = 0; i < rows->count; i++)
        free(rows->row[i].symbol);
}

int cmd_diff(int argc, char **argv)
{
    struct diff *diff = calloc(1, sizeof *diff);
    if (!diff) {
        fprintf(stderr, "cuvet diff: no memory\n");
        return EXIT_OURS;
    }
    int result = parse(diff, argc, argv);
    if (!result)
        result = show(diff, argv[optind], argv[optind + 1]);
    release(&diff->kernels);
    release(&diff->layers);
    layers_release(&diff->names);
    layer_order_release(&diff->order);
    if (diff->only.compiled)
        regfree(&diff->only.regex);
    digests_release(&diff->second);
    cache_slots_release(&diff->caches[0]);
    cache_slots_release(&diff->caches[1]);
    aligned_release(&diff->aligned[0]);
    aligned_release(&diff->aligned[1]);
    alone_release(&diff->alone);
    free(diff);
    return result < 0 ? 0 : result;
}
