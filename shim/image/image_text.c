#include "image/image_text.h"

#include <stdlib.h>
#include <string.h>

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
                                .none = parts.ptx.at  ? LIFT_OTHER_PTX
                                        : parts.newer ? LIFT_NEWER_PTX
                                                      : LIFT_NO_PTX};
    if (!out->part.at)
        return out->none;
    if (out->part.bytes > IMAGE_ENTRY_BYTES || out->part.plain_bytes > IMAGE_TEXT_BYTES)
        return LIFT_LONG_PTX;
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
    *text = lift_text_of(plain, bytes, length);
    free(plain);
    return *text ? LIFT_OK : packed->none;
}

/* ---- one kernel of a text ---- */

/* The first of `stops` outside of comments and strings, or the end. */
static const char *find(const char *at, const char *stops)
{
    char wanted[16] = "/\"";
    strncat(wanted, stops, sizeof(wanted) - 3);
    while (*(at += strcspn(at, wanted)) && !strchr(stops, *at)) {
        const char *end = NULL;
        if (at[0] == '"')
            end = strchr(at + 1, '"');
        else if (at[1] == '/')
            end = strchr(at, '\n');
        else if (at[1] == '*')
            end = strstr(at + 2, "*/");
        else
            end = at;
        at = end ? end + 1 : at + strlen(at);
    }
    return at;
}

/* Behind the brace that closes the one at `at`. */
static const char *behind_braces(const char *at)
{
    unsigned depth = 0;
    while (*at) {
        depth += *at == '{' ? 1u : -1u;
        if (!depth)
            return at + 1;
        at = find(at + 1, "{}");
    }
    return at;
}

/* Behind a kernel's body, or behind its declaration. */
static const char *behind_kernel(const char *at)
{
    at = find(at, "{;");
    return *at == '{' ? behind_braces(at) : *at ? at + 1 : at;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Where a kernel's statement begins, whose `.entry` is at `at`: at .visible or .weak. */
static const char *start_of(const char *text, const char *at)
{
    static const char *const linkage[] = {".visible", ".weak", ".extern"};
    const char *end = at;
    while (end > text && is_space(end[-1]))
        end--;
    for (size_t i = 0; i < sizeof(linkage) / sizeof(*linkage); i++) {
        size_t length = strlen(linkage[i]);
        if ((size_t)(end - text) >= length && !memcmp(end - length, linkage[i], length))
            return end - length;
    }
    return at;
}

static bool is_named(const char *at, const char *symbol)
{
    size_t length = strlen(symbol);
    while (is_space(*at))
        at++;
    return !strncmp(at, symbol, length) && (is_space(at[length]) || strchr("({;", at[length]));
}

char *text_of_kernel(const char *text, size_t length, const char *symbol, size_t *out_length)
{
    static const char entry[] = ".entry";
    const size_t word = sizeof(entry) - 1;
    const char *kept = text, *at = text;
    char *out = malloc(length + 1), *to = out;
    if (!out)
        return NULL;
    while (*(at = find(at, "{."))) {
        const char *end = at + 1;
        if (*at == '{') {
            end = behind_braces(at);
        } else if (!strncmp(at, entry, word) && is_space(at[word])) {
            end = behind_kernel(at);
            if (!is_named(at + word, symbol)) {
                to = (char *)mempcpy(to, kept, (size_t)(start_of(kept, at) - kept));
                kept = end;
            }
        }
        at = end;
    }
    to = (char *)mempcpy(to, kept, (size_t)(at - kept));
    *to = '\0';
    *out_length = (size_t)(to - out);
    char *less = realloc(out, *out_length + 1);
    return less ? less : out;
}
