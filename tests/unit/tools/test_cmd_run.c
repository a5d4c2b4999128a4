/*
 * test_cmd_run.c - the program `cuvet run`, as a shell would start it.
 *
 * The tool is the one of this build, ../../cuvet beside this test (CUVET_TOOL names another). The
 * programs that it runs are sh and this test itself, which writes journals as a process under
 * cuvet would (--act). libc stands in for libcuvet.so: these tests need no more of the library than
 * that it can be preloaded.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "report/journal.h"
#include "tests/unit/common/made_up_check.h"
#include "tests/unit/common/tmp_folder.h"

struct fixture {
    struct tmp_folder folder;
    char self[PATH_MAX], tool[PATH_MAX + 32];
    char good[600], bad[600], reports[600], output[600], ready[600];
    char parent[512]; /* TMPDIR as it was */
    char *said;       /* what the last run wrote */
};

/* ---- this program as a program under cuvet ---- */

/* Makes the journal look a day old: a clock that was set back, a file server that lags behind. */
static void make_old(const char *path)
{
    const struct timespec day = {.tv_sec = time(NULL) - 86400};
    if (utimensat(AT_FDCWD, path, (const struct timespec[]){day, day}, 0) != 0)
        _exit(97);
}

/* Puts a link in the place of the journal, or gives it to another user. */
static void plant(const char *path, bool link)
{
    char moved[700];
    snprintf(moved, sizeof moved, "%s.moved", path);
    if (link ? rename(path, moved) != 0 || symlink(moved, path) != 0
             : chown(path, 65534, 65534) != 0)
        _exit(97);
}

/* Counts so far, of the finding that is counted already; then another finding. */
static void write_late(struct journal *journal, struct counters *counters,
                       const struct made_up_check *check)
{
    uint64_t due = 1;
    counters_seen(counters);
    counters_skip(counters, (int64_t)check->spec.number, SKIP_NOT_SAMPLED);
    journal_interim(journal, counters, &due);
    journal_check(journal, &check->report, NULL);
}

/* "match", "finding": a process with that result; "crash": a finding, and no end line; "late":
 * counts so far before it; "old",
 * "link", "foreign": a finding, whose journal then is as above; "pass": its launch is not checked;
 * "other": its launch is of no registered kernel. */
static int act(const char *what)
{
    struct counters *counters = counters_create();
    struct journal *journal = NULL;
    struct made_up_check check;
    struct error err = {0};
    struct quota quota;
    quota_init(&quota, 1 << 20);
    if (journal_create(&journal, getenv("CUVET_REPORT"), getenv("CUVET_RUN"), &quota, &err))
        return 99;
    journal_start(journal, &(struct options){.config = ""}, 1);
    if (strcmp(what, "match") == 0)
        made_up_match(&check);
    else
        made_up_mismatch(&check);
    counters_add_kernel(counters, &check.spec);
    counters_seen(counters);
    if (strcmp(what, "pass") == 0) {
        counters_skip(counters, (int64_t)check.spec.number, SKIP_NOT_COMPILED);
    } else if (strcmp(what, "other") == 0) {
        counters_skip(counters, -1, SKIP_UNREGISTERED);
    } else {
        counters_check(counters, &check.report);
        journal_check(journal, &check.report, NULL);
    }
    if (strcmp(what, "late") == 0)
        write_late(journal, counters, &check);
    if (strcmp(what, "crash") == 0 || strcmp(what, "late") == 0)
        raise(SIGKILL);
    journal_end(journal, counters);
    if (strcmp(what, "old") == 0)
        make_old(journal_path(journal));
    if (strcmp(what, "link") == 0 || strcmp(what, "foreign") == 0)
        plant(journal_path(journal), what[0] == 'l');
    journal_destroy(journal);
    counters_destroy(counters);
    return 0;
}

static volatile sig_atomic_t interrupts;

static void interrupted(int number)
{
    (void)number, interrupts++;
}

/* Counts the SIGINTs of the next half second: that is its exit status. */
static int count_interrupts(const char *ready)
{
    const struct sigaction action = {.sa_handler = interrupted};

    sigaction(SIGINT, &action, NULL);
    file_write(ready, "");
    for (int i = 0; i < 50; i++)
        usleep(10000);
    return interrupts;
}

/* ---- helpers ---- */

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    const char *tool = getenv("CUVET_TOOL");
    ssize_t length;
    Dl_info libc;

    assert_non_null(f);
    *state = f;
    tmp_folder_make(&f->folder);
    length = readlink("/proc/self/exe", f->self, sizeof f->self - 1);
    assert_true(length > 0);
    if (tool)
        snprintf(f->tool, sizeof f->tool, "%s", tool);
    else
        snprintf(f->tool, sizeof f->tool, "%.*s/../../../cuvet",
                 (int)(strrchr(f->self, '/') - f->self), f->self);
    if (access(f->tool, X_OK) != 0)
        fail_msg("%s is not there: build the program first, or set CUVET_TOOL", f->tool);
    snprintf(f->good, sizeof f->good, "%s/good.yaml", f->folder.path);
    snprintf(f->bad, sizeof f->bad, "%s/bad.yaml", f->folder.path);
    snprintf(f->reports, sizeof f->reports, "%s/reports", f->folder.path);
    snprintf(f->output, sizeof f->output, "%s/output", f->folder.path);
    snprintf(f->ready, sizeof f->ready, "%s/ready", f->folder.path);
    file_write(f->good, "version: 1\nkernels:\n  - kernel: k\n    reference: relu\n    signature: "
                        "const f32 x[rows][cols], f32 y[rows][cols], i32 rows, i32 cols\n");
    file_write(f->bad, "version: 1\nkernels:\n  - kernel: k\n    refrence: relu\n");
    assert_int_not_equal(dladdr((void *)(uintptr_t)getpid, &libc), 0);
    setenv("CUVET_LIBRARY", libc.dli_fname, 1);
    snprintf(f->parent, sizeof f->parent, "%s", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    setenv("TMPDIR", f->folder.path, 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
    for (size_t i = 0; i < 5; i++)
        unsetenv((const char *[]){"CUVET_CONFIG", "CUVET_REPORT", "LD_PRELOAD", "CUVET_SAMPLE",
                                  "CUVET_BUNDLES"}[i]);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    setenv("TMPDIR", f->parent, 1);
    tmp_folder_remove(&f->folder);
    free(f->said);
    free(f);
    return 0;
}

static pid_t start_tool(struct fixture *f, const char *const *arguments)
{
    char *argv[24] = {f->tool, (char *)"run"};
    pid_t child = fork();

    if (child != 0)
        return child;
    for (int i = 0; arguments[i]; i++)
        argv[2 + i] = (char *)(uintptr_t)arguments[i];
    dup2(open(f->output, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(STDOUT_FILENO, STDERR_FILENO);
    execv(f->tool, argv);
    _exit(98);
}

static int wait_tool(struct fixture *f, pid_t child)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    free(f->said);
    f->said = file_read(f->output, NULL);
    return status;
}

/* The wait status of `cuvet run ARGUMENTS`. */
#define run_tool(f, ...) wait_tool((f), start_tool((f), (const char *const[]){__VA_ARGS__, NULL}))

static void assert_exit(const struct fixture *f, int status, int code)
{
    if (!WIFEXITED(status) || WEXITSTATUS(status) != code)
        fail_msg("wait status 0x%x, not exit %d:\n%s", (unsigned)status, code, f->said);
}

static void assert_said(const struct fixture *f, const char *part)
{
    if (!f->said || !strstr(f->said, part))
        fail_msg("'%s' lacks '%s'", f->said ? f->said : "", part);
}

static void wait_for_file(const char *path)
{
    for (int i = 0; i < 500 && access(path, F_OK) != 0; i++)
        usleep(10000);
    assert_int_equal(access(path, F_OK), 0);
}

/* ---- exit status ---- */

static void the_programs_exit_status_is_ours(void **state)
{
    struct fixture *f = *state;

    assert_exit(f, run_tool(f, "-c", f->good, "--", "true"), 0);
    assert_said(f, "nothing was checked: no process under cuvet used CUDA");
    assert_exit(f, run_tool(f, "-c", f->good, "false"), 1);
    assert_exit(f, run_tool(f, "-c", f->good, "sh", "-c", "exit 200"), 200);
}

static void the_programs_signal_is_ours(void **state)
{
    static const int signals[] = {SIGTERM, SIGKILL, SIGINT, SIGSEGV, SIGABRT};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        char script[32];
        int status;

        snprintf(script, sizeof script, "kill -%d $$", signals[i]);
        status = run_tool(f, "-c", f->good, "--", "sh", "-c", script);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        assert_int_equal(folder_entries(f->folder.path), 3); /* registries and output: the
                                                                temporary folder is gone */
    }
}

static void a_program_that_cannot_start(void **state)
{
    struct fixture *f = *state;

    assert_exit(f, run_tool(f, "-c", f->good, "--", "/no/such/program"), 127);
    assert_said(f, "cannot start /no/such/program: No such file or directory");
    assert_exit(f, run_tool(f, "-c", f->good, "--", f->folder.path), 126);
    assert_said(f, "Permission denied");
    assert_int_equal(folder_entries(f->folder.path), 3);
}

static void a_wrong_command_line(void **state)
{
    struct fixture *f = *state;

    assert_exit(f, run_tool(f, "-c", f->good), 2);
    assert_said(f, "no program to run");
    assert_exit(f, run_tool(f, "--no-tables", "true"), 2);
    assert_said(f, "no registry");
    assert_exit(f, run_tool(f, "true"), 0); /* the tables are one */
    assert_exit(f, run_tool(f, "-c", f->good, "--sample", "1.5", "true"), 2);
    assert_exit(f, run_tool(f, "-c", f->good, "--sample", "x", "true"), 2);
    assert_exit(f, run_tool(f, "-c", f->good, "--budget", "5", "true"), 2);
    assert_exit(f, run_tool(f, "-c", f->good, "--seed", "-1", "true"), 2);
    assert_exit(f, run_tool(f, "-c", f->good, "--seed", "18446744073709551616", "true"), 2);
    assert_exit(f, run_tool(f, "-c", f->good, "--sample", "0x1p-1", "true"), 2);
    assert_exit(f, run_tool(f, "-c", f->good, "--unknown", "true"), 2);
    assert_said(f, "usage: cuvet run");
    assert_exit(f, run_tool(f, "-c"), 2);
    assert_exit(f, run_tool(f, "--help"), 0);
}

static void a_bad_registry_starts_nothing(void **state)
{
    struct fixture *f = *state;

    assert_exit(f, run_tool(f, "-c", f->bad, "--", "touch", f->ready), 2);
    assert_said(f, "refrence");
    assert_said(f, "the program was not started");
    assert_int_not_equal(access(f->ready, F_OK), 0);
    assert_exit(f, run_tool(f, "-c", f->good, "-c", "/no/such.yaml", "--", "true"), 2);
    assert_exit(f, run_tool(f, "-c", f->good, "--", "touch", f->ready), 0);
    assert_int_equal(access(f->ready, F_OK), 0);
}

static void a_missing_library(void **state)
{
    struct fixture *f = *state;

    setenv("CUVET_LIBRARY", "/no/libcuvet.so", 1);
    assert_exit(f, run_tool(f, "-c", f->good, "--", "true"), 1);
    assert_said(f, "CUVET_LIBRARY names /no/libcuvet.so: No such file");
    setenv("CUVET_LIBRARY", "/no/lib cuvet.so", 1);
    assert_exit(f, run_tool(f, "-c", f->good, "--", "true"), 1);
}

/* ---- environment ---- */

static void the_program_finds_its_environment(void **state)
{
    static const char script[] = "echo \"P=$LD_PRELOAD\" \"C=$CUVET_CONFIG\" \"R=$CUVET_REPORT\" "
                                 "\"S=$CUVET_SAMPLE/$CUVET_SEED/$CUVET_BUNDLES\" "
                                 "\"L=$CUVET_LIBRARY\" \"A=$1\"";
    struct fixture *f = *state;
    char expected[2048];

    assert_int_equal(chdir(f->folder.path), 0);
    setenv("LD_PRELOAD", "libm.so.6", 1);
    assert_exit(f,
                run_tool(f, "-c", "good.yaml", "-c", f->good, "-o", "reports", "--sample", "0.25",
                         "--seed", "7", "--budget", "2%", "--", "sh", "-c", script, "sh",
                         "--strict"),
                0);
    unsetenv("LD_PRELOAD");
    snprintf(expected, sizeof expected, "P=libm.so.6:%s C=%s:%s R=%s S=0.25/7/ L= A=--strict\n",
             getenv("CUVET_LIBRARY"), f->good, f->good, f->reports);
    assert_said(f, expected);

    setenv("CUVET_CONFIG", "good.yaml", 1); /* where no -c is given; and a private folder */
    assert_exit(f, run_tool(f, "sh", "-c", script), 0);
    snprintf(expected, sizeof expected, "P=%s C=%s R=%s/cuvet-run-", getenv("CUVET_LIBRARY"),
             f->good, f->folder.path);
    assert_said(f, expected);
    assert_said(f, " S=//0 L= A=\n"); /* no bundles into a folder that is removed */
    assert_int_equal(chdir("/"), 0);
}

static void the_library_is_found_beside_the_program(void **state)
{
    struct fixture *f = *state;
    char bin[600], lib[600], copy[PATH_MAX * 2], expected[PATH_MAX + 8], real[PATH_MAX];

    snprintf(bin, sizeof bin, "%s/bin", f->folder.path);
    snprintf(lib, sizeof lib, "%s/lib", f->folder.path);
    assert_int_equal(mkdir(bin, 0700) | mkdir(lib, 0700), 0);
    snprintf(copy, sizeof copy, "cp '%s' '%s/cuvet'", f->tool, bin);
    assert_int_equal(system(copy), 0);
    snprintf(f->tool, sizeof f->tool, "%s/cuvet", bin);
    strcat(lib, "/libcuvet.so");
    assert_non_null(realpath(getenv("CUVET_LIBRARY"), real));
    unsetenv("CUVET_LIBRARY");
    assert_exit(f, run_tool(f, "-c", f->good, "true"), 1);
    assert_said(f, "libcuvet.so is not beside");
    assert_int_equal(symlink(real, lib), 0);
    assert_exit(f, run_tool(f, "-c", f->good, "sh", "-c", "echo P=$LD_PRELOAD"), 0);
    snprintf(expected, sizeof expected, "P=%s\n", real);
    assert_said(f, expected);
}

/* The program changes its folder before it uses CUDA. */
static void paths_are_those_of_the_start(void **state)
{
    struct fixture *f = *state;
    char expected[2048];

    assert_int_equal(chdir(f->folder.path), 0);
    setenv("CUVET_PLUGIN", "told.so", 1);
    setenv("CUVET_TOOL", "bin/cuvet", 1);
    setenv("CUVET_CUPTI", "./libcupti.so", 1);
    setenv("CUVET_NVRTC", "libnvrtc.so.12", 1);
    assert_exit(f,
                run_tool(f, "-c", f->good, "sh", "-c",
                         "cd /; echo $CUVET_PLUGIN $CUVET_TOOL $CUVET_CUPTI $CUVET_NVRTC"),
                0);
    for (size_t i = 0; i < 4; i++)
        unsetenv((const char *[]){"CUVET_PLUGIN", "CUVET_TOOL", "CUVET_CUPTI", "CUVET_NVRTC"}[i]);
    assert_int_equal(chdir("/"), 0);
    snprintf(expected, sizeof expected, "%s/told.so %s/bin/cuvet %s/./libcupti.so libnvrtc.so.12\n",
             f->folder.path, f->folder.path, f->folder.path);
    assert_said(f, expected);
}

/* ---- findings ---- */

static void findings_are_added_up(void **state)
{
    struct fixture *f = *state;
    char script[PATH_MAX * 4];

    snprintf(script, sizeof script, "'%s' --act match; '%s' --act finding; '%s' --act match",
             f->self, f->self, f->self);
    assert_exit(f, run_tool(f, "-c", f->good, "-o", f->reports, "--", "sh", "-c", script), 0);
    assert_said(f, "cuvet run: 3 processes, 3 launches seen. Checked 3: 2 match, 1 mismatch, "
                   "0 inconclusive.\n");
    assert_said(f, "journals and bundles are in /");
    assert_int_equal(folder_entries(f->reports), 3);
    /* Another run into the same folder does not count the first one's. */
    assert_exit(
        f,
        run_tool(f, "-c", f->good, "-o", f->reports, "--strict", "--", f->self, "--act", "match"),
        0);
    assert_said(f, "cuvet run: 1 process, 1 launch seen. Checked 1: 1 match, 0 mismatch");
}

static void strict_makes_findings_a_failure(void **state)
{
    struct fixture *f = *state;
    char script[PATH_MAX + 64];

    assert_exit(f, run_tool(f, "-c", f->good, "--strict", f->self, "--act", "finding"), 3);
    assert_exit(f, run_tool(f, "-c", f->good, f->self, "--act", "finding"), 0);
    assert_exit(f, run_tool(f, "-c", f->good, "--strict", f->self, "--act", "match"), 0);
    /* The program's own failure is worth more. */
    snprintf(script, sizeof script, "'%s' --act finding; exit 5", f->self);
    assert_exit(f, run_tool(f, "-c", f->good, "--strict", "sh", "-c", script), 5);
}

static void the_clock_does_not_matter(void **state)
{
    struct fixture *f = *state;

    assert_exit(f, run_tool(f, "-c", f->good, "--strict", f->self, "--act", "old"), 3);
    assert_said(f, "Checked 1: 0 match, 1 mismatch");
}

/* In a folder where others may write. */
static void planted_journals_are_not_counted(void **state)
{
    struct fixture *f = *state;
    char script[PATH_MAX + 1600];

    assert_exit(f, run_tool(f, "-c", f->good, "-o", f->reports, f->self, "--act", "link"), 0);
    assert_said(f, "nothing was checked");
    assert_said(f, "1 journal is not counted, made by another user, or a link");
    snprintf(script, sizeof script,
             "'%s' --act match; ln -s /dev/zero \"%s/journal-h-1-$CUVET_RUN"
             ".jsonl\"; mkfifo \"%s/journal-h-2-$CUVET_RUN.jsonl\"",
             f->self, f->reports, f->reports);
    assert_exit(f, run_tool(f, "-c", f->good, "-o", f->reports, "sh", "-c", script), 0);
    assert_said(f, "Checked 1: 1 match, 0 mismatch");
    assert_said(f, "2 journals are not counted");
    if (geteuid() != 0)
        return;
    assert_exit(f, run_tool(f, "-c", f->good, "-o", f->reports, f->self, "--act", "foreign"), 0);
    assert_said(f, "nothing was checked");
    assert_said(f, "1 journal is not counted");
}

/* What it prints at the end has no reader: the program's word counts all the same. */
static void a_reader_that_is_gone(void **state)
{
    struct fixture *f = *state;
    int ends[2], status;
    pid_t tool;

    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    tool = fork();
    if (tool == 0) {
        signal(SIGPIPE, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        execl(f->tool, f->tool, "run", "-c", f->good, "--", "sh", "-c", "exit 7", NULL);
        _exit(98);
    }
    close(ends[1]);
    assert_int_equal(waitpid(tool, &status, 0), tool);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(folder_entries(f->folder.path), 2); /* the temporary folder is gone */
}

static void strict_wants_something_checked(void **state)
{
    struct fixture *f = *state;
    char script[PATH_MAX * 4];
    assert_exit(f, run_tool(f, "-c", f->good, "--strict", "true"), 4);
    assert_said(f, "--strict fails because nothing was checked: no process under cuvet used CUDA.");
    assert_exit(f, run_tool(f, "-c", f->good, "--strict", f->self, "--act", "pass"), 4);
    assert_said(f, "--strict fails because nothing was checked: of 1 launch 1 went unchecked for "
                   "'not compiled' (its reference is not compiled yet, or cannot be).");
    assert_exit(f, run_tool(f, "-c", f->good, "--strict", f->self, "--act", "other"), 4);
    assert_said(f, "no kernel that the registry names was launched.");
    assert_exit(f, run_tool(f, "-c", f->good, f->self, "--act", "pass"), 0);
    assert_null(strstr(f->said, "--strict"));
    assert_exit(f, run_tool(f, "-c", f->good, "--strict", "false"), 1);
    /* One process that checked something is enough, and a mismatch comes first. */
    snprintf(script, sizeof script, "'%s' --act pass; '%s' --act match", f->self, f->self);
    assert_exit(f, run_tool(f, "-c", f->good, "--strict", "sh", "-c", script), 0);
    snprintf(script, sizeof script, "'%s' --act pass; '%s' --act finding", f->self, f->self);
    assert_exit(f, run_tool(f, "-c", f->good, "--strict", "sh", "-c", script), 3);
}

static void a_process_without_an_end_is_told(void **state)
{
    struct fixture *f = *state;
    char script[PATH_MAX + 64];
    snprintf(script, sizeof script, "'%s' --act crash; exit 0", f->self);
    assert_exit(f, run_tool(f, "-c", f->good, "--strict", "--", "sh", "-c", script), 3);
    assert_said(f, "Checked 1: 0 match, 1 mismatch");
    assert_said(f, "1 process ended without a summary (killed, _exit, a crash, or a full disk)");
    assert_said(f, "2 of 32 elements outside");
    assert_said(f, " 31.5\n");
    snprintf(script, sizeof script, "'%s' --act late; exit 0", f->self);
    assert_exit(f, run_tool(f, "-c", f->good, "--strict", "--", "sh", "-c", script), 3);
    assert_said(f, "1 process, 2 launches seen. Checked 2: 0 match, 2 mismatch");
    assert_said(f, "1  not sampled: ");
    assert_exit(f, run_tool(f, "-c", f->good, "--", f->self, "--act", "match"), 0);
    assert_null(strstr(f->said, "without a summary"));
}

/* ---- signals ---- */

static void signals_are_passed_on(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT};
    struct fixture *f = *state;
    char script[1024];

    snprintf(script, sizeof script,
             "for s in TERM INT HUP USR1 USR2 QUIT; do trap \"kill \\$p; echo got $s; exit 7\" $s; "
             "done; sleep 20 & p=$!; touch '%s'; wait",
             f->ready);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        const char *const arguments[] = {"-c", f->good, "--", "sh", "-c", script, NULL};
        pid_t tool;

        unlink(f->ready);
        tool = start_tool(f, arguments);
        wait_for_file(f->ready);
        usleep(20000); /* into `wait` */
        assert_int_equal(kill(tool, signals[i]), 0);
        assert_exit(f, wait_tool(f, tool), 7);
        assert_said(f, "got ");
    }
}

/* Ctrl-C reaches the whole process group: the program must not get a second one from us. */
static void the_terminals_interrupt_comes_once(void **state)
{
    struct fixture *f = *state;
    int terminal, status;
    pid_t tool = forkpty(&terminal, NULL, NULL, NULL);

    assert_true(tool >= 0);
    if (tool == 0) {
        execl(f->tool, f->tool, "run", "-c", f->good, "--", f->self, "--count", f->ready, NULL);
        _exit(98);
    }
    wait_for_file(f->ready);
    /* We sleep while the program takes its own, so that a second one could not merge with it. */
    assert_int_equal(kill(tool, SIGSTOP), 0);
    usleep(20000);
    assert_int_equal(write(terminal, "\003", 1), 1);
    usleep(100000);
    assert_int_equal(kill(tool, SIGCONT), 0);
    assert_int_equal(waitpid(tool, &status, 0), tool);
    close(terminal);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

#define RUN_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN_TEST(the_programs_exit_status_is_ours),
        RUN_TEST(the_programs_signal_is_ours),
        RUN_TEST(a_program_that_cannot_start),
        RUN_TEST(a_wrong_command_line),
        RUN_TEST(a_bad_registry_starts_nothing),
        RUN_TEST(a_missing_library),
        RUN_TEST(the_program_finds_its_environment),
        RUN_TEST(the_library_is_found_beside_the_program),
        RUN_TEST(paths_are_those_of_the_start),
        RUN_TEST(findings_are_added_up),
        RUN_TEST(strict_makes_findings_a_failure),
        RUN_TEST(the_clock_does_not_matter),
        RUN_TEST(planted_journals_are_not_counted),
        RUN_TEST(a_reader_that_is_gone),
        RUN_TEST(strict_wants_something_checked),
        RUN_TEST(a_process_without_an_end_is_told),
        RUN_TEST(signals_are_passed_on),
        RUN_TEST(the_terminals_interrupt_comes_once),
    };

    if (argc == 3 && strcmp(argv[1], "--act") == 0)
        return act(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--count") == 0)
        return count_interrupts(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
