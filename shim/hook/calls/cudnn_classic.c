/*
 * cudnn_classic.c - the wrappers of cuDNN's functions that take a whole operation: convolutions and
 * batch norm.
 */
#include <math.h>

#include "hook/calls/cudnn.h"
#include "hook/calls/cudnn_conv.h"
#include "hook/calls/cudnn_plan.h"

#define ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))

/* alpha or beta: a double where tensors are f64, else a float. */
static double factor(const void *value, uint8_t type)
{
    if (!value)
        return 0;
    return type == DTYPE_F64 ? *(const double *)value : (double)*(const float *)value;
}

static bool read_tensor(const struct library *library, const void *desc, struct dnn_tensor *out)
{
    int type, rank, dims[DNN_RANK_MAX] = {0}, strides[DNN_RANK_MAX] = {0};
    *out = (struct dnn_tensor){0};
    if (!desc || !library->query.tensor_get ||
        library->query.tensor_get(desc, DNN_RANK_MAX, &type, &rank, dims, strides) ||
        rank > DNN_RANK_MAX)
        return false;
    *out = (struct dnn_tensor){.type = dnn_dtype(type), .rank = rank};
    for (int i = 0; i < rank; i++) {
        out->dim[i] = dims[i];
        out->stride[i] = strides[i];
    }
    return true;
}

/* ---- convolutions ---- */

enum { FORMAT_NCHW, FORMAT_NHWC, MATH_FMA = 3 };

/* Filters lie without gaps, by their channels last or as their dims come. */
static bool read_filter(const struct library *library, const void *desc, struct dnn_tensor *out)
{
    int type, format, rank, dims[DNN_RANK_MAX] = {0};
    *out = (struct dnn_tensor){0};
    if (!library->query.filter_get ||
        library->query.filter_get(desc, DNN_RANK_MAX, &type, &format, &rank, dims) ||
        rank > DNN_RANK_MAX || rank < 3 || (format != FORMAT_NCHW && format != FORMAT_NHWC))
        return false;
    *out = (struct dnn_tensor){.type = dnn_dtype(type), .rank = rank};
    int64_t stride = format == FORMAT_NHWC ? dims[1] : 1;
    for (int i = rank - 1; i > 0; i--) {
        out->dim[i] = dims[i];
        if (i > 1 || format == FORMAT_NCHW) {
            out->stride[i] = stride;
            stride *= dims[i];
        }
    }
    out->stride[1] = format == FORMAT_NHWC ? 1 : out->stride[1];
    out->dim[0] = dims[0];
    out->stride[0] = stride;
    return true;
}

static bool read_classic_window(const struct library *library, const void *desc,
                                struct dnn_convolution *conv)
{
    int rank, mode, compute, math = 0;
    int pads[DNN_RANK_MAX] = {0}, steps[DNN_RANK_MAX] = {0}, dilations[DNN_RANK_MAX] = {0};
    if (!library->query.window_get ||
        library->query.window_get(desc, DNN_RANK_MAX, &rank, pads, steps, dilations, &mode,
                                  &compute) ||
        rank > DNN_RANK_MAX)
        return false;
    if (library->query.window_math && !library->query.window_math(desc, &math))
        conv->exact = math == MATH_FMA;
    conv->spatial = rank;
    conv->mode = mode;
    conv->compute = compute;
    for (int i = 0; i < rank; i++) {
        conv->pad[i] = pads[i];
        conv->step[i] = steps[i];
        conv->dilation[i] = dilations[i];
    }
    return true;
}

struct conv_call {
    enum dnn_kind kind;
    const void *x_desc, *w_desc, *y_desc, *window, *alpha, *beta;
    const void *x, *w, *y;
    const void *bias_desc, *bias, *activation, *z_scale, *z_desc, *z; /* NULL: none */
};

/* The bias and the activation of a call that has them, and z where it has a part. */
static bool read_classic_epilogue(const struct library *library, const struct conv_call *call,
                                  struct dnn_convolution *conv)
{
    struct dnn_tensor bias;
    int mode, nan;
    double most;
    if (!call->bias_desc)
        return true;
    if (!read_tensor(library, call->bias_desc, &bias) || !library->query.activation_get ||
        library->query.activation_get(call->activation, &mode, &nan, &most))
        return false;
    conv->biased = true;
    conv->bias_type = bias.type;
    conv->low = mode == DNN_ACTIVATION_RELU ? 0 : conv->low;
    conv->adds = mode != DNN_ACTIVATION_RELU && mode != DNN_ACTIVATION_NONE;
    conv->added_scale = factor(call->z_scale, conv->x.type);
    return conv->added_scale == 0 || read_tensor(library, call->z_desc, &conv->added);
}

static bool fill_conv(struct dnn *out, const struct library *library, const struct conv_call *call)
{
    struct dnn_convolution conv = {.low = -HUGE_VAL, .high = HUGE_VAL};
    if (!read_tensor(library, call->x_desc, &conv.x) ||
        !read_filter(library, call->w_desc, &conv.w) ||
        !read_tensor(library, call->y_desc, &conv.y) ||
        !read_classic_window(library, call->window, &conv))
        return false;
    conv.alpha = factor(call->alpha, conv.x.type);
    conv.adds = factor(call->beta, conv.x.type) != 0;
    if (!read_classic_epilogue(library, call, &conv))
        return false;
    dnn_set_conv(out, call->kind, &conv);
    out->conv.x = ADDRESS(call->x);
    out->conv.w = ADDRESS(call->w);
    out->conv.y = ADDRESS(call->y);
    out->conv.bias = ADDRESS(call->bias); /* the first four are the same of volumes */
    if (out->words & DNN_WORD_ADDED)
        out->conv.added = ADDRESS(call->z);
    return true;
}

#define CONV(which, ...)                                                                           \
    fill_conv(&frame.call, library,                                                                \
              &(struct conv_call){.kind = (which),                                                 \
                                  .x_desc = x_desc,                                                \
                                  .w_desc = w_desc,                                                \
                                  .y_desc = y_desc,                                                \
                                  .window = window,                                                \
                                  .alpha = alpha,                                                  \
                                  .x = x,                                                          \
                                  .w = w,                                                          \
                                  .y = y,                                                          \
                                  __VA_ARGS__})

DNN_CALL(cudnnConvolutionForward,
         (void *handle, const void *alpha, const void *x_desc, const void *x, const void *w_desc,
          const void *w, const void *window, int algorithm, void *space, size_t bytes,
          const void *beta, const void *y_desc, void *y),
         (handle, alpha, x_desc, x, w_desc, w, window, algorithm, space, bytes, beta, y_desc, y),
         CONV(DNN_CONV, .beta = beta))

DNN_CALL(cudnnConvolutionBiasActivationForward,
         (void *handle, const void *alpha, const void *x_desc, const void *x, const void *w_desc,
          const void *w, const void *window, int algorithm, void *space, size_t bytes,
          const void *z_scale, const void *z_desc, const void *z, const void *bias_desc,
          const void *bias, const void *activation, const void *y_desc, void *y),
         (handle, alpha, x_desc, x, w_desc, w, window, algorithm, space, bytes, z_scale, z_desc, z,
          bias_desc, bias, activation, y_desc, y),
         CONV(DNN_CONV, .bias_desc = bias_desc, .bias = bias, .activation = activation,
              .z_scale = z_scale, .z_desc = z_desc, .z = z))

DNN_CALL(cudnnConvolutionBackwardData,
         (void *handle, const void *alpha, const void *w_desc, const void *w, const void *y_desc,
          const void *y, const void *window, int algorithm, void *space, size_t bytes,
          const void *beta, const void *x_desc, void *x),
         (handle, alpha, w_desc, w, y_desc, y, window, algorithm, space, bytes, beta, x_desc, x),
         CONV(DNN_CONV_DATA, .beta = beta))

DNN_CALL(cudnnConvolutionBackwardFilter,
         (void *handle, const void *alpha, const void *x_desc, const void *x, const void *y_desc,
          const void *y, const void *window, int algorithm, void *space, size_t bytes,
          const void *beta, const void *w_desc, void *w),
         (handle, alpha, x_desc, x, y_desc, y, window, algorithm, space, bytes, beta, w_desc, w),
         CONV(DNN_CONV_WEIGHT, .beta = beta))

/* ---- batch norm ---- */

enum { PER_ACTIVATION, SPATIAL, SPATIAL_PERSISTENT };

/* [batch][channels][places], where the places lie at one distance. */
static bool set_places(const struct dnn_tensor *tensor, int64_t *batch, int64_t *stride)
{
    int64_t size = 1, step = tensor->rank > 2 ? tensor->stride[tensor->rank - 1] : 1;
    for (int i = tensor->rank - 1; i > 1; i--) {
        if (tensor->dim[i] > 1 && tensor->stride[i] != size * step)
            return false;
        size *= tensor->dim[i];
    }
    batch[0] = tensor->dim[0];
    batch[1] = tensor->dim[1];
    batch[2] = size;
    stride[0] = tensor->stride[0];
    stride[1] = tensor->stride[1];
    stride[2] = step;
    return tensor->rank >= 2;
}

struct norm_call {
    enum dnn_kind kind;
    int mode, ops; /* ops: 0 is batch norm alone */
    const void *one, *zero, *one_more, *zero_more;
    const void *x_desc, *y_desc, *dx_desc; /* y_desc: of y or dy; dx_desc NULL: none */
    const void *w_desc;
    struct dnn_norm norm; /* addresses and numbers */
};

static bool same_sizes(const int64_t a[3], const int64_t b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

static bool fill_norm(struct dnn *out, const struct library *library, const struct norm_call *call)
{
    struct dnn_tensor x, y, w, dx;
    *out = (struct dnn){.kind = (uint8_t)call->kind, .norm = call->norm};
    struct dnn_norm *to = &out->norm;
    bool backward = call->kind == DNN_NORM_BACKWARD;
    int64_t y_size[3], dx_size[3];
    if (!read_tensor(library, call->x_desc, &x) || !read_tensor(library, call->y_desc, &y) ||
        !read_tensor(library, call->w_desc, &w) ||
        (backward && !read_tensor(library, call->dx_desc, &dx)))
        return false;
    int64_t *size = DNN_FROM(out, norm, batch);
    int64_t *y_strides = backward ? DNN_FROM(out, norm, dy_batch) : DNN_FROM(out, norm, y_batch);
    bool fits = set_places(&x, size, DNN_FROM(out, norm, x_batch)) &&
                set_places(&y, y_size, y_strides) && same_sizes(size, y_size) &&
                (!backward || (set_places(&dx, dx_size, DNN_FROM(out, norm, dx_batch)) &&
                               same_sizes(size, dx_size) && dx.type == x.type));
    /* Statistics by place are those by channel where a channel has one place. */
    fits = fits && call->ops == 0 && (call->mode != PER_ACTIVATION || to->size == 1);
    fits = fits && factor(call->one, x.type) == 1 && factor(call->zero, x.type) == 0;
    fits = fits && (!call->one_more || factor(call->one_more, x.type) == 1) &&
           factor(call->zero_more, x.type) == 0;
    fits = fits && (!backward || (to->mean && to->rstd));
    out->type[0] = x.type;
    out->type[1] = w.type;
    out->type[2] = y.type;
    out->accumulation = x.type == DTYPE_F64 ? ACCUMULATION_F64 : (uint8_t)ACCUMULATION_F32;
    if (call->kind == DNN_NORM_TRAINING) {
        out->words |= to->mean && to->rstd ? DNN_WORD_SAVED : 0u;
        out->words |= to->running_mean && to->running_var ? DNN_WORD_MOVED : 0u;
    }
    out->words |= fits ? 0u : DNN_WORD_OTHER;
    return true;
}

#define NORM(...) fill_norm(&frame.call, library, &(struct norm_call){__VA_ARGS__})

DNN_CALL(cudnnBatchNormalizationForwardInference,
         (void *handle, int mode, const void *one, const void *zero, const void *x_desc,
          const void *x, const void *y_desc, void *y, const void *w_desc, const void *w,
          const void *b, const void *mean, const void *var, double eps),
         (handle, mode, one, zero, x_desc, x, y_desc, y, w_desc, w, b, mean, var, eps),
         NORM(.kind = DNN_NORM, .mode = mode, .one = one, .zero = zero, .x_desc = x_desc,
              .y_desc = y_desc, .w_desc = w_desc,
              .norm = {.x = ADDRESS(x),
                       .y = ADDRESS(y),
                       .w = ADDRESS(w),
                       .b = ADDRESS(b),
                       .mean = ADDRESS(mean),
                       .rstd = ADDRESS(var),
                       .eps = eps}))

#define TRAINING(bn_ops)                                                                           \
    NORM(.kind = DNN_NORM_TRAINING, .mode = mode, .ops = (bn_ops), .one = one, .zero = zero,       \
         .x_desc = x_desc, .y_desc = y_desc, .w_desc = w_desc,                                     \
         .norm = {.x = ADDRESS(x),                                                                 \
                  .y = ADDRESS(y),                                                                 \
                  .w = ADDRESS(w),                                                                 \
                  .b = ADDRESS(b),                                                                 \
                  .mean = ADDRESS(mean),                                                           \
                  .rstd = ADDRESS(rstd),                                                           \
                  .running_mean = ADDRESS(running_mean),                                           \
                  .running_var = ADDRESS(running_var),                                             \
                  .eps = eps,                                                                      \
                  .momentum = momentum})

DNN_CALL(cudnnBatchNormalizationForwardTraining,
         (void *handle, int mode, const void *one, const void *zero, const void *x_desc,
          const void *x, const void *y_desc, void *y, const void *w_desc, const void *w,
          const void *b, double momentum, void *running_mean, void *running_var, double eps,
          void *mean, void *rstd),
         (handle, mode, one, zero, x_desc, x, y_desc, y, w_desc, w, b, momentum, running_mean,
          running_var, eps, mean, rstd),
         TRAINING(0))

DNN_CALL(cudnnBatchNormalizationForwardTrainingEx,
         (void *handle, int mode, int ops, const void *one, const void *zero, const void *x_desc,
          const void *x, const void *z_desc, const void *z, const void *y_desc, void *y,
          const void *w_desc, const void *w, const void *b, double momentum, void *running_mean,
          void *running_var, double eps, void *mean, void *rstd, void *activation, void *space,
          size_t bytes, void *reserve, size_t reserve_bytes),
         (handle, mode, ops, one, zero, x_desc, x, z_desc, z, y_desc, y, w_desc, w, b, momentum,
          running_mean, running_var, eps, mean, rstd, activation, space, bytes, reserve,
          reserve_bytes),
         TRAINING(ops))

#define BACKWARD(bn_ops)                                                                           \
    NORM(.kind = DNN_NORM_BACKWARD, .mode = mode, .ops = (bn_ops), .one = one, .zero = zero,       \
         .one_more = one_more, .zero_more = zero_more, .x_desc = x_desc, .y_desc = dy_desc,        \
         .dx_desc = dx_desc, .w_desc = w_desc,                                                     \
         .norm = {.x = ADDRESS(x),                                                                 \
                  .w = ADDRESS(w),                                                                 \
                  .mean = ADDRESS(mean),                                                           \
                  .rstd = ADDRESS(rstd),                                                           \
                  .dy = ADDRESS(dy),                                                               \
                  .dx = ADDRESS(dx),                                                               \
                  .dw = ADDRESS(dw),                                                               \
                  .db = ADDRESS(db),                                                               \
                  .eps = eps})

DNN_CALL(cudnnBatchNormalizationBackward,
         (void *handle, int mode, const void *one, const void *zero, const void *one_more,
          const void *zero_more, const void *x_desc, const void *x, const void *dy_desc,
          const void *dy, const void *dx_desc, void *dx, const void *w_desc, const void *w,
          void *dw, void *db, double eps, const void *mean, const void *rstd),
         (handle, mode, one, zero, one_more, zero_more, x_desc, x, dy_desc, dy, dx_desc, dx, w_desc,
          w, dw, db, eps, mean, rstd),
         BACKWARD(0))

DNN_CALL(cudnnBatchNormalizationBackwardEx,
         (void *handle, int mode, int ops, const void *one, const void *zero, const void *one_more,
          const void *zero_more, const void *x_desc, const void *x, const void *y_desc,
          const void *y, const void *dy_desc, const void *dy, const void *dz_desc, void *dz,
          const void *dx_desc, void *dx, const void *w_desc, const void *w, const void *b, void *dw,
          void *db, double eps, const void *mean, const void *rstd, void *activation, void *space,
          size_t bytes, void *reserve, size_t reserve_bytes),
         (handle, mode, ops, one, zero, one_more, zero_more, x_desc, x, y_desc, y, dy_desc, dy,
          dz_desc, dz, dx_desc, dx, w_desc, w, b, dw, db, eps, mean, rstd, activation, space, bytes,
          reserve, reserve_bytes),
         BACKWARD(ops))
