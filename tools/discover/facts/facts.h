/*
 * facts.h - what is known of a kernel's parameters: from its name (C++), its PTX, the values that
 * it was launched with, and the memory that it changed.
 */
#ifndef TOOLS_DISCOVER_FACTS_H
#define TOOLS_DISCOVER_FACTS_H

#include "refs/abi/ref_abi.h"
#include "tools/discover/facts/fields.h"
#include "tools/discover/facts/poison.h"
#include "tools/discover/facts/record.h"
#include "tools/discover/facts/triton_names.h"

enum fact_kind {
    FACT_INTEGER,
    FACT_REAL,
    FACT_ARRAY,
    FACT_OTHER, /* a struct, or a word that is no use */
};

enum fact_source { SOURCE_VALUES, SOURCE_CODE, SOURCE_NAME };

/* What runs of a recorded launch show of the memory behind a pointer, up to the next pointer. */
struct probed {
    bool known;         /* the launch was run again, and gave what was recorded */
    bool reads, writes; /* what the array held makes a difference; the launch changes it */
    bool keeps, adds;   /* a written element depends on what the array held; it is the sum of that
                           and something */
    bool elsewhere;     /* what the array held makes a difference to another array */
    bool edges;         /* `read` is exact; else it is the whole array */
    uint64_t bytes;     /* of the array */
    struct poison_marks read, written;
    /* Memory that addresses in the array lead to, and that no parameter leads to. */
    struct {
        unsigned places;
        uint64_t bytes;
        bool reads, writes;
    } reached;
};

/* Memory accesses that the code shows. */
struct coded {
    bool reads, writes, adds;
};

struct fact {
    char name[TRITON_NAME]; /* the program's; "": not known */
    struct field field;
    uint32_t offset, size; /* the field's */
    enum fact_kind kind;
    enum dtype dtype;        /* of elements, or of the scalar */
    enum fact_source source; /* of the dtype */
    bool reads, writes;      /* the array; both unknown: reads */
    bool adds;
    bool scratch;       /* launches write it, and leave what it held before, which they need */
    struct coded coded; /* what the PTX shows alone */
    unsigned lanes;     /* elements of the code's widest access; 0: not known */
    bool null;          /* it was null in some launch */
    bool zero;          /* it was 0 in every launch, and so were all behind it */
    uint64_t room;      /* least bytes of the allocation behind the pointer */
    /* By launch, of an array: bytes of the allocation behind the pointer, and up to the last one
     * that the launch changed; 0: there is no pointer, nothing changed or was recorded. */
    uint64_t space[SEEN_SAMPLES], changed[SEEN_SAMPLES];
    struct probed probed[SEEN_SAMPLES]; /* by launch */
};

struct facts {
    const struct seen_kernel *kernel;
    unsigned count;
    struct fact fact[LAYOUT_MAX];
    bool has_code;    /* PTX was there */
    bool reads_known; /* an array that is not marked as read is none: by code, or by runs */
};

void facts_make(struct facts *facts, const struct seen_kernel *kernel);

/* Takes over what is in `probed`: roles that the code does not show. */
void facts_settle(struct facts *facts);

/* Launches that were run again and gave what was recorded; of these, those in which the array was
 * read, or written. */
struct probed_counts {
    unsigned launches, reads, writes, keeps, adds;
};
struct probed_counts facts_probed(const struct fact *fact);

/* Elements from the pointer to the last one that a launch reads, or writes; -1: not known. */
int64_t facts_read_to(const struct fact *fact, unsigned launch);
int64_t facts_written_to(const struct fact *fact, unsigned launch);

/* The scalar's value in a launch. */
int64_t facts_integer(const struct fact *fact, const struct seen_sample *sample);
double facts_real(const struct fact *fact, const struct seen_sample *sample);

#endif
