/* thin.h - which of many findings of one kernel are reported: the first, and then ever fewer. */
#ifndef REPORT_THIN_H
#define REPORT_THIN_H

#include <stdbool.h>
#include <stdint.h>

enum { THIN_FINDINGS = 64, THIN_OTHERS = 4 };

/* Whether number `occurrence` (from 1) is reported: the first `all`, then each power of two. */
static inline bool thin_admits(uint64_t occurrence, uint64_t all)
{
    return occurrence <= all || (occurrence & (occurrence - 1)) == 0;
}

#endif
