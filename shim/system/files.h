/*
 * files.h - writing files from inside the host program.
 *
 * Every function may block on the disk and is not for the launch path. None of them lets a signal
 * through that a write raises (write_guard.h), none opens a file under the numbers 0 to 2, and
 * those with a struct own_fd leave a descriptor alone that is no longer cuvet's. errno is kept.
 */
#ifndef SYSTEM_FILES_H
#define SYSTEM_FILES_H

#include <stddef.h>
#include "base/error.h"
#include "system/own_fd.h"

/* Writes all bytes, over short writes and EINTR. STATUS_IO with the system's reason. */
enum status files_write(int fd, const void *bytes, size_t count, struct error *err);
/* STATUS_NOT_FOUND: the descriptor is no longer ours. */
enum status files_write_own(const struct own_fd *file, const void *bytes, size_t count,
                            struct error *err);

/* One write(2) of all bytes; a short one is a failure (the rest is not tried). STATUS_NOT_FOUND as
 * above. */
enum status files_write_once(const struct own_fd *file, const void *bytes, size_t count,
                             struct error *err);

/* mkdir -p with mode 0700. A folder that exists is fine, whatever its mode. */
enum status files_make_folders(const char *path, struct error *err);

/* Opens a folder, which is no symbolic link. */
enum status files_open_folder(const char *path, struct own_fd *folder, struct error *err);

/* Creates a file of mode 0600 that was not there, close-on-exec; never follows a link. */
enum status files_create(const struct own_fd *folder, const char *name, struct own_fd *file,
                         struct error *err);

/* Opens a file for appending, or creates it as above. One that is no regular file, belongs to
 * another user or has a second name (a hard link) is refused, and never blocked on. */
enum status files_append(const char *path, struct own_fd *file, struct error *err);

/* The same once more, after the descriptor has been lost: the path must still lead to that file. */
enum status files_append_again(const char *path, struct own_fd *file, struct error *err);

/* Opens a regular file to read it; never blocks on a FIFO or a device. The caller closes *fd, which
 * is written on success only. The sentence does not name the path. */
enum status files_open_read(const char *path, int *fd, struct error *err);

/* Removes a folder and what is in it, as far as it goes. Follows no link. */
void files_remove_folder(const char *path);

#endif
