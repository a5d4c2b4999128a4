/* names.c - one copy of each name, and scopes. */
#include "ptx/names.h"

#include <stdlib.h>
#include <string.h>

/* Special registers, without the .x of the vectors among them. */
static const char *const specials[] = {
    "%tid",
    "%ntid",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%ctaid",
    "%nctaid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%is_explicit_cluster",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%pm0",
    "%pm1",
    "%pm2",
    "%pm3",
    "%pm4",
    "%pm5",
    "%pm6",
    "%pm7",
    "%pm0_64",
    "%pm1_64",
    "%pm2_64",
    "%pm3_64",
    "%pm4_64",
    "%pm5_64",
    "%pm6_64",
    "%pm7_64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
    "%reserved_smem_offset_0",
    "%reserved_smem_offset_1",
    "%total_smem_size",
    "%aggr_smem_size",
    "%dynamic_smem_size",
    "%current_graph_exec",
    "%envreg0",
    "%envreg1",
    "%envreg2",
    "%envreg3",
    "%envreg4",
    "%envreg5",
    "%envreg6",
    "%envreg7",
    "%envreg8",
    "%envreg9",
    "%envreg10",
    "%envreg11",
    "%envreg12",
    "%envreg13",
    "%envreg14",
    "%envreg15",
    "%envreg16",
    "%envreg17",
    "%envreg18",
    "%envreg19",
    "%envreg20",
    "%envreg21",
    "%envreg22",
    "%envreg23",
    "%envreg24",
    "%envreg25",
    "%envreg26",
    "%envreg27",
    "%envreg28",
    "%envreg29",
    "%envreg30",
    "%envreg31",
    "WARP_SZ",
};

static uint32_t hash_of(struct slice text)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < text.length; i++)
        hash = (hash ^ (unsigned char)text.begin[i]) * 16777619u;
    return hash ^ hash >> 15;
}

/* The place of the text in the table, or the free place where it belongs. */
static struct name **place_of(const struct names *names, struct slice text, uint32_t hash)
{
    for (size_t i = hash;; i++) {
        struct name **place = &names->table[i & (names->room - 1)];
        const struct name *name = *place;
        if (!name || (name->hash == hash && name->length == text.length &&
                      memcmp(name->text, text.begin, text.length) == 0))
            return place;
    }
}

static bool grow(struct names *names)
{
    size_t room = names->room * 2;
    struct name **table = calloc(room, sizeof *table);
    if (!table)
        return false;
    for (size_t i = 0; i < names->room; i++) {
        struct name *name = names->table[i];
        if (!name)
            continue;
        size_t at = name->hash & (room - 1);
        while (table[at])
            at = (at + 1) & (room - 1);
        table[at] = name;
    }
    free(names->table);
    names->table = table;
    names->room = room;
    return true;
}

struct name *names_put(struct names *names, struct store *store, struct slice text)
{
    uint32_t hash = hash_of(text);
    struct name **place = place_of(names, text, hash);
    if (*place)
        return *place;
    if (names->count * 2 >= names->room) {
        if (!grow(names))
            return NULL;
        place = place_of(names, text, hash);
    }
    struct name *name = store_zeroed(store, sizeof *name + text.length + 1);
    if (!name || text.length > UINT32_MAX)
        return NULL;
    name->hash = hash;
    name->length = (uint32_t)text.length;
    memcpy(name->text, text.begin, text.length);
    names->count++;
    *place = name;
    return name;
}

struct name *names_find(const struct names *names, struct slice text)
{
    return *place_of(names, text, hash_of(text));
}

struct name *name_of(const char *text)
{
    return (struct name *)((uintptr_t)text - offsetof(struct name, text));
}

struct symbol *names_symbol(const struct names *names, const struct name *name)
{
    struct symbol *symbols = names->symbols.items;
    return name && name->symbol ? &symbols[name->symbol] : NULL;
}

const char *symbol_kind_text(enum symbol_kind kind)
{
    static const char *const texts[] = {
        [SYMBOL_VARIABLE] = "a variable",
        [SYMBOL_FUNCTION] = "a function",
        [SYMBOL_STRING] = "a string",
        [SYMBOL_SPECIAL] = "a special register",
        [SYMBOL_PARAM] = "a parameter",
        [SYMBOL_REGISTER] = "a register",
        [SYMBOL_LOCAL] = "a variable",
        [SYMBOL_LABEL] = "a label",
        [SYMBOL_TARGETS] = "a list of branch targets",
        [SYMBOL_PROTOTYPE] = "a prototype",
    };
    return texts[kind];
}

enum status names_declare(struct names *names, struct cursor *c, struct name *name,
                          enum symbol_kind kind, uint32_t value, const void *data)
{
    const struct symbol *old = names_symbol(names, name);
    char shown[LEX_SHOWN];
    if (old && old->depth == names->depth && old->kind != SYMBOL_SPECIAL)
        return lex_refuse(c, c->line, "found a second '%s', expected a new name; the first is %s",
                          lex_show((struct slice){name->text, name->length}, shown),
                          symbol_kind_text(old->kind));
    struct symbol *symbol =
        names->symbols.count < UINT32_MAX ? list_add(&names->symbols, sizeof *symbol) : NULL;
    if (!symbol)
        return lex_no_memory(c);
    *symbol = (struct symbol){kind, names->depth, value, name->symbol, name, data};
    name->symbol = (uint32_t)(names->symbols.count - 1);
    return STATUS_OK;
}

void names_enter(struct names *names)
{
    names->depth++;
}

void names_leave(struct names *names)
{
    struct symbol *symbols = names->symbols.items;
    size_t count = names->symbols.count;
    for (; count > 1 && symbols[count - 1].depth == names->depth; count--)
        symbols[count - 1].name->symbol = symbols[count - 1].hidden;
    names->symbols.count = count;
    names->depth--;
}

enum status names_init(struct names *names, struct store *store, struct cursor *c)
{
    enum { FIRST_ROOM = 1024 };
    names->table = calloc(FIRST_ROOM, sizeof *names->table);
    names->room = FIRST_ROOM;
    if (!names->table || !list_add(&names->symbols, sizeof(struct symbol)))
        return lex_no_memory(c);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof specials / sizeof *specials && !status; i++) {
        struct name *name =
            names_put(names, store, (struct slice){specials[i], strlen(specials[i])});
        status = name ? names_declare(names, c, name, SYMBOL_SPECIAL, 0, NULL) : lex_no_memory(c);
    }
    return status;
}

void names_release(struct names *names)
{
    free(names->table);
    list_release(&names->symbols);
}
