#include "linter/linter_client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "system/helper.h"

enum { NAP_MS = 20 /* how soon a wait ends after `stop` */ };

void linter_client_init(struct linter_client *client, const atomic_bool *stop)
{
    own_fd_take(&client->socket, -1);
    client->stop = stop;
}

void linter_client_end(struct linter_client *client)
{
    own_fd_close(&client->socket);
}

enum status linter_client_start(struct linter_client *client, const char *tool, char *const *argv,
                                char *const *env, struct error *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return error_set(err, STATUS_IO, "no socket: %m");
    pair[0] = own_fd_up(pair[0]);
    pair[1] = own_fd_up(pair[1]);
    enum status status = pair[0] < 0 || pair[1] < 0 ? error_set(err, STATUS_IO, "no socket: %m")
                                                    : helper_start(tool, argv, env, pair[1], err);
    if (pair[1] >= 0)
        close(pair[1]);
    if (!status)
        own_fd_take(&client->socket, pair[0]);
    else if (pair[0] >= 0)
        close(pair[0]);
    return status;
}

/* Sends or receives what can be at once. 1: some bytes; 0: none yet; -1: the process is gone. */
static int move_client_bytes(struct linter_client *client, char *at, size_t bytes, bool sends,
                             size_t *moved)
{
    int fd = own_fd_get(&client->socket);
    if (fd < 0)
        return -1;
    ssize_t done = sends ? send(fd, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT)
                         : recv(fd, at, bytes, MSG_DONTWAIT);
    if (done > 0) {
        *moved = (size_t)done;
        return 1;
    }
    if (done < 0 && (errno == EAGAIN || errno == EINTR)) {
        struct pollfd row = {.fd = fd, .events = sends ? POLLOUT : POLLIN};
        poll(&row, 1, NAP_MS);
        return 0;
    }
    return -1;
}

static enum linter_step move_all(struct linter_client *client, void *bytes, size_t count,
                                 bool sends, int64_t deadline)
{
    char *at = bytes;
    while (count) {
        size_t moved = 0;
        if (atomic_load(client->stop))
            return LINTER_STOPPED;
        if (clock_ns() > deadline)
            return LINTER_LATE;
        if (move_client_bytes(client, at, count, sends, &moved) < 0)
            return LINTER_LOST;
        at += moved;
        count -= moved;
    }
    return LINTER_ANSWERED;
}

static enum linter_step receive_notes(struct linter_client *client, int64_t deadline,
                                      struct lint_answer *answer, char **body)
{
    enum linter_step step = move_all(client, answer, sizeof *answer, false, deadline);
    if (step != LINTER_ANSWERED)
        return step;
    if (!lint_wire_is_answer(answer) || (answer->bytes && !(*body = malloc(answer->bytes))))
        return LINTER_LOST;
    return move_all(client, *body, answer->bytes, false, deadline);
}

enum linter_step linter_client_ask(struct linter_client *client, const struct lint_request *head,
                                   const char *symbol, const void *image, int timeout_ms,
                                   struct lint_answer *answer, char **body)
{
    int64_t deadline = clock_ns() + (int64_t)timeout_ms * 1000000;
    *body = NULL;
    enum linter_step step = move_all(client, (void *)head, sizeof *head, true, deadline);
    if (step == LINTER_ANSWERED)
        step = move_all(client, (void *)symbol, head->symbol, true, deadline);
    if (step == LINTER_ANSWERED)
        step = move_all(client, (void *)image, head->image, true, deadline);
    if (step == LINTER_ANSWERED)
        step = receive_notes(client, deadline, answer, body);
    if (step == LINTER_ANSWERED)
        return step;
    free(*body);
    *body = NULL;
    linter_client_end(client);
    return step;
}
