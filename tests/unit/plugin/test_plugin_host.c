/* Findings reach the user's plugin, and whatever it does there, the program goes on and notices
 * nothing of it but the count. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock.h"
#include "system/log.h"
#include "cuvet.h"
#include "session/on_mismatch.h"
#include "plugin/plugin_host.h"
#include "report/thin.h"
#include "tests/unit/common/made_up_check.h"
#include "tests/unit/common/tmp_folder.h"

struct fixture {
    struct tmp_folder folder;
    char build[PATH_MAX], plugin[PATH_MAX + 64], tool[PATH_MAX + 64], out[600];
    char act[64], out_variable[700];
    struct made_up_check check;
    struct plugin_host *host;
    struct textbuf told;
    int inherited;
};

static volatile sig_atomic_t children_died;

static void on_child(int number)
{
    (void)number;
    children_died = 1;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    char self[PATH_MAX], path[700];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    assert_true(length > 0);
    self[length] = '\0';
    snprintf(f->build, sizeof f->build, "%s", dirname(dirname(dirname(dirname(self)))));
    snprintf(f->plugin, sizeof f->plugin, "%s/tests/plugin/told.so", f->build);
    snprintf(f->tool, sizeof f->tool, "%s/cuvet", f->build);
    tmp_folder_make(&f->folder);
    snprintf(f->out, sizeof f->out, "%s/out", f->folder.path);
    snprintf(f->out_variable, sizeof f->out_variable, "PLUGIN_OUT=%s", f->out);
    snprintf(path, sizeof path, "%s/inherited", f->folder.path);
    f->inherited = open(path, O_RDWR | O_CREAT, 0600); /* on purpose not close-on-exec */
    made_up_mismatch(&f->check);
    children_died = 0;
    signal(SIGCHLD, on_child);
    log_set_level(LOG_QUIET);
    *state = f;
    return 0;
}

/* In no test does the program get a signal, or find a child. */
static int teardown(void **state)
{
    struct fixture *f = *state;

    assert_false(children_died);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    signal(SIGCHLD, SIG_DFL);
    close(f->inherited);
    plugin_host_destroy(f->host);
    textbuf_release(&f->told);
    tmp_folder_remove(&f->folder);
    free(f);
    return 0;
}

static void open_host(struct fixture *f, const char *act)
{
    char *env[] = {f->act, f->out_variable, "LD_PRELOAD=/nowhere/lib.so", "CUVET_CONFIG=x", NULL};
    struct plugin_settings settings = {.plugin = f->plugin,
                                       .tool = f->tool,
                                       .library = "",
                                       .version = cuvet_version(),
                                       .env = env,
                                       .rank = -1};
    struct error err = {0};

    snprintf(f->act, sizeof f->act, "PLUGIN_ACT=%s", act);
    if (plugin_host_create(&f->host, &settings, &err))
        fail_msg("%s", err.text);
}

static void send_findings(struct fixture *f, int count)
{
    for (int i = 0; i < count; i++) {
        f->check.report.launch = (uint64_t)(17 + i);
        plugin_host_finding(f->host, &f->check.report, (uint64_t)i + 1, i ? NULL : "/r/double-1");
    }
}

/* Ends it; the lost findings, and the sentence that it printed. */
static uint64_t end(struct fixture *f, int64_t most_ms)
{
    int64_t began = clock_ns(), took;

    plugin_host_end(f->host);
    took = (clock_ns() - began) / 1000000;
    if (took > most_ms)
        fail_msg("it took %ld ms", (long)took);
    textbuf_init(&f->told);
    return plugin_host_send(f->host, &f->told);
}

static void assert_has(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("'%s' lacks '%s'", text ? text : "", part);
}

static int lines_of(const struct fixture *f)
{
    char *text = file_read(f->out, NULL);
    int lines = 0;

    for (const char *at = text; at && *at; at++)
        lines += *at == '\n';
    free(text);
    return lines;
}

static void a_plugin_is_told(void **state)
{
    struct fixture *f = *state;
    char *text;

    open_host(f, "");
    send_findings(f, 3);
    assert_int_equal(end(f, 1900), 0);
    assert_has(f->told.data, "told.so handled 3 of 3 findings");
    assert_null(strstr(f->told.data, ";"));
    text = file_read(f->out, NULL);
    assert_string_equal(text, "double launch 17 occurrence 1 y[3][5] got 3 bundle /r/double-1 "
                              "preload gone\n"
                              "double launch 18 occurrence 2 y[3][5] got 3 bundle none "
                              "preload gone\n"
                              "double launch 19 occurrence 3 y[3][5] got 3 bundle none "
                              "preload gone\n");
    free(text);
}

/* What part of the launch was checked, which other one it differs from, which graph it was in. */
static void a_plugin_is_told_of_subsets_and_differences(void **state)
{
    static const struct contract contract = {.name = "norms", .where = "k.yaml:1", .bits = true};
    struct fixture *f = *state;
    char *text;

    made_up_subset(&f->check);
    open_host(f, "");
    send_findings(f, 1);
    made_up_mismatch(&f->check);
    f->check.report.differs = true;
    f->check.report.earlier = 9;
    send_findings(f, 1);
    made_up_mismatch(&f->check);
    f->check.report.place = (struct graph_place){.graph = 2, .node = 5, .replay = 7};
    send_findings(f, 1);
    made_up_mismatch(&f->check);
    f->check.report.parity = (struct parity_report){
        .contract = &contract, .met = 1, .differ = 1, .other = f->check.report.spec};
    send_findings(f, 1);
    assert_int_equal(end(f, 1900), 0);
    text = file_read(f->out, NULL);
    assert_has(text, "preload gone contract norms: 1 of 1 items that were seen before differ");
    assert_has(text, "preload gone subset rows 4 of 100\n");
    assert_has(text, "preload gone differs from launch 9\n");
    assert_has(text, "preload gone node 5 of graph 2, replay 7\n");
    free(text);
}

static void without_findings_nothing_is_started(void **state)
{
    struct fixture *f = *state;

    open_host(f, "crash");
    assert_int_equal(end(f, 50), 0);
    assert_null(f->told.data);
    plugin_host_finding(NULL, &f->check.report, 1, NULL);
    plugin_host_end(NULL);
    assert_int_equal(plugin_host_send(NULL, &f->told), 0);
}

static void a_crash_costs_its_finding(void **state)
{
    struct fixture *f = *state;

    open_host(f, "crash once");
    send_findings(f, 4);
    assert_int_equal(end(f, 1900), 1);
    assert_has(f->told.data, "handled 3 of 4 findings; it crashed, ended or hung and was started "
                             "again 1 time");
    assert_int_equal(lines_of(f), 4);
}

static void one_that_always_ends_is_given_up(void **state)
{
    static const char *const acts[] = {"crash", "exit"};
    struct fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        unlink(f->out);
        open_host(f, acts[i]);
        send_findings(f, 20);
        assert_int_equal(end(f, 1900), 20);
        assert_has(f->told.data, "handled 0 of 20 findings; it crashed, ended or hung too often");
        assert_int_equal(lines_of(f), 1 + PLUGIN_RESTARTS);
        plugin_host_destroy(f->host);
        textbuf_release(&f->told);
        f->host = NULL;
    }
}

static void an_exception_is_a_crash(void **state)
{
    struct fixture *f = *state;

    snprintf(f->plugin, sizeof f->plugin, "%s/tests/plugin/throws.so", f->build);
    open_host(f, "");
    send_findings(f, 1);
    assert_int_equal(end(f, 1900), 1);
}

static void one_that_hangs_is_not_waited_for(void **state)
{
    struct fixture *f = *state;

    open_host(f, "hang");
    send_findings(f, 3); /* returns, although none is ever handled */
    assert_int_equal(end(f, PLUGIN_EXIT_MS + 1000), 3);
    assert_has(f->told.data, "handled 0 of 3 findings");
    assert_int_equal(lines_of(f), 1);
}

/* More than the socket holds: what does not fit is lost and counted, and nothing waits. */
static void a_slow_one_loses_findings(void **state)
{
    struct fixture *f = *state;
    char part[64];
    uint64_t lost;

    open_host(f, "slow");
    for (uint64_t i = 0; i < 5000; i++) {
        f->check.spec.number = (uint32_t)i; /* as of many kernels: none is thinned out */
        plugin_host_finding(f->host, &f->check.report, 1, NULL);
    }
    lost = end(f, PLUGIN_EXIT_MS + 1000);
    assert_in_range(lost, 4000, 4995);
    snprintf(part, sizeof part, "handled %lu of 5000", 5000 - lost);
    assert_has(f->told.data, part);
    assert_has(f->told.data, "could not be handed over");
    assert_in_range(lines_of(f), 5000 - lost, 5000 - lost + 1);
}

/* The number of the only socket among the descriptors. */
static int find_socket(void)
{
    char link[64], target[64];

    for (int fd = 3; fd < 256; fd++) {
        ssize_t length;

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        length = readlink(link, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        if (strncmp(target, "socket:", 7) == 0)
            return fd;
    }
    fail_msg("no socket is open");
    return -1;
}

/* A program that closes what it does not own, and whose own socket gets the number. */
static void a_socket_of_the_programs_is_left_alone(void **state)
{
    struct fixture *f = *state;
    int pair[2], number;
    char byte = 0;

    open_host(f, "");
    send_findings(f, 1);
    number = find_socket();
    assert_true(fcntl(number, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(dup2(pair[0], number), number);
    assert_int_equal(send(pair[1], "a", 1, 0), 1);
    send_findings(f, 3);
    end(f, 1900);
    assert_has(f->told.data, "3 could not be handed over");
    plugin_host_destroy(f->host);
    f->host = NULL;
    assert_int_equal(recv(number, &byte, 1, MSG_DONTWAIT), 1); /* not read, not closed */
    assert_int_equal(byte, 'a');
    assert_int_equal(send(number, "b", 1, MSG_NOSIGNAL | MSG_DONTWAIT), 1); /* not shut down */
    assert_int_equal(recv(pair[1], &byte, 1, MSG_DONTWAIT), 1);
    assert_int_equal(byte, 'b');
    assert_int_equal(recv(pair[1], &byte, 1, MSG_DONTWAIT), -1); /* nothing else was sent */
    close(number);
    close(pair[0]);
    close(pair[1]);
}

/* The process of the plugin ends while the program reaps orphans: no signal, no child. */
static void a_subreaper_inherits_nothing(void **state)
{
    struct fixture *f = *state;
    int reaps = 0;

    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    open_host(f, "");
    send_findings(f, 3);
    assert_int_equal(end(f, 1900), 0);
    usleep(300000); /* until it is gone */
    assert_false(children_died);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(prctl(PR_GET_CHILD_SUBREAPER, &reaps), 0);
    assert_int_equal(reaps, 1);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

/* In a child that is process 1 of a namespace of its own; 2: there cannot be one. */
static int as_process_1(struct fixture *f)
{
    int status = 0;
    pid_t child;

    if (unshare(CLONE_NEWPID) != 0)
        return 2;
    child = fork();
    if (child == 0) {
        open_host(f, "");
        send_findings(f, 1);
        if (end(f, 1900) != 1 || !strstr(f->told.data, "it could not be started"))
            _exit(1);
        _exit(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : 3);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

static void process_1_starts_none(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t child = fork();

    if (child == 0) {
        signal(SIGCHLD, SIG_DFL);
        _exit(as_process_1(f));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    children_died = 0;
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2)
        skip(); /* no right to make a namespace */
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void many_findings_of_a_kernel_are_thinned_out(void **state)
{
    struct fixture *f = *state;

    open_host(f, "");
    for (uint64_t i = 1; i <= 10000; i++) {
        plugin_host_finding(f->host, &f->check.report, i, NULL);
        if (i == THIN_FINDINGS)
            usleep(200000);
    }
    assert_int_equal(end(f, 1900), 0);
    assert_has(f->told.data, "of 71 findings"); /* 64, then 128 .. 8192 */
}

static void one_that_cannot_be_loaded(void **state)
{
    struct fixture *f = *state;

    snprintf(f->plugin, sizeof f->plugin, "%s/junk.so", f->folder.path);
    file_write(f->plugin, "no shared object");
    open_host(f, "");
    send_findings(f, 2);
    assert_int_equal(end(f, 1900), 2);
    assert_has(f->told.data, "it could not be loaded, `cuvet plugin` prints why");
}

/* A program that is no cuvet, and one of another version: all is lost, and counted. */
static void a_wrong_tool(void **state)
{
    struct fixture *f = *state;

    snprintf(f->tool, sizeof f->tool, "/bin/true");
    open_host(f, "");
    send_findings(f, 2);
    assert_int_equal(end(f, 1900), 2);
    assert_has(f->told.data, "/true, which runs it, gave no answer");
}

static void missing_files_are_told_at_the_start(void **state)
{
    struct fixture *f = *state;
    char *env[] = {NULL};
    char library[PATH_MAX + 64];
    struct plugin_settings settings = {
        .plugin = "", .library = library, .version = "1", .env = env};
    struct plugin_host *host;
    struct error err = {0};

    snprintf(library, sizeof library, "%s/lib/libcuvet.so", f->folder.path);
    assert_int_equal(plugin_host_create(&host, &settings, &err), STATUS_INVALID);
    assert_has(err.text, "CUVET_PLUGIN names no plugin");
    err = (struct error){0};
    settings.plugin = "/nowhere/told.so";
    assert_int_equal(plugin_host_create(&host, &settings, &err), STATUS_NOT_FOUND);
    assert_has(err.text, "/nowhere/told.so, which cannot be read");
    err = (struct error){0};
    settings.plugin = f->plugin;
    assert_int_equal(plugin_host_create(&host, &settings, &err), STATUS_NOT_FOUND);
    assert_has(err.text, "lib/libcuvet.so nor in ../bin; CUVET_TOOL may name it");
    assert_null(host);
    snprintf(library, sizeof library, "%s/libcuvet.so", f->build);
    assert_int_equal(plugin_host_create(&host, &settings, NULL), STATUS_OK);
    plugin_host_destroy(host);
}

static void messages_are_held_against_their_length(void **state)
{
    static char message[PLUGIN_MESSAGE_MAX], longest[PLUGIN_MESSAGE_MAX];
    struct cuvet_mismatch finding = {.size = sizeof finding, .kernel = "k", .label = ""}, got;
    size_t size = plugin_wire_put(&finding, message, sizeof message);

    (void)state;
    assert_int_equal(plugin_wire_get(&got, message, size), STATUS_OK);
    assert_string_equal(got.kernel, "k");
    assert_string_equal(got.label, "");
    assert_null(got.bundle);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(plugin_wire_get(&got, message, cut), STATUS_INVALID);
    assert_int_equal(plugin_wire_get(&got, message, size + 1), STATUS_INVALID);
    message[size - 1] = 'x'; /* no NUL */
    assert_int_equal(plugin_wire_get(&got, message, size), STATUS_INVALID);
    memset(longest, 'x', sizeof longest - 1);
    finding.kernel = longest;
    assert_int_equal(plugin_wire_put(&finding, message, sizeof message), 0);
}

/* ---- CUVET_ON_MISMATCH ---- */

static char complaint[1024];

static void complain(void *user, const char *sentence)
{
    (void)user;
    snprintf(complaint, sizeof complaint, "%s", sentence);
}

static struct options options_of(char **env)
{
    struct options options;

    complaint[0] = '\0';
    options_read(&options, env, complain, NULL);
    assert_string_equal(complaint, "");
    return options;
}

static void log_alone_does_nothing(void **state)
{
    struct fixture *f = *state;
    char *env[] = {NULL};
    struct options options = options_of(env);
    struct on_mismatch *on = on_mismatch_create(&options, env, complain, NULL);

    assert_null(on);
    assert_string_equal(complaint, "");
    assert_false(on_mismatch_found(on, &f->check.report, 1, ""));
    assert_int_equal(on_mismatch_end(on, &f->told), 0);
    on_mismatch_end_program(on);
}

static void a_missing_plugin_falls_back_to_log(void **state)
{
    struct fixture *f = *state;
    char *env[] = {"CUVET_ON_MISMATCH=plugin", "CUVET_PLUGIN=/nowhere/p.so", NULL};
    char *idle[] = {"CUVET_PLUGIN=/nowhere/p.so", NULL};
    struct options options = options_of(env);
    struct on_mismatch *on = on_mismatch_create(&options, env, complain, NULL);

    assert_has(complaint, "findings are reported, and they go to no plugin: CUVET_PLUGIN names "
                          "/nowhere/p.so, which cannot be read");
    assert_false(on_mismatch_found(on, &f->check.report, 1, ""));
    assert_int_equal(on_mismatch_end(on, &f->told), 0);
    on_mismatch_end_program(on);
    free(on);
    options = options_of(idle);
    assert_null(on_mismatch_create(&options, idle, complain, NULL));
    assert_has(complaint, "CUVET_PLUGIN is ignored");
}

/* Not before a mismatch, and then with one sentence, whatever the program does with the signal. */
static void abort_ends_the_program(void **state)
{
    struct fixture *f = *state;
    char *env[] = {"CUVET_ON_MISMATCH=abort", NULL};
    struct options options = options_of(env);
    struct on_mismatch *on = on_mismatch_create(&options, env, complain, NULL);
    int status;
    char *said;
    pid_t child;

    signal(SIGCHLD, SIG_DFL);
    on_mismatch_end_program(on);
    child = fork();
    if (child == 0) {
        sigset_t all;

        sigfillset(&all); /* as on a thread of ours */
        sigprocmask(SIG_SETMASK, &all, NULL);
        signal(SIGABRT, SIG_IGN);
        if (!freopen(f->out, "w", stderr) ||
            !on_mismatch_found(on, &f->check.report, 1, "/r/double-1-17") ||
            on_mismatch_found(on, &f->check.report, 2, ""))
            _exit(9);
        on_mismatch_end_program(on);
        _exit(8);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    said = file_read(f->out, NULL);
    assert_string_equal(said, "cuvet: the program is ended by SIGABRT (CUVET_ON_MISMATCH=abort): "
                              "launch 17 of double is a mismatch, bundle /r/double-1-17\n");
    free(said);
    free(on);
}

#define HOST_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(a_plugin_is_told),
        HOST_TEST(a_plugin_is_told_of_subsets_and_differences),
        HOST_TEST(without_findings_nothing_is_started),
        HOST_TEST(a_crash_costs_its_finding),
        HOST_TEST(one_that_always_ends_is_given_up),
        HOST_TEST(an_exception_is_a_crash),
        HOST_TEST(one_that_hangs_is_not_waited_for),
        HOST_TEST(a_slow_one_loses_findings),
        HOST_TEST(a_socket_of_the_programs_is_left_alone),
        HOST_TEST(a_subreaper_inherits_nothing),
        HOST_TEST(process_1_starts_none),
        HOST_TEST(many_findings_of_a_kernel_are_thinned_out),
        HOST_TEST(one_that_cannot_be_loaded),
        HOST_TEST(a_wrong_tool),
        HOST_TEST(missing_files_are_told_at_the_start),
        HOST_TEST(messages_are_held_against_their_length),
        HOST_TEST(log_alone_does_nothing),
        HOST_TEST(a_missing_plugin_falls_back_to_log),
        HOST_TEST(abort_ends_the_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
