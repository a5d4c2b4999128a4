/* ptx_link.h - machine code of PTX, by nvJitLink; in `cuvet` alone. */
#ifndef COMPILE_PTX_LINK_H
#define COMPILE_PTX_LINK_H

#include "base/error.h"
#include "compile/ref_image.h"

/* nvJitLink's name of the architecture for a text on a device of this compute capability (90: 9.0):
 * sm_90a where the text is for it. */
enum { PTX_LINK_ARCH = 24 };
void ptx_link_arch(const char *text, int arch, char out[PTX_LINK_ARCH]);

/* Registers that a thread may have for a block of the entry's .reqntid or .maxntid, else of the
 * largest size, to fit an SM, which gives them to four warps at once; 0: any number. ptxas holds
 * the entry to it by itself, and its functions by this option alone. */
unsigned ptx_link_registers(const char *text);

/* Compiles a terminated text. nvJitLink is loaded (driver/jitlink_api.h). The caller releases *out.
 * STATUS_INVALID: it does not compile; the sentence has the first lines of the log. */
enum status ptx_link(const char *text, int arch, struct ref_image *out, struct error *err);

#endif
