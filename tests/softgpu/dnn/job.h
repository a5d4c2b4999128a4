/* job.h - the parameters of the stand-in's kernels. */
#ifndef SOFTDNN_JOB_H
#define SOFTDNN_JOB_H

struct softdnn_tensor {
    unsigned long long address;  /* 0: none */
    long long dim[5], stride[5]; /* as many as there are */
    int type;                    /* cudnnDataType_t: 0 f32, 2 f16 */
};

enum softdnn_kind {
    SOFTDNN_CONV,
    SOFTDNN_CONV_DATA,
    SOFTDNN_CONV_WEIGHT,
    SOFTDNN_ATTENTION,
    SOFTDNN_ATTENTION_BACKWARD,
    SOFTDNN_NORM,
    SOFTDNN_NORM_TRAINING,
    SOFTDNN_NORM_BACKWARD,
    SOFTDNN_CONV3,
    SOFTDNN_CONV3_DATA,
    SOFTDNN_CONV3_WEIGHT
};

/* Convolution: x, w, y, bias, added. Attention: q, k, v, y, lse, bias, dy, dq, dk, dv as
 * [batch][heads][rows] [columns], and how many queries and keys each sequence has. Batch norm: x,
 * y, w, b, mean, rstd, running mean and variance, dy, dx, dw, db. */
struct softdnn_job {
    struct softdnn_tensor tensor[12];
    int kind;
    long long step[3], pad[3], dilation[3];
    int causal, bottom, relu; /* causal from the last query and key: bottom */
    float scale, eps, momentum, added_scale, high;
    int lost;   /* a tap, a key or the eps is left out */
    float leak; /* of a convolution each result is larger by this */
};

#endif
