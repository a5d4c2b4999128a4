/*
 * program.c - programs that fork: `program FATBIN before|both|after|exec`.
 *
 *   before  fork before CUDA starts; the child does without it
 *   both    fork before CUDA starts; both use it
 *   after   fork after CUDA has started, without exec: the child's calls fail, and it ends
 *   exec    the child execs this program again, which does `both`'s work
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(int argc, char **argv, const char *who)
{
    start(argc, argv);
    struct norm norm = norm_new(4, 80, 1);
    for (int i = 0; i < 5; i++)
        norm_launch("norm_right", &norm, NULL);
    norm_print(who, &norm);
}

static void wait_for(pid_t child)
{
    int status = 0;
    fflush(stdout);
    waitpid(child, &status, 0);
    printf("child ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

static pid_t begin(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        exit(2);
    return child;
}

/* CUDA's error in a child that cannot use it. */
static int orphan(void)
{
    size_t available = 0, total = 0;
    CUdeviceptr memory;
    printf("in the child: %d", (int)cuMemGetInfo(&available, &total));
    printf(" %d", (int)cuMemAlloc(&memory, 256));
    printf(" %d\n", (int)cuCtxSynchronize());
    fflush(stdout);
    return 5;
}

int main(int argc, char **argv)
{
    (void)read_image(argc, argv);
    if (!strcmp(word(0), "worker")) {
        work(argc, argv, "worker");
        finish();
        return 6;
    }
    bool after = !strcmp(word(0), "after") || !strcmp(word(0), "exec");
    if (after)
        work(argc, argv, "parent");
    pid_t child = begin();
    if (!child && !strcmp(word(0), "before"))
        exit(4);
    if (!child && !strcmp(word(0), "after"))
        exit(orphan());
    if (!child && !strcmp(word(0), "exec")) {
        execl("/proc/self/exe", argv[0], argv[1], "worker", (char *)NULL);
        _exit(9);
    }
    if (!child) {
        work(argc, argv, "child");
        finish();
        exit(6);
    }
    wait_for(child);
    if (!after)
        work(argc, argv, "parent");
    else {
        struct norm norm = norm_new(4, 80, 2);
        norm_launch("norm_right", &norm, NULL);
        norm_print("parent again", &norm);
    }
    finish();
    return 0;
}
