/*
 * ref_compile.h - a text of the registry through NVRTC: machine code and PTX, or a sentence with
 * the line that is wrong. Of the programs `cuvet compile` and `cuvet check`; the library has them
 * do it (compiler.h).
 */
#ifndef COMPILE_REF_COMPILE_H
#define COMPILE_REF_COMPILE_H

#include "base/error.h"
#include "compile/ref_image.h"
#include "registry/user_ref.h"

/*
 * Compiles the text for compute capability `arch` (90: 9.0) or, where NVRTC does not support that,
 * the newest before it; 0: PTX for the oldest. nvrtc_api_load comes before. STATUS_INVALID: the
 * text is wrong ("kernels.yaml:14: ..."). STATUS_UNSUPPORTED: no code for that architecture. The
 * caller releases *out. Takes a second or so.
 */
enum status ref_compile(const struct user_text *text, int arch, struct ref_image *out,
                        struct error *err);

#endif
