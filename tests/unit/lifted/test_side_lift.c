/* Lifted kernels of one context: what a launch finds of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "compile/ptx_compiler.h"
#include "cuvet.h"
#include "driver/cuda_api.h"
#include "lift/lift.h"
#include "lifted/side_lift.h"

enum { WAIT_US = 1000, WAITS = 10000, STOP_MS = 10000, LAUNCHES = 5 };

static const char copy[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry copy(.param .u64 a, .param .u64 b)\n{\n"
                           ".reg .f32 %f<2>; .reg .b64 %d<3>;\n"
                           "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b];\n"
                           "ld.global.f32 %f1, [%d1]; st.global.f32 [%d2], %f1;\nret;\n}\n";

static CUresult compute_capability(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 8 : 0;
    return CUDA_SUCCESS;
}

static void request(struct side *side, const struct kernel_spec *spec, bool expected)
{
    bool wake;
    assert_int_equal(side_lift_request(side, spec, &wake), SKIP_NOT_COMPILED);
    assert_int_equal(wake, expected);
}

/* Counted are the launches from the time that the job is queued to the result. */
static void launches_that_find_it_not_compiled_are_counted(void **state)
{
    struct side *side = calloc(1, sizeof *side);
    struct kernel_spec spec = {.label = "copy"};
    struct lift *lift;
    struct error err = {{0}};
    char *none = NULL;
    (void)state;
    cuda.cuDeviceGetAttribute = compute_capability;
    assert_int_equal(lift_make(&lift, copy, strlen(copy), "copy", 0, &err), LIFT_OK);
    spec.lift = lift;
    /* Without a program that compiles, each job fails at once. */
    struct ptx_compiler *compiler = ptx_compiler_create(
        &(struct ptx_compiler_settings){.version = cuvet_version(), .cache = "off", .env = &none});
    side_lifts_open(side, compiler);
    side->state = SIDE_READY;
    request(side, &spec, true);
    request(side, &spec, false);
    const struct lift_code *code = lift_code(lift, 80);
    assert_int_equal(atomic_load(&code->missed), 0);
    side_lifts_load(side);
    for (int i = 0; i < LAUNCHES; i++)
        request(side, &spec, false);
    assert_int_equal(atomic_load(&code->missed), LAUNCHES);
    for (int i = 0; i < WAITS && !ptx_compiler_results(compiler); i++)
        usleep(WAIT_US);
    side_lifts_load(side);
    assert_false(side_lifts_due(side));
    request(side, &spec, false);
    assert_int_equal(atomic_load(&code->missed), LAUNCHES);
    assert_true(ptx_compiler_stop(compiler, STOP_MS));
    ptx_compiler_destroy(compiler);
    lift_free(lift);
    free(side->refs.lifts);
    free(side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_that_find_it_not_compiled_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
