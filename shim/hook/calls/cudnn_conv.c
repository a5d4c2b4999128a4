#include "hook/calls/cudnn_conv.h"

#include <math.h>
#include "hook/calls/cudnn_plan.h"

uint8_t dnn_dtype(int64_t type)
{
    switch (type) {
    case DNN_F32:
        return DTYPE_F32;
    case DNN_F64:
        return DTYPE_F64;
    case DNN_F16:
        return DTYPE_F16;
    case DNN_BF16:
        return DTYPE_BF16;
    case DNN_I64:
        return DTYPE_I64;
    default:
        return DTYPE_NONE;
    }
}

enum accumulation dnn_accumulation(int64_t compute, uint8_t input)
{
    if (compute == DNN_F32)
        return input == DTYPE_F64 ? ACCUMULATION_OTHER : ACCUMULATION_F32;
    return compute == DNN_F64   ? ACCUMULATION_F64
           : compute == DNN_F16 ? ACCUMULATION_F16
                                : ACCUMULATION_OTHER;
}

/* A line of pixels becomes an image of height 1. */
static void lift(struct dnn_tensor *tensor)
{
    if (tensor->rank != 3)
        return;
    tensor->rank = 4;
    tensor->dim[3] = tensor->dim[2];
    tensor->stride[3] = tensor->stride[2];
    tensor->dim[2] = 1;
}

static void lift_window(struct dnn_convolution *conv)
{
    if (conv->spatial != 1)
        return;
    conv->spatial = 2;
    conv->step[1] = conv->step[0];
    conv->pad[1] = conv->pad[0];
    conv->dilation[1] = conv->dilation[0];
    conv->step[0] = conv->dilation[0] = 1;
    conv->pad[0] = 0;
}

static bool fits(const struct dnn_convolution *c)
{
    const struct dnn_tensor *x = &c->x, *w = &c->w, *y = &c->y;
    bool ranks = x->rank == 4 && w->rank == 4 && y->rank == 4 && c->spatial == 2;
    bool types = x->type && w->type && y->type;
    return ranks && types && (!c->biased || c->bias_type == y->type) &&
           c->mode == DNN_CROSS_CORRELATION && !c->adds && x->dim[0] == y->dim[0] &&
           y->dim[1] == w->dim[0] && w->dim[1] > 0 && x->dim[1] % w->dim[1] == 0;
}

static void set_strides(int64_t out[4], const struct dnn_tensor *tensor)
{
    for (int i = 0; i < 4; i++)
        out[i] = tensor->stride[i];
}

void dnn_set_conv(struct dnn *out, enum dnn_kind kind, const struct dnn_convolution *conv)
{
    struct dnn_convolution c = *conv;
    struct dnn_conv *to = &out->conv;
    lift(&c.x);
    lift(&c.w);
    lift(&c.y);
    lift_window(&c);
    *out = (struct dnn){.kind = (uint8_t)kind,
                        .type = {c.x.type, c.w.type, c.y.type},
                        .accumulation = (uint8_t)dnn_accumulation(c.compute, c.x.type)};
    if (c.x.type == DTYPE_F32 && !c.exact && out->accumulation == ACCUMULATION_F32)
        out->accumulation = ACCUMULATION_TF32;
    if (!fits(&c)) {
        out->words |= DNN_WORD_OTHER;
        return;
    }
    to->batch = c.x.dim[0];
    to->channels = c.x.dim[1];
    to->height = c.x.dim[2];
    to->width = c.x.dim[3];
    to->filters = c.w.dim[0];
    to->depth = c.w.dim[1];
    to->window_h = c.w.dim[2];
    to->window_w = c.w.dim[3];
    to->out_h = c.y.dim[2];
    to->out_w = c.y.dim[3];
    set_strides(DNN_FROM(out, conv, x_batch), &c.x);
    set_strides(DNN_FROM(out, conv, w_filter), &c.w);
    set_strides(DNN_FROM(out, conv, y_batch), &c.y);
    to->stride_h = c.step[0];
    to->stride_w = c.step[1];
    to->pad_h = c.pad[0];
    to->pad_w = c.pad[1];
    to->dilation_h = c.dilation[0];
    to->dilation_w = c.dilation[1];
    to->alpha = c.alpha;
    to->low = c.relu ? 0.0 : -HUGE_VAL;
    out->words |= c.biased ? DNN_WORD_BIAS : 0u;
}
