/* kernel.h - what a rule gets, and what rules share. */
#ifndef LINT_KERNEL_H
#define LINT_KERNEL_H

#include "tools/flow/flow.h"
#include "tools/lint/lint.h"

struct kernel_spec;
struct ptx_lines;
struct binding_plan;

struct lint_kernel {
    struct lint_report *report;
    const char *image;
    const struct lint_text *text;
    struct ptx_lines *lines; /* of the text's cubin, read with the first finding; or NULL */
    bool lines_read;
    struct flow *flow;
    const uint32_t *cycle;           /* flow_cycles() */
    const bool *adds;                /* by cycle: floats are added on it */
    const struct kernel_spec *spec;  /* the registry's entry, or NULL */
    const struct binding_plan *plan; /* of its signature and reference, or NULL */
    bool plan_points;                /* it declares roundings on the way */
    struct registry_bench bench;
    struct param_layout layout; /* that the entry fits; valid with `plan` */
    const char *misfit;         /* an entry names it, but none fits: why */
    const struct lint_rule *rule;
    size_t first; /* finding of this kernel */
};

/* At the instruction; FLOW_NONE: at the head of the kernel. */
void lint_add(struct lint_kernel *k, uint32_t instruction, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lint_add_as(struct lint_kernel *k, enum lint_severity severity, uint32_t instruction,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* -- values -- */

/* The instruction's own type, PTX_NO_TYPE where it has none: of cvt the one it makes. */
enum ptx_type lint_type(const struct flow *flow, uint32_t value);
bool lint_is_float(enum ptx_type type);

/* A constant as the operand of an operation of that type; through mov. */
bool lint_number(const struct flow *flow, uint32_t value, enum ptx_type type, double *out);
/* The second of the two numbers of an f16x2 or bf16x2; false for other types. */
bool lint_upper_half(const struct flow *flow, uint32_t value, enum ptx_type type, double *out);

/* Whether a value has at most 16 bits for each number that it holds: a rounding, or a register. */
bool lint_is_narrow(const struct flow *flow, uint32_t value);
/* An addition of floats: add, sub, fma. */
bool lint_is_sum(const struct flow *flow, uint32_t value);
/* Values that hand on one of their arguments: phi, merge, mov, shfl, selp. */
bool lint_passes(const struct flow *flow, uint32_t value);

/* Calls `use` for each value that `value` is computed from, through operations for which `through`
 * is true, each once; `use` returns whether to go on behind it. */
typedef bool (*lint_visit_fn)(void *user, uint32_t value);
void lint_backward(const struct lint_kernel *k, uint32_t value, lint_visit_fn visit, void *user);
void lint_forward(const struct lint_kernel *k, uint32_t value, lint_visit_fn visit, void *user);

/* A value that is surely 0 or more, or NaN. */
bool lint_not_negative(const struct lint_kernel *k, uint32_t value);

/* -- largest and smallest -- */

enum lint_fold { LINT_NO_FOLD, LINT_MAX, LINT_MIN };
/* Whether the value is the larger or the smaller of its first two arguments: max, min, or a choice
 * by a comparison of the two. */
enum lint_fold lint_fold(const struct flow *flow, uint32_t value);

/* rules_sync.c: a branch that threads of a block take differently and that decides whether the
 * instruction runs, or FLOW_NONE. `sides`: not one whose both sides meet a barrier. */
uint32_t lint_divergent_branch(const struct flow *flow, uint32_t at, bool sides);

/* -- memory -- */

/* rules_memory.c: whether an address in global memory is made from the value, by sums and products.
 */
bool lint_makes_address(struct lint_kernel *k, uint32_t value);

struct lint_access {
    uint32_t value, at, address; /* address: a value */
    int64_t offset;
    unsigned bytes;
    enum ptx_space space; /* of a generic address that of its base, where known */
    bool reads, writes, atomic, weak;
    struct flow_base base;
};
/* False: the instruction accesses no memory, or a parameter. */
bool lint_access(const struct flow *flow, uint32_t at, struct lint_access *out);
bool lint_stores_global(const struct flow *flow, uint32_t at, struct lint_access *out);

#endif
