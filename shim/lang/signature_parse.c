/*
 * signature_parse.c - the recursive-descent parser of the signature language, two levels deep:
 * parameters, and fields inside a struct. Grammar:
 *
 *     list      = [ parameter { "," parameter } ]
 *     parameter = "_" | "..." (last) | struct | declaration [ guard ]
 *     struct    = "struct" bytes [ ".." bytes ] "{" { field [","|";"] } "}" [ name ]
 *     field     = declaration "@" offset [ "[" index [ ":" bytes ] "]" ] [ guard ]
 *     guard     = "if" name ">" number
 *     declaration = { "const" | "inout" | "acc" | "ws" } type { "const" | "*" | restrict }
 *                   name [ "?" ] { dim }
 */
#include "lang/signature_parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text/nearest.h"

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
    parser_space(p);
    start = p->at;
    if (!parser_copy_word(p, false, word))
        return parser_fail(p, "expected a type such as bf16, f32, i32 or f32x4");
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
        if (!parser_copy_word(p, false, word) || !is_integer_word(word) ||
            used + WORD + 2 > sizeof text) {
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
    return parser_fail(p, sentence);
}

/* ---- declarations ---- */

struct qualifiers {
    bool is_const;
    int pointers;
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
            if (parser_word(p, roles[i].word)) {
                q->role = roles[i].role;
                q->roles++;
                found = true;
            }
        }
        if (parser_word(p, "const"))
            q->is_const = found = true;
    } while (found);
}

static void parse_pointer(struct parser *p, struct qualifiers *q)
{
    for (;;) {
        if (parser_char(p, '*'))
            q->pointers++;
        else if (parser_word(p, "const"))
            q->is_const |= !q->pointers;
        else if (!parser_word(p, "restrict") && !parser_word(p, "__restrict__") &&
                 !parser_word(p, "__restrict"))
            return;
    }
}

static enum status finish_item(struct parser *p, struct signature_item *item,
                               const struct qualifiers *q)
{
    item->array = item->ndim > 0;
    if (q->pointers > 1 + signature_listed(item))
        return error_set(p->err, STATUS_INVALID,
                         "signature: '%s' is a pointer to pointers in device memory; expected how "
                         "many there are and the dims behind each, as in %s[&batch][rows][cols], "
                         "or _ to skip it",
                         item->name, item->name);
    if (!item->array && q->pointers)
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
    return parser_check_dims(p, item);
}

/* A declaration into the next free item; `stem` goes before its name ("s."), or "". */
static enum status parse_declaration(struct parser *p, const char *stem,
                                     struct signature_item **out)
{
    if (p->out->items == SIGNATURE_ITEMS)
        return parser_fail(p, "more than 64 arrays and scalars");
    struct signature_item *item = &p->out->item[p->out->items];
    struct qualifiers q = {0};
    char word[WORD];
    parse_roles(p, &q);
    enum status status = parse_type(p, &item->type);
    if (status)
        return status;
    parse_pointer(p, &q);
    if (!parser_copy_word(p, true, word))
        return parser_fail(p, "expected a name");
    item->name = arena_format(p->arena, "%s%s", stem, word);
    if (!item->name)
        return parser_no_memory(p);
    item->nullable = parser_char(p, '?');
    while (!status && parser_char(p, '['))
        status = parser_dim(p, item);
    if (!status)
        status = finish_item(p, item, &q);
    *out = item;
    return status;
}

/* ---- guards ---- */

static bool is_word(const struct signature_item *item)
{
    return !item->array && !item->index && !dtype_is_real(item->type.dtype) &&
           dtype_bytes(item->type.dtype) == sizeof(uint32_t);
}

/* The latest item of that name before `item`, which may be a field of a struct whose own name is
 * not read yet; NULL: none. */
static const struct signature_item *find_earlier_item(const struct parser *p, const char *name,
                                                      const struct signature_item *item)
{
    while (item-- > p->out->item) {
        if (strcmp(item->name, name) == 0)
            return item;
    }
    return NULL;
}

/* "if dims > 5" behind an integer: launches with fewer dims do not have it. */
static enum status parse_guard(struct parser *p, struct signature_item *item)
{
    char word[WORD];
    if (!parser_word(p, "if"))
        return STATUS_OK;
    if (!is_word(item))
        return error_set(p->err, STATUS_INVALID,
                         "signature: '%s' has an 'if', which only i32 and u32 may have",
                         item->name);
    if (!parser_copy_word(p, true, word))
        return parser_fail(p, "expected the name of an earlier integer, as in 'if dims > 5'");
    const struct signature_item *guard = find_earlier_item(p, word, item);
    if (!guard || !is_word(guard) || guard->guard)
        return error_set(p->err, STATUS_INVALID,
                         "signature: '%s' is there if '%s' is above a number; expected the name of "
                         "an i32 or u32 before it that has no 'if' of its own",
                         item->name, word);
    item->guard = (unsigned)(guard - p->out->item) + 1;
    static const char expected[] = "expected '>' and a number from 0 to 14, as in 'if dims > 5'";
    if (!parser_char(p, '>'))
        return parser_fail(p, expected);
    const char *number = p->at;
    enum status status = parser_number(p, expected, &item->above);
    if (!status && item->above > SIGNATURE_ABOVE) {
        p->at = number;
        status = parser_fail(p, expected);
    }
    return status;
}

/* ---- structs and the list ---- */

/* "[index]" or "[index: bytes]" behind the offset of a field: one of several that lie in a row. */
static enum status parse_index(struct parser *p, struct signature_item *item, uint32_t bytes)
{
    item->index_stride = bytes;
    if (!parser_char(p, '['))
        return STATUS_OK;
    const char *end = parser_bracket(p->at), *colon = memchr(p->at, ':', (size_t)(end - p->at));
    if (!*end)
        return parser_fail(p, "expected ']' behind the index of the field");
    item->index = parser_trimmed(p, p->at, colon ? colon : end);
    if (!item->index)
        return parser_no_memory(p);
    if (!*item->index)
        return parser_fail(p, "expected an index, as in @0[i]");
    p->at = colon ? colon + 1 : end;
    if (colon) {
        enum status status =
            parser_number(p, "expected the bytes from one field to the next", &item->index_stride);
        if (status)
            return status;
    }
    return parser_char(p, ']') ? STATUS_OK : parser_fail(p, "expected ']'");
}

static enum status parse_field(struct parser *p, const struct signature_param *param,
                               unsigned index)
{
    struct signature_item *item;
    enum status status = parse_declaration(p, "", &item);
    if (status)
        return status;
    if (!parser_char(p, '@'))
        return parser_fail(p, "expected '@' and the byte offset of the field");
    status = parser_number(p, "expected a byte offset", &item->offset);
    if (status)
        return status;
    uint32_t bytes = item->array ? POINTER : dtype_bytes(item->type.dtype);
    if (item->offset + bytes > param->size)
        return error_set(p->err, STATUS_INVALID,
                         "signature: field '%s' ends at byte %u of a struct of %u bytes",
                         item->name, item->offset + bytes, param->size);
    item->param = index;
    status = parse_index(p, item, bytes);
    return status ? status : parse_guard(p, item);
}

/* Fields [first, items) get the struct's name before theirs. */
static enum status name_fields(struct parser *p, unsigned first, const char *name)
{
    for (unsigned i = first; i < p->out->items; i++) {
        struct signature_item *item = &p->out->item[i];
        const char *full = arena_format(p->arena, "%s.%s", name, item->name);
        if (!full)
            return parser_no_memory(p);
        item->name = full;
    }
    return STATUS_OK;
}

/* "24", or "24..40": the compiler decides how many bytes follow the fields. */
static enum status parse_struct_size(struct parser *p, struct signature_param *param)
{
    enum status status = parser_number(p, "expected the size of the struct in bytes", &param->size);
    param->most = param->size;
    if (status)
        return status;
    parser_space(p);
    if (strncmp(p->at, "..", 2) != 0)
        return STATUS_OK;
    p->at += 2;
    status = parser_number(p, "expected the largest size of the struct in bytes", &param->most);
    if (!status && param->most < param->size)
        return parser_fail(p, "the largest size of the struct is below its smallest");
    return status;
}

static enum status parse_struct(struct parser *p, struct signature_param *param, unsigned index)
{
    unsigned first = p->out->items;
    param->kind = PARAM_STRUCT;
    enum status status = parse_struct_size(p, param);
    if (status)
        return status;
    if (!parser_char(p, '{'))
        return parser_fail(p, "expected '{'");
    while (!parser_char(p, '}')) {
        status = parse_field(p, param, index);
        if (status)
            return status;
        if (!parser_char(p, ',') && !parser_char(p, ';') && *p->at != '}')
            return parser_fail(p, "expected ',' or '}'");
    }
    char name[WORD];
    if (!parser_copy_word(p, false, name))
        return STATUS_OK;
    param->name = arena_text(p->arena, name, strlen(name));
    return param->name ? name_fields(p, first, param->name) : parser_no_memory(p);
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
    param->most = param->align = param->size;
    return parse_guard(p, item);
}

static enum status parse_parameter(struct parser *p)
{
    unsigned index = p->out->params;
    if (index == SIGNATURE_PARAMS)
        return parser_fail(p, "more than 96 parameters");
    struct signature_param *param = &p->out->param[index];
    p->out->params++;
    if (parser_word(p, "_")) {
        param->kind = PARAM_SKIPPED;
        return STATUS_OK;
    }
    if (parser_word(p, "struct"))
        return parse_struct(p, param, index);
    return parse_value(p, param, index);
}

static enum status parse_list(struct parser *p)
{
    parser_space(p);
    while (*p->at) {
        if (strncmp(p->at, "...", 3) == 0) {
            p->at += 3;
            p->out->open_end = true;
            parser_space(p);
            return *p->at ? parser_fail(p, "'...' must be the last") : STATUS_OK;
        }
        enum status status = parse_parameter(p);
        if (status)
            return status;
        if (!parser_char(p, ',') && *p->at)
            return parser_fail(p, "expected ',' or the end");
        parser_space(p);
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

/* What a list is read into before its length is known. */
struct read_list {
    struct signature_param param[SIGNATURE_PARAMS];
    struct signature_item item[SIGNATURE_ITEMS];
};

static enum status read_item_list(struct parser *p, struct read_list *list)
{
    p->out->param = list->param;
    p->out->item = list->item;
    enum status status = parse_list(p);
    if (!status && p->out->params == 0 && !p->out->open_end)
        status = error_set(p->err, STATUS_INVALID, "signature: it is empty");
    return status ? status : check_names(p);
}

/* In the arena, in no more room than it takes. */
static enum status keep_list(struct parser *p)
{
    struct signature *out = p->out;
    struct signature_param *param = arena_alloc(p->arena, out->params * sizeof *param);
    struct signature_item *item = arena_alloc(p->arena, out->items * sizeof *item);
    if (!param || !item)
        return error_set(p->err, STATUS_NO_MEMORY, "no memory");
    memcpy(param, out->param, out->params * sizeof *param);
    memcpy(item, out->item, out->items * sizeof *item);
    out->param = param;
    out->item = item;
    return STATUS_OK;
}

enum status signature_parse(const struct signature **out, struct arena *arena, const char *text,
                            const struct captures *captures, struct error *err)
{
    struct signature *signature = arena_alloc(arena, sizeof *signature);
    struct read_list *list = calloc(1, sizeof *list);
    if (!signature || !list) {
        free(list);
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    }
    struct parser p = {
        .at = text, .arena = arena, .captures = captures, .err = err, .out = signature};
    enum status status = read_item_list(&p, list);
    if (!status)
        status = keep_list(&p);
    free(list);
    if (!status)
        *out = signature;
    return status;
}
