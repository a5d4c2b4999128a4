/*
 * signature_parse.c - the recursive-descent parser of the signature language, two levels deep:
 * parameters, and fields inside a struct. Grammar:
 *
 *     list      = [ parameter { "," parameter } ]
 *     parameter = "_" | "..." (last) | struct | declaration
 *     struct    = "struct" bytes "{" { declaration "@" offset [","|";"] } "}" [ name ]
 *     declaration = { "const" | "inout" | "acc" | "ws" } type { "const" | "*" | restrict }
 *                   name [ "?" ] { "[" extent [ ":" stride [ "bytes" ] ] "]" }
 *     extent    = expression | "*" | "@" name [ ("/" | "%") expression ]
 */
#include "verify/signature.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "base/nearest.h"
#include "base/number.h"

enum { WORD = 128, POINTER = 8 };

struct parser {
    const char *at;
    struct arena *arena;
    const struct captures *captures;
    struct error *err;
    struct signature *out;
};

/* ---- words ---- */

static void skip_space(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static bool is_letter(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

/* The length of the word at `at`: letters, digits, "::" and, inside names, dots. */
static size_t word_length(const char *at, bool dots)
{
    size_t length = 0;
    if (!is_letter(at[0]))
        return 0;
    for (;;) {
        char c = at[length];
        if (is_letter(c) || isdigit((unsigned char)c))
            length++;
        else if (c == ':' && at[length + 1] == ':' && is_letter(at[length + 2]))
            length += 2;
        else if (dots && c == '.' && is_letter(at[length + 1]))
            length++;
        else
            return length;
    }
}

static enum status fail(struct parser *p, const char *sentence)
{
    skip_space(p);
    size_t length = word_length(p->at, true);
    if (length == 0 && *p->at)
        length = 1;
    if (length == 0)
        return error_set(p->err, STATUS_INVALID, "signature: at the end: %s", sentence);
    return error_set(p->err, STATUS_INVALID, "signature: at '%.*s': %s",
                     length > 40 ? 40 : (int)length, p->at, sentence);
}

static enum status no_memory(struct parser *p)
{
    return error_set(p->err, STATUS_NO_MEMORY, "no memory");
}

static bool take_char(struct parser *p, char c)
{
    skip_space(p);
    if (*p->at != c)
        return false;
    p->at++;
    return true;
}

static bool next_is_word(struct parser *p, const char *word)
{
    skip_space(p);
    size_t length = word_length(p->at, false);
    return length == strlen(word) && memcmp(p->at, word, length) == 0;
}

static bool take_word(struct parser *p, const char *word)
{
    if (!next_is_word(p, word))
        return false;
    p->at += strlen(word);
    return true;
}

static bool copy_word(struct parser *p, bool dots, char word[WORD])
{
    skip_space(p);
    size_t length = word_length(p->at, dots);
    if (length == 0 || length >= WORD)
        return false;
    memcpy(word, p->at, length);
    word[length] = '\0';
    p->at += length;
    return true;
}

static enum status take_number(struct parser *p, const char *what, uint32_t *out)
{
    skip_space(p);
    char digits[16];
    size_t length = 0;
    while (isalnum((unsigned char)p->at[length]) && length < sizeof digits - 1)
        length++;
    memcpy(digits, p->at, length);
    digits[length] = '\0';
    uint64_t value;
    if (!number_unsigned(digits, &value) || value > (1u << 20))
        return fail(p, what);
    p->at += length;
    *out = (uint32_t)value;
    return STATUS_OK;
}

/* ---- types ---- */

static bool is_integer_word(const char *word)
{
    static const char *const words[] = {"unsigned", "signed", "long", "short", "int", "char"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(word, words[i]) == 0)
            return true;
    }
    return false;
}

static const struct capture *find_capture(const struct parser *p, const char *word)
{
    for (unsigned i = 0; p->captures && i < p->captures->count; i++) {
        if (strcmp(p->captures->capture[i].name, word) == 0)
            return &p->captures->capture[i];
    }
    return NULL;
}

static enum status parse_type(struct parser *p, struct type *out)
{
    const char *start;
    char word[WORD], text[4 * WORD];
    skip_space(p);
    start = p->at;
    if (!copy_word(p, false, word))
        return fail(p, "expected a type such as bf16, f32, i32 or f32x4");
    snprintf(text, sizeof text, "%s", word);
    const struct capture *capture = find_capture(p, word);
    if (capture && !capture->text) {
        *out = (struct type){DTYPE_NONE, 1};
        return STATUS_OK;
    }
    if (capture) {
        if (type_parse(capture->text, out))
            return STATUS_OK;
        return error_set(p->err, STATUS_INVALID,
                         "signature: the template argument %s is '%.80s', which is no known type",
                         word, capture->text);
    }
    while (is_integer_word(word)) { /* unsigned long long */
        const char *before = p->at;
        size_t used = strlen(text);
        if (!copy_word(p, false, word) || !is_integer_word(word) || used + WORD + 2 > sizeof text) {
            p->at = before;
            break;
        }
        snprintf(text + used, sizeof text - used, " %s", word);
    }
    if (type_parse(text, out))
        return STATUS_OK;
    struct nearest nearest = {.word = text};
    type_offer(&nearest);
    for (unsigned i = 0; p->captures && i < p->captures->count; i++)
        nearest_offer(&nearest, p->captures->capture[i].name);
    char question[96], sentence[160];
    snprintf(sentence, sizeof sentence, "unknown type%s",
             nearest_text(&nearest, question, sizeof question));
    p->at = start;
    return fail(p, sentence);
}

/* ---- dims ---- */

static const char *copy_trimmed(struct parser *p, const char *start, const char *end)
{
    while (start < end && isspace((unsigned char)*start))
        start++;
    while (end > start && isspace((unsigned char)end[-1]))
        end--;
    return arena_text(p->arena, start, (size_t)(end - start));
}

/* Whether it is a word, a number or stands in parentheses: what binds no weaker than a division. */
static bool is_operand(const char *text)
{
    int depth = 0;
    for (size_t i = 0; text[i]; i++) {
        depth += (text[i] == '(') - (text[i] == ')');
        bool inside = depth > 0 || text[i] == ')';
        if (!inside && !is_letter(text[i]) && !isdigit((unsigned char)text[i]) && text[i] != '.')
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
    size_t length = word_length(at, true);
    const char *name = arena_text(p->arena, at, length);
    if (!name)
        return no_memory(p);
    if (!length)
        return fail(p, "expected the array that names the rows, as in [@ids]");
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
    dim->extent = copy_trimmed(p, at + 1, at + strlen(at));
    if (!dim->extent)
        return no_memory(p);
    return is_operand(dim->extent)
               ? STATUS_OK
               : error_set(p->err, STATUS_INVALID,
                           "signature: '@%s / %.60s': expected a name, a number or parentheses "
                           "behind the sign",
                           name, dim->extent);
}

/* What goes beyond an expression. */
static enum status parse_extent(struct parser *p, struct signature_item *item,
                                struct signature_dim *dim)
{
    if (*dim->extent == '@')
        return parse_rows(p, item, dim);
    if (strcmp(dim->extent, "*") == 0) {
        dim->kind = DIM_REST;
        dim->extent = NULL;
    }
    return STATUS_OK;
}

/* After '[': "extent]" or "extent:stride]" or "extent:stride bytes]". */
static enum status parse_dim(struct parser *p, struct signature_item *item)
{
    static const char bytes[] = " bytes";
    if (item->ndim == SIGNATURE_DIMS)
        return fail(p, "more than 6 dims");
    const char *start = p->at;
    const char *end = start + strcspn(start, "]");
    const char *colon = memchr(start, ':', (size_t)(end - start));
    if (!*end)
        return error_set(p->err, STATUS_INVALID, "signature: '[%.40s': expected ']'", start);
    struct signature_dim *dim = &item->dim[item->ndim];
    dim->extent = copy_trimmed(p, start, colon ? colon : end);
    if (!dim->extent)
        return no_memory(p);
    if (!*dim->extent)
        return fail(p, "expected the number of elements, as in [rows]");
    if (colon) {
        char *stride = (char *)copy_trimmed(p, colon + 1, end);
        if (!stride)
            return no_memory(p);
        size_t length = strlen(stride);
        if (length > sizeof bytes - 1 && strcmp(stride + length - (sizeof bytes - 1), bytes) == 0) {
            dim->stride_bytes = true;
            stride[length - (sizeof bytes - 1)] = '\0';
        }
        p->at = colon + 1;
        if (!*stride)
            return fail(p, "expected a stride, as in [rows:pitch]");
        dim->stride = stride;
    }
    enum status status = parse_extent(p, item, dim);
    item->ndim++;
    p->at = end + 1;
    return status;
}

/* ---- declarations ---- */

struct qualifiers {
    bool is_const, pointer;
    int roles; /* of inout, acc, ws */
    enum role role;
};

static void parse_roles(struct parser *p, struct qualifiers *q)
{
    static const struct {
        const char *word;
        enum role role;
    } roles[] = {{"inout", ROLE_INOUT}, {"acc", ROLE_ACC}, {"ws", ROLE_WS}};
    bool found;
    do {
        found = false;
        for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
            if (take_word(p, roles[i].word)) {
                q->role = roles[i].role;
                q->roles++;
                found = true;
            }
        }
        if (take_word(p, "const"))
            q->is_const = found = true;
    } while (found);
}

static void parse_pointer(struct parser *p, struct qualifiers *q)
{
    for (;;) {
        if (take_char(p, '*'))
            q->pointer = true;
        else if (take_word(p, "const") && !q->pointer)
            q->is_const = true;
        else if (!take_word(p, "restrict") && !take_word(p, "__restrict__") &&
                 !take_word(p, "__restrict") && !next_is_word(p, "const"))
            return;
    }
}

/* Where the dims of touched rows, and of all the rest, may stand. */
static enum status check_dims(const struct parser *p, const struct signature_item *item)
{
    unsigned places = 0;
    for (unsigned i = 0; i < item->ndim; i++) {
        enum signature_dim_kind kind = item->dim[i].kind;
        places += kind == DIM_PLACE;
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

static enum status finish_item(struct parser *p, struct signature_item *item,
                               const struct qualifiers *q)
{
    item->array = item->ndim > 0;
    if (!item->array && q->pointer)
        return error_set(p->err, STATUS_INVALID,
                         "signature: '%s' is a pointer and needs its dims, as in %s[n]", item->name,
                         item->name);
    if (!item->array && (q->roles || item->nullable))
        return error_set(p->err, STATUS_INVALID,
                         "signature: '%s' has no dims; roles and '?' belong to arrays", item->name);
    if (!item->array && item->type.lanes > 1)
        return error_set(p->err, STATUS_INVALID,
                         "signature: '%s' is a vector passed by value; write it as a struct, or "
                         "as _ to skip it",
                         item->name);
    if (!item->array && dtype_block(item->type.dtype))
        return error_set(p->err, STATUS_INVALID,
                         "signature: '%s' is %s and has no dims; blocks come in arrays, as in "
                         "%s[rows][cols]",
                         item->name, dtype_text(item->type.dtype), item->name);
    if (q->roles > 1 || (q->roles && q->is_const))
        return error_set(p->err, STATUS_INVALID,
                         "signature: '%s' has two roles; expected one of const, inout, acc, ws",
                         item->name);
    item->role = q->roles ? q->role : q->is_const ? ROLE_READ : ROLE_WRITE;
    if (item->array)
        item->number = p->out->arrays++;
    p->out->items++;
    return check_dims(p, item);
}

/* A declaration into the next free item; `stem` goes before its name ("s."), or "". */
static enum status parse_declaration(struct parser *p, const char *stem,
                                     struct signature_item **out)
{
    if (p->out->items == SIGNATURE_ITEMS)
        return fail(p, "more than 64 arrays and scalars");
    struct signature_item *item = &p->out->item[p->out->items];
    struct qualifiers q = {0};
    char word[WORD];
    parse_roles(p, &q);
    enum status status = parse_type(p, &item->type);
    if (status)
        return status;
    parse_pointer(p, &q);
    if (!copy_word(p, true, word))
        return fail(p, "expected a name");
    item->name = arena_format(p->arena, "%s%s", stem, word);
    if (!item->name)
        return no_memory(p);
    item->nullable = take_char(p, '?');
    while (!status && take_char(p, '['))
        status = parse_dim(p, item);
    if (!status)
        status = finish_item(p, item, &q);
    *out = item;
    return status;
}

/* ---- structs and the list ---- */

static enum status parse_field(struct parser *p, const struct signature_param *param,
                               unsigned index)
{
    struct signature_item *item;
    enum status status = parse_declaration(p, "", &item);
    if (status)
        return status;
    if (!take_char(p, '@'))
        return fail(p, "expected '@' and the byte offset of the field");
    status = take_number(p, "expected a byte offset", &item->offset);
    if (status)
        return status;
    uint32_t bytes = item->array ? POINTER : dtype_bytes(item->type.dtype);
    if (item->offset + bytes > param->size)
        return error_set(p->err, STATUS_INVALID,
                         "signature: field '%s' ends at byte %u of a struct of %u bytes",
                         item->name, item->offset + bytes, param->size);
    item->param = index;
    return STATUS_OK;
}

/* Fields [first, items) get the struct's name before theirs. */
static enum status name_fields(struct parser *p, unsigned first, const char *name)
{
    for (unsigned i = first; i < p->out->items; i++) {
        struct signature_item *item = &p->out->item[i];
        const char *full = arena_format(p->arena, "%s.%s", name, item->name);
        if (!full)
            return no_memory(p);
        item->name = full;
    }
    return STATUS_OK;
}

static enum status parse_struct(struct parser *p, struct signature_param *param, unsigned index)
{
    unsigned first = p->out->items;
    param->kind = PARAM_STRUCT;
    enum status status = take_number(p, "expected the size of the struct in bytes", &param->size);
    if (status)
        return status;
    if (!take_char(p, '{'))
        return fail(p, "expected '{'");
    while (!take_char(p, '}')) {
        status = parse_field(p, param, index);
        if (status)
            return status;
        if (!take_char(p, ',') && !take_char(p, ';') && *p->at != '}')
            return fail(p, "expected ',' or '}'");
    }
    char name[WORD];
    if (!copy_word(p, false, name))
        return STATUS_OK;
    param->name = arena_text(p->arena, name, strlen(name));
    return param->name ? name_fields(p, first, param->name) : no_memory(p);
}

static enum status parse_value(struct parser *p, struct signature_param *param, unsigned index)
{
    struct signature_item *item;
    enum status status = parse_declaration(p, "", &item);
    if (status)
        return status;
    item->param = index;
    param->kind = PARAM_VALUE;
    param->name = item->name;
    param->size = item->array ? POINTER : dtype_bytes(item->type.dtype);
    param->align = param->size;
    return STATUS_OK;
}

static enum status parse_parameter(struct parser *p)
{
    unsigned index = p->out->params;
    if (index == SIGNATURE_PARAMS)
        return fail(p, "more than 96 parameters");
    struct signature_param *param = &p->out->param[index];
    p->out->params++;
    if (take_word(p, "_")) {
        param->kind = PARAM_SKIPPED;
        return STATUS_OK;
    }
    if (take_word(p, "struct"))
        return parse_struct(p, param, index);
    return parse_value(p, param, index);
}

static enum status parse_list(struct parser *p)
{
    skip_space(p);
    while (*p->at) {
        if (strncmp(p->at, "...", 3) == 0) {
            p->at += 3;
            p->out->open_end = true;
            skip_space(p);
            return *p->at ? fail(p, "'...' must be the last") : STATUS_OK;
        }
        enum status status = parse_parameter(p);
        if (status)
            return status;
        if (!take_char(p, ',') && *p->at)
            return fail(p, "expected ',' or the end");
        skip_space(p);
    }
    return STATUS_OK;
}

/* Last, because the fields of a struct get their full names after its closing brace. */
static enum status check_names(const struct parser *p)
{
    static const char *const reserved[] = {"grid", "block", "min", "max", "ceil_div"};
    for (unsigned i = 0; i < p->out->items; i++) {
        const char *name = p->out->item[i].name;
        size_t stem = strcspn(name, ".");
        for (size_t j = 0; j < sizeof reserved / sizeof reserved[0]; j++) {
            if (strlen(reserved[j]) == stem && memcmp(reserved[j], name, stem) == 0)
                return error_set(p->err, STATUS_INVALID,
                                 "signature: '%s' cannot be a name: expressions use it", name);
        }
        if (signature_find(p->out, name) != &p->out->item[i] || find_capture(p, name))
            return error_set(p->err, STATUS_INVALID, "signature: the name '%s' appears twice",
                             name);
    }
    return STATUS_OK;
}

enum status signature_parse(const struct signature **out, struct arena *arena, const char *text,
                            const struct captures *captures, struct error *err)
{
    struct signature *signature = arena_alloc(arena, sizeof *signature);
    if (signature) {
        signature->param = arena_alloc(arena, SIGNATURE_PARAMS * sizeof *signature->param);
        signature->item = arena_alloc(arena, SIGNATURE_ITEMS * sizeof *signature->item);
    }
    if (!signature || !signature->param || !signature->item)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    struct parser p = {
        .at = text, .arena = arena, .captures = captures, .err = err, .out = signature};
    enum status status = parse_list(&p);
    if (!status && signature->params == 0 && !signature->open_end)
        status = error_set(err, STATUS_INVALID, "signature: it is empty");
    if (!status)
        status = check_names(&p);
    if (!status)
        *out = signature;
    return status;
}
