#include "tools/ctl/ctl_client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "system/control_socket.h"

enum { ANSWER_MOST = 1 << 20 };

/* Opens the folder of a place; false when it is none, or the same as one before. */
static bool open_place(int place, int *folder)
{
    char path[CONTROL_PATH], before[CONTROL_PATH];
    control_place(place, path);
    for (int i = 0; i < place; i++) {
        control_place(i, before);
        if (!strcmp(path, before))
            return false;
    }
    return *path && !control_folder_open(path, false, folder, NULL);
}

static enum status connect_to(pid_t pid, int timeout_ms, int *fd, struct error *err)
{
    enum status status = STATUS_NOT_FOUND;
    for (int place = 0; place < CONTROL_PLACES; place++) {
        struct error why = {{0}};
        int folder;
        if (!open_place(place, &folder))
            continue;
        control_sockets_clean(folder);
        enum status here = control_socket_connect(folder, pid, timeout_ms, fd, &why);
        close(folder);
        if (!here)
            return STATUS_OK;
        if (here != STATUS_NOT_FOUND) {
            status = here;
            error_set(err, status, "%s", why.text);
        }
    }
    return error_set(err, status, "no cuvet serves process %d", (int)pid);
}

static enum status exchange(int fd, const char *request, struct textbuf *answer, struct error *err)
{
    char buffer[4096];
    size_t length = strlen(request);
    ssize_t got;
    if (send(fd, request, length, MSG_NOSIGNAL) != (ssize_t)length)
        return error_set(err, STATUS_NOT_FOUND, "the process took no request: %s", strerror(errno));
    while ((got = recv(fd, buffer, sizeof(buffer), 0)) > 0 && answer->length < ANSWER_MOST)
        textbuf_add(answer, buffer, (size_t)got);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return error_set(err, STATUS_IO, "the process does not answer");
    if (got < 0)
        return error_set(err, STATUS_NOT_FOUND, "the process went: %s", strerror(errno));
    if (answer->failed)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the answer");
    if (answer->length == 0)
        return error_set(err, STATUS_NOT_FOUND, "the process closed the connection");
    return STATUS_OK;
}

/* Takes the first line off. */
static enum status read_greeting(struct textbuf *answer, struct error *err)
{
    const size_t length = sizeof(CONTROL_GREETING) - 1;
    char *end = memchr(answer->data, '\n', answer->length);
    if (!end || (size_t)(end - answer->data) < length ||
        memcmp(answer->data, CONTROL_GREETING, length) != 0)
        return error_set(err, STATUS_INVALID,
                         "the process has another protocol; expected a line of %.7s",
                         CONTROL_GREETING);
    char first[256];
    snprintf(first, sizeof(first), "%.*s", (int)(end - answer->data - (ssize_t)length),
             answer->data + length);
    size_t rest = answer->length - (size_t)(end + 1 - answer->data);
    memmove(answer->data, end + 1, rest);
    answer->length = rest;
    answer->data[rest] = '\0';
    if (!strcmp(first, "ok"))
        return STATUS_OK;
    if (!strcmp(first, "timeout"))
        return error_set(err, STATUS_TIMEOUT, "checks are still under way");
    return error_set(err, STATUS_INVALID, "the process refuses: %s",
                     strncmp(first, "error ", 6) ? first : first + 6);
}

enum status ctl_request(pid_t pid, const char *request, int wait_ms, struct textbuf *answer,
                        struct error *err)
{
    int fd;
    enum status status = connect_to(pid, wait_ms + CTL_PATIENCE_MS, &fd, err);
    if (status)
        return status;
    status = exchange(fd, request, answer, err);
    close(fd);
    return status ? status : read_greeting(answer, err);
}

/* ---- all of them ---- */

struct listing {
    void (*visit)(void *user, pid_t pid);
    void *user;
    int place; /* the one being listed */
};

static void visit_one(void *user, pid_t pid)
{
    const struct listing *listing = user;
    for (int place = 0; place < listing->place; place++) {
        int folder, fd;
        if (!open_place(place, &folder))
            continue;
        enum status before = control_socket_connect(folder, pid, 0, &fd, NULL);
        close(folder);
        if (before)
            continue;
        close(fd);
        return; /* reported already */
    }
    listing->visit(listing->user, pid);
}

void ctl_each(void (*visit)(void *user, pid_t pid), void *user)
{
    struct listing listing = {.visit = visit, .user = user};
    for (; listing.place < CONTROL_PLACES; listing.place++) {
        int folder;
        if (!open_place(listing.place, &folder))
            continue;
        control_sockets_clean(folder);
        control_sockets_each(folder, visit_one, &listing);
        close(folder);
    }
}
