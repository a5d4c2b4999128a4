#include "tools/discover/search/entry.h"

#include <stdio.h>
#include <string.h>
#include "lang/dtype.h"
#include "tools/discover/search/sizes.h"

enum { NAME = 48 };

/* ---- extents ---- */

static int64_t part_value(const struct extent_part *part, const struct facts *facts,
                          const struct seen_sample *sample)
{
    switch (part->atom) {
    case ATOM_FACT:
        return facts_integer(&facts->fact[part->number], sample);
    case ATOM_GRID:
        return sample->grid[part->number];
    case ATOM_BLOCK:
        return sample->block[part->number];
    default:
        return part->number;
    }
}

int64_t extent_value(const struct extent *extent, const struct facts *facts,
                     const struct seen_sample *sample)
{
    int64_t a = part_value(&extent->part[0], facts, sample), b, value = a;
    if (extent->operation) {
        b = part_value(&extent->part[1], facts, sample);
        if (a < 1 || b < 1)
            return -1;
        if (extent->operation == '/')
            value = a % b ? -1 : a / b;
        else if (__builtin_mul_overflow(a, b, &value))
            return -1;
    }
    return value < 1 || value > (int64_t)1 << 40 ? -1 : value;
}

static bool uses(const struct extent *extent, unsigned fact)
{
    for (int i = 0; i < (extent->operation ? 2 : 1); i++) {
        if (extent->part[i].atom == ATOM_FACT && extent->part[i].number == fact)
            return true;
    }
    return false;
}

/* ---- names ---- */

static bool is_bound(const struct entry *entry, unsigned fact)
{
    for (int i = 0; i < entry->formals->count; i++) {
        if (entry->bound[i] == (int)fact)
            return true;
    }
    return false;
}

bool entry_is_idle(const struct entry *entry, unsigned fact)
{
    bool used = entry->facts->fact[fact].kind != FACT_INTEGER || is_bound(entry, fact);
    for (int i = 0; i < entry->formals->sizes && !used; i++)
        used = entry->sized[i] && uses(&entry->size[i], fact);
    for (int i = 0; i < entry->formals->count && !used; i++)
        used = entry->pitch[i] == (int)fact;
    return !used;
}

bool entry_has_heads(const struct entry *entry, const struct formal *formal)
{
    static const char heads[] = "heads";
    int size = formal_is_array(formal) && formal->ndim == 4 ? formal->dim[2].size : -1;
    const char *name = size < 0 ? "" : entry->formals->size_name[size];
    size_t length = strlen(name);
    return length >= sizeof heads - 1 && !strcmp(name + length - (sizeof heads - 1), heads);
}

const struct formal_touch *entry_touch(const struct formals *formals, int size)
{
    for (int i = 0; i < formals->touches && size >= 0; i++) {
        if (formals->touch[i].size[0] == size)
            return &formals->touch[i];
    }
    return NULL;
}

bool entry_copies(const char *reference)
{
    return !strcmp(reference, "permute");
}

/* Whether its dims do not lie in their own order. */
static bool is_laid(const struct entry *entry, const struct formal *formal)
{
    bool other = false;
    for (int k = 0; k < ENTRY_ORDER; k++)
        other |= entry->order[k] != k;
    return other && (entry_copies(entry->reference->name)
                         ? formal->kind == FORMAL_IN && formal->ndim == ENTRY_ORDER
                         : entry_has_heads(entry, formal));
}

bool entry_leaves(const struct entry *entry, unsigned fact)
{
    const struct fact *of = &entry->facts->fact[fact];
    return of->kind == FACT_ARRAY && of->writes && !of->adds && !is_bound(entry, fact);
}

static bool formal_writes(const struct formal *formal)
{
    return formal->kind == FORMAL_OUT || formal->kind == FORMAL_INOUT;
}

enum dtype entry_half(const struct entry *entry)
{
    for (int i = 0; i < entry->formals->count; i++) {
        if (!formal_writes(&entry->formals->formal[i]) || entry->bound[i] < 0)
            continue;
        enum dtype dtype = entry->facts->fact[entry->bound[i]].dtype;
        if (dtype == DTYPE_F16 || dtype == DTYPE_BF16)
            return dtype;
    }
    return DTYPE_NONE;
}

unsigned entry_oddities(const struct entry *entry)
{
    unsigned count = 0;
    for (unsigned f = 0; f < entry->facts->count; f++)
        count += entry_is_idle(entry, f) + entry_leaves(entry, f);
    for (int i = 0; i < entry->formals->count; i++)
        count += entry->rounded[i];
    for (int i = 0; i < entry->formals->count && entry->facts->reads_known; i++) {
        const struct formal *formal = &entry->formals->formal[i];
        bool reads = formal->kind == FORMAL_IN || formal->kind == FORMAL_INOUT;
        const struct fact *fact = &entry->facts->fact[entry->bound[i] < 0 ? 0 : entry->bound[i]];
        count += entry->bound[i] >= 0 && reads && !fact->reads && !fact->adds;
    }
    return count;
}

unsigned entry_combined(const struct entry *entry)
{
    unsigned count = 0;
    for (int i = 0; i < entry->formals->sizes; i++)
        count += entry->sized[i] && entry->size[i].operation;
    return count;
}

/* Whether the program's own name of a parameter may be used: it means nothing else here. */
static bool may_use(const struct entry *entry, const char *name)
{
    static const char *const words[] = {"grid",  "block", "min", "max",    "ceil_div", "const",
                                        "inout", "acc",   "ws",  "struct", "from",     NULL};
    bool may = *name != '\0';
    for (int i = 0; words[i]; i++)
        may &= strcmp(name, words[i]) != 0;
    for (int i = 0; entry && i < entry->formals->count; i++)
        may &= strcmp(name, entry->formals->formal[i].name) != 0;
    return may;
}

/* A parameter that is bound to a formal has the formal's name; others the program's own, or that of
 * what they are: a distance, a dim, a place in the list. */
static void name_fact(const struct entry *entry, unsigned fact, char out[NAME])
{
    const struct fact *of = &entry->facts->fact[fact];
    snprintf(out, NAME, "%s%u", of->kind == FACT_ARRAY ? "p" : "a", fact);
    for (int i = 0; i < entry->formals->count; i++) {
        if (entry->bound[i] == (int)fact) {
            snprintf(out, NAME, "%s", entry->formals->formal[i].name);
            return;
        }
    }
    if (may_use(entry, of->name)) {
        snprintf(out, NAME, "%s", of->name);
        return;
    }
    for (int i = 0; i < entry->formals->count; i++) {
        if (entry->pitch[i] == (int)fact) {
            snprintf(out, NAME, "%s_pitch", entry->formals->formal[i].name);
            return;
        }
    }
    for (int i = 0; i < entry->formals->sizes; i++) {
        const struct extent *extent = &entry->size[i];
        if (entry->sized[i] && !extent->operation && uses(extent, fact)) {
            snprintf(out, NAME, "%s", entry->formals->size_name[i]);
            return;
        }
    }
}

/* ---- text ---- */

static void print_part(const struct entry *entry, const struct extent_part *part,
                       struct textbuf *out)
{
    char name[NAME];
    if (part->atom == ATOM_FACT) {
        name_fact(entry, (unsigned)part->number, name);
        textbuf_printf(out, "%s", name);
    } else if (part->atom == ATOM_NUMBER) {
        textbuf_printf(out, "%lld", (long long)part->number);
    } else {
        textbuf_printf(out, "%s.%c", part->atom == ATOM_GRID ? "grid" : "block",
                       (char)('x' + part->number));
    }
}

static void print_extent(const struct entry *entry, const struct extent *extent,
                         struct textbuf *out)
{
    print_part(entry, &extent->part[0], out);
    if (!extent->operation)
        return;
    textbuf_printf(out, " %c ", extent->operation);
    print_part(entry, &extent->part[1], out);
}

/* As a factor of a product. */
static void print_factor(const struct entry *entry, const struct formal_dim *dim,
                         struct textbuf *out)
{
    if (dim->size < 0) {
        textbuf_printf(out, "%lld", (long long)dim->literal);
        return;
    }
    const struct extent *extent = &entry->size[dim->size];
    textbuf_printf(out, extent->operation ? "(" : "");
    print_extent(entry, extent, out);
    textbuf_printf(out, extent->operation ? ")" : "");
}

/* A dim that is the number 1. */
static bool is_one(const struct entry *entry, const struct formal *formal, int d)
{
    const struct extent *extent = &entry->size[formal->dim[d].size < 0 ? 0 : formal->dim[d].size];
    return formal->dim[d].size >= 0 && !extent->operation && extent->part[0].atom == ATOM_NUMBER &&
           extent->part[0].number == 1;
}

/* The distance between the parts of a dim: the product of those behind it in memory. */
static void print_distance(const struct entry *entry, const struct formal *formal, int d,
                           struct textbuf *out)
{
    const char *between = ":";
    int k = 0;
    while (entry->order[k] != d)
        k++;
    for (k++; k < ENTRY_ORDER; k++) {
        if (is_one(entry, formal, entry->order[k]))
            continue;
        textbuf_printf(out, "%s", between);
        print_factor(entry, &formal->dim[entry->order[k]], out);
        between = " * ";
    }
    bool last = true;
    for (int behind = d + 1; behind < ENTRY_ORDER; behind++)
        last &= is_one(entry, formal, behind);
    if (*between == ':' && !last)
        textbuf_printf(out, ":1");
}

/* The parameter's role by what it is bound to: read and written, or one of them. */
static const char *role_of(const struct entry *entry, unsigned fact)
{
    const struct fact *of = &entry->facts->fact[fact];
    bool in = false, out = false;
    for (int i = 0; i < entry->formals->count; i++) {
        const struct formal *formal = &entry->formals->formal[i];
        if (entry->bound[i] != (int)fact || !formal_is_array(formal))
            continue;
        out |= formal_writes(formal);
        in |= !formal_writes(formal) || formal->kind == FORMAL_INOUT;
    }
    if (out && in)
        return "inout ";
    if (out)
        return of->adds ? "acc " : "";
    return "const ";
}

/* The parameter that is bound to an array of that slot; ENTRY_UNBOUND: none is. */
static int bound_slot(const struct entry *entry, int slot)
{
    for (int i = 0; i < entry->formals->count; i++) {
        const struct formal *formal = &entry->formals->formal[i];
        if (formal_is_array(formal) && formal->slot == slot)
            return entry->bound[i];
    }
    return ENTRY_UNBOUND;
}

static bool is_each(const struct formals *formals, int size)
{
    for (int i = 0; i < formals->eaches; i++) {
        if (formals->each[i].size == size && formals->each[i].with < 0)
            return true;
    }
    return false;
}

/* Whether the elements of all arrays go together one by one: the order of dims makes no
 * difference. */
static bool is_elementwise(const struct entry *entry)
{
    const struct formal *first = NULL;
    for (int i = 0; i < entry->formals->count; i++) {
        const struct formal *formal = &entry->formals->formal[i];
        if (entry->bound[i] < 0 || !formal_is_array(formal))
            continue;
        first = first ? first : formal;
        if (entry->pitch[i] >= 0 || formal->ndim != first->ndim)
            return false;
        for (int d = 0; d < formal->ndim; d++) {
            if (formal->dim[d].size != first->dim[d].size ||
                !is_each(entry->formals, formal->dim[d].size))
                return false;
        }
    }
    return first != NULL;
}

static void print_dim(const struct entry *entry, const struct formal_dim *dim, struct textbuf *out)
{
    const struct formal_touch *touch = entry_touch(entry->formals, dim->size);
    char name[NAME];
    int by = touch ? bound_slot(entry, touch->by) : ENTRY_UNBOUND;
    if (by >= 0) {
        name_fact(entry, (unsigned)by, name);
        textbuf_printf(out, "@%s", name);
    } else if (dim->size < 0) {
        textbuf_printf(out, "%lld", (long long)dim->literal);
    } else {
        print_extent(entry, &entry->size[dim->size], out);
    }
}

static void print_array(const struct entry *entry, unsigned fact, struct textbuf *out)
{
    const struct fact *of = &entry->facts->fact[fact];
    char name[NAME];
    name_fact(entry, fact, name);
    textbuf_printf(out, "%s%s %s%s", role_of(entry, fact), dtype_text(of->dtype), name,
                   of->null ? "?" : "");
    for (int i = 0; i < entry->formals->count; i++) {
        const struct formal *formal = &entry->formals->formal[i];
        if (entry->bound[i] != (int)fact || !formal_is_array(formal))
            continue;
        /* Dims of 1 in front are left out; where dims are alike, all of them but one. */
        bool alike = entry_copies(entry->reference->name) || is_elementwise(entry);
        bool leading = entry->pitch[i] < 0, some = false;
        for (int d = 0; d < formal->ndim; d++) {
            bool one = is_one(entry, formal, d), last = d + 1 == formal->ndim;
            leading = leading && one && !last;
            if (leading || (one && alike && (some || !last)))
                continue;
            some = true;
            textbuf_printf(out, "[");
            print_dim(entry, &formal->dim[d], out);
            if (d == 0 && entry->pitch[i] >= 0) {
                name_fact(entry, (unsigned)entry->pitch[i], name);
                textbuf_printf(out, ":%s", name);
            }
            if (is_laid(entry, formal))
                print_distance(entry, formal, d, out);
            textbuf_printf(out, "]");
        }
        return;
    }
}

/* One parameter without a separator; false: it is not named. */
typedef bool print_fn(const struct entry *entry, const struct extents *extents, unsigned fact,
                      struct textbuf *out);

/* A struct of those of its fields that are named, and "_" where none is. Returns the first fact
 * behind it. */
static unsigned print_struct(const struct entry *entry, const struct extents *extents,
                             unsigned first, print_fn *print, struct textbuf *out)
{
    const struct field *of = &entry->facts->fact[first].field;
    struct textbuf one;
    unsigned named = 0, f = first;
    textbuf_init(&one);
    for (; f < entry->facts->count && entry->facts->fact[f].field.param == of->param; f++) {
        const struct field *field = &entry->facts->fact[f].field;
        textbuf_clear(&one);
        if (!print(entry, extents, f, &one))
            continue;
        if (!named++)
            textbuf_printf(out, "struct %u { ", of->whole);
        textbuf_printf(out, "%s%.*s @%u", named > 1 ? ", " : "", (int)one.length, one.data,
                       field->offset - field->begin);
    }
    textbuf_printf(out, named ? " }" : "_");
    textbuf_release(&one);
    return f;
}

static void print_list(const struct entry *entry, const struct extents *extents, print_fn *print,
                       struct textbuf *out)
{
    unsigned f = 0;
    while (f < entry->facts->count) {
        const struct fact *of = &entry->facts->fact[f];
        textbuf_printf(out, "%s%s", f ? ", " : "", of->zero ? "..." : "");
        if (of->zero)
            return;
        if (field_is_part(&of->field))
            f = print_struct(entry, extents, f, print, out);
        else if (!print(entry, extents, f++, out))
            textbuf_printf(out, "_");
    }
}

static bool print_bound(const struct entry *entry, const struct extents *extents, unsigned fact,
                        struct textbuf *out)
{
    const struct fact *of = &entry->facts->fact[fact];
    bool scalar = of->kind == FACT_INTEGER || of->kind == FACT_REAL;
    char name[NAME];
    (void)extents;
    name_fact(entry, fact, name);
    if (of->kind == FACT_ARRAY && is_bound(entry, fact))
        print_array(entry, fact, out);
    else if (scalar && of->dtype != DTYPE_NONE)
        textbuf_printf(out, "%s %s", dtype_text(of->dtype), name);
    else
        return false;
    return true;
}

static void print_signature(const struct entry *entry, const char *indent, struct textbuf *out)
{
    textbuf_printf(out, "%s    signature: >\n%s      ", indent, indent);
    print_list(entry, NULL, print_bound, out);
    textbuf_printf(out, "\n");
}

/* What the names of the signature do not bind by themselves. */
static void print_bind(const struct entry *entry, const char *indent, struct textbuf *out)
{
    const char *begin = "{";
    char name[NAME];
    for (int i = 0; i < entry->formals->count; i++) {
        const struct formal *formal = &entry->formals->formal[i];
        if (entry->bound[i] == ENTRY_UNBOUND)
            continue;
        if (entry->bound[i] == ENTRY_CONSTANT)
            snprintf(name, sizeof name, "%s", entry->constant[i]);
        else
            name_fact(entry, (unsigned)entry->bound[i], name);
        if (!strcmp(name, formal->name))
            continue;
        if (*begin == '{')
            textbuf_printf(out, "%s    bind: ", indent);
        textbuf_printf(out, "%s%s: %s", begin, formal->name, name);
        begin = ", ";
    }
    textbuf_printf(out, "%s", *begin == '{' ? "" : "}\n");
}

static void print_rounding(const struct entry *entry, const char *indent, struct textbuf *out)
{
    const char *begin = "{";
    for (int i = 0; i < entry->formals->count; i++) {
        if (!entry->rounded[i])
            continue;
        if (*begin == '{')
            textbuf_printf(out, "%s    tolerance: {rounding: ", indent);
        textbuf_printf(out, "%s%s: %s", begin, entry->formals->formal[i].name,
                       dtype_text(entry_half(entry)));
        begin = ", ";
    }
    textbuf_printf(out, "%s", *begin == '{' ? "" : "}}\n");
}

/* In double quotes, as YAML has them. */
static void print_quoted(const char *text, struct textbuf *out)
{
    textbuf_add(out, "\"", 1);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            textbuf_add(out, "\\", 1);
        textbuf_add(out, text, 1);
    }
    textbuf_add(out, "\"", 1);
}

/* A name with characters of a pattern is given as the symbol. */
static void print_kernel(const struct facts *facts, const char *indent, struct textbuf *out)
{
    const struct symbol_names *names = &facts->kernel->names;
    bool plain = !strpbrk(names->plain, "*?[]/\"\\");
    textbuf_printf(out, "%s  - kernel: ", indent);
    print_quoted(plain ? names->plain : names->mangled, out);
    textbuf_printf(out, "\n");
}

void entry_print(const struct entry *entry, const char *indent, struct textbuf *out)
{
    print_kernel(entry->facts, indent, out);
    print_signature(entry, indent, out);
    textbuf_printf(out, "%s    reference: %s\n", indent, entry->reference->name);
    print_bind(entry, indent, out);
    print_rounding(entry, indent, out);
}

/* [n], [grid.x][n] for their product, [a * b * c]. */
static void print_flat(const struct entry *entry, const struct sizes *sizes, struct textbuf *out)
{
    const struct extent *first = &sizes->factor[0];
    const struct extent_part *part = first->part;
    bool rows = first->operation == '*' && part[0].atom == ATOM_FACT && part[1].atom == ATOM_GRID;
    textbuf_printf(out, "[");
    if (rows) {
        print_part(entry, &part[1], out);
        textbuf_printf(out, "][");
        print_part(entry, &part[0], out);
    }
    for (unsigned i = 0; i < sizes->factors && !rows; i++) {
        textbuf_printf(out, "%s", i ? " * " : "");
        print_extent(entry, &sizes->factor[i], out);
    }
    textbuf_printf(out, "]");
}

/* [SIZE] where no launch shows it. */
static void print_size(const struct entry *entry, const struct extents *extents, unsigned fact,
                       struct textbuf *out)
{
    struct sizes sizes;
    if (!sizes_find(entry->facts, extents, fact, &sizes)) {
        textbuf_printf(out, "[SIZE]");
    } else if (sizes.form == SIZES_FLAT) {
        print_flat(entry, &sizes, out);
    } else {
        textbuf_printf(out, "[");
        print_extent(entry, &sizes.factor[0], out);
        textbuf_printf(out, ":");
        print_extent(entry, &sizes.factor[1], out);
        textbuf_printf(out, "][");
        print_extent(entry, &sizes.factor[2], out);
        textbuf_printf(out, "]");
    }
}

/* "inout f32 p0?[n]" */
static bool print_guess(const struct entry *entry, const struct extents *extents, unsigned fact,
                        struct textbuf *out)
{
    char name[NAME];
    const struct fact *of = &entry->facts->fact[fact];
    const char *type = of->dtype == DTYPE_NONE ? "TYPE" : dtype_text(of->dtype);
    /* What a counter holds before matters, which `ws` denies. */
    const char *role = of->scratch               ? "inout "
                       : of->adds                ? "acc "
                       : of->writes && of->reads ? "inout "
                       : of->writes              ? ""
                                                 : "const ";
    name_fact(entry, fact, name);
    if (of->kind == FACT_OTHER)
        return false;
    if (of->kind != FACT_ARRAY) {
        textbuf_printf(out, "%s %s", type, name);
    } else {
        textbuf_printf(out, "%s%s %s%s", role, type, name, of->null ? "?" : "");
        print_size(entry, extents, fact, out);
    }
    return true;
}

void entry_print_unknown(const struct facts *facts, const char *indent, struct textbuf *out)
{
    static const struct formals none;
    static struct extents extents;
    const struct entry entry = {.facts = facts, .formals = &none};
    extents_find(&extents, facts);
    print_kernel(facts, indent, out);
    textbuf_printf(out, "%s    signature: >\n%s      ", indent, indent);
    print_list(&entry, &extents, print_guess, out);
    textbuf_printf(out, "\n%s    reference: NAME\n", indent);
}
