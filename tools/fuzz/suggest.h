/*
 * suggest.h - a `fuzz` mapping to begin with, from an entry that has none.
 *
 * Sizes are what the signature's dims show, and the grid what `let` shows: `rows: grid.x` is a grid
 * of `rows` blocks. The block of 256 threads and the ranges of numbers are guesses, for the author
 * to correct.
 */
#ifndef TOOLS_FUZZ_SUGGEST_H
#define TOOLS_FUZZ_SUGGEST_H

#include <stdbool.h>
#include "registry/registry.h"
#include "text/textbuf.h"

/* Appends "{n: 1..1024, block: 256, grid: \"ceil_div(n, 256)\"}". False: cases of such an entry are
 * not drawn, or take more than that. */
bool fuzz_suggest(const struct registry_bench *bench, struct textbuf *out);

#endif
