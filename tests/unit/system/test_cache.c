/* The cache folder: what is sound is read, what is not reads as absent, and nothing grows. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "system/cache.h"
#include "tests/unit/common/says.h"
#include "tests/unit/common/tmp_folder.h"

struct fixture {
    struct tmp_folder folder;
    struct cache cache;
    char file[PATH_MAX + 16]; /* of the name "a" */
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    char option[600];
    tmp_folder_make(&f->folder);
    snprintf(option, sizeof option, "%s/below/cache", f->folder.path);
    cache_place(&f->cache, option);
    snprintf(f->file, sizeof f->file, "%s/a.cuvet", f->cache.folder);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    tmp_folder_remove(&f->folder);
    free(f);
    return 0;
}

static void put(const struct fixture *f, const char *name, const char *text)
{
    struct error err = {{0}};
    if (cache_write(&f->cache, name, text, strlen(text), &err))
        fail_msg("%s", err.text);
}

static bool holds(const struct fixture *f, const char *name, const char *text)
{
    char *bytes;
    size_t size;
    if (cache_read(&f->cache, name, &bytes, &size))
        return false;
    bool same = size == strlen(text) && memcmp(bytes, text, size) == 0;
    free(bytes);
    return same;
}

static bool is_absent(const struct fixture *f, const char *name)
{
    char *bytes;
    size_t size;
    return cache_read(&f->cache, name, &bytes, &size) == STATUS_NOT_FOUND && !bytes;
}

static void files_come_back(void **state)
{
    struct fixture *f = *state;
    struct stat facts;
    assert_true(is_absent(f, "a"));
    put(f, "a", "one");
    put(f, "b", "");
    assert_true(holds(f, "a", "one"));
    assert_true(holds(f, "b", ""));
    put(f, "a", "another");
    assert_true(holds(f, "a", "another"));
    assert_int_equal(folder_entries(f->cache.folder), 2);
    assert_int_equal(stat(f->cache.folder, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
    assert_int_equal(stat(f->file, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
}

static void truncated_files_are_absent(void **state)
{
    struct fixture *f = *state;
    struct stat facts;
    put(f, "a", "some bytes");
    assert_int_equal(stat(f->file, &facts), 0);
    for (off_t left = facts.st_size - 1; left >= 0; left -= left > 8 ? 7 : 1) {
        assert_int_equal(truncate(f->file, left), 0);
        assert_true(is_absent(f, "a"));
    }
    put(f, "a", "some bytes");
    assert_true(holds(f, "a", "some bytes"));
}

static void damaged_files_are_absent(void **state)
{
    struct fixture *f = *state;
    struct stat facts;
    put(f, "a", "some bytes");
    assert_int_equal(stat(f->file, &facts), 0);
    for (off_t at = 0; at < facts.st_size; at++) {
        int fd = open(f->file, O_RDWR);
        char byte;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        assert_true(is_absent(f, "a"));
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        close(fd);
    }
    assert_true(holds(f, "a", "some bytes"));
}

static void foreign_files_are_absent(void **state)
{
    struct fixture *f = *state;
    char other[PATH_MAX + 16];
    snprintf(other, sizeof other, "%s/b.cuvet", f->cache.folder);
    put(f, "a", "some bytes");
    assert_int_equal(link(f->file, other), 0);
    assert_true(is_absent(f, "b")); /* it is the file of another name */
    assert_int_equal(unlink(other), 0);
    assert_int_equal(symlink("a.cuvet", other), 0);
    assert_true(is_absent(f, "b"));
    assert_int_equal(unlink(other), 0);
    assert_int_equal(mkfifo(other, 0600), 0);
    assert_true(is_absent(f, "b"));
    assert_int_equal(unlink(other), 0);
    assert_int_equal(mkdir(other, 0700), 0);
    assert_true(is_absent(f, "b"));
    file_write(f->file, "an ordinary text that is longer than what such a file begins with, and "
                        "has nothing of it. It goes on for a while, and then it ends.");
    assert_true(is_absent(f, "a"));
}

static void folders_that_others_write_to_are_not_used(void **state)
{
    struct fixture *f = *state;
    struct error err = {{0}};
    put(f, "a", "some bytes");
    assert_int_equal(chmod(f->cache.folder, 0770), 0);
    assert_true(is_absent(f, "a"));
    assert_int_equal(cache_prepare(&f->cache, &err), STATUS_INVALID);
    expect_says(err.text, "belongs to another user, or others may write to it");
    assert_int_equal(cache_write(&f->cache, "b", "x", 1, NULL), STATUS_INVALID);
    assert_int_equal(chmod(f->cache.folder, 0700), 0);
    assert_true(holds(f, "a", "some bytes"));
    if (geteuid() != 0 || chown(f->cache.folder, 12345, 12345))
        return; /* only root can give a folder away */
    assert_true(is_absent(f, "a"));
    assert_int_equal(cache_prepare(&f->cache, NULL), STATUS_INVALID);
}

/* Root would leave a folder there that the home's owner cannot use. */
static void root_makes_no_folder_in_another_home(void **state)
{
    struct fixture *f = *state;
    if (geteuid() != 0 || chown(f->folder.path, 12345, 12345))
        skip();
    assert_int_equal(cache_prepare(&f->cache, NULL), STATUS_IO);
    assert_int_equal(folder_entries(f->folder.path), 0);
}

static void a_folder_that_cannot_be_made(void **state)
{
    struct fixture *f = *state;
    struct error err = {{0}};
    char file[600];
    snprintf(file, sizeof file, "%s/below", f->folder.path);
    file_write(file, "");
    assert_int_equal(cache_prepare(&f->cache, &err), STATUS_IO);
    expect_says(err.text, "/below/cache");
    assert_int_equal(cache_write(&f->cache, "a", "x", 1, NULL), STATUS_IO);
    assert_true(is_absent(f, "a"));
    assert_int_equal(cache_lock(&f->cache, "a", 0), -1);
}

static void places(void **state)
{
    struct cache cache;
    (void)state;
    setenv("HOME", "/home/someone", 1);
    setenv("XDG_CACHE_HOME", "/var/caches", 1);
    cache_place(&cache, "");
    assert_string_equal(cache.folder, "/var/caches/cuvet");
    unsetenv("XDG_CACHE_HOME");
    cache_place(&cache, "");
    assert_string_equal(cache.folder, "/home/someone/.cache/cuvet");
    unsetenv("HOME");
    cache_place(&cache, "");
    assert_string_equal(cache.folder, "");
    cache_place(&cache, "off");
    assert_string_equal(cache.folder, "");
    assert_int_equal(cache_prepare(&cache, NULL), STATUS_NOT_FOUND);
    assert_int_equal(cache_write(&cache, "a", "x", 1, NULL), STATUS_NOT_FOUND);
}

static void set_age(const struct fixture *f, const char *name, time_t seconds)
{
    char path[PATH_MAX + 64];
    const struct timespec then[2] = {{.tv_sec = time(NULL) - seconds},
                                     {.tv_sec = time(NULL) - seconds}};
    snprintf(path, sizeof path, "%s/%s", f->cache.folder, name);
    assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
}

/* A file that is read counts as new. */
static void the_oldest_files_go(void **state)
{
    struct fixture *f = *state;
    static char large[1000];
    memset(large, 'x', sizeof large - 1);
    f->cache.limit = 4000;
    put(f, "a", large);
    put(f, "b", large);
    put(f, "c", large);
    assert_int_equal(folder_entries(f->cache.folder), 3);
    set_age(f, "a.cuvet", 300);
    set_age(f, "b.cuvet", 200);
    set_age(f, "c.cuvet", 100);
    assert_true(holds(f, "a", large));
    put(f, "d", large);
    assert_true(holds(f, "a", large));
    assert_true(is_absent(f, "b"));
    assert_true(holds(f, "d", large));
    assert_int_equal(folder_entries(f->cache.folder), 2);
}

/* A folder that is named by mistake may hold anything. */
static void files_of_others_stay(void **state)
{
    struct fixture *f = *state;
    static char large[10000];
    char path[PATH_MAX + 64];
    memset(large, 'x', sizeof large - 1);
    put(f, "a", "one");
    snprintf(path, sizeof path, "%s/thesis.txt", f->cache.folder);
    file_write(path, large);
    set_age(f, "thesis.txt", 7200);
    f->cache.limit = 4000;
    put(f, "b", "two");
    assert_true(holds(f, "a", "one"));
    assert_true(holds(f, "b", "two"));
    assert_int_equal(access(path, F_OK), 0);
}

static void what_a_killed_process_left_goes(void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX + 64];
    put(f, "a", "one");
    snprintf(path, sizeof path, "%s/.new-1-2-3.cuvet", f->cache.folder);
    file_write(path, "half a fi");
    put(f, "b", "two");
    assert_int_equal(folder_entries(f->cache.folder), 3); /* it may be under way */
    set_age(f, ".new-1-2-3.cuvet", 7200);
    put(f, "b", "three");
    assert_int_equal(folder_entries(f->cache.folder), 2);
    assert_true(holds(f, "a", "one"));
}

static void locks_are_between_processes(void **state)
{
    struct fixture *f = *state;
    int lock = cache_lock(&f->cache, "a", 1000), status;
    assert_true(lock >= 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(cache_lock(&f->cache, "a", 50) >= 0 || cache_lock(&f->cache, "b", 50) < 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    cache_unlock(&f->cache, "a", lock);
    lock = cache_lock(&f->cache, "a", 50);
    assert_true(lock >= 0);
    cache_unlock(&f->cache, "a", lock);
}

int main(void)
{
#define CACHE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CACHE_TEST(files_come_back),
        CACHE_TEST(truncated_files_are_absent),
        CACHE_TEST(damaged_files_are_absent),
        CACHE_TEST(foreign_files_are_absent),
        CACHE_TEST(folders_that_others_write_to_are_not_used),
        CACHE_TEST(root_makes_no_folder_in_another_home),
        CACHE_TEST(a_folder_that_cannot_be_made),
        CACHE_TEST(the_oldest_files_go),
        CACHE_TEST(files_of_others_stay),
        CACHE_TEST(what_a_killed_process_left_goes),
        CACHE_TEST(locks_are_between_processes),
        cmocka_unit_test(places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
