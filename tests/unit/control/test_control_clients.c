/* Clients of the control server that send nonsense, too much, too slowly, or are not allowed
 * to: they are answered or dropped, and the server lives on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/fakes/control_fixture.h"

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
    assert_holds(read_reply(fd), "cuvet/1 error ");
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
    assert_holds(read_reply(fd), "too long");
    fd = call();
    say(fd, flood, CONTROL_REQUEST - 1); /* one byte more, a newline, still fits */
    say(fd, "\n", 1);
    assert_holds(read_reply(fd), "expected status");
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
    assert_holds(read_reply(fd), "cuvet/1 ok\n");
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
    assert_string_equal(read_reply(fd), "");
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
            read_reply(fd);
        else
            close(fd);
    }
    assert_alive();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(malformed_requests_are_refused),
        TEST(a_request_without_end_is_refused),
        TEST(a_request_in_pieces_is_one),
        TEST(what_follows_the_line_is_not_a_request),
        TEST(a_slow_client_is_dropped),
        TEST(too_many_clients_wait_their_turn),
        TEST(a_client_that_takes_no_answer_is_dropped),
        TEST(another_user_is_refused),
        TEST(noise_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
