/*
 * cmd_replay.c - `cuvet replay BUNDLE`: runs a bundle's launch again, alone, and shows whether it
 * gives the same bytes, and what the reference finds in them.
 *
 * Exit status: 0: the reference finds nothing wrong; 1: a failure of ours; 2: wrong arguments, or
 * no bundle; 3: the launch is a finding here too.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text/number.h"
#include "text/json_out.h"
#include "text/printable.h"
#include "tools/cmd.h"
#include "tools/progress.h"
#include "tools/replay/minimise.h"
#include "tools/replay/replay.h"

static const char usage[] =
    "usage: cuvet replay [OPTIONS] BUNDLE\n"
    "  --times N          run the launch N times (1)\n"
    "  --against FILE     run the kernel of another image: a cubin, PTX, fatbin or shared object\n"
    "  --kernel NAME      the kernel's name in that image, where it is another one\n"
    "  --library FILE     make a library call by this copy of libcublas or libcublasLt\n"
    "  --stored           run nothing: hold the reference against the program's outputs\n"
    "  --minimize         search for the smallest grid and inputs that still fail\n"
    "  --device WHICH     gpu, interpreter, the number of a GPU, or auto: the GPU where there is "
    "one\n"
    "  --gpu N            the GPU with that number (0)\n"
    "  --sm N             GPU: keep all multiprocessors but number N busy\n"
    "  --oracle WHERE     run the reference on the device or the cpu (device)\n"
    "  --seed N           interpreter: draw the order of blocks and warps from N\n"
    "  --timeout SECONDS  end a launch that takes longer (300)\n"
    "  --json             print one JSON object\n";

struct request {
    const char *folder, *against, *kernel, *library;
    struct worker_settings worker;
    struct replay_settings replay;
    bool json, minimises;
};

/* ---- arguments ---- */

static int wrong(const char *sentence, const char *text)
{
    fprintf(stderr, "cuvet replay: %s%s%s; see --help\n", sentence, text ? ": " : "",
            text ? PRINTABLE(text) : "");
    return 2;
}

/* False: no integer of at least 1 (or `least`). */
static bool read_number(const char *text, long least, long most, long *out)
{
    char *end;
    *out = strtol(text, &end, 10);
    return *text && !*end && *out >= least && *out <= most;
}

/* 0, or the exit status. */
static int read_option(int option, const char *value, struct request *request)
{
    struct error err = {{0}};
    long number = 0;
    if (option == 'a')
        request->against = value;
    else if (option == 'k')
        request->kernel = value;
    else if (option == 'l')
        request->library = value;
    else if (option == 'j')
        request->json = true;
    else if (option == 'r')
        request->replay.stored = true;
    else if (option == 'm')
        request->minimises = true;
    else if (option == 'd' && worker_device_read(value, &request->worker, &err))
        return wrong(err.text, NULL);
    else if (option == 'o' && strcmp(value, "cpu") && strcmp(value, "device"))
        return wrong("--oracle: expected cpu or device", value);
    else if (option == 'o')
        request->replay.oracle = *value == 'c' ? WORKER_ORACLE_CPU : WORKER_ORACLE_DEVICE;
    else if (strchr("gS", option) && !read_number(value, 0, 4095, &number))
        return wrong("expected a number from 0 to 4095", value);
    else if (option == 't' && worker_timeout_read(value, &request->worker, &err))
        return wrong(err.text, NULL);
    else if (strchr("ns", option) && !read_number(value, 1, 1000000, &number))
        return wrong("expected a number from 1 to 1000000", value);
    if (option == 'n')
        request->replay.times = (int)number;
    else if (option == 's')
        request->replay.seed = (uint64_t)number;
    else if (option == 'g' && worker_device_read(value, &request->worker, &err))
        return wrong(err.text, NULL);
    else if (option == 'S')
        request->replay.sm = (uint32_t)number;
    request->replay.one_sm = request->replay.one_sm || option == 'S';
    return 0;
}

static int read_arguments(int argc, char **argv, struct request *request)
{
    static const struct option options[] = {{"times", required_argument, NULL, 'n'},
                                            {"against", required_argument, NULL, 'a'},
                                            {"kernel", required_argument, NULL, 'k'},
                                            {"library", required_argument, NULL, 'l'},
                                            {"device", required_argument, NULL, 'd'},
                                            {"gpu", required_argument, NULL, 'g'},
                                            {"sm", required_argument, NULL, 'S'},
                                            {"oracle", required_argument, NULL, 'o'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"timeout", required_argument, NULL, 't'},
                                            {"minimize", no_argument, NULL, 'm'},
                                            {"stored", no_argument, NULL, 'r'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option, code = 0;
    opterr = 0;
    optind = 1;
    while (!code && (option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            exit(cmd_end("replay", 0));
        }
        code = option == '?'   ? wrong("unknown option", argv[optind - 1])
               : option == ':' ? wrong("the option takes a value", argv[optind - 1])
                               : read_option(option, optarg, request);
    }
    if (!code && optind + 1 != argc)
        code = wrong("expected the folder of one bundle", NULL);
    if (!code && request->replay.one_sm && (request->replay.stored || request->minimises))
        code = wrong("--sm goes with neither --stored nor --minimize", NULL);
    request->folder = code ? NULL : argv[optind];
    return code;
}

/* ---- what came out ---- */

static void print_head(const struct request *request, const struct bundle *bundle,
                       const struct worker_about *about)
{
    if (symbol_is_call(bundle->kernel))
        printf("%s: %s, call %llu\n", request->folder, PRINTABLE(bundle->label),
               (unsigned long long)bundle->launch);
    else
        printf("%s: %s, launch %llu (grid %ux%ux%u, block %ux%ux%u)\n", request->folder,
               PRINTABLE(bundle->label), (unsigned long long)bundle->launch, bundle->grid[0],
               bundle->grid[1], bundle->grid[2], bundle->block[0], bundle->block[1],
               bundle->block[2]);
    printf("  device     %s", about->name);
    if (about->sm != bundle->sm || about->driver != bundle->driver)
        printf("; the program ran on sm_%d with driver %d", bundle->sm, bundle->driver);
    printf("\n");
    if (request->against)
        printf("  image      %s in place of the program's\n", PRINTABLE(request->against));
}

static void print_differences(const struct replay_report *report)
{
    for (int i = 0; i < report->outputs; i++) {
        const struct replay_output *out = &report->output[i];
        if (out->differing)
            printf("             %s: %llu of %llu elements differ, by %.3g at most; the first is "
                   "element %lld\n",
                   out->name, (unsigned long long)out->differing, (unsigned long long)out->compared,
                   out->max_abs, (long long)out->first);
        else if (!out->compared)
            printf("             %s: the bundle does not hold what the program wrote\n", out->name);
    }
}

static bool some_unwritten(const struct replay_report *report)
{
    for (int i = 0; i < report->outputs; i++)
        if (report->output[i].unwritten)
            return true;
    return false;
}

static void print_unwritten(const struct replay_report *report)
{
    for (int i = 0; i < report->outputs; i++) {
        const struct replay_output *out = &report->output[i];
        if (out->unwritten)
            printf("             %s: %llu of %llu elements are never written and hold what the "
                   "memory held; the first is element %lld\n",
                   out->name, (unsigned long long)out->unwritten, (unsigned long long)out->compared,
                   (long long)out->first_unwritten);
    }
}

/* What is known of module variables where the result differs. */
static void print_variables(const struct bundle *bundle, const struct replay_report *report)
{
    enum { SHOWN = 3 };
    uint64_t missing = bundle->values_unread;
    int shown = 0;
    for (int i = 0; i < bundle->values; i++) {
        const struct bundle_value *value = &bundle->value[i];
        missing += !value->bytes;
        if (!value->bytes && shown++ < SHOWN)
            printf("             not in the bundle: module variable %s: %s\n",
                   PRINTABLE(value->name), PRINTABLE(value->why));
    }
    if (missing > SHOWN)
        printf("             and %llu module variables more\n",
               (unsigned long long)(missing - (uint64_t)(shown < SHOWN ? shown : SHOWN)));
    if (report->absent)
        printf("             the image lacks %d module variable%s of the bundle, as %s\n",
               report->absent, report->absent == 1 ? "" : "s", PRINTABLE(report->absent_name));
    if (report->values)
        printf("             module variables hold what they held at the report, which is later "
               "than the launch\n");
}

/* Why the bytes may differ where the kernel is the program's. */
static void print_likely(const struct bundle *bundle, const struct worker_about *about,
                         const struct replay_report *report)
{
    const char *kept = bundle->values_known
                           ? "the launch reads memory that the bundle does not hold "
                             "(cuvet probe shows that)"
                           : "the launch reads memory or module variables that the bundle does "
                             "not hold (cuvet probe shows that)";
    bool interpreted = !strcmp(about->kind, "interpreter");
    if (interpreted && bundle->sm != about->sm)
        printf("             may be: %s; or approximate functions, which the interpreter rounds in "
               "its own way",
               kept);
    else if (about->sm != bundle->sm || about->driver != bundle->driver)
        printf("             may be: another GPU or driver; or %s", kept);
    else
        printf("             may be: %s", kept);
    if (report->runs == 1)
        printf("; or it is not deterministic: try %s--times 3", interpreted ? "--seed 1 " : "");
    printf("\n");
}

static void print_reasons(const struct request *request, const struct bundle *bundle,
                          const struct worker_about *about, const struct replay_report *report)
{
    if (request->against)
        printf("             (another image)\n");
    else if (report->distinct > 1)
        printf("             the launch is not deterministic: %d results in %d runs\n",
               report->distinct, report->runs);
    else if (symbol_is_call(bundle->kernel))
        printf("             may be: another version of the library, another GPU, or another "
               "workspace: each makes it choose other kernels\n");
    else
        print_likely(bundle, about, report);
}

/* Whether the launch was on the wanted multiprocessor alone. */
static void print_place(const struct request *request, const struct worker_about *about,
                        const struct replay_report *report)
{
    int others = about->multiprocessors - 1;
    printf("  sm         ");
    if (replay_landed(report, about))
        printf("%u: busy blocks held the other %d until the launch had ended\n", request->replay.sm,
               others);
    else if (report->freed)
        printf("not certain: the busy blocks left before the launch had ended, at their time "
               "limit\n");
    else
        printf("not certain: busy blocks held %u of the other %d\n", report->held, others);
}

static void print_result(const struct request *request, const struct scene *scene,
                         const struct replay_report *report)
{
    const struct bundle *bundle = scene->bundle;
    const struct worker_about *about = worker_about(scene->worker);
    if (report->stopped.outcome != WORKER_RAN)
        printf("  stopped    %s\n", PRINTABLE(report->stopped.sentence));
    if (report->same_ending)
        printf("  reproduced it ends the same way%s\n",
               report->runs ? ", though not in each run" : "");
    else if (report->stopped.outcome != WORKER_RAN)
        print_variables(bundle, report);
    if (request->replay.stored)
        printf("  stored     the outputs are the program's, nothing was run\n");
    if (!report->runs)
        return;
    if (request->replay.one_sm)
        print_place(request, about, report);
    if (replay_reproduced(report) && !report->same_ending)
        printf("  reproduced every %s has the program's bytes%s\n",
               some_unwritten(report) ? "element that the launch writes" : "output",
               report->runs > 1 ? ", in all runs" : "");
    else if (!report->same_ending)
        printf("  different  %d of %d run%s gave the program's bytes\n", report->same, report->runs,
               report->runs == 1 ? "" : "s");
    if (!replay_reproduced(report)) {
        print_differences(report);
        print_reasons(request, bundle, about, report);
        if (report->stopped.outcome == WORKER_RAN)
            print_variables(bundle, report);
    }
    if (report->initial)
        printf(
            "  variables  hold what the image begins with: those of the bundle are of the report, "
            "and give other bytes\n");
    print_unwritten(report);
    if (report->outside)
        printf("  outside    %llu guard bytes around the arrays were written\n",
               (unsigned long long)report->outside);
    if (report->inputs)
        printf("  inputs     %llu bytes of inputs were changed\n",
               (unsigned long long)report->inputs);
}

static void print_verdict(const struct bundle *bundle, const struct replay_report *report)
{
    const struct ref_verdict *n = &report->numbers;
    if (report->judged && n->violations)
        printf("  reference  %s: %llu of %llu elements outside the bound of %s, up to %.3g times\n",
               verdict_text(report->verdict), (unsigned long long)n->violations,
               (unsigned long long)n->checked, bundle->reference, n->max_ratio);
    else if (report->judged)
        printf("  reference  %s: %llu elements of %s\n", verdict_text(report->verdict),
               (unsigned long long)n->checked, bundle->reference);
    else
        printf("  reference  none: %s\n",
               *report->why_not.text ? report->why_not.text : "the bundle names no reference");
    if (*bundle->drawn)
        printf("  case       %s%s\n", PRINTABLE(bundle->drawn),
               bundle->probed ? "; a launch by itself does not show it" : "");
    else if (*bundle->state)
        printf("  program    %s: %s; a launch by itself does not show it\n",
               PRINTABLE(bundle->verdict), PRINTABLE(bundle->state));
    else if (bundle->projected || bundle->differs)
        printf("  program    %s: %s, which is not compared here\n", PRINTABLE(bundle->verdict),
               bundle->projected
                   ? "by the projection of the whole product"
                   : "another output than an earlier launch for the same input or item");
    else
        printf("  program    %s: %llu of %llu elements outside the bound, up to %.3g times\n",
               PRINTABLE(bundle->verdict), (unsigned long long)bundle->violations,
               (unsigned long long)bundle->elements, bundle->max_ratio);
}

static void put_outputs(struct json_out *json, const struct replay_report *report)
{
    json_put_array(json, "outputs");
    for (int i = 0; i < report->outputs; i++) {
        const struct replay_output *out = &report->output[i];
        json_begin_object(json);
        json_put_string(json, "array", out->name);
        json_put_uint(json, "compared", out->compared);
        json_put_uint(json, "differing", out->differing);
        json_put_double(json, "max_abs", out->max_abs);
        json_put_int(json, "first", out->first);
        json_put_uint(json, "unwritten", out->unwritten);
        json_end(json);
    }
    json_end(json);
}

static void put_variables(struct json_out *json, const struct bundle *bundle,
                          const struct replay_report *report)
{
    uint64_t missing = bundle->values_unread;
    if (!bundle->values_known)
        return;
    for (int i = 0; i < bundle->values; i++)
        missing += !bundle->value[i].bytes;
    json_put_object(json, "variables");
    json_put_uint(json, "held", (uint64_t)bundle->values + bundle->values_unread - missing);
    json_put_uint(json, "missing", missing);
    json_put_int(json, "absent", report->absent);
    json_put_bool(json, "initial", report->initial);
    json_end(json);
}

static int print_json(const struct request *request, const struct scene *scene,
                      const struct replay_report *report)
{
    const struct bundle *bundle = scene->bundle;
    const struct worker_about *about = worker_about(scene->worker);
    struct json_out json;
    json_out_init(&json);
    json_begin_object(&json);
    json_put_int(&json, "version", 1);
    json_put_string(&json, "bundle", request->folder);
    json_put_string(&json, "kernel", bundle->kernel);
    json_put_string(&json, "device", about->name);
    json_put_int(&json, "sm", about->sm);
    if (request->replay.one_sm) {
        json_put_uint(&json, "multiprocessor", request->replay.sm);
        json_put_bool(&json, "there", replay_landed(report, about));
    }
    json_put_bool(&json, "reproduced", replay_reproduced(report));
    json_put_int(&json, "runs", report->runs);
    json_put_int(&json, "same", report->same);
    json_put_int(&json, "distinct", report->distinct);
    json_put_string(&json, "stopped", *report->stopped.sentence ? report->stopped.sentence : NULL);
    json_put_uint(&json, "guard_bytes_written", report->outside);
    json_put_uint(&json, "input_bytes_changed", report->inputs);
    put_outputs(&json, report);
    put_variables(&json, bundle, report);
    json_put_string(&json, "verdict", report->judged ? verdict_text(report->verdict) : NULL);
    json_put_uint(&json, "checked", report->numbers.checked);
    json_put_uint(&json, "violations", report->numbers.violations);
    json_put_double(&json, "max_ratio", report->numbers.max_ratio);
    json_put_string(&json, "no_verdict", *report->why_not.text ? report->why_not.text : NULL);
    json_put_string(&json, "program_verdict", bundle->verdict);
    if (*bundle->drawn)
        json_put_string(&json, "case", bundle->drawn);
    json_end(&json);
    bool good = json_out_ok(&json);
    if (good)
        printf("%.*s\n", (int)json.text.length, json.text.data);
    json_out_release(&json);
    return good ? 0 : 1;
}

/* ---- the verb ---- */

static int fail(const struct error *err, int code)
{
    fprintf(stderr, "cuvet replay: %s\n", err->text);
    return code;
}

static int exit_code(enum status status)
{
    return status == STATUS_INVALID || status == STATUS_NOT_FOUND ? 2 : 1;
}

/* Of all that `--minimize` found, with --json a second object. */
static void print_minimal(const struct minimal *minimal, const struct bundle *bundle)
{
    if (!minimal->fails) {
        printf("  smallest   the launch does not fail here\n");
        return;
    }
    printf("  smallest   after %d runs:\n", minimal->runs);
    for (int i = 0; i < minimal->inputs; i++) {
        const struct minimal_input *input = &minimal->input[i];
        printf("             %s: %lld of %lld elements, the rest may be zero", input->name,
               (long long)input->needed, (long long)input->elements);
        if (input->needed)
            printf("; from element %lld to %lld", (long long)input->first, (long long)input->last);
        printf("\n");
    }
    if (minimal->array)
        printf("             grid %ux%ux%u of %ux%ux%u for element %lld of %s\n", minimal->grid[0],
               minimal->grid[1], minimal->grid[2], bundle->grid[0], bundle->grid[1],
               bundle->grid[2], (long long)minimal->element, minimal->array);
}

static bool print_minimal_json(const struct minimal *minimal)
{
    struct json_out json;
    json_out_init(&json);
    json_begin_object(&json);
    json_put_int(&json, "version", 1);
    json_put_bool(&json, "fails", minimal->fails);
    json_put_int(&json, "runs", minimal->runs);
    json_put_array(&json, "inputs");
    for (int i = 0; i < minimal->inputs; i++) {
        const struct minimal_input *input = &minimal->input[i];
        json_begin_object(&json);
        json_put_string(&json, "array", input->name);
        json_put_int(&json, "elements", input->elements);
        json_put_int(&json, "needed", input->needed);
        json_put_int(&json, "first", input->first);
        json_put_int(&json, "last", input->last);
        json_end(&json);
    }
    json_end(&json);
    json_put_array(&json, "grid");
    for (int i = 0; i < 3; i++)
        json_uint(&json, minimal->grid[i]);
    json_end(&json);
    json_put_string(&json, "array", minimal->array);
    json_put_int(&json, "element", minimal->element);
    json_end(&json);
    bool good = json_out_ok(&json);
    if (good)
        printf("%.*s\n", (int)json.text.length, json.text.data);
    json_out_release(&json);
    return good;
}

/* 0, or the exit status. */
static int show_minimal(const struct request *request, struct scene *scene)
{
    struct minimal minimal;
    struct error err = {{0}};
    enum status status = minimise(scene, request->replay.oracle, &minimal, &err);
    progress_clear();
    if (status)
        return fail(&err, 1);
    if (request->json)
        return print_minimal_json(&minimal) ? 0 : 1;
    print_minimal(&minimal, scene->bundle);
    return 0;
}

static bool is_finding(const struct request *request, const struct bundle *bundle,
                       const struct replay_report *report)
{
    bool otherwise = bundle->projected || bundle->differs || *bundle->state || bundle->probed;
    bool unjudged =
        (!report->judged || otherwise) && replay_reproduced(report) && !request->against;
    return report->stopped.outcome != WORKER_RAN || report->outside || report->inputs || unjudged ||
           (report->judged && report->verdict == VERDICT_MISMATCH);
}

static int replay(const struct request *request, const struct bundle *bundle, struct scene *scene)
{
    struct replay_report report;
    struct error err = {{0}};
    int code = 0;
    enum status status = replay_bundle(scene, &request->replay, &report, &err);
    const struct worker_about *about = worker_about(scene->worker);
    progress_clear();
    if (status)
        return fail(&err, exit_code(status));
    if (report.stopped.outcome == WORKER_REFUSED) {
        error_set(&err, STATUS_INVALID, "%s", report.stopped.sentence);
        return fail(&err, request->replay.one_sm ? 2 : 1);
    }
    if (request->json) {
        code = print_json(request, scene, &report);
    } else {
        print_head(request, bundle, about);
        print_result(request, scene, &report);
        print_verdict(bundle, &report);
    }
    if (!code && request->minimises && report.runs && report.judged)
        code = show_minimal(request, scene);
    return code ? code : is_finding(request, bundle, &report) ? 3 : 0;
}

int cmd_replay(int argc, char **argv)
{
    struct request request = {.replay = {.times = 1, .oracle = WORKER_ORACLE_DEVICE},
                              .worker = {.timeout_ms = 300000}};
    struct bundle *bundle = NULL;
    struct scene *scene = NULL;
    struct error err = {{0}};
    uint8_t *file = NULL;
    int code = read_arguments(argc, argv, &request);
    if (code)
        return code;
    enum status status = bundle_open(&bundle, request.folder, &err);
    if (!status)
        status = scene_create(&scene, bundle, true, &err);
    if (!status)
        scene->library = request.library;
    if (!status && !request.replay.stored)
        status = scene_choose(scene, request.against, request.kernel, &file, &err);
    if (!status)
        status = worker_start(&scene->worker, &request.worker, &err);
    code = status || !scene ? fail(&err, exit_code(status)) : replay(&request, bundle, scene);
    if (scene)
        worker_end(scene->worker);
    scene_destroy(scene);
    bundle_close(bundle);
    free(file);
    return code;
}
