#include "system/control_socket.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "system/own_fd.h"

enum { BACKLOG = 8, NAME = 32, REASON = 96, FRESH_S = 60 };

static const char suffix[] = ".sock", fresh_suffix[] = ".new";

/* strerror is not safe beside other threads. */
#define REASON_OF(failure) strerror_r((failure), (char[REASON]){0}, REASON)

bool control_place(int place, char out[CONTROL_PATH])
{
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    unsigned user = (unsigned)geteuid();
    int length = 0;
    out[0] = '\0';
    if (place == 0 && runtime && runtime[0] == '/')
        length = snprintf(out, CONTROL_PATH, "%s/cuvet", runtime);
    else if (place == 1)
        length = snprintf(out, CONTROL_PATH, "/tmp/cuvet-%u", user);
    else if (place == 2)
        length = snprintf(out, CONTROL_PATH, "/run/user/%u/cuvet", user);
    if (length >= CONTROL_PATH)
        out[0] = '\0';
    return place >= 0 && place < CONTROL_PLACES;
}

enum status control_folder_open(const char *path, bool make, int *fd, struct error *err)
{
    struct stat info;
    if (make && mkdir(path, 0700) && errno != EEXIST)
        return error_set(err, STATUS_IO, "%s cannot be made: %s", path, REASON_OF(errno));
    int folder = own_fd_up(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (folder < 0 && errno == ENOENT)
        return error_set(err, STATUS_NOT_FOUND, "%s is not there", path);
    if (folder < 0)
        return error_set(err, STATUS_INVALID, "%s is no folder that can be used: %s", path,
                         REASON_OF(errno));
    if (fstat(folder, &info) || info.st_uid != geteuid() || (info.st_mode & 077)) {
        close(folder);
        return error_set(err, STATUS_INVALID,
                         "%s is not private: expected owner %u and mode 0700, found owner %u and "
                         "mode 0%o; remove it or set XDG_RUNTIME_DIR",
                         path, (unsigned)geteuid(), (unsigned)info.st_uid,
                         (unsigned)info.st_mode & 07777);
    }
    *fd = folder;
    return STATUS_OK;
}

/* ".PID.new" while it is made, "PID.sock" once it listens. */
static void socket_name(pid_t pid, bool fresh, char out[NAME])
{
    snprintf(out, NAME, fresh ? ".%d%s" : "%d%s", (int)pid, fresh ? fresh_suffix : suffix);
}

/* The process that a name belongs to, or 0. */
static pid_t pid_of(const char *name, bool *fresh)
{
    char *end;
    *fresh = name[0] == '.';
    name += *fresh;
    if (!isdigit((unsigned char)name[0]))
        return 0;
    errno = 0;
    long pid = strtol(name, &end, 10);
    bool good = !errno && pid > 0 && pid <= INT32_MAX;
    return good && !strcmp(end, *fresh ? fresh_suffix : suffix) ? (pid_t)pid : 0;
}

static struct sockaddr_un socket_address(int folder, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder, name);
    return address;
}

static int make_socket(bool blocking)
{
    int type = SOCK_STREAM | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK);
    return own_fd_up(socket(AF_UNIX, type, 0));
}

/* A try that does not wait: 0, or the reason. A full queue means that the process lives. */
static int probe(int folder, const char *name)
{
    struct sockaddr_un address = socket_address(folder, name);
    int fd = make_socket(false), reason = 0;
    if (fd < 0)
        return errno;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno != EAGAIN)
        reason = errno;
    close(fd);
    return reason;
}

static enum status refuse_socket(struct error *err, int fd, int folder, const char *name,
                                 const char *what)
{
    int reason = errno;
    close(fd);
    unlinkat(folder, name, 0);
    return error_set(err, STATUS_IO, "%s: %s", what, REASON_OF(reason));
}

enum status control_socket_listen(int folder, pid_t pid, int *out, struct error *err)
{
    char fresh[NAME], name[NAME];
    socket_name(pid, true, fresh);
    socket_name(pid, false, name);
    if (!probe(folder, name))
        return error_set(err, STATUS_FULL, "another process answers as %d", (int)pid);
    int fd = make_socket(false);
    if (fd < 0)
        return error_set(err, STATUS_IO, "socket: %s", REASON_OF(errno));
    struct sockaddr_un address = socket_address(folder, fresh);
    unlinkat(folder, fresh, 0);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
        return refuse_socket(err, fd, folder, fresh, "bind");
    if (listen(fd, BACKLOG))
        return refuse_socket(err, fd, folder, fresh, "listen");
    if (renameat(folder, fresh, folder, name))
        return refuse_socket(err, fd, folder, fresh, "rename");
    *out = fd;
    return STATUS_OK;
}

void control_socket_remove(int folder, pid_t pid)
{
    char name[NAME];
    socket_name(pid, false, name);
    unlinkat(folder, name, 0);
}

static void set_limits(int fd, int timeout_ms)
{
    struct timeval limit = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

enum status control_socket_connect(int folder, pid_t pid, int timeout_ms, int *out,
                                   struct error *err)
{
    char name[NAME];
    socket_name(pid, false, name);
    struct sockaddr_un address = socket_address(folder, name);
    int fd = make_socket(timeout_ms > 0);
    if (fd < 0)
        return error_set(err, STATUS_IO, "socket: %s", REASON_OF(errno));
    if (timeout_ms > 0)
        set_limits(fd, timeout_ms);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
        int reason = errno;
        close(fd);
        if (reason == ENOENT || reason == ECONNREFUSED)
            return error_set(err, STATUS_NOT_FOUND, "no cuvet serves process %d", (int)pid);
        return error_set(err, reason == EAGAIN ? STATUS_TIMEOUT : STATUS_IO, "connect: %s",
                         REASON_OF(reason));
    }
    if (!control_peer_is_me(fd)) {
        close(fd);
        return error_set(err, STATUS_INVALID, "a process of another user serves %d", (int)pid);
    }
    *out = fd;
    return STATUS_OK;
}

/* Calls `visit` for each name of ours. */
static void each_name(int folder,
                      void (*visit)(void *user, const char *name, pid_t pid, bool fresh),
                      void *user)
{
    int fd = own_fd_up(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR *names = fd >= 0 ? fdopendir(fd) : NULL;
    if (!names) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(names));) {
        bool fresh;
        pid_t pid = pid_of(entry->d_name, &fresh);
        if (pid)
            visit(user, entry->d_name, pid, fresh);
    }
    closedir(names);
}

struct visitor {
    void (*visit)(void *user, pid_t pid);
    void *user;
};

static void visit_one(void *user, const char *name, pid_t pid, bool fresh)
{
    const struct visitor *visitor = user;
    (void)name;
    if (!fresh)
        visitor->visit(visitor->user, pid);
}

void control_sockets_each(int folder, void (*visit)(void *user, pid_t pid), void *user)
{
    struct visitor visitor = {visit, user};
    each_name(folder, visit_one, &visitor);
}

/* A socket that is being made does not listen for a moment, and is left alone for a minute. */
static void clean_one(void *user, const char *name, pid_t pid, bool fresh)
{
    int folder = *(const int *)user;
    struct stat info;
    (void)pid;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) || !S_ISSOCK(info.st_mode))
        return;
    if (fresh && info.st_mtime + FRESH_S > time(NULL))
        return;
    if (probe(folder, name) == ECONNREFUSED)
        unlinkat(folder, name, 0);
}

void control_sockets_clean(int folder)
{
    each_name(folder, clean_one, &folder);
}

bool control_peer_is_me(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && size == sizeof(peer) &&
           peer.uid == geteuid();
}
