/* inner.c - a library with a kernel of its own, y = 2 x + 1, in its file. */
#include <cuda.h>

static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                          ".visible .entry inner(.param .u64 x, .param .u64 y, .param .u32 n)\n"
                          "{\n"
                          "    .reg .u64 %rd<4>; .reg .u32 %r<4>; .reg .f32 %f<3>;\n"
                          "    ld.param.u64 %rd1, [x];\n"
                          "    ld.param.u64 %rd2, [y];\n"
                          "    mov.u32 %r1, %tid.x;\n"
                          "    mul.wide.u32 %rd3, %r1, 4;\n"
                          "    add.s64 %rd1, %rd1, %rd3;\n"
                          "    add.s64 %rd2, %rd2, %rd3;\n"
                          "    ld.global.f32 %f1, [%rd1];\n"
                          "    fma.rn.f32 %f2, %f1, 0f40000000, 0f3F800000;\n"
                          "    st.global.f32 [%rd2], %f2;\n"
                          "    ret;\n"
                          "}\n";

__attribute__((visibility("default"))) CUresult inner_launch(CUdeviceptr x, CUdeviceptr y, int n);
CUresult inner_launch(CUdeviceptr x, CUdeviceptr y, int n)
{
    CUmodule module;
    CUfunction function;
    void *params[] = {&x, &y, &n};
    CUresult result = cuModuleLoadData(&module, ptx);
    if (!result)
        result = cuModuleGetFunction(&function, module, "inner");
    return result ? result
                  : cuLaunchKernel(function, 1, 1, 1, (unsigned)n, 1, 1, 0, NULL, params, NULL);
}
