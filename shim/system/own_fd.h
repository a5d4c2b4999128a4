/*
 * own_fd.h - a descriptor that is kept open inside the host program.
 *
 * Programs close descriptors that they do not own (daemons close all from 3 up), and open files of
 * their own under the same numbers. So a kept descriptor is compared with the file that it stood
 * for, by device and inode, before each use; where it stands for another one it is never written,
 * read, shut down or closed.
 *
 *     own_fd_take(&file, open(...));
 *     int fd = own_fd_get(&file);
 *     if (fd >= 0)
 *         ... use fd at once, do not keep it ...
 *     own_fd_close(&file);
 *
 * Any thread; own_fd_take and own_fd_close of one descriptor by one thread at a time. errno is kept
 * by own_fd_get.
 */
#ifndef SYSTEM_OWN_FD_H
#define SYSTEM_OWN_FD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct own_fd {
    atomic_int fd; /* -1: none */
    dev_t device;
    ino_t inode;
};

#define OWN_FD_NONE                                                                                \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Keeps a descriptor that was just opened; -1: none. It has been moved up before. */
void own_fd_take(struct own_fd *own, int fd);

/* The number, or -1 when there is none or it stands for another file by now. */
int own_fd_get(const struct own_fd *own);

/* Whether `fd` is open on the same file. */
bool own_fd_is(const struct own_fd *own, int fd);

/* Closes it if it is still ours; none afterwards. The result of close(2), 0 where none was. */
int own_fd_close(struct own_fd *own);

/* Moves a new descriptor past the numbers of the standard streams, 0 to 2; the result is
 * close-on-exec. -1, and the old one closed, when there is none left. -1 stays -1. */
int own_fd_up(int fd);

#endif
