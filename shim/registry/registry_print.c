/*
 * registry_print.c - the entries as they were compiled: for `cuvet check`.
 *
 * Each entry is compiled once more for no kernel in particular, so that every formal's argument is
 * shown as the plan has it: bound by `bind`, found by its own name, or left out.
 */
#include <stdio.h>
#include <string.h>

#include "lang/dtype.h"
#include "text/printable.h"
#include "registry/registry_entry.h"

struct printer {
    FILE *out;
    const struct registry_entry *entry;
    const struct binding_plan *plan;
};

/* ---- the file's own values ---- */

/* Without the line end that a folded text may have. */
static void print_text(FILE *out, const char *text)
{
    size_t length = strlen(text);
    while (length > 0 && strchr(" \n", text[length - 1]))
        length--;
    fprintf(out, "%.*s", (int)length, text);
}

static void print_value(FILE *out, const struct yaml_node *node)
{
    for (size_t i = 0; i < node->count; i++) {
        fprintf(out, "%s", i ? ", " : "");
        if (node->kind == YAML_KIND_MAPPING)
            fprintf(out, "%s: ", node->key[i]->text);
        print_value(out, node->item[i]);
    }
    if (node->kind == YAML_KIND_SCALAR)
        print_text(out, node->text);
}

static void print_node(FILE *out, const char *name, const struct yaml_node *node)
{
    if (!node)
        return;
    fprintf(out, "    %s ", name);
    print_value(out, node);
    fprintf(out, "\n");
}

static void print_numbers(FILE *out, const struct registry_entry *entry)
{
    if (entry->sample >= 0)
        fprintf(out, ", sample %g", entry->sample);
    if (entry->first >= 0)
        fprintf(out, ", first %lld", (long long)entry->first);
    if (entry->budget > 0)
        fprintf(out, ", budget %g%%", entry->budget * 100);
    else if (entry->budget == 0)
        fprintf(out, ", budget off");
    if (entry->subset > 0)
        fprintf(out, ", subset %lld", (long long)entry->subset);
    else if (entry->subset == 0)
        fprintf(out, ", subset off");
    if (entry->freivalds >= 0)
        fprintf(out, ", freivalds %g", entry->freivalds);
    if (entry->outlier.spec.detector >= 0)
        fprintf(out, ", outlier %s", outlier_detector_text(entry->outlier.spec.detector));
    if (entry->deterministic)
        fprintf(out, ", deterministic");
    if (entry->label)
        fprintf(out, ", label %s", PRINTABLE(entry->label));
}

/* ---- what it means ---- */

static const char *how_bound(const struct printer *p, const char *name)
{
    return yaml_get(p->entry->source.bind, name) ? "by bind" : "by its name";
}

static const char *type_name(const struct signature_item *item)
{
    return item->type.dtype == DTYPE_NONE ? "captured type" : dtype_text(item->type.dtype);
}

/* How dims of another number become the formal's: outer ones are inserted, or folded into one. */
static void print_rank(const struct printer *p, const struct formal *formal,
                       const struct signature_item *item)
{
    const struct formals *formals = p->plan->formals;
    int own = (int)item->ndim + (item->type.lanes > 1), missing = formal->ndim - own;
    for (int d = 0; missing > 0 && d < formal->ndim; d++) {
        const char *dim =
            d < missing || d - missing >= (int)item->ndim ? "1" : item->dim[d - missing].extent;
        fprintf(p->out, "%s%s is %s", d ? ", " : "; so ",
                formal->dim[d].size >= 0 ? formals->size_name[formal->dim[d].size] : "one",
                d >= missing && d - missing >= (int)item->ndim ? "the lanes"
                : dim                                          ? dim
                                                               : "what memory has");
    }
    if (missing < 0 && formal->ndim > 0)
        fprintf(p->out, "; its first %d dims together are %s", 1 - missing,
                formal->dim[0].size >= 0 ? formals->size_name[formal->dim[0].size] : "the first");
}

/* "in x[rows][cols]" <- "f32 inp[N][C]": how the argument's dims become the formal's. */
static void print_array(const struct printer *p, const struct formal *formal)
{
    const struct plan_tensor *tensor = &p->plan->tensor[formal->slot];
    fprintf(p->out, "        %s", formal->name);
    for (int d = 0; d < formal->ndim; d++) {
        if (formal->dim[d].size >= 0)
            fprintf(p->out, "[%s]", p->plan->formals->size_name[formal->dim[d].size]);
        else
            fprintf(p->out, "[%lld]", (long long)formal->dim[d].literal);
    }
    if (tensor->array < 0) {
        fprintf(p->out, formal->kind == FORMAL_IN ? " is absent: %g\n" : " is not compared\n",
                formal->fallback);
        return;
    }
    const struct plan_array *array = &p->plan->array[tensor->array];
    fprintf(p->out, " is %s %s", type_name(array->item), array->item->name);
    for (unsigned d = 0; d < array->item->ndim; d++) {
        const struct signature_dim *dim = &array->item->dim[d];
        if (dim->kind == DIM_SIZE && dim->stride)
            fprintf(p->out, "[%s:%s%s]", dim->extent, dim->stride,
                    dim->stride_bytes ? " bytes" : "");
        else
            fprintf(p->out, "[%s]",
                    dim->kind == DIM_SIZE && dim->extent ? dim->extent
                    : array->item->rows                  ? array->item->rows
                                                         : "*");
    }
    fprintf(p->out, ", %s", how_bound(p, formal->name));
    print_rank(p, formal, array->item);
    fprintf(p->out, "\n");
}

static void print_real(const struct printer *p, const struct formal *formal)
{
    const struct plan_real *real = &p->plan->real[formal->slot];
    const struct yaml_node *bind = yaml_get(p->entry->source.bind, formal->name);
    if (real->item || real->element >= 0 || real->expr || (bind && strcmp(bind->text, "none")))
        fprintf(p->out, "        %s is %s, %s\n", formal->name,
                bind         ? bind->text
                : real->item ? real->item->name
                             : formal->name,
                how_bound(p, formal->name));
    else
        fprintf(p->out, "        %s is %g, the reference's own\n", formal->name, real->value);
}

/* Dims that come from arrays' shapes need no line. */
static void print_size(const struct printer *p, int size)
{
    const char *name = p->plan->formals->size_name[size];
    for (unsigned i = 0; i < p->plan->sizes; i++) {
        const struct plan_size *from = &p->plan->size[i];
        if (from->size != size)
            continue;
        if (from->expr)
            fprintf(p->out, "        %s is %s, %s\n", name, from->source, how_bound(p, name));
        else
            fprintf(p->out, "        %s is %lld, the reference's own\n", name,
                    (long long)from->value);
    }
}

static void print_tolerance(const struct printer *p, const struct formal *formal)
{
    const struct plan_tensor *tensor = &p->plan->tensor[formal->slot];
    if (tensor->array < 0)
        return;
    const struct signature_item *item = p->plan->array[tensor->array].item;
    const struct tolerance *tolerance = &tensor->tolerance;
    fprintf(p->out, "    tolerance %s (%s): %s", formal->name, type_name(item),
            tolerance_rule_text(tolerance->rule));
    if (tolerance->rule == RULE_CLOSE)
        fprintf(p->out, ", rtol %g, atol %g", tolerance->rtol, tolerance->atol);
    else if (tolerance->rule != RULE_BITWISE && item->type.dtype != DTYPE_NONE)
        tolerance_print(tolerance, p->out);
    for (int i = 0; i < tolerance->points; i++) {
        int dtype = tolerance->point[i].code & ~REF_POINT_MAY;
        fprintf(p->out, ", %s rounded to %s%s", tolerance->point[i].name,
                dtype == POINT_OF_OUTPUT ? "the output's type" : dtype_text((enum dtype)dtype),
                tolerance->point[i].code & REF_POINT_MAY ? ", or not" : "");
    }
    fprintf(p->out, "; %s\n", p->entry->source.override ? "of the entry" : "of the table");
}

static void print_plan(const struct printer *p)
{
    const struct formals *formals = p->plan->formals;
    fprintf(p->out, "    formals\n");
    for (int i = 0; i < formals->count; i++) {
        const struct formal *formal = &formals->formal[i];
        if (formal_is_array(formal))
            print_array(p, formal);
        else if (formal->kind == FORMAL_REAL)
            print_real(p, formal);
    }
    for (int i = 0; i < formals->sizes; i++)
        print_size(p, i);
    for (int i = 0; i < formals->count; i++)
        if (formals->formal[i].kind == FORMAL_OUT || formals->formal[i].kind == FORMAL_INOUT)
            print_tolerance(p, &formals->formal[i]);
}

static void print_entry(FILE *out, const struct registry_entry *entry)
{
    struct arena scratch = {0};
    struct captures groups;
    struct error err = {{0}};
    struct printer p = {out, entry, NULL};
    fprintf(out, "%s: %s\n    reference %s", PRINTABLE(entry->where),
            PRINTABLE(pattern_text(entry->pattern)), entry->source.builtin->name);
    print_numbers(out, entry);
    fprintf(out, "\n");
    print_node(out, "signature", entry->source.signature);
    if (entry->after_pattern)
        fprintf(out, "    after %s: %s\n", PRINTABLE(pattern_text(entry->after_pattern)),
                entry->source.after->text);
    print_node(out, "let", entry->source.let);
    print_node(out, "pick", entry->source.pick);
    print_node(out, "when", entry->source.when);
    print_node(out, "bind", entry->source.bind);
    print_node(out, "state", entry->source.state);
    print_node(out, "position", entry->source.position);
    print_node(out, "flow", entry->source.flow);
    pattern_groups(entry->pattern, &groups);
    if (!plan_make(&p.plan, &scratch, &entry->source, &groups, NULL, &err))
        print_plan(&p);
    arena_release(&scratch);
}

static void print_contract(FILE *out, const struct contract_entry *entry)
{
    const struct contract *contract = &entry->contract;
    fprintf(out, "%s contract %s\n    kernels ", contract->where, contract->name);
    for (unsigned i = 0; i < entry->kernels; i++)
        fprintf(out, "%s%s", i ? ", " : "", pattern_text(entry->kernel[i]));
    if (contract->item && !*contract->item)
        fprintf(out, "\n    item: the launch");
    else
        fprintf(out, "\n    item: %s", contract->item ? contract->item : "the first promised");
    if (contract->bits)
        fprintf(out, ", agree: bits");
    else
        fprintf(out, ", agree: within %g + %g |y|", contract->atol, contract->rtol);
    fprintf(out, "%s\n", contract->within ? ", each kernel with itself" : "");
}

void registry_content_print(struct registry_content *content, FILE *out)
{
    for (size_t i = 0; i < content->entries; i++) {
        const struct registry_entry *entry = registry_content_entry(content, i);
        if (entry)
            print_entry(out, entry);
    }
    for (unsigned i = 0; i < content->contracts.count; i++)
        print_contract(out, content->contracts.entry[i]);
    fprintf(out, "%zu entr%s, %zu tolerance rows\n", content->entries,
            content->entries == 1 ? "y" : "ies", content->tolerances.count);
}
