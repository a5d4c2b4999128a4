#include "lang/dtype.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text;
    unsigned bytes, elements; /* of a block */
} dtypes[DTYPE_COUNT] = {
    [DTYPE_NONE] = {"none", 0, 0},         [DTYPE_F64] = {"f64", 8, 0},
    [DTYPE_F32] = {"f32", 4, 0},           [DTYPE_F16] = {"f16", 2, 0},
    [DTYPE_BF16] = {"bf16", 2, 0},         [DTYPE_F8E4M3] = {"f8e4m3", 1, 0},
    [DTYPE_F8E5M2] = {"f8e5m2", 1, 0},     [DTYPE_I8] = {"i8", 1, 0},
    [DTYPE_I16] = {"i16", 2, 0},           [DTYPE_I32] = {"i32", 4, 0},
    [DTYPE_I64] = {"i64", 8, 0},           [DTYPE_U8] = {"u8", 1, 0},
    [DTYPE_U16] = {"u16", 2, 0},           [DTYPE_U32] = {"u32", 4, 0},
    [DTYPE_U64] = {"u64", 8, 0},           [DTYPE_BOOL] = {"bool", 1, 0},
    [DTYPE_Q4_0] = {"q4_0", 18, 32},       [DTYPE_Q4_1] = {"q4_1", 20, 32},
    [DTYPE_Q5_0] = {"q5_0", 22, 32},       [DTYPE_Q5_1] = {"q5_1", 24, 32},
    [DTYPE_Q8_0] = {"q8_0", 34, 32},       [DTYPE_Q8_1] = {"q8_1", 36, 32},
    [DTYPE_Q4_K] = {"q4_K", 144, 256},     [DTYPE_Q5_K] = {"q5_K", 176, 256},
    [DTYPE_Q6_K] = {"q6_K", 210, 256},     [DTYPE_Q2_K] = {"q2_K", 84, 256},
    [DTYPE_Q3_K] = {"q3_K", 110, 256},     [DTYPE_IQ4_NL] = {"iq4_nl", 18, 32},
    [DTYPE_IQ4_XS] = {"iq4_xs", 136, 256},
};

/* Names of CUDA, C++ and frameworks. A digit behind a name in the second column's type (float4)
 * makes a vector where `vector` is set. */
static const struct spelling {
    const char *text;
    enum dtype dtype;
    bool vector;
} spellings[] = {
    {"double", DTYPE_F64, true},
    {"float", DTYPE_F32, true},
    {"half", DTYPE_F16, true},
    {"__half", DTYPE_F16, true},
    {"nv_half", DTYPE_F16, true},
    {"c10::Half", DTYPE_F16, false},
    {"at::Half", DTYPE_F16, false},
    {"cutlass::half_t", DTYPE_F16, false},
    {"_Float16", DTYPE_F16, false},
    {"__nv_bfloat16", DTYPE_BF16, true},
    {"nv_bfloat16", DTYPE_BF16, true},
    {"__bf16", DTYPE_BF16, false},
    {"c10::BFloat16", DTYPE_BF16, false},
    {"at::BFloat16", DTYPE_BF16, false},
    {"cutlass::bfloat16_t", DTYPE_BF16, false},
    {"__nv_fp8_e4m3", DTYPE_F8E4M3, false},
    {"c10::Float8_e4m3fn", DTYPE_F8E4M3, false},
    {"__nv_fp8_e5m2", DTYPE_F8E5M2, false},
    {"c10::Float8_e5m2", DTYPE_F8E5M2, false},
    {"int8_t", DTYPE_I8, false},
    {"int16_t", DTYPE_I16, false},
    {"int32_t", DTYPE_I32, false},
    {"int64_t", DTYPE_I64, false},
    {"ssize_t", DTYPE_I64, false},
    {"ptrdiff_t", DTYPE_I64, false},
    {"uint8_t", DTYPE_U8, false},
    {"uint16_t", DTYPE_U16, false},
    {"uint32_t", DTYPE_U32, false},
    {"uint64_t", DTYPE_U64, false},
    {"size_t", DTYPE_U64, false},
    {"_Bool", DTYPE_BOOL, false},
    {"float16", DTYPE_F16, false}, /* NumPy's names, as in CuPy's symbols */
    {"bfloat16", DTYPE_BF16, false},
    {"float32", DTYPE_F32, false},
    {"float64", DTYPE_F64, false},
    {"int8", DTYPE_I8, false},
    {"int16", DTYPE_I16, false},
    {"int32", DTYPE_I32, false},
    {"int64", DTYPE_I64, false},
    {"uint8", DTYPE_U8, false},
    {"uint16", DTYPE_U16, false},
    {"uint32", DTYPE_U32, false},
    {"uint64", DTYPE_U64, false},
    {"block_q4_0", DTYPE_Q4_0, false}, /* ggml: the struct, and the value of its enum */
    {"(ggml_type)2", DTYPE_Q4_0, false},
    {"block_q4_1", DTYPE_Q4_1, false},
    {"(ggml_type)3", DTYPE_Q4_1, false},
    {"block_q5_0", DTYPE_Q5_0, false},
    {"(ggml_type)6", DTYPE_Q5_0, false},
    {"block_q5_1", DTYPE_Q5_1, false},
    {"(ggml_type)7", DTYPE_Q5_1, false},
    {"block_q8_0", DTYPE_Q8_0, false},
    {"(ggml_type)8", DTYPE_Q8_0, false},
    {"block_q8_1", DTYPE_Q8_1, false},
    {"(ggml_type)9", DTYPE_Q8_1, false},
    {"block_q4_K", DTYPE_Q4_K, false},
    {"(ggml_type)12", DTYPE_Q4_K, false},
    {"block_q5_K", DTYPE_Q5_K, false},
    {"(ggml_type)13", DTYPE_Q5_K, false},
    {"block_q6_K", DTYPE_Q6_K, false},
    {"(ggml_type)14", DTYPE_Q6_K, false},
    {"block_q2_K", DTYPE_Q2_K, false},
    {"(ggml_type)10", DTYPE_Q2_K, false},
    {"block_q3_K", DTYPE_Q3_K, false},
    {"(ggml_type)11", DTYPE_Q3_K, false},
    {"block_iq4_nl", DTYPE_IQ4_NL, false},
    {"(ggml_type)20", DTYPE_IQ4_NL, false},
    {"block_iq4_xs", DTYPE_IQ4_XS, false},
    {"(ggml_type)23", DTYPE_IQ4_XS, false},
    {"char", DTYPE_I8, true}, /* char is signed on the hosts that CUDA has */
    {"uchar", DTYPE_U8, true},
    {"short", DTYPE_I16, true},
    {"ushort", DTYPE_U16, true},
    {"int", DTYPE_I32, true},
    {"uint", DTYPE_U32, true},
    {"long", DTYPE_I64, true},
    {"ulong", DTYPE_U64, true},
    {"longlong", DTYPE_I64, true},
    {"ulonglong", DTYPE_U64, true},
};

enum { SPELLINGS = sizeof spellings / sizeof spellings[0] };

unsigned dtype_bytes(enum dtype dtype)
{
    return (unsigned)dtype < DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

unsigned dtype_block(enum dtype dtype)
{
    return (unsigned)dtype < DTYPE_COUNT ? dtypes[dtype].elements : 0;
}

const char *dtype_text(enum dtype dtype)
{
    return dtypes[(unsigned)dtype < DTYPE_COUNT ? dtype : DTYPE_NONE].text;
}

bool dtype_is_integer(enum dtype dtype)
{
    return dtype >= DTYPE_I8 && dtype <= DTYPE_BOOL;
}

bool dtype_is_real(enum dtype dtype)
{
    return dtype >= DTYPE_F64 && dtype <= DTYPE_F8E5M2;
}

bool dtype_is_usual(enum dtype dtype)
{
    return dtype >= DTYPE_F64 && dtype <= DTYPE_BF16;
}

/* "unsigned long int" and the like, in any order of words; false when a word is another. */
static bool parse_integer_words(const char *text, struct type *out)
{
    int is_unsigned = 0, is_signed = 0, longs = 0, shorts = 0, chars = 0, ints = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        static const char *const words[] = {"unsigned", "signed", "long", "short", "char", "int"};
        int *counts[] = {&is_unsigned, &is_signed, &longs, &shorts, &chars, &ints};
        size_t i = 0;
        while (i < 6 && (strlen(words[i]) != length || memcmp(words[i], text, length) != 0))
            i++;
        if (i == 6)
            return false;
        ++*counts[i];
        text += length;
        while (*text == ' ')
            text++;
    }
    if (is_unsigned + is_signed > 1 || longs > 2 || shorts + chars + (longs > 0) > 1)
        return false;
    static const enum dtype by_size[4][2] = {{DTYPE_I8, DTYPE_U8},
                                             {DTYPE_I16, DTYPE_U16},
                                             {DTYPE_I32, DTYPE_U32},
                                             {DTYPE_I64, DTYPE_U64}};
    int size = chars ? 0 : shorts ? 1 : longs ? 3 : 2;
    *out = (struct type){by_size[size][is_unsigned], 1};
    return true;
}

static bool find_dtype_name(const char *text, size_t length, bool vector, enum dtype *out)
{
    for (int i = DTYPE_F64; i < DTYPE_COUNT && !vector; i++) {
        if (strlen(dtypes[i].text) == length && memcmp(dtypes[i].text, text, length) == 0) {
            *out = (enum dtype)i;
            return true;
        }
    }
    for (int i = 0; i < SPELLINGS; i++) {
        if ((!vector || spellings[i].vector) && strlen(spellings[i].text) == length &&
            memcmp(spellings[i].text, text, length) == 0) {
            *out = spellings[i].dtype;
            return true;
        }
    }
    return false;
}

/* "bf16x2": one of our own names, x, 2 to 16. */
static bool parse_own_vector(const char *text, struct type *out)
{
    const char *x = strrchr(text, 'x');
    if (!x || x == text || !isdigit((unsigned char)x[1]))
        return false;
    char *end;
    unsigned long lanes = strtoul(x + 1, &end, 10);
    if (*end || lanes < 2 || lanes > 16)
        return false;
    for (int i = DTYPE_F64; i <= DTYPE_BOOL; i++) {
        size_t length = strlen(dtypes[i].text);
        if (length == (size_t)(x - text) && memcmp(dtypes[i].text, text, length) == 0) {
            *out = (struct type){(enum dtype)i, (unsigned)lanes};
            return true;
        }
    }
    return false;
}

bool type_parse(const char *text, struct type *out)
{
    size_t length = strlen(text);
    if (length == 0)
        return false;
    out->lanes = 1;
    if (find_dtype_name(text, length, false, &out->dtype) || parse_integer_words(text, out) ||
        parse_own_vector(text, out))
        return true;
    char last = text[length - 1];
    if (last < '2' || last > '4' || !find_dtype_name(text, length - 1, true, &out->dtype))
        return false;
    out->lanes = (unsigned)(last - '0');
    return true;
}

void type_offer(struct nearest *nearest)
{
    for (int i = DTYPE_F64; i < DTYPE_COUNT; i++)
        nearest_offer(nearest, dtypes[i].text);
    for (int i = 0; i < SPELLINGS; i++)
        nearest_offer(nearest, spellings[i].text);
}

unsigned type_align(struct type type)
{
    unsigned bytes = dtype_bytes(type.dtype);
    unsigned whole = bytes * type.lanes;
    bool power = (type.lanes & (type.lanes - 1)) == 0;
    return !power ? bytes : whole > 16 ? 16 : whole;
}

static double load_half(uint16_t bits)
{
    int exponent = (bits >> 10) & 31;
    int fraction = bits & 1023;
    double value = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                   : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                  : ldexp(fraction, -24);
    return bits & 0x8000 ? -value : value;
}

/* f8e5m2 is the upper half of an f16. f8e4m3 has no Inf, and one NaN of each sign; in the place of
 * an f16's bits it is a number 256 times as small. */
static double load_eight(enum dtype dtype, uint8_t bits)
{
    if (dtype == DTYPE_F8E5M2)
        return load_half((uint16_t)(bits << 8));
    if ((bits & 0x7f) == 0x7f)
        return (double)NAN;
    return 256 * load_half((uint16_t)((bits & 0x80) << 8 | (bits & 0x7f) << 7));
}

#define LOAD(T)                                                                                    \
    {                                                                                              \
        T value;                                                                                   \
        memcpy(&value, bytes, sizeof value);                                                       \
        return (double)value;                                                                      \
    }

double dtype_load(enum dtype dtype, const void *bytes)
{
    uint16_t half;
    uint32_t word;
    float single;
    switch (dtype) {
    case DTYPE_F64:
        LOAD(double)
    case DTYPE_F32:
        LOAD(float)
    case DTYPE_F16:
        memcpy(&half, bytes, sizeof half);
        return load_half(half);
    case DTYPE_BF16:
        memcpy(&half, bytes, sizeof half);
        word = (uint32_t)half << 16;
        memcpy(&single, &word, sizeof single);
        return (double)single;
    case DTYPE_F8E4M3:
    case DTYPE_F8E5M2:
        return load_eight(dtype, *(const uint8_t *)bytes);
    case DTYPE_I8:
        LOAD(int8_t)
    case DTYPE_I16:
        LOAD(int16_t)
    case DTYPE_I32:
        LOAD(int32_t)
    case DTYPE_I64:
        LOAD(int64_t)
    case DTYPE_U8:
    case DTYPE_BOOL:
        LOAD(uint8_t)
    case DTYPE_U16:
        LOAD(uint16_t)
    case DTYPE_U32:
        LOAD(uint32_t)
    case DTYPE_U64:
        LOAD(uint64_t)
    default:
        return (double)NAN;
    }
}
