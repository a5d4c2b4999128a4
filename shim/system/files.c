/* files.c - see files.h. */
#include "system/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "system/write_guard.h"

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
    struct write_guard guard;
    int kept = errno, failure = 0;

    write_guard_begin(&guard);
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
    write_guard_end(&guard, failure);
    errno = kept;
    if (failure)
        return error_set(err, STATUS_IO, "%s", REASON(failure));
    return STATUS_OK;
}

enum status files_write(int fd, const void *bytes, size_t count, struct error *err)
{
    return write_bytes(fd, bytes, count, false, err);
}

static enum status write_own(const struct own_fd *file, const void *bytes, size_t count, bool once,
                             struct error *err)
{
    int fd = own_fd_get(file);

    if (fd < 0)
        return error_set(err, STATUS_NOT_FOUND, "the program has closed the file");
    return write_bytes(fd, bytes, count, once, err);
}

enum status files_write_own(const struct own_fd *file, const void *bytes, size_t count,
                            struct error *err)
{
    return write_own(file, bytes, count, false, err);
}

enum status files_write_once(const struct own_fd *file, const void *bytes, size_t count,
                             struct error *err)
{
    return write_own(file, bytes, count, true, err);
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

enum status files_open_folder(const char *path, struct own_fd *folder, struct error *err)
{
    int kept = errno, failure;
    int opened = own_fd_up(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));

    failure = errno;
    errno = kept;
    if (opened < 0)
        return error_set(err, STATUS_IO, "cannot open %s: %s", path, REASON(failure));
    own_fd_take(folder, opened);
    return STATUS_OK;
}

enum status files_create(const struct own_fd *folder, const char *name, struct own_fd *file,
                         struct error *err)
{
    int kept = errno, flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int folder_fd = own_fd_get(folder), opened = -1, failure = EBADF;

    if (folder_fd >= 0) {
        opened = own_fd_up(openat(folder_fd, name, flags, 0600));
        failure = errno;
    }
    errno = kept;
    if (opened < 0)
        return error_set(err, STATUS_IO, "cannot create %s: %s", name, REASON(failure));
    own_fd_take(file, opened);
    return STATUS_OK;
}

/* What is wrong with a file to append to, or NULL. */
static const char *why_foreign(int fd)
{
    struct stat info;

    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return "not a regular file";
    if (info.st_uid != geteuid())
        return "it belongs to another user";
    return info.st_nlink > 1 ? "it has a second name (a hard link)" : NULL;
}

static enum status open_append(const char *path, int more_flags, const struct own_fd *same,
                               int *out, struct error *err)
{
    int kept = errno, failure;
    int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | more_flags;
    int opened = own_fd_up(open(path, flags, 0600));
    const char *wrong = NULL;

    failure = errno;
    if (opened >= 0)
        wrong = why_foreign(opened);
    if (opened >= 0 && !wrong && same && !own_fd_is(same, opened))
        wrong = "another file has its name by now";
    if (wrong)
        close(opened);
    errno = kept;
    if (opened < 0)
        return error_set(err, STATUS_IO, "cannot open %s: %s", path, REASON(failure));
    if (wrong)
        return error_set(err, STATUS_IO, "cannot write to %s: %s", path, wrong);
    *out = opened;
    return STATUS_OK;
}

enum status files_append(const char *path, struct own_fd *file, struct error *err)
{
    int opened;
    enum status status = open_append(path, O_CREAT, NULL, &opened, err);

    if (!status)
        own_fd_take(file, opened);
    return status;
}

enum status files_append_again(const char *path, struct own_fd *file, struct error *err)
{
    int opened;
    enum status status = open_append(path, 0, file, &opened, err);

    if (!status)
        own_fd_take(file, opened);
    return status;
}

/* What stands in a folder under a name for a regular file. */
static const char *kind_text(mode_t mode)
{
    if (S_ISDIR(mode))
        return "a folder";
    if (S_ISFIFO(mode))
        return "a FIFO or pipe";
    return S_ISSOCK(mode) ? "a socket" : "a device";
}

enum status files_open_read(const char *path, int *fd, struct error *err)
{
    int kept = errno, failure;
    int opened = own_fd_up(open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat info = {0};
    bool regular = opened >= 0 && fstat(opened, &info) == 0 && S_ISREG(info.st_mode);

    failure = errno;
    if (opened >= 0 && !regular)
        close(opened);
    errno = kept;
    if (opened < 0)
        return error_set(err, STATUS_IO, "cannot be opened: %s", REASON(failure));
    if (!regular)
        return error_set(err, STATUS_IO, "expected a regular file, found %s",
                         kind_text(info.st_mode));
    *fd = opened;
    return STATUS_OK;
}

static void remove_at(int parent_fd, const char *name, int depth)
{
    int fd;
    DIR *folder;

    if (unlinkat(parent_fd, name, 0) == 0 || depth > 16)
        return;
    fd = own_fd_up(openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
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
