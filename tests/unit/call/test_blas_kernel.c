/* Names of kernels that are cuBLAS's, and of such that are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "call/blas_kernel.h"

static void names_of_the_library_are_known(void **state)
{
    static const char *const names[] = {
        "nvjet_hsh_128x128_64x7_1x2_h_bz_TNT",
        "ampere_sgemm_128x64_nn",
        "volta_sgemm_32x128_tn",
        "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x64x64_stage4",
        "_ZN8cublasLt19splitKreduce_kernelILi32ELi16EiffffLb1ELb0ELb0EEEvT",
        "_Z17gemv2T_kernel_valIiiffffLi128ELi16ELi4ELi4ELb0ELb0E16cublasGemvParams",
        "_ZN8internal5gemvx6kernelIiiffffLb0ELb1ELb1ELb0ELi7ELb0E16cublasGemv",
        "_ZN7cutlass7Kernel2I55cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x5_nn_alEvT",
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!blas_kernel_is(names[i]))
            fail_msg("%s", names[i]);
    }
}

static void other_names_are_not(void **state)
{
    static const char *const names[] = {
        "",
        "own_gemm",
        "sgemm",
        "_ZN7cutlass13device_kernelINS_4gemm6kernelEEvT",
        "_ZN7cutlass7Kernel2I44cutlass_tensorop_f16_s16816fprop_optimizedEvT",
        "sm80_xmma_fprop_implicit_gemm",
        "triton_mm_nvjet_",
        "_Z19compare_with_cublasPf",
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (blas_kernel_is(names[i]))
            fail_msg("%s", names[i]);
    }
    assert_false(blas_kernel_library_is_loaded());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_the_library_are_known),
        cmocka_unit_test(other_names_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
