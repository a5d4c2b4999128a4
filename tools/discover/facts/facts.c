#include "tools/discover/facts/facts.h"

#include <math.h>
#include <string.h>
#include "lang/dtype.h"
#include "names/param_types.h"
#include "tools/discover/facts/numba.h"
#include "tools/discover/facts/ptx_facts.h"

/* ---- values ---- */

static bool has_bits(const struct fact *fact)
{
    return fact->size > 0 && fact->size <= 8;
}

static uint64_t bits_of(const struct fact *fact, const struct seen_sample *sample)
{
    uint64_t bits = 0;
    if (has_bits(fact) && fact->offset + fact->size <= sample->params_bytes)
        memcpy(&bits, sample->params + fact->offset, fact->size);
    return bits;
}

int64_t facts_integer(const struct fact *fact, const struct seen_sample *sample)
{
    unsigned shift = 64 - 8 * fact->size;
    return has_bits(fact) ? (int64_t)(bits_of(fact, sample) << shift) >> shift : 0;
}

double facts_real(const struct fact *fact, const struct seen_sample *sample)
{
    uint64_t bits = bits_of(fact, sample);
    return dtype_load(fact->dtype, &bits);
}

/* Whether the bits are a plausible f32 argument. */
static bool looks_real(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    return isfinite(value) && fabsf(value) >= 1e-12f && fabsf(value) <= 1e9f;
}

/* An integer of four bytes, or an f32: by its values. */
static enum dtype guess_word(const struct fact *fact, const struct seen_kernel *kernel)
{
    bool real = kernel->samples > 0;
    for (unsigned i = 0; i < kernel->samples; i++)
        real &= looks_real(bits_of(fact, kernel->sample[i]));
    return real ? DTYPE_F32 : DTYPE_I32;
}

/* Bytes from the pointer on to the last one that the launch changed. */
static uint64_t changed_by(const struct fact *fact, const struct seen_sample *sample)
{
    uint64_t address = bits_of(fact, sample);
    const struct seen_region *region = seen_memory(sample, address);
    const struct seen_pointer *own = seen_pointer_at(sample, fact->offset);
    if (!region || !own || region->before == region->after)
        return 0;
    uint64_t begin = address - region->address, end = region->bytes;
    for (size_t i = 0; i < sample->pointers; i++) { /* what lies behind another pointer is its */
        uint64_t other = sample->pointer[i].address;
        if (other > address && other - region->address < end)
            end = other - region->address;
    }
    while (end > begin && region->before[end - 1] == region->after[end - 1])
        end--;
    return end - begin;
}

/* ---- parameters ---- */

static void by_values(struct fact *fact, const struct seen_kernel *kernel)
{
    bool pointer = false, other = false;
    fact->room = UINT64_MAX;
    for (unsigned i = 0; i < kernel->samples; i++) {
        const struct seen_sample *sample = kernel->sample[i];
        const struct seen_pointer *at = seen_pointer_at(sample, fact->offset);
        uint64_t room = at ? at->base + at->bytes - at->address : UINT64_MAX;
        pointer |= at != NULL;
        other |= !at && bits_of(fact, sample) != 0;
        fact->null |= !at && bits_of(fact, sample) == 0;
        fact->room = room < fact->room ? room : fact->room;
    }
    if (fact->size == 8 && pointer && !other) {
        fact->kind = FACT_ARRAY;
    } else if (fact->size == 4) {
        fact->dtype = guess_word(fact, kernel);
        fact->kind = fact->dtype == DTYPE_F32 ? FACT_REAL : FACT_INTEGER;
    } else {
        fact->kind =
            fact->size == 1 || fact->size == 2 || fact->size == 8 ? FACT_INTEGER : FACT_OTHER;
        fact->dtype = fact->size == 8   ? DTYPE_I64
                      : fact->size == 2 ? DTYPE_I16
                      : fact->size == 1 ? DTYPE_U8
                                        : DTYPE_NONE;
    }
}

static void by_memory(struct fact *fact, const struct seen_kernel *kernel)
{
    for (unsigned i = 0; i < kernel->samples && fact->kind == FACT_ARRAY; i++) {
        const struct seen_pointer *at = seen_pointer_at(kernel->sample[i], fact->offset);
        fact->space[i] = at ? at->base + at->bytes - at->address : 0;
        fact->changed[i] = changed_by(fact, kernel->sample[i]);
        fact->writes |= fact->changed[i] > 0;
    }
}

/* Whether most words are plausible numbers of a type: magnitudes that programs use, or 0. */
static bool is_plausible(enum dtype dtype, const uint8_t *bytes, size_t count)
{
    unsigned size = dtype_bytes(dtype), good = 0, zeros = 0, all = 0;
    for (size_t at = 0; at + size <= count; at += size, all++) {
        double value = fabs(dtype_load(dtype, bytes + at));
        bool likely = dtype_is_integer(dtype) ? value < 0x1p24 : value > 1e-6 && value < 1e6;
        zeros += value == 0;
        good += value == 0 || likely;
    }
    return all >= 8 && good * 20 >= all * 19 && zeros * 2 < all;
}

/* Where neither name nor code has the type. The halves of an f32 are no bf16, but two bf16 are an
 * f32; f16 cannot be distinguished from bf16. */
static void by_bytes(struct fact *fact, const struct seen_kernel *kernel)
{
    enum { MOST_TRIED = 4096 };
    static const enum dtype types[] = {DTYPE_I32, DTYPE_BF16, DTYPE_F32, DTYPE_F64, DTYPE_I64};
    for (unsigned i = 0; i < kernel->samples && fact->dtype == DTYPE_NONE; i++) {
        const struct seen_pointer *pointer = seen_pointer_at(kernel->sample[i], fact->offset);
        const struct seen_region *region =
            pointer ? seen_memory(kernel->sample[i], pointer->address) : NULL;
        uint64_t at = region ? pointer->address - region->address : 0;
        size_t count = region ? (size_t)(region->bytes - at) : 0;
        count = count < MOST_TRIED ? count : MOST_TRIED;
        for (size_t t = 0; region && t < sizeof types / sizeof *types && !fact->dtype; t++) {
            if (is_plausible(types[t], region->after + at, count))
                fact->dtype = types[t];
        }
    }
}

static void set_dtype(struct fact *fact, enum dtype dtype, enum fact_source source)
{
    if (dtype == DTYPE_NONE || source < fact->source)
        return;
    if (fact->kind != FACT_ARRAY && dtype_bytes(dtype) != fact->size)
        return;
    fact->dtype = dtype;
    fact->source = source;
    if (fact->kind == FACT_INTEGER || fact->kind == FACT_REAL)
        fact->kind = dtype_is_real(dtype) ? FACT_REAL : FACT_INTEGER;
}

static void by_code(struct facts *facts)
{
    struct param_fact param[LAYOUT_MAX];
    struct facts_place place[LAYOUT_MAX];
    unsigned params = 0;
    for (unsigned i = 0; i < facts->count; i++) {
        const struct field *field = &facts->fact[i].field;
        bool part = field_is_part(field);
        place[i] = (struct facts_place){.param = field->param,
                                        .offset = field->offset - field->begin,
                                        .bytes = field->size,
                                        .address = part ? field->pointer : field->size == 8};
    }
    facts->has_code = ptx_facts_places(facts->kernel, place, facts->count, param, &params) &&
                      params == facts->kernel->sample[0]->layout.count;
    facts->reads_known = facts->has_code;
    for (unsigned i = 0; i < facts->count && facts->has_code; i++) {
        struct fact *fact = &facts->fact[i];
        set_dtype(fact, param[i].dtype, SOURCE_CODE);
        if (fact->kind != FACT_ARRAY)
            continue;
        fact->reads = param[i].reads;
        fact->writes |= param[i].writes;
        fact->adds = param[i].adds;
        fact->lanes = dtype_bytes(fact->dtype) ? param[i].most / dtype_bytes(fact->dtype) : 0;
        fact->coded = (struct coded){param[i].reads, param[i].writes, param[i].adds};
    }
}

/* The fact of a whole parameter; NULL: it is cut into fields. */
static struct fact *whole_fact(struct facts *facts, unsigned param)
{
    for (unsigned i = 0; i < facts->count; i++) {
        struct fact *fact = &facts->fact[i];
        if (fact->field.param == param)
            return field_is_part(&fact->field) ? NULL : fact;
    }
    return NULL;
}

/* Whether an earlier array than that of word `i` has a size that is the same in all launches. */
static bool is_size_again(const struct facts *facts, const struct numba_word *word, unsigned i)
{
    const struct seen_kernel *kernel = facts->kernel;
    unsigned array = i;
    while (array > 0 && word[array].role != NUMBA_DATA)
        array--;
    for (unsigned other = 0; other < array; other++) {
        bool same = word[other].role == NUMBA_SIZE;
        for (unsigned k = 0; k < kernel->samples && same; k++)
            same = facts_integer(&facts->fact[other], kernel->sample[k]) ==
                   facts_integer(&facts->fact[i], kernel->sample[k]);
        if (same)
            return true;
    }
    return false;
}

/* False: the list is not of a Numba kernel with that many parameters. */
static bool by_numba(struct facts *facts, const char *list)
{
    struct numba_word word[LAYOUT_MAX];
    unsigned count = numba_words(list, word);
    if (!count || count != facts->count)
        return false;
    for (unsigned i = 0; i < count; i++) {
        struct fact *fact = &facts->fact[i];
        if (word[i].role == NUMBA_DATA && fact->size == 8)
            fact->kind = FACT_ARRAY;
        set_dtype(fact, word[i].dtype, SOURCE_NAME);
        if (word[i].role == NUMBA_UNUSED ||
            (word[i].role == NUMBA_SIZE && is_size_again(facts, word, i)))
            fact->kind = FACT_OTHER;
    }
    return true;
}

/* The list that the C++ symbol spells. */
static void by_name(struct facts *facts)
{
    const char *list = symbol_parameters(facts->kernel->names.demangled);
    struct param_spelled spelled;
    if (list && by_numba(facts, list))
        return;
    for (unsigned i = 0; list && param_types_next(&list, &spelled); i++) {
        struct fact *fact = whole_fact(facts, i);
        if (!fact)
            continue;
        if (spelled.pointer && fact->size == 8 && fact->kind != FACT_ARRAY && fact->null)
            fact->kind = FACT_ARRAY;
        if (spelled.pointer != (fact->kind == FACT_ARRAY) || !spelled.known || spelled.bytes)
            continue;
        bool opaque = spelled.pointer && !dtype_is_real(spelled.type.dtype) &&
                      fact->source == SOURCE_CODE && dtype_is_real(fact->dtype);
        if (!opaque)
            set_dtype(fact, spelled.type.dtype, SOURCE_NAME);
        if (spelled.constant && !facts->has_code)
            fact->reads = true;
    }
}

/* Before sm_80 a bf16 is made by integer instructions, so what is written looks like i16: where the
 * kernel reads one real type of 16 bits, it is that. */
static void by_siblings(struct facts *facts)
{
    enum dtype found = DTYPE_NONE;
    bool several = false;
    for (unsigned i = 0; i < facts->count; i++) {
        const struct fact *fact = &facts->fact[i];
        if (fact->kind != FACT_ARRAY || !dtype_is_real(fact->dtype) ||
            dtype_bytes(fact->dtype) != 2)
            continue;
        several |= found != DTYPE_NONE && found != fact->dtype;
        found = fact->dtype;
    }
    for (unsigned i = 0; i < facts->count && found != DTYPE_NONE && !several; i++) {
        struct fact *fact = &facts->fact[i];
        if (fact->kind == FACT_ARRAY && fact->dtype == DTYPE_I16 && fact->writes && !fact->reads &&
            fact->source != SOURCE_NAME)
            fact->dtype = found;
    }
}

/* What a compiler appends, such as Triton's scratch pointers. */
static void find_zeros(struct facts *facts)
{
    for (unsigned i = facts->count; i-- > 0;) {
        struct fact *fact = &facts->fact[i];
        bool zero = fact->size == 8 && !field_is_part(&fact->field);
        for (unsigned j = 0; j < facts->kernel->samples && zero; j++)
            zero = bits_of(fact, facts->kernel->sample[j]) == 0;
        if (!zero)
            return;
        fact->zero = true;
        fact->kind = FACT_OTHER;
    }
}

static void by_triton(struct facts *facts)
{
    static struct triton_argument argument[LAYOUT_MAX];
    unsigned count = triton_names_find(facts->kernel, argument);
    for (unsigned i = 0; i < count; i++) {
        struct fact *fact = whole_fact(facts, i);
        if (!fact)
            continue;
        memcpy(fact->name, argument[i].name, TRITON_NAME);
        set_dtype(fact, argument[i].dtype, SOURCE_NAME);
    }
}

void facts_make(struct facts *facts, const struct seen_kernel *kernel)
{
    *facts = (struct facts){.kernel = kernel};
    if (!kernel->samples)
        return;
    struct field field[LAYOUT_MAX];
    facts->count = fields_find(kernel, field);
    for (unsigned i = 0; i < facts->count; i++) {
        struct fact *fact = &facts->fact[i];
        *fact = (struct fact){.field = field[i],
                              .offset = field[i].offset,
                              .size = field[i].size,
                              .dtype = DTYPE_NONE};
        by_values(fact, kernel);
        by_memory(fact, kernel);
    }
    by_code(facts);
    by_name(facts);
    by_triton(facts);
    for (unsigned i = 0; i < facts->count; i++) {
        struct fact *fact = &facts->fact[i];
        if (fact->kind == FACT_ARRAY && fact->dtype == DTYPE_NONE)
            by_bytes(fact, kernel);
        if (fact->kind == FACT_ARRAY && !fact->writes && !fact->adds)
            fact->reads = true;
    }
    by_siblings(facts);
    find_zeros(facts);
}

/* ---- launches that were run again ---- */

struct probed_counts facts_probed(const struct fact *fact)
{
    struct probed_counts counts = {0};
    for (unsigned i = 0; i < SEEN_SAMPLES; i++) {
        const struct probed *probed = &fact->probed[i];
        if (!probed->known)
            continue;
        counts.launches++;
        counts.reads += probed->reads;
        counts.writes += probed->writes;
        counts.keeps += probed->keeps;
        counts.adds += probed->adds;
    }
    return counts;
}

static int64_t elements_to(const struct fact *fact, uint64_t end)
{
    unsigned size = dtype_bytes(fact->dtype);
    return size ? (int64_t)((end + size - 1) / size) : -1;
}

int64_t facts_read_to(const struct fact *fact, unsigned launch)
{
    const struct probed *probed = &fact->probed[launch];
    return probed->known && probed->reads && probed->edges ? elements_to(fact, probed->read.end)
                                                           : -1;
}

int64_t facts_written_to(const struct fact *fact, unsigned launch)
{
    const struct probed *probed = &fact->probed[launch];
    return probed->known && probed->writes ? elements_to(fact, probed->written.end) : -1;
}

/* Whether each launch left the array as it was, though it writes there and other results need what
 * it holds: a counter that the launch resets. */
static bool is_scratch(const struct fact *fact)
{
    bool needed = false;
    for (unsigned i = 0; i < SEEN_SAMPLES; i++) {
        const struct probed *probed = &fact->probed[i];
        if (fact->changed[i])
            return false;
        needed |= probed->known && probed->elsewhere;
    }
    return needed && (fact->coded.writes || fact->coded.adds || facts_probed(fact).keeps);
}

void facts_settle(struct facts *facts)
{
    for (unsigned i = 0; i < facts->count; i++) {
        struct fact *fact = &facts->fact[i];
        struct probed_counts counts = facts_probed(fact);
        bool shown = fact->coded.reads || fact->coded.writes || fact->coded.adds;
        if (fact->kind != FACT_ARRAY || !counts.launches)
            continue;
        if (!shown) {
            fact->reads = counts.reads > 0;
            fact->adds = counts.adds > 0 && counts.adds == counts.keeps;
        }
        facts->reads_known = true;
        fact->writes |= counts.writes > 0;
        fact->reads |= counts.keeps > 0 || (!fact->writes && !fact->adds);
        fact->scratch = is_scratch(fact);
    }
}
