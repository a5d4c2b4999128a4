/* program.c - launches each kernel once: `program FATBIN ROWS COLS`. */
#include <stdlib.h>
#include "common/program.h"

int main(int argc, char **argv)
{
    static const char *const names[] = {"right", "wrong", "outside", "stale", "racing"};
    start(argc, argv);
    int rows = atoi(word(0)), cols = atoi(word(1));
    size_t count = (size_t)rows * (size_t)cols;
    CUdeviceptr x = upload(count, 1), y = upload(count + 16, 2);
    for (int i = 0; i < 5; i++) {
        fill(y, count + 16, 2);
        launch(kernel(names[i]), 4, 128, NULL, (void *[]){&x, &y, &rows, &cols});
    }
    print_sum("x", x, count * sizeof(float));
    finish();
    return 0;
}
