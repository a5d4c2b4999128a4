/* program.c - launches of kernels with 32760 bytes of parameters: `program FATBIN KERNEL
 * [LAUNCHES]`. */
#include <stdlib.h>
#include "common/program.h"
#include "wide/job.h"

enum { N = 256 };

int main(int argc, char **argv)
{
    static wide_job job;
    start(argc, argv);
    int launches = atoi(word(1)) > 1 ? atoi(word(1)) : 1;
    CUdeviceptr x = upload(N, 1), y = upload(N, 2);
    for (int i = 0; i < 1024; i++)
        job.factor[i] = 2;
    job.x = (const float *)(size_t)x;
    job.y = (float *)(size_t)y;
    job.n = N;
    for (int i = 0; i < launches; i++)
        launch(kernel(word(0)), 1, N, NULL, (void *[]){&job});
    print_sum("y", y, N * sizeof(float));
    CHECK(cuDevicePrimaryCtxRelease(0));
    return 0;
}
