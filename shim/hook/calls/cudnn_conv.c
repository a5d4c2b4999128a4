#include "hook/calls/cudnn_conv.h"

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
static void widen_tensor(struct dnn_tensor *tensor)
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

/* What holds for images and for volumes alike. */
static bool convolution_fits(const struct dnn_convolution *c)
{
    const struct dnn_tensor *x = &c->x, *w = &c->w, *y = &c->y;
    bool ranks = x->rank == c->spatial + 2 && w->rank == x->rank && y->rank == x->rank;
    bool types = x->type && w->type && y->type;
    return ranks && types && !x->ragged && !w->ragged && !y->ragged &&
           (!c->biased || c->bias_type == y->type) && c->mode == DNN_CROSS_CORRELATION &&
           !c->adds && x->dim[0] == y->dim[0] && y->dim[1] == w->dim[0] && w->dim[1] > 0 &&
           x->dim[1] % w->dim[1] == 0;
}

static void set_strides(int64_t out[4], const struct dnn_tensor *tensor)
{
    for (int i = 0; i < 4; i++)
        out[i] = tensor->stride[i];
}

static bool same_tensor_shape(const struct dnn_tensor *a, const struct dnn_tensor *b)
{
    bool same = a->rank == b->rank && a->type == b->type && !a->ragged;
    for (int i = 0; same && i < a->rank; i++)
        same = a->dim[i] == b->dim[i];
    return same;
}

static bool set_image(struct dnn *out, const struct dnn_convolution *c)
{
    struct dnn_conv *to = &out->conv;
    to->batch = c->x.dim[0];
    to->channels = c->x.dim[1];
    to->height = c->x.dim[2];
    to->width = c->x.dim[3];
    to->filters = c->w.dim[0];
    to->depth = c->w.dim[1];
    to->window_h = c->w.dim[2];
    to->window_w = c->w.dim[3];
    to->out_h = c->y.dim[2];
    to->out_w = c->y.dim[3];
    set_strides(DNN_FROM(out, conv, x_batch), &c->x);
    set_strides(DNN_FROM(out, conv, w_filter), &c->w);
    set_strides(DNN_FROM(out, conv, y_batch), &c->y);
    to->stride_h = c->step[0];
    to->stride_w = c->step[1];
    to->pad_h = c->pad[0];
    to->pad_w = c->pad[1];
    to->dilation_h = c->dilation[0];
    to->dilation_w = c->dilation[1];
    to->alpha = c->alpha;
    to->low = c->low;
    to->high = c->high;
    if (c->added_scale == 0)
        return true;
    set_strides(DNN_FROM(out, conv, added_batch), &c->added);
    to->added_scale = c->added_scale;
    out->words |= DNN_WORD_ADDED;
    return same_tensor_shape(&c->added, &c->y);
}

/* ---- volumes ---- */

/* The elements of the last three dims, which lie at one distance; 0: they do not. */
static int64_t fold(const struct dnn_tensor *t, int64_t *stride)
{
    int64_t step = t->stride[4];
    bool even = (t->dim[3] == 1 || t->stride[3] == step * t->dim[4]) &&
                (t->dim[2] == 1 || t->stride[2] == step * t->dim[4] * t->dim[3]);
    stride[0] = t->stride[0];
    stride[1] = t->stride[1];
    stride[2] = step;
    return even ? t->dim[2] * t->dim[3] * t->dim[4] : 0;
}

/* A number for each axis in one; -1: they do not fit. */
static int64_t pack_axes(const int64_t axis[3])
{
    int64_t packed = 0;
    for (int i = 0; i < 3; i++) {
        if (axis[i] < 0 || axis[i] > 65535)
            return -1;
        packed = packed << 16 | axis[i];
    }
    return packed;
}

static bool set_volume(struct dnn *out, const struct dnn_convolution *c)
{
    struct dnn_conv3 *to = &out->conv3;
    to->batch = c->x.dim[0];
    to->channels = c->x.dim[1];
    to->pixels = fold(&c->x, DNN_FROM(out, conv3, x_batch));
    to->filters = c->w.dim[0];
    to->depth = c->w.dim[1];
    to->taps = fold(&c->w, DNN_FROM(out, conv3, w_filter));
    to->places = fold(&c->y, DNN_FROM(out, conv3, y_batch));
    to->height = c->x.dim[3];
    to->width = c->x.dim[4];
    to->window_h = c->w.dim[3];
    to->window_w = c->w.dim[4];
    to->out_h = c->y.dim[3];
    to->out_w = c->y.dim[4];
    to->stride = pack_axes(c->step);
    to->pad = pack_axes(c->pad);
    to->dilation = pack_axes(c->dilation);
    to->alpha = c->alpha;
    to->low = c->low;
    return to->pixels && to->taps && to->places && to->stride >= 0 && to->pad >= 0 &&
           to->dilation >= 0 && c->added_scale == 0 && c->high > 1e300;
}

void dnn_set_conv(struct dnn *out, enum dnn_kind kind, const struct dnn_convolution *conv)
{
    struct dnn_convolution c = *conv;
    widen_tensor(&c.x);
    widen_tensor(&c.w);
    widen_tensor(&c.y);
    widen_tensor(&c.added);
    lift_window(&c);
    bool volume = c.spatial == 3;
    if (volume)
        kind += DNN_CONV3 - DNN_CONV;
    *out = (struct dnn){.kind = (uint8_t)kind,
                        .type = {c.x.type, c.w.type, c.y.type},
                        .accumulation = (uint8_t)dnn_accumulation(c.compute, c.x.type)};
    if (c.x.type == DTYPE_F32 && !c.exact && out->accumulation == ACCUMULATION_F32)
        out->accumulation = ACCUMULATION_TF32;
    out->words |= (c.biased ? DNN_WORD_BIAS : 0u) | (volume ? DNN_WORD_VOLUME : 0u);
    bool known = convolution_fits(&c) &&
                 (volume ? set_volume(out, &c) : c.spatial == 2 && set_image(out, &c));
    out->words |= known ? 0u : DNN_WORD_OTHER;
}
