/*
 * contracts.h - `parity:` of a registry: which kernels must give the same result for an item that
 * both read.
 *
 *     parity:
 *       - name: rmsnorm
 *         kernels: [rms_norm, rms_norm_batched]    # patterns as of an entry; one alone is fine
 *         item: rows                               # a dim that the reference declares (each)
 *         agree: bits                              # or {rtol: 1e-3, atol: 1e-6, single: bits}
 *         within: kernel                           # each with itself alone
 */
#ifndef REGISTRY_CONTRACTS_H
#define REGISTRY_CONTRACTS_H

#include "base/arena.h"
#include "base/error.h"
#include "names/pattern.h"
#include "system/yaml_doc.h"
#include "value/contract.h"

enum { CONTRACT_KERNELS = 16 };

struct contract_entry {
    struct contract contract;
    unsigned kernels;
    struct pattern *kernel[CONTRACT_KERNELS];
};

struct contracts {
    struct contract_entry *entry[CONTRACTS];
    unsigned count;
};

/* Adds one item of the list. What is wrong with it is left out. */
enum status contracts_add(struct contracts *contracts, struct arena *arena,
                          const struct yaml_node *node, struct error *err);
void contracts_release(struct contracts *contracts);

/* The last contract that names the kernel, or NULL. `scratch` may be released afterwards. */
const struct contract *contracts_find(const struct contracts *contracts,
                                      const struct symbol_names *names, struct arena *scratch);

#endif
