/* Bundles: what is in their files, their names and numbers, and what becomes of one that fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <cmocka.h>

#include "tests/unit/common/bundle_fixture.h"

static void the_tensors_read_back(void **state)
{
    struct fixture *f = *state;
    struct stat info;
    size_t size;
    char *image;

    make_bundles(f, 4);
    assert_int_equal(write_bundle(f), STATUS_OK);
    check_tensors(f, "4,8", 32);
    image = bundle_file(f, "module.cubin", &size);
    assert_int_equal(size, 10);
    assert_memory_equal(image,
                        "\x7f"
                        "ELF image",
                        10);
    free(image);
    assert_int_equal(folder_entries(f->path), 3);
    assert_int_equal(folder_entries(f->reports), 1); /* nothing temporary is left */
    assert_int_equal(stat(f->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    strcat(f->path, "/launch.json");
    assert_int_equal(stat(f->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

/* The tensors are those of the subset, the places those of the launch. */
static void a_subset_is_stored_as_it_was_checked(void **state)
{
    struct fixture *f = *state;
    char *text;

    make_bundles(f, 4);
    made_up_subset(&f->check);
    assert_int_equal(write_bundle(f), STATUS_OK);
    check_tensors(f, "4,8", MADE_UP_ELEMENTS);
    text = bundle_file(f, "launch.json", NULL);
    assert_has(text, "\"subset\": {\"dim\": \"rows\",\"checked\": 4,\"of\": 100,"
                     "\"blocks\": [[0,2],[98,100]]}");
    assert_has(text, "{\"array\": \"y\",\"dtype\": \"bf16\",\"shape\": [4,8],\"stride\": ");
    assert_has(text, "\"worst\": {\"array\": \"y\",\"index\": [99,5]");
    free(text);
}

static void large_tensors_are_streamed(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        f->check.binding.array[i].dim[0] = f->check.binding.call.tensor[i].dim[0] = 3001;
        f->check.binding.array[i].dim[1] = f->check.binding.call.tensor[i].dim[1] = 701;
    }
    make_bundles(f, 4);
    assert_int_equal(write_bundle(f), STATUS_OK);
    check_tensors(f, "3001,701", 3001 * 701);
    assert_int_equal(f->largest_read, BUNDLE_CHUNK);
}

static void launch_json_describes_the_launch(void **state)
{
    const struct param_pointer pointer = {8, 0x7f0000000100, 0x7f0000000000, 4096};
    struct fixture *f = *state;
    char expected[64];
    char *text;

    make_bundles(f, 4);
    f->source.machine = (struct report_machine){90, 13000, 132};
    f->source.pointer = &pointer;
    f->source.pointers = 1;
    f->check.report.cluster[0] = 2;
    f->check.report.cluster[1] = f->check.report.cluster[2] = 1;
    f->check.report.cooperative = true;
    assert_int_equal(write_bundle(f), STATUS_OK);
    text = bundle_file(f, "launch.json", NULL);
    assert_int_equal(strncmp(text, "{\n  \"version\": 2,\n  \"kernel\": \"_Z6double", 40), 0);
    assert_has(text, "\"grid\": [128,1,1]");
    assert_has(text, "\"shared_bytes\": 48");
    assert_has(text, "\"seed\": \"99\"");
    assert_has(text, "{\"offset\": 0,\"size\": 8,\"hex\": \"0102030405060708\"}");
    assert_has(text, "{\"offset\": 8,\"size\": 8,\"hex\": \"ff00000000000000\"}");
    assert_has(text, "{\"offset\": 16,\"size\": 8,\"hex\": null}"); /* of 20 bytes */
    assert_has(text, "\"formals\": \"in x[rows][cols], out y[rows][cols]\"");
    assert_has(text, "\"lambda\": 8");
    assert_has(text, "\"cluster\": [2,1,1],\n  \"cooperative\": true");
    assert_has(text, "\"machine\": {\"sm\": 90,\"driver\": 13000,\"multiprocessors\": 132}");
    assert_has(text, "\"pointers\": [{\"offset\": 8,\"address\": \"0x7f0000000100\",\"base\": "
                     "\"0x7f0000000000\",\"bytes\": 4096}]");
    assert_has(text, "\"chain_roundoff\": 0");
    assert_has(text, "{\"array\": \"y\",\"dtype\": \"bf16\",\"shape\": [4,8],\"stride\": ");
    assert_has(text, "\"worst\": {\"array\": \"y\",\"index\": [3,5]");
    assert_has(text, "\"module\": {\"file\": \"module.cubin\",\"bytes\": 10}\n}\n");
    free(text);
    snprintf(expected, sizeof expected, "/double-%ld-17", (long)getpid());
    assert_string_equal(f->path + strlen(f->reports), expected);
}

/* Arrays in blocks are written as bytes, and named. */
static void blocks_have_a_name(void **state)
{
    struct fixture *f = *state;
    struct bound_array *x = &f->check.binding.array[0];
    char *text;

    x->dtype = DTYPE_U8;
    x->blocks = DTYPE_Q4_K;
    x->ndim = 1;
    x->dim[0] = 2 * 144;
    f->check.binding.call.tensor[0].dtype = DTYPE_Q4_K;
    f->check.binding.call.tensor[0].dim[0] = 2;
    f->check.binding.call.tensor[0].dim[1] = 256;
    make_bundles(f, 4);
    assert_int_equal(write_bundle(f), STATUS_OK);
    text = bundle_file(f, "launch.json", NULL);
    assert_has(text, "\"name\": \"x\",\"role\": \"read\",\"dtype\": \"u8\",\"blocks\": \"q4_K\"");
    free(text);
    text = bundle_file(f, "tensors.safetensors", NULL);
    assert_has(text + 8, "\"before.x\":{\"dtype\":\"U8\",\"shape\":[288]");
    free(text);
}

/* A program that closes all from 3 up, and whose own files get the numbers, in the middle of it. */
static enum status close_all(void *user, int array, int after, uint64_t offset, void *out,
                             size_t size)
{
    struct fixture *f = user;
    char path[700];

    snprintf(path, sizeof path, "%s/own", f->folder.path);
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    for (int fd = 3; fd < 256; fd++)
        assert_int_equal(open(path, O_RDWR | O_CREAT, 0600), fd);
    return read_array(user, array, after, offset, out, size);
}

static int write_while_closing(struct fixture *f)
{
    struct stat info;
    char path[700];

    make_bundles(f, 4);
    f->source.read_array = close_all;
    if (write_bundle(f) == STATUS_OK || *f->path)
        return 1;
    snprintf(path, sizeof path, "%s/own", f->folder.path);
    if (stat(path, &info) != 0 || info.st_size != 0)
        return 2;
    for (int fd = 3; fd < 256; fd++) {
        if (close(fd) != 0)
            return 3;
    }
    f->source.read_array = read_array;
    return write_bundle(f) == STATUS_OK ? 0 : 4; /* the next one is written again */
}

static void files_of_the_programs_get_no_bytes(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(write_while_closing(f));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(folder_entries(f->reports), 1);
}

static void a_missing_image_is_explained(void **state)
{
    struct fixture *f = *state;
    char *text;

    f->source.image = NULL;
    f->source.no_image = "larger than 32 MiB";
    f->source.params = NULL;
    make_bundles(f, 4);
    assert_int_equal(write_bundle(f), STATUS_OK);
    text = bundle_file(f, "launch.json", NULL);
    assert_has(text, "\"module\": {\"missing\": \"larger than 32 MiB\"}");
    assert_has(text, "\"size\": 8,\"hex\": null}");
    free(text);
    assert_int_equal(folder_entries(f->path), 2);
}

static void labels_become_file_names(void **state)
{
    static const char *const rows[][2] = {
        {"rms_norm<float, 8>(int)", "rms_norm_float_8_int"},
        {"../../etc/passwd", "etc_passwd"},
        {"-rf", "rf"},
        {"\xff\xfe", "kernel"},
        {"a//b", "a_b"},
    };
    struct fixture *f = *state;
    char expected[128];

    make_bundles(f, 100);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        f->check.spec.label = rows[i][0];
        assert_int_equal(write_bundle(f), STATUS_OK);
        snprintf(expected, sizeof expected, "/%s-%ld-17", rows[i][1], (long)getpid());
        assert_string_equal(f->path + strlen(f->reports), expected);
    }
    assert_int_equal(folder_entries(f->reports), 5);
}

static void a_name_that_is_taken_gets_a_number(void **state)
{
    struct fixture *f = *state;
    char first[BUNDLE_PATH];

    make_bundles(f, 4);
    assert_int_equal(write_bundle(f), STATUS_OK);
    snprintf(first, sizeof first, "%s", f->path);
    assert_int_equal(write_bundle(f), STATUS_OK);
    assert_int_equal(strncmp(f->path, first, strlen(first)), 0);
    assert_string_equal(f->path + strlen(first), "-2");
    check_tensors(f, "4,8", 32);
}

static void each_kernel_has_its_limit(void **state)
{
    struct fixture *f = *state;

    make_bundles(f, 2);
    assert_true(bundles_wanted(f->bundles, &f->check.spec));
    assert_int_equal(write_bundle(f), STATUS_OK);
    assert_int_equal(write_bundle(f), STATUS_OK);
    assert_false(bundles_wanted(f->bundles, &f->check.spec));
    assert_int_equal(write_bundle(f), STATUS_FULL);
    assert_string_equal(f->path, "");
    f->check.spec.number = 1000;
    assert_true(bundles_wanted(f->bundles, &f->check.spec));
    assert_int_equal(write_bundle(f), STATUS_OK);
    assert_int_equal(folder_entries(f->reports), 3);
}

static void the_quota_holds(void **state)
{
    struct fixture *f = *state;

    quota_init(&f->quota, 100);
    make_bundles(f, 4);
    assert_int_equal(write_bundle(f), STATUS_FULL);
    assert_int_equal(folder_entries(f->reports), 0);
    assert_int_equal(f->quota.left, 100);
    assert_true(quota_take(&f->quota, 100));
    quota_give_back(&f->quota, 1 << 16);
    assert_int_equal(write_bundle(f), STATUS_OK); /* a smaller one, or more room */
    assert_true(f->quota.left < (1 << 16));
}

/* ---- what fails ---- */

static void a_failing_source_leaves_nothing(void **state)
{
    struct fixture *f = *state;

    make_bundles(f, 4);
    for (int reads = 0; reads < 3; reads++) {
        f->reads_left = reads;
        f->check.spec.number = (uint32_t)reads;
        assert_int_not_equal(write_bundle(f), STATUS_OK);
        assert_string_equal(f->path, "");
        assert_int_equal(folder_entries(f->reports), 0);
        assert_int_equal(f->quota.left, QUOTA);
        assert_true(bundles_wanted(f->bundles, &f->check.spec)); /* a next one may succeed */
    }
    f->reads_left = 3;
    assert_int_equal(write_bundle(f), STATUS_OK);
}

static void impossible_shapes_are_refused(void **state)
{
    struct fixture *f = *state;

    make_bundles(f, 4);
    f->check.binding.array[1].dim[0] = INT64_MAX;
    assert_int_equal(write_bundle(f), STATUS_INVALID);
    f->check.binding.array[1].dim[0] = -1;
    assert_int_equal(write_bundle(f), STATUS_INVALID);
    f->check.binding.array[1].dim[0] = 4;
    f->check.binding.array[1].dtype = DTYPE_NONE;
    assert_int_equal(write_bundle(f), STATUS_INVALID);
    assert_int_equal(folder_entries(f->reports), 0);
}

static void an_unwritable_folder(void **state)
{
    struct fixture *f = *state;
    struct bundles_settings settings = {.limit = 4, .quota = &f->quota};
    struct error err = {0};
    char path[700];

    snprintf(path, sizeof path, "%s/file", f->folder.path);
    file_write(path, "");
    settings.folder = path;
    assert_int_equal(bundles_create(&f->bundles, &settings, &err), STATUS_IO);
    assert_null(f->bundles);

    make_bundles(f, 4); /* and one that goes away later */
    assert_int_equal(rmdir(f->reports), 0);
    assert_int_equal(write_bundle(f), STATUS_IO);
    assert_false(bundles_wanted(f->bundles, &f->check.spec));
    assert_int_equal(write_bundle(f), STATUS_FULL);
    assert_int_equal(f->quota.left, QUOTA);
}

/* A full disk in the middle of a file, as far as a test can have one: no file over 100 bytes. */
static void a_full_disk_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    const struct rlimit limit = {100, RLIM_INFINITY};
    int status;
    pid_t child = fork();

    if (child == 0) {
        sigset_t pending;

        signal(SIGXFSZ, SIG_DFL); /* the test's parent may have ignored it */
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(9);
        make_bundles(f, 4);
        if (write_bundle(f) != STATUS_IO || bundles_wanted(f->bundles, &f->check.spec))
            _exit(1);
        sigpending(&pending);
        _exit(sigismember(&pending, SIGXFSZ) ? 2 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(folder_entries(f->reports), 0);
}

static void no_bundles_is_fine(void **state)
{
    struct fixture *f = *state;
    struct bundles_settings settings = {.folder = "", .limit = 4, .quota = &f->quota};
    struct error err = {0};

    assert_int_equal(bundles_create(&f->bundles, &settings, &err), STATUS_OK);
    assert_null(f->bundles);
    settings.folder = f->reports;
    settings.limit = 0;
    assert_int_equal(bundles_create(&f->bundles, &settings, &err), STATUS_OK);
    assert_null(f->bundles);
    assert_int_equal(folder_entries(f->reports), -1); /* the folder was not even made */
    assert_false(bundles_wanted(NULL, &f->check.spec));
    assert_int_equal(write_bundle(f), STATUS_FULL);
    bundles_destroy(NULL);
}

static void a_forked_child_writes_nothing(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t child;

    make_bundles(f, 4);
    child = fork();
    if (child == 0)
        _exit(bundles_wanted(f->bundles, &f->check.spec) || write_bundle(f) != STATUS_FULL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(folder_entries(f->reports), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BUNDLE_TEST(the_tensors_read_back),
        BUNDLE_TEST(files_of_the_programs_get_no_bytes),
        BUNDLE_TEST(a_subset_is_stored_as_it_was_checked),
        BUNDLE_TEST(large_tensors_are_streamed),
        BUNDLE_TEST(launch_json_describes_the_launch),
        BUNDLE_TEST(blocks_have_a_name),
        BUNDLE_TEST(a_missing_image_is_explained),
        BUNDLE_TEST(labels_become_file_names),
        BUNDLE_TEST(a_name_that_is_taken_gets_a_number),
        BUNDLE_TEST(each_kernel_has_its_limit),
        BUNDLE_TEST(the_quota_holds),
        BUNDLE_TEST(a_failing_source_leaves_nothing),
        BUNDLE_TEST(impossible_shapes_are_refused),
        BUNDLE_TEST(an_unwritable_folder),
        BUNDLE_TEST(a_full_disk_leaves_nothing),
        BUNDLE_TEST(no_bundles_is_fine),
        BUNDLE_TEST(a_forked_child_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
