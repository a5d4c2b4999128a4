#include "names/param_types.h"

#include <stdio.h>
#include <string.h>
#include "names/symbol.h"

enum { LIST = 180, WORD = 120 };

/* ---- the list of a demangled name ---- */

/* The next of the list at *at, which goes on behind it; false: it was the last. */
static bool next_type(const char **at, char out[WORD])
{
    const char *start = *at;
    size_t length = 0;
    int depth = 0;
    while (*start == ' ')
        start++;
    for (; start[length]; length++) {
        char c = start[length];
        if (depth == 0 && (c == ',' || c == ')'))
            break;
        depth += c == '<' || c == '(' || c == '[' || c == '{';
        depth -= c == '>' || c == ')' || c == ']' || c == '}';
    }
    if (length == 0)
        return false;
    snprintf(out, WORD, "%.*s", length < WORD ? (int)length : 0, start);
    *at = start + length + (start[length] == ',');
    return true;
}

static unsigned count_types(const char *list)
{
    char word[WORD];
    unsigned count = 0;
    while (next_type(&list, word))
        count++;
    return count;
}

/* Takes qualifiers away from the end. */
static void strip_end(char *text)
{
    static const char *const qualifiers[] = {" const", " volatile", " __restrict__", " restrict",
                                             " "};
    for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++) {
        size_t length = strlen(text), tail = strlen(qualifiers[i]);
        if (length > tail && strcmp(text + length - tail, qualifiers[i]) == 0) {
            text[length - tail] = '\0';
            i = (size_t)-1;
        }
    }
}

/* ---- one parameter ---- */

static struct param_spelled read_param_type(const char *text)
{
    struct param_spelled out = {0};
    char word[WORD];
    snprintf(word, sizeof word, "%s", text);
    strip_end(word);
    size_t length = strlen(word);
    if (length && word[length - 1] == '*') {
        out.pointer = true;
        word[length - 1] = '\0';
        out.constant = strstr(word, "const") != NULL;
        strip_end(word);
    }
    out.bytes = strcmp(word, "void") == 0 || strcmp(word, "char") == 0 ||
                strcmp(word, "unsigned char") == 0 || strcmp(word, "signed char") == 0;
    out.known = type_parse(word, &out.type) && !dtype_block(out.type.dtype);
    return out;
}

bool param_types_next(const char **list, struct param_spelled *out)
{
    char word[WORD];
    if (!next_type(list, word))
        return false;
    *out = read_param_type(word);
    return true;
}

static bool vague(const struct signature_item *item)
{
    return item->type.dtype == DTYPE_NONE || dtype_block(item->type.dtype) ||
           signature_listed(item) || item->index;
}

/* Whether elements of `dtype` may lie behind a pointer to `type`, which is known. */
static bool element_fits(enum dtype dtype, struct type type)
{
    unsigned ours = dtype_bytes(dtype), theirs = dtype_bytes(type.dtype);
    bool is_unsigned = type.dtype >= DTYPE_U8 && type.dtype <= DTYPE_BOOL;
    if (dtype_is_real(type.dtype))
        return type.dtype == dtype;
    if (type.lanes > 1)
        return theirs * type.lanes >= ours;
    if (dtype_is_integer(dtype))
        return ours == theirs || ours == 1;
    return ours == theirs ? ours <= 2 : is_unsigned && theirs > ours;
}

/* Whether a scalar of `dtype` may be passed as a `type`, which is known and of the same size. */
static bool scalar_fits(enum dtype dtype, struct type type)
{
    if (type.lanes > 1 && dtype_is_integer(type.dtype))
        return true;
    return dtype_is_integer(dtype) ? dtype_is_integer(type.dtype) : dtype == type.dtype;
}

static bool item_fits(const struct signature_item *item, const struct param_spelled *spelled)
{
    if (vague(item))
        return true;
    if (item->array && spelled->pointer)
        return spelled->bytes || !spelled->known || element_fits(item->type.dtype, spelled->type);
    if (item->array)
        return !spelled->known || dtype_is_integer(spelled->type.dtype);
    if (spelled->pointer)
        return dtype_is_integer(item->type.dtype);
    return !spelled->known || scalar_fits(item->type.dtype, spelled->type);
}

/* The item of a parameter that is one; NULL: a struct, or skipped. */
static const struct signature_item *item_of(const struct signature *signature, unsigned param)
{
    for (unsigned i = 0; i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        if (item->param == param && !item->earlier && signature->param[param].kind == PARAM_VALUE)
            return item;
    }
    return NULL;
}

/* ---- the sentence ---- */

static void append_type(char list[LIST], const char *text)
{
    size_t used = strlen(list);
    if (used + strlen(text) + 8 < LIST)
        snprintf(list + used, LIST - used, "%s%s", used ? ", " : "", text);
    else if (used < 3 || strcmp(list + used - 3, "...") != 0)
        snprintf(list + used, LIST - used, ", ...");
}

static void param_text(const struct signature_item *item, char out[WORD])
{
    if (!item)
        snprintf(out, WORD, "_");
    else if (item->type.lanes > 1)
        snprintf(out, WORD, "%sx%u%s", dtype_text(item->type.dtype), item->type.lanes,
                 item->array ? "*" : "");
    else
        snprintf(out, WORD, "%s%s", dtype_text(item->type.dtype), item->array ? "*" : "");
}

static enum status type_disagrees(const struct signature *signature, unsigned param,
                                  const char *theirs, const char *list, struct error *err)
{
    char ours[WORD], word[WORD], by_signature[LIST] = "", by_kernel[LIST] = "";
    for (unsigned i = 0; i < signature->params && next_type(&list, word); i++) {
        append_type(by_kernel, *word ? word : "...");
        param_text(item_of(signature, i), word);
        append_type(by_signature, word);
    }
    const struct signature_item *item = item_of(signature, param);
    param_text(item, ours);
    return error_set(err, STATUS_INVALID,
                     "parameter %u %.40s is %.60s, the signature has %s; types by the "
                     "signature: %s; by the kernel: %s",
                     param, item->name, theirs, ours, by_signature, by_kernel);
}

enum status param_types_fit(const struct signature *signature, const char *demangled,
                            struct error *err)
{
    const char *list = symbol_parameters(demangled), *at = list;
    char word[WORD];
    if (!list || count_types(list) != signature->params)
        return STATUS_OK;
    for (unsigned i = 0; i < signature->params && next_type(&at, word); i++) {
        const struct signature_item *item = item_of(signature, i);
        struct param_spelled spelled = read_param_type(word);
        if (item && *word && !item_fits(item, &spelled))
            return type_disagrees(signature, i, word, list, err);
    }
    return STATUS_OK;
}

enum status param_codes_fit(const struct signature *signature, const struct param_layout *layout,
                            struct error *err)
{
    for (unsigned i = 0; i < signature->params && i < layout->count && i < LAYOUT_MAX; i++) {
        const struct signature_item *item = item_of(signature, i);
        enum dtype seen = (enum dtype)layout->param[i].dtype;
        if (item && item->array && dtype_is_usual(seen) && dtype_is_usual(item->type.dtype) &&
            item->type.dtype != seen)
            return error_set(err, STATUS_INVALID,
                             "parameter %u %.40s is %s, the kernel's code has %s there", i,
                             item->name, dtype_text(item->type.dtype), dtype_text(seen));
    }
    return STATUS_OK;
}
