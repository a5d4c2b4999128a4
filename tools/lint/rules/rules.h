/* rules.h - the rules' functions, by file. */
#ifndef LINT_RULES_H
#define LINT_RULES_H

#include "tools/lint/kernel.h"

/* rules_sum.c */
void rule_accumulator_rounded(struct lint_kernel *k);
void rule_accumulator_narrow(struct lint_kernel *k);
void rule_atomic_narrow(struct lint_kernel *k);
void rule_intermediate_rounded(struct lint_kernel *k);

/* rules_fold.c */
void rule_neutral_element(struct lint_kernel *k);
void rule_masked_exp(struct lint_kernel *k);
void rule_product_zero(struct lint_kernel *k);

/* rules_formula.c */
void rule_exp_unshifted(struct lint_kernel *k);
void rule_exp_ratio(struct lint_kernel *k);
void rule_variance_difference(struct lint_kernel *k);

/* rules_memory.c */
void rule_store_unguarded(struct lint_kernel *k);
void rule_guard_inclusive(struct lint_kernel *k);
void rule_index_narrow(struct lint_kernel *k);
void rule_read_only_written(struct lint_kernel *k);
void rule_state_kept(struct lint_kernel *k);

/* rules_blocks.c */
void rule_fence_absent(struct lint_kernel *k);
void rule_block_order(struct lint_kernel *k);

/* rules_vector.c */
void rule_vector_alignment(struct lint_kernel *k);

/* rules_race.c */
void rule_shared_race(struct lint_kernel *k);

/* rules_sync.c */
void rule_barrier_divergent(struct lint_kernel *k);
void rule_shuffle_mask(struct lint_kernel *k);
void rule_shared_generic(struct lint_kernel *k);
void rule_shared_wide(struct lint_kernel *k);
void rule_unset_register(struct lint_kernel *k);
void rule_spin_weak(struct lint_kernel *k);

/* rules_entry.c */
void rule_entry_layout(struct lint_kernel *k);
void rule_param_unread(struct lint_kernel *k);
void rule_const_written(struct lint_kernel *k);
void rule_batch_unused(struct lint_kernel *k);
void rule_position_source(struct lint_kernel *k);
void rule_constant_absent(struct lint_kernel *k);

/* rules_launch.c */
void rule_launch_bounds(struct lint_kernel *k);
void rule_shared_launch(struct lint_kernel *k);

/* rules_size.c */
void rule_index_overflow(struct lint_kernel *k);

#endif
