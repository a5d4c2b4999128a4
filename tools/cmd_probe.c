/*
 * cmd_probe.c - `cuvet probe BUNDLE`: checks of a bundle's launch that need no formula.
 *
 * Exit status: 0: nothing was found; 1: a failure of ours; 2: wrong arguments, or no bundle; 3: a
 * check found something.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "text/json_out.h"
#include "text/printable.h"
#include "tools/cmd.h"
#include "tools/probe/parity.h"
#include "tools/probe/probe.h"
#include "tools/progress.h"

enum { QUIET_SECONDS = 2 };

static const char usage[] =
    "usage: cuvet probe [OPTIONS] BUNDLE\n"
    "  --times N          runs that must give the same result (5)\n"
    "  --no-relations     leave out `scale`, `permute`, `neighbours` and `split`\n"
    "  --image FILE       the kernel's image: a cubin, PTX, fatbin or shared object\n"
    "  --kernel NAME      the kernel's name in that image, where it is another one\n"
    "  --device WHICH     gpu, interpreter, the number of a GPU, or auto: the GPU where there is "
    "one\n"
    "  --gpu N            the GPU with that number (0)\n"
    "  --timeout SECONDS  end a launch that takes longer (60)\n"
    "  --json             print one JSON object\n"
    "  --parity OTHER     in place of the checks: run OTHER, a bundle or a kernel of the image, on "
    "the\n"
    "                     inputs of BUNDLE, and compare item by item\n"
    "  --item DIM         dim of the reference whose entries are the items; else its first "
    "promise\n"
    "  --items N          items in a launch of OTHER; 1 with --grid, else as in its bundle\n"
    "  --grid X[,Y[,Z]]   grid of OTHER, where it is not that of its bundle\n"
    "  --rtol R, --atol A a margin: elements may differ by A + R times the larger one's size\n";

struct request {
    const char *folder, *image, *kernel;
    struct worker_settings worker;
    struct probe_settings probe;
    bool json;
    const char *other; /* --parity */
    struct parity_settings parity;
    uint32_t grid[3];
};

static int wrong(const char *sentence, const char *text)
{
    fprintf(stderr, "cuvet probe: %s%s%s; see --help\n", sentence, text ? ": " : "",
            text ? PRINTABLE(text) : "");
    return 2;
}

static bool read_grid(const char *text, uint32_t grid[3])
{
    int end = 0, count;
    grid[1] = grid[2] = 1;
    count = sscanf(text, "%9u%n,%9u%n,%9u%n", &grid[0], &end, &grid[1], &end, &grid[2], &end);
    return count > 0 && !text[end] && grid[0] > 0 && grid[1] > 0 && grid[2] > 0;
}

static bool read_margin(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return *text && !*end && *out >= 0;
}

/* Options of --parity. */
static int read_parity(int option, const char *value, struct request *request)
{
    if (option == 'P')
        request->other = value;
    if (option == 'I')
        request->parity.item = value;
    if (option == 'G' && !read_grid(value, request->grid))
        return wrong("expected a grid such as 4,1,1", value);
    if (option == 'G')
        request->parity.grid = request->grid;
    if (option == 'R' && !read_margin(value, &request->parity.rtol))
        return wrong("expected a number from 0 on", value);
    if (option == 'A' && !read_margin(value, &request->parity.atol))
        return wrong("expected a number from 0 on", value);
    return 0;
}

static int read_option(int option, const char *value, struct request *request)
{
    struct error err = {{0}};
    char *end = NULL;
    long number = value ? strtol(value, &end, 10) : 0;
    bool good = value && *value && !*end && number >= (option == 'g' ? 0 : 1) && number <= 100000;
    if (strchr("PIGRA", option))
        return read_parity(option, value, request);
    if (option == 't' && worker_timeout_read(value, &request->worker, &err))
        return wrong(err.text, NULL);
    if (strchr("ngN", option) && !good)
        return wrong("expected a number from 1 to 100000", value);
    if (strchr("dg", option) && worker_device_read(value, &request->worker, &err))
        return wrong(err.text, NULL);
    if (option == 'n')
        request->probe.times = (int)number;
    if (option == 'i')
        request->image = value;
    if (option == 'k')
        request->kernel = value;
    if (option == 'N')
        request->parity.items = number;
    request->json = request->json || option == 'j';
    if (option == 'r')
        request->probe.checks &= ~PROBE_RELATIONS;
    return 0;
}

static int read_arguments(int argc, char **argv, struct request *request)
{
    static const struct option options[] = {
        {"times", required_argument, NULL, 'n'},   {"no-relations", no_argument, NULL, 'r'},
        {"image", required_argument, NULL, 'i'},   {"kernel", required_argument, NULL, 'k'},
        {"device", required_argument, NULL, 'd'},  {"gpu", required_argument, NULL, 'g'},
        {"timeout", required_argument, NULL, 't'}, {"json", no_argument, NULL, 'j'},
        {"parity", required_argument, NULL, 'P'},  {"item", required_argument, NULL, 'I'},
        {"items", required_argument, NULL, 'N'},   {"grid", required_argument, NULL, 'G'},
        {"rtol", required_argument, NULL, 'R'},    {"atol", required_argument, NULL, 'A'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    int option, code = 0;
    opterr = 0;
    optind = 1;
    while (!code && (option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            exit(cmd_end("probe", 0));
        }
        code = option == '?'   ? wrong("unknown option", argv[optind - 1])
               : option == ':' ? wrong("the option takes a value", argv[optind - 1])
                               : read_option(option, optarg, request);
    }
    if (!code && optind + 1 != argc)
        code = wrong("expected the folder of one bundle", NULL);
    request->folder = code ? NULL : argv[optind];
    return code;
}

/* ---- what was found ---- */

static const char *const outcomes[] = {
    [PROBE_SKIPPED] = "skipped", [PROBE_GOOD] = "good", [PROBE_FINDING] = "finding"};

static int findings(const struct probe_report *report)
{
    int count = 0;
    for (int i = 0; i < PROBE_CHECKS; i++)
        count += report->result[i].outcome == PROBE_FINDING;
    return count;
}

static void print_text(const struct request *request, const struct scene *scene,
                       const struct probe_report *report)
{
    printf("%s: %s on %s, %d runs, %d finding%s\n", request->folder,
           PRINTABLE(scene->bundle->label), worker_about(scene->worker)->name, report->runs,
           findings(report), findings(report) == 1 ? "" : "s");
    for (int i = 0; i < PROBE_CHECKS; i++) {
        const struct probe_result *result = &report->result[i];
        printf("  %-10s  %-7s  %s\n", probe_name((enum probe_check)i), outcomes[result->outcome],
               PRINTABLE(result->sentence));
    }
}

static bool print_json(const struct request *request, const struct scene *scene,
                       const struct probe_report *report)
{
    struct json_out json;
    json_out_init(&json);
    json_begin_object(&json);
    json_put_int(&json, "version", 1);
    json_put_string(&json, "bundle", request->folder);
    json_put_string(&json, "kernel", scene->kernel);
    json_put_string(&json, "device", worker_about(scene->worker)->name);
    json_put_int(&json, "runs", report->runs);
    json_put_int(&json, "findings", findings(report));
    json_put_array(&json, "checks");
    for (int i = 0; i < PROBE_CHECKS; i++) {
        json_begin_object(&json);
        json_put_string(&json, "check", probe_name((enum probe_check)i));
        json_put_string(&json, "outcome", outcomes[report->result[i].outcome]);
        json_put_string(&json, "sentence", report->result[i].sentence);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    bool good = json_out_ok(&json);
    if (good)
        printf("%.*s\n", (int)json.text.length, json.text.data);
    json_out_release(&json);
    return good;
}

/* ---- the verb ---- */

static int fail(const struct error *err, enum status status)
{
    fprintf(stderr, "cuvet probe: %s\n", err->text);
    return status == STATUS_INVALID || status == STATUS_NOT_FOUND ? 2 : 1;
}

enum { RELATIONS = 16 };

/* Adds what the bundle's entry declared. `text`, a copy, is cut up; `scale` has RELATIONS places.
 */
static void declare_relations(char *text, struct probe_settings *settings, const char **scale)
{
    static const char prefix[] = "scale ";
    char *rest = NULL;
    settings->scale = scale;
    for (char *name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        enum probe_check check;
        name += strspn(name, " ");
        if (probe_check_of(name, strlen(name), &check))
            settings->held |= PROBE_BIT(check);
        else if (!strncmp(name, prefix, sizeof prefix - 1) && settings->scaled < RELATIONS)
            scale[settings->scaled++] = name + sizeof prefix - 1;
    }
}

static int probe(const struct request *request, struct scene *scene)
{
    struct probe_report report;
    struct probe_settings settings = request->probe;
    const char *scale[RELATIONS];
    char relations[sizeof(scene->bundle->relations)];
    struct error err = {{0}};
    memcpy(relations, scene->bundle->relations, sizeof relations);
    declare_relations(relations, &settings, scale);
    enum status status = worker_start(&scene->worker, &request->worker, &err);
    if (status)
        return fail(&err, STATUS_DRIVER);
    status = probe_bundle(scene, &settings, &report, &err);
    progress_clear();
    if (status)
        return fail(&err, status);
    if (!request->json)
        print_text(request, scene, &report);
    else if (!print_json(request, scene, &report))
        return 1;
    return findings(&report) ? 3 : 0;
}

/* ---- another kernel on the same inputs ---- */

static void print_output(const struct parity_output *out, const char *item)
{
    if (!out->differing) {
        printf("  %-9s  %lld %s compared, no difference%s\n", PRINTABLE(out->name),
               (long long)out->items, item, out->max_abs > 0 ? " beyond the margin" : "");
        return;
    }
    printf("  %-9s  %lld of %lld %s differ, in %llu elements, by up to %.3g; the first: element "
           "%lld of item %lld is %.9g, by the other %.9g\n",
           PRINTABLE(out->name), (long long)out->differing, (long long)out->items, item,
           (unsigned long long)out->elements, out->max_abs, (long long)out->element,
           (long long)out->item, out->got, out->other);
}

static void print_parity(const struct request *request, const struct scene *scene,
                         const struct scene *other, const struct parity_outcome *outcome)
{
    const char *item = outcome->item ? outcome->item : "launches";
    printf("%s: %s against %s on %s: %lld %s, %lld at once, %d runs of the other\n",
           request->folder, PRINTABLE(scene->kernel), PRINTABLE(other->kernel),
           worker_about(scene->worker)->name, (long long)outcome->items, PRINTABLE(item),
           (long long)outcome->at_once, outcome->runs);
    for (int i = 0; i < outcome->outputs; i++)
        print_output(&outcome->output[i], PRINTABLE(item));
    if (outcome->stopped.outcome != WORKER_RAN)
        printf("  %s did not end: %s\n",
               PRINTABLE(outcome->other_stopped ? other->kernel : scene->kernel),
               PRINTABLE(outcome->stopped.sentence));
}

static bool print_parity_json(const struct request *request, const struct scene *scene,
                              const struct scene *other, const struct parity_outcome *outcome)
{
    struct json_out json;
    json_out_init(&json);
    json_begin_object(&json);
    json_put_int(&json, "version", 1);
    json_put_string(&json, "bundle", request->folder);
    json_put_string(&json, "kernel", scene->kernel);
    json_put_string(&json, "other", other->kernel);
    json_put_string(&json, "item", outcome->item);
    json_put_int(&json, "items", outcome->items);
    json_put_int(&json, "runs", outcome->runs);
    json_put_bool(&json, "agrees", parity_agrees(outcome));
    if (outcome->stopped.outcome != WORKER_RAN)
        json_put_string(&json, "stopped", outcome->stopped.sentence);
    json_put_array(&json, "outputs");
    for (int i = 0; i < outcome->outputs; i++) {
        const struct parity_output *out = &outcome->output[i];
        json_begin_object(&json);
        json_put_string(&json, "array", out->name);
        json_put_int(&json, "items", out->items);
        json_put_int(&json, "differing", out->differing);
        json_put_uint(&json, "elements", out->elements);
        json_put_int(&json, "item", out->item);
        json_put_int(&json, "element", out->element);
        json_put_double(&json, "max_abs", out->max_abs);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    bool good = json_out_ok(&json);
    if (good)
        printf("%.*s\n", (int)json.text.length, json.text.data);
    json_out_release(&json);
    return good;
}

static int compare(const struct request *request, struct scene *scene, struct scene *other)
{
    struct parity_outcome outcome;
    struct error err = {{0}};
    enum status status = worker_start(&scene->worker, &request->worker, &err);
    if (!status)
        status = worker_start(&other->worker, &request->worker, &err);
    if (status)
        return fail(&err, STATUS_DRIVER);
    status = parity_run(scene, other, &request->parity, &outcome, &err);
    if (status)
        return fail(&err, status == STATUS_UNSUPPORTED ? STATUS_INVALID : status);
    if (!request->json)
        print_parity(request, scene, other, &outcome);
    else if (!print_parity_json(request, scene, other, &outcome))
        return 1;
    return parity_agrees(&outcome) ? 0 : 3;
}

/* --parity names a folder, or a kernel of the image of BUNDLE. */
static int parity(struct request *request, const struct bundle *bundle, struct scene *scene)
{
    struct bundle *second = NULL;
    struct scene *other = NULL;
    struct error err = {{0}};
    uint8_t *file = NULL;
    enum status status = STATUS_OK;
    bool folder = access(request->other, F_OK) == 0;
    if (request->parity.grid && !request->parity.items)
        request->parity.items = 1;
    if (folder)
        status = bundle_open(&second, request->other, &err);
    if (!status)
        status = scene_create(&other, folder ? second : bundle, false, &err);
    if (!status)
        status = scene_choose(other, request->image, folder ? request->kernel : request->other,
                              &file, &err);
    int code = status ? fail(&err, status) : compare(request, scene, other);
    if (other)
        worker_end(other->worker);
    scene_destroy(other);
    bundle_close(second);
    free(file);
    return code;
}

int cmd_probe(int argc, char **argv)
{
    struct request request = {.worker = {.timeout_ms = 60000},
                              .probe = {.times = 5, .checks = PROBE_ALL}};
    struct bundle *bundle = NULL;
    struct scene *scene = NULL;
    struct error err = {{0}};
    uint8_t *file = NULL;
    int code = read_arguments(argc, argv, &request);
    if (code)
        return code;
    enum status status = bundle_open(&bundle, request.folder, &err);
    if (!status)
        status = scene_create(&scene, bundle, false, &err);
    if (!status)
        status = scene_choose(scene, request.other ? NULL : request.image,
                              request.other ? NULL : request.kernel, &file, &err);
    if (status)
        code = fail(&err, status);
    else
        code = request.other ? parity(&request, bundle, scene) : probe(&request, scene);
    if (scene)
        worker_end(scene->worker);
    scene_destroy(scene);
    bundle_close(bundle);
    free(file);
    return code;
}
