/* client.h - one request of a verb to its worker: what worker.c offers to the calls of worker.h. */
#ifndef TOOLS_WORKER_CLIENT_H
#define TOOLS_WORKER_CLIENT_H

#include "tools/worker/wire.h"
#include "tools/worker/worker.h"

struct client_call {
    enum wire_op op;
    uint64_t word[WIRE_WORDS];
    struct client_part {
        const void *bytes;
        size_t count;
    } part[2];
    void *out; /* gets the bytes of the answer, which are just out_bytes */
    size_t out_bytes;
    uint64_t answer; /* its word */
};

/* The status of the request. Where the process is gone or late it is ended: worker_lost. */
enum status client_call(struct worker *worker, struct client_call *call, struct error *err);

/* Ends the process, whose device takes no more calls. */
void client_lose(struct worker *worker);

#endif
