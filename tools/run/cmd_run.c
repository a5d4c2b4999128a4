/*
 * cmd_run.c - `cuvet run`: a program under cuvet, and one summary of all its processes at the end.
 *
 * The processes write journals into the report folder, a private one when the user names none; the
 * run's name (CUVET_RUN), in each file's name and line, distinguishes them from those of other
 * runs. The journals are read with report/journal_read.h: no JSON parser is needed for the handful
 * of fixed fields that count here.
 *
 * Exit status: the program's; by the same signal where one killed it; when it succeeded, under
 * --strict, 3 with mismatches and 4 when nothing was checked; 126 and 127 as of env(1) when it
 * could not be started; 2 for a wrong command line or registry; 1 for a failure of cuvet before the
 * start.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "system/files.h"
#include "text/number.h"
#include "base/options.h"
#include "text/printable.h"
#include "text/textbuf.h"
#include "tools/cmd.h"
#include "tools/run/run_audit.h"
#include "tools/run/run_child.h"
#include "tools/report/formats/out.h"
#include "tools/run/run_journals.h"
#include "tools/run/run_references.h"
#include "registry/registry.h"
#include "value/skip.h"

extern char **environ;

enum {
    EXIT_OURS = 1,
    EXIT_USAGE = 2,
    EXIT_FINDINGS = 3,
    EXIT_UNCHECKED = 4,
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NOT_FOUND = 127
};

struct run {
    struct textbuf config;     /* absolute paths, separated by ':' */
    struct textbuf tolerances; /* one absolute path or empty */
    struct textbuf report;     /* folder, absolute */
    struct textbuf library;
    struct textbuf preload; /* LD_PRELOAD for the program */
    struct textbuf audit;   /* LD_AUDIT; empty: it is left alone */
    struct registry *registry;
    struct run_references references;
    const char *sample, *budget, *seed, *unregistered;
    bool strict, private_report, no_tables, no_lift;
    char id[64]; /* CUVET_RUN */
    char **program;
};

static const char usage[] =
    "usage: cuvet run [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "  -c, --config FILE    registry file; may be given again, later ones win (or CUVET_CONFIG)\n"
    "  -o, --report FOLDER  keep journals and bundles there (or CUVET_REPORT)\n"
    "      --no-tables      no entries but those of FILE (or CUVET_TABLES=off)\n"
    "      --no-lift        kernels without an entry are not held against their own PTX (or\n"
    "                       CUVET_LIFT=0)\n"
    "      --sample P       probability that a launch is checked, 0 to 1\n"
    "      --budget SHARE   share of time that checking may cost, such as 2%, or off\n"
    "      --unregistered N kernels without an entry that the summary names\n"
    "      --seed N         seed of the sampling\n"
    "      --strict         when the program succeeds: exit with 3 if a launch does not match,\n"
    "                       with 4 if nothing was checked\n";

/* Appends `path`, made absolute without touching the file: the program may change its folder. */
static void add_absolute(struct textbuf *out, const char *path, size_t length)
{
    char folder[PATH_MAX];

    if (length > 0 && path[0] != '/' && getcwd(folder, sizeof folder))
        textbuf_printf(out, "%s/", folder);
    textbuf_add(out, path, length);
}

/* Appends each path of a list separated by ':'. */
static void add_config(struct run *run, const char *list)
{
    while (list && *list) {
        size_t length = strcspn(list, ":");

        if (length > 0) {
            if (run->config.length > 0)
                textbuf_add(&run->config, ":", 1);
            add_absolute(&run->config, list, length);
        }
        list += length + (list[length] == ':');
    }
}

static bool valid_sample(const char *text)
{
    double value;

    return number_real(text, &value) && value >= 0 && value <= 1;
}

static bool valid_seed(const char *text)
{
    uint64_t seed;

    return number_unsigned(text, &seed);
}

static bool valid_count(const char *text)
{
    uint64_t count;

    return number_unsigned(text, &count) && count <= 100;
}

static int wrong(const char *sentence, const char *value)
{
    fprintf(stderr, "cuvet run: %s%s\n%s", sentence, PRINTABLE(value), usage);
    return EXIT_USAGE;
}

/* 0, or the exit status; -1: help was printed. */
static int parse(struct run *run, int argc, char **argv)
{
    enum { SAMPLE = 256, BUDGET, SEED, UNREGISTERED };
    int strict = 0, no_tables = 0, no_lift = 0;
    const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"report", required_argument, NULL, 'o'},
        {"sample", required_argument, NULL, SAMPLE},
        {"budget", required_argument, NULL, BUDGET},
        {"seed", required_argument, NULL, SEED},
        {"unregistered", required_argument, NULL, UNREGISTERED},
        {"strict", no_argument, &strict, 1},
        {"no-tables", no_argument, &no_tables, 1},
        {"no-lift", no_argument, &no_lift, 1},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    double share;
    int option;

    optind = 0; /* glibc: start afresh */
    opterr = 0;
    while ((option = getopt_long(argc, argv, "+:c:o:h", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            add_config(run, optarg);
            break;
        case 'o':
            textbuf_clear(&run->report);
            add_absolute(&run->report, optarg, strlen(optarg));
            break;
        case SAMPLE:
            if (!valid_sample(optarg))
                return wrong("--sample expects a number from 0 to 1, not ", optarg);
            run->sample = optarg;
            break;
        case BUDGET:
            if (!number_share(optarg, &share))
                return wrong("--budget expects a share such as 2%, or off, not ", optarg);
            run->budget = optarg;
            break;
        case UNREGISTERED:
            if (!valid_count(optarg))
                return wrong("--unregistered expects a number from 0 to 100, not ", optarg);
            run->unregistered = optarg;
            break;
        case SEED:
            if (!valid_seed(optarg))
                return wrong("--seed expects a whole number, not ", optarg);
            run->seed = optarg;
            break;
        case 0: /* a flag */
            break;
        case 'h':
            fputs(usage, stdout);
            return -1;
        case ':':
            return wrong("a value is missing after ", argv[optind - 1]);
        default:
            return wrong("unknown option ", argv[optind - 1]);
        }
    }
    run->strict = strict;
    run->no_tables = no_tables;
    run->no_lift = no_lift;
    run->program = argv + optind;
    if (optind >= argc)
        return wrong("no program to run", "");
    return 0;
}

/* What the command line left open comes from the environment. */
static int fill_in(struct run *run)
{
    const char *report = getenv("CUVET_REPORT"), *tolerances = getenv("CUVET_TOLERANCES");
    const char *tables = getenv("CUVET_TABLES"), *mode = getenv("CUVET_MODE");
    bool judges = !mode || !strcmp(mode, "check");

    if (run->config.length == 0)
        add_config(run, getenv("CUVET_CONFIG"));
    run->no_tables |= tables && !strcmp(tables, "off");
    if (run->config.length == 0 && run->no_tables && judges)
        return wrong("no registry: give -c FILE, set CUVET_CONFIG, or leave the tables on", "");
    if (run->report.length == 0 && report && *report)
        add_absolute(&run->report, report, strlen(report));
    if (tolerances && *tolerances)
        add_absolute(&run->tolerances, tolerances, strlen(tolerances));
    return 0;
}

static void complain(void *user, const char *sentence)
{
    ++*(size_t *)user;
    fprintf(stderr, "%s\n", PRINTABLE(sentence));
}

static int check_registry(struct run *run)
{
    struct registry_source source = {.files = run->config.data, .tables = !run->no_tables};
    enum status status;
    size_t problems = 0;

    if (run->tolerances.length > 0)
        source.tolerances = run->tolerances.data;
    status = registry_load(&run->registry, &source, complain, &problems);
    if (status == STATUS_NO_MEMORY) {
        fprintf(stderr, "cuvet run: no memory for the registry\n");
        return EXIT_OURS;
    }
    if (status || problems) {
        fprintf(stderr, "cuvet run: the registry has %zu problem%s; the program was not started\n",
                problems, problems == 1 ? "" : "s");
        return EXIT_USAGE;
    }
    return 0;
}

static int compile_references(struct run *run)
{
    run_references_compile(&run->references, run->registry);
    if (!run->references.wrong)
        return 0;
    fprintf(stderr,
            "cuvet run: %zu text%s of the registry %s not compile; the program was not started\n",
            run->references.wrong, run->references.wrong == 1 ? "" : "s",
            run->references.wrong == 1 ? "does" : "do");
    return EXIT_USAGE;
}

/* The library: CUVET_LIBRARY, or beside this program as installed (../lib) or built. */
static int find_library(struct run *run)
{
    static const char *const places[] = {"../lib/libcuvet.so", "libcuvet.so", "../libcuvet.so",
                                         "../lib64/libcuvet.so"};
    const char *given = getenv("CUVET_LIBRARY");
    char program[PATH_MAX], *slash;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

    if (given && *given) {
        add_absolute(&run->library, given, strlen(given));
        if (access(run->library.data, R_OK) == 0)
            return 0;
        fprintf(stderr, "cuvet run: CUVET_LIBRARY names %s: %s\n", PRINTABLE(given),
                strerror(errno));
        return EXIT_OURS;
    }
    program[length > 0 ? length : 0] = '\0';
    slash = strrchr(program, '/');
    for (size_t i = 0; slash && i < sizeof places / sizeof places[0]; i++) {
        char found[PATH_MAX];

        textbuf_clear(&run->library);
        textbuf_printf(&run->library, "%.*s/%s", (int)(slash - program), program, places[i]);
        if (access(run->library.data, R_OK) != 0 || !realpath(run->library.data, found))
            continue;
        textbuf_clear(&run->library);
        textbuf_add(&run->library, found, strlen(found));
        return 0;
    }
    fprintf(stderr,
            "cuvet run: libcuvet.so is not beside %s, nor in ../lib; CUVET_LIBRARY may "
            "name it\n",
            PRINTABLE(program));
    return EXIT_OURS;
}

/* After what is preloaded already. The loader splits at blanks and colons and has no quotes. */
static int make_preload(struct run *run)
{
    const char *before = getenv("LD_PRELOAD");

    if (strpbrk(run->library.data, " :")) {
        fprintf(stderr,
                "cuvet run: LD_PRELOAD cannot carry a blank or a colon, and the library "
                "is %s\n",
                PRINTABLE(run->library.data));
        return EXIT_OURS;
    }
    if (before && *before)
        textbuf_printf(&run->preload, "%s:", before);
    textbuf_add(&run->preload, run->library.data, run->library.length);
    run_audit_find(&run->audit, run->library.data);
    return 0;
}

/* A name that no other run has: neither a clock that was set back nor a process number that comes
 * again makes it twice. */
static void name_run(struct run *run)
{
    uint64_t number = 0;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (uint64_t)clock_ns();
    snprintf(run->id, sizeof run->id, "%lx-%lx-%016" PRIx64, (long)time(NULL), (long)getpid(),
             number);
}

static int prepare_report(struct run *run)
{
    const char *temporary = getenv("TMPDIR");
    struct error err = {0};

    name_run(run);
    if (run->report.length > 0) {
        if (files_make_folders(run->report.data, &err) == STATUS_OK)
            return 0;
        fprintf(stderr, "cuvet run: %s\n", err.text);
        return EXIT_USAGE;
    }
    if (!temporary || !*temporary)
        temporary = "/tmp";
    add_absolute(&run->report, temporary, strlen(temporary));
    textbuf_printf(&run->report, "/cuvet-run-XXXXXX");
    if (!mkdtemp(run->report.data)) {
        fprintf(stderr, "cuvet run: no temporary folder %s: %s\n", PRINTABLE(run->report.data),
                strerror(errno));
        return EXIT_OURS;
    }
    run->private_report = true;
    return 0;
}

/* In the child. */
static void set_environment(void *user)
{
    const struct run *run = user;

    setenv("LD_PRELOAD", run->preload.data, 1);
    run_audit_set(&run->audit);
    if (run->config.length > 0)
        setenv("CUVET_CONFIG", run->config.data, 1);
    if (run->no_tables)
        setenv("CUVET_TABLES", "off", 1);
    setenv("CUVET_LIFT", run->no_lift ? "0" : "1", run->no_lift);
    setenv("CUVET_REPORT", run->report.data, 1);
    setenv("CUVET_RUN", run->id, 1);
    unsetenv("CUVET_LIBRARY");
    if (run->references.folder.length > 0)
        setenv("CUVET_CACHE", run->references.folder.data, 1);
    if (run->tolerances.length > 0)
        setenv("CUVET_TOLERANCES", run->tolerances.data, 1);
    if (run->sample)
        setenv("CUVET_SAMPLE", run->sample, 1);
    if (run->budget)
        setenv("CUVET_BUDGET", run->budget, 1);
    if (run->unregistered)
        setenv("CUVET_UNREGISTERED", run->unregistered, 1);
    if (run->seed)
        setenv("CUVET_SEED", run->seed, 1);
    options_paths_absolute(environ);
    setenv("_CUVET_REPORT_ENDS", run->private_report ? run->report.data : "", 1);
    if (run->private_report)
        setenv("CUVET_BUNDLES", "0", 1); /* the folder is removed at the end */
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* What the journals of processes that left no summary hold. */
static void print_lost(const struct run *run, const struct run_totals *t)
{
    struct model *model = model_create();
    struct error err = {{0}};

    for (uint64_t i = 0; model && i < t->unended && i < RUN_LOST_SHOWN; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", run->report.data, t->lost[i].journal);
        if (model_read(model, path, &err))
            fprintf(stderr, "cuvet run: %s\n", PRINTABLE(err.text));
    }
    if (model) {
        model_finish(model);
        out_text(stderr, model);
    }
    model_destroy(model);
}

static void print_unended(const struct run *run, const struct run_totals *t)
{
    if (t->running > 0)
        fprintf(stderr,
                "cuvet run: %" PRIu64 " process%s still running; what is counted of them "
                "is what their journals hold so far.\n",
                t->running, t->running == 1 ? " is" : "es are");
    if (t->unended == 0)
        return;
    fprintf(stderr,
            "cuvet run: %" PRIu64 " process%s ended without a summary (killed, _exit, a "
            "crash, or a full disk): pid",
            t->unended, t->unended == 1 ? "" : "es");
    for (uint64_t i = 0; i < t->unended && i < RUN_LOST_SHOWN; i++)
        fprintf(stderr, " %" PRIu64, t->lost[i].pid);
    fprintf(stderr, "%s. What %s journal%s:\n", t->unended > RUN_LOST_SHOWN ? " ..." : "",
            t->unended == 1 ? "its" : "their", t->unended == 1 ? " holds" : "s hold");
    print_lost(run, t);
}

/* The closing paragraph. */
static void print_totals(const struct run *run, const struct run_totals *t)
{
    if (t->processes == 0)
        fprintf(stderr, "cuvet run: nothing was checked: no process under cuvet used CUDA.\n");
    else
        fprintf(stderr,
                "cuvet run: %" PRIu64 " process%s, %" PRIu64 " launch%s seen. %s%" PRIu64
                ": %" PRIu64 " match, %" PRIu64 " mismatch, %" PRIu64 " inconclusive.\n",
                t->processes, t->processes == 1 ? "" : "es", t->counts.seen,
                t->counts.seen == 1 ? "" : "es",
                run_checked(&t->counts) == 0 ? "NOTHING WAS CHECKED, " : "Checked ",
                run_checked(&t->counts), t->counts.match, t->counts.mismatch,
                t->counts.inconclusive);
    print_unended(run, t);
    if (t->unbalanced > 0)
        fprintf(stderr,
                "cuvet run: the counters of %" PRIu64 " process%s do not add up: do not "
                "rely on these numbers.\n",
                t->unbalanced, t->unbalanced == 1 ? "" : "es");
    if (t->unreadable > 0)
        fprintf(stderr,
                "cuvet run: %" PRIu64 " journal%s held lines of another version, which "
                "are not counted.\n",
                t->unreadable, plural(t->unreadable));
    if (t->refused > 0)
        fprintf(stderr,
                "cuvet run: %" PRIu64 " journal%s not counted, made by another user, or a link: "
                "no other user should write into the report folder.\n",
                t->refused, t->refused == 1 ? " is" : "s are");
    if (t->lost_lines > 0)
        fprintf(stderr, "cuvet run: %" PRIu64 " journal line%s could not be written.\n",
                t->lost_lines, plural(t->lost_lines));
    if (!run->private_report && t->processes > 0)
        fprintf(stderr, "cuvet run: journals and bundles are in %s\n", PRINTABLE(run->report.data));
}

/* A reader of standard error that is gone, or a file that may not grow, does not change how this
 * process ends: that is the program's word. */
static void block_write_signals(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    sigaddset(&signals, SIGXFSZ);
    sigprocmask(SIG_BLOCK, &signals, NULL);
}

/* Why --strict fails although no launch is a mismatch. */
static void print_unchecked(const struct run_totals *t)
{
    enum skip most = SKIP_NONE;

    for (enum skip skip = SKIP_NONE + 1; skip < SKIP_COUNT; skip++) {
        if (skip != SKIP_UNREGISTERED && t->counts.skipped[skip] > t->counts.skipped[most])
            most = skip;
    }
    fprintf(stderr, "cuvet run: --strict fails because nothing was checked: ");
    if (t->processes == 0)
        fprintf(stderr, "no process under cuvet used CUDA.\n");
    else if (most != SKIP_NONE)
        fprintf(stderr, "of %" PRIu64 " launch%s %" PRIu64 " went unchecked for '%s' (%s).\n",
                t->counts.seen, t->counts.seen == 1 ? "" : "es", t->counts.skipped[most],
                skip_text(most), skip_sentence(most));
    else if (t->counts.seen > 0)
        fprintf(stderr, "no kernel that the registry names was launched.\n");
    else if (t->unended + t->running > 0)
        fprintf(stderr, "no process has left its counters.\n");
    else
        fprintf(stderr, "no kernel was launched.\n");
}

/* After the program's end: what the caller shall see. */
static int finish(const struct run *run, const struct run_child *child)
{
    struct run_totals totals;

    if (child->exec_errno) {
        fprintf(stderr, "cuvet run: cannot start %s: %s\n", PRINTABLE(run->program[0]),
                strerror(child->exec_errno));
        return child->exec_errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    }
    block_write_signals();
    run_journals_read(&totals, run->report.data, run->id);
    const char *mode = getenv("CUVET_MODE");
    if (!mode || strcmp(mode, "discover") != 0) /* then cuvet discover has the last word */
        print_totals(run, &totals);
    if (WIFSIGNALED(child->status))
        return 128 + WTERMSIG(child->status);
    if (!run->strict || WEXITSTATUS(child->status) != 0)
        return WEXITSTATUS(child->status);
    if (totals.counts.mismatch > 0)
        return EXIT_FINDINGS;
    if (run_checked(&totals.counts) > 0)
        return 0;
    print_unchecked(&totals);
    return EXIT_UNCHECKED;
}

static void release(struct run *run)
{
    if (run->private_report)
        files_remove_folder(run->report.data);
    run_references_release(&run->references);
    registry_destroy(run->registry);
    textbuf_release(&run->config);
    textbuf_release(&run->tolerances);
    textbuf_release(&run->report);
    textbuf_release(&run->library);
    textbuf_release(&run->audit);
    textbuf_release(&run->preload);
}

static bool out_of_memory(const struct run *run)
{
    return run->config.failed || run->tolerances.failed || run->report.failed ||
           run->library.failed || run->preload.failed || run->audit.failed;
}

int cmd_run(int argc, char **argv)
{
    struct run run = {0};
    struct run_child child = {0};
    int result = parse(&run, argc, argv);

    if (!result)
        result = fill_in(&run);
    if (!result)
        result = check_registry(&run);
    if (!result)
        result = find_library(&run);
    if (!result)
        result = make_preload(&run);
    if (!result)
        result = compile_references(&run);
    if (!result)
        result = prepare_report(&run);
    if (!result && out_of_memory(&run)) {
        fprintf(stderr, "cuvet run: no memory\n");
        result = EXIT_OURS;
    }
    if (!result && run_child(&child, run.program, set_environment, &run) != 0) {
        fprintf(stderr, "cuvet run: no process could be made: %s\n", strerror(errno));
        result = EXIT_OURS;
    } else if (!result) {
        result = finish(&run, &child);
    }
    release(&run);
    if (WIFSIGNALED(child.status))
        result = run_child_die_alike(child.status);
    return result < 0 ? 0 : result;
}
