/*
 * source.h - the kernels of a file that Inductor generated (output_code.py).
 *
 * Life: texts point into the file's text or are in the caller's arena. Not thread safe.
 */
#ifndef INDUCTOR_SOURCE_H
#define INDUCTOR_SOURCE_H

#include "tools/xla/hlo.h"

enum { SOURCE_ARGUMENTS = 32 };

/* A parameter of the kernel that is launched. */
struct source_argument {
    const char *name;
    const char *given;      /* what the first call passes */
    enum dtype dtype;       /* DTYPE_NONE: one that the registry has no name for */
    bool pointer, constant; /* constant: a part of the code, no parameter */
    bool read, written;     /* by the body */
};

struct source_kernel {
    const char *name, *body, *after; /* after: the file behind it */
    char *fragment;                  /* the lines of the graph, changed by graph_read */
    struct source_argument argument[SOURCE_ARGUMENTS];
    unsigned arguments;
    const char *why; /* its call cannot be read, because of this */
    struct source_kernel *next;
};

/* *out: the kernels that have a graph fragment, in the order of the text, which is changed. NULL:
 * there is none. STATUS_NO_MEMORY. */
enum status source_read(char *text, struct arena *arena, struct source_kernel **out);

/* Sizes and strides of the array `given` at the kernel's first call. False: they are not in the
 * file.
 */
bool source_layout(const struct source_kernel *kernel, const char *given, struct hlo_shape *out);

/* The type that Triton ("fp32") or a fragment ("f32") calls by that name; DTYPE_NONE: another. */
enum dtype source_dtype(const char *text, size_t length);

/* "(4, 8)", "[4, 8]", behind it *end; -1: too many, or no numbers. */
int source_numbers(const char *at, int64_t *out, int most, const char **end);

#endif
