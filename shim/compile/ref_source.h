/*
 * ref_source.h - what NVRTC gets for a text of the registry: the text behind `#include "ref.h"`,
 * the header that its REFERENCE lines become, and the headers of the dialect. And its hash.
 */
#ifndef COMPILE_REF_SOURCE_H
#define COMPILE_REF_SOURCE_H

#include <stdint.h>
#include "base/error.h"
#include "registry/user_ref.h"

enum { REF_SOURCE_HEADERS = 32, REF_SOURCE_OPTIONS = 2 };

/* How the text is called inside NVRTC, whatever its file is called. */
#define REF_SOURCE_NAME "cuvet_text"

/* Beside the architecture. */
extern const char *const ref_source_option[REF_SOURCE_OPTIONS];

struct ref_source {
    char *whole, *formals;                                             /* owned */
    const char *header[REF_SOURCE_HEADERS], *name[REF_SOURCE_HEADERS]; /* the first is `formals` */
    int headers;
};

/* STATUS_NO_MEMORY. The caller releases *out, also after a failure. */
enum status ref_source_make(struct ref_source *out, const struct user_text *text,
                            struct error *err);
void ref_source_release(struct ref_source *source);

/* Of all that NVRTC gets but the architecture: equal hashes compile to equal code. */
void ref_source_hash(const struct ref_source *source, uint64_t out[2]);

#endif
