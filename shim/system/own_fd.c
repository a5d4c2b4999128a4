#include "system/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_FD = 3 };

void own_fd_take(struct own_fd *own, int fd)
{
    struct stat info = {0};

    if (fd >= 0 && fstat(fd, &info) != 0)
        fd = -1;
    own->device = info.st_dev;
    own->inode = info.st_ino;
    atomic_store(&own->fd, fd);
}

bool own_fd_is(const struct own_fd *own, int fd)
{
    struct stat info;
    int kept = errno;
    bool same = fstat(fd, &info) == 0 && info.st_dev == own->device && info.st_ino == own->inode;

    errno = kept;
    return same;
}

int own_fd_get(const struct own_fd *own)
{
    int fd = atomic_load(&own->fd);

    return fd >= 0 && own_fd_is(own, fd) ? fd : -1;
}

int own_fd_close(struct own_fd *own)
{
    int fd = own_fd_get(own);

    atomic_store(&own->fd, -1);
    return fd >= 0 ? close(fd) : 0;
}

int own_fd_up(int fd)
{
    int up, failure;

    if (fd < 0 || fd >= FIRST_FD)
        return fd;
    up = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
    failure = errno;
    close(fd);
    errno = failure;
    return up;
}
