/* References of a registry's own, compiled by processes beside the program and kept in a folder. */
#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "cuvet.h"
#include "driver/nvrtc_api.h"
#include "tests/unit/common/registry_fixture.h"
#include "tests/unit/common/says.h"
#include "tests/unit/common/tmp_folder.h"
#include "compile/compiler.h"
#include "registry/registry.h"

extern char **environ;

struct fixture {
    struct tmp_folder folder;
    char tool[PATH_MAX + 32], cache[600];
    const char *version;
    struct registry *registry;
    const struct user_references *users;
    struct complaints complaints;
};

#define SIGNATURE "    signature: const f32 x[n], f32 y[n], i32 n\n"
#define ENTRY(kernel, body)                                                                        \
    "  - kernel: " kernel "\n" SIGNATURE "    reference:\n      inline: |\n"                       \
    "        REFERENCE(" kernel ", \"in x[n], out y[n]\")\n        {\n"                            \
    "          " body "\n        }\n"
static const char two_texts[] =
    "version: 1\nkernels:\n" ENTRY("half", "ELEMENT(r, 1, i, n) y(i) = x(i) * 0.5;")
        ENTRY("third", "ELEMENT(r, 1, i, n) y(i) = x(i) / 3;");
static const char wrong_text[] =
    "version: 1\nkernels:\n" ENTRY("half", "ELEMENT(r, 1, i, n) y(i) = nothing;");

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

static void load(struct fixture *f, const char *text)
{
    registry_destroy(f->registry);
    f->registry = registry_of(text, &f->complaints);
    if (f->complaints.count)
        fail_msg("%s", f->complaints.text[0]);
    f->users = registry_user_references(f->registry);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    tmp_folder_make(&f->folder);
    snprintf(f->cache, sizeof f->cache, "%s/cache", f->folder.path);
    f->version = cuvet_version();
    find_tool(f);
    load(f, two_texts);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    registry_destroy(f->registry);
    tmp_folder_remove(&f->folder);
    free(f);
    return 0;
}

/* In a process of its own: this one never opens NVRTC, as the library does not. */
static void need_nvrtc(void)
{
    int found = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct find_hints hints = {0};
        find_homes(&hints);
        _exit(nvrtc_api_load(&hints, NULL) != STATUS_OK);
    }
    waitpid(child, &found, 0);
    if (found)
        skip();
}

static void note(void *user, enum status status, const char *sentence)
{
    char whole[700];
    snprintf(whole, sizeof whole, "%d: %.600s", (int)status, sentence);
    complain_to(user, whole);
}

static struct compiler *make(struct fixture *f, const char *path)
{
    struct compiler_settings settings = {.users = f->users,
                                         .tool = f->tool,
                                         .version = f->version,
                                         .cache = f->cache,
                                         .nvrtc = {.path = path},
                                         .env = environ,
                                         .complain = note,
                                         .user = &f->complaints};
    struct compiler *compiler;
    find_homes(&settings.nvrtc);
    assert_int_equal(compiler_create(&compiler, &settings, NULL), STATUS_OK);
    return compiler;
}

static void wait_for(const struct compiler *compiler, unsigned results)
{
    for (int i = 0; i < 90000 && compiler_results(compiler) < results; i++)
        usleep(1000);
    assert_int_equal(compiler_results(compiler), results);
}

static void expect_counts(const struct compiler *compiler, unsigned compiled, unsigned cached,
                          unsigned failed)
{
    struct compiler_counts counts = compiler_count(compiler);
    assert_int_equal(counts.compiled, compiled);
    assert_int_equal(counts.cached, cached);
    assert_int_equal(counts.failed, failed);
    assert_int_equal(counts.waiting, 0);
}

static void end(struct compiler *compiler)
{
    assert_true(compiler_stop(compiler, 2000));
    compiler_destroy(compiler);
}

/* Requests the first text for 9.0, and returns the result. */
static void expect_once(struct fixture *f, unsigned compiled, unsigned cached)
{
    struct compiler *compiler = make(f, NULL);
    const struct ref_image *image;
    compiler_request(compiler, 0, 90);
    wait_for(compiler, 1);
    if (f->complaints.count)
        fail_msg("%s", f->complaints.text[0]);
    expect_counts(compiler, compiled, cached, 0);
    assert_int_equal(compiler_find(compiler, 0, 90, &image), COMPILER_DONE);
    assert_non_null(image->cubin);
    assert_non_null(strstr(image->ptx, "cuvet_ref_half_wide"));
    end(compiler);
}

static void count(void *user)
{
    atomic_fetch_add((atomic_uint *)user, 1);
}

static void what_is_wanted_is_compiled_once(void **state)
{
    struct fixture *f = *state;
    const struct ref_image *image, *again;
    atomic_uint told = 0;
    need_nvrtc();
    struct compiler *compiler = make(f, NULL);
    compiler_on_result(compiler, count, &told);
    assert_int_equal(compiler_find(compiler, 0, 90, &image), COMPILER_UNWANTED);
    compiler_request(compiler, 1, 90);
    compiler_request(compiler, 1, 90);
    wait_for(compiler, 1);
    assert_int_equal(compiler_find(compiler, 1, 90, &image), COMPILER_DONE);
    assert_non_null(strstr(image->ptx, "cuvet_ref_third_wide"));
    assert_int_equal(compiler_find(compiler, 0, 90, &again), COMPILER_UNWANTED);
    compiler_request(compiler, 1, 90); /* the thread has ended by now, or soon */
    compiler_request(compiler, 1, 80);
    wait_for(compiler, 2);
    assert_int_equal(compiler_find(compiler, 1, 90, &again), COMPILER_DONE);
    assert_ptr_equal(image, again);
    assert_int_equal(compiler_find(compiler, 1, 80, &image), COMPILER_DONE);
    expect_counts(compiler, 2, 0, 0);
    assert_int_equal(atomic_load(&told), 2);
    assert_int_equal(f->complaints.count, 0);
    end(compiler);
}

/* The file that holds an image, or "". */
static void find_entry(const struct fixture *f, char path[PATH_MAX])
{
    DIR *files = opendir(f->cache);
    path[0] = '\0';
    for (struct dirent *row; files && (row = readdir(files));) {
        if (strncmp(row->d_name, "ref-", 4) == 0 && !strstr(row->d_name, ".lock"))
            snprintf(path, PATH_MAX, "%s/%s", f->cache, row->d_name);
    }
    if (files)
        closedir(files);
}

static void a_later_run_compiles_nothing(void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    need_nvrtc();
    expect_once(f, 1, 0);
    assert_int_equal(folder_entries(f->cache), 2); /* the image and the note */
    expect_once(f, 0, 1);
    find_entry(f, path);
    assert_int_equal(truncate(path, 5000), 0);
    expect_once(f, 1, 0);
    expect_once(f, 0, 1);
}

/* Without the note the process beside the program finds NVRTC, and then the image. */
static void a_lost_note_costs_no_compilation(void **state)
{
    struct fixture *f = *state;
    char command[700];
    need_nvrtc();
    expect_once(f, 1, 0);
    snprintf(command, sizeof command, "rm '%s'/nvrtc-*", f->cache);
    assert_int_equal(system(command), 0);
    expect_once(f, 0, 1);
    assert_int_equal(folder_entries(f->cache), 2);
}

static void a_cache_of_no_use_is_done_without(void **state)
{
    struct fixture *f = *state;
    need_nvrtc();
    file_write(f->cache, ""); /* no folder can be made there */
    expect_once(f, 1, 0);
    assert_int_equal(unlink(f->cache), 0);
    snprintf(f->cache, sizeof f->cache, "off");
    expect_once(f, 1, 0);
    assert_int_equal(folder_entries(f->folder.path), 0);
}

static void processes_share_a_compilation(void **state)
{
    struct fixture *f = *state;
    unsigned sum = 0;
    need_nvrtc();
    pid_t child[3];
    fflush(NULL);
    for (int i = 0; i < 3; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            struct compiler *compiler = make(f, NULL);
            compiler_request(compiler, 0, 90);
            wait_for(compiler, 1);
            struct compiler_counts counts = compiler_count(compiler);
            end(compiler);
            _exit(counts.failed ? 100 : (int)counts.compiled);
        }
    }
    for (int i = 0; i < 3; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFEXITED(status));
        sum += (unsigned)WEXITSTATUS(status);
    }
    assert_int_equal(sum, 1);
    expect_once(f, 0, 1);
}

static void a_wrong_text_is_told_once(void **state)
{
    struct fixture *f = *state;
    const struct ref_image *image;
    need_nvrtc();
    load(f, wrong_text);
    struct compiler *compiler = make(f, NULL);
    compiler_request(compiler, 0, 90);
    compiler_request(compiler, 0, 80);
    wait_for(compiler, 2);
    assert_int_equal(compiler_find(compiler, 0, 90, &image), COMPILER_FAILED);
    expect_counts(compiler, 0, 0, 2);
    assert_int_equal(f->complaints.count, 1);
    expect_says(f->complaints.text[0],
                ".yaml:9: the reference does not compile: identifier \"nothing\" is undefined, in "
                "'ELEMENT(r, 1, i, n) y(i) = nothing;'");
    end(compiler);
}

static void a_missing_nvrtc_is_told_once(void **state)
{
    struct fixture *f = *state;
    struct compiler *compiler = make(f, "/nowhere/libnvrtc.so");
    compiler_request(compiler, 0, 90);
    compiler_request(compiler, 1, 90);
    wait_for(compiler, 2);
    expect_counts(compiler, 0, 0, 2);
    assert_int_equal(f->complaints.count, 1);
    expect_says(f->complaints.text[0], "CUVET_NVRTC: /nowhere/libnvrtc.so: ");
    expect_says(f->complaints.text[0], "package cuda-nvrtc");
    end(compiler);
}

static void a_tool_that_does_not_answer_is_told(void **state)
{
    struct fixture *f = *state;
    snprintf(f->tool, sizeof f->tool, "/bin/false");
    struct compiler *compiler = make(f, NULL);
    compiler_request(compiler, 0, 90);
    wait_for(compiler, 1);
    expect_says(f->complaints.text[0],
                "the reference is unchecked: the process that compiles it ended without an answer");
    end(compiler);
    memset(&f->complaints, 0, sizeof f->complaints);
    snprintf(f->tool, sizeof f->tool, "/nowhere/cuvet");
    compiler = make(f, NULL);
    compiler_request(compiler, 0, 90);
    compiler_request(compiler, 1, 90);
    wait_for(compiler, 2);
    assert_int_equal(f->complaints.count, 1);
    expect_says(f->complaints.text[0], "cannot start /nowhere/cuvet");
    end(compiler);
}

static void a_tool_of_another_version_is_told(void **state)
{
    struct fixture *f = *state;
    f->version = "0.0";
    struct compiler *compiler = make(f, NULL);
    compiler_request(compiler, 0, 90);
    wait_for(compiler, 1);
    expect_says(f->complaints.text[0], ", the library 0.0");
    end(compiler);
}

/* ---- exit ---- */

/* How many processes have this folder among their arguments. */
static int processes_with(const char *word)
{
    DIR *all = opendir("/proc");
    int found = 0;
    for (struct dirent *row; (row = readdir(all));) {
        char path[300], arguments[4096];
        snprintf(path, sizeof path, "/proc/%.20s/cmdline", row->d_name);
        FILE *file = *row->d_name >= '1' && *row->d_name <= '9' ? fopen(path, "r") : NULL;
        size_t size = file ? fread(arguments, 1, sizeof arguments, file) : 0;
        found += size > 0 && memmem(arguments, size, word, strlen(word)) != NULL;
        if (file)
            fclose(file);
    }
    closedir(all);
    return found;
}

/* Exits `after_us` into a compilation; the seconds from exit to the end, and the wait status. */
static double exit_during(struct fixture *f, unsigned after_us, bool fork_first, int *status)
{
    int64_t begin = 0;
    int tell[2];
    assert_int_equal(pipe(tell), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct compiler *compiler = make(f, NULL);
        compiler_request(compiler, 0, 90);
        usleep(after_us);
        if (fork_first && fork() == 0) { /* has copies of the sockets */
            sleep(30);
            _exit(0);
        }
        begin = clock_ns();
        if (write(tell[1], &begin, sizeof begin) != sizeof begin)
            _exit(8);
        exit(0);
    }
    close(tell[1]);
    assert_int_equal(read(tell[0], &begin, sizeof begin), sizeof begin);
    close(tell[0]);
    waitpid(child, status, 0);
    return (double)(clock_ns() - begin) * 1e-9;
}

/* The process beside the program ends with it, too, and leaves no half of an image. */
static void exit_during_a_compilation_is_clean(void **state)
{
    static const unsigned after_ms[] = {0, 2, 10, 30, 60, 120, 200, 300};
    struct fixture *f = *state;
    char path[PATH_MAX];
    int status, left = 1;
    need_nvrtc();
    for (size_t i = 0; i < sizeof after_ms / sizeof *after_ms; i++) {
        double seconds = exit_during(f, after_ms[i] * 1000, i % 4 == 3, &status);
        if (status)
            fail_msg("an exit after %u ms ended with status %#x", after_ms[i], (unsigned)status);
        if (seconds > 1)
            fail_msg("an exit after %u ms took %.1f s", after_ms[i], seconds);
    }
    for (int i = 0; i < 200 && left; i++) {
        left = processes_with(f->cache);
        usleep(10000);
    }
    assert_int_equal(left, 0);
    /* A quick machine may have compiled it in time. */
    find_entry(f, path);
    bool there = path[0] != '\0';
    expect_once(f, !there, there);
}

int main(void)
{
#define COMPILER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        COMPILER_TEST(what_is_wanted_is_compiled_once),
        COMPILER_TEST(a_later_run_compiles_nothing),
        COMPILER_TEST(a_lost_note_costs_no_compilation),
        COMPILER_TEST(a_cache_of_no_use_is_done_without),
        COMPILER_TEST(processes_share_a_compilation),
        COMPILER_TEST(a_wrong_text_is_told_once),
        COMPILER_TEST(a_missing_nvrtc_is_told_once),
        COMPILER_TEST(a_tool_that_does_not_answer_is_told),
        COMPILER_TEST(a_tool_of_another_version_is_told),
        COMPILER_TEST(exit_during_a_compilation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
