/* ptx_text.h - what the tests of the PTX reader share: pieces of PTX as modules. */
#ifndef SOFTGPU_PTX_TEXT_H
#define SOFTGPU_PTX_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ptx/ptx.h"

/* Three lines, so that what follows begins in line 4. */
#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
/* The body begins in line 5. */
#define KERNEL(body)                                                                               \
    HEAD ".visible .entry k(.param .u64 p, .param .f32 q) {\n"                                     \
         ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .f32 %f<4>; .reg .b64 "         \
         "%rd<4>;\n" body "}\n"

static struct ptx_module *loaded;

/* Frees what the test before has left. */
static inline int forget(void **state)
{
    (void)state;
    ptx_free(loaded);
    loaded = NULL;
    return 0;
}

static inline struct ptx_module *load(const char *text)
{
    struct error err = {0};
    forget(NULL);
    if (ptx_read(text, strlen(text), "m.ptx", &loaded, &err))
        fail_msg("%s", err.text);
    return loaded;
}

static inline const struct ptx_function *body_of(const char *text, const char *name)
{
    struct error err = {0};
    struct ptx_function *function = ptx_find_function(load(text), name);
    assert_non_null(function);
    if (ptx_read_body(loaded, function, &err))
        fail_msg("%s", err.text);
    assert_true(function->body_read);
    return function;
}

/* The kernel k of KERNEL(). */
static inline const struct ptx_function *body(const char *text)
{
    return body_of(text, "k");
}

/* Reads the module and all bodies; the first error's sentence, or "". */
static inline const char *complaint(const char *text)
{
    static struct error err;
    err = (struct error){0};
    forget(NULL);
    if (ptx_read(text, strlen(text), "m.ptx", &loaded, &err))
        return err.text;
    for (unsigned i = 0; i < loaded->function_count; i++) {
        if (loaded->functions[i].has_body && ptx_read_body(loaded, &loaded->functions[i], &err))
            return err.text;
    }
    return "";
}

static inline void refuse(const char *text, const char *sentence)
{
    const char *found = complaint(text);
    if (strcmp(found, sentence) != 0)
        fail_msg("'%s' instead of '%s'", found, sentence);
}

#endif
