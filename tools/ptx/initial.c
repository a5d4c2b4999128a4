/*
 * initial.c - the values behind '=': numbers, addresses, and braces of them.
 *
 * The bytes are gathered as they come, so that a variable costs memory by its text and not by its
 * dimensions; only at the end they get the variable's full size.
 */
#include "ptx/reader.h"

#include <string.h>

#include "ptx/text/constant.h"

/* Of all variables of a module. */
#define INITIAL_MAX (UINT64_C(1) << 29)

struct initial {
    struct reader *r;
    struct ptx_variable *variable;
    const uint64_t *dimensions;
    unsigned dimension_count;
    size_t element; /* bytes */
    uint64_t at;    /* the next element */
};

static enum status too_large(struct initial *in)
{
    return lex_refuse(&in->r->cursor, in->r->cursor.line,
                      "found initial values of more than 512 MiB, expected less");
}

/* All bytes up to the element `at` exist. */
static uint8_t *element_place(struct initial *in)
{
    struct reader *r = in->r;
    if (in->at >= INITIAL_MAX / in->element)
        return NULL;
    size_t end = (in->at + 1) * in->element;
    if (end > r->bytes.count) {
        size_t more = end - r->bytes.count;
        uint8_t *place = list_reserve(&r->bytes, 1, more);
        if (!place)
            return NULL;
        memset(place, 0, more);
        r->bytes.count = end;
    }
    return (uint8_t *)r->bytes.items + in->at * in->element;
}

static double float_value(const struct constant *value)
{
    double number;
    float single;
    uint32_t bits = (uint32_t)value->bits;
    if (value->type == PTX_F64) {
        memcpy(&number, &value->bits, sizeof number);
        return number;
    }
    if (value->type == PTX_F32) {
        memcpy(&single, &bits, sizeof single);
        return single;
    }
    return value->type == PTX_U64 ? (double)value->bits : (double)(int64_t)value->bits;
}

/* The bits of `value` as an element of the variable's type. Whole numbers become floating-point
 * ones where the variable is one; of the small floating-point types they are the bits. */
static enum status convert(struct initial *in, struct constant *value)
{
    enum ptx_type type = in->variable->type;
    if (type == PTX_F64 && value->type != PTX_F64) {
        double number = float_value(value);
        memcpy(&value->bits, &number, sizeof number);
    } else if (type == PTX_F32 && value->type != PTX_F32) {
        float number = (float)float_value(value);
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        value->bits = bits;
    } else if (constant_is_float(value) && type != PTX_F32 && type != PTX_F64) {
        return lex_refuse(
            &in->r->cursor, in->r->cursor.line,
            "found a floating-point number as a value of type .%s, expected a whole one",
            ptx_type_name(type));
    }
    return STATUS_OK;
}

static enum status put_number(struct initial *in, struct constant *value)
{
    enum status status = convert(in, value);
    uint8_t *place = status ? NULL : element_place(in);
    if (status)
        return status;
    if (!place)
        return lex_no_memory(&in->r->cursor);
    bool negative = value->type == PTX_S64 && (int64_t)value->bits < 0;
    size_t low = in->element < 8 ? in->element : 8;
    memcpy(place, &value->bits, low);
    memset(place + low, negative ? 0xff : 0, in->element - low);
    return STATUS_OK;
}

/* name, generic(name), each with + or - a number behind. */
static enum status read_address(struct initial *in, struct ptx_relocation *relocation,
                                unsigned nested)
{
    struct cursor *c = &in->r->cursor;
    struct slice text = lex_name(c);
    if (!text.length)
        return lex_fail(c, "a number, a name or generic(name)");
    enum status status = STATUS_OK;
    if (slice_is(text, "generic") && lex_accept(c, '(')) {
        if (nested)
            return lex_fail(c, "a name in generic()");
        relocation->generic = true;
        status = read_address(in, relocation, nested + 1);
        if (!status)
            status = lex_expect(c, ')', "')' after generic(name");
    } else {
        struct name *name = names_put(&in->r->names, &in->r->store, text);
        if (!name)
            return lex_no_memory(c);
        relocation->name = name->text;
    }
    if (!status && (lex_peek(c) == '+' || *c->at == '-')) {
        int64_t addend = 0;
        status = constant_whole(c, "a number", &addend);
        relocation->addend = (int64_t)((uint64_t)relocation->addend + (uint64_t)addend);
    }
    return status;
}

static enum status put_address(struct initial *in, struct ptx_relocation *relocation)
{
    struct reader *r = in->r;
    if (!element_place(in))
        return lex_no_memory(&r->cursor);
    relocation->offset = in->at * in->element;
    relocation->bytes = (unsigned)in->element;
    struct ptx_relocation *entry = list_add(&r->relocations, sizeof *entry);
    if (!entry)
        return lex_no_memory(&r->cursor);
    *entry = *relocation;
    return STATUS_OK;
}

/* 0xff00(name): one element's worth of the address; the '(' comes next. */
static enum status read_part(struct initial *in, const struct constant *mask)
{
    struct cursor *c = &in->r->cursor;
    unsigned width = in->element < 8 ? (unsigned)in->element * 8 : 64;
    unsigned shift = mask->bits ? (unsigned)__builtin_ctzll(mask->bits) : 0;
    uint64_t wanted = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    if (constant_is_float(mask) || mask->bits >> shift != wanted)
        return lex_fail(c, "a mask before '(' that has the %u bits of one element", width);
    struct ptx_relocation relocation = {.shift = shift};
    c->at++;
    enum status status = read_address(in, &relocation, 0);
    if (!status)
        status = lex_expect(c, ')', "')' after the name in a mask");
    return status ? status : put_address(in, &relocation);
}

static enum status read_element(struct initial *in)
{
    struct cursor *c = &in->r->cursor;
    lex_peek(c);
    if (lex_is(*c->at, LEX_FIRST)) {
        struct ptx_relocation relocation = {0};
        enum status status = read_address(in, &relocation, 0);
        return status ? status : put_address(in, &relocation);
    }
    struct constant value = {0};
    enum status status = constant_read(c, "a number, a name or '{'", &value);
    if (status)
        return status;
    return lex_peek(c) == '(' ? read_part(in, &value) : put_number(in, &value);
}

/* Elements of one item of dimension `level`, without the outermost, which may be unknown. */
static uint64_t stride_of(const struct initial *in, unsigned level)
{
    uint64_t stride = 1;
    for (unsigned i = level + 1; i < in->dimension_count; i++)
        stride *= in->dimensions[i];
    return stride;
}

/* What stands between the braces of dimension `level`; missing items are 0. */
static enum status read_braces(struct initial *in, unsigned level)
{
    struct cursor *c = &in->r->cursor;
    uint64_t stride = stride_of(in, level), begin = in->at;
    uint64_t limit = level || in->dimensions[0] ? in->dimensions[level] * stride : UINT64_MAX;
    if (lex_accept(c, '}'))
        return STATUS_OK;
    for (;;) {
        if (in->at - begin >= limit)
            return lex_fail(c, "'}'; '%.60s' has %llu elements there", in->variable->name,
                            (unsigned long long)limit);
        enum status status;
        if (lex_accept(c, '{')) {
            if (level + 1 == in->dimension_count)
                return lex_refuse(c, c->line,
                                  "found '{', expected a number; '%.60s' has %u dimensions",
                                  in->variable->name, in->dimension_count);
            uint64_t next = in->at + stride;
            status = read_braces(in, level + 1);
            in->at = next;
            if (next > INITIAL_MAX)
                return too_large(in);
        } else {
            status = read_element(in);
            in->at++;
        }
        if (status)
            return status;
        if (lex_accept(c, '}'))
            return STATUS_OK;
        status = lex_expect(c, ',', "',' or '}' in an initial value");
        if (status)
            return status;
    }
}

/* The size of an array declared with [] comes from its elements. */
static enum status find_size(struct initial *in)
{
    uint64_t stride = stride_of(in, 0);
    if (in->dimension_count == 0 || in->dimensions[0] || stride == 0)
        return STATUS_OK;
    uint64_t items = (in->at + stride - 1) / stride;
    in->variable->bytes = items * stride * in->element;
    return STATUS_OK;
}

static enum status keep(struct initial *in)
{
    struct reader *r = in->r;
    struct ptx_variable *variable = in->variable;
    bool any = r->relocations.count > 0;
    const uint8_t *bytes = r->bytes.items;
    for (size_t i = 0; i < r->bytes.count && !any; i++)
        any = bytes[i] != 0;
    if (!any)
        return STATUS_OK;
    r->initial_bytes += variable->bytes;
    if (variable->bytes > INITIAL_MAX || r->initial_bytes > INITIAL_MAX)
        return too_large(in);
    uint8_t *data = store_zeroed(&r->store, variable->bytes);
    variable->relocations = store_copy(&r->store, r->relocations.items,
                                       r->relocations.count * sizeof(struct ptx_relocation));
    if (!data || !variable->relocations)
        return lex_no_memory(&r->cursor);
    variable->relocation_count = (unsigned)r->relocations.count;
    memcpy(data, bytes, r->bytes.count < variable->bytes ? r->bytes.count : variable->bytes);
    variable->data = data;
    return STATUS_OK;
}

enum status initial_read(struct reader *r, struct ptx_variable *variable,
                         const uint64_t *dimensions, unsigned dimension_count)
{
    struct initial in = {.r = r,
                         .variable = variable,
                         .dimensions = dimensions,
                         .dimension_count = dimension_count,
                         .element = ptx_type_bits(variable->type) / 8};
    struct cursor *c = &r->cursor;
    enum status status;
    r->bytes.count = r->relocations.count = 0;
    if (dimension_count == 0)
        status = read_element(&in);
    else if (lex_accept(c, '{'))
        status = read_braces(&in, 0);
    else
        status = lex_fail(c, "'{' before the elements of '%.60s'", variable->name);
    if (!status)
        status = find_size(&in);
    return status ? status : keep(&in);
}
