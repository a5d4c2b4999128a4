#include "tools/discover/search/sizes.h"

#include "lang/dtype.h"

/* Elements from the pointer to the last one that a launch uses; -1: not known. */
static int64_t used(const struct fact *fact, unsigned launch)
{
    const struct probed *probed = &fact->probed[launch];
    int64_t read = facts_read_to(fact, launch), written = facts_written_to(fact, launch);
    if (!probed->known || (probed->reads && read < 0))
        return -1;
    return read > written ? read : written;
}

/* The last elements may make no difference: those of the allocation, where that is a little more.
 */
static bool reaches(const struct fact *fact, unsigned launch, int64_t elements)
{
    int64_t most = used(fact, launch);
    unsigned size = dtype_bytes(fact->dtype);
    int64_t room = size ? (int64_t)(fact->probed[launch].bytes / size) : most;
    bool read = !fact->probed[launch].writes && most >= room - room / 16 - 8;
    return elements == most || (read && elements == room);
}

static int64_t elements_of(const struct sizes *sizes, const struct facts *facts, unsigned launch)
{
    int64_t value[3] = {1, 1, 1}, elements;
    for (unsigned i = 0; i < sizes->factors; i++) {
        value[i] = extent_value(&sizes->factor[i], facts, facts->kernel->sample[launch]);
        if (value[i] < 1)
            return -1;
    }
    if (sizes->form == SIZES_FLAT)
        return __builtin_mul_overflow(value[0] * value[1], value[2], &elements) ? -1 : elements;
    bool apart = value[0] > 1 && value[1] > value[2];
    if (!apart || __builtin_mul_overflow(value[0] - 1, value[1], &elements))
        return -1;
    return elements + value[2];
}

/* Whether they make the elements of each launch that was run again and used the array. */
static bool goes(const struct sizes *sizes, const struct facts *facts, unsigned fact)
{
    unsigned launches = 0;
    for (unsigned i = 0; i < facts->kernel->samples; i++) {
        int64_t elements = used(&facts->fact[fact], i);
        if (elements < 1)
            continue;
        if (!reaches(&facts->fact[fact], i, elements_of(sizes, facts, i)))
            return false;
        launches++;
    }
    return launches > 0;
}

static bool is_parameter(const struct extent *extent)
{
    return !extent->operation && extent->part[0].atom == ATOM_FACT;
}

static bool find_one(const struct facts *facts, const struct extents *extents, unsigned fact,
                     struct sizes *out)
{
    for (unsigned i = 0; i < extents->count; i++) {
        *out = (struct sizes){SIZES_FLAT, 1, {extents->extent[i]}};
        if (goes(out, facts, fact))
            return true;
    }
    return false;
}

/* A half of a parameter, or four times one. */
static bool find_part(const struct facts *facts, const struct extents *extents, unsigned fact,
                      struct sizes *out)
{
    static const int64_t numbers[] = {2, 4, 8, 3};
    for (unsigned i = 0; i < extents->count; i++) {
        for (unsigned n = 0; n < 8; n++) {
            const struct extent *extent = &extents->extent[i];
            const struct extent_part number = {ATOM_NUMBER, numbers[n / 2]};
            *out = (struct sizes){SIZES_FLAT, 1, {{{extent->part[0], number}, n % 2 ? '*' : '/'}}};
            if (is_parameter(extent) && goes(out, facts, fact))
                return true;
        }
    }
    return false;
}

/* Three extents, of which those at `parameters` and behind it are parameters. */
static bool find_three(const struct facts *facts, const struct extents *extents, unsigned fact,
                       enum sizes_form form, struct sizes *out)
{
    unsigned count = extents->count;
    for (unsigned all = 0; all < count * count * count; all++) {
        const struct extent *a = &extents->extent[all / count / count];
        const struct extent *b = &extents->extent[all / count % count];
        const struct extent *c = &extents->extent[all % count];
        if (a->operation || a->part[0].atom == ATOM_NUMBER || !is_parameter(b) || !is_parameter(c))
            continue;
        *out = (struct sizes){form, 3, {*a, *b, *c}};
        if (goes(out, facts, fact))
            return true;
    }
    return false;
}

/* One number, where launches of several shapes have it. */
static bool find_number(const struct facts *facts, unsigned fact, struct sizes *out)
{
    int64_t number = -1;
    unsigned launches = 0;
    for (unsigned i = 0; i < facts->kernel->samples; i++) {
        int64_t elements = used(&facts->fact[fact], i);
        number = elements > 0 ? elements : number;
        launches += elements > 0;
    }
    *out = (struct sizes){SIZES_FLAT, 1, {{.part = {{ATOM_NUMBER, number}}}}};
    return launches > 1 && goes(out, facts, fact);
}

bool sizes_find(const struct facts *facts, const struct extents *extents, unsigned fact,
                struct sizes *out)
{
    return find_one(facts, extents, fact, out) || find_part(facts, extents, fact, out) ||
           find_three(facts, extents, fact, SIZES_FLAT, out) ||
           find_three(facts, extents, fact, SIZES_PITCHED, out) || find_number(facts, fact, out);
}
