/*
 * tolerance.h - how outputs are judged, by operation and dtype.
 *
 *     tolerances:
 *       rmsnorm:
 *         f16, bf16: {rule: bound, accumulate: f32, reason: "..."}
 *         f32:       {rule: close, rtol: 1.3e-6, atol: 1e-5}
 *
 *
 * Rows that are added later win. Names of points and reasons stay in the document that they were
 * read from, which has to outlive the table. Filled while a registry is loaded, immutable
 * afterwards.
 */
#ifndef VERIFY_TOLERANCE_H
#define VERIFY_TOLERANCE_H

#include <stddef.h>
#include "base/arena.h"
#include "base/yaml_doc.h"
#include "verify/kernel_spec.h"

struct ref_builtin; /* refs/ref_list.h */

struct tolerance_row {
    const char *op;
    enum dtype dtype;
    struct tolerance tolerance;
    const char *reason; /* or NULL */
};

struct tolerance_table {
    struct tolerance_row *row;
    size_t count, room;
};

/* Told of each bad row with one sentence. */
typedef void (*tolerance_complain_fn)(void *user, const char *sentence);

/* Adds the rows of a `tolerances:` mapping; bad ones are told and left out (STATUS_INVALID). */
enum status tolerance_add(struct tolerance_table *table, struct arena *arena,
                          const struct yaml_node *node, tolerance_complain_fn complain, void *user);

/* Reads one row, {rule: ..., ...}. An accumulator that it does not name is DTYPE_NONE. */
enum status tolerance_read(const struct yaml_node *node, struct tolerance *out, const char **reason,
                           struct error *err);

/* Whether the reference has the points that the row declares, and what its contracts are about:
 * STATUS_INVALID, told at `node`, where one would be passed over. */
enum status tolerance_fits(const struct tolerance *tolerance, const struct ref_builtin *reference,
                           const struct yaml_node *node, struct error *err);

/* The row for outputs of `dtype`, or NULL. */
const struct tolerance_row *tolerance_find(const struct tolerance_table *table, const char *op,
                                           enum dtype dtype);

/* What holds where no row does: the bound of an f32 accumulator (f64 for f64). */
struct tolerance tolerance_fallback(enum dtype dtype);

/* Unit roundoff (half an ulp of 1) and smallest normal number of an accumulator. */
double tolerance_roundoff(enum dtype accumulate);
double tolerance_underflow(enum dtype accumulate);

/* The same of a row. fp8_tensor is 2^-13: Hopper's tensor cores add f8 products with some 14 bits
 * and truncate (measured by others; arXiv:2412.19437, 3.3.2). */
double tolerance_unit(const struct tolerance *tolerance);

/*
 * lambda of the sum bound lambda sqrt(n) u S. A sum of n roundings exceeds it with a probability of
 * at most 2 exp(-lambda^2 / 2) (Higham and Mary 2019), so one of N sums does with at most
 * `false_alarm` for lambda = sqrt(2 ln(2 N / false_alarm)). The 8 of the default is that of 4 10^7
 * outputs and 10^-6. `outputs`: N.
 */
double tolerance_lambda(const struct tolerance *tolerance, double outputs);

/* config/tolerances.yaml, put into the library by the build: the built-in table. */
extern const char cuvet_tolerances_yaml[];
extern const unsigned long cuvet_tolerances_yaml_len;

#endif
