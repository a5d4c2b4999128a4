/*
 * program.c - pointwise kernels as PyTorch launches them: `program FATBIN FORM [wrong|other]`, FORM
 * one of flat, casts and strided. With `other` a launch holds a type that no kernel has.
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NATIVE "_ZN2at6native"
#define VECTOR NATIVE "29vectorized_elementwise_kernelILi"
#define ARRAYS "St5arrayIPcLm3EEEEviT0_T1_"
#define CASTS                                                                                      \
    "E23TrivialOffsetCalculatorILi2EjES7_ILi1EjENS0_6memory12LoadWithCastILi2EEENSA_"              \
    "13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_"

enum { COUNT = 5003, REPEAT = 3, F32 = 6, COMPLEX = 9, BF16 = 15 };

struct three {
    CUdeviceptr data[3];
};

/* Numbers of either type. */
static CUdeviceptr numbers(int type, unsigned seed)
{
    static uint16_t narrow[COUNT];
    static uint32_t wide[COUNT];
    CUdeviceptr array = upload(COUNT, seed);
    if (type != BF16)
        return array;
    CHECK(cuMemcpyDtoH(wide, array, sizeof wide));
    for (int i = 0; i < COUNT; i++)
        narrow[i] = (uint16_t)(wide[i] >> 16);
    CHECK(cuMemcpyHtoD(array, narrow, sizeof narrow));
    return array;
}

static void flat(bool wrong)
{
    static const char *const names[][2] = {
        {VECTOR "4ENS0_15CUDAFunctor_addIfEE" ARRAYS, VECTOR "8ENS0_15CUDAFunctor_addIfEE" ARRAYS},
        {VECTOR "4ENS0_13BinaryFunctorIN3c108BFloat16ES4_S4_NS0_15binary_"
                "internal10MulFunctorIfEEEE" ARRAYS,
         VECTOR "8ENS0_13BinaryFunctorIN3c108BFloat16ES4_S4_NS0_15binary_"
                "internal10MulFunctorIfEEEE" ARRAYS},
        {VECTOR "4ENS0_15CUDAFunctor_addIN3c108BFloat16EEE" ARRAYS, NULL}};
    int n = COUNT;
    float alpha = 0.7f;
    char empty = 0;
    for (int i = 0; i < (wrong ? 2 : 3); i++) {
        int type = i ? BF16 : F32;
        struct three all = {{numbers(type, 1), numbers(type, 2), numbers(type, 3)}};
        void *functor = i == 1 ? (void *)&empty : (void *)&alpha;
        for (int j = 0; j < REPEAT; j++)
            launch(kernel(names[i][wrong]), 10, 128, NULL, (void *[]){&n, functor, &all});
        print_sum("flat", all.data[0], type == BF16 ? 2 * COUNT : 4 * COUNT);
    }
}

static void cast(const char *name, int out, int one, int two)
{
    struct {
        signed char dtypes[2];
        unsigned sizes[2];
    } load = {{(signed char)one, (signed char)two}, {one == BF16 ? 2 : 4, two == BF16 ? 2 : 4}};
    struct {
        signed char dtype;
        unsigned size;
    } store = {(signed char)out, out == BF16 ? 2 : 4};
    int n = COUNT;
    float alpha = -1.3f;
    char empty = 0;
    struct three all = {{numbers(out, 4), numbers(one, 5), numbers(two, 6)}};
    for (int j = 0; j < REPEAT; j++)
        launch(kernel(name), 10, 128, NULL,
               (void *[]){&n, &alpha, &all, &empty, &empty, &load, &store});
    print_sum("cast", all.data[0], out == BF16 ? 2 * COUNT : 4 * COUNT);
}

static void casts(bool wrong, bool other)
{
    const char *name = NATIVE "27unrolled_elementwise_kernelINS0_15CUDAFunctor_addIfEE"
                              "St5arrayIPcLm3EELi4" CASTS;
    if (wrong)
        name = NATIVE
            "27unrolled_elementwise_kernelINS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EELi8" CASTS;
    cast(name, F32, BF16, F32);
    cast(name, BF16, F32, F32);
    cast(name, BF16, BF16, other ? COMPLEX : BF16);
}

struct closure {
    int dims;
    struct {
        unsigned divisor, magic, shift;
    } size[25];
    unsigned stride[25][3];
    CUdeviceptr data[3];
    char functor;
};

/* y[5][7][9] = a, dense, times b[5][9], repeated along the middle, its rows 16 apart. */
static void strided(bool wrong)
{
    static const unsigned size[3] = {9, 7, 5},
                          stride[3][3] = {{4, 4, 4}, {36, 36, 0}, {252, 252, 64}};
    struct closure c;
    int total = 5 * 7 * 9;
    memset(&c, 0, sizeof c);
    c.dims = 3;
    for (int d = 0; d < 25; d++)
        c.size[d].divisor = d < 3 ? size[d] : 1;
    memcpy(c.stride, stride, sizeof stride);
    for (unsigned i = 0; i < 3; i++)
        c.data[i] = upload(400, 7 + i);
    for (int j = 0; j < REPEAT; j++)
        launch(kernel(wrong ? "strided_wrong" : "strided_right"), 4, 128, NULL,
               (void *[]){&total, &c});
    print_sum("strided", c.data[0], 4 * (size_t)total);
}

int main(int argc, char **argv)
{
    start(argc, argv);
    bool wrong = strcmp(word(1), "wrong") == 0;
    if (strcmp(word(0), "flat") == 0)
        flat(wrong);
    else if (strcmp(word(0), "casts") == 0)
        casts(wrong, strcmp(word(1), "other") == 0);
    else
        strided(wrong);
    finish();
    return 0;
}
