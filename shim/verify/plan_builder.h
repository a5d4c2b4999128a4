/* plan_builder.h - the unfinished plan, shared by plan.c (names, dims) and plan_bind.c (formals).
 */
#ifndef VERIFY_PLAN_BUILDER_H
#define VERIFY_PLAN_BUILDER_H

#include "verify/plan.h"

struct plan_builder {
    struct arena *arena;
    const struct plan_source *source;
    const struct captures *captures;
    const struct param_layout *layout; /* NULL: no kernel seen yet */
    struct error *err;
    struct binding_plan *plan;
    const char *slot_name[PLAN_SLOTS];
    int slots;
    bool used[PLAN_SLOTS]; /* by something that a launch evaluates */
};

/* Compiles an expression with all names of the entry; failures name `node` and "WHAT 'NAME'". */
enum status plan_expr(struct plan_builder *b, const struct yaml_node *node, const char *what,
                      const char *name, const char *text, const struct expr **out);

/* Marks what the expression reads as needed at a launch; NULL is fine. */
void plan_use(struct plan_builder *b, const struct expr *expr);

/* Where a parameter starts in the packed buffer. */
uint32_t plan_start(const struct plan_builder *b, const struct signature_item *item);

/* Whether `name` can stand in an expression. */
bool plan_has_value(const struct plan_builder *b, const char *name);

/* plan_touch.c: whether touched rows are what the reference promises to touch. */
enum status plan_touch(const struct plan_builder *b);

/* plan_bind.c: all formals of the reference. */
enum status plan_bind(struct plan_builder *b);

#endif
