/* plan_builder.h - the unfinished plan, shared by plan.c (names, dims) and plan_bind.c (formals).
 */
#ifndef PLAN_PLAN_BUILDER_H
#define PLAN_PLAN_BUILDER_H

#include "plan/plan.h"

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
    bool earlier;          /* names are first resolved among those of the earlier kernel */
    int lowered;           /* dims whose number of valid items is read from memory */
    bool may_read;         /* the expression under way may read memory, and so be known late */
};

/* Compiles an expression with all names of the entry; failures name `node` and "WHAT 'NAME'". */
enum status plan_expr(struct plan_builder *b, const struct yaml_node *node, const char *what,
                      const char *name, const char *text, const struct expr **out);

/* For expr_compile: all names of the entry. */
struct expr_names plan_names(struct plan_builder *b);

/* Prefixes the sentence of a failure with the node's place; NULL is fine. */
enum status plan_at(const struct plan_builder *b, const struct yaml_node *node, enum status status);

/* plan_let.c: lets and picks; then, when all names are known, their order. */
enum status plan_lets(struct plan_builder *b);
enum status plan_sort_lets(struct plan_builder *b);

/* plan_when.c: guards of the entry and of arrays; then, when the lets are sorted, those that the
 * entry's guard needs come first. */
enum status plan_when(struct plan_builder *b);
void plan_order_guard(struct plan_builder *b);

/* The slot of a scalar that lies at an index, or -1 and a sentence. */
int plan_field(struct plan_builder *b, const struct signature_item *item);

/* The index of a field, NULL where it has none. */
enum status plan_index(struct plan_builder *b, const struct signature_item *item,
                       const struct expr **out);

/* Marks what the expression reads as needed at a launch; NULL is fine. */
void plan_use(struct plan_builder *b, const struct expr *expr);

/* plan_value.c: the element NAME[INDEX] of an array; its number in plan->value, or -1 and a
 * sentence. `real`: a number of any type, else an integer, with a slot. */
int plan_value(struct plan_builder *b, const char *name, const char *index, bool real);

/* Splits "lr[0]", and nothing else, into name and index; the texts are the arena's. */
bool plan_is_element(struct plan_builder *b, const char *text, const char **name,
                     const char **index);

/* A bit for each element of memory that the expression reads; NULL is fine. */
unsigned plan_reads(const struct plan_builder *b, const struct expr *expr);

/* plan_real.c: a real formal's expression, and which elements of memory it reads. */
enum status plan_real(struct plan_builder *b, const struct yaml_node *node, const char *formal,
                      const char *text, struct plan_real *out);

/* A slot for a name; -1 and a sentence where there are too many. */
int plan_slot(struct plan_builder *b, const char *name);

/* Where a parameter starts in the packed buffer. */
uint32_t plan_start(const struct plan_builder *b, const struct signature_item *item);

/* Whether `name` can stand in an expression. */
bool plan_has_value(const struct plan_builder *b, const char *name);

/* plan_touch.c: whether touched rows fit the `touch` clauses of the reference. */
enum status plan_touch(const struct plan_builder *b);

/* plan_state.c: what has to hold between launches; behind plan_bind. */
enum status plan_state(struct plan_builder *b);

/* The array with that name among those that a check copies anyway. */
enum status plan_find_array(struct plan_builder *b, const struct yaml_node *node, const char *key,
                            const char *name, int *out);

/* plan_flow.c: its key `flow`. */
enum status plan_flow(struct plan_builder *b, const struct yaml_node *node,
                      struct plan_state *state);

/* plan_bind.c: all formals of the reference. */
enum status plan_bind(struct plan_builder *b);

#endif
