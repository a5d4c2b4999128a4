#include "compile/compile_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "driver/find.h"
#include "system/helper.h"
#include "system/own_fd.h"

/* ---- the socket ---- */

static bool is_same_socket(const struct compile_client *client)
{
    struct stat facts;
    return client->socket >= 0 && fstat(client->socket, &facts) == 0 &&
           facts.st_dev == client->device && facts.st_ino == client->inode;
}

static void drop_request(struct compile_client *client)
{
    free(client->request);
    free(client->body);
    client->request = client->body = NULL;
    client->length = client->sent = client->got = 0;
    client->deadline = 0;
}

void compile_client_end(struct compile_client *client)
{
    if (is_same_socket(client)) {
        shutdown(client->socket, SHUT_RDWR); /* a forked child may have it, too */
        close(client->socket);
    }
    client->socket = -1;
    drop_request(client);
}

static enum status start_compile_server(const struct compile_server *server, int socket,
                                        struct error *err)
{
    struct find_traces traces;
    char major[16];
    snprintf(major, sizeof major, "%d", server->major);
    find_traces(server->library, &traces);
    const char *argv[] = {"cuvet",       "compile",
                          "--serve",     server->version,
                          server->cache, server->path ? server->path : "",
                          major,         traces.wheels,
                          traces.mapped, NULL};
    return helper_start(server->tool, (char *const *)argv, server->env, socket, err);
}

enum status compile_client_start(struct compile_client *client, const struct compile_server *server,
                                 struct error *err)
{
    int pair[2];
    struct stat facts = {0};
    *client = (struct compile_client){.socket = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return error_set(err, STATUS_IO, "no socket: %m");
    pair[0] = own_fd_up(pair[0]);
    pair[1] = own_fd_up(pair[1]);
    enum status status = pair[0] < 0 || pair[1] < 0 || fstat(pair[0], &facts)
                             ? error_set(err, STATUS_IO, "no socket: %m")
                             : start_compile_server(server, pair[1], err);
    if (pair[1] >= 0)
        close(pair[1]);
    if (status && pair[0] >= 0)
        close(pair[0]);
    if (status)
        return status;
    client->socket = pair[0];
    client->device = facts.st_dev;
    client->inode = facts.st_ino;
    return STATUS_OK;
}

/* ---- one text ---- */

bool compile_client_request(struct compile_client *client, enum compile_kind kind,
                            const struct user_text *text, int arch, int timeout_ms)
{
    drop_request(client);
    client->request = compile_wire_request(kind, text, arch, &client->length);
    client->deadline = clock_ns() + (int64_t)timeout_ms * 1000000;
    return client->request != NULL;
}

/* False: the process is gone. */
static bool send_on(struct compile_client *client)
{
    while (client->sent < client->length) {
        ssize_t done = send(client->socket, client->request + client->sent,
                            client->length - client->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno == EAGAIN;
        client->sent += (size_t)done;
    }
    return true;
}

/* 1: `size` bytes are there; 0: not yet; -1: the process is gone. */
static int receive_to(struct compile_client *client, char *at, size_t have, size_t size)
{
    while (have < size) {
        ssize_t got = recv(client->socket, at + have, size - have, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return 0;
        if (got <= 0)
            return -1;
        client->got += (size_t)got;
        have += (size_t)got;
    }
    return 1;
}

static int receive_compiled(struct compile_client *client)
{
    size_t head = sizeof client->head;
    int there = receive_to(client, (char *)&client->head, client->got, head);
    if (there <= 0)
        return there;
    size_t follows = compile_wire_follows_answer(&client->head);
    if (follows && !client->body)
        client->body = malloc(follows);
    if (!client->body)
        return -1;
    return receive_to(client, client->body, client->got - head, follows);
}

enum compile_step compile_client_step(struct compile_client *client)
{
    int kept = errno, there = -1;
    if (is_same_socket(client) && send_on(client))
        there = receive_compiled(client);
    bool late = there == 0 && clock_ns() > client->deadline;
    if (there < 0 || late)
        compile_client_end(client);
    errno = kept;
    if (late)
        return COMPILE_LATE;
    return there < 0 ? COMPILE_LOST : there ? COMPILE_REPLIED : COMPILE_UNDER_WAY;
}

enum status compile_client_take(struct compile_client *client, struct ref_image *image,
                                bool *cached, struct error *err)
{
    enum status status = compile_wire_result(&client->head, client->body, image, err);
    *cached = client->head.cached;
    drop_request(client);
    return status;
}
