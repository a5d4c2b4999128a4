#include "image/image_text.h"

#include <stdlib.h>
#include <string.h>
#include "image/carried_text.h"
#include "tools/ptx/text/lexer.h"

/* Whether the machine code was compiled from this PTX. */
static bool is_source(const struct fatbin_part *ptx, const struct fatbin_part *code)
{
    return ptx->arch == code->arch && ptx->bound == code->bound;
}

enum lift_refusal packed_text_copy(const void *fatbin, size_t bytes, unsigned arch,
                                   struct packed_text *out)
{
    struct fatbin_parts parts;
    fatbin_find(fatbin, bytes, arch, &parts);
    bool text = parts.ptx.at && (!parts.code.at || is_source(&parts.ptx, &parts.code));
    *out = (struct packed_text){.part = text ? parts.ptx : parts.code,
                                .no_text = text           ? LIFT_PTX
                                           : parts.ptx.at ? LIFT_OTHER_PTX
                                           : parts.newer  ? LIFT_NEWER_PTX
                                                          : LIFT_NO_PTX};
    if (!out->part.at)
        return out->no_text;
    if (out->part.bytes > IMAGE_ENTRY_BYTES || out->part.plain_bytes > IMAGE_TEXT_BYTES)
        return text ? LIFT_LONG_PTX : LIFT_LONG_CODE;
    uint8_t *copy = malloc(out->part.bytes + 1);
    if (!copy)
        return LIFT_OTHER;
    memcpy(copy, out->part.at, out->part.bytes);
    out->part.at = copy;
    return LIFT_OK;
}

void packed_text_free(struct packed_text *packed)
{
    free((void *)(uintptr_t)packed->part.at);
    packed->part.at = NULL;
}

enum lift_refusal packed_text_read(const struct packed_text *packed, char **text, size_t *length)
{
    size_t bytes = 0;
    char *plain = fatbin_unpack(&packed->part, IMAGE_TEXT_BYTES, &bytes);
    if (!plain)
        return LIFT_PTX;
    bool carries = carries_text(plain, bytes);
    *text = carries ? carried_text_of(plain, bytes, length) : NULL;
    free(plain);
    return *text ? LIFT_OK : carries ? LIFT_OTHER : packed->no_text;
}

/* ---- one kernel of a text ---- */

/* Goes past what is at the cursor: braces with all that is between them, a string, or a character.
 * A brace or a string without an end extends to the end of the text. */
static void pass_one(struct cursor *c)
{
    struct slice string;
    enum status status = STATUS_OK;
    if (*c->at == '"')
        status = lex_string(c, &string);
    else if (*c->at++ == '{')
        status = lex_skip_braces(c);
    if (status)
        c->at += strlen(c->at);
}

/* Goes past a kernel's body, or past its declaration, from its name on. A `.pragma` before the body
 * has a semicolon of its own. */
static void pass_kernel(struct cursor *c)
{
    bool pragma = false;
    char at;
    while ((at = lex_peek(c)) && (at != ';' || pragma)) {
        const struct slice word = lex_directive(c);
        if (word.length || at == ';')
            pragma = slice_is(word, "pragma");
        if (!word.length)
            pass_one(c);
        if (at == '{')
            return;
    }
    if (at)
        c->at++;
}

static bool is_linkage(struct slice word)
{
    return slice_is(word, "visible") || slice_is(word, "weak") || slice_is(word, "extern");
}

char *text_of_kernel(const char *text, size_t length, const char *symbol, size_t *out_length)
{
    struct error err;
    struct cursor c = {text, 1, "", &err};
    const char *kept = text, *linkage = NULL;
    char *out = malloc(length + 1), *to = out;
    if (!out)
        return NULL;
    while (lex_peek(&c)) {
        const char *at = c.at;
        const struct slice word = lex_directive(&c);
        if (slice_is(word, "entry")) {
            bool own = slice_is(lex_name(&c), symbol);
            pass_kernel(&c);
            if (!own) {
                to = (char *)mempcpy(to, kept, (size_t)((linkage ? linkage : at) - kept));
                kept = c.at;
            }
        }
        linkage = is_linkage(word) ? at : NULL;
        if (!word.length)
            pass_one(&c);
    }
    to = (char *)mempcpy(to, kept, (size_t)(c.at - kept));
    *to = '\0';
    *out_length = (size_t)(to - out);
    char *less = realloc(out, *out_length + 1);
    return less ? less : out;
}
