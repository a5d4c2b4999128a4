/*
 * control_socket.h - where a process listens for `cuvet ctl`, and how a client connects: the part
 * that the library and the tool share.
 *
 * A process PID listens on FOLDER/PID.sock, a Unix stream socket. FOLDER is $XDG_RUNTIME_DIR/cuvet,
 * or /tmp/cuvet-UID where that cannot be used; the tool searches /run/user/UID/cuvet as well, since
 * its environment may be another. A folder that is a symbolic link, is not owned by the caller or
 * lets others in is never used. Sockets are reached through the folder's descriptor
 * (/proc/self/fd/N/PID.sock), so the folder that was checked is the one that is used, however long
 * its path.
 *
 * A socket under its final name listens already (it is renamed into place), so one on which connect
 * fails is left over from a dead process.
 *
 * The protocol, version 1: one request a connection, a line of at most CONTROL_REQUEST bytes with
 * its newline, and one answer, whose first line is "cuvet/1 ok", "cuvet/1 timeout" or "cuvet/1
 * error SENTENCE"; lines "KEY VALUE" may follow, then the connection ends. Requests:
 *
 *   status       the state and the counters, see control_words.c
 *   top          the same and a line for each of the first CONTROL_ROWS kernels
 *   start        as cuvet_start
 *   stop [MS]    as cuvet_stop; without MS it does not wait. MS: at most CONTROL_WAIT_MS
 *   sample P     as cuvet_set_sample
 *   flush [MS]   as cuvet_flush; without MS for a second
 *
 * Functions set `err` to a sentence; none follows a symbolic link in the folder, none raises
 * SIGPIPE.
 */
#ifndef SYSTEM_CONTROL_SOCKET_H
#define SYSTEM_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/error.h"

enum { CONTROL_REQUEST = 128, CONTROL_ROWS = 100, CONTROL_WAIT_MS = 60000, CONTROL_PATH = 512 };

#define CONTROL_GREETING "cuvet/1 "

/* Folder number `place`, best first; false past the last. Some may be missing: then *out is "". */
enum { CONTROL_PLACES = 3 };
bool control_place(int place, char out[CONTROL_PATH]);

/* Opens a folder after the checks above; `make` makes it where it is missing. The caller closes
 * *fd. STATUS_NOT_FOUND: it is not there. STATUS_INVALID: it is not private. */
enum status control_folder_open(const char *path, bool make, int *fd, struct error *err);

/* Listens as `pid` in the folder: non-blocking, close-on-exec, never one of the descriptors 0 to 2.
 * STATUS_FULL: another process listens under that name. */
enum status control_socket_listen(int folder, pid_t pid, int *fd, struct error *err);

/* Removes the name again. */
void control_socket_remove(int folder, pid_t pid);

/* Connects to the socket of `pid`, waiting for its queue at most `timeout_ms`, which also becomes
 * the limit of each send and receive; 0: does not wait at all, non-blocking. STATUS_NOT_FOUND:
 * there is no socket, or its process is dead. STATUS_INVALID: another user's process listens
 * there. */
enum status control_socket_connect(int folder, pid_t pid, int timeout_ms, int *fd,
                                   struct error *err);

/* Calls `visit` for each process that has a socket in the folder, dead ones too. */
void control_sockets_each(int folder, void (*visit)(void *user, pid_t pid), void *user);

/* Removes the sockets of dead processes. */
void control_sockets_clean(int folder);

/* Whether the process at the other end runs as the same user. */
bool control_peer_is_me(int fd);

#endif
