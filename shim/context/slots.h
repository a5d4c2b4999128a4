/*
 * slots.h - which of a bounded number of checks are in use. Lock-free, any thread on either side.
 */
#ifndef CONTEXT_SLOTS_H
#define CONTEXT_SLOTS_H

#include <stdint.h>

struct slots;

struct slots *slots_create(uint32_t count); /* NULL without memory */
void slots_destroy(struct slots *slots);

/* A free slot, now taken; or -1 when there is none. */
int slots_claim(struct slots *slots);
/* Gives it back, once for each claim. */
void slots_release(struct slots *slots, int slot);
/* How many are taken; racy by nature, for tests and shutdown. */
uint32_t slots_in_use(const struct slots *slots);

#endif
