/* words.c - relaxed atomic copies and fills. */
#include "driver/memory/words.h"

#define MOVE(type, to, from)                                                                       \
    __atomic_store_n((type *)(void *)(to),                                                         \
                     __atomic_load_n((const type *)(const void *)(from), __ATOMIC_RELAXED),        \
                     __ATOMIC_RELAXED)
#define PUT(type, to, value) __atomic_store_n((type *)(void *)(to), (type)(value), __ATOMIC_RELAXED)

/* The widest word to which both addresses come at the same time. */
static unsigned common_word(const uint8_t *to, const uint8_t *from)
{
    uintptr_t difference = (uintptr_t)to ^ (uintptr_t)from;
    return difference % 8 == 0 ? 8 : difference % 4 == 0 ? 4 : difference % 2 == 0 ? 2 : 1;
}

static size_t copy_words(unsigned word, uint8_t *to, const uint8_t *from, size_t bytes)
{
    size_t at = 0;
    switch (word) {
    case 8:
        for (; at + 8 <= bytes; at += 8)
            MOVE(uint64_t, to + at, from + at);
        break;
    case 4:
        for (; at + 4 <= bytes; at += 4)
            MOVE(uint32_t, to + at, from + at);
        break;
    case 2:
        for (; at + 2 <= bytes; at += 2)
            MOVE(uint16_t, to + at, from + at);
        break;
    default:
        for (; at < bytes; at++)
            MOVE(uint8_t, to + at, from + at);
    }
    return at;
}

void words_copy(uint8_t *to, const uint8_t *from, size_t bytes)
{
    unsigned word = common_word(to, from);
    size_t at = 0;
    /* Up to the boundary with growing words, then the bulk, then what is left with shrinking ones.
     */
    for (unsigned step = 1; step < word; step *= 2)
        if ((uintptr_t)(to + at) % (2 * step) != 0 && bytes - at >= step)
            at += copy_words(step, to + at, from + at, step);
    if ((uintptr_t)(to + at) % word != 0)
        word = 1;
    at += copy_words(word, to + at, from + at, bytes - at);
    for (unsigned step = word / 2; step > 0; step /= 2)
        at += copy_words(step, to + at, from + at, (bytes - at) / step * step);
}

static uint64_t repeat(uint32_t value, unsigned element)
{
    uint64_t word = element == 1   ? (value & 0xff) * 0x0101010101010101u
                    : element == 2 ? (value & 0xffff) * 0x0001000100010001u
                                   : value * 0x0000000100000001u;
    return word;
}

static void put_element(uint8_t *to, uint32_t value, unsigned element)
{
    if (element == 1)
        PUT(uint8_t, to, value);
    else if (element == 2)
        PUT(uint16_t, to, value);
    else
        PUT(uint32_t, to, value);
}

void words_fill(uint8_t *to, uint32_t value, unsigned element, size_t count)
{
    const uint64_t word = repeat(value, element);
    uint8_t *end = to + count * element;
    for (; to < end && (uintptr_t)to % 8 != 0; to += element)
        put_element(to, value, element);
    for (; end - to >= 8; to += 8)
        PUT(uint64_t, to, word);
    for (; to < end; to += element)
        put_element(to, value, element);
}
