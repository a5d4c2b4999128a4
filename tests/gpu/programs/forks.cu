/*
 * forks.cu - processes that fork around CUDA:
 *   before   fork before CUDA; the child does none; the parent works
 *   both     fork before CUDA; child and parent both work, one after the other
 *   after    the parent works, forks, the child does no CUDA and calls exit(0); the parent goes on
 *   exec     the parent works, forks and executes this program again with `plain`; goes on
 *   plain    no fork
 */
#include <sys/wait.h>
#include <unistd.h>
#include "kernels.cuh"

extern "C" __global__ void fork_rmsnorm(const float *x, const float *w, float *y, int cols,
                                        float eps)
{
    size_t row = (size_t)blockIdx.x * cols;
    rmsnorm_row(x + row, w, y + row, cols, cols, eps);
}

static void work(const char *who)
{
    enum { ROWS = 32, COLS = 500 };
    float *x = device_array<float>(ROWS * COLS, 1, 1.0f), *w = device_array<float>(COLS, 2, 1.0f);
    float *y = device_array<float>(ROWS * COLS, 0, 0);
    for (int i = 0; i < 50; i++)
        fork_rmsnorm<<<ROWS, 128>>>(x, w, y, COLS, 1e-6f);
    CHECK(cudaDeviceSynchronize());
    printf("%s %016llx\n", who, (unsigned long long)device_fnv(y, ROWS * COLS));
    fflush(stdout);
}

/* Waits for the child and prints how it ended. */
static void reap(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %s %d\n", WIFEXITED(status) ? "exited" : "died",
           WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "plain";
    if (!strcmp(mode, "after") || !strcmp(mode, "exec"))
        work("parent");
    if (strcmp(mode, "plain")) {
        pid_t child = fork();
        if (child == 0) {
            if (!strcmp(mode, "both"))
                work("child");
            if (!strcmp(mode, "exec"))
                execl("/proc/self/exe", "forks", "plain", (char *)NULL);
            exit(!strcmp(mode, "exec") ? 9 : 0);
        }
        reap(child);
    }
    work("parent");
    return 0;
}
