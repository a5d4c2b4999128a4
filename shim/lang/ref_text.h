/*
 * ref_text.h - the REFERENCE lines of a text in the dialect of refs/ref.h, and what the build or
 * NVRTC needs of each: refgen reads the built-in references with it, the registry those of its
 * entries.
 *
 * A line that begins with REFERENCE(name, "formals"), REFERENCE_SAMPLED or REFERENCE_ONCE declares
 * a reference; the formals may be several literals, on several lines.
 */
#ifndef LANG_REF_TEXT_H
#define LANG_REF_TEXT_H

#include <stdio.h>
#include "base/error.h"
#include "refs/abi/ref_list.h"
#include "lang/formals.h"

/* Which kernels a reference becomes (refs/README.md). */
enum ref_form { REF_FORM_FULL, REF_FORM_SAMPLED, REF_FORM_ONCE };

enum { REF_FORMALS_TEXT = 1024 };

struct ref_declaration {
    char name[FORMAL_NAME];
    char text[REF_FORMALS_TEXT]; /* the formals, joined */
    enum ref_form form;
    int line;      /* in the text, from 1 */
    unsigned uses; /* of enum ref_use: macros in its body, which goes on to the next REFERENCE line,
                      in what stands before the first one, or in a #define above */
    struct formals formals;
};

/* Reads the first REFERENCE line from *at on, the start of a line of `text`, and moves *at behind
 * it. STATUS_NOT_FOUND: there is none. STATUS_INVALID: one is wrong; out->line is its line, `err`
 * has the reason. No allocation. */
enum status ref_text_next(const char *text, const char **at, struct ref_declaration *out,
                          struct error *err);

/* Writes its part of a ref_formals.h: FORMALS_name, with the kernels of `form`. */
void ref_text_write(FILE *out, const struct ref_declaration *ref, enum ref_form form);

#endif
