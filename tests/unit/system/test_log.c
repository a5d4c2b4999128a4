/* Lines on standard error: they never end the program, and go nowhere but there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
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
#include "report/summary.h"
#include "tests/unit/common/tmp_folder.h"

/* Runs `act` in a child; its exit status, or minus the signal that ended it. */
static int in_child(int (*act)(const char *folder))
{
    struct tmp_folder folder;
    int status;
    pid_t child;

    tmp_folder_make(&folder);
    child = fork();
    if (child == 0) {
        signal(SIGPIPE, SIG_DFL); /* the test's parent may have ignored them */
        signal(SIGXFSZ, SIG_DFL);
        _exit(act(folder.path));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    tmp_folder_remove(&folder);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* 0 when neither signal was left pending and the mask is as it was. */
static int signals_left(void)
{
    sigset_t mask, pending;

    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    sigpending(&pending);
    return sigismember(&mask, SIGPIPE) || sigismember(&pending, SIGPIPE) ||
           sigismember(&mask, SIGXFSZ) || sigismember(&pending, SIGXFSZ);
}

static int no_reader(const char *folder)
{
    int ends[2];

    (void)folder;
    if (pipe(ends) != 0)
        return 9;
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    errno = 77;
    log_line(LOG_WARN, "a sentence");
    log_text("a summary\n", 10);
    return errno != 77 ? 8 : signals_left();
}

static void a_reader_that_is_gone_does_not_kill(void **state)
{
    (void)state;
    assert_int_equal(in_child(no_reader), 0);
}

static int no_room(const char *folder)
{
    const struct rlimit limit = {0, RLIM_INFINITY};
    char path[700];

    snprintf(path, sizeof path, "%s/err", folder);
    dup2(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), STDERR_FILENO);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 9;
    log_line(LOG_WARN, "a sentence");
    log_text("a summary\n", 10);
    return signals_left();
}

static void a_file_that_may_not_grow_does_not_kill(void **state)
{
    (void)state;
    assert_int_equal(in_child(no_room), 0);
}

static int closed_at_start(const char *folder)
{
    struct stat info;
    char path[700];
    int own;

    snprintf(path, sizeof path, "%s/own", folder);
    close(STDERR_FILENO);
    log_start();
    own = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (own != STDERR_FILENO)
        return 9;
    log_line(LOG_WARN, "a sentence");
    log_text("a summary\n", 10);
    return fstat(own, &info) != 0 || info.st_size != 0;
}

/* The program's own file may get number 2. */
static void a_standard_error_closed_at_the_start_stays_silent(void **state)
{
    (void)state;
    assert_int_equal(in_child(closed_at_start), 0);
}

/* Bytes in a file that standard error was replaced by, opened with `flags` more. */
static long replaced(const char *folder, int flags)
{
    struct stat info;
    char path[700];

    log_start();
    snprintf(path, sizeof path, "%s/later", folder);
    close(STDERR_FILENO);
    if (open(path, O_RDWR | O_CREAT | O_TRUNC | flags, 0600) != STDERR_FILENO)
        return -1;
    log_line(LOG_WARN, "a sentence");
    log_text("a summary\n", 10);
    return fstat(STDERR_FILENO, &info) == 0 ? (long)info.st_size : -1;
}

static int closed_later(const char *folder)
{
    return replaced(folder, 0) != 0;
}

static int a_log_of_its_own(const char *folder)
{
    return replaced(folder, O_APPEND) != 18 + 10;
}

/* A file of data that gets the number of a closed standard error stays as it is. */
static void a_standard_error_closed_later_stays_silent(void **state)
{
    (void)state;
    assert_int_equal(in_child(closed_later), 0);
    assert_int_equal(in_child(a_log_of_its_own), 0);
}

static int odd_words(const char *folder)
{
    static const char expected[] = "cuvet: kernel ?[2J a is odd\n";
    char path[700], long_name[4096], *said;
    int result;

    snprintf(path, sizeof path, "%s/err", folder);
    dup2(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), STDERR_FILENO);
    log_start();
    log_line(LOG_WARN, "kernel %s is odd", "\x1b[2J\na");
    memset(long_name, 0xc3, sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    log_line(LOG_WARN, "%s", long_name);
    said = file_read(path, NULL);
    result = !said || strncmp(said, expected, strlen(expected)) != 0 ||
             strspn(said + strlen(expected) + 7, "?") != 2047 - 7 - 1;
    free(said);
    return result;
}

static void a_line_is_one_printable_line(void **state)
{
    (void)state;
    assert_int_equal(in_child(odd_words), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_that_is_gone_does_not_kill),
        cmocka_unit_test(a_file_that_may_not_grow_does_not_kill),
        cmocka_unit_test(a_standard_error_closed_at_the_start_stays_silent),
        cmocka_unit_test(a_standard_error_closed_later_stays_silent),
        cmocka_unit_test(a_line_is_one_printable_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
