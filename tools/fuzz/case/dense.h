/*
 * dense.h - arrays of which a kernel reaches some rows alone ([@ids], [*]), as the whole arrays
 * that a case makes: it has their number of rows, which no parameter holds. And arrays of which
 * a check judges a part ([n from m]), with all items up to the end of the last part.
 */
#ifndef TOOLS_FUZZ_DENSE_H
#define TOOLS_FUZZ_DENSE_H

#include "plan/plan.h"
#include "tools/fuzz/case/rule.h"

/* Whether the signature has such arrays. */
bool fuzz_is_sparse(const struct signature *signature);

/* The entry's plan with [N] in the place of [@ids], [*] and pages, or of [n from m] where the rule
 * has `parts`, for a case's `rows` by array number; with `builtin` NULL that of the signature
 * alone. The arena's. */
enum status fuzz_dense_plan(const struct fuzz_rule *rule, const struct ref_builtin *builtin,
                            const int64_t *rows, const struct param_layout *layout,
                            struct arena *arena, const struct binding_plan **out,
                            struct error *err);

#endif
