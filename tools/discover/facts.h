/*
 * facts.h - what is known of a kernel's parameters: from its name (C++), its PTX, the values that
 * it was launched with, and the memory that it changed.
 */
#ifndef TOOLS_DISCOVER_FACTS_H
#define TOOLS_DISCOVER_FACTS_H

#include "refs/abi/ref_abi.h"
#include "tools/discover/record.h"
#include "tools/discover/triton_names.h"

enum fact_kind {
    FACT_INTEGER,
    FACT_REAL,
    FACT_ARRAY,
    FACT_OTHER, /* a struct, or a word that is no use */
};

enum fact_source { SOURCE_VALUES, SOURCE_CODE, SOURCE_NAME };

struct fact {
    char name[TRITON_NAME]; /* the program's; "": not known */
    uint32_t offset, size;
    enum fact_kind kind;
    enum dtype dtype;        /* of elements, or of the scalar */
    enum fact_source source; /* of the dtype */
    bool reads, writes;      /* the array; both unknown: reads */
    bool adds;
    bool null;     /* it was null in some launch */
    bool zero;     /* it was 0 in every launch, and so were all behind it */
    uint64_t room; /* least bytes of the allocation behind the pointer */
    /* By launch, of an array: bytes of the allocation behind the pointer, and up to the last one
     * that the launch changed; 0: there is no pointer, nothing changed or was recorded. */
    uint64_t space[SEEN_SAMPLES], changed[SEEN_SAMPLES];
};

struct facts {
    const struct seen_kernel *kernel;
    unsigned count;
    struct fact fact[LAYOUT_MAX];
    bool has_code; /* PTX was there */
};

void facts_make(struct facts *facts, const struct seen_kernel *kernel);

/* The scalar's value in a launch. */
int64_t facts_integer(const struct fact *fact, const struct seen_sample *sample);
double facts_real(const struct fact *fact, const struct seen_sample *sample);

#endif
