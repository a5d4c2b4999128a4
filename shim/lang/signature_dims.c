/*
 * signature_dims.c - the dims of an array in the signature language: what stands in brackets.
 *
 *     dim    = "[" extent [ ":" stride [ "bytes" ] ] "]"
 *     extent = expression [ "from" expression ] | "*" | "@" name [ ("/" | "%") expression ]
 *            | "&" expression
 */
#include "lang/signature_parser.h"

#include <ctype.h>
#include <string.h>

/* Whether it is a word, a number or stands in parentheses: what binds no weaker than a division. */
static bool is_operand(const char *text)
{
    int depth = 0;
    for (size_t i = 0; text[i]; i++) {
        depth += (text[i] == '(') - (text[i] == ')');
        bool inside = depth > 0 || text[i] == ')';
        if (!inside && !parser_letter(text[i]) && !isdigit((unsigned char)text[i]) &&
            text[i] != '.')
            return false;
    }
    return *text != '\0';
}

/* "@ids", "@ids / n" or "@ids % n": the array's name goes to the item, n stays as the extent. */
static enum status parse_rows(struct parser *p, struct signature_item *item,
                              struct signature_dim *dim)
{
    const char *at = dim->extent + 1;
    while (isspace((unsigned char)*at))
        at++;
    size_t length = parser_word_length(at, true);
    const char *name = arena_text(p->arena, at, length);
    if (!name)
        return parser_no_memory(p);
    if (!length)
        return parser_fail(p, "expected the array that names the rows, as in [@ids]");
    if (item->rows && strcmp(item->rows, name) != 0)
        return error_set(p->err, STATUS_INVALID,
                         "signature: rows of '%s' are named by '%s' and '%s'", item->name,
                         item->rows, name);
    item->rows = name;
    at += length;
    while (isspace((unsigned char)*at))
        at++;
    dim->kind = *at == '/' ? DIM_PAGES : *at == '%' ? DIM_PLACE : DIM_ROWS;
    if (dim->kind == DIM_ROWS && *at)
        return error_set(p->err, STATUS_INVALID,
                         "signature: '%.60s': expected [@%s], or [@%s / n] and [@%s %% n]",
                         dim->extent, name, name, name);
    if (dim->kind == DIM_ROWS) {
        dim->extent = NULL;
        return STATUS_OK;
    }
    dim->extent = parser_trimmed(p, at + 1, at + strlen(at));
    if (!dim->extent)
        return parser_no_memory(p);
    return is_operand(dim->extent)
               ? STATUS_OK
               : error_set(p->err, STATUS_INVALID,
                           "signature: '@%s / %.60s': expected a name, a number or parentheses "
                           "behind the sign",
                           name, dim->extent);
}

/* "&n": n addresses. */
static enum status parse_listed(struct parser *p, struct signature_dim *dim)
{
    dim->kind = DIM_LISTED;
    dim->extent = parser_trimmed(p, dim->extent + 1, dim->extent + strlen(dim->extent));
    if (!dim->extent)
        return parser_no_memory(p);
    return *dim->extent ? STATUS_OK
                        : parser_fail(p, "expected how many addresses there are, as in [&batch]");
}

/* What goes beyond an expression. */
static enum status parse_extent(struct parser *p, struct signature_item *item,
                                struct signature_dim *dim)
{
    if (*dim->extent == '@')
        return parse_rows(p, item, dim);
    if (*dim->extent == '&')
        return parse_listed(p, dim);
    if (strcmp(dim->extent, "*") == 0) {
        dim->kind = DIM_REST;
        dim->extent = NULL;
    }
    return STATUS_OK;
}

/* "n from first": the first `n` items behind `first` others. */
static enum status parse_from(struct parser *p, struct signature_dim *dim)
{
    const char *at = dim->extent;
    while ((at = strstr(at, "from"))) {
        bool apart = at > dim->extent && isspace((unsigned char)at[-1]) &&
                     (!at[4] || isspace((unsigned char)at[4]));
        if (apart)
            break;
        at += 4;
    }
    if (!at)
        return STATUS_OK;
    const char *whole = dim->extent;
    dim->from = parser_trimmed(p, at + 4, at + strlen(at));
    dim->extent = parser_trimmed(p, whole, at);
    if (!dim->from || !dim->extent)
        return parser_no_memory(p);
    return *dim->from && *dim->extent
               ? STATUS_OK
               : error_set(p->err, STATUS_INVALID, "signature: '[%.60s': expected [n from first]",
                           whole);
}

enum status parser_dim(struct parser *p, struct signature_item *item)
{
    static const char bytes[] = " bytes";
    if (item->ndim == SIGNATURE_DIMS)
        return parser_fail(p, "more than 6 dims");
    const char *start = p->at;
    const char *end = parser_bracket(start);
    const char *colon = memchr(start, ':', (size_t)(end - start));
    if (!*end)
        return error_set(p->err, STATUS_INVALID, "signature: '[%.40s': expected ']'", start);
    struct signature_dim *dim = &item->dim[item->ndim];
    dim->extent = parser_trimmed(p, start, colon ? colon : end);
    if (!dim->extent)
        return parser_no_memory(p);
    if (!*dim->extent)
        return parser_fail(p, "expected the number of elements, as in [rows]");
    enum status status = parse_from(p, dim);
    if (status)
        return status;
    if (colon) {
        char *stride = (char *)parser_trimmed(p, colon + 1, end);
        if (!stride)
            return parser_no_memory(p);
        size_t length = strlen(stride);
        if (length > sizeof bytes - 1 && strcmp(stride + length - (sizeof bytes - 1), bytes) == 0) {
            dim->stride_bytes = true;
            stride[length - (sizeof bytes - 1)] = '\0';
        }
        p->at = colon + 1;
        if (!*stride)
            return parser_fail(p, "expected a stride, as in [rows:pitch]");
        dim->stride = stride;
    }
    status = parse_extent(p, item, dim);
    item->ndim++;
    p->at = end + 1;
    return status;
}

/* A list has one address for each matrix, and no key that contradicts that. */
static enum status check_listed(const struct parser *p, const struct signature_item *item)
{
    const char *sentence = NULL;
    for (unsigned i = 0; i < item->ndim; i++) {
        enum signature_dim_kind kind = item->dim[i].kind;
        if (kind != (i ? DIM_SIZE : DIM_LISTED))
            sentence = "[&n] is a first dim, once, and does not go with [*] and [@ids]";
        else if (item->dim[i].from)
            sentence = "'from' does not go with [&n]: what is listed is read from its beginning";
        else if (i == 0 && item->dim[i].stride)
            sentence = "the addresses of [&n] lie one behind the other; strides belong to the dims "
                       "behind it, as in [&n][rows: pitch][cols]";
    }
    if (!sentence && item->ndim == 1 && (item->type.lanes > 1 || dtype_block(item->type.dtype)))
        sentence = "vectors and blocks need a last dim of their own behind [&n]";
    return sentence ? error_set(p->err, STATUS_INVALID, "signature: '%s': %s", item->name, sentence)
                    : STATUS_OK;
}

enum status parser_check_dims(const struct parser *p, const struct signature_item *item)
{
    unsigned places = 0;
    for (unsigned i = 0; i < item->ndim; i++) {
        if (item->dim[i].kind == DIM_LISTED)
            return check_listed(p, item);
    }
    for (unsigned i = 0; i < item->ndim; i++) {
        enum signature_dim_kind kind = item->dim[i].kind;
        places += kind == DIM_PLACE;
        if (item->dim[i].from && (item->rows || item->dim[0].kind == DIM_REST ||
                                  (i + 1 == item->ndim && dtype_block(item->type.dtype))))
            return error_set(p->err, STATUS_INVALID,
                             "signature: '%s': 'from' does not go with [@ids], [*], and columns of "
                             "blocks",
                             item->name);
        if (kind != DIM_SIZE && (kind == DIM_PLACE) != (i > 0))
            return error_set(p->err, STATUS_INVALID,
                             kind == DIM_PLACE
                                 ? "signature: '%s': [@%s %% n] comes behind a first dim [@%s / n]"
                                 : "signature: '%s': [*], [@ids] and [@ids / n] are first dims",
                             item->name, item->rows, item->rows);
    }
    bool pages = item->ndim > 0 && item->dim[0].kind == DIM_PAGES;
    if (places != pages)
        return error_set(p->err, STATUS_INVALID,
                         "signature: '%s': [@%s / n] and [@%s %% n] come together, once each",
                         item->name, item->rows, item->rows);
    for (unsigned i = 1; pages && i < item->ndim; i++) {
        if (item->dim[i].kind == DIM_PLACE && strcmp(item->dim[i].extent, item->dim[0].extent) != 0)
            return error_set(p->err, STATUS_INVALID,
                             "signature: '%s': pages have %s places, and %s", item->name,
                             item->dim[0].extent, item->dim[i].extent);
    }
    return STATUS_OK;
}
