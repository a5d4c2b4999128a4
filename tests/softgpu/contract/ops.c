/* ops.c - the list of the operations: every arithmetic instruction in all its types and modifiers.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "contract.h"

enum { OPERATIONS_MAX = 4096 };
static struct operation list[OPERATIONS_MAX];
static unsigned listed;

static const struct {
    const char *name;
    enum kind kind;
} TYPES[] = {
    {"u8", I8},         {"s8", I8},
    {"u16", I16},       {"s16", I16},
    {"b16", I16},       {"u32", I32},
    {"s32", I32},       {"b32", I32},
    {"u64", I64},       {"s64", I64},
    {"b64", I64},       {"f16", F16},
    {"bf16", BF16},     {"f16x2", F16X2},
    {"bf16x2", BF16X2}, {"f32", F32},
    {"f64", F64},       {"e4m3x2", E4M3X2},
    {"e5m2x2", E5M2X2}, {"tf32", F32},
    {"u16x2", I32},     {"s16x2", I32},
    {"f32x2", F32X2},   {"pred", PREDICATE},
    {"amount", AMOUNT}, {"selector", SELECTOR},
};

static enum kind kind_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++)
        if (strlen(TYPES[i].name) == length && memcmp(TYPES[i].name, name, length) == 0)
            return TYPES[i].kind;
    fprintf(stderr, "contract: no type %.*s\n", (int)length, name);
    exit(2);
}

/* Adds an operation; `types` are those of the result and of the sources, with blanks between. */
static struct operation *add(unsigned arch, const char *types, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static struct operation *add(unsigned arch, const char *types, const char *format, ...)
{
    if (listed == OPERATIONS_MAX) {
        fprintf(stderr, "contract: too many operations\n");
        exit(2);
    }
    struct operation *op = &list[listed++];
    va_list args;
    va_start(args, format);
    vsnprintf(op->name, sizeof op->name, format, args);
    va_end(args);
    op->arch = arch;
    for (const char *at = types; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        enum kind kind = kind_of(at, length);
        if (at == types)
            op->result = kind;
        else
            op->sources[op->source_count++] = kind;
        at += length;
    }
    op->count = kind_bits(op->result) == 64 ? 3072 : 4096;
    if (op->source_count == 1)
        op->count = 1024;
    return op;
}

static const char *const ROUNDINGS[] = {".rn", ".rz", ".rm", ".rp", NULL};
static const char *const INTEGER_ROUNDINGS[] = {".rni", ".rzi", ".rmi", ".rpi", NULL};
static const char *const FTZ[] = {"", ".ftz", NULL};
static const char *const SAT[] = {"", ".sat", NULL};
static const char *const INTEGERS[] = {"u16", "s16", "u32", "s32", "u64", "s64", NULL};
#define FOR(word, words) for (const char *const *word = words; *word; word++)
#define WORDS(...)       ((const char *const[]){__VA_ARGS__, NULL})

/* "T T T T" up to `count` of them. */
static const char *times(const char *type, unsigned count)
{
    static char text[64];
    text[0] = '\0';
    for (unsigned i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", type);
    return text;
}
/* The result of one type, `count` sources of another. */
static const char *from(const char *result, const char *source, unsigned count)
{
    static char text[64];
    snprintf(text, sizeof text, "%s %s", result, times(source, count));
    return text;
}

/* ---- integers -------------------------------------------------------------------------------- */

static void list_integers(void)
{
    FOR(t, INTEGERS)
    {
        FOR(op, WORDS("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"))
        add(75, times(*t, 3), "%s.%s", *op, *t);
        FOR(op, WORDS("mad.lo", "mad.hi", "sad"))
        add(75, times(*t, 4), "%s.%s", *op, *t);
        if ((*t)[0] == 's')
            FOR(op, WORDS("abs", "neg"))
        add(75, times(*t, 2), "%s.%s", *op, *t);
    }
    FOR(op, WORDS("add.sat", "sub.sat"))
    add(75, times("s32", 3), "%s.s32", *op);
    add(75, times("s32", 4), "mad.hi.sat.s32");
    FOR(t, WORDS("u16x2", "s16x2"))
    FOR(op, WORDS("add", "min", "max"))
    add(90, times(*t, 3), "%s.%s", *op, *t);
    FOR(t, WORDS("s16x2", "s32"))
    FOR(op, WORDS("min.relu", "max.relu"))
    add(90, times(*t, 3), "%s.%s", *op, *t);
    FOR(s, WORDS("u", "s"))
    {
        char narrow[16], wide[16];
        for (int bits = 16; bits <= 32; bits *= 2) {
            snprintf(narrow, sizeof narrow, "%s%d", *s, bits);
            snprintf(wide, sizeof wide, "%s%d", *s, bits * 2);
            add(75, from(wide, narrow, 2), "mul.wide.%s", narrow);
            char types[64];
            snprintf(types, sizeof types, "%s %s %s %s", wide, narrow, narrow, wide);
            add(75, types, "mad.wide.%s", narrow);
        }
        FOR(half, WORDS("lo", "hi"))
        {
            add(75, times("u32", 3), "mul24.%s.%s32", *half, *s);
            add(75, times("u32", 4), "mad24.%s.%s32", *half, *s);
        }
        FOR(other, WORDS("u", "s"))
        {
            add(75, times("u32", 4), "dp4a.%s32.%s32", *s, *other);
            add(75, times("u32", 4), "dp2a.lo.%s32.%s32", *s, *other);
            add(75, times("u32", 4), "dp2a.hi.%s32.%s32", *s, *other);
        }
    }
    add(75, times("s32", 4), "mad24.hi.sat.s32");
}

static void list_carries(void)
{
    static const struct {
        const char *name, *body;
    } CHAINS[] = {
        {"add.cc addc", "{ .reg .b32 t; add.cc.u32 t, A, B; addc.u32 D, C, t; }"},
        {"add.cc addc.cc addc",
         "{ .reg .b32 t; add.cc.u32 t, A, B; addc.cc.u32 t, C, A; addc.u32 D, t, 0; }"},
        {"sub.cc subc", "{ .reg .b32 t; sub.cc.u32 t, A, B; subc.u32 D, C, t; }"},
        {"sub.cc subc.cc subc",
         "{ .reg .b32 t; sub.cc.u32 t, A, B; subc.cc.u32 t, C, A; subc.u32 D, t, 0; }"},
        {"mad.lo.cc madc.hi", "{ .reg .b32 t; mad.lo.cc.u32 t, A, B, C; madc.hi.u32 D, A, B, t; }"},
        {"mad.hi.cc madc.lo.cc addc",
         "{ .reg .b32 t; mad.hi.cc.u32 t, A, B, C; madc.lo.cc.u32 t, A, C, "
         "t; addc.u32 D, t, 0; }"},
        {"sub.cc addc", "{ .reg .b32 t; sub.cc.u32 t, A, B; addc.u32 D, C, 0; }"},
        {"add.cc subc", "{ .reg .b32 t; add.cc.u32 t, A, B; subc.u32 D, C, 0; }"},
    };
    for (size_t i = 0; i < sizeof CHAINS / sizeof CHAINS[0]; i++)
        add(75, times("u32", 4), "%s", CHAINS[i].name)->body = CHAINS[i].body;
    add(75, times("u64", 4), "add.cc addc u64")->body =
        "{ .reg .b64 t; add.cc.u64 t, A, B; addc.u64 D, C, t; }";
    add(75, times("u64", 4), "sub.cc subc u64")->body =
        "{ .reg .b64 t; sub.cc.u64 t, A, B; subc.u64 D, C, t; }";
}

static void list_bits(void)
{
    FOR(t, WORDS("b16", "b32", "b64"))
    {
        FOR(op, WORDS("and", "or", "xor"))
        add(75, times(*t, 3), "%s.%s", *op, *t);
        FOR(op, WORDS("not", "cnot"))
        add(75, times(*t, 2), "%s.%s", *op, *t);
    }
    FOR(bits, WORDS("32", "64"))
    {
        char b[8];
        snprintf(b, sizeof b, "b%s", *bits);
        add(75, from("u32", b, 1), "popc.b%s", *bits);
        add(75, from("u32", b, 1), "clz.b%s", *bits);
        add(75, times(b, 2), "brev.b%s", *bits);
        char types[64];
        FOR(s, WORDS("u", "s"))
        {
            add(75, from("u32", b, 1), "bfind.%s%s", *s, *bits);
            add(75, from("u32", b, 1), "bfind.shiftamt.%s%s", *s, *bits);
            snprintf(types, sizeof types, "%s %s amount amount", b, b);
            add(75, types, "bfe.%s%s", *s, *bits);
        }
        snprintf(types, sizeof types, "%s %s %s amount amount", b, b, b);
        add(75, types, "bfi.b%s", *bits);
    }
    FOR(t, WORDS("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"))
    {
        char types[64];
        snprintf(types, sizeof types, "%s %s amount", *t, *t);
        if ((*t)[0] == 'b')
            add(75, types, "shl.%s", *t);
        add(75, types, "shr.%s", *t);
    }
    FOR(way, WORDS("l.wrap", "l.clamp", "r.wrap", "r.clamp"))
    add(75, "b32 b32 b32 amount", "shf.%s.b32", *way);
    add(75, "b32 b32 b32 selector", "prmt.b32");
    FOR(mode, WORDS("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"))
    add(75, "b32 b32 b32 amount", "prmt.b32.%s", *mode);
    FOR(mode, WORDS("wrap", "clamp"))
    {
        add(75, "b32 b32 amount", "szext.%s.u32", *mode);
        add(75, "b32 b32 amount", "szext.%s.s32", *mode);
        add(75, "b32 amount amount", "bmsk.%s.b32", *mode);
    }
    add(75, "b32 b32 amount amount", "fns.b32")->body =
        "{ .reg .b32 t; sub.u32 t, C, 32; fns.b32 D, A, B, t; }";
    static const char *const TABLES[] = {"0x96", "0xe8", "0xca", "0x01",
                                         "0x80", "0x3c", "0x5a", NULL};
    FOR(table, TABLES)
    {
        char body[64];
        snprintf(body, sizeof body, "lop3.b32 D, A, B, C, %s;", *table);
        add(75, times("b32", 4), "lop3.b32 %s", *table)->body = strdup(body);
    }
    FOR(t, WORDS("u16", "s16"))
    add(75, "u32 s32 s32", "cvt.pack.sat.%s.s32", *t);
    FOR(t, WORDS("u8", "s8", "u4", "s4", "u2", "s2"))
    add(75, "u32 s32 s32 u32", "cvt.pack.sat.%s.s32.b32", *t);
    add(75, times("b32", 4), "lop3.or.b32 to a sink")->body =
        "{ .reg .pred p, q; setp.ne.b32 q, C, 0; lop3.or.b32 _|p, A, B, C, 0x96, q; "
        "selp.b32 D, 1, 0, p; }";
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static void list_compare(unsigned arch, const char *type, const char *const *ops)
{
    const char *const *ftz = type[0] == 'f' && strcmp(type, "f64") != 0 ? FTZ : WORDS("");
    FOR(z, ftz)
    FOR(op, ops)
    {
        char text[128], types[64];
        snprintf(text, sizeof text, "setp.%s%s.%s", *op, *z, type);
        add(arch, from("pred", type, 2), "%s", text);
        if (strcmp(*op, "lt") != 0 && strcmp(*op, "ne") != 0)
            continue;
        FOR(combine, WORDS("and", "or", "xor"))
        {
            snprintf(types, sizeof types, "pred %s pred", times(type, 2));
            add(arch, types, "setp.%s.%s%s.%s", *op, *combine, *z, type);
        }
        if (!strstr(type, "x2"))
            FOR(result, WORDS("u32", "f32"))
        if (type[0] != 'b' && strcmp(type, "f16") != 0)
            add(arch, from(*result, type, 2), "set.%s%s.%s.%s", *op, *z, *result, type);
    }
}

static void list_comparisons(void)
{
    static const char *const SIGNED[] = {"eq", "ne", "lt", "le", "gt", "ge", NULL};
    static const char *const UNSIGNED[] = {"eq", "ne", "lt", "le", "gt", "ge",
                                           "lo", "ls", "hi", "hs", NULL};
    static const char *const FLOAT[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ", "neu",
                                        "ltu", "leu", "gtu", "geu", "num", "nan", NULL};
    static const char *const EQUAL[] = {"eq", "ne", NULL};
    FOR(t, WORDS("b16", "b32", "b64"))
    list_compare(75, *t, EQUAL);
    FOR(t, WORDS("u16", "u32", "u64"))
    list_compare(75, *t, UNSIGNED);
    FOR(t, WORDS("s16", "s32", "s64"))
    list_compare(75, *t, SIGNED);
    FOR(t, WORDS("f32", "f64", "f16", "f16x2"))
    list_compare(75, *t, FLOAT);
    FOR(t, WORDS("bf16", "bf16x2"))
    list_compare(90, *t, FLOAT);
    FOR(z, FTZ)
    add(75, from("f16x2", "f16x2", 2), "set.lt%s.f16x2.f16x2", *z);
    FOR(t, WORDS("f16", "u16", "u32"))
    add(75, from(*t, "f16", 2), "set.gtu.%s.f16", *t);
    FOR(t, WORDS("f32", "f64"))
    FOR(test, WORDS("finite", "infinite", "number", "notanumber", "normal", "subnormal"))
    {
        struct operation *op = add(75, from("pred", *t, 1), "testp.%s.%s", *test, *t);
        char body[96];
        snprintf(body, sizeof body, "testp.%s.%s P, A; mov.pred Q, P;", *test, *t);
        op->body = strdup(body);
    }
    FOR(t, WORDS("b16", "b32", "b64"))
    {
        char types[64];
        snprintf(types, sizeof types, "%s pred", times(*t, 3));
        add(75, types, "selp.%s", *t);
        snprintf(types, sizeof types, "%s s32", times(*t, 3));
        add(75, types, "slct.%s.s32", *t);
        snprintf(types, sizeof types, "%s f32", times(*t, 3));
        FOR(z, FTZ)
        add(75, types, "slct%s.%s.f32", *z, *t);
    }
}

/* ---- floats ---------------------------------------------------------------------------------- */

static void list_floats(void)
{
    FOR(r, ROUNDINGS)
    {
        FOR(z, FTZ)
        {
            FOR(s, SAT)
            {
                FOR(op, WORDS("add", "sub", "mul"))
                add(75, times("f32", 3), "%s%s%s%s.f32", *op, *r, *z, *s);
                add(75, times("f32", 4), "fma%s%s%s.f32", *r, *z, *s);
            }
            add(75, times("f32", 3), "div%s%s.f32", *r, *z);
            add(75, times("f32", 2), "rcp%s%s.f32", *r, *z);
            add(75, times("f32", 2), "sqrt%s%s.f32", *r, *z);
            FOR(op, WORDS("add", "mul"))
            add(100, times("f32x2", 3), "%s%s%s.f32x2", *op, *r, *z);
            add(100, times("f32x2", 4), "fma%s%s.f32x2", *r, *z);
        }
        FOR(op, WORDS("add", "sub", "mul", "div"))
        add(75, times("f64", 3), "%s%s.f64", *op, *r);
        add(75, times("f64", 4), "fma%s.f64", *r);
        add(75, times("f64", 2), "rcp%s.f64", *r);
        add(75, times("f64", 2), "sqrt%s.f64", *r);
    }
    FOR(op, WORDS("min", "max"))
    {
        FOR(z, FTZ)
        {
            add(75, times("f32", 3), "%s%s.f32", *op, *z);
            add(80, times("f32", 3), "%s%s.NaN.f32", *op, *z);
            add(86, times("f32", 3), "%s%s.xorsign.abs.f32", *op, *z);
            add(86, times("f32", 3), "%s%s.NaN.xorsign.abs.f32", *op, *z);
            FOR(rest, WORDS("", ".NaN", ".abs", ".NaN.abs"))
            {
                char body[64];
                snprintf(body, sizeof body, "%s%s%s.f32 D, A, B, C;", *op, *z, *rest);
                add(100, times("f32", 4), "%s%s%s.f32 of three", *op, *z, *rest)->body =
                    strdup(body);
            }
        }
        add(75, times("f64", 3), "%s.f64", *op);
    }
    FOR(op, WORDS("abs", "neg"))
    {
        FOR(z, FTZ)
        add(75, times("f32", 2), "%s%s.f32", *op, *z);
        add(75, times("f64", 2), "%s.f64", *op);
    }
    FOR(t, WORDS("f32", "f64"))
    add(75, times(*t, 3), "copysign.%s", *t);
}

static void list_halves(void)
{
    FOR(x2, WORDS("", "x2"))
    {
        char f16[8], bf16[8];
        snprintf(f16, sizeof f16, "f16%s", *x2);
        snprintf(bf16, sizeof bf16, "bf16%s", *x2);
        FOR(z, FTZ)
        {
            FOR(s, SAT)
            {
                FOR(op, WORDS("add", "sub", "mul"))
                add(75, times(f16, 3), "%s%s%s.%s", *op, *z, *s, f16);
                add(75, times(f16, 4), "fma.rn%s%s.%s", *z, *s, f16);
            }
            add(80, times(f16, 4), "fma.rn%s.relu.%s", *z, f16);
            FOR(op, WORDS("min", "max"))
            {
                add(80, times(f16, 3), "%s%s.%s", *op, *z, f16);
                add(80, times(f16, 3), "%s%s.NaN.%s", *op, *z, f16);
                add(86, times(f16, 3), "%s%s.xorsign.abs.%s", *op, *z, f16);
                add(86, times(f16, 3), "%s%s.NaN.xorsign.abs.%s", *op, *z, f16);
            }
            FOR(op, WORDS("abs", "neg"))
            add(75, times(f16, 2), "%s%s.%s", *op, *z, f16)->count = **x2 ? 1024 : 65536;
        }
        FOR(op, WORDS("add", "sub", "mul"))
        add(90, times(bf16, 3), "%s.%s", *op, bf16);
        add(80, times(bf16, 4), "fma.rn.%s", bf16);
        add(80, times(bf16, 4), "fma.rn.relu.%s", bf16);
        FOR(op, WORDS("min", "max"))
        {
            add(80, times(bf16, 3), "%s.%s", *op, bf16);
            add(80, times(bf16, 3), "%s.NaN.%s", *op, bf16);
            add(86, times(bf16, 3), "%s.xorsign.abs.%s", *op, bf16);
            add(86, times(bf16, 3), "%s.NaN.xorsign.abs.%s", *op, bf16);
        }
        FOR(op, WORDS("abs", "neg"))
        add(80, times(bf16, 2), "%s.%s", *op, bf16)->count = **x2 ? 1024 : 65536;
    }
}

/* ---- conversions ----------------------------------------------------------------------------- */

static const char *const ALL_INTEGERS[] = {"u8",  "s8",  "u16", "s16", "u32",
                                           "s32", "u64", "s64", NULL};

/* Whether all numbers of one integer type are numbers of the other; then .sat is not allowed. */
static bool holds(const char *wide, const char *narrow)
{
    int room = atoi(wide + 1) - atoi(narrow + 1);
    return wide[0] == narrow[0] ? room >= 0 : wide[0] == 's' && room > 0;
}

static void list_integer_conversions(void)
{
    FOR(d, ALL_INTEGERS)
    FOR(s, ALL_INTEGERS)
    FOR(sat, SAT)
    if (strcmp(*d, *s) != 0 && !(**sat && holds(*d, *s)))
        add(75, from(*d, *s, 1), "cvt%s.%s.%s", *sat, *d, *s);
    FOR(i, ALL_INTEGERS)
    {
        FOR(f, WORDS("f16", "bf16", "f32", "f64"))
        {
            unsigned arch = (*f)[0] == 'b' ? 90 : 75;
            if (arch == 90 && (*i)[1] == '8')
                continue;
            FOR(r, INTEGER_ROUNDINGS)
            add(arch, from(*i, *f, 1), "cvt%s.%s.%s", *r, *i, *f)->count =
                (*f)[1] == '1' ? 8192 : 1024;
            FOR(r, ROUNDINGS)
            {
                add(arch, from(*f, *i, 1), "cvt%s.%s.%s", *r, *f, *i);
                if ((*f)[0] != 'b')
                    add(arch, from(*f, *i, 1), "cvt%s.sat.%s.%s", *r, *f, *i);
            }
        }
        add(75, from(*i, "f32", 1), "cvt.rzi.ftz.%s.f32", *i);
        add(75, from(*i, "f32", 1), "cvt.rpi.ftz.%s.f32", *i);
    }
}

static void list_float_conversions(void)
{
    FOR(s, SAT)
    {
        FOR(z, FTZ)
        {
            add(75, "f32 f16", "cvt%s%s.f32.f16", *z, *s)->count = 65536;
            add(75, "f64 f32", "cvt%s%s.f64.f32", *z, *s)->count = 3072;
            FOR(r, INTEGER_ROUNDINGS)
            add(75, "f32 f32", "cvt%s%s%s.f32.f32", *r, *z, *s);
            FOR(r, ROUNDINGS)
            {
                add(75, "f32 f64", "cvt%s%s%s.f32.f64", *r, *z, *s)->count = 4096;
                add(75, "f16 f32", "cvt%s%s%s.f16.f32", *r, *z, *s)->count = 4096;
            }
        }
        add(75, "f64 f16", "cvt%s.f64.f16", *s)->count = 4096;
        FOR(r, ROUNDINGS)
        add(75, "f16 f64", "cvt%s%s.f16.f64", *r, *s)->count = 4096;
        FOR(r, INTEGER_ROUNDINGS)
        {
            add(75, "f64 f64", "cvt%s%s.f64.f64", *r, *s);
            add(75, "f16 f16", "cvt%s%s.f16.f16", *r, *s)->count = 16384;
        }
    }
    add(90, "f32 bf16", "cvt.f32.bf16")->count = 65536;
    add(90, "f64 bf16", "cvt.f64.bf16")->count = 4096;
    FOR(r, INTEGER_ROUNDINGS)
    add(90, "bf16 bf16", "cvt%s.bf16.bf16", *r)->count = 16384;
    FOR(r, ROUNDINGS)
    {
        bool to_nearest_or_zero = (*r)[2] == 'n' || (*r)[2] == 'z';
        add(to_nearest_or_zero ? 80 : 90, "bf16 f32", "cvt%s.bf16.f32", *r)->count = 4096;
        add(90, "bf16 f64", "cvt%s.bf16.f64", *r)->count = 4096;
        add(90, "bf16 f16", "cvt%s.bf16.f16", *r)->count = 16384;
        add(90, "f16 bf16", "cvt%s.f16.bf16", *r)->count = 16384;
        if (!to_nearest_or_zero)
            continue;
        FOR(t, WORDS("f16", "bf16", "f16x2", "bf16x2"))
        FOR(kind, WORDS("", ".relu", ".satfinite", ".relu.satfinite"))
        {
            unsigned arch = strstr(*kind, "satfinite") ? 90 : 80;
            unsigned sources = strstr(*t, "x2") ? 2 : 1;
            if (**kind || sources == 2)
                add(arch, from(*t, "f32", sources), "cvt%s%s.%s.f32", *r, *kind, *t)->count = 4096;
        }
        FOR(relu, WORDS("", ".relu"))
        add(90, "f32 f32", "cvt%s%s.tf32.f32", *r, *relu)->count = 4096;
    }
    add(80, "f32 f32", "cvt.rna.tf32.f32")->count = 4096;
    FOR(t, WORDS("e4m3x2", "e5m2x2"))
    FOR(relu, WORDS("", ".relu"))
    {
        add(89, from(*t, "f32", 2), "cvt.rn.satfinite%s.%s.f32", *relu, *t);
        add(89, from(*t, "f16x2", 1), "cvt.rn.satfinite%s.%s.f16x2", *relu, *t)->count = 8192;
        add(89, from("f16x2", *t, 1), "cvt.rn%s.f16x2.%s", *relu, *t)->count = 65536;
    }
}

/* ---- approximations -------------------------------------------------------------------------- */

static void approximate(struct operation *op, double ulps, double absolute, double within)
{
    op->bound = (struct bound){true, ulps, absolute, within};
    op->count = kind_bits(op->result) == 64 ? 8192 : 16384;
}

/* The bounds of the PTX ISA; relative ones of 2^-n are given in ulps. */
static void list_approximations(void)
{
    FOR(z, FTZ)
    {
        approximate(add(75, "f32 f32", "rcp.approx%s.f32", *z), 1, 0, 0);
        approximate(add(75, "f32 f32", "sqrt.approx%s.f32", *z), 3, 0, 0);
        approximate(add(75, "f32 f32", "rsqrt.approx%s.f32", *z), 3, 0, 0);
        approximate(add(75, "f32 f32", "sin.approx%s.f32", *z), 0, 0x1p-20, 6.2831855);
        approximate(add(75, "f32 f32", "cos.approx%s.f32", *z), 0, 0x1p-20, 6.2831855);
        approximate(add(75, "f32 f32", "lg2.approx%s.f32", *z), 4, 0x1p-22, 0);
        approximate(add(75, "f32 f32", "ex2.approx%s.f32", *z), 4, 0, 0);
        approximate(add(75, "f32 f32 f32", "div.approx%s.f32", *z), 2, 0, 0);
        approximate(add(75, "f32 f32 f32", "div.full%s.f32", *z), 2, 0, 0);
    }
    approximate(add(75, "f32 f32", "tanh.approx.f32"), 8192, 0x1p-11, 0);
    approximate(add(75, "f64 f64", "rcp.approx.ftz.f64"), 0x1p33, 0, 0);
    approximate(add(75, "f64 f64", "rsqrt.approx.ftz.f64"), 0x1p33, 0, 0);
    approximate(add(75, "f64 f64", "rsqrt.approx.f64"), 2, 0, 0);
    FOR(x2, WORDS("", "x2"))
    {
        char type[8];
        snprintf(type, sizeof type, "f16%s", *x2);
        approximate(add(75, times(type, 2), "ex2.approx.%s", type), 2, 0x1p-9, 0);
        approximate(add(75, times(type, 2), "tanh.approx.%s", type), 2, 0x1p-10, 0);
        snprintf(type, sizeof type, "bf16%s", *x2);
        approximate(add(90, times(type, 2), "ex2.approx.ftz.%s", type), 2, 0x1p-7, 0);
        approximate(add(90, times(type, 2), "tanh.approx.%s", type), 2, 0x1p-8, 0);
    }
}

const struct operation *operations(unsigned *count)
{
    if (listed == 0) {
        list_integers();
        list_carries();
        list_bits();
        list_comparisons();
        list_floats();
        list_halves();
        list_integer_conversions();
        list_float_conversions();
        list_approximations();
    }
    *count = listed;
    return list;
}
