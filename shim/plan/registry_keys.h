/* registry_keys.h - the keys that a mapping of a registry file may have. */
#ifndef PLAN_REGISTRY_KEYS_H
#define PLAN_REGISTRY_KEYS_H

#include "system/yaml_doc.h"
#include "text/nearest.h"

enum keys_place {
    KEYS_FILE,
    KEYS_ENTRY,
    KEYS_LINT,
    KEYS_REFERENCE,
    KEYS_TYPES,
    KEYS_AFTER,
    KEYS_PARITY,
    KEYS_AGREE,
    KEYS_OUTLIER,
    KEYS_STATE,
    KEYS_TABLE,
    KEYS_POSITION,
    KEYS_FLOW,
    KEYS_TOLERANCE
};

/* STATUS_INVALID for a key that has no row in registry_keys.def: "unknown key 'refrence'; expected
 * one of kernel, signature, ...; did you mean 'reference'?". */
enum status keys_check(const struct yaml_node *mapping, enum keys_place place, struct error *err);

#endif
