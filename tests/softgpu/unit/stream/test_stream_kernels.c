/* Kernels on streams: one that waits for another stream's work, one that faults, one that never
 * ends. */
#include "stream_fixture.h"

#include <sys/wait.h>

static const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    /* waits until *flag is `value`, then writes it behind it */
    ".visible .entry spin(.param .u64 flag, .param .u32 value)\n{\n"
    "    .reg .pred %p<2>;\n    .reg .b32 %r<3>;\n    .reg .b64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [flag];\n    ld.param.u32 %r1, [value];\n"
    "AGAIN:\n    ld.volatile.global.u32 %r2, [%rd1];\n    setp.ne.u32 %p1, %r2, %r1;\n"
    "    @%p1 bra AGAIN;\n    st.volatile.global.u32 [%rd1+4], %r1;\n    ret;\n}\n"
    ".visible .entry wild()\n{\n"
    "    .reg .b64 %rd<2>;\n    mov.u64 %rd1, 16;\n    st.global.u64 [%rd1], %rd1;\n    ret;\n}\n";

static CUfunction kernel(CUmodule *module, const char *name)
{
    CUfunction function;
    OK(cuModuleLoadData(module, ptx));
    OK(cuModuleGetFunction(&function, *module, name));
    return function;
}

static CUresult launch_spin(CUfunction spin, CUdeviceptr flag, uint32_t value, CUstream stream)
{
    void *params[] = {&flag, &value};
    return cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static void a_spinning_kernel_sees_the_other_stream(void **state)
{
    (void)state;
    CUmodule module;
    CUfunction spin = kernel(&module, "spin");
    CUstream a = new_stream(CU_STREAM_NON_BLOCKING), b = new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr flag;
    uint32_t three = 3, back = 0;
    OK(cuMemAlloc(&flag, 12));
    OK(cuMemsetD32(flag, 0, 2));
    OK(cuCtxSynchronize());
    /* Each kind of work that can end the waiting: a memset, a copy, a value, another kernel. */
    OK(launch_spin(spin, flag, 1, a));
    OK(cuMemsetD32Async(flag, 1, 1, b));
    OK(launch_spin(spin, flag, 3, a));
    OK(cuStreamWaitValue32(b, flag + 4, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuMemcpyHtoDAsync(flag, &three, 4, b));
    OK(launch_spin(spin, flag + 4, 3, b));
    OK(cuStreamSynchronize(b));
    OK(cuStreamSynchronize(a));
    OK(cuMemcpyDtoH(&back, flag + 4, 4));
    assert_int_equal(back, 3);
    OK(cuMemFree(flag));
    OK(cuStreamDestroy(a));
    OK(cuStreamDestroy(b));
    OK(cuModuleUnload(module));
}

static void a_fault_ends_kernels_that_never_end(void **state)
{
    (void)state;
    CUcontext primary, broken;
    CUmodule module;
    CUfunction spin, wild;
    CUdeviceptr flag;
    OK(cuCtxGetCurrent(&primary));
    OK(cuCtxCreate(&broken, NULL, 0, 0));
    spin = kernel(&module, "spin");
    OK(cuModuleGetFunction(&wild, module, "wild"));
    CUstream a = new_stream(CU_STREAM_NON_BLOCKING), b = new_stream(CU_STREAM_NON_BLOCKING);
    OK(cuMemAlloc(&flag, 8));
    OK(cuMemsetD32(flag, 0, 2));
    OK(cuCtxSynchronize());
    OK(launch_spin(spin, flag, 1, a));
    OK(cuLaunchKernel(wild, 1, 1, 1, 1, 1, 1, 0, b, NULL, NULL));
    FAILS(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    FAILS(launch_spin(spin, flag, 0, a), CUDA_ERROR_ILLEGAL_ADDRESS);
    cuCtxDestroy(broken);
    OK(cuCtxSetCurrent(primary));
    OK(cuCtxSynchronize());
}

/* The child: leaves a kernel behind that waits for ever. */
static int leave_kernel(void)
{
    CUmodule module;
    CUdeviceptr flag;
    use_primary(NULL);
    CUfunction spin = kernel(&module, "spin");
    OK(cuMemAlloc(&flag, 8));
    OK(cuMemsetD32(flag, 0, 2));
    OK(launch_spin(spin, flag, 1, NULL));
    pause_ms(20);
    return 0;
}

static void exit_does_not_wait_for_kernels(void **state)
{
    (void)state;
    double begin = now_ms();
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "test_stream_kernels", "leave", (char *)NULL);
        _exit(127);
    }
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(now_ms() - begin < 5000);
}

int main(int count, char **words)
{
    (void)words;
    if (count > 1)
        return leave_kernel();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spinning_kernel_sees_the_other_stream),
        cmocka_unit_test(a_fault_ends_kernels_that_never_end),
        cmocka_unit_test(exit_does_not_wait_for_kernels),
    };
    return cmocka_run_group_tests_name("stream_kernels", tests, use_primary, NULL);
}
