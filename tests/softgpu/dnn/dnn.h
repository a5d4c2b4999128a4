/* dnn.h - what the stand-in of libcudnn exports, under cuDNN's names and numbers. */
#ifndef SOFTDNN_DNN_H
#define SOFTDNN_DNN_H

#include <stddef.h>
#include <stdint.h>
#include "job.h"

#define SOFTDNN_API __attribute__((visibility("default")))

enum { SOFTDNN_BAD_PARAM = 2000, SOFTDNN_FAILED = 5000 };

/* The tensors of attention in a graph, by their numbers. */
enum {
    UID_Q,
    UID_K,
    UID_V,
    UID_Y,
    UID_BIAS,
    UID_SCALE,
    UID_LSE = 8,
    UID_DY,
    UID_DQ,
    UID_DK,
    UID_DV,
    UID_LENGTHS,
    UID_KEY_LENGTHS
};

SOFTDNN_API int cudnnCreate(void **handle);
SOFTDNN_API int cudnnDestroy(void *handle);
SOFTDNN_API int cudnnSetStream(void *handle, void *stream);
SOFTDNN_API int cudnnGetStream(void *handle, void **stream);

SOFTDNN_API int cudnnBackendCreateDescriptor(int type, void **descriptor);
SOFTDNN_API int cudnnBackendDestroyDescriptor(void *descriptor);
SOFTDNN_API int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count,
                                         const void *values);
SOFTDNN_API int cudnnBackendGetAttribute(const void *descriptor, int name, int type, int64_t room,
                                         int64_t *count, void *values);
SOFTDNN_API int cudnnBackendFinalize(void *descriptor);
SOFTDNN_API int cudnnBackendExecute(void *handle, void *plan, void *pack);

/* Descriptors of the other functions: a tensor or filter with `format` 1 for channels last, and a
 * window. The real library has one function for each. */
SOFTDNN_API int softdnn_tensor(void **descriptor, int type, int format, const int dims[4]);
SOFTDNN_API int softdnn_window(void **descriptor, const int step[2], const int pad[2]);
SOFTDNN_API int cudnnGetTensorNdDescriptor(const void *descriptor, int most, int *type, int *rank,
                                           int *dims, int *strides);
SOFTDNN_API int cudnnGetFilterNdDescriptor(const void *descriptor, int most, int *type, int *format,
                                           int *rank, int *dims);
SOFTDNN_API int cudnnGetConvolutionNdDescriptor(const void *descriptor, int most, int *rank,
                                                int *pads, int *steps, int *dilations, int *mode,
                                                int *compute);

SOFTDNN_API int cudnnConvolutionForward(void *handle, const void *alpha, const void *x_desc,
                                        const void *x, const void *w_desc, const void *w,
                                        const void *window, int algorithm, void *space,
                                        size_t bytes, const void *beta, const void *y_desc,
                                        void *y);
SOFTDNN_API int cudnnGetActivationDescriptor(const void *descriptor, int *mode, int *nan,
                                             double *most);
SOFTDNN_API int cudnnConvolutionBiasActivationForward(
    void *handle, const void *alpha, const void *x_desc, const void *x, const void *w_desc,
    const void *w, const void *window, int algorithm, void *space, size_t bytes,
    const void *z_scale, const void *z_desc, const void *z, const void *bias_desc, const void *bias,
    const void *activation, const void *y_desc, void *y);
SOFTDNN_API int cudnnBatchNormalizationForwardInference(void *handle, int mode, const void *one,
                                                        const void *zero, const void *x_desc,
                                                        const void *x, const void *y_desc, void *y,
                                                        const void *w_desc, const void *w,
                                                        const void *b, const void *mean,
                                                        const void *var, double eps);
SOFTDNN_API int cudnnBatchNormalizationForwardTrainingEx(
    void *handle, int mode, int ops, const void *one, const void *zero, const void *x_desc,
    const void *x, const void *z_desc, const void *z, const void *y_desc, void *y,
    const void *w_desc, const void *w, const void *b, double momentum, void *running_mean,
    void *running_var, double eps, void *mean, void *rstd, void *activation, void *space,
    size_t bytes, void *reserve, size_t reserve_bytes);
SOFTDNN_API int cudnnBatchNormalizationBackwardEx(
    void *handle, int mode, int ops, const void *one, const void *zero, const void *one_more,
    const void *zero_more, const void *x_desc, const void *x, const void *y_desc, const void *y,
    const void *dy_desc, const void *dy, const void *dz_desc, void *dz, const void *dx_desc,
    void *dx, const void *w_desc, const void *w, const void *b, void *dw, void *db, double eps,
    const void *mean, const void *rstd, void *activation, void *space, size_t bytes, void *reserve,
    size_t reserve_bytes);

#endif
