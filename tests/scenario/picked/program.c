/*
 * program.c - several tensors in one launch: `program FATBIN KERNEL [beyond|changed]`. With
 * `beyond` the struct names a tensor that is longer than its memory in a block that the grid does
 * not have, but the entry declares. With `changed` the last tensor holds other numbers from the
 * 20th launch on.
 */
#include "common/program.h"

#include <string.h>

enum { TENSORS = 4, BLOCKS = 16, CHUNK = 256, REPEAT = 40 };

struct lists {
    CUdeviceptr x[TENSORS], y[TENSORS];
    long long numel[TENSORS];
    unsigned char tensor[BLOCKS];
    int chunk[BLOCKS];
};

int main(int argc, char **argv)
{
    static const int numel[TENSORS] = {700, 256, 100, 1000};
    struct lists lists;
    unsigned blocks = 0;
    float factor = 0.75f;
    start(argc, argv);
    memset(&lists, 0, sizeof lists);
    for (unsigned t = 0; t < TENSORS; t++) {
        lists.x[t] = upload((size_t)numel[t], t + 1);
        lists.y[t] = upload((size_t)numel[t], t + 11);
        lists.numel[t] = numel[t];
        for (int chunk = 0; chunk * CHUNK < numel[t]; chunk++) {
            lists.tensor[blocks] = (unsigned char)t;
            lists.chunk[blocks++] = chunk;
        }
    }
    unsigned grid = blocks;
    if (strcmp(word(1), "beyond") == 0) {
        grid--;
        lists.tensor[blocks - 1] = 200;
    }
    for (unsigned i = 0; i < REPEAT; i++) {
        if (i == REPEAT / 2 && strcmp(word(1), "changed") == 0)
            lists.x[TENSORS - 1] = upload((size_t)numel[TENSORS - 1], 99);
        launch(kernel(word(0)), grid, 64, NULL, (void *[]){&lists, &factor});
    }
    for (unsigned t = 0; t < TENSORS; t++)
        print_sum(word(0), lists.y[t], (size_t)numel[t] * sizeof(float));
    finish();
    return 0;
}
