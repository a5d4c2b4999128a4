/* control_server.c - see control_server.h. */
#include "control/control_server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "system/control_socket.h"
#include "system/own_fd.h"
#include "text/textbuf.h"
#include "base/thread.h"
#include "control/control_words.h"

enum {
    RETRY_MS = 5,      /* how often a waiting request is tried again */
    PAUSE_MS = 1000,   /* before the next accept, when there is no descriptor left */
    LIBRARY_PLACES = 2 /* of control_socket.h, that a process listens in */
};

enum client_state { READING, WAITING, WRITING };

struct client {
    struct own_fd socket;
    enum client_state state;
    int64_t deadline; /* of the state, clock_ns() */
    size_t got, sent;
    char request[CONTROL_REQUEST];
    struct textbuf answer;
};

struct control_server {
    struct control_server_settings settings;
    struct own_fd folder, listener;
    pid_t pid;
    pthread_t thread;
    atomic_bool stop;
    int64_t pause_until; /* no accept before */
    struct client client[SERVER_CLIENTS];
};

/* ---- clients ---- */

static bool is_free(const struct client *client)
{
    return atomic_load(&client->socket.fd) < 0;
}

static void enter_state(struct client *client, enum client_state state, int ms)
{
    client->state = state;
    client->deadline = clock_ns() + (int64_t)ms * 1000000;
}

static void drop_client(struct client *client)
{
    own_fd_close(&client->socket);
    textbuf_release(&client->answer);
    client->got = client->sent = 0;
}

/* Sends what goes; all of it, or an end of the connection, ends the client. */
static void write_on(struct client *client)
{
    const struct textbuf *answer = &client->answer;
    int fd = own_fd_get(&client->socket);
    while (fd >= 0 && !answer->failed && client->sent < answer->length) {
        ssize_t done = send(fd, answer->data + client->sent, answer->length - client->sent,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (done <= 0)
            break;
        client->sent += (size_t)done;
    }
    drop_client(client);
}

static void answer(struct control_server *server, struct client *client)
{
    enter_state(client, WRITING, server->settings.client_ms);
    write_on(client);
}

static void on_line(struct control_server *server, struct client *client, size_t length)
{
    int wait_ms = 0;
    if (control_words_begin(client->request, length, &client->answer, &wait_ms))
        enter_state(client, WAITING, wait_ms);
    else
        answer(server, client);
}

/* One receive: what else there is makes poll return again. */
static void read_on(struct control_server *server, struct client *client)
{
    int fd = own_fd_get(&client->socket);
    if (fd < 0) {
        drop_client(client);
        return;
    }
    ssize_t got = recv(fd, client->request + client->got, sizeof(client->request) - client->got,
                       MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
        return;
    if (got <= 0) {
        drop_client(client);
        return;
    }
    char *end = memchr(client->request + client->got, '\n', (size_t)got);
    client->got += (size_t)got;
    if (end) {
        on_line(server, client, (size_t)(end - client->request));
    } else if (client->got == sizeof(client->request)) {
        control_words_refuse(&client->answer, "the request is too long");
        answer(server, client);
    }
}

static void try_waiting(struct control_server *server, struct client *client, int64_t now)
{
    if (control_words_idle() || now >= client->deadline) {
        control_words_end(&client->answer);
        answer(server, client);
    }
}

static void serve(struct control_server *server, struct client *client, short events)
{
    int64_t now = clock_ns();
    bool gone = events & (POLLERR | POLLNVAL) || (events & POLLHUP && !(events & POLLIN));
    if (client->state == WAITING && !gone)
        try_waiting(server, client, now);
    else if (gone || now >= client->deadline)
        drop_client(client);
    else if (client->state == READING && events & POLLIN)
        read_on(server, client);
    else if (client->state == WRITING && events & POLLOUT)
        write_on(client);
}

static void take_client(struct control_server *server, int fd)
{
    for (int i = 0; i < SERVER_CLIENTS; i++) {
        struct client *client = &server->client[i];
        if (!is_free(client))
            continue;
        textbuf_init(&client->answer);
        own_fd_take(&client->socket, fd);
        enter_state(client, READING, server->settings.client_ms);
        if (!server->settings.allowed(fd)) {
            control_words_refuse(&client->answer, "the process belongs to another user");
            answer(server, client);
        }
        return;
    }
    close(fd);
}

/* False when the listener is lost. */
static bool accept_one(struct control_server *server)
{
    int listener = own_fd_get(&server->listener);
    if (listener < 0)
        return false;
    int fd = own_fd_up(accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd >= 0)
        take_client(server, fd);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
        server->pause_until = clock_ns() + PAUSE_MS * 1000000ll;
    else
        return errno == EINTR || errno == EAGAIN || errno == ECONNABORTED || errno == EPROTO;
    return true;
}

/* ---- the thread ---- */

static int ms_until(int64_t then, int64_t now)
{
    return then > now ? (int)((then - now) / 1000000) + 1 : 0;
}

static int sooner(int timeout, int ms)
{
    return timeout < 0 || ms < timeout ? ms : timeout;
}

/* What to poll and how long; the listener comes first. A negative fd is passed over by poll. */
static int prepare_poll(const struct control_server *server, struct pollfd *fds)
{
    int64_t now = clock_ns();
    int timeout = -1;
    bool room = false;
    for (int i = 0; i < SERVER_CLIENTS; i++) {
        const struct client *client = &server->client[i];
        static const short events[] = {[READING] = POLLIN, [WAITING] = 0, [WRITING] = POLLOUT};
        fds[i + 1] =
            (struct pollfd){.fd = atomic_load(&client->socket.fd), .events = events[client->state]};
        room |= is_free(client);
        if (is_free(client))
            continue;
        timeout = sooner(timeout, ms_until(client->deadline, now));
        if (client->state == WAITING)
            timeout = sooner(timeout, RETRY_MS);
    }
    bool paused = server->pause_until > now;
    fds[0] = (struct pollfd){.fd = atomic_load(&server->listener.fd),
                             .events = room && !paused ? POLLIN : 0};
    return paused ? sooner(timeout, ms_until(server->pause_until, now)) : timeout;
}

static bool step_server(struct control_server *server)
{
    struct pollfd fds[SERVER_CLIENTS + 1];
    int timeout = prepare_poll(server, fds);
    if (own_fd_get(&server->listener) < 0)
        return false;
    if (poll(fds, SERVER_CLIENTS + 1, timeout) < 0 && errno != EINTR)
        return false;
    if (atomic_load(&server->stop) || fds[0].revents & (POLLNVAL | POLLERR | POLLHUP))
        return false;
    for (int i = 0; i < SERVER_CLIENTS; i++) {
        if (!is_free(&server->client[i]))
            serve(server, &server->client[i], fds[i + 1].revents);
    }
    return !(fds[0].revents & POLLIN) || accept_one(server);
}

static void *run_server(void *user)
{
    struct control_server *server = user;
    prctl(PR_SET_NAME, "cuvet-ctl");
    control_sockets_clean(own_fd_get(&server->folder));
    while (step_server(server))
        ;
    for (int i = 0; i < SERVER_CLIENTS; i++) {
        if (!is_free(&server->client[i]))
            drop_client(&server->client[i]);
    }
    return NULL;
}

/* ---- life ---- */

static enum status open_socket_folder(const struct control_server_settings *settings, int *fd,
                                      struct error *err)
{
    char path[CONTROL_PATH];
    enum status status = STATUS_NOT_FOUND;
    if (settings->folder)
        return control_folder_open(settings->folder, true, fd, err);
    for (int place = 0; place < LIBRARY_PLACES && status; place++) {
        struct error why = {{0}};
        control_place(place, path);
        if (!*path)
            continue;
        status = control_folder_open(path, true, fd, &why);
        if (status && place == LIBRARY_PLACES - 1)
            return error_set(err, status, "%s", why.text);
    }
    return status;
}

static enum status open_socket(struct control_server *server, struct error *err)
{
    int folder, listener;
    enum status status = open_socket_folder(&server->settings, &folder, err);
    if (status)
        return status;
    own_fd_take(&server->folder, folder);
    status = control_socket_listen(folder, server->pid, &listener, err);
    if (status)
        return status;
    own_fd_take(&server->listener, listener);
    int result = thread_start(&server->thread, 0, run_server, server);
    if (!result)
        return STATUS_OK;
    control_socket_remove(folder, server->pid);
    return error_set(err, STATUS_NO_MEMORY, "no thread (error %d)", result);
}

enum status control_server_start(struct control_server **out,
                                 const struct control_server_settings *settings, struct error *err)
{
    struct control_server *server = calloc(1, sizeof(*server));
    if (!server)
        return error_set(err, STATUS_NO_MEMORY, "no control socket: no memory");
    server->settings = *settings;
    server->pid = getpid();
    if (!server->settings.client_ms)
        server->settings.client_ms = SERVER_CLIENT_MS;
    if (!server->settings.allowed)
        server->settings.allowed = control_peer_is_me;
    atomic_store(&server->folder.fd, -1);
    atomic_store(&server->listener.fd, -1);
    for (int i = 0; i < SERVER_CLIENTS; i++)
        atomic_store(&server->client[i].socket.fd, -1);
    enum status status = open_socket(server, err);
    if (!status) {
        *out = server;
        return STATUS_OK;
    }
    error_prefix(err, "no control socket for cuvet ctl");
    own_fd_close(&server->listener);
    own_fd_close(&server->folder);
    free(server);
    return status;
}

/* Shutting the listener down wakes poll. Where the program has closed it, the thread has ended, or
 * sleeps on a socket that no client can reach: then it is not joined. */
static bool end_thread(struct control_server *server)
{
    int listener = own_fd_get(&server->listener);
    if (listener < 0)
        return pthread_tryjoin_np(server->thread, NULL) == 0;
    shutdown(listener, SHUT_RDWR);
    return thread_join_within(server->thread, SERVER_STOP_MS);
}

void control_server_stop(struct control_server *server)
{
    if (!server)
        return;
    atomic_store(&server->stop, true);
    int folder = own_fd_get(&server->folder);
    if (folder >= 0)
        control_socket_remove(folder, server->pid);
    if (!end_thread(server))
        return;
    own_fd_close(&server->listener);
    own_fd_close(&server->folder);
    free(server);
}

void control_server_in_child(struct control_server *server)
{
    if (!server)
        return;
    own_fd_close(&server->listener);
    own_fd_close(&server->folder);
    for (int i = 0; i < SERVER_CLIENTS; i++)
        own_fd_close(&server->client[i].socket);
}
