/* Lifted PTX, compiled by a process beside the program. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "compile/ptx_compiler.h"
#include "compile/ptx_link.h"
#include "cuvet.h"
#include "tests/unit/common/tmp_folder.h"

enum { WAIT_US = 1000, WAITS = 60000, STOP_MS = 20000, ARCH = 80 };

static const char square[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry square(.param .u64 a, .param .u64 b)\n{\n"
    ".reg .b32 %r<3>; .reg .f32 %f<3>; .reg .b64 %d<6>;\n"
    "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; mov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;\n"
    "ld.global.f32 %f1, [%d4]; mul.f32 %f2, %f1, %f1; st.global.f32 [%d5], %f2;\nret;\n}\n";

struct fixture {
    struct tmp_folder folder;
    char build[PATH_MAX], tool[PATH_MAX + 8], cache[600], path[PATH_MAX + 32];
    char *env[2];
    struct lift *lift;
    struct ptx_compiler *compiler;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct error err = {{0}};
    tmp_folder_make(&f->folder);
    snprintf(f->cache, sizeof f->cache, "%s/cache", f->folder.path);
    ssize_t length = readlink("/proc/self/exe", f->build, sizeof f->build - 1);
    assert_true(length > 0);
    for (int i = 0; i < 4; i++)
        *strrchr(f->build, '/') = '\0';
    snprintf(f->tool, sizeof f->tool, "%s/cuvet", f->build);
    /* The stand-in for nvJitLink, which gives the text itself. */
    snprintf(f->path, sizeof f->path, "LD_LIBRARY_PATH=%s/softgpu", f->build);
    f->env[0] = f->path;
    assert_int_equal(lift_make(&f->lift, square, strlen(square), "square", 0, &err), LIFT_OK);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    assert_true(ptx_compiler_stop(f->compiler, STOP_MS));
    ptx_compiler_destroy(f->compiler);
    lift_free(f->lift);
    tmp_folder_remove(&f->folder);
    free(f);
    return 0;
}

static void open_compiler(struct fixture *f, const char *tool)
{
    f->compiler = ptx_compiler_create(&(struct ptx_compiler_settings){
        .tool = tool, .version = cuvet_version(), .cache = f->cache, .env = f->env});
    assert_non_null(f->compiler);
}

/* How often it was called. */
static void count_result(void *user)
{
    atomic_fetch_add((atomic_uint *)user, 1);
}

static struct lift_code *request_lift(struct fixture *f)
{
    struct lift_code *code = lift_code(f->lift, ARCH);
    atomic_store(&code->state, LIFT_CODE_QUEUED);
    ptx_compiler_request(f->compiler, f->lift, code);
    return code;
}

static const struct lift_code *compile_lift(struct fixture *f)
{
    atomic_uint results = 0;
    ptx_compiler_on_result(f->compiler, count_result, &results);
    const struct lift_code *code = request_lift(f);
    for (int i = 0; i < WAITS && !atomic_load(&results); i++)
        usleep(WAIT_US);
    assert_int_equal(ptx_compiler_results(f->compiler), 1);
    return code;
}

static bool has_stand_in(const struct fixture *f)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/softgpu/libnvJitLink.so.13", f->build);
    return access(path, R_OK) == 0;
}

static void a_lift_is_compiled(void **state)
{
    struct fixture *f = *state;
    if (!has_stand_in(f))
        skip();
    open_compiler(f, f->tool);
    const struct lift_code *code = compile_lift(f);
    if (atomic_load(&code->state) != LIFT_CODE_READY)
        fail_msg("%s", code->why.text);
    assert_non_null(strstr(code->image, ".entry " LIFT_ENTRY));
}

static void without_the_program_nothing_is_compiled(void **state)
{
    struct fixture *f = *state;
    open_compiler(f, NULL);
    const struct lift_code *code = compile_lift(f);
    assert_int_equal(atomic_load(&code->state), LIFT_CODE_FAILED);
    assert_true(code->missing);
    assert_non_null(strstr(code->why.text, "no program cuvet"));
}

static void after_the_end_nothing_is_compiled(void **state)
{
    struct fixture *f = *state;
    open_compiler(f, f->tool);
    assert_true(ptx_compiler_stop(f->compiler, STOP_MS));
    const struct lift_code *code = request_lift(f);
    assert_int_equal(atomic_load(&code->state), LIFT_CODE_QUEUED);
    assert_int_equal(ptx_compiler_results(f->compiler), 0);
}

static void each_architecture_has_its_code(void **state)
{
    struct fixture *f = *state;
    struct lift_code *first = lift_code(f->lift, 80);
    assert_ptr_not_equal(lift_code(f->lift, 90), first);
    assert_ptr_equal(lift_code(f->lift, 80), first);
    assert_non_null(lift_code(f->lift, 86));
    assert_non_null(lift_code(f->lift, 120));
    assert_null(lift_code(f->lift, 75));
    assert_false(lift_code_failed(f->lift));
    atomic_store(&first->state, LIFT_CODE_FAILED);
    assert_true(lift_code_failed(f->lift));
}

static void an_architecture_has_its_name(void **state)
{
    static const struct {
        const char *target;
        int arch;
        const char *option;
    } cases[] = {{"sm_80", 80, "-arch=sm_80"},      {"sm_80", 90, "-arch=sm_90"},
                 {"sm_90a", 90, "-arch=sm_90a"},    {"sm_90a", 100, "-arch=sm_100"},
                 {"sm_100f", 100, "-arch=sm_100f"}, {"sm_100f", 103, "-arch=sm_103"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64], option[PTX_LINK_ARCH];
        snprintf(text, sizeof text, ".version 8.0\n.target %s\n", cases[i].target);
        ptx_link_arch(text, cases[i].arch, option);
        assert_string_equal(option, cases[i].option);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lift_is_compiled, setup, teardown),
        cmocka_unit_test_setup_teardown(without_the_program_nothing_is_compiled, setup, teardown),
        cmocka_unit_test_setup_teardown(after_the_end_nothing_is_compiled, setup, teardown),
        cmocka_unit_test_setup_teardown(each_architecture_has_its_code, setup, teardown),
        cmocka_unit_test(an_architecture_has_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
