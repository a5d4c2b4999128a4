/*
 * ctl_client.h - the tool's end of the control socket: finds the processes that listen and sends
 * them requests (system/control_socket.h has the places and the protocol).
 */
#ifndef TOOLS_CTL_CLIENT_H
#define TOOLS_CTL_CLIENT_H

#include <sys/types.h>
#include "base/error.h"
#include "text/textbuf.h"

enum { CTL_PATIENCE_MS = 5000 };

/*
 * Sends a request to process `pid`; `wait_ms` is what the request itself may take, to which
 * CTL_PATIENCE_MS is added. On STATUS_OK `answer` holds the lines after the first one.
 * STATUS_TIMEOUT: the process replied that checks were still under way. STATUS_NOT_FOUND: it cannot
 * be reached, or has ended. STATUS_INVALID, STATUS_IO: it refused, or has another protocol; err has
 * the sentence.
 */
enum status ctl_request(pid_t pid, const char *request, int wait_ms, struct textbuf *answer,
                        struct error *err);

/* Calls `visit` for each process that listens, in no order, a process once; sockets of dead ones
 * are removed on the way. */
void ctl_each(void (*visit)(void *user, pid_t pid), void *user);

#endif
