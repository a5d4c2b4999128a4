/* A flood of mismatches: journal, bundles and summary together stay within the quota and are whole,
 * also in a report folder that fills up under them. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <dirent.h>
#include <unistd.h>
#include <cmocka.h>
#include "system/log.h"
#include "bundle/bundle.h"
#include "report/journal.h"
#include "report/summary.h"
#include "report/thin.h"
#include "tests/unit/common/made_up_check.h"
#include "tests/unit/common/tmp_folder.h"

struct fixture {
    struct tmp_folder folder;
    char reports[600];
    struct quota quota;
    struct counters *counters;
    struct journal *journal;
    struct bundles *bundles;
    struct summary *summary;
    struct made_up_check check;
    struct bundle_source source;
};

static enum status read_array(void *user, int array, int after, uint64_t offset, void *out,
                              size_t size)
{
    (void)user, (void)array, (void)after, (void)offset;
    memset(out, 0x3f, size);
    return STATUS_OK;
}

static int has_array(void *user, int array, int after)
{
    (void)user;
    return array == after;
}

static enum status read_reference(void *user, int tensor, int64_t first, int64_t count, double *out)
{
    (void)user, (void)tensor, (void)first;
    memset(out, 0, (size_t)count * sizeof *out);
    return STATUS_OK;
}

static int has_reference(void *user, int tensor)
{
    (void)user;
    return tensor == 1;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    tmp_folder_make(&f->folder);
    snprintf(f->reports, sizeof f->reports, "%s/reports", f->folder.path);
    f->counters = counters_create();
    f->summary = summary_create();
    made_up_mismatch(&f->check);
    f->source = (struct bundle_source){.has_array = has_array,
                                       .read_array = read_array,
                                       .has_reference = has_reference,
                                       .read_reference = read_reference};
    log_set_level(LOG_WARN);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    bundles_destroy(f->bundles);
    journal_destroy(f->journal);
    summary_destroy(f->summary);
    counters_destroy(f->counters);
    tmp_folder_remove(&f->folder);
    free(f);
    return 0;
}

static void open_reports(struct fixture *f, uint64_t quota)
{
    struct bundles_settings settings = {
        .folder = f->reports, .limit = 4, .size = 256 << 20, .quota = &f->quota};
    struct error err = {0};

    quota_init(&f->quota, quota);
    if (journal_create(&f->journal, f->reports, NULL, &f->quota, &err) ||
        bundles_create(&f->bundles, &settings, &err))
        fail_msg("%s", err.text);
}

/* One mismatch of that kernel, as the session handles it. */
static void mismatch(struct fixture *f, uint32_t kernel, uint64_t launch)
{
    char path[BUNDLE_PATH] = "", label[32];

    snprintf(label, sizeof label, "kernel_%u", kernel);
    f->check.spec.number = kernel;
    f->check.spec.label = label;
    f->check.report.launch = launch;
    counters_seen(f->counters);
    counters_check(f->counters, &f->check.report);
    if (bundles_wanted(f->bundles, &f->check.spec))
        bundles_write(f->bundles, &f->check.report, &f->source, path, sizeof path);
    summary_finding(f->summary, &f->check.report, path);
    journal_check(f->journal, &f->check.report, path);
}

/* Bytes of the files in a folder and below. */
static uint64_t bytes_in(const char *path)
{
    DIR *folder = opendir(path);
    uint64_t sum = 0;

    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char name[1200];
        struct stat info;

        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || lstat(name, &info) != 0)
            continue;
        sum += S_ISDIR(info.st_mode) ? bytes_in(name) : (uint64_t)info.st_size;
    }
    if (folder)
        closedir(folder);
    return sum;
}

static int lines_with(const struct fixture *f, const char *part)
{
    char *text = file_read(journal_path(f->journal), NULL);
    int count = 0;

    for (char *at = text; at && (at = strstr(at, part)); at++)
        count++;
    free(text);
    return count;
}

/* Whatever runs in `act` writes nothing to standard error. */
static void assert_quiet(struct fixture *f, void (*act)(struct fixture *f))
{
    char path[700];
    size_t size;
    char *text;
    int kept = dup(STDERR_FILENO);

    snprintf(path, sizeof path, "%s/stderr", f->folder.path);
    if (!freopen(path, "w", stderr))
        fail();
    act(f);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    text = file_read(path, &size);
    if (size > 0)
        fail_msg("it said: %s", text);
    free(text);
}

static void one_kernel_always_wrong(struct fixture *f)
{
    for (uint64_t launch = 0; launch < 100000; launch++)
        mismatch(f, 0, launch);
}

static void a_kernel_that_is_always_wrong(void **state)
{
    struct fixture *f = *state;
    struct summary_facts facts = {.entries = 1};
    struct textbuf text;

    open_reports(f, UINT64_C(4) << 30);
    counters_add_kernel(f->counters, &f->check.spec);
    assert_quiet(f, one_kernel_always_wrong);
    journal_end(f->journal, f->counters);
    assert_int_equal(folder_entries(f->reports), 4 + 1);
    assert_int_equal(lines_with(f, "\"event\":\"finding\""), THIN_FINDINGS + 10); /* .. 65536 */
    assert_int_equal(lines_with(f, "\"mismatch\":100000"), 2); /* its totals, and the end */
    assert_true(bytes_in(f->reports) < 256 << 10);
    textbuf_init(&text);
    summary_text(f->summary, f->counters, &facts, &text);
    assert_non_null(strstr(text.data, "100000 mismatch"));
    assert_non_null(strstr(text.data, "... and 99998 more"));
    assert_true(text.length < 4096);
    textbuf_release(&text);
}

static void many_kernels_wrong(struct fixture *f)
{
    for (uint64_t launch = 0; launch < 20; launch++) {
        for (uint32_t kernel = 0; kernel < 200; kernel++)
            mismatch(f, kernel, launch);
    }
}

/* 80 KB a bundle: each kernel gets one, and the journal has its end. */
static void many_kernels_that_are_always_wrong(void **state)
{
    enum { LEFT = 24 << 20 };
    struct fixture *f = *state;

    f->check.binding.array[0].dim[0] = f->check.binding.call.tensor[0].dim[0] = 800;
    f->check.binding.array[1].dim[0] = f->check.binding.call.tensor[1].dim[0] = 800;
    open_reports(f, LEFT);
    assert_quiet(f, many_kernels_wrong);
    journal_end(f->journal, f->counters);
    assert_true(bytes_in(f->reports) <= LEFT);
    assert_int_equal(folder_entries(f->reports), 200 + 1);
    assert_int_equal(lines_with(f, "\"event\":\"end\""), 1);
}

/* Beyond the quota as well: what is left out is counted, and the end is there. */
static void a_flood_beyond_the_quota(void **state)
{
    enum { LEFT = 1 << 20 };
    struct fixture *f = *state;

    log_set_level(LOG_QUIET);
    open_reports(f, LEFT);
    many_kernels_wrong(f);
    journal_end(f->journal, f->counters);
    assert_true(bytes_in(f->reports) <= LEFT);
    assert_true(journal_lost(f->journal) > 0);
    assert_int_equal(lines_with(f, "\"event\":\"end\""), 1);
}

/* In a process of its own: a file system of 256 KB. 77: none can be mounted here. */
static int in_a_small_folder(struct fixture *f)
{
    static char fill[64 << 10];
    char path[700];
    int bundles;
    FILE *file;

    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mkdir(f->reports, 0700) != 0 || mount("none", f->reports, "tmpfs", 0, "size=256k") != 0)
        return 77;
    log_set_level(LOG_QUIET);
    open_reports(f, UINT64_C(4) << 30);
    mismatch(f, 0, 0);
    bundles = folder_entries(f->reports) - 1;
    snprintf(path, sizeof path, "%s/of-the-program", f->reports);
    file = fopen(path, "w"); /* another process fills the disk */
    while (file && fwrite(fill, sizeof fill, 1, file) == 1 && fflush(file) == 0)
        ;
    many_kernels_wrong(f);
    journal_end(f->journal, f->counters);
    if (bundles != 1 || folder_entries(f->reports) != 1 + 1 + 1) /* nothing half-written */
        return 1;
    if (journal_lost(f->journal) == 0 || bundles_wanted(f->bundles, &f->check.spec))
        return 2;
    return lines_with(f, "\n") == lines_with(f, "}\n") ? 0 : 3;
}

static void a_folder_that_fills_up(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(in_a_small_folder(f));
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

#define FLOOD_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FLOOD_TEST(a_kernel_that_is_always_wrong),
        FLOOD_TEST(many_kernels_that_are_always_wrong),
        FLOOD_TEST(a_flood_beyond_the_quota),
        FLOOD_TEST(a_folder_that_fills_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
