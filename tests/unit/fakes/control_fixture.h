/* control_fixture.h - a control server in a folder of its own over a made-up world, and its
 * clients, for unit tests. All of it is here. */
#ifndef TESTS_UNIT_CONTROL_FIXTURE_H
#define TESTS_UNIT_CONTROL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
#include <cmocka.h>
#include "base/clock.h"
#include "system/control_socket.h"
#include "control/control.h"
#include "control/control_server.h"
#include "tests/unit/fakes/control_world.h"
#include "cuvet.h"
#include "tests/unit/common/tmp_folder.h"

enum { PATIENCE_MS = 5000, CLIENT_MS = 300 };

static const struct gate_settings every = {.sample = 1};
static struct control_server *server;
static struct tmp_folder tmp;
static char place[CONTROL_PATH];
static int folder;
static atomic_bool foreign; /* every client belongs to another user */

static inline bool allowed(int fd)
{
    return !atomic_load(&foreign) && control_peer_is_me(fd);
}

static inline void start_server(void)
{
    struct control_server_settings settings = {place, CLIENT_MS, allowed};
    struct error err = {{0}};
    if (control_server_start(&server, &settings, &err))
        fail_msg("%s", err.text);
}

static inline int set_up(void **state)
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

static inline int tear_down(void **state)
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

static inline int call(void)
{
    int fd = -1;
    struct error err = {{0}};
    if (control_socket_connect(folder, getpid(), PATIENCE_MS, &fd, &err))
        fail_msg("%s", err.text);
    return fd;
}

static inline void say(int fd, const char *bytes, size_t count)
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
static inline const char *read_reply(int fd)
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

static inline const char *ask(const char *request)
{
    int fd = call();
    say(fd, request, strlen(request));
    return read_reply(fd);
}

static inline void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static inline void assert_alive(void)
{
    assert_holds(ask("status\n"), "cuvet/1 ok\n");
}

static inline int64_t ms_since(int64_t then)
{
    return (clock_ns() - then) / 1000000;
}

static inline void nap_ms(int ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
