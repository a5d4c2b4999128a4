/* Which compiler made a kernel, by its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "names/generated.h"

static void fusions_of_xla(void **state)
{
    static const char *const names[] = {"loop_add_fusion",
                                        "loop_add_fusion_3",
                                        "input_reduce_fusion_12_0",
                                        "fusion",
                                        "fusion_7",
                                        "transpose_fusion_1",
                                        "wrapped_slice",
                                        "wrapped_convert_2",
                                        "triton_softmax_1",
                                        "gemm_fusion_dot_12_0",
                                        "input_concatenate_fusion"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(generator_of(names[i]), GENERATOR_XLA);
}

static void kernels_of_inductor(void **state)
{
    static const char *const names[] = {
        "triton_poi_fused_add_0",      "triton_red_fused_native_layer_norm_3",
        "triton_per_fused__softmax_1", "triton_tem_fused_mm_2",
        "triton_for_fused_0",          "triton_mm_4"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(generator_of(names[i]), GENERATOR_INDUCTOR);
}

static void kernels_of_others(void **state)
{
    static const char *const names[] = {"",
                                        "attention_fusion",
                                        "_Z4loopPf",
                                        "loop_add",
                                        "loop_fusion_kernel",
                                        "infusion",
                                        "triton_rms_norm",
                                        "_softmax_kernel",
                                        "my_triton_poi_fused_add_0"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(generator_of(names[i]), GENERATOR_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fusions_of_xla),
        cmocka_unit_test(kernels_of_inductor),
        cmocka_unit_test(kernels_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
