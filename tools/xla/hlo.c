#include "tools/xla/hlo.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum dtype dtype;
} types[] = {
    {"f64", DTYPE_F64},   {"f32", DTYPE_F32},       {"f16", DTYPE_F16},
    {"bf16", DTYPE_BF16}, {"s8", DTYPE_I8},         {"s16", DTYPE_I16},
    {"s32", DTYPE_I32},   {"s64", DTYPE_I64},       {"u8", DTYPE_U8},
    {"u16", DTYPE_U16},   {"u32", DTYPE_U32},       {"u64", DTYPE_U64},
    {"pred", DTYPE_BOOL}, {"f8e5m2", DTYPE_F8E5M2}, {"f8e4m3fn", DTYPE_F8E4M3},
};

static enum dtype type_of(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strlen(types[i].name) == length && memcmp(types[i].name, text, length) == 0)
            return types[i].dtype;
    return DTYPE_NONE;
}

static char *skip_space(char *at)
{
    while (*at == ' ')
        at++;
    return at;
}

int64_t hlo_elements(const int64_t *dim, unsigned rank)
{
    int64_t most = (int64_t)1 << 48, count = 1;
    bool none = false;
    for (unsigned i = 0; i < rank; i++) {
        if (dim[i] < 0 || dim[i] > most)
            return -1;
        none |= dim[i] == 0;
        count *= dim[i] ? dim[i] : 1;
        most /= dim[i] ? dim[i] : 1;
    }
    return none ? 0 : count;
}

/* Strides by the layout's order, the dim that changes fastest first. */
static void lay_out(struct hlo_shape *shape, const int64_t *order, unsigned known)
{
    shape->count = 1;
    for (unsigned i = 0; i < shape->rank; i++) {
        unsigned dim = known == shape->rank ? (unsigned)order[i] : shape->rank - 1 - i;
        shape->stride[dim] = shape->count;
        shape->count *= shape->dim[dim];
    }
}

/* Behind numbers and their closing sign; NULL: too many. What follows a colon is passed over. */
static char *read_numbers(char *at, char close, int64_t *out, unsigned *count)
{
    for (*count = 0; *at && *at != close && *at != ':';) {
        if (!isdigit((unsigned char)*at)) {
            at++;
            continue;
        }
        if (*count == HLO_RANK)
            return NULL;
        out[(*count)++] = strtoll(at, &at, 10);
    }
    while (*at && *at != close)
        at++;
    return *at ? at + 1 : NULL;
}

static char *read_shape(char *at, struct hlo_shape *shape)
{
    size_t length = strcspn(at, "[ ");
    int64_t order[HLO_RANK];
    unsigned known = 0;
    if (at[length] != '[')
        return NULL;
    shape->dtype = type_of(at, length);
    at = read_numbers(at + length + 1, ']', shape->dim, &shape->rank);
    if (at && *at == '{')
        at = read_numbers(at + 1, '}', order, &known);
    for (unsigned i = 0; i < known; i++)
        if (order[i] >= (int64_t)shape->rank)
            return NULL;
    if (!at || hlo_elements(shape->dim, shape->rank) < 0)
        return NULL;
    lay_out(shape, order, known);
    return at;
}

/* Past a comment such as the ones that number a tuple's parts. */
static char *skip_comment(char *at)
{
    at = skip_space(at);
    if (at[0] == '/' && at[1] == '*') {
        char *end = strstr(at, "*/");
        return skip_space(end ? end + 2 : at + strlen(at));
    }
    return at;
}

static char *close_of(char *at)
{
    int depth = 0;
    bool quoted = false;
    for (; *at; at++) {
        if (*at == '"')
            quoted = !quoted;
        depth += quoted ? 0 : (*at == '(' || *at == '{') - (*at == ')' || *at == '}');
        if (depth == 0)
            return at;
    }
    return NULL;
}

/* The shapes of an operation; those of a nested or long tuple are none, parts 0. */
static char *read_shapes(char *at, struct hlo_op *op)
{
    if (*at != '(') {
        op->parts = 1;
        return read_shape(at, &op->shape[0]);
    }
    char *end = close_of(at);
    at = skip_comment(at + 1);
    while (end && at < end && op->parts < HLO_PARTS) {
        at = *at == '(' ? NULL : read_shape(at, &op->shape[op->parts]);
        if (!at)
            break;
        op->parts++;
        at = skip_comment(at + (*at == ','));
    }
    if (at != end)
        op->parts = 0;
    return end ? end + 1 : NULL;
}

static const char *name_in(char *from, char *end, struct arena *arena)
{
    while (end > from && end[-1] == ' ')
        end--;
    char *at = end;
    while (at > from && at[-1] != ' ' && at[-1] != '%')
        at--;
    return arena_text(arena, at, (size_t)(end - at));
}

static enum status read_operands(char *at, char *end, struct hlo_op *op, struct arena *arena)
{
    unsigned most = 1;
    for (char *c = at; c < end; c++)
        most += *c == ',';
    op->operand = arena_alloc(arena, sizeof *op->operand * most);
    if (!op->operand)
        return STATUS_NO_MEMORY;
    while (at < end) {
        char *stop = at;
        int depth = 0;
        for (; stop < end && (depth || *stop != ','); stop++)
            depth += (*stop == '[' || *stop == '{' || *stop == '(') -
                     (*stop == ']' || *stop == '}' || *stop == ')');
        at = skip_comment(at);
        op->operand[op->operands] = name_in(at, stop, arena);
        if (!op->operand[op->operands++])
            return STATUS_NO_MEMORY;
        at = stop + 1;
    }
    return STATUS_OK;
}

/* "NAME = SHAPE OPCODE(OPERANDS), ATTRIBUTES"; a line that is none of these is passed over. */
static enum status read_op(char *line, struct hlo_computation *in, struct hlo_op **last,
                           struct arena *arena)
{
    char *at = skip_space(line), *equals = strstr(at, " = ");
    bool root = strncmp(at, "ROOT ", 5) == 0;
    struct hlo_op *op = arena_alloc(arena, sizeof *op);
    if (!op)
        return STATUS_NO_MEMORY;
    if (!equals)
        return STATUS_OK;
    op->name = name_in(at, equals, arena);
    at = read_shapes(skip_space(equals + 3), op);
    char *open = at ? strchr(at = skip_space(at), '(') : NULL, *end = open ? close_of(open) : NULL;
    if (!end)
        return STATUS_OK;
    op->opcode = arena_text(arena, at, (size_t)(open - at));
    op->inside = arena_text(arena, open + 1, (size_t)(end - open - 1));
    op->attributes = end + 1;
    if (!op->name || !op->opcode || !op->inside || read_operands(open + 1, end, op, arena))
        return STATUS_NO_MEMORY;
    char *metadata = strstr(end, ", metadata=");
    if (metadata)
        *metadata = '\0';
    *(*last ? &(*last)->next : &in->first) = op;
    *last = op;
    if (root)
        in->root = op;
    return STATUS_OK;
}

/* A computation begins with a line that ends with " {" and holds " -> ". */
static struct hlo_computation *begin(char *line, struct arena *arena)
{
    size_t length = strlen(line);
    bool entry = strncmp(line, "ENTRY ", 6) == 0;
    if (length < 3 || strcmp(line + length - 2, " {") != 0 || !strstr(line, " -> "))
        return NULL;
    line += entry ? 6 : 0;
    struct hlo_computation *out = arena_alloc(arena, sizeof *out);
    if (!out)
        return NULL;
    line += *line == '%';
    out->name = arena_text(arena, line, strcspn(line, " ("));
    out->entry = entry;
    return out->name ? out : NULL;
}

enum status hlo_read(char *text, struct arena *arena, struct hlo_computation **out,
                     struct error *err)
{
    struct hlo_computation *in = NULL, **end = out;
    struct hlo_op *last = NULL;
    bool entry = false;
    *out = NULL;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        struct hlo_computation *begun = line[0] == ' ' ? NULL : begin(line, arena);
        if (begun) {
            *end = in = begun;
            end = &begun->next;
            last = NULL;
            entry |= in->entry;
        } else if (line[0] == '}') {
            in = NULL;
        } else if (in && read_op(line, in, &last, arena)) {
            return error_set(err, STATUS_NO_MEMORY, "out of memory");
        }
    }
    return entry ? STATUS_OK : error_set(err, STATUS_INVALID, "no HLO module with an entry");
}

struct hlo_computation *hlo_computation_of(struct hlo_computation *all, const char *name)
{
    while (all && strcmp(all->name, name) != 0)
        all = all->next;
    return all;
}

struct hlo_op *hlo_find(const struct hlo_computation *of, const char *name)
{
    struct hlo_op *op = of->first;
    while (op && strcmp(op->name, name) != 0)
        op = op->next;
    return op;
}

static const char *attribute_of(const struct hlo_op *op, const char *attribute)
{
    size_t length = strlen(attribute);
    for (const char *at = op->attributes; (at = strstr(at, attribute)); at += length)
        if ((at == op->attributes || at[-1] == ' ') && at[length] == '=')
            return at + length + 1;
    return NULL;
}

int hlo_numbers(const struct hlo_op *op, const char *attribute, int64_t *out, int most)
{
    const char *at = attribute_of(op, attribute);
    int count = 0;
    if (!at || *at != '{')
        return -1;
    for (at++; *at && *at != '}';) {
        char *end;
        long long value = strtoll(at, &end, 10);
        if (end == at) {
            at++;
            continue;
        }
        if (count == most || value < 0 || value >= HLO_RANK)
            return -1;
        out[count++] = value;
        at = end;
    }
    return count;
}

const char *hlo_word(const struct hlo_op *op, const char *attribute, struct arena *arena)
{
    const char *at = attribute_of(op, attribute);
    if (!at)
        return NULL;
    at += *at == '%';
    return arena_text(arena, at, strcspn(at, ", "));
}
