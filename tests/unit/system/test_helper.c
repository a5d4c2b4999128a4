/* Processes beside the program, which the program cannot notice. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "system/helper.h"

enum { THREADS = 4, HELPERS = 100, FAILED = 2, WAS_CHILD = 3 };

static void *start_helpers(void *user)
{
    char *const argv[] = {"true", NULL}, *const env[] = {NULL};
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < HELPERS && input >= 0; i++) {
        if (helper_start("/bin/true", argv, env, input, NULL))
            *(_Atomic int *)user = FAILED;
    }
    close(input);
    return NULL;
}

/* In a process that adopts orphans; 0, or what was found. */
static int start_at_once(void)
{
    pthread_t thread[THREADS];
    _Atomic int found = 0;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1))
        return FAILED;
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&thread[i], NULL, start_helpers, &found))
            return FAILED;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    int reaps = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &reaps);
    if (!reaps || waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
        return WAS_CHILD;
    return found;
}

static void helpers_of_a_subreaper_are_not_its_children(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(start_at_once());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(helpers_of_a_subreaper_are_not_its_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
