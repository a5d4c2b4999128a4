/*
 * facts.h - what a kernel's PTX shows of its parameters.
 *
 * An address belongs to the parameter that it is computed from, along moves and additions; an
 * element's type is the one of the instruction that uses it. No branch is followed, and memory and
 * calls end the search. Nothing here calls the driver. Any thread.
 */
#ifndef TOOLS_FACTS_FACTS_H
#define TOOLS_FACTS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include "refs/abi/ref_abi.h"
#include "tools/ptx/ptx.h"
#include "value/launch.h"

struct param_fact {
    enum dtype dtype;         /* of the elements behind it, or of the scalar; or NONE */
    bool reads, writes, adds; /* memory behind it */
    unsigned least, most;     /* bytes of its narrowest and its widest access; 0: none */
};

/* Of the first `most` parameters of the kernel `symbol` in the text, of `bytes`; `params` how many
 * it has of these. False: the text has no such kernel, or no memory; then all are unknown. */
bool facts_read(const char *ptx, size_t bytes, const char *symbol, struct param_fact *out,
                unsigned most, unsigned *params);

/* The same of a function whose body was read. */
bool facts_of(const struct ptx_function *function, struct param_fact *out, unsigned most,
              unsigned *params);

/* Bytes of a parameter: all of it, or a field of a struct. */
struct facts_place {
    unsigned param;
    uint32_t offset, bytes; /* in the parameter */
    bool address;           /* it may be one */
};

/* The same of `places`, which do not overlap; `params`: how many parameters the kernel has. */
bool facts_read_places(const char *ptx, size_t bytes, const char *symbol,
                       const struct facts_place *place, unsigned places, struct param_fact *out,
                       unsigned *params);

/* The fields of parameters of more than 8 bytes that the kernel loads, in the order of the loads;
 * one may be there twice, or overlap another. Returns how many, `most` at most. */
unsigned facts_fields(const char *ptx, size_t bytes, const char *symbol, struct facts_place *out,
                      unsigned most);

/* Fills in the `dtype` of a layout's pointers, by the code alone: nothing where it does not show
 * them, has more parameters, or the symbol spells types. */
void facts_layout(const char *ptx, size_t bytes, const char *symbol, struct param_layout *layout);
void facts_layout_of(const struct ptx_function *function, struct param_layout *layout);

#endif
