/*
 * binding.h - one launch's arguments turned into the views that a reference needs.
 *
 * binding_make evaluates the signature for a launch and binds the reference's formals by name
 * (renamed by the entry's `bind`). Arithmetic on the launch's parameters: no allocation, and of the
 * driver only where memory ends, for arrays declared [*] or [@ids]; any thread. Addresses are the
 * program's; the snapshot replaces them by its own.
 */
#ifndef BIND_BINDING_H
#define BIND_BINDING_H

#include <stdint.h>
#include "base/error.h"
#include "value/bound.h"
#include "value/launch.h"
#include "value/skip.h"

/*
 * SKIP_NONE and a filled *out, or the reason: SKIP_NULL_POINTER, SKIP_EMPTY, SKIP_SHAPE (overflow,
 * division by zero, negative size, formals whose dims disagree), SKIP_LAYOUT (the launch does not
 * carry the parameter); then `why` names argument, value and expectation. Arrays excluded by `when`
 * or nullable and null are not in out->array. ROLE_WS arrays never are.
 * call.tensor[i].dim/stride/ndim describe the program's memory; strides are final when the
 * snapshot keeps the program's pitch.
 */
enum skip binding_make(const struct kernel_spec *spec, const struct launch *launch,
                       struct binding *out, struct error *why);

/*
 * For a plan with values: the copies are there, and `raw` holds the bits of each element. Fills in
 * the scalars and sizes of `call` that wait for them, and lowers the dims whose items are not all
 * valid. SKIP_NONE, or SKIP_NULL_POINTER, SKIP_EMPTY (no item is valid) or SKIP_SHAPE (a value that
 * cannot be) and a sentence. Pure; the collector's thread.
 */
enum skip binding_read(const struct kernel_spec *spec, const uint64_t *raw, struct binding *binding,
                       struct error *why);

#endif
