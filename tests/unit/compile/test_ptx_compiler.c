/* Lifted PTX, compiled by a process beside the program. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "compile/ptx_compiler.h"
#include "compile/ptx_link.h"
#include "cuvet.h"
#include "tests/unit/common/tmp_folder.h"

enum { WAIT_US = 1000, WAITS = 60000, STOP_MS = 20000, SOON_MS = 2000, ARCH = 80 };
static const int archs[] = {80, 86, 90, 120};
enum { ARCHS = sizeof archs / sizeof *archs };

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
    char gate[PATH_MAX]; /* a program in the folder that waits in front of the tool */
    struct lift *lift;
    struct ptx_compiler *compiler;
};

static void folder_path(const struct fixture *f, const char *name, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s/%s", f->folder.path, name);
}

/* Lets processes of the gate go on. */
static void open_gate(const struct fixture *f)
{
    char path[PATH_MAX];
    folder_path(f, "open", path);
    file_write(path, "");
}

/* A process leaves a file started.PID, waits for the gate to open, and becomes the tool. */
static void make_gate(struct fixture *f)
{
    char text[3 * PATH_MAX];
    snprintf(text, sizeof text,
             "#!/bin/sh\n: >%s/started.$$\n"
             "while [ -d %s ] && [ ! -e %s/open ]; do /bin/sleep 0.01; done\nexec %s \"$@\"\n",
             f->folder.path, f->folder.path, f->folder.path, f->tool);
    folder_path(f, "gate", f->gate);
    file_write(f->gate, text);
    assert_int_equal(chmod(f->gate, 0700), 0);
}

/* Of the gate's processes. */
static int count_started(const struct fixture *f)
{
    DIR *folder = opendir(f->folder.path);
    int count = 0;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        count += !strncmp(entry->d_name, "started.", strlen("started."));
    closedir(folder);
    return count;
}

static void wait_for_started(const struct fixture *f, int wanted)
{
    for (int i = 0; i < WAITS && count_started(f) < wanted; i++)
        usleep(WAIT_US);
    assert_int_equal(count_started(f), wanted);
}

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

static void open_workers(struct fixture *f, const char *tool, unsigned workers)
{
    f->compiler = ptx_compiler_create(&(struct ptx_compiler_settings){.tool = tool,
                                                                      .version = cuvet_version(),
                                                                      .cache = f->cache,
                                                                      .env = f->env,
                                                                      .workers = workers});
    assert_non_null(f->compiler);
}

static void open_compiler(struct fixture *f, const char *tool)
{
    open_workers(f, tool, 0);
}

/* How often it was called. */
static void count_result(void *user)
{
    atomic_fetch_add((atomic_uint *)user, 1);
}

static struct lift_code *request_for(struct fixture *f, int arch)
{
    struct lift_code *code = lift_code(f->lift, arch);
    atomic_store(&code->state, LIFT_CODE_QUEUED);
    ptx_compiler_request(f->compiler, f->lift, code);
    return code;
}

static struct lift_code *request_lift(struct fixture *f)
{
    return request_for(f, ARCH);
}

static void wait_for_results(const struct fixture *f, unsigned wanted)
{
    for (int i = 0; i < WAITS && ptx_compiler_results(f->compiler) < wanted; i++)
        usleep(WAIT_US);
    assert_int_equal(ptx_compiler_results(f->compiler), wanted);
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

static void workers_compile_side_by_side(void **state)
{
    struct fixture *f = *state;
    struct lift_code *code[ARCHS];
    if (!has_stand_in(f))
        skip();
    make_gate(f);
    open_workers(f, f->gate, 2);
    for (unsigned i = 0; i < ARCHS; i++)
        code[i] = request_for(f, archs[i]);
    wait_for_started(f, 2);
    assert_int_equal(ptx_compiler_results(f->compiler), 0);
    open_gate(f);
    wait_for_results(f, ARCHS);
    for (unsigned i = 0; i < ARCHS; i++)
        assert_int_equal(atomic_load(&code[i]->state), LIFT_CODE_READY);
}

static void a_single_job_has_one_worker(void **state)
{
    struct fixture *f = *state;
    if (!has_stand_in(f))
        skip();
    make_gate(f);
    open_gate(f);
    open_workers(f, f->gate, PTX_COMPILER_WORKERS);
    request_lift(f);
    wait_for_results(f, 1);
    assert_int_equal(count_started(f), 1);
}

/* The architectures in the order of their results. */
struct ending_order {
    const struct fixture *f;
    int arch[ARCHS];
    atomic_uint count;
};

static void note_ending(void *user)
{
    struct ending_order *order = user;
    unsigned count = atomic_load(&order->count);
    for (unsigned i = 0; i < ARCHS; i++) {
        struct lift_code *code = lift_code(order->f->lift, archs[i]);
        bool known = false;
        for (unsigned j = 0; j < count; j++)
            known |= order->arch[j] == archs[i];
        if (!known && atomic_load(&code->state) == LIFT_CODE_READY)
            order->arch[count] = archs[i];
    }
    atomic_fetch_add(&order->count, 1);
}

/* Behind a job under way, jobs whose kernels were launched so often meanwhile. */
static void expect_order(struct fixture *f, const unsigned missed[ARCHS],
                         const unsigned expected[ARCHS])
{
    struct ending_order order = {.f = f};
    open_workers(f, f->gate, 1);
    ptx_compiler_on_result(f->compiler, note_ending, &order);
    request_for(f, archs[0]);
    wait_for_started(f, 1);
    for (unsigned i = 1; i < ARCHS; i++)
        request_for(f, archs[i]);
    for (unsigned i = 0; i < ARCHS; i++)
        atomic_fetch_add(&lift_code(f->lift, archs[i])->missed, missed[i]);
    open_gate(f);
    for (int i = 0; i < WAITS && atomic_load(&order.count) < ARCHS; i++)
        usleep(WAIT_US);
    for (unsigned i = 0; i < ARCHS; i++)
        assert_int_equal(order.arch[i], archs[expected[i]]);
}

static void the_most_launched_kernel_is_next(void **state)
{
    static const struct {
        unsigned missed[ARCHS], expected[ARCHS];
    } cases[] = {{{0, 0, 0, 0}, {0, 1, 2, 3}},
                 {{0, 1, 9, 4}, {0, 2, 3, 1}},
                 {{9, 0, 0, 1}, {0, 3, 1, 2}},
                 {{0, 2, 2, 1}, {0, 1, 2, 3}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *own = NULL;
        if (!has_stand_in(*state))
            skip();
        setup(&own);
        make_gate(own);
        expect_order(own, cases[i].missed, cases[i].expected);
        teardown(&own);
    }
}

static void a_stop_ends_all_workers(void **state)
{
    struct fixture *f = *state;
    struct lift_code *code[ARCHS];
    make_gate(f);
    open_workers(f, f->gate, 2);
    for (unsigned i = 0; i < ARCHS; i++)
        code[i] = request_for(f, archs[i]);
    wait_for_started(f, 2);
    assert_true(ptx_compiler_stop(f->compiler, SOON_MS));
    for (unsigned i = 0; i < ARCHS; i++)
        assert_int_equal(atomic_load(&code[i]->state), LIFT_CODE_QUEUED);
    assert_int_equal(ptx_compiler_results(f->compiler), 0);
}

/* A process that ends at once leaves a file; where there are `ends` of them it becomes the tool. */
static void make_mortal(struct fixture *f, int ends)
{
    char text[4 * PATH_MAX];
    snprintf(text, sizeof text,
             "#!/bin/sh\nfor i in $(/usr/bin/seq %d); do\n"
             "[ -e %s/started.$i ] || { : >%s/started.$i; exit; }\ndone\nexec %s \"$@\"\n",
             ends, f->folder.path, f->folder.path, f->tool);
    folder_path(f, "gate", f->gate);
    file_write(f->gate, text);
    assert_int_equal(chmod(f->gate, 0700), 0);
}

static void a_process_that_ends_has_one_successor(void **state)
{
    static const struct {
        int ends, state;
    } cases[] = {{1, LIFT_CODE_READY}, {2, LIFT_CODE_FAILED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *own = NULL;
        if (!has_stand_in(*state))
            skip();
        setup(&own);
        make_mortal(own, cases[i].ends);
        struct fixture *f = own;
        open_compiler(f, f->gate);
        const struct lift_code *code = compile_lift(f);
        assert_int_equal(atomic_load(&code->state), cases[i].state);
        teardown(&own);
    }
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

/* Of the functions that a lifted kernel calls, too. */
static void large_blocks_limit_registers(void **state)
{
    static const struct {
        const char *text;
        unsigned registers;
    } cases[] = {{"", 64},
                 {"\n.reqntid 128, 1, 1\n", 0},
                 {"\n.reqntid 256\n", 0},
                 {"\n.reqntid 257\n", 168},
                 {"\n.maxntid 32, 16, 1\n", 128},
                 {"\n.reqntid 8, 8, 12\n", 80},
                 {"\n.maxntid 1024, 1, 1\n", 64},
                 {"\n.reqntid 1024, 1, 1\n", 64}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        snprintf(text, sizeof text, ".visible .entry cuvet_lifted(\n)%s{\n", cases[i].text);
        assert_int_equal(ptx_link_registers(text), cases[i].registers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lift_is_compiled, setup, teardown),
        cmocka_unit_test_setup_teardown(without_the_program_nothing_is_compiled, setup, teardown),
        cmocka_unit_test_setup_teardown(after_the_end_nothing_is_compiled, setup, teardown),
        cmocka_unit_test_setup_teardown(workers_compile_side_by_side, setup, teardown),
        cmocka_unit_test_setup_teardown(a_single_job_has_one_worker, setup, teardown),
        cmocka_unit_test_setup_teardown(the_most_launched_kernel_is_next, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stop_ends_all_workers, setup, teardown),
        cmocka_unit_test_setup_teardown(a_process_that_ends_has_one_successor, setup, teardown),
        cmocka_unit_test_setup_teardown(each_architecture_has_its_code, setup, teardown),
        cmocka_unit_test(an_architecture_has_its_name),
        cmocka_unit_test(large_blocks_limit_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
