/*
 * repeats.h - which output an earlier launch gave for the same input. One table of a fixed size; a
 * new launch takes the place of an old one where both fall on it. One thread at a time.
 */
#ifndef EXTRA_REPEATS_H
#define EXTRA_REPEATS_H

#include <stdbool.h>
#include <stdint.h>

enum { REPEATS = 4096 };

struct repeats;
struct repeats *repeats_create(void); /* NULL: no memory */
void repeats_destroy(struct repeats *repeats);

/* Notes that launch number `launch` gave `output` for what `key` stands for. True when an earlier
 * one, which *earlier then names, gave another output; that one stays. NULL: never. */
bool repeats_differ(struct repeats *repeats, uint64_t key, uint64_t output, uint64_t launch,
                    uint64_t *earlier);

#endif
