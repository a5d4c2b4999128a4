/* operation.c - the tables ops.def and entries.def, parsed; and the registry that follows. */
#include "corpus.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct operation operations[] = {
#define OP(name, reference, bind, grid, signature, schema, usual)                                  \
    {#name, reference, bind, grid, signature, schema, usual, 0, {{"", "", 0, 0, {{"", 0, 0}}}},    \
     NULL,  {0}},
#include "ops.def"
#undef OP
};
const size_t operation_count = sizeof operations / sizeof *operations;

const struct entry entries[] = {
#define STUDY_RIGHT(op, dtype) {#op, #dtype, 0, ENTRY_RIGHT, true, 0, "", "", "", ""},
#define STUDY_WRONG(op, dtype, class, oracles, sentence)                                           \
    {#op, #dtype, 1, ENTRY_WRONG, true, class, "", "", oracles, sentence},
#define RIGHT(op, dtype) {#op, #dtype, 0, ENTRY_RIGHT, false, 0, "", "", "", ""},
#define WRONG(op, dtype, number, class, kill, usual, oracles, sentence)                            \
    {#op, #dtype, number, ENTRY_WRONG, false, class, kill, usual, oracles, sentence},
#define ESCAPES(op, dtype, number, class, kill, usual, oracles, sentence)                          \
    {#op, #dtype, number, ENTRY_ESCAPES, false, class, kill, usual, oracles, sentence},
#include "entries.def"
};
const size_t entry_count = sizeof entries / sizeof *entries;

const struct operation *entry_operation(const struct entry *entry)
{
    for (size_t i = 0; i < operation_count; i++)
        if (strcmp(operations[i].name, entry->op) == 0)
            return &operations[i];
    die("entries.def: no operation '%s' in ops.def", entry->op);
}

void entry_symbol(const struct entry *entry, char name[64])
{
    snprintf(name, 64, "%s_%s_%d", entry->op, entry->dtype, entry->number);
}

/* Takes the next word of letters, digits and underscores. */
static void take_word(const struct operation *op, const char **at, char *word, size_t size)
{
    size_t length = 0;
    while (isalnum((unsigned char)(*at)[length]) || (*at)[length] == '_')
        length++;
    if (length == 0 || length >= size)
        die("ops.def: %s: a word of 1 to %zu letters was expected at '%s'", op->name, size - 1,
            *at);
    memcpy(word, *at, length);
    word[length] = '\0';
    *at += length;
}

static bool take(const char **at, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(*at, text, length) != 0)
        return false;
    *at += length;
    return true;
}

static void parse_dims(const struct operation *op, struct param *param, const char **at)
{
    while (take(at, "[")) {
        struct dim *dim = &param->dim[param->ndim];
        char word[WORD];
        if (++param->ndim > DIMS)
            die("ops.def: %s: '%s' has over %d dims", op->name, param->name, DIMS);
        take_word(op, at, word, sizeof word);
        dim->number = atoll(word);
        if (dim->number == 0)
            memcpy(dim->name, word, sizeof word);
        dim->pitched = take(at, ":pitch");
        if (!take(at, "]"))
            die("ops.def: %s: a ']' was expected at '%s'", op->name, *at);
    }
}

static void parse_param(const struct operation *op, struct param *param, const char **at)
{
    static const struct {
        const char *text;
        enum role role;
    } roles[] = {{"const ", ROLE_CONST}, {"inout ", ROLE_INOUT}, {"ws ", ROLE_SCRATCH}};
    param->role = ROLE_WRITTEN;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (take(at, roles[i].text))
            param->role = roles[i].role;
    take_word(op, at, param->type, sizeof param->type);
    take(at, " ");
    take_word(op, at, param->name, sizeof param->name);
    parse_dims(op, param, at);
    if (param->ndim == 0)
        param->role = ROLE_SCALAR;
}

static void parse(struct operation *op)
{
    struct error err = {{0}};
    const char *at = op->signature;
    do {
        if (op->params == PARAMS)
            die("ops.def: %s: over %d parameters", op->name, PARAMS);
        parse_param(op, &op->param[op->params++], &at);
    } while (take(&at, ", "));
    if (*at)
        die("ops.def: %s: a comma was expected at '%s'", op->name, at);
    for (size_t i = 0; i < ref_builtin_count; i++)
        if (strcmp(ref_builtins[i].name, op->reference) == 0)
            op->builtin = &ref_builtins[i];
    if (op->builtin && formals_parse(&op->formals, op->builtin->formals, &err))
        die("%s: %s", op->reference, err.text);
}

void operations_parse(void)
{
    for (size_t i = 0; i < operation_count; i++)
        parse(&operations[i]);
}

/* Where `bind` has a formal: the place behind "FORMAL: ", or NULL. */
static const char *bound(const struct operation *op, const char *formal)
{
    size_t length = strlen(formal);
    for (const char *at = op->bind; *at; at += strcspn(at, ", "), at += strspn(at, ", "))
        if (strncmp(at, formal, length) == 0 && strncmp(at + length, ": ", 2) == 0)
            return at + length + 2;
    return NULL;
}

const struct param *operation_param(const struct operation *op, const char *formal)
{
    const char *at = bound(op, formal);
    char name[WORD];
    snprintf(name, sizeof name, "%.*s", at ? (int)strcspn(at, ", ") : 31, at ? at : formal);
    for (int i = 0; i < op->params; i++)
        if (strcmp(op->param[i].name, name) == 0)
            return &op->param[i];
    return NULL;
}

const struct formal *operation_formal(const struct operation *op, const char *param)
{
    for (int i = 0; i < op->formals.count; i++) {
        const struct param *of = operation_param(op, op->formals.formal[i].name);
        if (of && strcmp(of->name, param) == 0)
            return &op->formals.formal[i];
    }
    return NULL;
}

void operation_number(const struct operation *op, const char *formal, double *number)
{
    const char *at = bound(op, formal);
    if (at && (isdigit((unsigned char)*at) || *at == '-'))
        *number = atof(at);
}

void registry_write(void)
{
    puts("# Written by `corpus registry` from tests/corpus/ops.def.\nversion: 1\nkernels:");
    for (size_t i = 0; i < operation_count; i++) {
        const struct operation *op = &operations[i];
        if (!op->builtin)
            continue;
        printf(
            "  - kernel: '/^%s_(?<T>f32|f16|bf16)_\\d+$/'\n    signature: %s\n    reference: %s\n",
            op->name, op->signature, op->reference);
        if (*op->bind)
            printf("    bind: {%s}\n", op->bind);
        fuzz_write(op);
    }
}
