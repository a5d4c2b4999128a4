/* rule_builder.h - a rule in the making, shared by rule.c (names, order) and rule_parts.c (the
 * mapping's values). */
#ifndef TOOLS_FUZZ_RULE_BUILDER_H
#define TOOLS_FUZZ_RULE_BUILDER_H

#include <stdarg.h>
#include "tools/fuzz/case/rule.h"

struct rule_builder {
    struct arena *arena;
    const struct registry_bench *bench;
    const struct fuzz_known *known; /* or NULL */
    struct fuzz_rule *rule;
    struct error *err;
    int slots;
    bool read[FUZZ_SLOTS]; /* variables that an expression reads */
    int launch_names;      /* of block.x ... grid.z, those that an expression may read */
};

/* NULL: too many names; the sentence is there. */
struct fuzz_variable *rule_variable(struct rule_builder *b, const char *name, enum fuzz_kind kind);
enum status rule_expr(struct rule_builder *b, const struct yaml_node *node, const char *text,
                      const struct expr **out);
enum status rule_error(struct rule_builder *b, const struct yaml_node *node, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));

/* The field of the signature that a key of `lists` names, or NULL. */
enum rule_list { RULE_LIST_LENGTH, RULE_LIST_TENSOR, RULE_LIST_PART, RULE_LIST_FIELDS };
const struct signature_item *rule_list_field(const struct rule_builder *b, enum rule_list field);

/* What cases cannot be made for. */
enum status rule_refuse(struct rule_builder *b);
enum status rule_variables(struct rule_builder *b);
enum status rule_lists(struct rule_builder *b);
enum status rule_launch(struct rule_builder *b);
enum status rule_arrays(struct rule_builder *b);

#endif
