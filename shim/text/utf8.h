/* utf8.h - characters of text that may be no text: how long each is, and whether it shows. Pure. */
#ifndef TEXT_UTF8_H
#define TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the UTF-8 sequence at `bytes`, or 0 when it is none (overlong forms, surrogates
 * and values past U+10FFFF are none). `count` is 1 or more. */
size_t utf8_length(const unsigned char *bytes, size_t count);

/* The code point of a sequence of that length, 1 to 4. */
uint32_t utf8_point(const unsigned char *bytes, size_t length);

/* Whether a code point is a control character (C0, DEL, C1) or steers how text around it is shown:
 * bidirectional controls, line separators, characters without width, tags. */
bool utf8_steers(uint32_t point);

#endif
