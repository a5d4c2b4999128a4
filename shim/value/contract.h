/*
 * contract.h - what must hold between launches: one entry of a registry's `parity:`. Owned by the
 * registry; immutable.
 */
#ifndef VALUE_CONTRACT_H
#define VALUE_CONTRACT_H

#include <stdbool.h>
#include <stdint.h>

enum { CONTRACTS = 64 };

struct contract {
    const char *name;  /* for reports */
    const char *where; /* "kernels.yaml:12" */
    const char *item;  /* dim of the reference; NULL: that of its first `each` clause; "": no dim */
    bool bits;         /* else elements may differ by atol + rtol * the larger one's size */
    double rtol, atol;
    bool single_bits; /* of a margin: launches of one item alone agree in bits */
    bool within;      /* launches of one kernel alone are compared */
    uint32_t number;  /* among those of the registry, from 0 */
};

#endif
