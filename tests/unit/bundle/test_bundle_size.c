/* What a bundle leaves out to keep its size: excerpts around the violations, tensors without those
 * rows, images; and what many wrong kernels share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/common/bundle_fixture.h"

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

static const uint8_t variable_bytes[3000] = {1, 2, 3};

static bool some_variables(void *user, struct bundle_variables *out)
{
    static const struct bundle_variable list[] = {{"first", 20, variable_bytes, NULL},
                                                  {"lost", 8, NULL, "it is managed memory"},
                                                  {"last", 3000, variable_bytes, NULL}};
    (void)user;
    *out = (struct bundle_variables){.list = list, .count = 3, .unchanged = 4, .unread = 5};
    return true;
}

/* Writes a bundle of `size` bytes and returns its launch.json; *values: its file of variables. */
static char *with_variables(struct fixture *f, uint64_t size, char **values, size_t *bytes)
{
    size_t length;
    f->size = size;
    f->source.variables = some_variables;
    make_bundles(f, 1);
    assert_int_equal(write_bundle(f), STATUS_OK);
    *values = bundle_file(f, BUNDLE_VALUES, bytes);
    return bundle_file(f, "launch.json", &length);
}

static void values_of_variables_are_stored(void **state)
{
    size_t bytes;
    char *values, *text = with_variables(*state, QUOTA, &values, &bytes);
    assert_has(text, "\"variables\": [{\"name\": \"first\",\"bytes\": 20,\"at\": 0},"
                     "{\"name\": \"lost\",\"bytes\": 8,\"missing\": \"it is managed memory\"},"
                     "{\"name\": \"last\",\"bytes\": 3000,\"at\": 32}]");
    assert_has(text, "\"variables_unchanged\": 4,");
    assert_has(text, "\"variables_unread\": 5,");
    assert_has(text, "\"variables_bytes\": 3040");
    assert_int_equal(bytes, 3040);
    assert_memory_equal(values, variable_bytes, 20);
    assert_memory_equal(values + 32, variable_bytes, sizeof variable_bytes);
    free(values);
    free(text);
}

static void values_take_a_quarter_at_most(void **state)
{
    size_t bytes;
    char *values, *text = with_variables(*state, 8 << 10, &values, &bytes);
    assert_null(values);
    assert_has(text,
               "\"name\": \"last\",\"bytes\": 3000,\"missing\": \"the 3040 bytes of all are too");
    assert_has(text, "\"variables_bytes\": 0");
    free(text);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        BUNDLE_TEST(large_tensors_are_cut_around_the_violations),
        BUNDLE_TEST(close_violations_share_a_part),
        BUNDLE_TEST(tensors_without_those_rows_are_left_out),
        BUNDLE_TEST(rows_that_do_not_fit_are_left_out),
        BUNDLE_TEST(what_fits_stays_whole),
        BUNDLE_TEST(an_image_takes_half_at_most),
        BUNDLE_TEST(values_of_variables_are_stored),
        BUNDLE_TEST(values_take_a_quarter_at_most),
        BUNDLE_TEST(many_wrong_kernels_share_the_quota),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
