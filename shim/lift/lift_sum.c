/*
 * lift_sum.c - sums of products of names, each times a constant: how bounds of addresses are kept,
 * so that equal ones are seen to be equal and of several one can stand for all.
 *
 * A name is a text of the registry's language whose value is not negative: a parameter, "grid.x", a
 * quotient. A sum with no text of its own is NULL: it is unknown, or has too many terms.
 */
#include <stdlib.h>
#include <string.h>
#include "lift/lift_parts.h"

static struct lift_sum *make_sum(struct lift *lift)
{
    return arena_alloc(&lift->arena, sizeof(struct lift_sum));
}

const struct lift_sum *lift_sum_number(struct lift *lift, int64_t value)
{
    struct lift_sum *sum = make_sum(lift);
    if (sum)
        sum->constant = value;
    return sum;
}

const struct lift_sum *lift_sum_name(struct lift *lift, const char *name)
{
    struct lift_sum *sum = name ? make_sum(lift) : NULL;
    if (sum) {
        sum->count = 1;
        sum->term[0] = (struct lift_term){{name}, 1, 1};
    }
    return sum;
}

bool lift_sum_is_number(const struct lift_sum *sum, int64_t *out)
{
    if (!sum || sum->count)
        return false;
    *out = sum->constant;
    return true;
}

static bool same_names(const struct lift_term *a, const struct lift_term *b)
{
    for (unsigned i = 0; i < a->names && a->names == b->names; i++) {
        if (strcmp(a->name[i], b->name[i]) != 0)
            return false;
    }
    return a->names == b->names;
}

static int64_t times_of(const struct lift_sum *sum, const struct lift_term *names)
{
    for (unsigned i = 0; i < sum->count; i++) {
        if (same_names(&sum->term[i], names))
            return sum->term[i].times;
    }
    return 0;
}

/* Adds a product of names to the sum. */
static bool put_term(struct lift_sum *sum, const struct lift_term *term)
{
    unsigned i = 0;
    while (i < sum->count && !same_names(&sum->term[i], term))
        i++;
    if (i == LIFT_TERMS)
        return false;
    if (i == sum->count) {
        sum->term[sum->count++] = *term;
        sum->term[i].times = 0;
    }
    if (__builtin_add_overflow(sum->term[i].times, term->times, &sum->term[i].times))
        return false;
    if (!sum->term[i].times)
        sum->term[i] = sum->term[--sum->count];
    return true;
}

const struct lift_sum *lift_sum_add(struct lift *lift, const struct lift_sum *a,
                                    const struct lift_sum *b)
{
    struct lift_sum *sum = a && b ? make_sum(lift) : NULL;
    if (!sum)
        return NULL;
    *sum = *a;
    bool sound = !__builtin_add_overflow(a->constant, b->constant, &sum->constant);
    for (unsigned i = 0; i < b->count; i++)
        sound = sound && put_term(sum, &b->term[i]);
    return sound ? sum : NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The product of two terms; false: it has too many names. */
static bool multiply_terms(const struct lift_term *a, const struct lift_term *b,
                           struct lift_term *out)
{
    if (a->names + b->names > LIFT_NAMES)
        return false;
    *out = *a;
    out->names += b->names;
    memcpy(&out->name[a->names], b->name, b->names * sizeof b->name[0]);
    qsort(out->name, out->names, sizeof out->name[0], by_text);
    return !__builtin_mul_overflow(a->times, b->times, &out->times);
}

static bool put_products(struct lift_sum *sum, const struct lift_term *a, const struct lift_sum *b)
{
    struct lift_term product, number = {.times = b->constant};
    for (unsigned i = 0; i < b->count; i++) {
        if (!multiply_terms(a, &b->term[i], &product) || !put_term(sum, &product))
            return false;
    }
    return !b->constant || (multiply_terms(a, &number, &product) && put_term(sum, &product));
}

const struct lift_sum *lift_sum_multiply(struct lift *lift, const struct lift_sum *a,
                                         const struct lift_sum *b)
{
    struct lift_sum *sum = a && b ? make_sum(lift) : NULL;
    if (!sum)
        return NULL;
    bool sound = !__builtin_mul_overflow(a->constant, b->constant, &sum->constant);
    const struct lift_term number = {.times = a->constant};
    struct lift_sum names = *b;
    names.constant = 0;
    if (a->constant)
        sound = sound && put_products(sum, &number, &names);
    for (unsigned i = 0; i < a->count; i++)
        sound = sound && put_products(sum, &a->term[i], b);
    return sound ? sum : NULL;
}

bool lift_sum_at_most(const struct lift_sum *a, const struct lift_sum *b)
{
    for (unsigned i = 0; i < a->count; i++) {
        if (a->term[i].times > times_of(b, &a->term[i]))
            return false;
    }
    for (unsigned i = 0; i < b->count; i++) {
        if (b->term[i].times < times_of(a, &b->term[i]))
            return false;
    }
    return a->constant <= b->constant;
}

const struct lift_sum *lift_sum_cover(struct lift *lift, const struct lift_sum *a,
                                      const struct lift_sum *b)
{
    struct lift_sum *sum = a && b ? make_sum(lift) : NULL;
    if (!sum)
        return NULL;
    sum->constant = a->constant > b->constant ? a->constant : b->constant;
    const struct lift_sum *from[] = {a, b};
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < from[k]->count; i++) {
            struct lift_term term = from[k]->term[i];
            const int64_t other = times_of(from[!k], &term);
            term.times = term.times > other ? term.times : other;
            if (times_of(sum, &term) == 0 && term.times > 0 && !put_term(sum, &term))
                return NULL;
        }
    }
    return sum;
}

/* The term without a name that it has once; false: it has the name otherwise, as in a quotient. */
static bool take_name(struct lift_term *term, const char *name, bool *found)
{
    unsigned left = 0;
    *found = false;
    for (unsigned i = 0; i < term->names; i++) {
        const bool same = strcmp(term->name[i], name) == 0;
        if (same ? *found : strstr(term->name[i], name) != NULL)
            return false;
        *found |= same;
        if (!same)
            term->name[left++] = term->name[i];
    }
    term->names = left;
    return true;
}

bool lift_sum_split(struct lift *lift, const struct lift_sum *sum, const char *name,
                    const struct lift_sum **factor, const struct lift_sum **rest)
{
    struct lift_sum *of = make_sum(lift), *other = make_sum(lift);
    if (!sum || !of || !other)
        return false;
    other->constant = sum->constant;
    for (unsigned i = 0; i < sum->count; i++) {
        struct lift_term term = sum->term[i];
        bool found, fits = take_name(&term, name, &found);
        if (fits && found && !term.names)
            of->constant += term.times;
        else if (!fits || !put_term(found ? of : other, &term))
            return false;
    }
    *factor = of;
    *rest = other;
    return of->count || of->constant;
}

static void put_term_names(struct textbuf *out, const struct lift_term *term, int64_t times)
{
    for (unsigned i = 0; i < term->names; i++)
        textbuf_printf(out, "%s%s", i ? " * " : "", term->name[i]);
    if (times != 1)
        textbuf_printf(out, " * %lld", (long long)times);
}

const char *lift_sum_text(struct lift *lift, const struct lift_sum *sum)
{
    struct textbuf out;
    if (!sum)
        return NULL;
    textbuf_init(&out);
    bool any = false;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (unsigned i = 0; i < sum->count; i++) {
            const int64_t times = sum->term[i].times * sign;
            if (times < 0)
                continue;
            textbuf_printf(&out, "%s", sign < 0 ? any ? " - " : "0 - " : any ? " + " : "");
            put_term_names(&out, &sum->term[i], times);
            any = true;
        }
    }
    const long long constant = (long long)sum->constant;
    if (!any)
        textbuf_printf(&out, constant < 0 ? "0 - %lld" : "%lld",
                       constant < 0 ? -constant : constant);
    else if (constant)
        textbuf_printf(&out, constant < 0 ? " - %lld" : " + %lld",
                       constant < 0 ? -constant : constant);
    const char *text = out.failed || out.length > LIFT_SUM_LONG
                           ? NULL
                           : arena_text(&lift->arena, out.data, out.length);
    textbuf_release(&out);
    return text;
}
