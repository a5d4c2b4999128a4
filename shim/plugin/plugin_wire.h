/*
 * plugin_wire.h - findings on their way from the library to the process that runs the plugin, and
 * the replies.
 *
 * Both ends are of one build (`cuvet plugin --serve VERSION` refuses another), so a message is the
 * struct of cuvet_plugin.h and its strings behind it. The socket is a SOCK_SEQPACKET pair: a
 * message arrives whole or not at all. The receiver still compares every length with the bytes that
 * came.
 *
 * Pure: memory of the caller's alone.
 */
#ifndef PLUGIN_PLUGIN_WIRE_H
#define PLUGIN_PLUGIN_WIRE_H

#include "base/error.h"
#include "cuvet_plugin.h"

enum {
    PLUGIN_MESSAGE_MAX = 32 << 10,
    PLUGIN_CALL_MS = 10000, /* one call of the plugin, loading it included */
    PLUGIN_RESTARTS = 3,    /* after crashes and calls that took too long */
    PLUGIN_EXIT_MS = 2000,  /* for what is left when the program ends */
};

/* The answer after each message: what has become of all so far. */
struct plugin_tally {
    uint64_t handled;
    uint64_t lost;     /* reached the process, not the end of their call */
    uint32_t restarts; /* of the plugin's process */
    enum plugin_state {
        PLUGIN_WORKS,
        PLUGIN_GIVEN_UP,   /* it ended too often */
        PLUGIN_UNLOADABLE, /* no shared object, or without the function */
    } state;
};

/* The length of the message in `out`; 0: it does not fit. NULL strings stay NULL. */
size_t plugin_wire_put(const struct cuvet_mismatch *finding, char *out, size_t size);

/* *finding borrows the message, which must stay. STATUS_INVALID for one that is not whole. */
enum status plugin_wire_get(struct cuvet_mismatch *finding, const char *message, size_t size);

#endif
