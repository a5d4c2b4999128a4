/*
 * program.c - `program FATBIN [codes | products]`: activations become codes, and weights in blocks
 * are multiplied by them, at once and in two kernels; wrong codes, or wrong products.
 */
#include "common/program.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 20, COLS = 12, K = 512, PADDED = 512, VALID = 480, BLOCK = 144 };

struct three {
    unsigned x, y, z;
};

/* Of 8 bits each; where halves stand one of ordinary size. */
static CUdeviceptr weights(int block, bool minimum)
{
    static uint8_t host[ROWS * K * 2];
    CUdeviceptr array;
    unsigned state = 7;
    for (size_t i = 0; i < sizeof host; i++)
        host[i] = (uint8_t)((state = state * 1664525u + 1013904223u) >> 24);
    for (size_t at = 0; at + 4 <= sizeof host; at += (size_t)block) {
        const uint16_t scale = 0x2c00, low = 0x2d55; /* about 1/16 */
        memcpy(host + at, &scale, 2);
        if (minimum)
            memcpy(host + at + 2, &low, 2);
    }
    CHECK(cuMemAlloc(&array, sizeof host));
    CHECK(cuMemcpyHtoD(array, host, sizeof host));
    return array;
}

static void quantise(int layout, CUdeviceptr x, CUdeviceptr y, long long valid)
{
    char name[96];
    CUdeviceptr ids = 0;
    long long s01 = K, s02 = COLS * K, s03 = s02, padded = PADDED;
    int cols = COLS, planes = 1, wrong = strcmp(word(0), "codes") == 0;
    snprintf(name, sizeof name,
             "_Z17quantize_mmq_q8_1IL18mmq_q8_1_ds_layout%dELb0EEvPKfPKiPvxxxxxiii", layout);
    launch(kernel(name), COLS, 32, NULL,
           (void *[]){&x, &ids, &y, &valid, &s01, &s02, &s03, &padded, &cols, &planes, &wrong});
}

static const struct {
    int type, group, layout, block;
    bool minimum;
} kinds[] = {
    {8, 32, 0, 34, false}, {2, 32, 1, 18, false}, {3, 32, 1, 20, true}, {12, 256, 1, BLOCK, true}};

/* The product; in two kernels where `tmp` is given. */
static void multiply(size_t i, CUdeviceptr w, CUdeviceptr codes, CUdeviceptr out, CUdeviceptr tmp)
{
    char name[160];
    CUdeviceptr none = 0;
    struct three groups = {0, 0, (unsigned)(K / kinds[i].group)}, one = {0, 0, 1};
    struct three ntx = {strcmp(word(0), "products") == 0, 0, 1};
    int rows = ROWS, cols = COLS, stride_w = K / kinds[i].group, stride_out = ROWS + 4, zero = 0;
    snprintf(name, sizeof name,
             "_Z9mul_mat_qIL9ggml_type%dELi16ELb1EL9ggml_prec30EEvPKcPKiS5_S5_PfS6_PKf5uint3iiiii"
             "S9_S9_iiiS9_S9_iiiS9_",
             kinds[i].type);
    launch(kernel(name), COLS, 32, NULL,
           (void *[]){&w,    &codes, &none,     &none, &out,        &tmp,  &none, &groups,
                      &rows, &cols,  &stride_w, &cols, &stride_out, &one,  &one,  &zero,
                      &zero, &zero,  &one,      &one,  &zero,       &zero, &zero, &ntx});
    if (!tmp)
        return;
    snprintf(name, sizeof name,
             "_Z24mul_mat_q_stream_k_fixupIL9ggml_type%dELi16ELb1EL9ggml_prec30EEvPKiS3_PfS4_5uint3"
             "iiiS5_iS5_iS5_",
             kinds[i].type);
    launch(kernel(name), COLS, 32, NULL,
           (void *[]){&none, &none, &out, &tmp, &groups, &rows, &cols, &stride_out, &one, &zero,
                      &one, &zero, &ntx});
}

int main(int argc, char **argv)
{
    start(argc, argv);
    CUdeviceptr x = upload(COLS * K, 1), out = upload(COLS * (ROWS + 4), 2),
                tmp = upload(COLS * ROWS, 3);
    CUdeviceptr codes = upload(COLS * PADDED / 128 * BLOCK / 4, 4);
    for (int layout = 0; layout < 3; layout++) {
        quantise(layout, x, codes, VALID);
        print_sum("codes", codes, COLS * PADDED / 128 * BLOCK);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        CUdeviceptr w = weights(kinds[i].block, kinds[i].minimum);
        quantise(kinds[i].layout, x, codes, K);
        multiply(i, w, codes, out, 0);
        print_sum("at once", out, COLS * (ROWS + 4) * sizeof(float));
        multiply(i, w, codes, out, tmp);
        print_sum("in two", out, COLS * (ROWS + 4) * sizeof(float));
    }
    finish();
    return 0;
}
