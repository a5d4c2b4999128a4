/* kernels.c - the kernels of contract_kernels.cu, as contract.c launches them. */
#include "contract.h"

#define EXACT                                                                                      \
    {                                                                                              \
        0                                                                                          \
    }
#define WITHIN(ulps)                                                                               \
    {                                                                                              \
        true, ulps, 0, 0                                                                           \
    }
#define APART(ulps, by)                                                                            \
    {                                                                                              \
        true, ulps, by, 0                                                                          \
    }

static const struct compiled KERNELS[] = {
    {"shuffles", I32, 4, 128, 2048, EXACT},
    {"votes", I32, 2, 128, 1024, EXACT},
    {"reductions", I32, 2, 128, 1024, EXACT},
    {"divergence", I32, 4, 96, 0, EXACT},
    {"atomics", I32, 8, 128, 64, EXACT},
    {"atomics_64", I64, 8, 128, 16, EXACT},
    {"atomics_float", F32, 8, 64, 8, EXACT},
    {"shared_scan", I32, 4, 256, 0, EXACT},
    {"shared_transpose", I32, 4, 256, 0, EXACT},
    {"barriers", I32, 4, 160, 0, EXACT},
    {"local_arrays", I32, 4, 64, 0, EXACT},
    {"calls", I32, 4, 64, 0, EXACT},
    {"divisions", I32, 16, 128, 8192, EXACT},
    {"divisions_64", I64, 16, 128, 8192, EXACT},
    {"float_divisions", F32, 16, 128, 8192, EXACT},
    {"double_divisions", F64, 16, 128, 6144, EXACT},
    {"half_intrinsics", F16, 16, 128, 14336, EXACT},
    {"bfloat_intrinsics", BF16, 16, 128, 14336, EXACT},
    {"bytes", I32, 16, 128, 8192, EXACT},
    {"function_expf", F32, 16, 128, 0, WITHIN(2)},
    {"function_logf", F32, 16, 128, 0, WITHIN(2)},
    {"function_sinf", F32, 16, 128, 0, WITHIN(2)},
    {"function_cosf", F32, 16, 128, 0, WITHIN(2)},
    {"function_tanhf", F32, 16, 128, 0, WITHIN(2)},
    {"function_rsqrtf", F32, 16, 128, 0, WITHIN(4)},
    {"function_erff", F32, 16, 128, 0, WITHIN(2)},
    {"function_powf", F32, 16, 128, 0, WITHIN(8)},
    {"function_exp", F64, 16, 128, 0, WITHIN(1)},
    {"function_log", F64, 16, 128, 0, WITHIN(1)},
    {"function_sin", F64, 16, 128, 0, WITHIN(2)},
    {"function_rsqrt", F64, 16, 128, 0, WITHIN(2)},
    {"function_erf", F64, 16, 128, 0, WITHIN(2)},
    {"function_tanh", F64, 16, 128, 0, WITHIN(2)},
    {"quick_functions", F32, 16, 128, 10240, APART(64, 0x1p-18)},
};

const struct compiled *compiled_kernels(unsigned *count)
{
    *count = sizeof KERNELS / sizeof KERNELS[0];
    return KERNELS;
}
