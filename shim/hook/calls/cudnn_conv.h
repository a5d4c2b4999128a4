/* cudnn_conv.h - tensors and convolutions as cuDNN describes them, into struct dnn. */
#ifndef HOOK_CALLS_CUDNN_CONV_H
#define HOOK_CALLS_CUDNN_CONV_H

#include <stdbool.h>
#include <stdint.h>
#include "call/dnn.h"
#include "hook/calls/cudnn_types.h"

struct dnn_tensor {
    uint8_t type; /* enum dtype */
    int rank;     /* 0: not known */
    bool ragged;  /* items of the first dim begin at offsets in memory, not at strides */
    int64_t dim[DNN_RANK_MAX], stride[DNN_RANK_MAX];
};

struct dnn_convolution {
    struct dnn_tensor x, w, y;
    int spatial; /* dims that the window moves along */
    int64_t step[DNN_RANK_MAX], pad[DNN_RANK_MAX], dilation[DNN_RANK_MAX];
    int64_t mode, compute;
    double alpha;
    bool adds;          /* to what y held */
    double low, high;   /* what y is at least and at most */
    bool biased;        /* a number is added for each filter ... */
    uint8_t bias_type;  /* ... of this dtype */
    double added_scale; /* times a tensor like y; 0: none is added */
    struct dnn_tensor added;
    bool exact; /* f32 inputs are not rounded to tf32 */
};

/* Fills in the kind, types, accumulation and all arguments but the addresses; the word `other`
 * where the formula does not cover all of the call. */
void dnn_set_conv(struct dnn *out, enum dnn_kind kind, const struct dnn_convolution *conv);

#endif
