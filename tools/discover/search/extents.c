#include "tools/discover/search/extents.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "lang/dtype.h"
#include "tools/discover/search/words.h"

struct finding {
    struct extents *out;
    const struct facts *facts;
};

/* Its values; false: it has none in some launch. */
static bool find_values(const struct finding *f, const struct extent *extent, int64_t *value)
{
    const struct seen_kernel *kernel = f->facts->kernel;
    for (unsigned i = 0; i < kernel->samples; i++) {
        value[i] = extent_value(extent, f->facts, kernel->sample[i]);
        if (value[i] < 1)
            return false;
    }
    return kernel->samples > 0;
}

/* One that is equal to another in every launch is left out, but for parameters. */
static void add(struct finding *f, struct extent extent)
{
    struct extents *out = f->out;
    bool parameter = !extent.operation && extent.part[0].atom == ATOM_FACT;
    int64_t value[SEEN_SAMPLES] = {0};
    if (out->count == EXTENTS || !find_values(f, &extent, value))
        return;
    for (unsigned i = 0; i < out->count && !parameter; i++) {
        if (memcmp(out->value[i], value, sizeof value) == 0)
            return;
    }
    memcpy(out->value[out->count], value, sizeof value);
    out->extent[out->count++] = extent;
}

static void add_one(struct finding *f, enum extent_atom atom, int64_t number)
{
    add(f, (struct extent){.part = {{atom, number}}});
}

static void add_pairs(struct finding *f, unsigned atoms, char operation)
{
    for (unsigned i = 0; i < atoms; i++) {
        for (unsigned j = operation == '*' ? i : 0; j < atoms; j++) {
            const struct extent *a = &f->out->extent[i], *b = &f->out->extent[j];
            if (i != j || operation == '*')
                add(f, (struct extent){{a->part[0], b->part[0]}, operation});
        }
    }
}

/* Counts of vectors, as elements: of each width that the code has. */
static void add_vectors(struct finding *f, unsigned atoms)
{
    enum { WIDEST = 16 };
    for (unsigned lanes = 2; lanes <= WIDEST; lanes *= 2) {
        bool some = false;
        for (unsigned p = 0; p < f->facts->count; p++)
            some |= f->facts->fact[p].lanes == lanes;
        for (unsigned i = 0; i < atoms && some; i++) {
            const struct extent_part part = f->out->extent[i].part[0];
            const struct extent_part number = {ATOM_NUMBER, lanes};
            if (part.atom == ATOM_FACT)
                add(f, (struct extent){{part, number}, '*'});
        }
    }
}

/* What a template or a compiler put into the name: 64 of f<64>. */
static void add_numbers(struct finding *f)
{
    const char *name = f->facts->kernel->names.plain;
    for (const char *c = name; *c; c++) {
        if (!isdigit((unsigned char)*c) ||
            (c > name && (isalnum((unsigned char)c[-1]) || c[-1] == '_')))
            continue;
        char *end;
        long number = strtol(c, &end, 10);
        if (number > 1 && number < 1 << 20)
            add_one(f, ATOM_NUMBER, number);
        c = end - 1;
    }
}

/* Elements of an array that is added to, where all launches have an allocation of that size: bins
 * that got nothing are not written. */
static void add_allocated(struct finding *f)
{
    const struct seen_kernel *kernel = f->facts->kernel;
    for (unsigned p = 0; p < f->facts->count; p++) {
        const struct fact *fact = &f->facts->fact[p];
        bool same = fact->kind == FACT_ARRAY && fact->dtype != DTYPE_NONE && fact->adds;
        for (unsigned i = 0; i < kernel->samples && same; i++)
            same = fact->space[i] == fact->space[0];
        if (same && fact->space[0])
            add_one(f, ATOM_NUMBER, (int64_t)(fact->space[0] / dtype_bytes(fact->dtype)));
    }
}

/* How many elements an output got, and a block's part of them: constants of a compiled kernel. */
static void add_written(struct finding *f)
{
    const struct seen_kernel *kernel = f->facts->kernel;
    for (unsigned p = 0; p < f->facts->count; p++) {
        const struct fact *fact = &f->facts->fact[p];
        if (fact->kind != FACT_ARRAY || fact->dtype == DTYPE_NONE || !fact->writes)
            continue;
        for (unsigned i = 0; i < kernel->samples; i++) {
            const struct seen_sample *sample = kernel->sample[i];
            uint64_t size = dtype_bytes(fact->dtype);
            int64_t count = (int64_t)((fact->changed[i] + size - 1) / size);
            if (count < 1)
                continue;
            add_one(f, ATOM_NUMBER, count);
            if (sample->grid[0] > 1 && count % sample->grid[0] == 0)
                add_one(f, ATOM_NUMBER, count / sample->grid[0]);
            break;
        }
    }
}

void extents_find(struct extents *out, const struct facts *facts)
{
    struct finding f = {out, facts};
    out->count = 0;
    for (int distances = 0; distances < 2; distances++) {
        for (unsigned i = 0; i < facts->count; i++) {
            const struct fact *fact = &facts->fact[i];
            if (fact->kind == FACT_INTEGER && words_distance(fact->name) == distances)
                add_one(&f, ATOM_FACT, i);
        }
    }
    add_one(&f, ATOM_NUMBER, 1); /* before a grid that is 1 in each launch */
    add_one(&f, ATOM_GRID, 0);
    for (int i = 1; i < 3; i++)
        add_one(&f, ATOM_GRID, i);
    unsigned atoms = out->count;
    add_numbers(&f);
    add_vectors(&f, atoms);
    add_pairs(&f, atoms, '*');
    add_pairs(&f, atoms, '/');
    add_allocated(&f);
    add_written(&f);
    add_one(&f, ATOM_BLOCK, 0);
}
