/*
 * safetensors.h - the tensors of a bundle: which there are, the header, and the bytes, streamed
 * from a bundle_source. The format is described in bundle.h.
 */
#ifndef BUNDLE_SAFETENSORS_H
#define BUNDLE_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "system/own_fd.h"
#include "text/textbuf.h"
#include "value/check_report.h"

enum {
    TENSOR_NAME = 128,
    TENSORS_WHOLE = 2 * SPEC_MAX_ARRAYS + REF_MAX_TENSORS,
    TENSORS_MAX = 2 * TENSORS_WHOLE, /* where each is cut to two parts, see excerpt.h */
};

struct tensor_plan {
    char name[TENSOR_NAME];
    enum tensor_side { TENSOR_BEFORE, TENSOR_AFTER, TENSOR_REFERENCE } side;
    int index; /* of the array in the binding, or of the tensor in the ref_call */
    enum dtype dtype;
    int ndim;
    int64_t dim[8];
    uint64_t from, bytes; /* of what is stored, in the whole */
};

struct tensors_plan {
    int count;
    struct tensor_plan tensor[TENSORS_MAX];
    uint64_t bytes; /* of all data */
};

/* What the source has, in the order of the file. STATUS_INVALID for shapes that overflow. */
enum status safetensors_plan(struct tensors_plan *plan, const struct binding *binding,
                             const struct bundle_source *source, struct error *err);

/* Brings the tensors into the order of the file. */
void safetensors_sort(struct tensors_plan *plan);

/* Length field, header and padding. STATUS_NO_MEMORY. */
enum status safetensors_header(const struct tensors_plan *plan, struct textbuf *out,
                               struct error *err);

/* The data of all tensors, through `buffer`. STATUS_IO when the file refuses; the source's status
 * when it fails. */
enum status safetensors_data(const struct tensors_plan *plan, const struct bundle_source *source,
                             const struct own_fd *file, void *buffer, size_t buffer_bytes,
                             struct error *err);

#endif
