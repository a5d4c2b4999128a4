/*
 * The end of a process that has works in flight, fork, and delayed streams: each in a process of
 * its own, this program with one word.
 */
#include "stream_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

/* What a child does before it exits with work in flight. */
static void wait_forever(void *user)
{
    (void)user;
    for (;;)
        pause();
}

static int leave_in_flight(const char *how)
{
    CUstream stream;
    CUdeviceptr word;
    if (cuStreamCreate(&stream, 0) || cuMemAlloc(&word, 4) || cuMemsetD32(word, 0, 1))
        return 2;
    if (!strcmp(how, "host") ? cuLaunchHostFunc(stream, wait_forever, NULL)
                             : cuStreamWaitValue32(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ))
        return 2;
    for (unsigned i = 0; i < 10; i++)
        if (cuMemsetD32Async(word, 7, 1, stream))
            return 2;
    pause_ms(20);
    return 0;
}

/* In a child of fork() the driver is gone, and its exit waits for nothing. */
static int fork_away(void)
{
    struct gate gate = {0};
    if (cuLaunchHostFunc(NULL, pass_gate, &gate) || !wait_for(&gate.reached))
        return 2;
    pid_t child = fork();
    if (child == 0)
        exit(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED ? 0 : 3);
    int status;
    waitpid(child, &status, 0);
    open_gate(&gate);
    if (cuCtxSynchronize())
        return 2;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

/* Milliseconds that ten works of a low stream take longer than those of a plain one. */
static int be_late(void)
{
    CUstream low, plain;
    atomic_bool ran;
    if (cuStreamCreateWithPriority(&low, CU_STREAM_NON_BLOCKING, 0) ||
        cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING))
        return 2;
    double begin = now_ms();
    if (cuLaunchHostFunc(low, set_flag, &ran) || cuLaunchHostFunc(low, set_flag, &ran) ||
        cuStreamSynchronize(low))
        return 2;
    double middle = now_ms();
    if (cuLaunchHostFunc(plain, set_flag, &ran) || cuStreamSynchronize(plain))
        return 2;
    return middle - begin >= 2 * 100 && now_ms() - middle < 100 ? 0 : 3;
}

/* Another thread waits while the process ends; what it would do next must not be seen. */
static void *wait_then_abort(void *user)
{
    if (!cuCtxSetCurrent(user))
        cuCtxSynchronize();
    abort();
}

static int leave_while_waited_for(void)
{
    pthread_t thread;
    CUcontext context;
    if (leave_in_flight("value") || cuCtxGetCurrent(&context) ||
        pthread_create(&thread, NULL, wait_then_abort, context))
        return 2;
    pause_ms(50);
    return 0;
}

static int be_child(const char *what)
{
    use_primary(NULL);
    if (!strcmp(what, "fork"))
        return fork_away();
    if (!strcmp(what, "late"))
        return be_late();
    if (!strcmp(what, "waited"))
        return leave_while_waited_for();
    return leave_in_flight(what);
}

static void expect_child(const char *what, double limit_ms)
{
    double begin = now_ms();
    pid_t child = fork();
    if (child == 0) {
        if (!strcmp(what, "late"))
            setenv("SOFTGPU_DELAY", "low:100", 1);
        execl("/proc/self/exe", "test_stream_exit", what, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0 && now_ms() - begin < PATIENCE_MS)
        pause_ms(2);
    if (now_ms() - begin >= PATIENCE_MS)
        kill(child, SIGKILL);
    assert_true(now_ms() - begin < limit_ms);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void exit_does_not_wait_for_works(void **state)
{
    (void)state;
    expect_child("host", 5000);
    expect_child("value", 5000);
    expect_child("waited", 5000);
}

static void a_forked_child_has_no_driver(void **state)
{
    (void)state;
    expect_child("fork", PATIENCE_MS);
}

static void low_streams_can_be_delayed(void **state)
{
    (void)state;
    expect_child("late", PATIENCE_MS);
}

int main(int count, char **words)
{
    if (count > 1)
        return be_child(words[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_does_not_wait_for_works),
        cmocka_unit_test(a_forked_child_has_no_driver),
        cmocka_unit_test(low_streams_can_be_delayed),
    };
    return cmocka_run_group_tests_name("stream_exit", tests, NULL, NULL);
}
