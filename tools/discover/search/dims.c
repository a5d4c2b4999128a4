/*
 * dims.c - which extent for which dim, and which integer for the distance from row to row.
 *
 * Dims are chosen one by one; as soon as all of an array are known it is held against every launch.
 */
#include <string.h>
#include "base/clock.h"
#include "lang/dtype.h"
#include "tools/discover/search/orders.h"
#include "tools/discover/search/search.h"

enum {
    ALL_STEPS = 400000, /* of the search for dims of one reference ... */
    MOST_STEPS = 40000, /* ... and of one assignment */
    MOST_IDLE = 6,
    STEPS_PER_TIME = 1024, /* between two readings of the clock */
};

/* Whether another array names its rows: they have no number. */
static bool is_touched(const struct search *s, const struct formal *formal)
{
    return formal->ndim && entry_touch(&s->formals, formal->dim[0].size);
}

/* Elements of the formal's array in a launch by the entry; -1: its dims are not all there. */
static int64_t elements_of(const struct search *s, const struct formal *formal, int known,
                           unsigned launch)
{
    int64_t product = 1;
    for (int d = 0; d < formal->ndim; d++) {
        int size = formal->dim[d].size;
        if (size >= known || is_touched(s, formal))
            return -1;
        int64_t value =
            size < 0 ? formal->dim[d].literal : s->extents->value[s->chosen[size]][launch];
        if (__builtin_mul_overflow(product, value, &product))
            return 0;
    }
    return product;
}

/* Whether that many are `least`, or a few more. */
static bool is_about(int64_t elements, int64_t least)
{
    return elements >= least && elements <= least + least / 16 + 8;
}

/* An output has as many elements as are written, or more where it is added to. Where only changes
 * are known a few more may have come out the same. */
static bool fits_output(const struct fact *fact, unsigned launch, int64_t elements)
{
    int64_t written = facts_written_to(fact, launch);
    uint64_t bytes = fact->changed[launch], size = dtype_bytes(fact->dtype);
    if (fact->adds && elements > (written >= 0 ? written : 0))
        return elements * (int64_t)size >= (int64_t)bytes;
    if (written >= 0)
        return elements == written;
    return !bytes || is_about(elements, (int64_t)((bytes + size - 1) / size));
}

/* An input has all elements that are read, and in the first pass few more. */
static bool fits_input(const struct search *s, const struct fact *fact, unsigned launch,
                       int64_t elements)
{
    int64_t read = facts_read_to(fact, launch);
    return read < 0 || (s->second ? elements >= read : is_about(elements, read));
}

static bool fits(const struct search *s, const struct formal *formal, const struct fact *fact,
                 unsigned launch, int64_t elements)
{
    return formal->kind == FORMAL_IN ? fits_input(s, fact, launch, elements)
                                     : fits_output(fact, launch, elements);
}

/* Elements from the first to the last where rows lie `pitch` apart; of two dims that are known. */
static int64_t span_of(const struct search *s, const struct formal *formal, unsigned fact,
                       unsigned launch)
{
    int64_t dim[2], span;
    const struct facts *facts = s->entry.facts;
    int64_t pitch = facts_integer(&facts->fact[fact], facts->kernel->sample[launch]);
    for (int d = 0; d < 2; d++) {
        int size = formal->dim[d].size;
        dim[d] = size < 0 ? formal->dim[d].literal : s->extents->value[s->chosen[size]][launch];
    }
    if (pitch < dim[1] || __builtin_mul_overflow(dim[0] - 1, pitch, &span))
        return -1;
    return span + dim[1];
}

/* Whether rows of the formal's array may lie that parameter apart, in every launch. */
static bool pitch_fits(const struct search *s, const struct formal *formal, const struct fact *fact,
                       unsigned pitch)
{
    const struct facts *facts = s->entry.facts;
    for (unsigned i = 0; i < facts->kernel->samples; i++) {
        int64_t span = span_of(s, formal, pitch, i);
        if (span < 1 ||
            (fact->space[i] && (uint64_t)span > fact->space[i] / dtype_bytes(fact->dtype)))
            return false;
        if (!fits(s, formal, fact, i, span))
            return false;
    }
    return true;
}

/* Whether some integer may be the distance between the rows of an array that is not dense. */
static bool any_pitch_fits(const struct search *s, const struct formal *formal,
                           const struct fact *fact)
{
    const struct facts *facts = s->entry.facts;
    for (unsigned f = 0; f < facts->count && formal->ndim == 2; f++) {
        if (facts->fact[f].kind == FACT_INTEGER && pitch_fits(s, formal, fact, f))
            return true;
    }
    return false;
}

/* Whether the dims that are known may be some of the array's: all others are at least 1, and of an
 * output whose rows cannot lie apart the product is what is written. */
static bool part_fits(const struct search *s, const struct formal *formal, const struct fact *fact,
                      int known, unsigned launch)
{
    int64_t product = 1, written = facts_written_to(fact, launch);
    bool exact = formal->kind != FORMAL_IN && formal->ndim > 2 && written > 0 && !fact->adds;
    for (int d = 0; d < formal->ndim; d++) {
        int size = formal->dim[d].size;
        int64_t value = size < 0        ? formal->dim[d].literal
                        : size >= known ? 1
                        : entry_touch(&s->formals, size)
                            ? 1
                            : s->extents->value[s->chosen[size]][launch];
        if (__builtin_mul_overflow(product, value, &product))
            return false;
    }
    return (uint64_t)product <= fact->space[launch] / dtype_bytes(fact->dtype) &&
           (!exact || (product > 0 && written % product == 0));
}

static bool array_fits(const struct search *s, const struct formal *formal, const struct fact *fact,
                       int known)
{
    for (unsigned i = 0; i < s->entry.facts->kernel->samples; i++) {
        int64_t elements = elements_of(s, formal, known, i);
        if (!fact->space[i])
            continue;
        if (elements < 0 && !part_fits(s, formal, fact, known, i))
            return false;
        if (elements < 0)
            continue;
        if (!elements || (uint64_t)elements > fact->space[i] / dtype_bytes(fact->dtype))
            return false;
        if (!fits(s, formal, fact, i, elements))
            return any_pitch_fits(s, formal, fact);
    }
    return true;
}

/* Whether the arrays whose dims are known, sizes below `known`, lie in their allocations. */
static bool sizes_fit(const struct search *s, int known)
{
    for (int i = 0; i < s->formals.count; i++) {
        const struct formal *formal = &s->formals.formal[i];
        if (s->entry.bound[i] >= 0 && formal_is_array(formal) &&
            !array_fits(s, formal, &s->entry.facts->fact[s->entry.bound[i]], known))
            return false;
    }
    return true;
}

/* The first pass leaves out entries with oddities; the second those of the first. */
static void visit(struct search *s)
{
    bool odd = entry_oddities(&s->entry) > 0;
    if (s->stop || (odd && !s->second) || (!odd && s->second && s->plain++ < FIRST_PASS))
        return;
    s->visited++;
    s->stop = !s->visit(s->user, &s->entry, s->hint);
}

/* ---- distances from row to row ---- */

/* Arrays of two dims, in the order of the parameters, and integers that nothing uses. */
struct pitched {
    int16_t formal[FORMALS_MAX];
    unsigned formals;
    unsigned idle[MOST_IDLE];
    unsigned idles;
};

static void find_pitched(const struct search *s, struct pitched *out)
{
    const struct facts *facts = s->entry.facts;
    *out = (struct pitched){0};
    for (unsigned f = 0; f < facts->count; f++) {
        if (out->idles < MOST_IDLE && entry_is_idle(&s->entry, f))
            out->idle[out->idles++] = f;
        for (int i = 0; i < s->formals.count; i++) {
            const struct formal *formal = &s->formals.formal[i];
            if (s->entry.bound[i] == (int)f && formal_is_array(formal) && formal->ndim == 2 &&
                !is_touched(s, formal))
                out->formal[out->formals++] = (int16_t)i;
        }
    }
}

/* How the rows of an array are laid that is given a parameter as the distance between them. */
enum rows { ROWS_NEITHER, ROWS_DENSE, ROWS_PITCHED };

static enum rows set_pitch(struct search *s, const struct pitched *p, unsigned at, int pitch)
{
    int number = p->formal[at];
    const struct formal *formal = &s->formals.formal[number];
    const struct fact *fact = &s->entry.facts->fact[s->entry.bound[number]];
    s->entry.pitch[number] = ENTRY_UNBOUND;
    if (pitch >= 0 && pitch_fits(s, formal, fact, (unsigned)pitch)) {
        s->entry.pitch[number] = (int16_t)pitch;
        return ROWS_PITCHED;
    }
    for (unsigned i = 0; i < s->entry.facts->kernel->samples; i++) {
        int64_t elements = elements_of(s, formal, s->formals.sizes, i);
        if (fact->space[i] && elements >= 0 && !fits(s, formal, fact, i, elements))
            return ROWS_NEITHER;
    }
    return ROWS_DENSE;
}

/* The dims are known: entries with one integer for each array in their order, with one for all
 * arrays where it may be, and with dense rows. */
static void emit(struct search *s)
{
    struct pitched p;
    find_pitched(s, &p);
    for (unsigned off = 0; p.formals && off + p.formals <= p.idles; off++) {
        bool fits = true;
        for (unsigned i = 0; i < p.formals && fits; i++)
            fits = set_pitch(s, &p, i, (int)p.idle[off + i]) == ROWS_PITCHED;
        if (fits)
            visit(s);
    }
    for (unsigned one = 0; p.formals > 1 && one < p.idles; one++) {
        unsigned pitched = 0;
        bool fits = true;
        for (unsigned i = 0; i < p.formals && fits; i++) {
            enum rows rows = set_pitch(s, &p, i, (int)p.idle[one]);
            fits = rows != ROWS_NEITHER;
            pitched += rows == ROWS_PITCHED;
        }
        if (fits && pitched)
            visit(s);
    }
    bool dense = true;
    for (unsigned i = 0; i < p.formals && dense; i++)
        dense = set_pitch(s, &p, i, -1) == ROWS_DENSE;
    if (dense && !entry_copies(s->entry.reference->name)) /* in their own order it is a cast */
        visit(s);
    if (dense)
        orders_each(s, visit);
    for (int i = 0; i < FORMALS_MAX; i++)
        s->entry.pitch[i] = ENTRY_UNBOUND;
}

/* ---- dims ---- */

/* Whether some dim has an extent of its name, and all that have one are given it. */
static bool is_named(const struct search *s, bool given)
{
    bool some = false;
    for (int i = 0; i < s->formals.sizes; i++) {
        if (!s->entry.sized[i] || s->named[i] < 0)
            continue;
        some = true;
        if (given && s->chosen[i] != (unsigned)s->named[i])
            return false;
    }
    return some;
}

/* Dims in their order; only those that an array has. */
static void size_next(struct search *s, int size)
{
    while (size < s->formals.sizes && !s->entry.sized[size])
        size++;
    if (size == s->formals.sizes) {
        if (s->by_name || !is_named(s, true)) /* else it was visited by name */
            emit(s);
        return;
    }
    for (unsigned e = 0; e < s->extents->count && !s->stop; e++) {
        if (s->by_name && s->named[size] >= 0 && e != (unsigned)s->named[size])
            continue;
        if (search_is_over(s) || ++s->steps > MOST_STEPS || ++s->all_steps > ALL_STEPS)
            return;
        if (s->all_steps % STEPS_PER_TIME == 0 && clock_ns() > s->until)
            s->stop = true;
        s->chosen[size] = e;
        s->entry.size[size] = s->extents->extent[e];
        if (sizes_fit(s, size + 1))
            size_next(s, size + 1);
    }
}

void dims_find(struct search *s)
{
    memset(s->entry.sized, 0, sizeof s->entry.sized);
    for (int i = 0; i < s->formals.count; i++) {
        const struct formal *formal = &s->formals.formal[i];
        for (int d = 0; s->entry.bound[i] >= 0 && formal_is_array(formal) && d < formal->ndim;
             d++) {
            if (formal->dim[d].size >= 0 && !entry_touch(&s->formals, formal->dim[d].size))
                s->entry.sized[formal->dim[d].size] = true;
        }
    }
    for (int by_name = is_named(s, false); by_name >= 0; by_name--) {
        s->by_name = by_name;
        s->steps = 0;
        size_next(s, 0);
    }
}
