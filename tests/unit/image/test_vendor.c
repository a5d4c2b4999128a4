/* Which of NVIDIA's libraries an image is of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "image/vendor.h"

static void by_the_file_that_it_lies_in(void **state)
{
    (void)state;
    assert_string_equal(vendor_library("/usr/lib/libcublasLt.so.12.8", "k"), "cuBLASLt");
    assert_string_equal(vendor_library("/usr/lib/libcublas.so.12", "k"), "cuBLAS");
    assert_string_equal(vendor_library("libcudnn_engines_precompiled.so.9", "k"), "cuDNN");
    assert_string_equal(vendor_library("/x/libnccl.so.2", "k"), "NCCL");
    assert_null(vendor_library("/x/libcublas/libtorch_cuda.so", "k"));
    assert_null(vendor_library("/x/libncc.so", "k"));
}

static void by_the_name_of_its_kernel(void **state)
{
    (void)state;
    assert_string_equal(vendor_library(NULL, "nvjet_hsh_128x256"), "cuBLAS");
    assert_string_equal(vendor_library("/usr/bin/program", "ncclDevKernel_AllReduce"), "NCCL");
    assert_string_equal(vendor_library(NULL, "_ZN5cudnn3opsE"), "cuDNN");
    assert_null(vendor_library(NULL, "my_cudnn_like_kernel"));
    assert_null(vendor_library(NULL, "_ZN2at6native5cudnnE"));
}

static void a_version_stands_behind_the_name(void **state)
{
    (void)state;
    assert_string_equal(vendor_version("/usr/lib.so.3/libcublasLt.so.12.8.4"), "12.8.4");
    assert_null(vendor_version("/usr/lib.so.3/libcublasLt.so"));
    assert_null(vendor_version("libcublasLt.so."));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_file_that_it_lies_in),
        cmocka_unit_test(by_the_name_of_its_kernel),
        cmocka_unit_test(a_version_stands_behind_the_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
