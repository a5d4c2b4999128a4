/*
 * files.c - see files.h.
 *
 * SIGXFSZ and SIGPIPE are sent to the thread that writes. So each write runs with both blocked,
 * takes back the one that it raised (never one that was pending before), and restores the mask.
 */
#include "base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct guard {
    sigset_t old, raised; /* raised: ours to take back, not pending when we began */
};

static void guard_begin(struct guard *guard)
{
    sigset_t pending;

    sigemptyset(&guard->raised);
    sigaddset(&guard->raised, SIGXFSZ);
    sigaddset(&guard->raised, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &guard->raised, &guard->old);
    if (sigpending(&pending) == 0) {
        if (sigismember(&pending, SIGXFSZ))
            sigdelset(&guard->raised, SIGXFSZ);
        if (sigismember(&pending, SIGPIPE))
            sigdelset(&guard->raised, SIGPIPE);
    }
}

static void guard_end(const struct guard *guard, int failure)
{
    const struct timespec now = {0};

    if (failure == EFBIG || failure == EPIPE) {
        while (sigtimedwait(&guard->raised, NULL, &now) > 0)
            ;
    }
    pthread_sigmask(SIG_SETMASK, &guard->old, NULL);
}

/* strerror is not safe beside other threads. */
struct reason {
    char text[128];
};

static const char *reason_of(int failure, struct reason *reason)
{
    return strerror_r(failure, reason->text, sizeof reason->text);
}

#define REASON(failure) reason_of((failure), &(struct reason){{0}})

static enum status write_bytes(int fd, const char *at, size_t count, bool once, struct error *err)
{
    struct guard guard;
    int kept = errno, failure = 0;

    guard_begin(&guard);
    while (count > 0 && failure == 0) {
        ssize_t done = write(fd, at, count);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            failure = errno;
        } else if (done == 0 || (once && (size_t)done < count)) {
            failure = ENOSPC;
        } else {
            at += done;
            count -= (size_t)done;
        }
    }
    guard_end(&guard, failure);
    errno = kept;
    if (failure)
        return error_set(err, STATUS_IO, "%s", REASON(failure));
    return STATUS_OK;
}

enum status files_write(int fd, const void *bytes, size_t count, struct error *err)
{
    return write_bytes(fd, bytes, count, false, err);
}

enum status files_write_once(int fd, const void *bytes, size_t count, struct error *err)
{
    return write_bytes(fd, bytes, count, true, err);
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

enum status files_make_folders(const char *path, struct error *err)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    int kept = errno, failure = 0;

    if (length == 0 || length >= sizeof part)
        return error_set(err, STATUS_INVALID, "the folder name '%.80s' is %s", path,
                         length ? "too long" : "empty");
    for (size_t i = 1; i <= length && !failure; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0700) == 0)
            continue;
        failure = errno == EEXIST ? ENOTDIR : errno;
        if (is_folder(part))
            failure = 0;
    }
    errno = kept;
    if (failure)
        return error_set(err, STATUS_IO, "cannot make the folder %s: %s", path, REASON(failure));
    return STATUS_OK;
}

enum status files_create(int folder_fd, const char *name, int *fd, struct error *err)
{
    int kept = errno, flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int opened = openat(folder_fd, name, flags, 0600), failure = errno;

    errno = kept;
    if (opened < 0)
        return error_set(err, STATUS_IO, "cannot create %s: %s", name, REASON(failure));
    *fd = opened;
    return STATUS_OK;
}

enum status files_append(const char *path, int *fd, struct error *err)
{
    int kept = errno, failure;
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int opened = open(path, flags, 0600);
    struct stat info;

    failure = errno;
    if (opened >= 0 && (fstat(opened, &info) != 0 || !S_ISREG(info.st_mode))) {
        close(opened);
        opened = -1;
        failure = EINVAL;
    }
    errno = kept;
    if (opened < 0)
        return error_set(err, STATUS_IO, "cannot open %s: %s", path, REASON(failure));
    *fd = opened;
    return STATUS_OK;
}

static void remove_at(int parent_fd, const char *name, int depth)
{
    int fd;
    DIR *folder;

    if (unlinkat(parent_fd, name, 0) == 0 || depth > 16)
        return;
    fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    folder = fdopendir(fd);
    if (!folder) {
        close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_at(fd, entry->d_name, depth + 1);
    }
    closedir(folder);
    unlinkat(parent_fd, name, AT_REMOVEDIR);
}

void files_remove_folder(const char *path)
{
    int kept = errno;

    remove_at(AT_FDCWD, path, 0);
    errno = kept;
}
