#include "tools/fuzz/case/block.h"

#include <math.h>
#include "lang/dtype.h"
#include "tools/fuzz/case/element.h"

enum { F16_LARGEST = 65504, CODES = 32 };

/* What stands beside the scale. */
enum beside { NOTHING, MINIMUM, SUM };

static const struct format {
    enum beside beside; /* the f16 behind the scale */
    int exponent; /* the largest code, times the largest scale of a group, is below 2^-exponent */
    int low;      /* the same of the minimum */
    unsigned at, code, codes; /* bytes: where the scale is; codes of 8 bits: the first, how many */
} formats[DTYPE_COUNT] = {
    [DTYPE_Q4_0] = {NOTHING, -3, 0, 0, 0, 0},     [DTYPE_Q4_1] = {MINIMUM, -4, 0, 0, 0, 0},
    [DTYPE_Q5_0] = {NOTHING, -4, 0, 0, 0, 0},     [DTYPE_Q5_1] = {MINIMUM, -5, 0, 0, 0, 0},
    [DTYPE_Q8_0] = {NOTHING, -7, 0, 0, 2, CODES}, [DTYPE_Q8_1] = {SUM, -7, 0, 0, 4, CODES},
    [DTYPE_Q4_K] = {MINIMUM, -10, -6, 0, 0, 0},   [DTYPE_Q5_K] = {MINIMUM, -11, -6, 0, 0, 0},
    [DTYPE_Q6_K] = {NOTHING, -12, 0, 208, 0, 0},  [DTYPE_Q2_K] = {MINIMUM, -6, -4, 80, 0, 0},
    [DTYPE_Q3_K] = {NOTHING, -7, 0, 108, 0, 0},   [DTYPE_IQ4_NL] = {NOTHING, -7, 0, 0, 0, 0},
    [DTYPE_IQ4_XS] = {NOTHING, -12, 0, 0, 0, 0},
};

static void put_half(uint8_t *at, double value)
{
    if (isfinite(value))
        value = fmax(fmin(value, F16_LARGEST), -F16_LARGEST);
    fuzz_encode(DTYPE_F16, at, value);
}

/* Of codes of 8 bits; -128 is made -127. */
static int sum_codes(uint8_t *code, unsigned codes)
{
    int sum = 0;
    for (unsigned i = 0; i < codes; i++) {
        code[i] = code[i] == 0x80 ? 0x81 : code[i];
        sum += (int8_t)code[i];
    }
    return sum;
}

void fuzz_encode_block(enum dtype dtype, double scale, double low, uint8_t *block)
{
    const struct format *format = &formats[dtype];
    uint8_t *at = block + format->at;
    put_half(at, ldexp(scale, format->exponent));
    int sum = sum_codes(block + format->code, format->codes);
    if (format->beside == MINIMUM)
        put_half(at + 2, ldexp(low, format->low));
    else if (format->beside == SUM)
        put_half(at + 2, fuzz_decode(DTYPE_F16, at) * sum);
}

uint32_t fuzz_block_align(enum dtype dtype)
{
    return formats[dtype].beside == NOTHING ? 2 : 4;
}
