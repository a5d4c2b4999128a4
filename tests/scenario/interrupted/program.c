/*
 * program.c - threads that end at unusual places: `program FATBIN WAY`.
 *
 *   exit     a signal's handler calls exit, while a kernel is launched for the first time
 *   cancel   threads are cancelled, each while it launches a kernel for the first time
 *
 * A library that writes a file meanwhile is where that happens: its calls of write come here, raise
 * the signal and are the cancellation point. Without such a library it happens behind the launch.
 */
#include "common/program.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROWS = 4, COLS = 64, THREADS = 3 };

static const char *const names[THREADS] = {"norm_right", "norm_other", "norm_wrong"};
static __thread int armed; /* the signal, or -1: to be cancelled */
static struct norm norm;

static void meet(void)
{
    if (armed > 0)
        raise(armed);
    if (armed < 0)
        pthread_testcancel();
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void *bytes, size_t count)
{
    Dl_info caller;
    if (armed && dladdr(__builtin_return_address(0), &caller) && caller.dli_fname &&
        strstr(caller.dli_fname, "libcuvet"))
        meet();
    return syscall(SYS_write, fd, bytes, count);
}

static void end(int number)
{
    (void)number;
    exit(7);
}

static void *launch_cancelled(void *user)
{
    const char *name = user;
    CHECK(cuCtxSetCurrent(context));
    pthread_cancel(pthread_self());
    armed = -1;
    norm_launch(name, &norm, NULL);
    meet();
    return NULL;
}

static void cancel(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_create(&thread[i], NULL, launch_cancelled, (void *)names[i]);
        pthread_join(thread[i], &result);
        printf("%s: %s\n", names[i], result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
    }
    norm_launch("norm_right", &norm, NULL);
    norm_print("after", &norm);
}

int main(int argc, char **argv)
{
    start(argc, argv);
    norm = norm_new(ROWS, COLS, 1);
    if (!strcmp(word(0), "exit")) {
        puts("launching");
        fflush(stdout);
        signal(SIGUSR1, end);
        armed = SIGUSR1;
        norm_launch("norm_right", &norm, NULL);
        meet();
    }
    cancel();
    finish();
    return 0;
}
