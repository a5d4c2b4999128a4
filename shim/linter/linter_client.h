/*
 * linter_client.h - the process `cuvet lint --serve` beside the program, as the program's end of
 * the socket.
 *
 * It holds one kernel after the other against the rules, and ends when its socket is closed or when
 * the program ends. One thread, which waits here for an answer; a flag ends each wait.
 */
#ifndef LINTER_LINTER_CLIENT_H
#define LINTER_LINTER_CLIENT_H

#include <stdatomic.h>
#include "base/error.h"
#include "linter/linter_wire.h"
#include "system/own_fd.h"

struct linter_client {
    struct own_fd socket; /* none: no process */
    const atomic_bool *stop;
};

enum linter_step {
    LINTER_ANSWERED,
    LINTER_LOST, /* the process has ended, or its answer is none */
    LINTER_LATE,
    LINTER_STOPPED
};

/* `stop` outlives the client. Starts no process. */
void linter_client_init(struct linter_client *client, const atomic_bool *stop);

/* Blocks for some milliseconds. */
enum status linter_client_start(struct linter_client *client, const char *tool, char *const *argv,
                                char *const *env, struct error *err);

/*
 * Sends a request and waits for its answer, `timeout_ms` at most. On LINTER_ANSWERED *body holds
 * the answer's bytes, for free(); NULL: it has none. After LOST and LATE the process is gone.
 */
enum linter_step linter_client_ask(struct linter_client *client, const struct lint_request *head,
                                   const char *symbol, const void *image, int timeout_ms,
                                   struct lint_answer *answer, char **body);

/* Closes the socket, at which the process ends. */
void linter_client_end(struct linter_client *client);

#endif
