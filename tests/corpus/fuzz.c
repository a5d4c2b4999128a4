/* fuzz.c - the `fuzz` mapping of an operation's entry, from its schema and kinds of inputs. */
#include "corpus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The key's last list, which counts, and its length; "" where the schema has none. */
static const char *schema_list(const struct operation *op, const char *key, int *length)
{
    const char *found = "";
    size_t stem = strlen(key);
    *length = 0;
    for (const char *at = op->schema; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        if (strncmp(at, key, stem) == 0 && at[stem] == '=') {
            found = at + stem + 1;
            *length = (int)strcspn(found, " ");
        }
    }
    return found;
}

/* Any size between the least and the largest of the list, but for sizes that divide others. */
static void write_size(const char *name, const char *list, int length)
{
    long low = atol(list), high = low;
    for (int i = 1; i < length; i++) {
        long value = list[i - 1] == ',' ? atol(list + i) : low;
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    if (strcmp(name, "heads") == 0 || strcmp(name, "kv_heads") == 0)
        printf(", %s: [%.*s]", name, length, list);
    else
        printf(", %s: %ld..%ld", name, low, high);
}

static void write_scalar(const struct operation *op, const struct param *param)
{
    int length;
    const char *list = schema_list(op, param->name, &length);
    if (length && param->type[0] != 'f')
        write_size(param->name, list, length);
    else if (length)
        printf(", %s: [%.*s]", param->name, length, list);
    else if (param->type[0] == 'f')
        printf(", %s: [%.9g]", param->name, scalar_usual(param->name));
}

/* The schema's distributions in the words of `fuzz`. */
static void write_dists(const char *list, int length)
{
    for (int i = 0; i < length;) {
        int word = (int)strcspn(list + i, ", ");
        bool scaled = strncmp(list + i, "tiny", 4) == 0 || strncmp(list + i, "dust", 4) == 0 ||
                      strncmp(list + i, "huge", 4) == 0;
        printf("%s%.*s", i ? ", " : "", scaled ? 6 : word, scaled ? "scaled" : list + i);
        i += word + 1;
    }
}

static void write_array(const struct operation *op, const struct param *param)
{
    const struct kind *kind = kind_of(op->reference, param->name);
    bool mask = strcmp(op->reference, "softmax_masked") == 0 && strcmp(param->name, "mask") == 0;
    int length, ignored;
    schema_list(op, "ignored", &ignored);
    const char *list = schema_list(op, "dist", &length);
    if (kind && kind->below)
        printf(", %s: {below: %s%s}", param->name, kind->below,
               ignored && strcmp(param->name, "target") == 0 ? ", also: -100" : "");
    else if (kind)
        printf(", %s: {values: %s}", param->name, kind->bit ? "bits" : "positive");
    else if (mask)
        printf(", %s: {values: [mask, zero]}", param->name);
    else if (param->role == ROLE_INOUT && *schema_list(op, "inout", &length))
        printf(", %s: {values: [%.*s]}", param->name, length, schema_list(op, "inout", &length));
    else if (param->role == ROLE_INOUT)
        printf(", %s: {values: [normal, zero]}", param->name);
    else if (param->role == ROLE_CONST && length) {
        printf(", %s: {values: [", param->name);
        write_dists(list, length);
        printf("]}");
    }
}

void fuzz_write(const struct operation *op)
{
    int sizes = (int)strcspn(op->grid, "/"), length;
    if (strstr(op->grid, "/T"))
        printf("    fuzz: {block: %d, grid: \"min(ceil_div(%.*s, %d), %d)\"", BLOCK, sizes,
               op->grid, BLOCK, MOST_BLOCKS);
    else
        printf("    fuzz: {block: %d, grid: \"min(%.*s, %d)\"", BLOCK, sizes, op->grid,
               MOST_BLOCKS);
    schema_list(op, "shift", &length);
    if (length)
        printf(", align: 1");
    for (int i = 0; i < op->params; i++) {
        if (op->param[i].role == ROLE_SCALAR)
            write_scalar(op, &op->param[i]);
        else
            write_array(op, &op->param[i]);
    }
    puts("}");
}

void kernels_write(void)
{
    static const char *const kinds[] = {
        [ENTRY_RIGHT] = "right", [ENTRY_WRONG] = "wrong", [ENTRY_ESCAPES] = "escapes"};
    for (size_t i = 0; i < entry_count; i++) {
        char name[64];
        entry_symbol(&entries[i], name);
        if (entry_operation(&entries[i])->builtin)
            printf("%s %s %s\n", entries[i].study ? "study" : "own", kinds[entries[i].kind], name);
    }
}
