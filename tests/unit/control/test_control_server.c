/* The control server: its words, where its sockets lie and who finds them, and what the program may
 * do to it. test_control_clients.c has its bad clients. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/fakes/control_fixture.h"

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
    assert_string_equal(ask("stop\n"), "cuvet/1 ok\n"); /* does not have to wait */
    assert_string_equal(ask("stop 30\n"), "cuvet/1 timeout\n");
    assert_alive();
    assert_true(ms_since(began) < 2000);
    control_world_release();
    assert_string_equal(read_reply(waiting), "cuvet/1 ok\n");
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

/* A name without a listener. */
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
    if (geteuid() == 0) { /* only root can make one of another user */
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
    if (geteuid() == 0) { /* which can become another user, to whom root is a stranger */
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
    assert_holds(read_reply(fd), "cuvet/1 ok\n");
    struct stat info;
    assert_int_equal(fstat(0, &info), -1);
    dup2(kept, 0);
    close(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(status_tells_the_state_and_the_counters),
        TEST(top_adds_the_kernels),
        TEST(the_process_is_steered),
        TEST(waiting_is_for_the_client_alone),
        TEST(a_client_that_leaves_while_it_waits_is_forgotten),
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
