/*
 * compile_wire.h - what goes over the socket between a program and `cuvet compile --serve`: one
 * request, one answer, again and again. Both ends are of one build and one machine.
 */
#ifndef COMPILE_COMPILE_WIRE_H
#define COMPILE_COMPILE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "compile/ref_image.h"
#include "registry/user_ref.h"

enum { COMPILE_WIRE_BYTES = 64 << 20 /* of what follows a head */ };

/* What the text of a request is. */
enum compile_kind { COMPILE_REFERENCE, COMPILE_PTX /* `where` and `file` are empty */ };

/* Then where, file and text, terminated. */
struct compile_request {
    uint32_t magic;
    uint32_t kind; /* enum compile_kind */
    int32_t arch;
    uint32_t first_line, yaml_line; /* as in struct user_text */
    uint32_t where, file, text;     /* bytes of each */
};

/* Then the sentence, terminated, the machine code and the PTX. */
struct compile_answer {
    uint32_t magic;
    uint32_t status;     /* enum status; STATUS_NOT_FOUND: there is no NVRTC, or no nvJitLink */
    uint32_t cached;     /* 1: it was not compiled now */
    uint32_t sentence;   /* bytes, 1 at least */
    uint64_t cubin, ptx; /* bytes, 0: none */
};

/* The request in one block for free(); NULL: no memory. */
char *compile_wire_request(enum compile_kind kind, const struct user_text *text, int arch,
                           size_t *bytes);
/* How many bytes follow, or 0: that is no head. */
size_t compile_wire_follows_request(const struct compile_request *head);
size_t compile_wire_follows_answer(const struct compile_answer *head);
/* Points into the bytes that followed. False: they do not fit the head. */
bool compile_wire_text(const struct compile_request *head, const char *bytes,
                       struct user_text *out);

/* The answer in one block for free(); NULL: no memory. */
char *compile_wire_answer(enum status status, bool cached, const char *sentence,
                          const struct ref_image *image, size_t *bytes);
/* What came of it: STATUS_OK and *image, which the caller releases, or err. */
enum status compile_wire_result(const struct compile_answer *head, const char *bytes,
                                struct ref_image *image, struct error *err);

#endif
