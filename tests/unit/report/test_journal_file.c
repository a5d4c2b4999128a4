/* The journal's file: who may read it, where it may lie, how large it gets, and what becomes of it
 * when the disk is full or the process forks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "tests/unit/common/journal_fixture.h"

static void folder_and_file_are_private(void **state)
{
    struct fixture *f = *state;
    struct stat info;

    open_journal(f, 1 << 20, NULL);
    assert_int_equal(stat(f->reports, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(stat(journal_path(f->journal), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_has(journal_path(f->journal), "/journal-");
    assert_has(journal_path(f->journal), ".jsonl");
}

static void no_journal_is_fine(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};

    assert_int_equal(journal_create(&f->journal, "", NULL, &f->quota, &err), STATUS_OK);
    assert_null(f->journal);
    journal_start(NULL, &(struct options){0}, 0);
    journal_kernel(NULL, &f->check.spec);
    journal_check(NULL, &f->check.report, NULL);
    journal_warning(NULL, "a");
    journal_launch_error(NULL, "k", grid, block, "e");
    journal_control(NULL, "stop");
    journal_end(NULL, f->counters);
    assert_false(journal_forked(NULL));
    assert_int_equal(journal_lost(NULL), 0);
    assert_string_equal(journal_path(NULL), "");
    journal_destroy(NULL);
}

static void an_impossible_folder_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    char path[700];

    snprintf(path, sizeof path, "%s/file", f->folder.path);
    file_write(path, "no folder");
    strcat(path, "/reports");
    quota_init(&f->quota, 1 << 20);
    assert_int_equal(journal_create(&f->journal, path, NULL, &f->quota, &err), STATUS_IO);
    assert_null(f->journal);
    assert_has(err.text, "Not a directory");
}

/* Root may write anywhere, so the test becomes another user first; any user may run it. */
static void a_folder_without_permission_is_an_error(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t child;

    assert_int_equal(chmod(f->folder.path, 0555), 0);
    quota_init(&f->quota, 1 << 20);
    child = fork();
    if (child == 0) {
        struct error err = {0};
        enum status failure;

        if (geteuid() == 0 && seteuid(65534) != 0)
            _exit(9);
        failure = journal_create(&f->journal, f->reports, NULL, &f->quota, &err);
        _exit(failure == STATUS_IO && !f->journal && strstr(err.text, "Permission denied") ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(chmod(f->folder.path, 0755), 0);
}

static void a_link_is_not_followed(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    char name[800], target[600];

    open_journal(f, 1 << 20, NULL);
    snprintf(name, sizeof name, "%s", journal_path(f->journal));
    journal_destroy(f->journal);
    f->journal = NULL;
    snprintf(target, sizeof target, "%s/target", f->folder.path);
    file_write(target, "");
    assert_int_equal(unlink(name), 0);
    assert_int_equal(symlink(target, name), 0);
    assert_int_equal(journal_create(&f->journal, f->reports, NULL, &f->quota, &err), STATUS_IO);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(mkfifo(name, 0600), 0); /* and a FIFO neither blocks nor is written to */
    err.text[0] = '\0';
    assert_int_equal(journal_create(&f->journal, f->reports, NULL, &f->quota, &err), STATUS_IO);
}

/* The descriptor that the journal keeps. */
static int journal_fd(const struct fixture *f)
{
    char target[1024], link[64];

    for (int fd = 0; fd < 1024; fd++) {
        ssize_t length;

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        length = readlink(link, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        if (strcmp(target, journal_path(f->journal)) == 0)
            return fd;
    }
    fail_msg("the journal is not open");
    return -1;
}

static bool disk_full;

/* In place of libc's: a disk that can be full. */
ssize_t write(int fd, const void *bytes, size_t count)
{
    if (disk_full && fd > STDERR_FILENO) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, fd, bytes, count);
}

static void a_full_disk_ends_the_journal(void **state)
{
    struct fixture *f = *state;

    open_journal(f, 1 << 20, NULL);
    assert_true(fcntl(journal_fd(f), F_GETFD) & FD_CLOEXEC);
    journal_warning(f->journal, "before");
    disk_full = true;
    for (int i = 0; i < 5; i++)
        journal_warning(f->journal, "after");
    journal_end(f->journal, f->counters);
    disk_full = false;
    assert_int_equal(journal_lost(f->journal), 6);
    read_lines(f);
    assert_int_equal(f->lines, 1);
}

/* A daemon closes what it does not own, and its own file gets the number. */
static void a_file_of_the_programs_gets_no_line(void **state)
{
    struct fixture *f = *state;
    char path[600];
    struct stat info;
    int number, own;

    open_journal(f, 1 << 20, NULL);
    journal_warning(f->journal, "before");
    number = journal_fd(f);
    snprintf(path, sizeof path, "%s/own", f->folder.path);
    own = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(dup2(own, number), number);
    journal_warning(f->journal, "after");
    close(journal_fd(f)); /* and once more, without a file in its place */
    journal_end(f->journal, f->counters);
    assert_int_equal(fstat(own, &info), 0);
    assert_int_equal(info.st_size, 0);
    assert_int_equal(journal_lost(f->journal), 0);
    read_lines(f);
    assert_int_equal(f->lines, 3);
    assert_has(f->line[1], "after");
    journal_destroy(f->journal);
    f->journal = NULL;
    assert_true(fcntl(number, F_GETFD) >= 0); /* nor is it closed */
    close(number);
    close(own);
}

/* The journal's name may lead to another file by then. */
static void a_journal_is_opened_again_only_if_it_is_the_same(void **state)
{
    struct fixture *f = *state;
    char *text, moved[600];

    open_journal(f, 1 << 20, NULL);
    close(journal_fd(f));
    snprintf(moved, sizeof moved, "%s/moved", f->folder.path);
    assert_int_equal(rename(journal_path(f->journal), moved), 0);
    file_write(journal_path(f->journal), "not ours\n");
    journal_warning(f->journal, "after");
    assert_int_equal(journal_lost(f->journal), 1);
    text = file_read(journal_path(f->journal), NULL);
    assert_string_equal(text, "not ours\n");
    free(text);
}

static int open_without_streams(struct fixture *f)
{
    struct error err = {0};

    quota_init(&f->quota, 1 << 20);
    for (int fd = 0; fd <= 2; fd++)
        close(fd);
    if (journal_create(&f->journal, f->reports, NULL, &f->quota, &err) || !f->journal)
        return 1;
    journal_warning(f->journal, "a sentence");
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            return 2;
    }
    return journal_lost(f->journal) ? 3 : 0;
}

static void the_standard_streams_are_not_replaced(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(open_without_streams(f));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Who may write into the report folder may have made a file of the journal's name before. */
static void a_planted_file_is_not_written_to(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    char name[800], second[600];

    open_journal(f, 1 << 20, NULL);
    snprintf(name, sizeof name, "%s", journal_path(f->journal));
    journal_destroy(f->journal);
    f->journal = NULL;
    snprintf(second, sizeof second, "%s/second", f->folder.path);
    assert_int_equal(link(name, second), 0);
    assert_int_equal(journal_create(&f->journal, f->reports, NULL, &f->quota, &err), STATUS_IO);
    assert_has(err.text, "it has a second name");
    assert_int_equal(unlink(second), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(name, 65534, 65534), 0);
        err.text[0] = '\0';
        assert_int_equal(journal_create(&f->journal, f->reports, NULL, &f->quota, &err), STATUS_IO);
        assert_has(err.text, "it belongs to another user");
        assert_int_equal(chown(name, 0, 0), 0);
    }
    open_journal(f, 1 << 20, NULL);
}

static void the_name_has_the_run(void **state)
{
    struct fixture *f = *state;
    const char *path;

    open_journal(f, 1 << 20, "5f-2a/../x");
    path = journal_path(f->journal);
    assert_string_equal(path + strlen(path) - 17, "-5f-2a_.._x.jsonl");
}

/* A write that begins at RLIMIT_FSIZE raises SIGXFSZ, which would kill the program; one that
 * crosses it is short. */
static int write_under_limit(struct fixture *f, rlim_t bytes)
{
    const struct rlimit limit = {bytes, RLIM_INFINITY};
    sigset_t mask, pending;

    signal(SIGXFSZ, SIG_DFL); /* the test's parent may have ignored it */
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 9;
    open_journal(f, 1 << 20, NULL);
    for (int i = 0; i < 100; i++)
        journal_warning(f->journal, "%0200d", i);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    sigpending(&pending);
    if (sigismember(&mask, SIGXFSZ) || sigismember(&pending, SIGXFSZ))
        return 2; /* the program's mask was not put back, or a signal was left behind */
    return journal_lost(f->journal) > 50 ? 0 : 1;
}

static void a_file_size_limit_does_not_kill(void **state)
{
    static const rlim_t limits[] = {0, 4096};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        int status;
        pid_t child = fork();

        if (child == 0)
            _exit(write_under_limit(f, limits[i]));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

static void the_quota_leaves_room_for_the_end(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};

    open_journal(f, JOURNAL_END_BYTES + 1000, NULL);
    for (int i = 0; i < 100; i++)
        journal_warning(f->journal, "a sentence");
    journal_end(f->journal, f->counters);
    read_lines(f);
    assert_true(f->lines > 3 && f->lines < 12);
    assert_true(journal_line_is(f->line[f->lines - 1], "end"));
    assert_true(journal_lost(f->journal) == 101 - (uint64_t)f->lines);
    journal_destroy(f->journal);
    quota_init(&f->quota, JOURNAL_END_BYTES - 1);
    assert_int_equal(journal_create(&f->journal, f->reports, NULL, &f->quota, &err), STATUS_FULL);
    assert_null(f->journal);
}

static void a_forked_child_writes_nothing(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t child;

    open_journal(f, 1 << 20, NULL);
    journal_warning(f->journal, "parent");
    assert_false(journal_forked(f->journal));
    child = fork();
    if (child == 0) {
        bool forked = journal_forked(f->journal);

        journal_warning(f->journal, "child");
        journal_check(f->journal, &f->check.report, NULL);
        journal_end(f->journal, f->counters);
        _exit(forked ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    journal_warning(f->journal, "parent again");
    read_lines(f);
    assert_int_equal(f->lines, 2);
    assert_has(f->line[1], "parent again");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOURNAL_TEST(folder_and_file_are_private),
        JOURNAL_TEST(no_journal_is_fine),
        JOURNAL_TEST(an_impossible_folder_is_an_error),
        JOURNAL_TEST(a_folder_without_permission_is_an_error),
        JOURNAL_TEST(a_link_is_not_followed),
        JOURNAL_TEST(a_full_disk_ends_the_journal),
        JOURNAL_TEST(a_file_of_the_programs_gets_no_line),
        JOURNAL_TEST(a_journal_is_opened_again_only_if_it_is_the_same),
        JOURNAL_TEST(the_standard_streams_are_not_replaced),
        JOURNAL_TEST(a_planted_file_is_not_written_to),
        JOURNAL_TEST(the_name_has_the_run),
        JOURNAL_TEST(a_file_size_limit_does_not_kill),
        JOURNAL_TEST(the_quota_leaves_room_for_the_end),
        JOURNAL_TEST(a_forked_child_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
