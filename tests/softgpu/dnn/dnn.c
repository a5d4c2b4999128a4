/*
 * dnn.c - libcudnn.so.9, as far as the scenarios call it. It keeps the attributes of descriptors as
 * they are set, finds a graph's tensors by their numbers when it is executed, and does what the
 * first operation gives: a convolution, or attention, whose numbers dnn.h has.
 */
#include "dnn.h"

#include <cuda.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char softdnn_fatbin[];

enum {
    ATTRIBUTES = 16,
    CONV_DESCRIPTOR = 1,
    ENGINE = 2,
    CONFIG = 3,
    HEURISTICS = 4,
    CHOICE = 7,
    OP_CONV = 10,
    OP_CONV_WEIGHT = 11,
    OP_CONV_DATA = 12,
    GRAPH = 15,
    TENSOR = 17,
    IS_BOOLEAN = 2,
    IS_DESCRIPTOR = 15
};

struct descriptor {
    int type, count;
    struct descriptor *graph; /* of a configuration */
    struct attribute {
        int name, type;
        int64_t count;
        int64_t value[40];
    } attribute[ATTRIBUTES];
};

struct described { /* of the functions that take an operation whole */
    int type, format, dims[4], strides[4], step[2], pad[2];
};

struct handle {
    void *stream;
};

/* ---- running ---- */

static int run(struct softdnn_job *job, long long threads, void *stream)
{
    enum { THREADS = 64 };
    static CUmodule module;
    CUfunction function;
    const char *fault = getenv("SOFTDNN_FAULT");
    void *params[] = {job};
    job->lost = fault && strcmp(fault, "lost") == 0;
    job->leak = fault && strncmp(fault, "leak=", 5) == 0 ? strtof(fault + 5, NULL) : 0;
    unsigned blocks = (unsigned)((threads + THREADS - 1) / THREADS);
    if ((!module && cuModuleLoadData(&module, softdnn_fatbin)) ||
        cuModuleGetFunction(&function, module, "softdnn_run") ||
        cuLaunchKernel(function, blocks, 1, 1, THREADS, 1, 1, 0, stream, params, NULL))
        return SOFTDNN_FAILED;
    return 0;
}

static long long size_of(const struct softdnn_tensor *t)
{
    return t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3] * (t->dim[4] > 0 ? t->dim[4] : 1);
}

/* ---- handles ---- */

int cudnnCreate(void **handle)
{
    *handle = calloc(1, sizeof(struct handle));
    return 0;
}

int cudnnDestroy(void *handle)
{
    free(handle);
    return 0;
}

int cudnnSetStream(void *handle, void *stream)
{
    ((struct handle *)handle)->stream = stream;
    return 0;
}

int cudnnGetStream(void *handle, void **stream)
{
    *stream = ((struct handle *)handle)->stream;
    return 0;
}

/* ---- graphs ---- */

int cudnnBackendCreateDescriptor(int type, void **descriptor)
{
    struct descriptor *d = calloc(1, sizeof *d);
    d->type = type;
    *descriptor = d;
    return 0;
}

/* Operations keep their tensors: nothing is freed that another descriptor may lead to. */
int cudnnBackendDestroyDescriptor(void *descriptor)
{
    (void)descriptor;
    return 0;
}

static size_t bytes_of(int type)
{
    switch (type) {
    case IS_BOOLEAN:
        return 1;
    case 0: /* handles, int64, double, addresses, descriptors */
    case 3:
    case 5:
    case 6:
    case IS_DESCRIPTOR:
        return 8;
    default:
        return 4;
    }
}

int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count,
                             const void *values)
{
    struct descriptor *d = descriptor;
    if (d->count == ATTRIBUTES || count > 40)
        return SOFTDNN_BAD_PARAM;
    struct attribute *a = &d->attribute[d->count++];
    *a = (struct attribute){.name = name, .type = type, .count = count};
    for (int64_t i = 0; i < count; i++)
        memcpy(&a->value[i], (const char *)values + (size_t)i * bytes_of(type), bytes_of(type));
    return 0;
}

static const struct attribute *find(const struct descriptor *d, int name)
{
    static const struct attribute none;
    for (int i = 0; d && i < d->count; i++) {
        if (d->attribute[i].name == name)
            return &d->attribute[i];
    }
    return &none;
}

static struct descriptor *child(const struct descriptor *d, int name, int i)
{
    const struct attribute *a = find(d, name);
    return i < a->count ? (struct descriptor *)a->value[i] : NULL;
}

/* A number of the environment; -1 without it. */
static int64_t setting(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : -1;
}

/* Of a configuration: its engine, whose notes are SOFTDNN_NOTE, and its choices, of which there is
 * SOFTDNN_SPLIT for the parts of a sum. The descriptors are the caller's. */
static int get_engine(const struct descriptor *d, int name, int64_t room, int64_t *count,
                      void *values)
{
    bool noted = setting("SOFTDNN_NOTE") >= 0, split = setting("SOFTDNN_SPLIT") >= 0;
    switch (d->type << 16 | name) {
    case CONFIG << 16 | 300:
        *count = 1;
        return 0;
    case CONFIG << 16 | 302:
        *count = split && room > 0;
        return 0;
    case ENGINE << 16 | 1303:
        *count = noted && room > 0;
        if (*count)
            *(int *)values = (int)setting("SOFTDNN_NOTE");
        return 0;
    case CHOICE << 16 | 600:
        *(int *)values = 0;
        return 0;
    case CHOICE << 16 | 601:
        *(int64_t *)values = setting("SOFTDNN_SPLIT");
        return 0;
    default:
        return SOFTDNN_BAD_PARAM;
    }
}

/* Of heuristics: one configuration for the graph. */
int cudnnBackendGetAttribute(const void *descriptor, int name, int type, int64_t room,
                             int64_t *count, void *values)
{
    const struct descriptor *d = descriptor;
    if (d->type != HEURISTICS)
        return get_engine(d, name, room, count, values);
    if (name != 202 || type != IS_DESCRIPTOR)
        return SOFTDNN_BAD_PARAM;
    *count = 1;
    if (room > 0)
        ((struct descriptor **)values)[0]->graph = child(d, 201, 0);
    return 0;
}

int cudnnBackendFinalize(void *descriptor)
{
    (void)descriptor;
    return 0;
}

/* The tensor of that number under a descriptor. */
static const struct descriptor *find_tensor(const struct descriptor *d, int64_t uid)
{
    const struct descriptor *found = NULL;
    if (d->type == TENSOR)
        return find(d, 906)->value[0] == uid ? d : NULL;
    for (int i = 0; i < d->count && !found; i++) {
        const struct attribute *a = &d->attribute[i];
        for (int64_t k = 0; a->type == IS_DESCRIPTOR && k < a->count && !found; k++)
            found = a->value[k] ? find_tensor((const struct descriptor *)a->value[k], uid) : NULL;
    }
    return found;
}

static uint64_t address_of(const struct descriptor *pack, int64_t uid)
{
    const struct attribute *uids = find(pack, 1000), *pointers = find(pack, 1001);
    for (int64_t i = 0; i < uids->count; i++) {
        if (uids->value[i] == uid)
            return (uint64_t)pointers->value[i];
    }
    return 0;
}

static bool fill(struct softdnn_tensor *out, const struct descriptor *graph,
                 const struct descriptor *pack, int64_t uid)
{
    const struct descriptor *t = find_tensor(graph, uid);
    if (!t || !address_of(pack, uid))
        return false;
    out->address = address_of(pack, uid);
    out->type = (int)find(t, 901)->value[0];
    for (int i = 0; i < 5; i++) {
        out->dim[i] = i < find(t, 902)->count ? find(t, 902)->value[i] : 1;
        out->stride[i] = i < find(t, 902)->count ? find(t, 903)->value[i] : 0;
    }
    return true;
}

static int run_conv(const struct descriptor *graph, const struct descriptor *pack, void *stream)
{
    const struct descriptor *op = child(graph, 801, 0);
    const int first = op->type == OP_CONV ? 700 : op->type == OP_CONV_DATA ? 706 : 712;
    const struct descriptor *window = child(op, first + 2, 0);
    struct softdnn_job job = {.kind = op->type == OP_CONV        ? SOFTDNN_CONV
                                      : op->type == OP_CONV_DATA ? SOFTDNN_CONV_DATA
                                                                 : SOFTDNN_CONV_WEIGHT};
    static const char uids[] = {'x', 'w', 'y'};
    long long threads = 0;
    for (int i = 0; i < 3; i++) {
        if (!fill(&job.tensor[i], graph, pack, uids[i]))
            return SOFTDNN_BAD_PARAM;
        threads = size_of(&job.tensor[i]) > threads ? size_of(&job.tensor[i]) : threads;
    }
    fill(&job.tensor[3], graph, pack, 'b');
    if (fill(&job.tensor[4], graph, pack, 'z'))
        job.added_scale = 1;
    for (int i = 1; i < find(graph, 801)->count; i++) {
        const struct descriptor *behind = child(graph, 801, i), *how = child(behind, 750, 0);
        double factor, most;
        if (find(how, 0)->value[0] == 100) {
            memcpy(&most, find(how, 4)->value, sizeof most);
            job.relu = 1;
            job.high = (float)most;
        } else if (find(behind, 755)->count) {
            memcpy(&factor, find(behind, 755)->value, sizeof factor);
            job.added_scale = (float)factor;
        }
    }
    int axes = (int)find(window, 102)->count;
    job.kind += axes == 3 ? SOFTDNN_CONV3 - SOFTDNN_CONV : 0;
    for (int i = 0; i < axes; i++) {
        job.dilation[i] = find(window, 102)->value[i];
        job.step[i] = find(window, 103)->value[i];
        job.pad[i] = find(window, 105)->value[i];
    }
    return run(&job, threads, stream);
}

/* The operation with a comparison of indices, row >= column; -1: there is none. */
static int causal_at(const struct descriptor *graph)
{
    const struct attribute *ops = find(graph, 801);
    for (int i = 0; i < ops->count; i++) {
        if (find(child(child(graph, 801, i), 750, 0), 0)->value[0] == 303)
            return i;
    }
    return -1;
}

static int run_attention(const struct descriptor *graph, const struct descriptor *pack,
                         void *stream)
{
    static const int uids[] = {UID_Q,  UID_K,  UID_V,  UID_Y,  UID_LSE,     UID_BIAS,
                               UID_DY, UID_DQ, UID_DK, UID_DV, UID_LENGTHS, UID_KEY_LENGTHS};
    const int compared = causal_at(graph);
    const struct descriptor *before = compared > 0 ? child(graph, 801, compared - 1) : NULL;
    struct softdnn_job job = {.kind = SOFTDNN_ATTENTION,
                              .causal = compared >= 0,
                              .bottom = before && find(child(before, 750, 0), 0)->value[0] == 9};
    const float *scale = (const float *)(uintptr_t)address_of(pack, UID_SCALE);
    for (int i = 0; i < 12; i++)
        fill(&job.tensor[i], graph, pack, uids[i]);
    if (!scale || !job.tensor[0].address)
        return SOFTDNN_BAD_PARAM;
    job.scale = *scale;
    if (job.tensor[7].address)
        job.kind = SOFTDNN_ATTENTION_BACKWARD;
    /* In a product's second factor keys and values lie by columns. */
    for (int i = 1; i < 3; i++) {
        struct softdnn_tensor *t = &job.tensor[i], turned = *t;
        bool by_columns = i == 1 || job.kind == SOFTDNN_ATTENTION_BACKWARD;
        t->dim[2] = turned.dim[by_columns ? 3 : 2];
        t->dim[3] = turned.dim[by_columns ? 2 : 3];
        t->stride[2] = turned.stride[by_columns ? 3 : 2];
        t->stride[3] = turned.stride[by_columns ? 2 : 3];
    }
    return run(&job, size_of(&job.tensor[0]) + size_of(&job.tensor[1]), stream);
}

int cudnnBackendExecute(void *handle, void *plan, void *pack)
{
    const struct descriptor *config = child(plan, 401, 0);
    const struct descriptor *graph =
        config && config->graph ? config->graph : child(child(config, 300, 0), 1300, 0);
    const struct descriptor *op = graph ? child(graph, 801, 0) : NULL;
    void *stream = ((struct handle *)handle)->stream;
    if (!op)
        return SOFTDNN_BAD_PARAM;
    return op->type >= OP_CONV && op->type <= OP_CONV_DATA ? run_conv(graph, pack, stream)
                                                           : run_attention(graph, pack, stream);
}

/* ---- operations as a whole ---- */

int softdnn_tensor(void **descriptor, int type, int format, const int dims[4])
{
    struct described *d = calloc(1, sizeof *d);
    *d = (struct described){.type = type, .format = format};
    memcpy(d->dims, dims, sizeof d->dims);
    int last = format ? dims[1] : 1;
    d->strides[3] = last;
    d->strides[2] = last * dims[3];
    d->strides[1] = format ? 1 : dims[2] * dims[3];
    d->strides[0] = dims[1] * dims[2] * dims[3];
    *descriptor = d;
    return 0;
}

int softdnn_window(void **descriptor, const int step[2], const int pad[2])
{
    struct described *d = calloc(1, sizeof *d);
    memcpy(d->step, step, sizeof d->step);
    memcpy(d->pad, pad, sizeof d->pad);
    *descriptor = d;
    return 0;
}

int cudnnGetTensorNdDescriptor(const void *descriptor, int most, int *type, int *rank, int *dims,
                               int *strides)
{
    const struct described *d = descriptor;
    (void)most;
    *type = d->type;
    *rank = 4;
    memcpy(dims, d->dims, sizeof d->dims);
    memcpy(strides, d->strides, sizeof d->strides);
    return 0;
}

int cudnnGetFilterNdDescriptor(const void *descriptor, int most, int *type, int *format, int *rank,
                               int *dims)
{
    const struct described *d = descriptor;
    (void)most;
    *type = d->type;
    *format = d->format;
    *rank = 4;
    memcpy(dims, d->dims, sizeof d->dims);
    return 0;
}

int cudnnGetConvolutionNdDescriptor(const void *descriptor, int most, int *rank, int *pads,
                                    int *steps, int *dilations, int *mode, int *compute)
{
    const struct described *d = descriptor;
    (void)most;
    *rank = 2;
    *mode = 1;
    *compute = 0;
    memcpy(pads, d->pad, sizeof d->pad);
    memcpy(steps, d->step, sizeof d->step);
    dilations[0] = dilations[1] = 1;
    return 0;
}

static struct softdnn_tensor tensor_of(const void *descriptor, const void *address)
{
    const struct described *d = descriptor;
    struct softdnn_tensor t = {.address = (uint64_t)(uintptr_t)address, .type = d->type};
    for (int i = 0; i < 4; i++) {
        t.dim[i] = d->dims[i];
        t.stride[i] = d->strides[i];
    }
    return t;
}

int cudnnConvolutionForward(void *handle, const void *alpha, const void *x_desc, const void *x,
                            const void *w_desc, const void *w, const void *window, int algorithm,
                            void *space, size_t bytes, const void *beta, const void *y_desc,
                            void *y)
{
    const struct described *d = window;
    struct softdnn_job job = {.kind = SOFTDNN_CONV, .dilation = {1, 1}};
    (void)alpha, (void)beta, (void)algorithm, (void)space, (void)bytes;
    job.tensor[0] = tensor_of(x_desc, x);
    job.tensor[1] = tensor_of(w_desc, w);
    job.tensor[2] = tensor_of(y_desc, y);
    for (int i = 0; i < 2; i++) {
        job.step[i] = d->step[i];
        job.pad[i] = d->pad[i];
    }
    return run(&job, size_of(&job.tensor[2]), ((struct handle *)handle)->stream);
}

/* With a relu. */
int cudnnGetActivationDescriptor(const void *descriptor, int *mode, int *nan, double *most)
{
    (void)descriptor;
    *mode = 1;
    *nan = 0;
    *most = 0;
    return 0;
}

int cudnnConvolutionBiasActivationForward(void *handle, const void *alpha, const void *x_desc,
                                          const void *x, const void *w_desc, const void *w,
                                          const void *window, int algorithm, void *space,
                                          size_t bytes, const void *z_scale, const void *z_desc,
                                          const void *z, const void *bias_desc, const void *bias,
                                          const void *activation, const void *y_desc, void *y)
{
    const struct described *d = window;
    struct softdnn_job job = {.kind = SOFTDNN_CONV, .dilation = {1, 1}, .relu = 1};
    (void)alpha, (void)z_scale, (void)z_desc, (void)z, (void)algorithm, (void)space, (void)bytes;
    (void)activation;
    job.tensor[0] = tensor_of(x_desc, x);
    job.tensor[1] = tensor_of(w_desc, w);
    job.tensor[2] = tensor_of(y_desc, y);
    job.tensor[3] = tensor_of(bias_desc, bias);
    for (int i = 0; i < 2; i++) {
        job.step[i] = d->step[i];
        job.pad[i] = d->pad[i];
    }
    return run(&job, size_of(&job.tensor[2]), ((struct handle *)handle)->stream);
}

int cudnnBatchNormalizationForwardInference(void *handle, int mode, const void *one,
                                            const void *zero, const void *x_desc, const void *x,
                                            const void *y_desc, void *y, const void *w_desc,
                                            const void *w, const void *b, const void *mean,
                                            const void *var, double eps)
{
    struct softdnn_job job = {.kind = SOFTDNN_NORM, .eps = (float)eps};
    const void *channel[] = {w, b, mean, var};
    (void)mode, (void)one, (void)zero;
    job.tensor[0] = tensor_of(x_desc, x);
    job.tensor[1] = tensor_of(y_desc, y);
    for (int i = 0; i < 4; i++)
        job.tensor[2 + i] = tensor_of(w_desc, channel[i]);
    return run(&job, job.tensor[0].dim[1], ((struct handle *)handle)->stream);
}

int cudnnBatchNormalizationForwardTrainingEx(void *handle, int mode, int ops, const void *one,
                                             const void *zero, const void *x_desc, const void *x,
                                             const void *z_desc, const void *z, const void *y_desc,
                                             void *y, const void *w_desc, const void *w,
                                             const void *b, double momentum, void *running_mean,
                                             void *running_var, double eps, void *mean, void *rstd,
                                             void *activation, void *space, size_t bytes,
                                             void *reserve, size_t reserve_bytes)
{
    struct softdnn_job job = {
        .kind = SOFTDNN_NORM_TRAINING, .eps = (float)eps, .momentum = (float)momentum};
    const void *channel[] = {w, b, mean, rstd, running_mean, running_var};
    (void)mode, (void)ops, (void)one, (void)zero, (void)z_desc, (void)z, (void)activation;
    (void)space, (void)bytes, (void)reserve, (void)reserve_bytes;
    job.tensor[0] = tensor_of(x_desc, x);
    job.tensor[1] = tensor_of(y_desc, y);
    for (int i = 0; i < 6; i++)
        job.tensor[2 + i] = tensor_of(w_desc, channel[i]);
    return run(&job, job.tensor[0].dim[1], ((struct handle *)handle)->stream);
}

int cudnnBatchNormalizationBackwardEx(void *handle, int mode, int ops, const void *one,
                                      const void *zero, const void *one_more, const void *zero_more,
                                      const void *x_desc, const void *x, const void *y_desc,
                                      const void *y, const void *dy_desc, const void *dy,
                                      const void *dz_desc, void *dz, const void *dx_desc, void *dx,
                                      const void *w_desc, const void *w, const void *b, void *dw,
                                      void *db, double eps, const void *mean, const void *rstd,
                                      void *activation, void *space, size_t bytes, void *reserve,
                                      size_t reserve_bytes)
{
    struct softdnn_job job = {.kind = SOFTDNN_NORM_BACKWARD, .eps = (float)eps};
    (void)mode, (void)ops, (void)one, (void)zero, (void)one_more, (void)zero_more, (void)y_desc;
    (void)y, (void)dz_desc, (void)dz, (void)b, (void)activation, (void)space, (void)bytes;
    (void)reserve, (void)reserve_bytes;
    job.tensor[0] = tensor_of(x_desc, x);
    job.tensor[2] = tensor_of(w_desc, w);
    job.tensor[4] = tensor_of(w_desc, mean);
    job.tensor[5] = tensor_of(w_desc, rstd);
    job.tensor[8] = tensor_of(dy_desc, dy);
    job.tensor[9] = tensor_of(dx_desc, dx);
    job.tensor[10] = tensor_of(w_desc, dw);
    job.tensor[11] = tensor_of(w_desc, db);
    return run(&job, job.tensor[0].dim[1], ((struct handle *)handle)->stream);
}
