/* rules_memory.c - where a kernel stores and what its addresses are made of. */
#include <string.h>
#include "tools/lint/extents.h"
#include "tools/lint/rules/rules.h"

/* -- guards of stores -- */

struct bound {
    const struct flow *flow;
    bool bounded;
};

static bool visit_bound(void *user, uint32_t branch, uint32_t condition)
{
    struct bound *b = user;
    const struct flow_value *v = &b->flow->value[condition];
    (void)branch;
    b->bounded |= flow_has_params(v) || (v->sources & (FLOW_GLOBAL | FLOW_SHARED | FLOW_NCTAID |
                                                       FLOW_OTHER | FLOW_CONST | FLOW_LOCAL)) != 0;
    return !b->bounded;
}

static bool is_bounded(const struct flow *flow, uint32_t at)
{
    struct bound b = {.flow = flow};
    if (flow->guard[at] != FLOW_NONE)
        visit_bound(&b, 0, flow->guard[at]);
    if (!b.bounded)
        flow_each_condition(flow, flow->block_of[at], visit_bound, &b);
    return b.bounded;
}

/* Whether the kernel compares a place in the grid with a number that could be the array's size: an
 * integer parameter that is no part of the address. */
static bool has_size(const struct flow *flow, uint32_t address)
{
    for (uint32_t v = 0; v < flow->values; v++) {
        int64_t offset;
        const struct ptx_instruction *i = flow_instruction(flow, v);
        if (!flow_param_of(flow, v, &offset) || i->types[0] == PTX_F32 || i->types[0] == PTX_F64)
            continue;
        const struct flow_base base = flow_base(flow, v);
        if (flow_has_param(&flow->value[address], flow_param_of(flow, v, &offset)->index))
            continue;
        for (uint32_t u = 0; u < flow->value[v].users; u++) {
            uint32_t user = flow->user[flow->value[v].user + u];
            const uint32_t both = FLOW_TID | FLOW_CTAID; /* a place in the whole grid */
            if (base.kind != FLOW_BASE_PARAM && flow_is(flow, user, "setp") &&
                (flow->value[user].sources & both) == both)
                return true;
        }
    }
    return false;
}

static bool has_count(const struct flow *flow)
{
    bool found = false;
    for (unsigned i = 0; i < flow->function->param_count; i++) {
        const struct ptx_variable *param = &flow->function->params[i];
        found |= ptx_type_bits(param->type) == 32 && param->type != PTX_F32 && !param->array;
    }
    return found;
}

static void check_store(struct lint_kernel *k, struct lint_extents *extents,
                        const struct lint_access *a)
{
    const struct flow *flow = k->flow;
    const uint32_t both = FLOW_TID | FLOW_CTAID;
    char text[256];
    bool whole = (flow->value[a->address].sources & both) == both;
    enum lint_extent extent = lint_extent_of(extents, a, text, sizeof text);
    if (extent == LINT_EXTENT_PASSED)
        lint_add_as(k, LINT_WARNING, a->at, "%s", text);
    else if (whole && !is_bounded(flow, a->at) && has_size(flow, a->address))
        lint_add(k, a->at,
                 "a store to an address of thread and block runs under no condition on a "
                 "parameter");
    else if (extent == LINT_EXTENT_OPEN && has_count(flow))
        lint_add_as(k, k->plan ? LINT_NOTE : LINT_HINT, a->at,
                    "a store at the thread's number in the grid has no limit that a parameter "
                    "gives: right where the grid covers the array exactly");
}

void rule_store_unguarded(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    struct lint_extents extents = {.k = k};
    struct lint_access a;
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        if (lint_stores_global(flow, at, &a))
            check_store(k, &extents, &a);
    }
    lint_extents_free(&extents);
}

/* -- i <= n -- */

struct inclusive {
    const struct lint_kernel *k;
    const struct lint_access *access;
    uint32_t found;
};

/* A parameter, or a product of parameters: the size of an array. */
static bool is_size(const struct flow *flow, uint32_t value)
{
    int64_t offset;
    return flow_param_of(flow, value, &offset) ||
           (flow_is(flow, value, "mul") && flow_param_of(flow, flow_arg(flow, value, 0), &offset) &&
            flow_param_of(flow, flow_arg(flow, value, 1), &offset));
}

/* The value itself, or what it begins with in a loop. */
static bool is_index(const struct flow *flow, uint32_t value, uint32_t index)
{
    const struct flow_value *v = &flow->value[value];
    bool same = value == index;
    for (uint32_t a = 0; v->kind == FLOW_PHI && a < v->args; a++)
        same = same || flow_arg(flow, value, a) == index;
    return same;
}

/* Whether `index` goes into the address with a factor and nothing added to it. */
static bool scales_into(const struct flow *flow, uint32_t address, uint32_t index)
{
    static const char *const words[] = {"add", "mul", "mad", "shl", "cvt", "mov", NULL};
    for (int step = 0; step < 8; step++) {
        if (is_index(flow, address, index))
            return true;
        uint32_t next = FLOW_NONE;
        for (uint32_t a = 0; a < flow->value[address].args; a++) {
            uint32_t arg = flow_arg(flow, address, a);
            if ((flow->value[arg].sources & FLOW_TID) != 0 || arg == index)
                next = next == FLOW_NONE ? arg : 0;
        }
        unsigned w = 0;
        while (words[w] && !flow_is(flow, address, words[w]))
            w++;
        if (!words[w] || next == FLOW_NONE || next == 0)
            return false;
        address = next;
    }
    return false;
}

static bool visit_inclusive(void *user, uint32_t branch, uint32_t condition)
{
    struct inclusive *i = user;
    const struct flow *flow = i->k->flow;
    (void)branch;
    if (!flow_is(flow, condition, "setp"))
        return true;
    const struct ptx_instruction *setp = flow_instruction(flow, condition);
    const char *word = setp->modifier_count ? setp->modifiers[0] : "";
    uint32_t index = flow_arg(flow, condition, 0), limit = flow_arg(flow, condition, 1);
    /* index > n skips, index <= n runs: either way n itself is taken */
    bool inclusive = strcmp(word, "gt") == 0 || strcmp(word, "le") == 0 ||
                     strcmp(word, "hi") == 0 || strcmp(word, "ls") == 0;
    if (inclusive && is_size(flow, limit) && (flow->value[index].sources & FLOW_TID) &&
        i->access->offset == 0 && scales_into(flow, i->access->address, index))
        i->found = condition;
    return i->found == 0;
}

void rule_guard_inclusive(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    struct lint_access a;
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        struct inclusive i = {.k = k, .access = &a};
        if (!lint_stores_global(flow, at, &a))
            continue;
        flow_each_condition(flow, flow->block_of[at], visit_inclusive, &i);
        if (i.found)
            lint_add(k, at,
                     "the store runs for the index that equals its limit, which is one element "
                     "behind the end");
    }
}

/* -- indices that lose bits -- */

struct cut {
    const struct flow *flow;
    bool addresses;
};

static bool visit_cut(void *user, uint32_t value)
{
    static const char *const words[] = {"mul", "mad",  "shl", "add", "or",
                                        "cvt", "selp", "mov", NULL};
    struct cut *c = user;
    const struct flow *flow = c->flow;
    struct lint_access a;
    if (flow->value[value].kind == FLOW_EFFECT || flow_is(flow, value, "ld"))
        return false;
    unsigned w = 0;
    while (words[w] && !flow_is(flow, value, words[w]))
        w++;
    if (!words[w] && flow->value[value].kind != FLOW_PHI)
        return false;
    for (uint32_t u = 0; u < flow->value[value].users; u++) {
        uint32_t user_value = flow->user[flow->value[value].user + u];
        if (flow_instruction(flow, user_value) &&
            lint_access(flow, flow->value[user_value].at, &a) && a.space == PTX_GLOBAL &&
            a.address == value)
            c->addresses = true;
    }
    return !c->addresses;
}

bool lint_makes_address(struct lint_kernel *k, uint32_t value)
{
    struct cut c = {.flow = k->flow};
    lint_forward(k, value, visit_cut, &c);
    return c.addresses;
}

/* Whether a product of 32 bits takes the value: a length of rows, not an offset. */
static bool is_factor(const struct flow *flow, uint32_t value)
{
    for (uint32_t u = 0; u < flow->value[value].users; u++) {
        uint32_t user = flow->user[flow->value[value].user + u];
        const struct ptx_instruction *i = flow_instruction(flow, user);
        if ((flow_is(flow, user, "mul") || flow_is(flow, user, "mad")) &&
            !ptx_has_modifier(i, "wide") &&
            (flow_arg(flow, user, 0) == value || flow_arg(flow, user, 1) == value))
            return true;
    }
    return false;
}

/* A 64-bit number cut to its low bits: 32 of a parameter, 8 of an element. */
static bool cuts_param(const struct flow *flow, uint32_t v, const struct ptx_variable **param)
{
    int64_t offset = 0;
    const struct ptx_instruction *i = flow_instruction(flow, v);
    *param = flow_param_of(flow, v, &offset);
    if (*param && ptx_type_bits((*param)->type) == 64 && !(*param)->array)
        return i->type_count && ptx_type_bits(i->types[0]) == 32 && offset == 0;
    if (!flow_is(flow, v, "cvt") || i->type_count < 2 || ptx_type_bits(i->types[0]) != 32 ||
        ptx_type_bits(i->types[1]) != 64 || lint_is_float(i->types[1]))
        return false;
    *param = flow_param_of(flow, flow_arg(flow, v, 0), &offset);
    return *param != NULL;
}

/* and.b64 with 255 of a loaded element, or a byte loaded from elements 8 bytes apart. */
static bool cuts_element(const struct flow *flow, uint32_t v)
{
    uint64_t mask = 0;
    if (flow_is(flow, v, "and") && lint_type(flow, v) == PTX_B64)
        return flow_constant(flow, flow_arg(flow, v, 1), &mask) && (mask == 255 || mask == 65535) &&
               flow_is(flow, flow_arg(flow, v, 0), "ld");
    struct lint_access a;
    if (!flow_is(flow, v, "ld") || lint_type(flow, v) != PTX_U8 ||
        !lint_access(flow, flow->value[v].at, &a) || a.space != PTX_GLOBAL)
        return false;
    for (uint32_t n = 0; flow_is(flow, a.address, "add") && n < 2; n++) {
        uint32_t index = flow_arg(flow, a.address, n);
        bool shift = flow_is(flow, index, "shl"), product = flow_is(flow, index, "mul");
        if ((shift || product) && flow_constant(flow, flow_arg(flow, index, 1), &mask) &&
            mask == (shift ? 3 : 8))
            return true;
    }
    return false;
}

void rule_index_narrow(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    for (uint32_t v = 0; v < flow->values; v++) {
        const struct ptx_variable *param;
        if (flow->value[v].kind != FLOW_RESULT)
            continue;
        if (cuts_param(flow, v, &param)) {
            if (is_factor(flow, v) && lint_makes_address(k, v))
                lint_add(k, flow->value[v].at,
                         "32 bits of the 64-bit parameter %u are multiplied and make an address",
                         param->index);
        } else if (cuts_element(flow, v) && lint_makes_address(k, v)) {
            lint_add(k, flow->value[v].at,
                     "an index of 64 bits from memory is cut to fewer before it makes an address");
        }
    }
}

/* -- memory that others write -- */

/* The pointers that a kernel writes through: parameters, or fields of them. */
enum { MOST_WRITTEN = 64 };
struct written {
    struct flow_base base[MOST_WRITTEN];
    unsigned count;
};

static bool is_written(const struct written *written, const struct flow_base *base)
{
    for (unsigned i = 0; i < written->count && base->kind == FLOW_BASE_PARAM; i++) {
        if (written->base[i].param == base->param && written->base[i].field == base->field)
            return true;
    }
    return false;
}

void rule_read_only_written(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    struct lint_access a;
    struct written written = {.count = 0};
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        if (lint_stores_global(flow, at, &a) && a.base.kind == FLOW_BASE_PARAM &&
            !is_written(&written, &a.base) && written.count < MOST_WRITTEN)
            written.base[written.count++] = a.base;
    }
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        const struct ptx_instruction *i = &flow->function->instructions[at];
        if (strcmp(i->opcode, "ldu") != 0 && !ptx_has_modifier(i, "nc"))
            continue;
        if (lint_access(flow, at, &a) && is_written(&written, &a.base))
            lint_add(k, at,
                     "parameter %u is read through the cache for memory that no kernel writes, and "
                     "this kernel writes it",
                     a.base.param);
    }
}

void rule_state_kept(struct lint_kernel *k)
{
    const struct flow *flow = k->flow;
    struct lint_access a, other;
    for (uint32_t at = 0; at < flow->function->instruction_count; at++) {
        if (!lint_stores_global(flow, at, &a) || a.atomic || a.base.kind != FLOW_BASE_VARIABLE)
            continue;
        for (uint32_t from = 0; from < flow->function->instruction_count; from++) {
            if (lint_access(flow, from, &other) && other.reads && !other.atomic &&
                other.base.kind == FLOW_BASE_VARIABLE && other.base.variable == a.base.variable) {
                lint_add(k, at, "%s keeps what one launch wrote for the next one to read",
                         a.base.variable->name);
                break;
            }
        }
    }
}
