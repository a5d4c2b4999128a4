/* structs.h - what PyTorch's kernels of elements by index and by place take by value, for
 * kernels.cu and program.c. */
#ifndef TORCH_PLACES_H
#define TORCH_PLACES_H

enum { DIMS = 25 };

struct divider {
    unsigned divisor, magic, shift;
};

/* x[i, j]: the output's, the input's and the indices' strides in bytes, then those of the indexed
 * dims. */
struct by_index {
    int dims;
    struct divider size[DIMS];
    unsigned stride[DIMS][3];
    char *out;
    const char *in;
    long long indices;
    const long long *index[DIMS];
    long long entries[DIMS], step[DIMS];
    long long unused;
};

/* The output's strides are negative along the dims that are flipped, and it begins there. */
struct flipping {
    int dims;
    struct divider size[DIMS];
    int stride[DIMS][2];
    char *out;
    const char *in;
};

struct tensor_info {
    char *data;
    int size[DIMS], stride[DIMS], dims;
};

#endif
