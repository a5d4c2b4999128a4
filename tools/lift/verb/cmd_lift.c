/*
 * cmd_lift.c - `cuvet lift BUNDLE`: a bundle's launch in the PTX interpreter with fp64 shadows;
 * prints which outputs are off and at which instructions their numbers left the bound.
 *
 * Exit status: 0: every output is within its bound; 1: a failure of ours; 2: wrong arguments, no
 * bundle, or no PTX; 3: an output is outside.
 */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text/json_out.h"
#include "text/printable.h"
#include "tools/cmd.h"
#include "tools/lift/lift.h"
#include "tools/lift/whole.h"
#include "tools/lift/verb/lift_check.h"
#include "tools/lift/verb/lift_device.h"
#include "tools/lift/verb/lift_exact.h"

static const char usage[] =
    "usage: cuvet lift [OPTIONS] BUNDLE\n"
    "       cuvet lift --exact [OPTIONS] BUNDLE BUNDLE\n"
    "       cuvet lift --exact [OPTIONS] [--image FILE] [--kernel NAME] BUNDLE\n"
    "       cuvet lift --check [--kernel NAME] [--json] FILE|FOLDER...\n"
    "  --exact            compare two kernels on the same inputs, over finite fields: are they "
    "the\n"
    "                     same computation up to order and rounding?\n"
    "  --accumulate TYPE  the accumulator that the kernel declares: f64, f32, bf16 or f16 (the\n"
    "                     bundle's, else f32)\n"
    "  --rounds TYPE      the kernel declares to round to bf16 or f16 on the way; may be repeated\n"
    "  --stored ARRAY     the kernel goes on from that output as it was stored; may be repeated\n"
    "  --device WHICH     rewrite its PTX and run all of it: gpu, interpreter, a number, auto\n"
    "  --blocks N         follow at most N blocks of the grid (64)\n"
    "  --blocks LIST      run and follow these alone: 0,5,10-12, or 5-5 for one\n"
    "  --image FILE       take the PTX of another image: PTX, a cubin, fatbin or shared object\n"
    "  --kernel NAME      the kernel's name in that image, where it is another one\n"
    "  --timeout SECONDS  end a run that takes longer (300)\n"
    "  --check            which kernels of images can be held against their own PTX while a "
    "program\n"
    "                     runs (CUVET_LIFT=1), and why the others cannot\n"
    "  --json             print one JSON object\n";

static const char limits[] =
    "lift finds accumulators, conversions and cancellations; it does not see wrong formulas";

enum { LINES_SHOWN = 5, NOTES_SHOWN = 3 };

struct request {
    const char *folder, *other, *image, *kernel;
    const char *alone; /* an option that only the lifting of one bundle has, or NULL */
    struct lift_settings lift;
    char *const *paths; /* of --check */
    int path_count;
    struct worker_settings worker;
    bool json, exact, check, device;
};

/* ---- arguments ---- */

static int wrong(const char *sentence, const char *text)
{
    fprintf(stderr, "cuvet lift: %s%s%s\n%s", sentence, text ? ": " : "",
            text ? PRINTABLE(text) : "", usage);
    return 2;
}

static enum format type_of(const char *text)
{
    for (int format = FORMAT_F16; format <= FORMAT_F64; format++)
        if (!strcmp(format_name((enum format)format), text))
            return (enum format)format;
    return FORMAT_NONE;
}

/* 0, or the exit status. */
static int read_option(int option, const char *value, struct request *request)
{
    char *end;
    const long number = value ? strtol(value, &end, 10) : 0;
    const enum format format = value ? type_of(value) : FORMAT_NONE;
    struct error err = {{0}};
    if (option == 'r' && format && request->lift.rounds[format] == UINT8_MAX)
        return wrong("expected fewer rounding points", value);
    if (strchr("ar", option) && !format)
        return wrong("expected f64, f32, bf16 or f16", value);
    if (option == 'd' && worker_device_read(value, &request->worker, &err))
        return wrong(err.text, NULL);
    const bool list = option == 'b' && strpbrk(value, ",-") && *value != '-';
    request->lift.ranges = option == 'b' ? 0 : request->lift.ranges;
    if (list && !lift_read_ranges(value, &request->lift))
        return wrong("expected blocks as in 0,5,10-12, in 64 parts at most", value);
    if (strchr("bt", option) && !list && (*end || number < 1 || number > 1000000))
        return wrong("expected a number from 1 to 1000000", value);
    if (option == 's' && request->lift.stored_count == SHADOW_STORED)
        return wrong("expected 4 arrays at most", value);
    if (option == 's')
        request->lift.stored[request->lift.stored_count++] = value;
    else if (option == 'a')
        request->lift.unit = number_half_ulp(format, 1);
    else if (option == 'r')
        request->lift.rounds[format]++;
    else if (option == 'b' && !list)
        request->lift.blocks = (uint64_t)number;
    else if (option == 't')
        request->lift.seconds = (unsigned)number;
    else if (option == 'i')
        request->image = value;
    else if (option == 'k')
        request->kernel = value;
    else if (option == 'j')
        request->json = true;
    else if (option == 'x')
        request->exact = true;
    else if (option == 'c')
        request->check = true;
    request->device = request->device || option == 'd';
    return 0;
}

static int read_arguments(int argc, char **argv, struct request *request)
{
    static const struct option options[] = {{"accumulate", required_argument, NULL, 'a'},
                                            {"rounds", required_argument, NULL, 'r'},
                                            {"stored", required_argument, NULL, 's'},
                                            {"device", required_argument, NULL, 'd'},
                                            {"blocks", required_argument, NULL, 'b'},
                                            {"image", required_argument, NULL, 'i'},
                                            {"kernel", required_argument, NULL, 'k'},
                                            {"timeout", required_argument, NULL, 't'},
                                            {"exact", no_argument, NULL, 'x'},
                                            {"check", no_argument, NULL, 'c'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option, at = 0, code = 0;
    opterr = 0;
    optind = 1;
    while (!code && (option = getopt_long(argc, argv, ":h", options, &at)) != -1) {
        request->alone = strchr("arsbd", option) ? options[at].name : request->alone;
        if (option == 'h') {
            fputs(usage, stdout);
            exit(cmd_end("lift", 0));
        }
        code = option == '?'   ? wrong("unknown option", argv[optind - 1])
               : option == ':' ? wrong("the option takes a value", argv[optind - 1])
                               : read_option(option, optarg, request);
    }
    const int folders = argc - optind;
    const bool second = request->image || request->kernel;
    if (!code && request->alone && (request->exact || request->check))
        code = wrong("an option that goes with neither --exact nor --check", request->alone);
    if (!code && request->lift.ranges && request->device)
        code = wrong("--device runs all blocks, which a list of --blocks does not go with", NULL);
    if (!code && request->check && (folders < 1 || request->exact || request->image))
        code = wrong("--check: expected images, and no other option but --kernel and --json", NULL);
    if (!code && !request->check && !request->exact && folders != 1)
        code = wrong("expected the folder of one bundle", NULL);
    if (!code && request->exact && folders + second != 2)
        code = wrong("--exact: expected two bundles, or one and --image or --kernel", NULL);
    request->paths = argv + optind;
    request->path_count = folders;
    request->folder = code ? NULL : argv[optind];
    request->other = code || !request->exact ? NULL : argv[argc - 1];
    return code;
}

/* ---- where ---- */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* cuda_bf16.h, cuda_fp16.hpp: the line of their caller is reported instead. */
static bool is_toolkit(const char *path)
{
    return !strncmp(file_name(path), "cuda_", 5) || !strncmp(file_name(path), "sm_", 3);
}

/* The innermost place outside the toolkit's headers; where there is none, the innermost. */
static const struct ptx_location *place_of(const struct ptx_instruction *ins)
{
    const struct ptx_location *at = ins->location;
    while (at && at->caller && is_toolkit(at->file))
        at = at->caller;
    return at && is_toolkit(at->file) ? ins->location : at;
}

/* "corpus.cuh:33 in reduce.cu:16, PTX line 1204: cvt.rn.bf16.f32" */
static void describe(const struct ptx_instruction *ins, char *out, size_t size)
{
    size_t used = 0;
    int depth = 0;
    for (const struct ptx_location *at = place_of(ins); at && depth < 3; at = at->caller) {
        const struct ptx_location *outer = at->caller;
        if (outer && outer->file == at->file && depth) /* the same file's helpers */
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s%.60s:%u", depth++ ? " in " : "",
                                 PRINTABLE(file_name(at->file)), at->line);
    }
    snprintf(out + used, size - used, "%sPTX line %u: %.60s", used ? ", " : "", ins->line,
             ins->text);
}

/* ---- text ---- */

static void print_head(const struct request *request, const struct bundle *bundle,
                       const struct lift_report *report)
{
    printf("%s: %s, launch %llu (grid %ux%ux%u, block %ux%ux%u)\n", request->folder,
           PRINTABLE(bundle->label), (unsigned long long)bundle->launch, bundle->grid[0],
           bundle->grid[1], bundle->grid[2], bundle->block[0], bundle->block[1], bundle->block[2]);
    printf("  followed   %" PRIu64 " of %" PRIu64 " blocks%s; %.3g million instructions of threads "
           "in %.2f s\n",
           report->followed, report->blocks, request->lift.ranges ? ", the others did not run" : "",
           (double)report->instructions * 1e-6, report->seconds);
    if (report->outcome != EXEC_DONE)
        printf("  stopped    %s\n", PRINTABLE(report->sentence));
    if (report->short_of_memory)
        printf("  memory     some shadows found no room: what they would show is missing\n");
}

/* Memory that the launch may read and the bundle does not hold. */
static void print_unknown(const struct scene *scene)
{
    int unknown = 0;
    for (int i = 0; i < scene->regions; i++)
        unknown += scene->region[i].unknown && !scene->region[i].workspace;
    if (unknown)
        printf(
            "  zeros      the bundle does not hold what %d pointer%s lead%s to: zeros are taken\n",
            unknown, unknown == 1 ? "" : "s", unknown == 1 ? "s" : "");
}

static void print_output(const struct lift_output *out)
{
    if (!out->judged) {
        printf("  %-10s none of its elements was computed by instructions that are followed\n",
               out->name);
        return;
    }
    printf("  %-10s %lld of %lld elements outside", out->name, (long long)out->outside,
           (long long)out->judged);
    if (out->judged < out->elements)
        printf(" (%lld are stored)", (long long)out->elements);
    if (out->lost)
        printf("; %lld are NaN or infinite in fp64, too", (long long)out->lost);
    if (out->wide)
        printf("; the bound of %lld is wide", (long long)out->wide);
    printf("\n             worst: element %lld, %.9g for %.9g, %.3g of the allowed %.3g\n",
           (long long)out->worst.index, out->worst.got, out->worst.y, out->worst_ratio,
           out->worst.allowed);
}

/* Whether two instructions are copies of one: unrolled, or of several calls. */
static bool is_copy(const struct ptx_instruction *a, const struct ptx_instruction *b)
{
    const struct ptx_location *x = place_of(a), *y = place_of(b);
    return x && y && x->file == y->file && x->line == y->line && !strcmp(a->text, b->text);
}

/* The instruction of line `i`, with the elements of its copies; NULL where it is one itself. */
static const struct ptx_instruction *line_of(const struct lift_report *report, size_t i,
                                             int64_t *elements, unsigned *copies)
{
    const struct ptx_instruction *ins = shadow_instruction(&report->shadow, report->line[i].origin);
    *elements = 0;
    *copies = 0;
    for (size_t k = 0; ins && k < report->lines; k++) {
        const struct ptx_instruction *other =
            shadow_instruction(&report->shadow, report->line[k].origin);
        if (k != i && !(other && is_copy(ins, other)))
            continue;
        if (k < i)
            return NULL;
        *elements += report->line[k].elements;
        *copies += k != i;
    }
    return ins;
}

static bool print_line(const struct lift_report *report, size_t i)
{
    const struct tally *tally = &report->shadow.tallies[report->line[i].origin - 1];
    int64_t elements;
    unsigned copies;
    const struct ptx_instruction *ins = line_of(report, i, &elements, &copies);
    char text[256];
    if (!ins)
        return false;
    describe(ins, text, sizeof(text));
    printf("  lost at    %s", text);
    if (copies)
        printf(" and %u copies", copies);
    printf(
        "\n             %lld elements; first %.9g for %.9g, bound %.3g, in block %u,%u,%u thread "
        "%u,%u,%u\n",
        (long long)elements, tally->got, tally->y, tally->e, tally->block[0], tally->block[1],
        tally->block[2], tally->thread[0], tally->thread[1], tally->thread[2]);
    return true;
}

/* The instructions at which the most elements were lost. */
static void print_lines(const struct lift_report *report)
{
    int shown = 0;
    for (size_t i = 0; i < report->lines && shown < LINES_SHOWN; i++)
        shown += print_line(report, i);
    if (shown == LINES_SHOWN)
        printf("             --json lists all instructions\n");
}

static const struct ptx_instruction *instruction_at(const struct lift_report *report, size_t op)
{
    return shadow_instruction(&report->shadow, (uint32_t)op + 1);
}

static void print_notes(const struct lift_report *report)
{
    char text[256];
    unsigned shown = 0;
    for (size_t i = 0; i < report->shadow.ops && shown < NOTES_SHOWN; i++) {
        const struct tally *tally = &report->shadow.tallies[i];
        const struct ptx_instruction *ins = instruction_at(report, i);
        if (!ins || (!tally->cancellations && !tally->overflows))
            continue;
        describe(ins, text, sizeof(text));
        if (tally->overflows)
            printf("  overflow   %s: %" PRIu64 " results are NaN or infinite, of finite numbers\n",
                   text, tally->overflows);
        if (tally->cancellations)
            printf("  cancels    %s: %" PRIu64 " of %" PRIu64 " sums, up to %.0f bits\n", text,
                   tally->cancellations, tally->executed, tally->digits);
        shown++;
    }
}

static void print_text(const struct request *request, const struct scene *scene,
                       const struct lift_report *report, const struct lift_whole *whole)
{
    print_head(request, scene->bundle, report);
    device_print(whole);
    print_unknown(scene);
    for (int i = 0; i < report->outputs; i++)
        print_output(&report->output[i]);
    if (!report->outputs)
        printf("  outputs    none of floating-point numbers\n");
    print_lines(report);
    print_notes(report);
    printf("  limits     %s\n", limits);
}

/* ---- JSON ---- */

static void put_outputs(struct json_out *json, const struct lift_report *report)
{
    json_put_array(json, "outputs");
    for (int i = 0; i < report->outputs; i++) {
        const struct lift_output *out = &report->output[i];
        json_begin_object(json);
        json_put_string(json, "array", out->name);
        json_put_int(json, "elements", out->elements);
        json_put_int(json, "judged", out->judged);
        json_put_int(json, "outside", out->outside);
        json_put_int(json, "lost", out->lost);
        json_put_int(json, "wide", out->wide);
        json_put_int(json, "worst", out->worst.index);
        json_put_double(json, "got", out->worst.got);
        json_put_double(json, "shadow", out->worst.y);
        json_put_double(json, "bound", out->worst.bound);
        json_put_double(json, "allowed", out->worst.allowed);
        json_end(json);
    }
    json_end(json);
}

static void put_place(struct json_out *json, const struct ptx_instruction *ins)
{
    const struct ptx_location *place = place_of(ins);
    json_put_string(json, "instruction", ins->text);
    json_put_uint(json, "ptx_line", ins->line);
    json_put_string(json, "file", place ? place->file : NULL);
    if (place)
        json_put_uint(json, "line", place->line);
}

static void put_lines(struct json_out *json, const struct lift_report *report)
{
    json_put_array(json, "lost_at");
    for (size_t i = 0; i < report->lines; i++) {
        const struct tally *tally = &report->shadow.tallies[report->line[i].origin - 1];
        const struct ptx_instruction *ins =
            shadow_instruction(&report->shadow, report->line[i].origin);
        if (!ins)
            continue;
        json_begin_object(json);
        put_place(json, ins);
        json_put_int(json, "elements", report->line[i].elements);
        json_put_uint(json, "departures", tally->departures);
        json_put_uint(json, "executed", tally->executed);
        json_put_double(json, "got", tally->got);
        json_put_double(json, "shadow", tally->y);
        json_put_double(json, "bound", tally->e);
        json_end(json);
    }
    json_end(json);
}

static void put_notes(struct json_out *json, const struct lift_report *report)
{
    json_put_array(json, "notes");
    for (size_t i = 0; i < report->shadow.ops; i++) {
        const struct tally *tally = &report->shadow.tallies[i];
        const struct ptx_instruction *ins = instruction_at(report, i);
        if (!ins || (!tally->cancellations && !tally->overflows))
            continue;
        json_begin_object(json);
        put_place(json, ins);
        json_put_uint(json, "cancellations", tally->cancellations);
        json_put_double(json, "bits", tally->digits);
        json_put_uint(json, "overflows", tally->overflows);
        json_end(json);
    }
    json_end(json);
}

static bool print_json(const struct request *request, const struct bundle *bundle,
                       const struct lift_report *report, const struct lift_whole *whole)
{
    struct json_out json;
    json_out_init(&json);
    json_begin_object(&json);
    json_put_int(&json, "version", 1);
    json_put_string(&json, "bundle", request->folder);
    json_put_string(&json, "kernel", bundle->kernel);
    json_put_uint(&json, "blocks", report->blocks);
    json_put_uint(&json, "followed", report->followed);
    json_put_uint(&json, "instructions", report->instructions);
    json_put_double(&json, "seconds", report->seconds);
    json_put_string(&json, "stopped", report->outcome != EXEC_DONE ? report->sentence : NULL);
    device_put_json(&json, whole);
    put_outputs(&json, report);
    put_lines(&json, report);
    put_notes(&json, report);
    json_put_string(&json, "limits", limits);
    json_end(&json);
    const bool good = json_out_ok(&json);
    if (good)
        printf("%.*s\n", (int)json.text.length, json.text.data);
    json_out_release(&json);
    return good;
}

/* ---- the verb ---- */

static int fail(const struct error *err, int code)
{
    fprintf(stderr, "cuvet lift: %s\n", err->text);
    return code;
}

/* Of the outputs and the outcome. */
static int status_of(const struct lift_report *report, const struct lift_whole *whole)
{
    bool outside = report->outcome != EXEC_DONE || (whole && whole->verdict.violations);
    for (int i = 0; i < report->outputs; i++)
        outside = outside || report->output[i].outside;
    return outside ? 3 : 0;
}

static int follow(struct request *request, struct stage *stage, const struct lift_whole *whole)
{
    struct lift_report report;
    struct error err = {{0}};
    for (int i = 0; whole && i < whole->places; i++)
        request->lift.spot[request->lift.spots++] = whole->place[i].address;
    int code = 0;
    enum status status = lift_launch(stage, &request->lift, &report, &err);
    if (status)
        code = fail(&err, status == STATUS_NO_MEMORY ? 1 : 2);
    else if (!request->json)
        print_text(request, stage->scene, &report, whole);
    else if (!print_json(request, stage->scene->bundle, &report, whole))
        code = 1;
    code = code ? code : status_of(&report, whole);
    lift_release(&report);
    return code;
}

static int lift(struct request *request, struct scene *scene, struct stage *stage)
{
    struct lift_whole whole;
    struct error err = {{0}};
    if (!request->device)
        return follow(request, stage, NULL);
    request->worker.timeout_ms = (int)request->lift.seconds * 1000;
    enum status status =
        lift_whole(scene, stage, &request->worker, request->lift.unit, &whole, &err);
    bool ours = status == STATUS_NO_MEMORY || status == STATUS_DRIVER || status == STATUS_IO;
    return status ? fail(&err, ours ? 1 : 2) : follow(request, stage, &whole);
}

static int exact(const struct request *request, struct stage *stage[2])
{
    const struct exact_names names = {request->folder, request->other, request->image,
                                      request->kernel};
    struct exact_report report;
    struct error err = {{0}};
    enum status status = exact_compare(stage, request->lift.seconds, &report, &err);
    if (status)
        return fail(&err, status == STATUS_NO_MEMORY ? 1 : 2);
    if (request->json) {
        if (!exact_print_json(&names, &report))
            return 1;
    } else {
        exact_print(&names, &report);
        print_unknown(stage[0]->scene);
    }
    return *report.stopped || exact_differs(&report) ? 3 : 0;
}

/* ---- life ---- */

/* A bundle's launch with its image, or another one. */
struct subject {
    struct bundle *bundle;
    struct scene *scene;
    struct stage *stage;
    uint8_t *file;
};

static enum status subject_open(struct subject *subject, const char *folder, const char *image,
                                const char *kernel, struct error *err)
{
    enum status status = bundle_open(&subject->bundle, folder, err);
    if (!status)
        status = scene_create(&subject->scene, subject->bundle, false, err);
    if (!status)
        status = scene_choose(subject->scene, image, kernel, &subject->file, err);
    return status ? status : stage_open(&subject->stage, subject->scene, err);
}

static void subject_close(struct subject *subject)
{
    stage_close(subject->stage);
    scene_destroy(subject->scene);
    bundle_close(subject->bundle);
    free(subject->file);
}

int cmd_lift(int argc, char **argv)
{
    struct request request = {.lift = {.blocks = LIFT_BLOCKS, .seconds = 300}};
    struct subject subject[2] = {{0}};
    struct error err = {{0}};
    int code = read_arguments(argc, argv, &request);
    if (code)
        return code;
    if (request.check)
        return lift_check(request.paths, request.path_count, request.kernel, request.json);
    const char *image = request.exact ? NULL : request.image;
    const char *kernel = request.exact ? NULL : request.kernel;
    enum status status = subject_open(&subject[0], request.folder, image, kernel, &err);
    if (!status && request.exact)
        status = subject_open(&subject[1], request.other, request.image, request.kernel, &err);
    if (status) {
        code = fail(&err, status == STATUS_NO_MEMORY ? 1 : 2);
    } else if (request.exact) {
        code = exact(&request, (struct stage *[2]){subject[0].stage, subject[1].stage});
    } else {
        lift_declare(&request.lift, subject[0].bundle);
        code = lift(&request, subject[0].scene, subject[0].stage);
    }
    subject_close(&subject[0]);
    subject_close(&subject[1]);
    return code;
}
