/*
 * gates_list.h - the functions of gates.def. Included by gates*.c, and by tests of single gates.
 */
#ifndef GATES_LIST_H
#define GATES_LIST_H

#include "gates/gates.h"

/* A launch on its way through the list. */
struct gate_query {
    struct pipeline *pipeline;
    const struct launch *launch;
    struct ticket *ticket; /* gates leave in it what later ones need */
    struct error *why;     /* a sentence for the user, where there is one */
};

/* Each returns the bucket of a launch that it passes over, else SKIP_NONE. */
#define GATE(part, name, buckets, decision) enum skip gates_##name(const struct gate_query *query);
#include "gates/gates.def"
#undef GATE

/* The outlier gate cannot probe launches of this signature. */
void gates_blind(struct ticket *ticket);

#endif
