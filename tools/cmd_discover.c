/*
 * cmd_discover.c - `cuvet discover`: a program is run and recorded, and a registry is written for
 * the kernels that no entry fits.
 *
 * The run is one of `cuvet run` with CUVET_MODE=discover: the library records launches into a
 * folder (shim/discover). Afterwards references of the catalogue are tried on what was recorded
 * (discover/draft.h).
 *
 * Exit status: the program's where it failed; else 0 with a draft, 2 for a wrong command line or
 * where nothing was recorded, 1 for a failure of ours.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/thread.h"
#include "system/files.h"
#include "text/json_out.h"
#include "text/number.h"
#include "text/printable.h"
#include "tools/cmd.h"
#include "tools/discover/draft.h"
#include "tools/progress.h"
#include "tools/run/run_child.h"

enum { EXIT_OURS = 1, EXIT_INPUT = 2, MOST_ARGUMENTS = 64, NAME_SHOWN = 48 };

struct discover {
    const char *output, *keep, *from;
    const char *forwarded[MOST_ARGUMENTS]; /* options for cuvet run */
    size_t forwards;
    enum worker_device device;
    bool probe;
    struct draft_settings settings;
    char **program;
    char folder[PATH_MAX];
    bool private_folder, shows; /* shows: there is a terminal */
    bool json;
    atomic_bool ended; /* the program */
    struct {
        size_t number, kernels;
        const char *name;
    } at; /* the kernel that the draft is at */
};

static const char usage[] =
    "usage: cuvet discover [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "       cuvet discover [OPTIONS] --from FOLDER\n"
    "  -o, --output FILE    the registry that is written (discover.yaml); - for standard output\n"
    "  -c, --config FILE    registry file whose kernels are left out; may be given again\n"
    "      --no-tables      kernels of the built-in tables are not left out\n"
    "      --keep FOLDER    keep the record there; --from FOLDER makes a draft of it again\n"
    "      --probe          run recorded launches again: which bytes each reads and writes\n"
    "      --tries N        entries that are tried for each kernel (400); 0: none\n"
    "      --seconds N      time for each kernel (20)\n"
    "      --kernels N      kernels that are written, the longest first (all)\n"
    "      --device D       where references and launches run: auto, gpu or interpreter (auto)\n"
    "      --json           with --from: prints the counts as one JSON object\n";

static int wrong(const char *sentence, const char *value)
{
    fprintf(stderr, "cuvet discover: %s%s\n%s", sentence, PRINTABLE(value), usage);
    return EXIT_INPUT;
}

enum { NO_TABLES = 256, KEEP, FROM, TRIES, SECONDS, KERNELS, DEVICE, JSON, PROBE };

static bool take_count(const char *text, unsigned *out)
{
    uint64_t value;
    if (!number_unsigned(text, &value) || value > UINT_MAX)
        return false;
    *out = (unsigned)value;
    return true;
}

static int forward(struct discover *d, const char *option, const char *value)
{
    if (d->forwards + 2 > MOST_ARGUMENTS - 8)
        return wrong("too many options", "");
    d->forwarded[d->forwards++] = option;
    if (value)
        d->forwarded[d->forwards++] = value;
    return 0;
}

static int take_option(struct discover *d, int option)
{
    struct error err = {{0}};
    switch (option) {
    case 'o':
        d->output = optarg;
        return 0;
    case 'c':
        return forward(d, "-c", optarg);
    case NO_TABLES:
        return forward(d, "--no-tables", NULL);
    case KEEP:
        d->keep = optarg;
        return 0;
    case FROM:
        d->from = optarg;
        return 0;
    case TRIES:
        return take_count(optarg, &d->settings.tries)
                   ? 0
                   : wrong("--tries expects a count, not ", optarg);
    case SECONDS:
        return take_count(optarg, &d->settings.seconds)
                   ? 0
                   : wrong("--seconds expects a count, not ", optarg);
    case KERNELS:
        return take_count(optarg, &d->settings.kernels)
                   ? 0
                   : wrong("--kernels expects a count, not ", optarg);
    case PROBE:
        d->probe = true;
        return 0;
    case JSON:
        d->json = true;
        return 0;
    default: /* DEVICE */
        return worker_device_of(optarg, &d->device, &err) ? wrong(err.text, "") : 0;
    }
}

/* 0, an exit status, or -1: help was given. */
static int parse(struct discover *d, int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"config", required_argument, NULL, 'c'},
                                            {"no-tables", no_argument, NULL, NO_TABLES},
                                            {"keep", required_argument, NULL, KEEP},
                                            {"from", required_argument, NULL, FROM},
                                            {"tries", required_argument, NULL, TRIES},
                                            {"seconds", required_argument, NULL, SECONDS},
                                            {"kernels", required_argument, NULL, KERNELS},
                                            {"device", required_argument, NULL, DEVICE},
                                            {"json", no_argument, NULL, JSON},
                                            {"probe", no_argument, NULL, PROBE},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    int option, result = 0;
    optind = 0;
    opterr = 0;
    while (!result && (option = getopt_long(argc, argv, "+:o:c:h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return -1;
        }
        if (option == ':' || option == '?')
            result = wrong(option == ':' ? "a value is missing after " : "unknown option ",
                           argv[optind - 1]);
        else
            result = take_option(d, option);
    }
    d->program = argv + optind;
    if (!result && d->json && (!d->from || strcmp(d->output, "-") == 0))
        return wrong("--json goes with --from and a file: standard output is the object's", "");
    if (!result && !d->from && optind >= argc)
        return wrong("no program to run", "");
    if (!result && d->from && optind < argc)
        return wrong("--from takes no program, found ", argv[optind]);
    return result;
}

/* ---- progress ---- */

static void nap(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void *show_recording(void *user)
{
    struct discover *d = user;
    struct error err = {{0}};
    for (unsigned i = 1; !atomic_load(&d->ended); i++) {
        nap(100);
        struct record record;
        if (i % 10 == 0 && !record_read(&record, d->folder, &err)) {
            unsigned samples = 0;
            for (size_t k = 0; k < record.kernels; k++)
                samples += record.kernel[k].samples;
            progress("recording: %zu kernels without an entry, %u launches", record.kernels,
                     samples);
            record_release(&record);
        }
    }
    progress_clear();
    return NULL;
}

static void show_trying(void *user, size_t number, size_t kernels, const char *name, size_t found)
{
    char shown[NAME_SHOWN];
    struct discover *d = user;
    d->at.number = number;
    d->at.kernels = kernels;
    d->at.name = name;
    if (number == kernels)
        progress_clear();
    else
        progress("kernel %zu of %zu, %zu with a reference: %s", number + 1, kernels, found,
                 printable_copy(shown, sizeof shown, name));
}

static void show_rerun(void *user, unsigned launch, unsigned launches)
{
    const struct discover *d = user;
    char shown[NAME_SHOWN];
    progress("kernel %zu of %zu, launch %u of %u is run again: %s", d->at.number + 1, d->at.kernels,
             launch + 1, launches, printable_copy(shown, sizeof shown, d->at.name));
}

/* ---- the run ---- */

static void set_environment(void *user)
{
    (void)user;
    setenv("CUVET_MODE", "discover", 1);
    setenv("CUVET_SUMMARY", "0", 1);
}

static int prepare_folder(struct discover *d)
{
    struct error err = {{0}};
    const char *temporary = getenv("TMPDIR");
    if (d->from || d->keep) {
        snprintf(d->folder, sizeof d->folder, "%s", d->from ? d->from : d->keep);
        if (d->from || !files_make_folders(d->folder, &err))
            return 0;
        fprintf(stderr, "cuvet discover: %s\n", err.text);
        return EXIT_INPUT;
    }
    snprintf(d->folder, sizeof d->folder, "%s/cuvet-discover-XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    d->private_folder = mkdtemp(d->folder) != NULL;
    if (d->private_folder)
        return 0;
    fprintf(stderr, "cuvet discover: no temporary folder %s: %s\n", PRINTABLE(d->folder),
            strerror(errno));
    return EXIT_OURS;
}

/* `cuvet run OPTIONS -- PROGRAM`. Its exit status, with signals as a shell has them; -1: it could
 * not be started. */
static int run_program(struct discover *d)
{
    size_t count = 0, arguments = 0;
    char tool[PATH_MAX];
    struct run_child child;
    ssize_t length = readlink("/proc/self/exe", tool, sizeof tool - 1);
    while (d->program[arguments])
        arguments++;
    const char **argv = calloc(MOST_ARGUMENTS + arguments, sizeof *argv);
    if (!argv || length <= 0)
        return -1;
    tool[length] = '\0';
    argv[count++] = tool;
    argv[count++] = "run";
    argv[count++] = "-o";
    argv[count++] = d->folder;
    for (size_t i = 0; i < d->forwards; i++)
        argv[count++] = d->forwarded[i];
    argv[count++] = "--";
    for (size_t i = 0; i < arguments; i++)
        argv[count++] = d->program[i];
    int failed = run_child(&child, (char *const *)(uintptr_t)argv, set_environment, NULL);
    free(argv);
    if (failed || child.exec_errno)
        return -1;
    return WIFEXITED(child.status) ? WEXITSTATUS(child.status) : 128 + WTERMSIG(child.status);
}

static int record_program(struct discover *d)
{
    pthread_t shower;
    bool shown = d->shows && thread_start(&shower, 0, show_recording, d) == 0;
    int result = run_program(d);
    atomic_store(&d->ended, true);
    if (shown)
        pthread_join(shower, NULL);
    if (result < 0) {
        fprintf(stderr, "cuvet discover: cuvet run could not be started\n");
        return EXIT_OURS;
    }
    return result;
}

/* ---- the draft ---- */

static void print_counts(const struct discover *d, const struct record *record,
                         const struct draft_counts *counts)
{
    size_t lines = counts->lines + counts->comments;
    fprintf(stderr, "cuvet discover: %zu kernel%s without an entry; a reference fits %zu of them",
            record->kernels, record->kernels == 1 ? "" : "s", counts->found);
    if (record->ns > 0)
        fprintf(stderr, ", %.3g %% of their time on the GPU", 100 * counts->found_ns / record->ns);
    fprintf(stderr, ".\n");
    if (d->settings.rerun)
        fprintf(
            stderr,
            "cuvet discover: run again, launches of %zu of %zu kernels gave what was recorded\n",
            counts->same, counts->rerun);
    if (lines > 0)
        fprintf(stderr, "cuvet discover: %zu of %zu lines need no edit (%.3g %%); %s\n",
                counts->lines, lines, 100 * (double)counts->lines / (double)lines,
                strcmp(d->output, "-") != 0 ? PRINTABLE(d->output) : "on standard output");
    if (record->lost)
        fprintf(stderr, "cuvet discover: %" PRIu64 " launches of further kernels are left out\n",
                record->lost);
}

static void put_json(const struct discover *d, const struct record *record,
                     const struct draft_counts *counts)
{
    struct json_out json;
    json_out_init(&json);
    json_begin_object(&json);
    json_put_int(&json, "version", 1);
    json_put_uint(&json, "kernels", record->kernels);
    json_put_uint(&json, "found", counts->found);
    json_put_double(&json, "time_share", record->ns > 0 ? counts->found_ns / record->ns : 0);
    json_put_uint(&json, "lines", counts->lines);
    json_put_uint(&json, "comments", counts->comments);
    json_put_uint(&json, "launches_left_out", record->lost);
    json_put_uint(&json, "rerun", counts->rerun);
    json_put_uint(&json, "rerun_same", counts->same);
    json_put_string(&json, "registry", record->kernels ? d->output : NULL);
    json_end(&json);
    if (json_out_ok(&json))
        printf("%s\n", json.text.data);
    json_out_release(&json);
}

/* Of one launch, in milliseconds: a quarter of the time for a kernel, 10 seconds at most. */
static int rerun_limit(const struct discover *d)
{
    enum { LEAST = 500, MOST = 10000 };
    uint64_t limit = (uint64_t)d->settings.seconds * 250;
    return limit < LEAST ? LEAST : limit > MOST ? MOST : (int)limit;
}

static enum status write_draft(struct discover *d, const struct record *record, struct error *err)
{
    bool out = strcmp(d->output, "-") == 0;
    struct trial *trial = NULL;
    struct draft_counts counts;
    if (d->settings.tries && trial_open(&trial, d->device, err)) {
        fprintf(stderr, "cuvet discover: no reference is tried: %s\n", err->text);
        *err = (struct error){{0}};
    }
    if (d->probe && rerun_open(&d->settings.rerun, d->device, rerun_limit(d), err)) {
        fprintf(stderr, "cuvet discover: no launch is run again: %s\n", err->text);
        *err = (struct error){{0}};
    }
    FILE *file = out ? stdout : fopen(d->output, "we");
    enum status status =
        file ? draft_write(record, trial, &d->settings, file, &counts, err)
             : error_set(err, STATUS_IO, "cannot write %s: %s", d->output, strerror(errno));
    if (file && (fflush(file) != 0 || (!out && fclose(file) != 0)) && !status)
        status = error_set(err, STATUS_IO, "cannot write %s: %s", d->output, strerror(errno));
    trial_close(trial);
    rerun_close(d->settings.rerun);
    if (!status && d->json)
        put_json(d, record, &counts);
    else if (!status)
        print_counts(d, record, &counts);
    return status;
}

static int make_draft(struct discover *d)
{
    struct record record;
    struct error err = {{0}};
    enum status status = record_read(&record, d->folder, &err);
    if (!status && record.kernels == 0) {
        fprintf(stderr, "cuvet discover: no kernel without an entry was launched\n");
        if (d->json)
            put_json(d, &record, &(struct draft_counts){0});
        record_release(&record);
        return 0;
    }
    if (!status)
        status = write_draft(d, &record, &err);
    record_release(&record);
    if (!status)
        return 0;
    fprintf(stderr, "cuvet discover: %s\n", err.text);
    return status == STATUS_NOT_FOUND || status == STATUS_INVALID ? EXIT_INPUT : EXIT_OURS;
}

int cmd_discover(int argc, char **argv)
{
    struct discover d = {
        .output = "discover.yaml",
        .settings = {.tries = 400, .seconds = 20, .progress = show_trying, .rerunning = show_rerun},
        .device = WORKER_AUTO,
        .shows = isatty(STDERR_FILENO)};
    int result = parse(&d, argc, argv);
    if (result)
        return result < 0 ? 0 : result;
    d.settings.user = &d;
    d.settings.program = d.from ? d.from : d.program[0];
    result = prepare_folder(&d);
    if (result)
        return result;
    int ended = d.from ? 0 : record_program(&d);
    result = ended == 126 || ended == 127 ? ended : make_draft(&d);
    if (d.private_folder)
        files_remove_folder(d.folder);
    return ended ? ended : result;
}
