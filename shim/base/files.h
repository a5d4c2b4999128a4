/*
 * files.h - writing files from inside somebody else's program.
 *
 * Every function may block on the disk and is not for the launch path. None of them lets a signal
 * through that a write raises (SIGXFSZ when RLIMIT_FSIZE is reached, SIGPIPE): the program did not
 * ask for the write and must not die of it. errno is kept.
 */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include <stddef.h>
#include "base/error.h"

/* Writes all bytes, over short writes and EINTR. STATUS_IO with the system's reason. */
enum status files_write(int fd, const void *bytes, size_t count, struct error *err);

/* One write(2) of all bytes; a short one is a failure (the rest is not tried). */
enum status files_write_once(int fd, const void *bytes, size_t count, struct error *err);

/* mkdir -p with mode 0700. A folder that exists is fine, whatever its mode. */
enum status files_make_folders(const char *path, struct error *err);

/* Creates a file of mode 0600 that was not there, or opens one for appending; never follows a
 * symbolic link, never blocks on a FIFO, close-on-exec. *fd is written on success only. */
enum status files_create(int folder_fd, const char *name, int *fd, struct error *err);
enum status files_append(const char *path, int *fd, struct error *err);

/* Removes a folder and what is in it, as far as it goes. Follows no link. */
void files_remove_folder(const char *path);

#endif
