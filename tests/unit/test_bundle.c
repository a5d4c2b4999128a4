#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/log.h"
#include "report/bundle.h"
#include "tests/unit/made_up_check.h"
#include "tests/unit/tmp_folder.h"

enum { QUOTA = 1 << 30 };

struct fixture {
    struct tmp_folder folder;
    char reports[600];
    struct quota quota;
    struct bundles *bundles;
    struct made_up_check check;
    struct param_layout layout;
    struct bundle_source source;
    char path[BUNDLE_PATH];
    uint64_t size; /* of one bundle */
    uint64_t largest_read;
    int reads_left; /* the source fails after that many */
};

/* Byte `at` of array `array`, side `after`: no two tensors are alike. */
static uint8_t made_up_byte(int array, int after, uint64_t at)
{
    return (uint8_t)(at * 31 + at / 251 + (unsigned)array * 7 + (unsigned)after * 101);
}

static enum status read_array(void *user, int array, int after, uint64_t offset, void *out,
                              size_t size)
{
    struct fixture *f = user;

    if (f->reads_left-- <= 0)
        return STATUS_DRIVER;
    if (size > f->largest_read)
        f->largest_read = size;
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)out)[i] = made_up_byte(array, after, offset + i);
    return STATUS_OK;
}

static int has_array(void *user, int array, int after)
{
    (void)user;
    return array == 0 ? !after : after; /* x before, y after */
}

static int has_reference(void *user, int tensor)
{
    (void)user;
    return tensor == 1;
}

static double made_up_reference(int64_t at)
{
    return at % 5 ? (double)at / 3 : NAN;
}

static enum status read_reference(void *user, int tensor, int64_t first, int64_t count, double *out)
{
    struct fixture *f = user;

    if (f->reads_left-- <= 0)
        return STATUS_IO; /* a source's own failure is no failure of the disk */
    assert_int_equal(tensor, 1);
    for (int64_t i = 0; i < count; i++)
        out[i] = made_up_reference(first + i);
    return STATUS_OK;
}

static int setup(void **state)
{
    static const uint8_t params[20] = {1, 2, 3, 4, 5, 6, 7, 8, 0xff};
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    tmp_folder_make(&f->folder);
    snprintf(f->reports, sizeof f->reports, "%s/reports", f->folder.path);
    quota_init(&f->quota, QUOTA);
    made_up_mismatch(&f->check);
    f->layout = (struct param_layout){.count = 3, .param = {{0, 8}, {8, 8}, {16, 8}}};
    f->source = (struct bundle_source){.user = f,
                                       .read_array = read_array,
                                       .has_array = has_array,
                                       .has_reference = has_reference,
                                       .read_reference = read_reference,
                                       .image = "\x7f"
                                                "ELF image",
                                       .image_bytes = 10,
                                       .layout = &f->layout,
                                       .params = params,
                                       .params_bytes = sizeof params};
    f->size = QUOTA;
    f->reads_left = 1 << 20;
    log_set_level(LOG_QUIET);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    bundles_destroy(f->bundles);
    tmp_folder_remove(&f->folder);
    free(f);
    return 0;
}

static void make_bundles(struct fixture *f, uint64_t limit)
{
    const struct bundles_settings settings = {
        .folder = f->reports, .limit = limit, .size = f->size, .seed = 99, .quota = &f->quota};
    struct error err = {0};

    assert_int_equal(bundles_create(&f->bundles, &settings, &err), STATUS_OK);
    assert_non_null(f->bundles);
}

static enum status write_bundle(struct fixture *f)
{
    return bundles_write(f->bundles, &f->check.report, &f->source, f->path, sizeof f->path);
}

/* A file of the bundle; the caller frees it. */
static char *bundle_file(const struct fixture *f, const char *name, size_t *size)
{
    char path[BUNDLE_PATH + 64];

    snprintf(path, sizeof path, "%s/%s", f->path, name);
    return file_read(path, size);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' lacks '%s'", text, part);
}

/* The data of one tensor in a file, found through its header. */
static const uint8_t *find_tensor(const char *file, size_t size, const char *name, const char *head,
                                  uint64_t *bytes)
{
    char key[256];
    uint64_t length, from, to;
    const char *at, *offsets;

    memcpy(&length, file, 8);
    assert_true(length % 8 == 0 && length + 8 <= size);
    snprintf(key, sizeof key, "\"%s\":{%s,\"data_offsets\":[", name, head);
    at = strstr(file + 8, key);
    if (!at)
        fail_msg("no %s in %s", key, file + 8);
    offsets = at + strlen(key);
    assert_int_equal(sscanf(offsets, "%lu,%lu]}", &from, &to), 2);
    assert_true(from <= to && 8 + length + to <= size);
    *bytes = to - from;
    return (const uint8_t *)file + 8 + length + from;
}

static void check_tensors(const struct fixture *f, const char *shape, uint64_t elements)
{
    char head[128];
    size_t size;
    char *file = bundle_file(f, "tensors.safetensors", &size);
    const uint8_t *data;
    uint64_t bytes, length;

    assert_non_null(file);
    for (int after = 0; after < 2; after++) {
        snprintf(head, sizeof head, "\"dtype\":\"BF16\",\"shape\":[%s]", shape);
        data = find_tensor(file, size, after ? "after.y" : "before.x", head, &bytes);
        assert_int_equal(bytes, 2 * elements);
        for (uint64_t i = 0; i < bytes; i++) {
            if (data[i] != made_up_byte(after, after, i))
                fail_msg("byte %lu differs", i);
        }
    }
    snprintf(head, sizeof head, "\"dtype\":\"F64\",\"shape\":[%s]", shape);
    data = find_tensor(file, size, "reference.y", head, &bytes);
    assert_int_equal(bytes, 8 * elements);
    for (uint64_t i = 0; i < elements; i++) {
        double got, expected = made_up_reference((int64_t)i);

        memcpy(&got, data + 8 * i, 8);
        assert_true(got == expected || (isnan(got) && isnan(expected)));
    }
    memcpy(&length, file, 8);
    assert_int_equal(size, 8 + length + 12 * elements); /* nothing else in it */
    free(file);
}

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
    assert_has(text, "{\"array\": \"y\",\"dtype\": \"bf16\",\"shape\": [4,8],\"rule\": \"bound\"");
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
    struct fixture *f = *state;
    char expected[64];
    char *text;

    make_bundles(f, 4);
    assert_int_equal(write_bundle(f), STATUS_OK);
    text = bundle_file(f, "launch.json", NULL);
    assert_int_equal(strncmp(text, "{\n  \"version\": 1,\n  \"kernel\": \"_Z6double", 40), 0);
    assert_has(text, "\"grid\": [128,1,1]");
    assert_has(text, "\"shared_bytes\": 48");
    assert_has(text, "\"seed\": 99");
    assert_has(text, "{\"offset\": 0,\"size\": 8,\"hex\": \"0102030405060708\"}");
    assert_has(text, "{\"offset\": 8,\"size\": 8,\"hex\": \"ff00000000000000\"}");
    assert_has(text, "{\"offset\": 16,\"size\": 8,\"hex\": null}"); /* of 20 bytes */
    assert_has(text, "\"formals\": \"in x[rows][cols], out y[rows][cols]\"");
    assert_has(text, "\"lambda\": 8");
    assert_has(text, "\"chain_roundoff\": 0");
    assert_has(text, "{\"array\": \"y\",\"dtype\": \"bf16\",\"shape\": [4,8],\"rule\": \"bound\"");
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

/* ---- a bundle has its size ---- */

/* 40000 rows of 8 elements: 640 KB a side, and 2.5 MB of reference. */
static void make_large(struct fixture *f)
{
    for (int i = 0; i < 2; i++) {
        f->check.binding.array[i].ndim = 1; /* folded, as a dense array is */
        f->check.binding.array[i].dim[0] = 40000 * 8;
        f->check.binding.call.tensor[i].dim[0] = 40000;
    }
    f->check.report.numbers.first_index = 1000 * 8 + 2;
    f->check.report.numbers.worst_index = 30000 * 8 + 5;
}

static uint64_t bundle_bytes(const struct fixture *f)
{
    static const char *const files[] = {"launch.json", "tensors.safetensors", "module.cubin"};
    uint64_t bytes = 0;

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        size_t size = 0;
        char *text = bundle_file(f, files[i], &size);

        bytes += text ? size : 0;
        free(text);
    }
    return bytes;
}

/* Rows [from, to) of each tensor, held against what the source gives. */
static void check_parts(const struct fixture *f, int64_t from, int64_t to)
{
    char name[64], head[128];
    size_t size;
    char *file = bundle_file(f, "tensors.safetensors", &size);
    const uint8_t *data;
    uint64_t bytes;

    assert_non_null(file);
    for (int after = 0; after < 2; after++) {
        snprintf(name, sizeof name, "%s[%ld:%ld]", after ? "after.y" : "before.x", from, to);
        snprintf(head, sizeof head, "\"dtype\":\"BF16\",\"shape\":[%ld,8]", to - from);
        data = find_tensor(file, size, name, head, &bytes);
        assert_int_equal(bytes, (to - from) * 16);
        for (uint64_t i = 0; i < bytes; i++)
            assert_int_equal(data[i], made_up_byte(after, after, (uint64_t)from * 16 + i));
    }
    snprintf(name, sizeof name, "reference.y[%ld:%ld]", from, to);
    snprintf(head, sizeof head, "\"dtype\":\"F64\",\"shape\":[%ld,8]", to - from);
    data = find_tensor(file, size, name, head, &bytes);
    for (int64_t i = 0; i < (to - from) * 8; i++) {
        double got, expected = made_up_reference(from * 8 + i);

        memcpy(&got, data + 8 * i, 8);
        assert_true(got == expected || (isnan(got) && isnan(expected)));
    }
    free(file);
}

static void large_tensors_are_cut_around_the_violations(void **state)
{
    struct fixture *f = *state;
    char *text;

    make_large(f);
    f->size = 400 << 10;
    make_bundles(f, 4);
    assert_int_equal(write_bundle(f), STATUS_OK);
    /* (400 - 16) KB without the image hold 4096 rows of 96 bytes: 2047 around each violation */
    text = bundle_file(f, "launch.json", NULL);
    assert_has(text, "{\"tensor\": \"after.y\",\"shape\": [320000],\"bytes\": 640000,\"stored\": "
                     "[\"after.y[");
    assert_has(text, "\"tensor\": \"reference.y\",\"shape\": [40000,8],\"bytes\": 2560000");
    assert_null(strstr(text, "left_out"));
    free(text);
    check_parts(f, 0, 2047);
    check_parts(f, 30000 - 2047 / 2, 30000 - 2047 / 2 + 2047);
    assert_in_range(bundle_bytes(f), f->size - BUNDLE_TEXT, f->size);
}

static void close_violations_share_a_part(void **state)
{
    struct fixture *f = *state;
    char *text;

    make_large(f);
    f->check.report.numbers.first_index = 2 * 8;
    f->check.report.numbers.worst_index = 100 * 8;
    f->size = 400 << 10;
    make_bundles(f, 4);
    assert_int_equal(write_bundle(f), STATUS_OK);
    text = bundle_file(f, "launch.json", NULL);
    assert_has(text, "\"stored\": [\"after.y[0:2047]\"]}");
    free(text);
    check_parts(f, 0, 2047);
}

/* An input whose rows are other things than the output's is not cut anywhere. */
static void tensors_without_those_rows_are_left_out(void **state)
{
    struct fixture *f = *state;
    char *text, *tensors;
    size_t size;

    make_large(f);
    f->check.binding.call.tensor[0].dim[0] = 8;
    f->check.binding.call.tensor[0].dim[1] = 40000;
    f->size = 400 << 10;
    make_bundles(f, 4);
    assert_int_equal(write_bundle(f), STATUS_OK);
    text = bundle_file(f, "launch.json", NULL);
    assert_has(text, "\"tensor\": \"before.x\",\"shape\": [320000],\"bytes\": 640000,\"left_out\": "
                     "\"640000 bytes do not fit, and its rows are not those of y\"");
    free(text);
    tensors = bundle_file(f, "tensors.safetensors", &size);
    assert_null(strstr(tensors + 8, "before.x"));
    assert_non_null(strstr(tensors + 8, "after.y[30000") ? NULL : strstr(tensors + 8, "after.y["));
    free(tensors);
}

static void rows_that_do_not_fit_are_left_out(void **state)
{
    struct fixture *f = *state;
    char *text;

    make_large(f);
    for (int i = 0; i < 2; i++) {
        f->check.binding.call.tensor[i].dim[0] = 8;
        f->check.binding.call.tensor[i].dim[1] = 40000;
    }
    f->size = 400 << 10; /* a row of bf16 fits, one of the reference does not */
    make_bundles(f, 4);
    assert_int_equal(write_bundle(f), STATUS_OK);
    text = bundle_file(f, "launch.json", NULL);
    assert_has(text, "\"left_out\": \"a row of 320000 bytes does not fit\"");
    assert_has(text, "\"stored\": [\"after.y[0:1]\",\"after.y[6:7]\"]");
    free(text);
}

/* Small arrays stay whole beside large ones. */
static void what_fits_stays_whole(void **state)
{
    struct fixture *f = *state;
    char *text;

    make_large(f);
    f->check.binding.array[0].dim[0] = 32;
    f->check.binding.call.tensor[0].dim[0] = 4;
    f->size = 400 << 10;
    make_bundles(f, 4);
    assert_int_equal(write_bundle(f), STATUS_OK);
    text = bundle_file(f, "launch.json", NULL);
    assert_null(strstr(text, "\"tensor\": \"before.x\""));
    free(text);
    text = bundle_file(f, "tensors.safetensors", NULL);
    assert_has(text + 8, "\"before.x\":{\"dtype\":\"BF16\",\"shape\":[32]");
    free(text);
    f->size = 16 << 20; /* and all of them, where there is room */
    bundles_destroy(f->bundles);
    make_bundles(f, 4);
    assert_int_equal(write_bundle(f), STATUS_OK);
    text = bundle_file(f, "launch.json", NULL);
    assert_null(strstr(text, "excerpts"));
    free(text);
}

static void an_image_takes_half_at_most(void **state)
{
    struct fixture *f = *state;
    static char image[300 << 10];
    char *text;

    f->source.image = image;
    f->source.image_bytes = sizeof image;
    f->size = 400 << 10;
    make_bundles(f, 4);
    assert_int_equal(write_bundle(f), STATUS_OK);
    text = bundle_file(f, "launch.json", NULL);
    assert_has(text, "\"missing\": \"its 307200 bytes are too many for this bundle\"");
    free(text);
    check_tensors(f, "4,8", 32);
}

/* However many kernels are wrong, each gets a bundle, and the quota holds. */
static void many_wrong_kernels_share_the_quota(void **state)
{
    enum { KERNELS = 300, LEFT = 64 << 20 };
    struct fixture *f = *state;
    uint64_t written = 0;

    make_large(f);
    quota_init(&f->quota, LEFT);
    make_bundles(f, 4);
    for (uint32_t i = 0; i < KERNELS; i++) {
        int count = 0;

        f->check.spec.number = i;
        f->check.report.launch = 0;
        while (bundles_wanted(f->bundles, &f->check.spec)) {
            assert_int_equal(write_bundle(f), STATUS_OK);
            written += bundle_bytes(f);
            f->check.report.launch++;
            count++;
        }
        assert_int_equal(count, i < BUNDLE_MANY / 4 ? 4 : 1);
    }
    assert_true(written + quota_left(&f->quota) == LEFT);
    assert_int_equal(folder_entries(f->reports), BUNDLE_MANY + KERNELS - BUNDLE_MANY / 4);
}

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

        signal(SIGXFSZ, SIG_DFL); /* whoever started the test may have ignored it */
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

#define BUNDLE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BUNDLE_TEST(the_tensors_read_back),
        BUNDLE_TEST(a_subset_is_stored_as_it_was_checked),
        BUNDLE_TEST(large_tensors_are_streamed),
        BUNDLE_TEST(launch_json_describes_the_launch),
        BUNDLE_TEST(blocks_have_a_name),
        BUNDLE_TEST(a_missing_image_is_explained),
        BUNDLE_TEST(labels_become_file_names),
        BUNDLE_TEST(a_name_that_is_taken_gets_a_number),
        BUNDLE_TEST(each_kernel_has_its_limit),
        BUNDLE_TEST(the_quota_holds),
        BUNDLE_TEST(large_tensors_are_cut_around_the_violations),
        BUNDLE_TEST(close_violations_share_a_part),
        BUNDLE_TEST(tensors_without_those_rows_are_left_out),
        BUNDLE_TEST(rows_that_do_not_fit_are_left_out),
        BUNDLE_TEST(what_fits_stays_whole),
        BUNDLE_TEST(an_image_takes_half_at_most),
        BUNDLE_TEST(many_wrong_kernels_share_the_quota),
        BUNDLE_TEST(a_failing_source_leaves_nothing),
        BUNDLE_TEST(impossible_shapes_are_refused),
        BUNDLE_TEST(an_unwritable_folder),
        BUNDLE_TEST(a_full_disk_leaves_nothing),
        BUNDLE_TEST(no_bundles_is_fine),
        BUNDLE_TEST(a_forked_child_writes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
