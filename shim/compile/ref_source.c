#include "compile/ref_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "device/embedded.h"

const char *const ref_source_option[REF_SOURCE_OPTIONS] = {"-default-device", "-std=c++17"};

/* ref.h, then the text, whose lines count from 1. The caller frees it. */
static char *whole_text(const struct user_text *text)
{
    static const char before[] = "#include \"ref.h\"\n#line 1 \"" REF_SOURCE_NAME "\"\n";
    size_t length = strlen(text->text);
    char *whole = malloc(sizeof before + length + 2);
    if (whole) {
        memcpy(whole, before, sizeof before - 1);
        memcpy(whole + sizeof before - 1, text->text, length);
        memcpy(whole + sizeof before - 1 + length, "\n", 2);
    }
    return whole;
}

/* ref_formals.h for the references of the text, each as one kernel. The caller frees it. */
static char *formals_header(const struct user_text *text)
{
    char *header = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&header, &size);
    if (!memory)
        return NULL;
    for (unsigned i = 0; i < text->declared; i++)
        ref_text_write(memory, &text->declaration[i], REF_FORM_ONCE);
    if (fclose(memory) == 0)
        return header;
    free(header);
    return NULL;
}

enum status ref_source_make(struct ref_source *out, const struct user_text *text, struct error *err)
{
    *out = (struct ref_source){.whole = whole_text(text), .formals = formals_header(text)};
    out->header[0] = out->formals;
    out->name[0] = "ref_formals.h";
    out->headers = 1;
    const struct embedded_text *h = cuvet_ref_headers;
    for (; h->name && out->headers < REF_SOURCE_HEADERS; h++) {
        out->header[out->headers] = h->text;
        out->name[out->headers++] = h->name;
    }
    if (!out->whole || !out->formals)
        return error_set(err, STATUS_NO_MEMORY, "%.300s: no memory for the reference", text->where);
    return STATUS_OK;
}

void ref_source_release(struct ref_source *source)
{
    free(source->whole);
    free(source->formals);
    *source = (struct ref_source){0};
}

static void hash_text(XXH3_state_t *state, const char *text)
{
    XXH3_128bits_update(state, text, strlen(text) + 1);
}

void ref_source_hash(const struct ref_source *source, uint64_t out[2])
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    hash_text(&state, source->whole);
    for (int i = 0; i < source->headers; i++) {
        hash_text(&state, source->name[i]);
        hash_text(&state, source->header[i]);
    }
    for (int i = 0; i < REF_SOURCE_OPTIONS; i++)
        hash_text(&state, ref_source_option[i]);
    XXH128_hash_t hash = XXH3_128bits_digest(&state);
    out[0] = hash.low64;
    out[1] = hash.high64;
}
