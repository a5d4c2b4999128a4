/* rule_lists.c - structs that list arrays, and what cases cannot be made for. */
#include <string.h>
#include "plan/plan.h"
#include "tools/fuzz/case/rule_builder.h"

static const struct signature *signature_under(const struct rule_builder *b)
{
    return b->rule->plan->signature;
}

/* ---- lists ---- */

static const char *const list_fields[RULE_LIST_FIELDS] = {"length", "tensor", "part"};

const struct signature_item *rule_list_field(const struct rule_builder *b, enum rule_list field)
{
    const struct yaml_node *lists = yaml_get(b->bench->fuzz, "lists");
    const struct yaml_node *node =
        lists && lists->kind == YAML_KIND_MAPPING ? yaml_get(lists, list_fields[field]) : NULL;
    return node && node->text ? signature_find(signature_under(b), node->text) : NULL;
}

static bool list_part(const struct rule_builder *b, const struct signature_item *item)
{
    bool part = false;
    for (int i = 0; i < RULE_LIST_FIELDS; i++)
        part |= rule_list_field(b, (enum rule_list)i) == item;
    return part;
}

static enum status read_list_expr(struct rule_builder *b, const struct yaml_node *lists,
                                  const char *key, const struct expr **out)
{
    const struct yaml_node *node = yaml_get(lists, key);
    const char *text;
    if (!node)
        return rule_error(b, lists, "'lists' lacks '%s', an expression", key);
    enum status status = yaml_text(node, key, &text, b->err);
    return status ? status : rule_expr(b, node, text, out);
}

static enum status check_list_keys(struct rule_builder *b, const struct yaml_node *lists)
{
    for (size_t i = 0; i < lists->count; i++) {
        const char *key = lists->key[i]->text;
        bool known = strcmp(key, "count") == 0 || strcmp(key, "parts") == 0;
        for (int field = 0; field < RULE_LIST_FIELDS; field++)
            known |= strcmp(key, list_fields[field]) == 0;
        if (!known)
            return rule_error(b, lists->item[i],
                              "'%s' of 'lists' is unknown; expected count, length, tensor, part "
                              "or parts",
                              key);
    }
    for (int field = 0; field < RULE_LIST_FIELDS; field++) {
        const struct signature_item *item = rule_list_field(b, (enum rule_list)field);
        if (!item || item->array || !item->index || !dtype_is_integer(item->type.dtype))
            return rule_error(b, lists, "'%s' of 'lists' names no integer field at an index",
                              list_fields[field]);
    }
    return STATUS_OK;
}

enum status rule_lists(struct rule_builder *b)
{
    const struct yaml_node *node = yaml_get(b->bench->fuzz, "lists");
    struct fuzz_lists *lists = &b->rule->lists;
    if (!node)
        return STATUS_OK;
    enum status status = check_list_keys(b, node);
    if (!status)
        status = read_list_expr(b, node, "parts", &lists->parts);
    if (!status)
        status = read_list_expr(b, node, "count", &lists->count);
    if (status)
        return status;
    lists->length = rule_list_field(b, RULE_LIST_LENGTH);
    lists->tensor = rule_list_field(b, RULE_LIST_TENSOR);
    lists->part = rule_list_field(b, RULE_LIST_PART);
    for (unsigned i = 0; i < b->rule->variables; i++) {
        if (b->rule->variable[i].into == lists->length)
            lists->length_slot = b->rule->variable[i].slot;
    }
    struct fuzz_variable *blocks = rule_variable(b, "lists.blocks", FUZZ_VALUE);
    if (!blocks)
        return STATUS_INVALID;
    blocks->let = true;
    lists->blocks_slot = blocks->slot;
    return STATUS_OK;
}

/* ---- what is not possible yet ---- */

/* What cannot be drawn of an item; NULL: it can. */
static const char *refuse_item(const struct rule_builder *b, const struct signature_item *item)
{
    bool lists = yaml_get(b->bench->fuzz, "lists") != NULL;
    for (unsigned d = 0; d < item->ndim; d++) {
        if (item->dim[d].kind == DIM_LISTED)
            return "arrays with [&n]";
        if (item->dim[d].from && (b->rule->sparse || (lists && !item->index)))
            return "arrays with [n from m] beside [@ids], [*] or 'lists'";
        b->rule->parts |= item->dim[d].from && !lists;
    }
    if (!item->index)
        return NULL;
    bool plain =
        item->ndim == 1 && item->type.lanes == 1 && !item->rows && !dtype_block(item->type.dtype);
    if (item->array)
        return plain ? NULL : "arrays at an index with other than one dim of plain elements";
    return list_part(b, item) ? NULL : "fields at an index that 'lists' does not name";
}

enum status rule_refuse(struct rule_builder *b)
{
    const struct signature *signature = signature_under(b);
    const struct yaml_node *lists = yaml_get(b->bench->fuzz, "lists");
    const char *what = signature->earlier ? "the results of two kernels ('after')" : NULL;
    bool indexed = false;
    for (unsigned i = 0; i < signature->items; i++)
        indexed |= signature->item[i].index != NULL;
    if (lists ? b->rule->plan->picks != 1 : b->rule->plan->picks && indexed)
        return rule_error(b, lists ? lists : b->bench->fuzz,
                          lists ? "'lists' goes with an entry that has one 'pick'"
                                : "cases of a struct that lists arrays need 'lists', by which it "
                                  "is filled");
    if (lists && lists->kind != YAML_KIND_MAPPING)
        return rule_error(b, lists,
                          "'lists' is no mapping of count, length, tensor, part and "
                          "parts");
    for (unsigned i = 0; i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        what = what ? what : refuse_item(b, item);
        if (item->guard)
            what = "scalars with an 'if'";
    }
    return what ? rule_error(b, b->bench->fuzz, "cases are not drawn for %s", what) : STATUS_OK;
}
