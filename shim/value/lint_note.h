/* lint_note.h - what a rule of `cuvet lint` notes about a kernel that the program launched. */
#ifndef VALUE_LINT_NOTE_H
#define VALUE_LINT_NOTE_H

#include <stdint.h>

struct lint_note {
    const char *kernel;   /* mangled */
    const char *rule;     /* "accumulator-rounded" */
    const char *severity; /* "note" or "warning" */
    const char *sentence;
    const char *source;   /* file of .loc; "": none */
    uint32_t line;        /* of the PTX */
    uint32_t source_line; /* 0: none */
    uint32_t more;        /* notes of the rule on the kernel that were left out, on its last one */
};

#endif
