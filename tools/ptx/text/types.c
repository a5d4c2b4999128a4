/* types.c - types and spaces as tables. */
#include "ptx/text/types.h"

#include <string.h>

static const struct {
    const char *name;
    unsigned bits;
} types[] = {
    [PTX_NO_TYPE] = {"no type", 0}, [PTX_PRED] = {"pred", 1},      [PTX_B8] = {"b8", 8},
    [PTX_B16] = {"b16", 16},        [PTX_B32] = {"b32", 32},       [PTX_B64] = {"b64", 64},
    [PTX_B128] = {"b128", 128},     [PTX_U2] = {"u2", 2},          [PTX_S2] = {"s2", 2},
    [PTX_U4] = {"u4", 4},           [PTX_S4] = {"s4", 4},          [PTX_U8] = {"u8", 8},
    [PTX_U16] = {"u16", 16},        [PTX_U32] = {"u32", 32},       [PTX_U64] = {"u64", 64},
    [PTX_S8] = {"s8", 8},           [PTX_S16] = {"s16", 16},       [PTX_S32] = {"s32", 32},
    [PTX_S64] = {"s64", 64},        [PTX_F16] = {"f16", 16},       [PTX_F16X2] = {"f16x2", 32},
    [PTX_BF16] = {"bf16", 16},      [PTX_BF16X2] = {"bf16x2", 32}, [PTX_TF32] = {"tf32", 32},
    [PTX_F32] = {"f32", 32},        [PTX_F32X2] = {"f32x2", 64},   [PTX_F64] = {"f64", 64},
    [PTX_E4M3] = {"e4m3", 8},       [PTX_E5M2] = {"e5m2", 8},      [PTX_E4M3X2] = {"e4m3x2", 16},
    [PTX_E5M2X2] = {"e5m2x2", 16},  [PTX_U16X2] = {"u16x2", 32},   [PTX_S16X2] = {"s16x2", 32},
};
enum { TYPES = sizeof types / sizeof *types };

static const char *const spaces[] = {
    [PTX_GENERIC] = "generic", [PTX_CONST] = "const", [PTX_GLOBAL] = "global",
    [PTX_LOCAL] = "local",     [PTX_PARAM] = "param", [PTX_SHARED] = "shared",
};

enum ptx_type type_named(struct slice name)
{
    if (name.length < 2 || !strchr("pbusfte", *name.begin))
        return PTX_NO_TYPE;
    for (unsigned i = PTX_PRED; i < TYPES; i++) {
        if (slice_is(name, types[i].name))
            return (enum ptx_type)i;
    }
    return PTX_NO_TYPE;
}

enum ptx_space space_named(struct slice name)
{
    for (unsigned i = PTX_CONST; i <= PTX_SHARED; i++) {
        if (slice_is(name, spaces[i]))
            return (enum ptx_space)i;
    }
    return PTX_GENERIC;
}

unsigned vector_named(struct slice name)
{
    if (name.length != 2 || name.begin[0] != 'v' || !strchr("248", name.begin[1]))
        return 0;
    return (unsigned)(name.begin[1] - '0');
}

unsigned ptx_type_bits(enum ptx_type type)
{
    return (unsigned)type < TYPES ? types[type].bits : 0;
}

const char *ptx_type_name(enum ptx_type type)
{
    return (unsigned)type < TYPES ? types[type].name : "unknown";
}

bool ptx_has_modifier(const struct ptx_instruction *instruction, const char *modifier)
{
    for (unsigned i = 0; i < instruction->modifier_count; i++) {
        if (strcmp(instruction->modifiers[i], modifier) == 0)
            return true;
    }
    return false;
}
