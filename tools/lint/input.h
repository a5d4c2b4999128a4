/* input.h - files and folders to PTX texts. */
#ifndef LINT_INPUT_H
#define LINT_INPUT_H

#include "tools/lint/lint.h"

/* Gets one text, which lives until it returns. */
typedef enum status (*input_text_fn)(void *user, const struct lint_text *text, struct error *err);

/*
 * Calls `take` for each PTX text of a file: PTX itself, a cubin that carries its text
 * (.nv_debug_ptx_txt), fatbins, and programs and shared objects that hold fatbins; of a folder
 * (Triton's cache) those of the .ptx, .cubin, .fatbin and .so files below it, a cubin only where no
 * .ptx of its name lies beside it. STATUS_INVALID, STATUS_NOT_FOUND, STATUS_IO: why nothing of it
 * could be read; a status of `take` ends the walk.
 */
enum status input_each(const char *path, input_text_fn take, void *user, struct error *err);

/* Lints all texts of a file or folder. */
enum status lint_path(struct lint_report *report, const char *path, struct error *err);

/* The same of an image in memory. */
enum status lint_image(struct lint_report *report, const void *bytes, size_t count,
                       const char *name, struct error *err);

#endif
