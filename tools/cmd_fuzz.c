/*
 * cmd_fuzz.c - `cuvet fuzz`: launches of a kernel that are drawn from a registry entry, each held
 * against the entry's reference.
 *
 * Exit status: 0 nothing found, 1 a failure of ours, 2 wrong input, 3 findings.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "system/files.h"
#include "text/number.h"
#include "text/printable.h"
#include "tools/cmd.h"
#include "tools/fuzz/campaign.h"
#include "tools/fuzz/image.h"
#include "tools/fuzz/probing.h"
#include "tools/fuzz/record.h"
#include "tools/fuzz/symbols.h"

enum { EXIT_OURS = 1, EXIT_INPUT = 2, EXIT_FINDINGS = 3 };

static const char usage[] =
    "usage: cuvet fuzz [OPTIONS] IMAGE\n"
    "  IMAGE                PTX, a cubin, a fatbin, a program or shared object that holds some,\n"
    "                       or a folder of Triton's cache\n"
    "  -c, --config FILE    registry file with a `fuzz` mapping for the kernel; may be given\n"
    "                       again, later ones win (or CUVET_CONFIG); the built-in tables come\n"
    "                       before them\n"
    "      --no-tables      no entries but those of FILE (or CUVET_TABLES=off)\n"
    "  -k, --kernel NAME    a kernel's name, mangled or not, a glob or a /regex/; may be given\n"
    "                       again; all that have a `fuzz` mapping unless given\n"
    "      --seed N         seed of the run, 1 unless given; the same seed makes the same cases\n"
    "      --case SEED      runs the one case of that seed\n"
    "      --cases N        how many, 200 unless given\n"
    "      --seconds S      ends the run after that many seconds\n"
    "      --shard I/N      runs part I of N of the cases, I from 1\n"
    "      --findings N     ends the run after N findings, 1 unless given; 0: none ends it\n"
    "      --shrink N       launches that the search for a smaller case may take, 300; 0: no "
    "search\n"
    "      --probe[=CHECK,...]  probes the first three cases of a kernel that have no finding, as\n"
    "                       `cuvet probe` does: steady, noise, reads, alignment, state, scale,\n"
    "                       permute, neighbours and split, unless checks are named\n"
    "      --oracle WHERE   where references run: cpu or gpu\n"
    "      --device NAME    where the kernel runs: auto, gpu, interpreter or the number of a GPU\n"
    "      --timeout SECONDS  of one launch, 10; a fraction, or such as 300ms, too\n"
    "  -o, --report FOLDER  writes a journal and findings as bundles there\n"
    "      --keep           writes every case that was judged as a bundle, not findings alone\n"
    "      --list           prints every case\n"
    "      --json           prints one JSON object a line\n";

struct arguments {
    struct fuzz_settings settings;
    struct worker_settings worker;
    struct fuzz_probing probing;
    bool probes;
    const char *image, *oracle;
    bool no_tables;
    struct textbuf config; /* paths, separated by ':' */
    const char **kernel;
    int kernels;
};

enum {
    OPTION_SEED = 256,
    OPTION_CASE,
    OPTION_CASES,
    OPTION_SECONDS,
    OPTION_SHARD,
    OPTION_FINDINGS,
    OPTION_SHRINK,
    OPTION_PROBE,
    OPTION_ORACLE,
    OPTION_DEVICE,
    OPTION_TIMEOUT,
    OPTION_KEEP,
    OPTION_LIST,
    OPTION_JSON,
    OPTION_NO_TABLES,
};

static const struct option options[] = {{"config", required_argument, NULL, 'c'},
                                        {"kernel", required_argument, NULL, 'k'},
                                        {"report", required_argument, NULL, 'o'},
                                        {"seed", required_argument, NULL, OPTION_SEED},
                                        {"case", required_argument, NULL, OPTION_CASE},
                                        {"cases", required_argument, NULL, OPTION_CASES},
                                        {"seconds", required_argument, NULL, OPTION_SECONDS},
                                        {"shard", required_argument, NULL, OPTION_SHARD},
                                        {"findings", required_argument, NULL, OPTION_FINDINGS},
                                        {"shrink", required_argument, NULL, OPTION_SHRINK},
                                        {"probe", optional_argument, NULL, OPTION_PROBE},
                                        {"oracle", required_argument, NULL, OPTION_ORACLE},
                                        {"device", required_argument, NULL, OPTION_DEVICE},
                                        {"timeout", required_argument, NULL, OPTION_TIMEOUT},
                                        {"keep", no_argument, NULL, OPTION_KEEP},
                                        {"list", no_argument, NULL, OPTION_LIST},
                                        {"json", no_argument, NULL, OPTION_JSON},
                                        {"no-tables", no_argument, NULL, OPTION_NO_TABLES},
                                        {NULL, 0, NULL, 0}};

/* ---- the command line ---- */

static enum status read_count(const char *name, const char *text, uint64_t low, uint64_t high,
                              uint64_t *out, struct error *err)
{
    if (number_unsigned(text, out) && *out >= low && *out <= high)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "--%s is '%.40s'; expected a whole number from %llu to %llu", name, text,
                     (unsigned long long)low, (unsigned long long)high);
}

static enum status read_shard(const char *text, struct fuzz_settings *settings, struct error *err)
{
    char first[24];
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : sizeof first;
    if (length < sizeof first) {
        memcpy(first, text, length);
        first[length] = '\0';
        if (number_unsigned(first, &settings->shard) &&
            number_unsigned(slash + 1, &settings->shards) && settings->shard >= 1 &&
            settings->shard <= settings->shards) {
            settings->shard--;
            return STATUS_OK;
        }
    }
    return error_set(err, STATUS_INVALID, "--shard is '%.40s'; expected I/N, such as 1/8", text);
}

static enum status read_number(int option, const char *text, struct arguments *a, struct error *err)
{
    struct fuzz_settings *s = &a->settings;
    uint64_t number;
    enum status status = STATUS_OK;
    switch (option) {
    case OPTION_SEED:
        return read_count("seed", text, 0, UINT64_MAX, &s->seed, err);
    case OPTION_CASE:
        s->one = true;
        return read_count("case", text, 0, UINT64_MAX, &s->seed, err);
    case OPTION_CASES:
        return read_count("cases", text, 1, UINT64_MAX / 2, &s->cases, err);
    case OPTION_FINDINGS:
        return read_count("findings", text, 0, UINT64_MAX, &s->findings, err);
    case OPTION_SHRINK:
        status = read_count("shrink", text, 0, 1000000, &number, err);
        s->shrink = status ? 0 : (unsigned)number;
        return status;
    case OPTION_TIMEOUT:
        return worker_timeout_read(text, &a->worker, err);
    default:
        if (number_real(text, &s->seconds) && s->seconds > 0)
            return STATUS_OK;
        return error_set(err, STATUS_INVALID, "--seconds is '%.40s'; expected a number above 0",
                         text);
    }
}

/* `word`: as it stands on the command line. */
static enum status read_option(int option, const char *text, const char *word, struct arguments *a,
                               struct error *err)
{
    switch (option) {
    case 'c':
        textbuf_printf(&a->config, "%s%s", a->config.length ? ":" : "", text);
        return STATUS_OK;
    case 'k':
        a->kernel[a->kernels++] = text;
        return STATUS_OK;
    case 'o':
        a->settings.folder = text;
        return STATUS_OK;
    case OPTION_SHARD:
        return read_shard(text, &a->settings, err);
    case OPTION_ORACLE:
        a->oracle = text;
        if (strcmp(text, "cpu") == 0 || strcmp(text, "gpu") == 0)
            return STATUS_OK;
        return error_set(err, STATUS_INVALID, "--oracle is '%.40s'; expected cpu or gpu", text);
    case OPTION_DEVICE:
        return worker_device_read(text, &a->worker, err);
    case OPTION_PROBE:
        a->probes = true;
        return fuzz_probing_checks(text, &a->probing.checks, err);
    case OPTION_KEEP:
        a->settings.keep = true;
        return STATUS_OK;
    case OPTION_LIST:
        a->settings.list = true;
        return STATUS_OK;
    case OPTION_JSON:
        a->settings.json = true;
        return STATUS_OK;
    case OPTION_NO_TABLES:
        a->no_tables = true;
        return STATUS_OK;
    case '?':
        return error_set(err, STATUS_INVALID, "%s is no option, or lacks its value; see --help",
                         word);
    default:
        return read_number(option, text, a, err);
    }
}

static enum status read_arguments(int argc, char **argv, struct arguments *a, struct error *err)
{
    enum status status = STATUS_OK;
    *a = (struct arguments){
        .settings = {.seed = 1, .cases = 200, .shards = 1, .findings = 1, .shrink = 300},
        .worker = {.timeout_ms = 10000},
        .kernel = calloc((size_t)argc, sizeof *a->kernel)};
    textbuf_init(&a->config);
    if (!a->kernel)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the command line");
    optind = 1;
    opterr = 0;
    for (int option; !status && (option = getopt_long(argc, argv, "c:k:o:", options, NULL)) != -1;)
        status = read_option(option, optarg, argv[optind - 1], a, err);
    if (status)
        return status;
    const char *config = getenv("CUVET_CONFIG"), *tables = getenv("CUVET_TABLES");
    if (!a->config.length)
        textbuf_printf(&a->config, "%s", config ? config : "");
    a->no_tables |= tables && strcmp(tables, "off") == 0;
    if (!a->config.length && a->no_tables)
        return error_set(err, STATUS_INVALID,
                         "no registry: give -c FILE, set CUVET_CONFIG, or leave the tables on");
    if (optind != argc - 1)
        return error_set(err, STATUS_INVALID, "expected one IMAGE behind the options");
    a->image = argv[optind];
    a->probing.worker = &a->worker;
    a->settings.probing = a->probes ? &a->probing : NULL;
    return STATUS_OK;
}

/* ---- the run ---- */

static void complain(void *user, const char *sentence)
{
    *(size_t *)user += 1;
    fprintf(stderr, "%s\n", PRINTABLE(sentence));
}

static enum status load_registry(const struct arguments *a, struct registry **out,
                                 struct error *err)
{
    size_t problems = 0;
    const struct registry_source source = {.files = a->config.data, .tables = !a->no_tables};
    enum status status = registry_load(out, &source, complain, &problems);
    if (!status)
        status = fuzz_rules_check(*out, complain, &problems);
    if (status || problems)
        return error_set(err, status ? status : STATUS_INVALID, "%s: %zu problem%s",
                         a->config.length ? a->config.data : "tables", problems,
                         problems == 1 ? "" : "s");
    return STATUS_OK;
}

struct session {
    const struct arguments *arguments;
    struct registry *registry;
    struct worker *worker;
    uint64_t kernels, findings;
};

/* One kernel of the image. */
static enum status run_kernel(struct session *session, const struct fuzz_image *image,
                              struct fuzz_module *module, const char *kernel, struct error *err)
{
    const struct arguments *a = session->arguments;
    struct fuzz_subject subject = {0};
    struct fuzz_totals totals = {0};
    bool gpu = strcmp(worker_about(session->worker)->kind, "gpu") == 0;
    bool device = a->oracle ? strcmp(a->oracle, "gpu") == 0 : gpu;
    if (device && !gpu)
        return error_set(err, STATUS_INVALID, "--oracle gpu: the kernel runs on the interpreter");
    const struct fuzz_subject_source source = {
        .worker = session->worker,
        .module = module,
        .symbol = kernel,
        .oracle = device ? WORKER_ORACLE_DEVICE : WORKER_ORACLE_CPU,
        .registry = session->registry,
        .known = image->known,
    };
    enum status status = fuzz_subject_open(&subject, &source, err);
    if (!status)
        status = fuzz_campaign(&subject, &a->settings, &totals, err);
    session->findings += totals.findings;
    session->kernels += !status;
    fuzz_subject_close(&subject);
    return status;
}

/* In a folder a file of its own holds each kernel. */
static enum status run_folder(struct session *session, struct error *err)
{
    const struct arguments *a = session->arguments;
    bool text = strcmp(worker_about(session->worker)->kind, "gpu") != 0;
    enum status status = STATUS_OK;
    if (!a->kernels)
        return error_set(err, STATUS_INVALID, "%s is a folder; expected --kernel NAME", a->image);
    for (int i = 0; !status && i < a->kernels; i++) {
        struct fuzz_image image = {0};
        status = fuzz_image_find(&image, a->image, a->kernel[i], text, err);
        struct fuzz_module module = {.image = image.bytes, .bytes = image.count};
        if (!status)
            status = fuzz_image_known(&image, err);
        if (!status && (status = run_kernel(session, &image, &module, a->kernel[i], err)))
            error_prefix(err, "%s", image.path);
        fuzz_image_release(&image);
    }
    return status;
}

/* The image's kernels that NAME fits, or all of them (NULL), and for which an entry has a `fuzz`
 * mapping. */
static enum status run_fitting(struct session *session, const struct fuzz_image *image,
                               struct fuzz_module *module, const struct fuzz_symbols *symbols,
                               const char *name, struct error *err)
{
    uint64_t before = session->kernels;
    enum status status = STATUS_OK;
    struct error first = {{0}}, named = {{0}}; /* the latter: of a kernel that has an entry */
    for (size_t i = 0; !status && i < symbols->count; i++) {
        struct error why = {{0}};
        bool fits = true;
        if (name)
            status = fuzz_symbol_matches(name, symbols->name[i], &fits, err);
        if (status || !fits)
            continue;
        status = run_kernel(session, image, module, symbols->name[i], &why);
        if (status == STATUS_NOT_FOUND && registry_names(session->registry, symbols->name[i]))
            error_set(&named, status, "%s", why.text);
        if (status)
            error_set(status == STATUS_NOT_FOUND ? &first : err, status, "%s", why.text);
        status = status == STATUS_NOT_FOUND ? STATUS_OK : status;
    }
    if (status || session->kernels > before)
        return status;
    if (first.text[0])
        return error_set(err, STATUS_NOT_FOUND, "%s", named.text[0] ? named.text : first.text);
    if (!name)
        return error_set(err, STATUS_NOT_FOUND, "%s",
                         symbols->text ? "the PTX has no .entry: it is cut off, or has no kernel"
                                       : "the image's kernels cannot be listed; name them by "
                                         "--kernel");
    return run_kernel(session, image, module, name, err);
}

static enum status run_image(struct session *session, struct error *err)
{
    const struct arguments *a = session->arguments;
    struct fuzz_image image = {0};
    struct fuzz_symbols symbols;
    struct arena arena = {0};
    enum status status = fuzz_image_read(&image, a->image, err);
    struct fuzz_module module = {.image = image.bytes, .bytes = image.count};
    const bool read = !status;
    struct error other = {{0}}; /* a file of another tool's, beside an image that is no cache's */
    if (!status && fuzz_image_known(&image, &other))
        image.known[0].name = NULL;
    if (!status)
        status = fuzz_symbols_read(&symbols, &arena, image.bytes, image.count, err);
    if (!status && !a->kernels)
        status = run_fitting(session, &image, &module, &symbols, NULL, err);
    for (int i = 0; !status && i < a->kernels; i++)
        status = run_fitting(session, &image, &module, &symbols, a->kernel[i], err);
    if (status && read)
        error_prefix(err, "%s", a->image);
    arena_release(&arena);
    fuzz_image_release(&image);
    return status;
}

static enum status run(struct arguments *a, struct registry *registry, uint64_t *findings,
                       struct error *err)
{
    struct session session = {.arguments = a, .registry = registry};
    enum status status = worker_start(&session.worker, &a->worker, err);
    if (status)
        return status;
    if (a->settings.folder)
        status = fuzz_record_create(&a->settings.record, a->settings.folder, a->config.data,
                                    a->image, registry_entries(registry), err);
    if (!status)
        status =
            fuzz_image_is_folder(a->image) ? run_folder(&session, err) : run_image(&session, err);
    fuzz_record_end(a->settings.record);
    *findings = session.findings;
    worker_end(session.worker);
    return status;
}

static int exit_of(enum status status, uint64_t findings)
{
    if (status == STATUS_INVALID || status == STATUS_NOT_FOUND || status == STATUS_UNSUPPORTED)
        return EXIT_INPUT;
    return status ? EXIT_OURS : findings ? EXIT_FINDINGS : 0;
}

int cmd_fuzz(int argc, char **argv)
{
    struct arguments a;
    struct error err = {{0}};
    struct registry *registry = NULL;
    uint64_t findings = 0;
    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        fputs(usage, argc < 2 ? stderr : stdout);
        return argc < 2 ? EXIT_INPUT : 0;
    }
    enum status status = read_arguments(argc, argv, &a, &err);
    if (!status)
        status = load_registry(&a, &registry, &err);
    if (!status)
        status = run(&a, registry, &findings, &err);
    if (status)
        fprintf(stderr, "cuvet fuzz: %s\n", PRINTABLE(err.text));
    registry_destroy(registry);
    textbuf_release(&a.config);
    free(a.kernel);
    return exit_of(status, findings);
}
