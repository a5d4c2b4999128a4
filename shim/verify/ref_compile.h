/*
 * ref_compile.h - a text of the registry through NVRTC: machine code and PTX, or a sentence with
 * the line that is wrong. compiler.h does it on a thread, `cuvet check` by itself.
 */
#ifndef VERIFY_REF_COMPILE_H
#define VERIFY_REF_COMPILE_H

#include <stdatomic.h>
#include "base/error.h"
#include "verify/user_ref.h"

/* What a module is loaded from, machine code first: a driver that refuses it may take the PTX. */
struct ref_image {
    char *cubin; /* NULL: NVRTC does not know the architecture itself */
    char *ptx;   /* a terminated text */
};

/*
 * Compiles the text for compute capability `arch` (90: 9.0) or, where NVRTC does not know that, the
 * newest before it; 0: PTX for the oldest. nvrtc_api_load must have been there. STATUS_INVALID: the
 * text is wrong ("kernels.yaml:14: ..."). STATUS_UNSUPPORTED: no code for that architecture.
 * STATUS_TIMEOUT: ended by *cancel (may be NULL), which is looked at where NVRTC is of CUDA 12.8 or
 * newer, or took longer than two minutes. The caller releases *out. Takes tenths of a second.
 */
enum status ref_compile(const struct user_text *text, int arch, const atomic_bool *cancel,
                        struct ref_image *out, struct error *err);
void ref_image_release(struct ref_image *image);

#endif
