/*
 * lines.h - the source lines of PTX that lies in a cubin, whose .loc directives are dropped: one
 * table of the cubin leads from machine code to PTX lines, another to lines of the source.
 */
#ifndef PTX_LINES_H
#define PTX_LINES_H

#include <stddef.h>
#include <stdint.h>
#include "ptx/ptx.h"

struct ptx_lines; /* locations, which instructions may point to */

/* NULL: the cubin has no such tables for the kernel. All of the bytes are validated. */
struct ptx_lines *ptx_lines_read(const uint8_t *bytes, size_t count, const char *kernel);
void ptx_lines_free(struct ptx_lines *lines); /* NULL is fine */

/* Gives the function's instructions without a location theirs. The lines outlive the module. */
void ptx_lines_apply(const struct ptx_lines *lines, const struct ptx_function *function);

#endif
