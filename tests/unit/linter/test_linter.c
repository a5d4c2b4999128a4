/* Kernels that were launched, linted by a process beside the program: the program cuvet, or a
 * script that stands in for it. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "cuvet.h"
#include "driver/cuda_api.h"
#include "linter/linter.h"
#include "tests/unit/common/says.h"
#include "tests/unit/common/tmp_folder.h"

extern char **environ;

enum { LONG_MS = 20000, TOLD = 8 };

/* A kernel whose loop waits for memory by an ordinary load, and one without fault. */
#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define SPIN(name)                                                                                 \
    ".visible .entry " name "(.param .u64 p)\n{\n.reg .pred %p<2>; .reg .b32 %r<2>; "              \
    ".reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd1, %rd1;\n"                 \
    "again:\nld.global.u32 %r1, [%rd1];\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra again;\nret;\n}\n"
#define EMPTY(name) ".visible .entry " name "()\n{\nret;\n}\n"

struct fixture {
    struct tmp_folder folder;
    char tool[PATH_MAX + 32], started[600];
    struct images *images;
    struct linter *linter;
    const char *version;
    int kernel_ms;
    unsigned notes, complaints;
    char rule[TOLD][64], complaint[512];
};

static void on_note(void *user, const struct lint_note *note)
{
    struct fixture *f = user;
    if (f->notes < TOLD)
        snprintf(f->rule[f->notes], sizeof f->rule[0], "%s", note->rule);
    f->notes++;
}

static void on_complaint(void *user, const char *sentence)
{
    struct fixture *f = user;
    snprintf(f->complaint, sizeof f->complaint, "%s", sentence);
    f->complaints++;
}

static CUresult no_device(CUdevice *device)
{
    (void)device;
    return CUDA_ERROR_INVALID_CONTEXT;
}

static void find_tool(struct fixture *f)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    snprintf(f->tool, sizeof f->tool, "%.*s/../../../cuvet", (int)(strrchr(self, '/') - self),
             self);
    if (access(f->tool, X_OK) != 0)
        fail_msg("%s is not there: build the program first", f->tool);
}

/* A script takes the place of the program; it notes each start. */
static void use_script(struct fixture *f, const char *line)
{
    char text[1024];
    snprintf(f->tool, sizeof f->tool, "%s/tool", f->folder.path);
    snprintf(text, sizeof text, "#!/bin/sh\necho >>%s\n%s\n", f->started, line);
    file_write(f->tool, text);
    assert_int_equal(chmod(f->tool, 0700), 0);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    tmp_folder_make(&f->folder);
    snprintf(f->started, sizeof f->started, "%s/started", f->folder.path);
    find_tool(f);
    f->images = images_create(NULL);
    f->version = cuvet_version();
    cuda.cuCtxGetDevice = no_device;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    linter_destroy(f->linter);
    images_destroy(f->images);
    tmp_folder_remove(&f->folder);
    free(f);
    return 0;
}

static void start(struct fixture *f, const char *ptx)
{
    struct error err = {{0}};
    const struct linter_settings settings = {.images = f->images,
                                             .tool = f->tool,
                                             .version = f->version,
                                             .config = "",
                                             .tolerances = "",
                                             .tables = "off",
                                             .env = environ,
                                             .kernel_ms = f->kernel_ms,
                                             .note = on_note,
                                             .complain = on_complaint,
                                             .user = f};
    images_given(f->images, NULL, NULL, ptx, false);
    if (linter_create(&f->linter, &settings, &err))
        fail_msg("%s", err.text);
}

static void see(struct fixture *f, const char *symbol)
{
    struct known_kernel *kernel = aligned_alloc(64, sizeof *kernel);
    struct launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    assert_non_null(kernel);
    memset(kernel, 0, sizeof *kernel);
    kernel->symbol = symbol;
    linter_see(f->linter, &launch, kernel);
    free(kernel);
}

static unsigned starts(const struct fixture *f)
{
    size_t size = 0;
    free(file_read(f->started, &size));
    return (unsigned)size;
}

static void kernels_are_linted(void **state)
{
    struct fixture *f = *state;
    struct lint_note note;
    start(f, HEAD SPIN("spins") SPIN("other") EMPTY("empty"));
    see(f, "spins");
    see(f, "empty");
    assert_true(linter_stop(f->linter, LONG_MS));
    struct linter_counts counts = linter_count(f->linter);
    assert_int_equal(counts.linted, 2);
    assert_int_equal(counts.notes, 1);
    assert_int_equal(f->notes, 1);
    assert_string_equal(f->rule[0], "spin-weak");
    assert_true(linter_note(f->linter, 0, &note));
    assert_string_equal(note.kernel, "spins");
    assert_string_equal(note.severity, "warning");
    assert_int_equal(note.line, 12);
    assert_false(linter_note(f->linter, 1, &note));
    assert_int_equal(f->complaints, 0);
}

static void a_kernel_is_linted_once(void **state)
{
    struct fixture *f = *state;
    start(f, HEAD SPIN("spins"));
    for (int i = 0; i < 3; i++)
        see(f, "spins");
    see(f, "nowhere");
    see(f, "nowhere");
    assert_true(linter_stop(f->linter, LONG_MS));
    struct linter_counts counts = linter_count(f->linter);
    assert_int_equal(counts.linted, 1);
    assert_int_equal(f->notes, 1);
    assert_int_equal(counts.missed[LINTER_MISS_NO_PTX], 1);
}

static void what_cannot_be_analysed_is_counted(void **state)
{
    struct fixture *f = *state;
    start(f, HEAD ".visible .entry bad()\n{\nadd.f32 %f1, %f2, %f3;\n}\n" EMPTY("empty"));
    see(f, "bad");
    see(f, "empty");
    assert_true(linter_stop(f->linter, LONG_MS));
    struct linter_counts counts = linter_count(f->linter);
    assert_int_equal(counts.linted, 1);
    assert_int_equal(counts.missed[LINTER_MISS_UNREAD], 1);
}

static void a_killed_process_is_started_again_three_times(void **state)
{
    static const char *const kernels[] = {"a", "b", "c", "d", "e"};
    struct fixture *f = *state;
    use_script(f, "kill -9 $$");
    start(f, HEAD EMPTY("a") EMPTY("b") EMPTY("c") EMPTY("d") EMPTY("e"));
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        see(f, kernels[i]);
    assert_true(linter_stop(f->linter, LONG_MS));
    assert_int_equal(linter_count(f->linter).missed[LINTER_MISS_LOST], 5);
    assert_int_equal(starts(f), LINTER_STARTS);
    assert_int_equal(f->complaints, 1);
    expect_says(f->complaint, "ended or was late 3 times");
}

static void a_program_that_cannot_be_started_is_named_once(void **state)
{
    struct fixture *f = *state;
    snprintf(f->tool, sizeof f->tool, "/nowhere/cuvet");
    start(f, HEAD EMPTY("a") EMPTY("b"));
    see(f, "a");
    see(f, "b");
    assert_true(linter_stop(f->linter, LONG_MS));
    assert_int_equal(linter_count(f->linter).missed[LINTER_MISS_LOST], 2);
    assert_int_equal(f->complaints, 1);
    expect_says(f->complaint, "cannot start /nowhere/cuvet");
}

static void another_version_is_refused(void **state)
{
    struct fixture *f = *state;
    f->version = "0.0.0";
    start(f, HEAD SPIN("spins") EMPTY("empty"));
    see(f, "spins");
    see(f, "empty");
    assert_true(linter_stop(f->linter, LONG_MS));
    assert_int_equal(linter_count(f->linter).missed[LINTER_MISS_LOST], 2);
    assert_int_equal(f->notes, 0);
    assert_int_equal(f->complaints, 1);
    expect_says(f->complaint, "of another version");
}

static void an_end_waits_no_longer_than_it_may(void **state)
{
    struct fixture *f = *state;
    use_script(f, "exec cat >/dev/null");
    start(f, HEAD EMPTY("a") EMPTY("b") EMPTY("c"));
    see(f, "a");
    see(f, "b");
    see(f, "c");
    int64_t from = clock_ns();
    assert_true(linter_stop(f->linter, 50));
    assert_true(clock_ns() - from < 2 * INT64_C(1000000000));
    assert_int_equal(linter_count(f->linter).missed[LINTER_MISS_UNDONE], 3);
    see(f, "d");
    assert_int_equal(linter_count(f->linter).missed[LINTER_MISS_UNDONE], 3);
}

static void a_late_process_is_started_again(void **state)
{
    struct fixture *f = *state;
    use_script(f, "exec cat >/dev/null");
    f->kernel_ms = 100;
    start(f, HEAD EMPTY("a") EMPTY("b"));
    see(f, "a");
    see(f, "b");
    assert_true(linter_stop(f->linter, LONG_MS));
    assert_int_equal(linter_count(f->linter).missed[LINTER_MISS_LATE], 2);
    assert_int_equal(starts(f), 2);
    assert_int_equal(f->complaints, 0);
}

/* A process that answers with what is no answer. */
static void a_false_answer_is_none(void **state)
{
    struct fixture *f = *state;
    use_script(f, "head -c 100 /dev/zero >&0; exec cat >/dev/null");
    start(f, HEAD SPIN("spins"));
    see(f, "spins");
    assert_true(linter_stop(f->linter, LONG_MS));
    assert_int_equal(linter_count(f->linter).missed[LINTER_MISS_LOST], 1);
    assert_int_equal(f->notes, 0);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(kernels_are_linted),
        WITH_FIXTURE(a_kernel_is_linted_once),
        WITH_FIXTURE(what_cannot_be_analysed_is_counted),
        WITH_FIXTURE(a_killed_process_is_started_again_three_times),
        WITH_FIXTURE(a_program_that_cannot_be_started_is_named_once),
        WITH_FIXTURE(another_version_is_refused),
        WITH_FIXTURE(an_end_waits_no_longer_than_it_may),
        WITH_FIXTURE(a_late_process_is_started_again),
        WITH_FIXTURE(a_false_answer_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
