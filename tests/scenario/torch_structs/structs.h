/* structs.h - what PyTorch's torch.cat and reductions take by value, for kernels.cu and program.c.
 */
#ifndef TORCH_STRUCTS_H
#define TORCH_STRUCTS_H

enum { CAT_INPUTS = 128, DIMS = 25 };

struct cat_inputs {
    const void *input[CAT_INPUTS];
    unsigned offset[CAT_INPUTS], dim_size[CAT_INPUTS], elements[CAT_INPUTS];
    char contiguous[CAT_INPUTS];
    unsigned size[4], stride[4];
};

struct cat_output {
    unsigned size[4], stride[4];
};

struct divider {
    unsigned divisor, magic, shift;
};

struct reduced {
    float correction;
    char take_root;
    struct {
        float mean, m2;
        int n;
        float nf;
    } ident;
    int config[16];
    int inner;
    struct divider inner_size[DIMS];
    unsigned inner_stride[DIMS];
    int outer;
    struct divider outer_size[DIMS];
    unsigned outer_stride[DIMS][2]; /* of the output, of the input */
    const char *source;
    char *out[2];
    void *buffers[3];
    long long base;
    char accumulate, last;
    int outputs;
};

#endif
