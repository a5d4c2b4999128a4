/* job.h - the parameters of the stand-in's kernels. */
#ifndef SOFTDNN_JOB_H
#define SOFTDNN_JOB_H

struct softdnn_tensor {
    unsigned long long address; /* 0: none */
    long long dim[4], stride[4];
    int type; /* cudnnDataType_t: 0 f32, 2 f16 */
};

enum softdnn_kind {
    SOFTDNN_CONV,
    SOFTDNN_CONV_DATA,
    SOFTDNN_CONV_WEIGHT,
    SOFTDNN_ATTENTION,
    SOFTDNN_ATTENTION_BACKWARD,
    SOFTDNN_NORM,
    SOFTDNN_NORM_TRAINING,
    SOFTDNN_NORM_BACKWARD
};

/* Convolution: x, w, y, bias. Attention: q, k, v, y, lse, bias, dy, dq, dk, dv as
 * [batch][heads][rows] [columns]. Batch norm: x, y, w, b, mean, rstd, running mean and variance,
 * dy, dx, dw, db. */
struct softdnn_job {
    struct softdnn_tensor tensor[12];
    int kind;
    long long step[2], pad[2], dilation[2];
    int causal, relu;
    float scale, eps, momentum;
    int lost; /* a tap, a key or the eps is left out */
};

#endif
