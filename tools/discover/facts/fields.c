#include "tools/discover/facts/fields.h"

#include <stdlib.h>
#include <string.h>
#include "tools/discover/facts/ptx_facts.h"

enum { MOST_LOADS = 1024, ADDRESS = 8, WORD = 4 };

struct cutting {
    const struct seen_kernel *kernel;
    struct field *out;
    unsigned count;
    const struct facts_place *load;
    unsigned loads;
};

/* Whether some launch has an address at that byte of the parameters. */
static bool is_pointer(const struct seen_kernel *kernel, uint32_t at)
{
    for (unsigned i = 0; i < kernel->samples; i++) {
        if (seen_pointer_at(kernel->sample[i], at))
            return true;
    }
    return false;
}

static bool holds_pointer(const struct seen_kernel *kernel, uint32_t begin, uint32_t size)
{
    for (uint32_t at = begin; at < begin + size; at++) {
        if (is_pointer(kernel, at))
            return true;
    }
    return false;
}

static uint64_t bits_at(const struct seen_sample *sample, uint32_t at, uint32_t size)
{
    uint64_t bits = 0;
    if (at + size <= sample->params_bytes)
        memcpy(&bits, sample->params + at, size);
    return bits;
}

static bool is_set(const struct seen_kernel *kernel, uint32_t at, uint32_t size)
{
    for (unsigned i = 0; i < kernel->samples; i++) {
        if (bits_at(kernel->sample[i], at, size))
            return true;
    }
    return false;
}

/* Whether 8 bytes are no integer of usual size: they are two words that are loaded at once. */
static bool is_pair(const struct seen_kernel *kernel, uint32_t at)
{
    for (unsigned i = 0; i < kernel->samples; i++) {
        int64_t value = (int64_t)bits_at(kernel->sample[i], at, ADDRESS);
        if (value >= INT64_C(1) << 40 || value < -(INT64_C(1) << 40))
            return true;
    }
    return false;
}

static void add(struct cutting *c, const struct field *whole, uint32_t offset, uint32_t size)
{
    struct field field = *whole;
    field.offset = offset;
    field.size = size;
    field.pointer = size == ADDRESS && is_pointer(c->kernel, offset);
    if (c->count < LAYOUT_MAX)
        c->out[c->count] = field;
    c->count++;
}

/* The widest load at that byte of the parameter; 0: none. */
static uint32_t loaded_at(const struct cutting *c, unsigned param, uint32_t at)
{
    uint32_t bytes = 0;
    for (unsigned i = 0; i < c->loads; i++) {
        const struct facts_place *load = &c->load[i];
        if (load->param == param && load->offset == at && load->bytes > bytes)
            bytes = load->bytes;
    }
    return bytes;
}

/* Bytes of the field that begins there; 0: none does. */
static uint32_t field_at(const struct cutting *c, const struct field *whole, uint32_t at)
{
    uint32_t left = whole->begin + whole->whole - at;
    if (left >= ADDRESS && is_pointer(c->kernel, at))
        return ADDRESS;
    uint32_t bytes = loaded_at(c, whole->param, at - whole->begin);
    if (bytes == ADDRESS && is_pair(c->kernel, at))
        return WORD;
    if (bytes && bytes <= ADDRESS && bytes <= left)
        return bytes;
    bool word = at % WORD == 0 && left >= WORD && !is_pointer(c->kernel, at + WORD);
    return word && is_set(c->kernel, at, WORD) ? WORD : 0;
}

static void cut(struct cutting *c, const struct field *whole)
{
    uint32_t at = whole->begin, end = whole->begin + whole->whole;
    while (at < end) {
        uint32_t bytes = field_at(c, whole, at);
        if (bytes)
            add(c, whole, at, bytes);
        at += bytes ? bytes : 1;
    }
}

unsigned fields_find(const struct seen_kernel *kernel, struct field out[LAYOUT_MAX])
{
    const struct param_layout *layout = &kernel->sample[0]->layout;
    struct facts_place *load = calloc(MOST_LOADS, sizeof *load);
    struct cutting c = {.kernel = kernel, .out = out, .load = load};
    c.loads = load ? ptx_facts_fields(kernel, load, MOST_LOADS) : 0;
    for (unsigned i = 0; i < layout->count; i++) {
        const struct field whole = {
            .param = i, .begin = layout->param[i].offset, .whole = layout->param[i].size};
        unsigned before = c.count, left = layout->count - i - 1;
        bool parts = whole.whole > ADDRESS && holds_pointer(kernel, whole.begin, whole.whole);
        if (parts)
            cut(&c, &whole);
        if (!parts || c.count + left > LAYOUT_MAX) {
            c.count = before;
            add(&c, &whole, whole.begin, whole.whole);
        }
    }
    free(load);
    return c.count;
}
