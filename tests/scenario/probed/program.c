/* program.c - launches the kernel with a wrong element once: `program FATBIN ROWS COLS STRIDE`. */
#include <stdlib.h>
#include "common/program.h"

int main(int argc, char **argv)
{
    start(argc, argv);
    int rows = atoi(word(0)), cols = atoi(word(1)), stride = atoi(word(2));
    size_t count = (size_t)rows * (size_t)stride;
    CUdeviceptr x = upload(count, 1), y = upload(count, 2);
    launch(kernel("off"), 4, 128, NULL, (void *[]){&x, &y, &rows, &cols, &stride});
    print_sum("x", x, count * sizeof(float));
    finish();
    return 0;
}
