/* program.c - `program FATBIN [wrong]`: a kernel that is known by its name, and with `wrong` a
 * second one that does something else. */
#include "common/program.h"

#include <string.h>

enum { COUNT = 3000, REPEAT = 4 };

int main(int argc, char **argv)
{
    int n = COUNT;
    start(argc, argv);
    CUdeviceptr x = upload(COUNT, 1), z = upload(COUNT, 2), y = upload(COUNT, 3);
    for (int i = 0; i < REPEAT; i++)
        launch(kernel("_Z19gelu_forward_kernelPfPKfi"), 12, 256, NULL, (void *[]){&y, &x, &n});
    print_sum("gelu", y, 4 * COUNT);
    for (int i = 0; i < REPEAT && strcmp(word(0), "wrong") == 0; i++)
        launch(kernel("_Z23residual_forward_kernelPfS_S_i"), 12, 256, NULL,
               (void *[]){&y, &x, &z, &n});
    print_sum("residual", y, 4 * COUNT);
    finish();
    return 0;
}
