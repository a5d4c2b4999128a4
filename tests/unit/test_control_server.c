/* The thread that answers `cuvet ctl`: each word, and that nobody who talks to it can hurt or hold
 * up the process: malformed, oversized, slow, vanishing and foreign clients, too many of them, lost
 * descriptors, forks, the exit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/control_socket.h"
#include "control.h"
#include "control_server.h"
#include "control_world.h"
#include "cuvet.h"
#include "tmp_folder.h"

enum { PATIENCE_MS = 5000, CLIENT_MS = 300 };

static const struct gate_settings every = {.sample = 1};
static struct control_server *server;
static struct tmp_folder tmp;
static char place[CONTROL_PATH];
static int folder;
static atomic_bool foreign; /* every client belongs to somebody else */

static bool allowed(int fd)
{
    return !atomic_load(&foreign) && control_peer_is_me(fd);
}

static void start_server(void)
{
    struct control_server_settings settings = {place, CLIENT_MS, allowed};
    struct error err = {{0}};
    if (control_server_start(&server, &settings, &err))
        fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN); /* of this test as a client */
    tmp_folder_make(&tmp);
    snprintf(place, sizeof(place), "%.400s/run", tmp.path);
    control_world_open(&every);
    start_server();
    assert_int_equal(control_folder_open(place, false, &folder, NULL), STATUS_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    control_server_stop(server);
    server = NULL;
    atomic_store(&foreign, false);
    close(folder);
    bool balanced = control_world_close();
    tmp_folder_remove(&tmp);
    return balanced ? 0 : -1;
}

static int call(void)
{
    int fd = -1;
    struct error err = {{0}};
    if (control_socket_connect(folder, getpid(), PATIENCE_MS, &fd, &err))
        fail_msg("%s", err.text);
    return fd;
}

static void say(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t done = send(fd, bytes, count, MSG_NOSIGNAL);
        if (done <= 0)
            return; /* it may have hung up already */
        bytes += done;
        count -= (size_t)done;
    }
}

/* All that comes until the other side hangs up. */
static const char *hear(int fd)
{
    static char text[65536];
    size_t length = 0;
    ssize_t got;
    while ((got = recv(fd, text + length, sizeof(text) - 1 - length, 0)) > 0)
        length += (size_t)got;
    if (got < 0 && errno != ECONNRESET)
        fail_msg("no end of the answer: %s", strerror(errno));
    text[length] = '\0';
    close(fd);
    return text;
}

static const char *ask(const char *request)
{
    int fd = call();
    say(fd, request, strlen(request));
    return hear(fd);
}

static void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void assert_alive(void)
{
    assert_holds(ask("status\n"), "cuvet/1 ok\n");
}

static int64_t ms_since(int64_t then)
{
    return (clock_ns() - then) / 1000000;
}

static void nap_ms(int ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* ---- the words ---- */

static void status_tells_the_state_and_the_counters(void **state)
{
    (void)state;
    char line[64];
    control_world_launch(false, false);
    control_world_launch(true, false);
    cuvet_flush(PATIENCE_MS);
    const char *text = ask("status\n");
    snprintf(line, sizeof(line), "\npid %d\n", (int)getpid());
    assert_int_equal(strncmp(text, "cuvet/1 ok\nversion ", 19), 0);
    assert_holds(text, line);
    assert_holds(text, "/test_control_server\n");
    assert_holds(text, "\nstate running\nsample 1\n");
    assert_holds(text, "\nseen 2\nregistered 2\nchecked 2\nmatch 1\nmismatch 1\ninconclusive 0\n");
    assert_null(strstr(text, "\nkernel "));
    assert_null(strstr(text, "\nskip "));
}

static void top_adds_the_kernels(void **state)
{
    (void)state;
    control_world_launch(false, false);
    control_world_launch(true, true);
    cuvet_flush(PATIENCE_MS);
    const char *text = ask("top\n");
    assert_holds(text, "\nkernels 2\n");
    const char *bad = strstr(text, "\nkernel 1 1 1 0 1 0 "),
               *good = strstr(text, "\nkernel 0 1 1 1 0 0 ");
    assert_true(bad && good && bad < good); /* findings first */
    assert_holds(bad, " add_always\n");
}

static void the_process_is_steered(void **state)
{
    (void)state;
    assert_string_equal(ask("stop\n"), "cuvet/1 ok\n");
    assert_int_equal(cuvet_is_running(), 0);
    control_world_launch(false, false);
    const char *text = ask("status\n");
    assert_holds(text, "\nstate stopped\n");
    assert_holds(text, "\nskip 1 off\n");
    assert_string_equal(ask("start\n"), "cuvet/1 ok\n");
    assert_int_equal(cuvet_is_running(), 1);
    assert_string_equal(ask("sample 0.125\n"), "cuvet/1 ok\n");
    assert_true(cuvet_get_sample() == 0.125);
    assert_string_equal(control_world_steered(), "sample 0.125");
}

static void waiting_is_for_the_client_alone(void **state)
{
    (void)state;
    control_world_hold();
    control_world_launch(false, false);
    int waiting = call();
    say(waiting, "flush 4000\n", 11);
    int64_t began = clock_ns();
    assert_string_equal(ask("flush 0\n"), "cuvet/1 timeout\n");
    assert_string_equal(ask("stop\n"), "cuvet/1 ok\n"); /* is not asked to wait */
    assert_string_equal(ask("stop 30\n"), "cuvet/1 timeout\n");
    assert_alive();
    assert_true(ms_since(began) < 2000);
    control_world_release();
    assert_string_equal(hear(waiting), "cuvet/1 ok\n");
    assert_true(ms_since(began) < 4000);
    assert_string_equal(ask("flush\n"), "cuvet/1 ok\n");
}

static void a_client_that_leaves_while_it_waits_is_forgotten(void **state)
{
    (void)state;
    control_world_hold();
    control_world_launch(false, false);
    for (int i = 0; i < 3 * SERVER_CLIENTS; i++) {
        int fd = call();
        say(fd, "flush 60000\n", 12);
        close(fd);
    }
    int64_t began = clock_ns();
    assert_alive();
    assert_true(ms_since(began) < 2000);
}

/* ---- bad clients ---- */

static void malformed_requests_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\n",
        " \n",
        "STATUS\n",
        "statusx\n",
        "status now\n",
        "start 1\n",
        "sample\n",
        "sample x\n",
        "sample 2\n",
        "sample -0.1\n",
        "sample nan\n",
        "sample inf\n",
        "sample 0.5 0.5\n",
        "flush x\n",
        "flush -1\n",
        "flush 60001\n",
        "stop 99999999999999999999\n",
        "status\r\n",
        "st\tatus\n",
        "\x1b[2J\n",
        "../../etc/passwd\n",
        "stop;ls\n",
        "\xff\xfe\n",
        "sample 1e400\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        const char *text = ask(bad[i]);
        if (strncmp(text, "cuvet/1 error ", 14) != 0)
            fail_msg("'%s' is answered with '%s'", bad[i], text);
    }
    int fd = call();
    say(fd, "sta\0tus\n", 8);
    assert_holds(hear(fd), "cuvet/1 error ");
    assert_int_equal(cuvet_is_running(), 1);
    assert_true(cuvet_get_sample() == 1);
    assert_alive();
}

static void a_request_without_end_is_refused(void **state)
{
    (void)state;
    static char flood[1 << 20];
    memset(flood, 'a', sizeof(flood));
    int fd = call();
    say(fd, flood, sizeof(flood));
    assert_holds(hear(fd), "too long");
    fd = call();
    say(fd, flood, CONTROL_REQUEST - 1); /* one byte more, a newline, still fits */
    say(fd, "\n", 1);
    assert_holds(hear(fd), "expected status");
    assert_alive();
}

static void a_request_in_pieces_is_one(void **state)
{
    (void)state;
    int fd = call();
    for (const char *at = "status\n"; *at; at++) {
        say(fd, at, 1);
        nap_ms(5);
    }
    assert_holds(hear(fd), "cuvet/1 ok\n");
}

static void what_follows_the_line_is_not_a_request(void **state)
{
    (void)state;
    assert_string_equal(ask("sample 0.5\nstop\nsample 0.75\n"), "cuvet/1 ok\n");
    assert_true(cuvet_get_sample() == 0.5);
    assert_int_equal(cuvet_is_running(), 1);
}

static void a_slow_client_is_dropped(void **state)
{
    (void)state;
    int64_t began = clock_ns();
    int fd = call();
    say(fd, "sta", 3);
    assert_string_equal(hear(fd), "");
    assert_in_range(ms_since(began), CLIENT_MS - 50, CLIENT_MS + 2000);
    assert_alive();
}

static void too_many_clients_wait_their_turn(void **state)
{
    (void)state;
    int idle[2 * SERVER_CLIENTS];
    for (size_t i = 0; i < sizeof(idle) / sizeof(*idle); i++)
        idle[i] = call();
    int64_t began = clock_ns();
    assert_alive(); /* after two rounds of idle ones have been dropped */
    assert_true(ms_since(began) < 5 * CLIENT_MS + 2000);
    for (size_t i = 0; i < sizeof(idle) / sizeof(*idle); i++)
        close(idle[i]);
}

static void a_client_that_takes_no_answer_is_dropped(void **state)
{
    (void)state;
    int fds[SERVER_CLIENTS], least = 1;
    for (int i = 0; i < SERVER_CLIENTS; i++) {
        fds[i] = call();
        setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
        say(fds[i], "top\n", 4);
    }
    int64_t began = clock_ns();
    assert_alive();
    assert_true(ms_since(began) < CLIENT_MS + 2000);
    for (int i = 0; i < SERVER_CLIENTS; i++)
        close(fds[i]);
}

static void another_user_is_refused(void **state)
{
    (void)state;
    atomic_store(&foreign, true);
    assert_holds(ask("stop\n"), "cuvet/1 error the process belongs to another user");
    assert_int_equal(cuvet_is_running(), 1);
    atomic_store(&foreign, false);
    assert_alive();
}

/* Bytes at random, in pieces at random, with and without an end. */
static void noise_does_no_harm(void **state)
{
    (void)state;
    static const char words[] = "status top start sample flush 0.5 1 -1 \n\n  ";
    unsigned random = 12345;
    for (int i = 0; i < 500; i++) {
        char bytes[300];
        random = random * 1103515245u + 12345;
        size_t count = (random >> 16) % sizeof(bytes);
        for (size_t k = 0; k < count; k++) {
            random = random * 1103515245u + 12345;
            bytes[k] = i % 2 ? (char)(random >> 16) : words[(random >> 16) % (sizeof(words) - 1)];
        }
        int fd = call();
        say(fd, bytes, count);
        if (i % 3)
            shutdown(fd, SHUT_WR);
        else
            say(fd, "\n", 1);
        if (i % 5)
            hear(fd);
        else
            close(fd);
    }
    assert_alive();
}

/* ---- places ---- */

static bool has_socket(void)
{
    char path[CONTROL_PATH + 32];
    struct stat info;
    snprintf(path, sizeof(path), "%s/%d.sock", place, (int)getpid());
    return lstat(path, &info) == 0;
}

static void the_end_is_soon_and_leaves_nothing(void **state)
{
    (void)state;
    int idle = call(), waiting = call();
    control_world_hold();
    control_world_launch(false, false);
    say(waiting, "flush 60000\n", 12);
    nap_ms(50);
    assert_true(has_socket());
    int64_t began = clock_ns();
    control_server_stop(server);
    server = NULL;
    assert_true(ms_since(began) < SERVER_STOP_MS);
    assert_false(has_socket());
    close(idle);
    close(waiting);
}

/* A name that nobody listens behind. */
static void leave_dead_socket(int at, int pid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%d.sock", at, pid);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
}

static void count_pid(void *user, pid_t pid)
{
    (void)pid;
    ++*(int *)user;
}

static void sockets_of_the_dead_are_removed(void **state)
{
    (void)state;
    int count = 0;
    control_server_stop(server);
    server = NULL;
    leave_dead_socket(folder, 2000000001);
    leave_dead_socket(folder, (int)getpid()); /* of the one that had this number before */
    int other = openat(folder, "notes.sock", O_CREAT | O_WRONLY, 0600);
    close(other);
    start_server();
    for (int i = 0; i < 200; i++) {
        count = 0;
        control_sockets_each(folder, count_pid, &count);
        if (count == 1)
            break;
        nap_ms(10);
    }
    assert_int_equal(count, 1);
    assert_alive();
    assert_int_equal(faccessat(folder, "notes.sock", F_OK, 0), 0); /* what is not ours stays */
}

static void a_name_that_somebody_answers_to_is_left(void **state)
{
    (void)state;
    struct control_server *second = NULL;
    struct control_server_settings settings = {place, 0, NULL};
    struct error err = {{0}};
    assert_int_equal(control_server_start(&second, &settings, &err), STATUS_FULL);
    assert_holds(err.text, "no control socket for cuvet ctl: another process answers");
    assert_alive();
}

static void a_folder_that_is_not_private_is_refused(void **state)
{
    (void)state;
    struct error err = {{0}};
    char link[CONTROL_PATH + 8];
    int fd;
    assert_int_equal(chmod(place, 0755), 0);
    assert_int_equal(control_folder_open(place, true, &fd, &err), STATUS_INVALID);
    assert_holds(err.text, "mode 0755");
    assert_int_equal(chmod(place, 0700), 0);
    assert_int_equal(control_folder_open(place, true, &fd, NULL), STATUS_OK);
    close(fd);
    snprintf(link, sizeof(link), "%s-link", place);
    assert_int_equal(symlink(place, link), 0);
    assert_int_equal(control_folder_open(link, true, &fd, NULL), STATUS_INVALID);
    assert_int_equal(control_folder_open("/tmp/cuvet-there-is-none", false, &fd, NULL),
                     STATUS_NOT_FOUND);
    if (geteuid() == 0) { /* only root can make one of somebody else */
        assert_int_equal(chown(place, 12345, 12345), 0);
        memset(&err, 0, sizeof(err));
        assert_int_equal(control_folder_open(place, true, &fd, &err), STATUS_INVALID);
        assert_holds(err.text, "found owner 12345");
        assert_int_equal(chown(place, 0, 0), 0);
    }
}

static void a_peer_of_another_user_is_told_apart(void **state)
{
    (void)state;
    int pair[2], status = 0, file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_true(control_peer_is_me(pair[0]));
    assert_false(control_peer_is_me(file));
    close(file);
    if (geteuid() == 0) { /* who can become somebody else, to whom root is a stranger */
        pid_t child = fork();
        if (child == 0)
            _exit(!setuid(12345) && !control_peer_is_me(pair[0]) ? 0 : 1);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    close(pair[0]);
    close(pair[1]);
}

/* ---- what the program may do to us ---- */

static void a_forked_child_has_no_socket(void **state)
{
    (void)state;
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        int open_before = folder;
        control_in_child();
        control_server_in_child(server);
        /* Nothing between the child's own descriptors is a socket any more. */
        for (int fd = 3; fd < 64; fd++) {
            struct stat info;
            if (fd != open_before && !fstat(fd, &info) && S_ISSOCK(info.st_mode))
                _exit(1);
        }
        control_server_stop(NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_alive();
}

/* As daemons do, and then it opens files of its own, which get our numbers. */
static void a_program_that_closes_our_descriptors_keeps_its_own(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it reports the program's mistake, which this is about */
#endif
    int idle = call();
    nap_ms(50);
    for (int fd = 3; fd < 64; fd++) {
        if (fd != folder && fd != idle)
            close(fd);
    }
    int pipes[20][2];
    for (int i = 0; i < 20; i++) {
        assert_int_equal(pipe(pipes[i]), 0);
        assert_int_equal(write(pipes[i][1], "mine", 4), 4);
    }
    say(idle, "status\n", 7); /* wakes the thread */
    nap_ms(CLIENT_MS + 100);
    int64_t began = clock_ns();
    control_server_stop(server);
    server = NULL;
    assert_true(ms_since(began) < SERVER_STOP_MS);
    for (int i = 0; i < 20; i++) {
        char back[8] = "";
        assert_int_equal(read(pipes[i][0], back, sizeof(back)), 4);
        assert_string_equal(back, "mine");
        assert_int_equal(close(pipes[i][0]), 0);
        assert_int_equal(close(pipes[i][1]), 0);
    }
    close(idle);
}

static void the_standard_streams_are_never_ours(void **state)
{
    (void)state;
    int kept = dup(0);
    close(0);
    int fd = call();
    assert_true(fd > 2);
    say(fd, "status\n", 7);
    assert_holds(hear(fd), "cuvet/1 ok\n");
    struct stat info;
    assert_int_equal(fstat(0, &info), -1);
    dup2(kept, 0);
    close(kept);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(status_tells_the_state_and_the_counters),
        TEST(top_adds_the_kernels),
        TEST(the_process_is_steered),
        TEST(waiting_is_for_the_client_alone),
        TEST(a_client_that_leaves_while_it_waits_is_forgotten),
        TEST(malformed_requests_are_refused),
        TEST(a_request_without_end_is_refused),
        TEST(a_request_in_pieces_is_one),
        TEST(what_follows_the_line_is_not_a_request),
        TEST(a_slow_client_is_dropped),
        TEST(too_many_clients_wait_their_turn),
        TEST(a_client_that_takes_no_answer_is_dropped),
        TEST(another_user_is_refused),
        TEST(noise_does_no_harm),
        TEST(the_end_is_soon_and_leaves_nothing),
        TEST(sockets_of_the_dead_are_removed),
        TEST(a_name_that_somebody_answers_to_is_left),
        TEST(a_folder_that_is_not_private_is_refused),
        TEST(a_peer_of_another_user_is_told_apart),
        TEST(a_forked_child_has_no_socket),
        TEST(a_program_that_closes_our_descriptors_keeps_its_own),
        TEST(the_standard_streams_are_never_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
