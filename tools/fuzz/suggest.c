#include "tools/fuzz/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "lang/signature.h"
#include "plan/plan.h"
#include "system/yaml_doc.h"

static const char *const axes[] = {"grid.x", "grid.y", "grid.z"};

struct suggesting {
    const struct registry_bench *bench;
    const struct signature *signature;
    struct textbuf *out;
    char grid[3][256]; /* "": the axis has 1 */
};

static void add_key(struct suggesting *s, const char *name, const char *value)
{
    textbuf_printf(s->out, "%s%s: %s", s->out->length > 1 ? ", " : "", name, value);
}

/* Whether the extent (or with `stride` the stride) of a dim is that text, or contains it where not
 * `whole`. */
static bool is_dim(const struct suggesting *s, const char *text, bool whole, bool stride)
{
    for (unsigned i = 0; i < s->signature->items; i++) {
        const struct signature_item *item = &s->signature->item[i];
        for (unsigned d = 0; item->array && d < item->ndim; d++) {
            const char *dim = stride ? item->dim[d].stride : item->dim[d].extent;
            if (dim && (whole ? strcmp(dim, text) == 0 : strstr(dim, text) != NULL))
                return true;
        }
    }
    return false;
}

/* Axes that a let or a dim names get a name of their own. */
static void suggest_grid(struct suggesting *s)
{
    const struct yaml_node *let = s->bench->let;
    for (int axis = 0; axis < 3; axis++) {
        bool inside = is_dim(s, axes[axis], false, false);
        for (size_t i = 0; let && i < let->count && !s->grid[axis][0]; i++) {
            const char *text = let->item[i]->text;
            if (text && strcmp(text, axes[axis]) == 0)
                snprintf(s->grid[axis], sizeof s->grid[axis], "%s", let->key[i]->text);
            inside |= text && strstr(text, axes[axis]);
        }
        if (!s->grid[axis][0] && inside)
            snprintf(s->grid[axis], sizeof s->grid[axis], "blocks_%c", 'x' + axis);
        if (s->grid[axis][0])
            add_key(s, s->grid[axis], "1..64");
    }
}

static void suggest_scalar(struct suggesting *s, const struct signature_item *item)
{
    bool real = dtype_is_real(item->type.dtype);
    if (real)
        add_key(s, item->name, strstr(item->name, "eps") ? "1e-5" : "[1, 0.5]");
    else if (is_dim(s, item->name, true, false))
        add_key(s, item->name, "1..1024");
    else if (item->type.dtype != DTYPE_BOOL && !is_dim(s, item->name, true, true))
        add_key(s, item->name, "1..16");
}

static void suggest_array(struct suggesting *s, const struct signature_item *item)
{
    bool integers = dtype_is_integer(item->type.dtype) && role_reads(item->role);
    bool sparse = item->rows || (item->ndim && item->dim[0].kind == DIM_REST);
    if (integers || sparse)
        textbuf_printf(s->out, "%s%s: {%s%s%s}", s->out->length > 1 ? ", " : "", item->name,
                       integers ? "below: 16" : "", integers && sparse ? ", " : "",
                       sparse ? "rows: 16" : "");
}

/* One thread for each element of the first output whose dims are all known before the launch. */
static void cover_output(struct suggesting *s)
{
    for (unsigned i = 0; i < s->signature->items; i++) {
        const struct signature_item *item = &s->signature->item[i];
        size_t used = 0;
        if (!item->array || !role_writes(item->role))
            continue;
        for (unsigned d = 0; d < item->ndim; d++) {
            const char *dim = item->dim[d].extent;
            bool plain = dim && dim[strspn(dim, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                                                "XYZ0123456789_.")] == '\0';
            if (dim && used < sizeof s->grid[0])
                used += (size_t)snprintf(s->grid[0] + used, sizeof s->grid[0] - used,
                                         plain ? "%s%s" : "%s(%s)", used ? " * " : "", dim);
        }
        if (used && used < sizeof s->grid[0])
            return;
        s->grid[0][0] = '\0';
    }
}

static void add_grid(struct suggesting *s)
{
    int last = s->grid[2][0] ? 2 : s->grid[1][0] ? 1 : 0;
    if (!last && !s->grid[0][0]) {
        cover_output(s);
        textbuf_printf(s->out, ", grid: \"ceil_div(%s, 256)\"", s->grid[0][0] ? s->grid[0] : "1");
        return;
    }
    textbuf_printf(s->out, ", grid: [");
    for (int axis = 0; axis <= last; axis++)
        textbuf_printf(s->out, "%s%s", axis ? ", " : "", s->grid[axis][0] ? s->grid[axis] : "1");
    textbuf_printf(s->out, "]");
}

/* Whether cases are drawn without more than names and a launch, see rule_parts.c. */
static bool is_plain(const struct registry_bench *bench)
{
    const struct signature *signature = bench->plan->signature;
    bool plain = !bench->plan->picks && !signature->earlier;
    for (unsigned i = 0; i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        plain &= !item->index && !item->guard && !signature_listed(item);
        for (unsigned d = 0; d < item->ndim; d++)
            plain &= !item->dim[d].from;
    }
    return plain;
}

bool fuzz_suggest(const struct registry_bench *bench, struct textbuf *out)
{
    struct textbuf text;
    if (!is_plain(bench))
        return false;
    textbuf_init(&text);
    struct suggesting s = {.bench = bench, .signature = bench->plan->signature, .out = &text};
    textbuf_printf(&text, "{");
    suggest_grid(&s);
    for (unsigned i = 0; i < s.signature->items; i++) {
        const struct signature_item *item = &s.signature->item[i];
        if (item->array)
            suggest_array(&s, item);
        else if (!s.grid[0][0] || strcmp(s.grid[0], item->name) != 0)
            suggest_scalar(&s, item);
    }
    add_key(&s, "block", "256");
    add_grid(&s);
    textbuf_printf(&text, "}");
    bool good = !text.failed;
    if (good)
        textbuf_add(out, text.data, text.length);
    textbuf_release(&text);
    return good;
}
