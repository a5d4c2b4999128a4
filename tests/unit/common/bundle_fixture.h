/*
 * bundle_fixture.h - bundles of a made-up mismatch in a folder of their own, and their files read
 * back, for unit tests. All of it is here.
 */
#ifndef TESTS_UNIT_BUNDLE_FIXTURE_H
#define TESTS_UNIT_BUNDLE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "system/log.h"
#include "bundle/bundle.h"
#include "tests/unit/common/made_up_check.h"
#include "tests/unit/common/tmp_folder.h"

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
static inline uint8_t made_up_byte(int array, int after, uint64_t at)
{
    return (uint8_t)(at * 31 + at / 251 + (unsigned)array * 7 + (unsigned)after * 101);
}

static inline enum status read_array(void *user, int array, int after, uint64_t offset, void *out,
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

static inline int has_array(void *user, int array, int after)
{
    (void)user;
    return array == 0 ? !after : after; /* x before, y after */
}

static inline int has_reference(void *user, int tensor)
{
    (void)user;
    return tensor == 1;
}

static inline double made_up_reference(int64_t at)
{
    return at % 5 ? (double)at / 3 : NAN;
}

static inline enum status read_reference(void *user, int tensor, int64_t first, int64_t count,
                                         double *out)
{
    struct fixture *f = user;

    if (f->reads_left-- <= 0)
        return STATUS_IO; /* a source's own failure is no failure of the disk */
    assert_int_equal(tensor, 1);
    for (int64_t i = 0; i < count; i++)
        out[i] = made_up_reference(first + i);
    return STATUS_OK;
}

static inline int setup(void **state)
{
    static const uint8_t params[20] = {1, 2, 3, 4, 5, 6, 7, 8, 0xff};
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    tmp_folder_make(&f->folder);
    snprintf(f->reports, sizeof f->reports, "%s/reports", f->folder.path);
    quota_init(&f->quota, QUOTA);
    made_up_mismatch(&f->check);
    f->layout = (struct param_layout){.count = 3, .param = {{0, 8, 0}, {8, 8, 0}, {16, 8, 0}}};
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

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    bundles_destroy(f->bundles);
    tmp_folder_remove(&f->folder);
    free(f);
    return 0;
}

static inline void make_bundles(struct fixture *f, uint64_t limit)
{
    const struct bundles_settings settings = {
        .folder = f->reports, .limit = limit, .size = f->size, .seed = 99, .quota = &f->quota};
    struct error err = {0};

    assert_int_equal(bundles_create(&f->bundles, &settings, &err), STATUS_OK);
    assert_non_null(f->bundles);
}

static inline enum status write_bundle(struct fixture *f)
{
    return bundles_write(f->bundles, &f->check.report, &f->source, f->path, sizeof f->path);
}

/* A file of the bundle; the caller frees it. */
static inline char *bundle_file(const struct fixture *f, const char *name, size_t *size)
{
    char path[BUNDLE_PATH + 64];

    snprintf(path, sizeof path, "%s/%s", f->path, name);
    return file_read(path, size);
}

static inline void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' lacks '%s'", text, part);
}

/* The data of one tensor in a file, found through its header. */
static inline const uint8_t *find_tensor(const char *file, size_t size, const char *name,
                                         const char *head, uint64_t *bytes)
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

static inline void check_tensors(const struct fixture *f, const char *shape, uint64_t elements)
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

#define BUNDLE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#endif
