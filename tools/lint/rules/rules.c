/* rules.c - the table of rules; the functions are in rules_*.c. */
#include "tools/lint/rules/rules.h"

#include <stddef.h>

const struct lint_rule lint_rules[] = {
    {"accumulator-rounded", LINT_WARNING,
     "A sum in f32 is rounded to 16 bits on the way from one addition to the next",
     "Each rounding to bf16 keeps 8 bits. A sum of equal terms stops growing at 256 terms in bf16 "
     "and at\n"
     "2048 in f16. It is right only where the declared accumulator is that narrow.",
     rule_accumulator_rounded},
    {"accumulator-narrow", LINT_NOTE, "A sum over a loop or over many terms is kept in f16 or bf16",
     "The additions themselves are in 16 bits: half2 arithmetic, or a matrix product with an f16\n"
     "accumulator. It is right where the contract declares it. With an entry that declares a wider "
     "one "
     "it is a warning.",
     rule_accumulator_narrow},
    {"atomic-narrow", LINT_NOTE, "An atomic adds up in memory in f16 or bf16",
     "Each addition rounds to 16 bits, and their order is chance. Rows that are hit often lose "
     "small\n"
     "terms. It is right where the program declares a 16-bit accumulator.",
     rule_atomic_narrow},
    {"intermediate-rounded", LINT_HINT,
     "A number is rounded to 16 bits, widened, and computed with further",
     "The kernel rounds where its formula does not. With an entry whose tolerance declares no "
     "rounding it\n"
     "is a note, else a hint. It is right where a model was trained with that rounding: declare "
     "it.",
     rule_intermediate_rounded},
    {"neutral-element", LINT_WARNING,
     "A maximum or minimum has a finite constant among its elements",
     "A maximum that starts at 0 or at -10000, or takes 0 for masked elements, is wrong for rows "
     "that lie\n"
     "below. Start with -infinity. It is right where all elements are on the constant's other "
     "side.",
     rule_neutral_element},
    {"masked-exp", LINT_WARNING, "A sum of exponentials counts masked elements as exp of 0",
     "A masked load that gives 0 adds exp(0 - max) to the sum of a softmax. Load -infinity, or "
     "mask the\n"
     "exponential.",
     rule_masked_exp},
    {"product-zero", LINT_WARNING, "A product begins with 0 or takes 0 for masked elements",
     "The neutral element of a product is 1. With 0 the product is 0.", rule_product_zero},
    {"exp-unshifted", LINT_WARNING,
     "A sum of exponentials takes elements from which nothing is subtracted",
     "exp overflows f32 from 88.7 on. A softmax or logsumexp subtracts the largest element first. "
     "It is\n"
     "right where the elements are bounded.",
     rule_exp_unshifted},
    {"exp-ratio", LINT_WARNING, "A quotient has the same exponential above and below",
     "e / (1 + e) and (e - 1) / (e + 1) are Inf / Inf, which is NaN, for large arguments. 1 / (1 + "
     "exp(-x))\n"
     "and tanh are not.",
     rule_exp_ratio},
    {"variance-difference", LINT_NOTE,
     "A variance is computed as the mean of squares less the square of the mean",
     "Where the mean is large against the deviation all digits cancel, and the difference may be "
     "negative.\n"
     "It is right for data of a mean near 0.",
     rule_variance_difference},
    {"store-unguarded", LINT_NOTE,
     "A store to an address of thread and block runs under no condition on a parameter",
     "The kernel compares a size with something, but not on the way to this store, so the last "
     "block may\n"
     "write behind the array. With an entry a store at the thread's number is held against the "
     "arrays of its\n"
     "`fuzz` mapping's cases: a warning where it passes their end. It is right where grids cover "
     "arrays exactly.",
     rule_store_unguarded},
    {"guard-inclusive", LINT_NOTE, "A store runs for the index that equals its limit",
     "i <= n takes n + 1 elements. It is right where the parameter is the last index, not a size.",
     rule_guard_inclusive},
    {"index-narrow", LINT_NOTE, "A 64-bit index or distance is cut before it makes an address",
     "The low 32 bits of a 64-bit parameter are multiplied in 32 bits, or 8 bits of an index are "
     "kept. It is\n"
     "right where the program never passes larger ones.",
     rule_index_narrow},
    {"index-overflow", LINT_WARNING, "A 32-bit index passes 2^31 within the sizes of the entry",
     "A product, sum or shift of 32 bits makes an address, and with the largest sizes that the "
     "entry's\n"
     "`fuzz` mapping allows it does not fit: 2^31 where it is widened with its sign, else 2^32. "
     "Compute it in\n"
     "64 bits.",
     rule_index_overflow},
    {"read-only-written", LINT_WARNING,
     "A kernel reads a parameter through the read-only cache and writes it, too",
     "ld.global.nc and ldu may return what memory held before the launch. const __restrict__ on a "
     "pointer to\n"
     "memory that the kernel writes makes the compiler use them.",
     rule_read_only_written},
    {"spin-weak", LINT_WARNING,
     "A loop waits for memory to change and reads it by an ordinary load",
     "An ordinary load need not see what other blocks write: the compiler may read once and loop "
     "for ever. Use\n"
     "volatile, an atomic or ld.acquire.",
     rule_spin_weak},
    {"fence-absent", LINT_NOTE,
     "Blocks are counted by an atomic with no fence behind the stores that others read",
     "The last block to count itself reads what the others stored. An atomic orders only itself: "
     "without\n"
     "__threadfence() or acq_rel the stores may arrive after it. It is right where the counted "
     "blocks store what\n"
     "is not read.",
     rule_fence_absent},
    {"block-order", LINT_NOTE,
     "A kernel reads an array at places where its other blocks store to it",
     "Blocks run in no order: a load of an element that another block stores gets the old or the "
     "new one,\n"
     "a stencil in place or a sum over what each block has left. It is right where the blocks do "
     "not reach\n"
     "each other's elements. A kernel with fences, atomics or barriers is left out.",
     rule_block_order},
    {"state-kept", LINT_NOTE, "A module variable carries results from one launch to the next",
     "The kernel stores to a __device__ variable and reads it. A result that depends on earlier "
     "launches is\n"
     "wrong when inputs change. It is right for generators and counters.",
     rule_state_kept},
    {"vector-alignment", LINT_HINT, "A vector access whose alignment no constant guarantees",
     "An address that is a pointer plus rows times a parameter is aligned only where the parameter "
     "is a\n"
     "multiple. A misaligned vector access faults, or the tail of a row is left out. A constant "
     "offset that\n"
     "moves an aligned address is a note, of the kernel's own arrays a warning.",
     rule_vector_alignment},
    {"shared-race", LINT_WARNING,
     "Shared memory is read that another thread stored, with no barrier between",
     "There is a way from a store to a load of the same array on which no bar.sync, bar.warp.sync "
     "or mbarrier\n"
     "wait lies. A cp.async is a store that a cp.async.wait ends, before the barrier, and a "
     "cp.async.bulk one\n"
     "that a wait for its mbarrier ends. In a loop a load and the store of the next round without "
     "one are\n"
     "a note: other waits may order them. It is right where the bytes are the thread's own in a "
     "way that the rule cannot see.",
     rule_shared_race},
    {"barrier-divergent", LINT_WARNING, "Not all threads of a block come to a barrier",
     "bar.sync and bar.red without a count of threads, or with that of .reqntid, wait for all. "
     "Where "
     "a branch\n"
     "on thread numbers or on loaded data decides whether they run, or threads have left before, "
     "the result is\n"
     "undefined. Threads may meet at several barrier.sync of one number beside 0.",
     rule_barrier_divergent},
    {"shuffle-mask", LINT_WARNING,
     "The mask of a shuffle or vote is not the set of lanes that run it",
     "Lanes that run it must be in the mask, and all lanes of the mask must run it.",
     rule_shuffle_mask},
    {"shared-generic", LINT_WARNING,
     "An address is used in another state space than it was made in",
     "An address in shared memory becomes a generic one by cvta. Without it a generic access reads "
     "or writes\n"
     "other memory.",
     rule_shared_generic},
    {"shared-wide", LINT_NOTE, "Shared addresses are kept in registers of 32 and of 64 bits",
     "Both are legal where the address size is 64. A generator that mixes them has two ways to "
     "make an address,\n"
     "which is where one goes wrong. A kernel with 64-bit ones alone gets a hint.",
     rule_shared_wide},
    {"unset-register", LINT_WARNING, "A register is read that no instruction has set",
     "Its value is undefined. Compilers leave such registers where a value does not matter.",
     rule_unset_register},
    {"entry-layout", LINT_WARNING, "An entry names the kernel, and their parameter lists differ",
     "Launches of the kernel go unchecked until the entry's signature is corrected.",
     rule_entry_layout},
    {"param-unread", LINT_WARNING,
     "The kernel never reads a parameter to which the entry gives a meaning",
     "An array, a distance of rows or a number such as eps or alpha is bound to a formal of the "
     "reference, and\n"
     "no instruction loads it: it was left out, or a constant stands in its place. Sizes are left "
     "out.",
     rule_param_unread},
    {"const-written", LINT_WARNING, "The kernel writes an array that the entry declares const",
     "The entry's signature is wrong, or the kernel destroys its input.", rule_const_written},
    {"batch-unused", LINT_WARNING,
     "The entry counts on a grid axis of which no address of the kernel, or of an array, depends",
     "A batched kernel that does not use ctaid.y or ctaid.z computes the first item in every "
     "block. One that\n"
     "uses it for some arrays, and not for another that the entry gives a row for each block, "
     "takes "
     "the first\n"
     "row of that one. With CUVET_LINT a launch with such an axis over 1 counts as well, where the "
     "kernel never\n"
     "reads the axis.",
     rule_batch_unused},
    {"position-source", LINT_WARNING,
     "The entry takes a number from memory that the kernel never reads",
     "A position or length that the entry reads from an array comes from elsewhere in the kernel, "
     "so a graph\n"
     "replay uses a stale one. The reverse, an unread scalar, is param-unread.",
     rule_position_source},
    {"constant-absent", LINT_NOTE,
     "The entry or its reference has a constant that no instruction has",
     "The entry binds a number such as eps or a slope, or the reference's formula has one, as gelu "
     "has the root\n"
     "of 1/2. Neither it nor its usual forms (its inverse, its half, its double, times log2 e) are "
     "among the\n"
     "kernel's immediates. It is right where the kernel computes the same in another way.",
     rule_constant_absent},
    {"launch-bounds", LINT_WARNING,
     "The block of the entry, or of a launch, is larger than the kernel allows",
     "A launch with more threads than .maxntid, or others than .reqntid, fails.",
     rule_launch_bounds},
    {"shared-launch", LINT_NOTE,
     "A kernel accesses dynamic shared memory beyond that of a launch (CUVET_LINT)",
     "What lies behind the launch's dynamic shared memory is not the block's. It is right where "
     "the launch\n"
     "does not take that branch.",
     rule_shared_launch},
    {NULL, LINT_HINT, NULL, NULL, NULL},
};
