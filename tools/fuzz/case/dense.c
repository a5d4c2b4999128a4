#include "tools/fuzz/case/dense.h"

#include <string.h>
#include "text/textbuf.h"

bool fuzz_is_sparse(const struct signature *signature)
{
    for (unsigned i = 0; i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        if (item->ndim && (item->rows || item->dim[0].kind == DIM_REST))
            return true;
    }
    return false;
}

/* The word that ends at `end`, of the text that begins at `begin`; a '?' behind it is passed over.
 */
static const struct signature_item *array_before(const struct signature *signature,
                                                 const char *begin, const char *end)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    char name[SPEC_NAME + 1];
    while (end > begin && strchr(" ?\n\t", end[-1]))
        end--;
    const char *word = end;
    while (word > begin && strchr(letters, word[-1]))
        word--;
    size_t length = (size_t)(end - word);
    if (length == 0 || length >= sizeof name)
        return NULL;
    memcpy(name, word, length);
    name[length] = '\0';
    return signature_find(signature, name);
}

/* "n from m: s" is m + n items, of which the last n are judged. */
static void put_part(struct textbuf *text, const char *dim, size_t length)
{
    static const char word[] = " from ";
    const char *colon = memchr(dim, ':', length), *end = colon ? colon : dim + length;
    const char *from = memmem(dim, (size_t)(end - dim), word, sizeof word - 1);
    if (!from) {
        textbuf_add(text, dim, length);
        return;
    }
    const char *first = from + sizeof word - 1;
    textbuf_printf(text, "(%.*s) + (%.*s)", (int)(end - first), first, (int)(from - dim), dim);
    textbuf_add(text, end, (size_t)(dim + length - end));
}

/* "@ids", "@ids / n: s", "@ids % n: s", "*", "*: s": what stands for it, or what stands there. */
static void put_dim(struct textbuf *text, const char *dim, size_t length, int64_t rows)
{
    size_t space = strspn(dim, " \t\n");
    const char *colon = memchr(dim, ':', length), *place = memchr(dim, '%', length);
    if (space >= length || (dim[space] != '@' && dim[space] != '*')) {
        put_part(text, dim, length);
        return;
    }
    const char *end = colon ? colon : dim + length;
    if (dim[space] == '@' && place && place < end)
        textbuf_add(text, place + 1, (size_t)(end - place - 1));
    else
        textbuf_printf(text, "%lld", (long long)rows);
    textbuf_add(text, end, (size_t)(dim + length - end));
}

static char *dense_text(const struct fuzz_rule *rule, const char *from, const int64_t *rows,
                        struct arena *arena)
{
    const struct signature *signature = rule->plan->signature;
    const struct signature_item *array = NULL;
    struct textbuf text;
    const char *at = from;
    textbuf_init(&text);
    while (*at) {
        size_t plain = strcspn(at, "[");
        textbuf_add(&text, at, plain);
        if (!at[plain])
            break;
        if (plain) /* else it is the next dim of the same array */
            array = array_before(signature, at, at + plain);
        at += plain + 1;
        size_t length = strcspn(at, "]");
        textbuf_add(&text, "[", 1);
        put_dim(&text, at, length, array && array->array ? rows[array->number] : 0);
        at += length;
    }
    char *own = text.failed ? NULL : arena_text(arena, text.data, text.length);
    textbuf_release(&text);
    return own;
}

/* The lets, and picks as lets of their last number. NULL: no memory. */
static const struct yaml_node *last_picks(const struct plan_source *source, struct arena *arena)
{
    const struct yaml_node *let = source->let, *pick = source->pick;
    size_t lets = let ? let->count : 0, count = lets + pick->count;
    struct yaml_node *out = arena_alloc(arena, sizeof *out);
    struct yaml_node *last = arena_alloc(arena, pick->count * sizeof *last);
    const struct yaml_node **item = arena_alloc(arena, count * sizeof *item);
    const struct yaml_node **key = arena_alloc(arena, count * sizeof *key);
    if (!out || !last || !item || !key)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const struct yaml_node *of = i < lets ? let : pick;
        size_t at = i < lets ? i : i - lets;
        key[i] = of->key[at];
        item[i] = of->item[at];
        if (i < lets)
            continue;
        last[at] = *of->item[at];
        last[at].text = arena_format(arena, "(%s) - 1", of->item[at]->text);
        if (!last[at].text)
            return NULL;
        item[i] = &last[at];
    }
    *out = *pick;
    out->count = count;
    out->key = key;
    out->item = item;
    return out;
}

enum status fuzz_dense_plan(const struct fuzz_rule *rule, const struct ref_builtin *builtin,
                            const int64_t *rows, const struct param_layout *layout,
                            struct arena *arena, const struct binding_plan **out, struct error *err)
{
    struct plan_source source = *rule->source;
    struct yaml_node node = *source.signature;
    node.text = dense_text(rule, node.text, rows, arena);
    if (!node.text)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a signature");
    source.signature = &node;
    source.builtin = builtin;
    if (rule->parts && source.pick) {
        source.let = last_picks(rule->source, arena);
        source.pick = NULL;
        if (!source.let)
            return error_set(err, STATUS_NO_MEMORY, "no memory for a signature");
    }
    return plan_make(out, arena, &source, rule->captures, layout, err);
}
