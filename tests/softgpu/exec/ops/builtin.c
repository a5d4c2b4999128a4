/*
 * builtin.c - the functions that device code calls and the device provides: vprintf, __assertfail,
 * malloc and free, cudaGraphSetConditional.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "exec/ops/ops.h"

enum { TEXT_MAX = 4096, SPEC_MAX = 64 };

/* The n-th argument of the call in one lane: its bytes as a number. */
static uint64_t argument(struct warp *w, const struct call_site *site, unsigned n, unsigned lane)
{
    const struct slot *slot = site->slots + site->results + n;
    const uint8_t *from = (const uint8_t *)at(w, slot->at) + (size_t)lane * slot->stride;
    uint64_t value = 0;
    memcpy(&value, from, slot->bytes < 8 ? slot->bytes : 8);
    return value;
}

static void give(struct warp *w, const struct call_site *site, const uint64_t values[LANES])
{
    if (!site->results || site->slots->at == REF_NONE)
        return;
    const struct slot *slot = site->slots;
    for (unsigned i = 0; i < LANES; i++)
        if (w->active >> i & 1)
            memcpy((uint8_t *)at(w, slot->at) + (size_t)i * slot->stride, values + i,
                   slot->bytes < 8 ? slot->bytes : 8);
}

/* A string of the device's memory, cut at `room`; false where the thread may not read it. */
static bool fetch_string(struct warp *w, unsigned lane, uint64_t address, char *to, size_t room)
{
    for (size_t i = 0; i + 1 < room; i++) {
        if (!peek(w, lane, address + i, to + i, 1))
            return false;
        if (!to[i])
            return true;
    }
    to[room - 1] = 0;
    return true;
}

static void out_add(struct launch *l, const char *text, size_t length)
{
    struct text_pool *out = &l->out;
    if (!length)
        return;
    if (out->used + length > out->room) {
        size_t room = (out->used + length) * 2 + 1024;
        char *grown = realloc(out->text, room);
        if (!grown)
            return;
        out->text = grown;
        out->room = room;
    }
    memcpy(out->text + out->used, text, length);
    out->used += length;
}

void out_flush(struct launch *l)
{
    if (!l->out.used)
        return;
    fwrite(l->out.text, 1, l->out.used, stdout);
    fflush(stdout);
    l->out.used = 0;
}

/* One thread's arguments: each at its natural alignment, as the caller laid them out. */
struct reader {
    struct warp *w;
    unsigned lane;
    uint64_t at;
    bool fine;
    unsigned count;
};

static uint64_t next_argument(struct reader *r, size_t bytes)
{
    uint64_t value = 0;
    r->at = (r->at + bytes - 1) / bytes * bytes;
    r->fine &= peek(r->w, r->lane, r->at, &value, bytes);
    r->at += bytes;
    r->count++;
    return value;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
/* Prints one conversion with the host's printf; `spec` is a checked %...c without length words. */
static void print_one(struct reader *r, const char *flags, char conversion, bool wide)
{
    char spec[SPEC_MAX + 8], text[TEXT_MAX], string[TEXT_MAX];
    int n = 0;
    uint64_t bits;
    double number;
    if (strchr("diouxXc", conversion)) {
        const char *length = conversion == 'c' ? "" : "ll";
        bits = next_argument(r, wide ? 8 : 4);
        if (!wide && strchr("di", conversion))
            bits = (uint64_t)(int64_t)(int32_t)bits;
        snprintf(spec, sizeof spec, "%s%s%c", flags, length, conversion);
        n = conversion == 'c' ? snprintf(text, sizeof text, spec, (int)bits)
                              : snprintf(text, sizeof text, spec, (unsigned long long)bits);
    } else if (strchr("eEfFgGaA", conversion)) {
        bits = next_argument(r, 8);
        memcpy(&number, &bits, 8);
        snprintf(spec, sizeof spec, "%s%c", flags, conversion);
        n = snprintf(text, sizeof text, spec, number);
    } else if (conversion == 's') {
        bits = next_argument(r, 8);
        if (!bits)
            strcpy(string, "(null)");
        else
            r->fine &= fetch_string(r->w, r->lane, bits, string, sizeof string);
        snprintf(spec, sizeof spec, "%ss", flags);
        n = r->fine ? snprintf(text, sizeof text, spec, string) : 0;
    } else {
        snprintf(spec, sizeof spec, "%s#llx", flags);
        n = snprintf(text, sizeof text, spec, (unsigned long long)next_argument(r, 8));
    }
    if (n > 0 && r->fine)
        out_add(r->w->launch, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}
#pragma GCC diagnostic pop

/* Reads flags, width and precision at *p into `flags` ("%-8.3"), then length words. */
static bool read_spec(struct reader *r, const char **p, char flags[SPEC_MAX], bool *wide)
{
    size_t n = 0;
    flags[n++] = '%';
    for (; **p && strchr("-+ #0123456789.*", **p); (*p)++) {
        if (n + 12 > SPEC_MAX)
            return false;
        if (**p == '*')
            n += (size_t)snprintf(flags + n, SPEC_MAX - n, "%d", (int)next_argument(r, 4));
        else
            flags[n++] = **p;
    }
    flags[n] = 0;
    *wide = false;
    for (; **p && strchr("hlLqjzt", **p); (*p)++)
        *wide |= **p != 'h';
    return **p != 0;
}

static void print_format(struct reader *r, const char *format)
{
    for (const char *p = format; *p && r->fine;) {
        size_t plain = strcspn(p, "%");
        out_add(r->w->launch, p, plain);
        p += plain;
        if (!*p)
            return;
        if (p[1] == '%') {
            out_add(r->w->launch, "%", 1);
            p += 2;
            continue;
        }
        char flags[SPEC_MAX];
        bool wide;
        const char *start = p++;
        if (!read_spec(r, &p, flags, &wide) || !strchr("diouxXceEfFgGaAsp", *p)) {
            out_add(r->w->launch, start, strlen(start)); /* as it stands */
            return;
        }
        print_one(r, flags, *p++, wide);
    }
}

/* int vprintf(const char *format, void *arguments) */
static enum step op_vprintf(struct warp *w, const struct op *op)
{
    const struct call_site *site = op->more;
    uint64_t counts[LANES] = {0};
    char format[TEXT_MAX];
    if (site->args != 2)
        return op_unresolved(w, op);
    for (uint32_t rest = w->active; rest; rest &= rest - 1) {
        unsigned i = first_lane(rest);
        uint64_t address = argument(w, site, 0, i);
        struct reader r = {w, i, argument(w, site, 1, i), true, 0};
        if (!fetch_string(w, i, address, format, sizeof format))
            return fault_at(w, 1u << i, EXEC_ILLEGAL_ADDRESS, address, "the format of a printf");
        print_format(&r, format);
        if (!r.fine)
            return fault_at(w, 1u << i, EXEC_ILLEGAL_ADDRESS, r.at, "an argument of a printf");
        counts[i] = r.count;
    }
    give(w, site, counts);
    return STEP_NEXT;
}

/* void __assertfail(const char *message, const char *file, unsigned line, const char *function,
 * size_t char_size): every thread that fails prints so, then the launch ends. */
static enum step op_assertfail(struct warp *w, const struct op *op)
{
    const struct call_site *site = op->more;
    char text[3][512];
    static const unsigned names[] = {0, 1, 3};
    for (uint32_t rest = w->active; rest && site->args >= 4; rest &= rest - 1) {
        unsigned i = first_lane(rest);
        for (unsigned k = 0; k < 3; k++)
            if (!fetch_string(w, i, argument(w, site, names[k], i), text[k], sizeof text[k]))
                strcpy(text[k], "?");
        const unsigned *block = w->block->index;
        fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
                text[1], (unsigned)argument(w, site, 2, i), text[2], block[0], block[1], block[2],
                w->tid[0][i], w->tid[1][i], w->tid[2][i], text[0]);
    }
    return fault_at(w, w->active, EXEC_ASSERT, 0, site->args >= 4 ? text[0] : NULL);
}

static enum step op_malloc(struct warp *w, const struct op *op)
{
    const struct call_site *site = op->more;
    uint64_t places[LANES] = {0};
    for (uint32_t rest = w->active; rest; rest &= rest - 1) {
        unsigned i = first_lane(rest);
        places[i] = heap_take(argument(w, site, 0, i));
    }
    give(w, site, places);
    return STEP_NEXT;
}

static enum step op_free(struct warp *w, const struct op *op)
{
    const struct call_site *site = op->more;
    for (uint32_t rest = w->active; rest; rest &= rest - 1) {
        uint64_t address = argument(w, site, 0, first_lane(rest));
        if (address && !heap_give(address))
            return fault_at(w, rest, EXEC_ILLEGAL_ADDRESS, address,
                            "free() of what malloc() did not give");
    }
    return STEP_NEXT;
}

void (*exec_set_condition)(uint64_t handle, unsigned value);

static enum step op_set_condition(struct warp *w, const struct op *op)
{
    const struct call_site *site = op->more;
    for (uint32_t rest = w->active; rest && exec_set_condition; rest &= rest - 1) {
        unsigned lane = first_lane(rest);
        exec_set_condition(argument(w, site, 0, lane), (unsigned)argument(w, site, 1, lane));
    }
    return STEP_NEXT;
}

op_fn *find_builtin(const char *name)
{
    static const struct {
        const char *name;
        op_fn *fn;
    } builtins[] = {
        {"vprintf", op_vprintf},
        {"__assertfail", op_assertfail},
        {"malloc", op_malloc},
        {"free", op_free},
        {"cudaGraphSetConditional", op_set_condition},
    };
    for (unsigned i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(builtins[i].name, name) == 0)
            return builtins[i].fn;
    return NULL;
}
