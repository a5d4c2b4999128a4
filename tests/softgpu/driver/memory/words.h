/*
 * words.h - copies and fills memory as a device does: in aligned words that are written whole, so
 * that a kernel or a host thread that polls one never reads half of it.
 */
#ifndef SOFTGPU_WORDS_H
#define SOFTGPU_WORDS_H

#include <stddef.h>
#include <stdint.h>

void words_copy(uint8_t *to, const uint8_t *from, size_t bytes);
/* `count` elements of 1, 2 or 4 bytes; `to` is aligned to an element. */
void words_fill(uint8_t *to, uint32_t value, unsigned element, size_t count);

#endif
