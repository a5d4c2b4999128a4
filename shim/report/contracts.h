/*
 * contracts.h - what came of a registry's contracts (`parity:`): counts for the end, and the text
 * of one launch's finding. Collector thread, and the one that ends the reports after it.
 */
#ifndef REPORT_CONTRACTS_H
#define REPORT_CONTRACTS_H

#include <stdbool.h>
#include <stdint.h>
#include "text/textbuf.h"
#include "value/check_report.h"
#include "value/contract.h"

enum { CONTRACT_LABEL = 96, PARITY_TEXT = 512 };

struct contract_totals {
    uint64_t launches, items;    /* checked launches of its kernels, and their items */
    uint64_t met, differ;        /* items that had been seen before; with another output */
    uint64_t unhashed;           /* launches of which no item could be hashed, ... */
    char kernel[CONTRACT_LABEL]; /* ... of this kernel first */
    bool revealed;
    const struct kernel_spec *first, *apart; /* a kernel, and one of another reference, or NULL */
};

/* Adds a judged launch. True: it shows, for the first time of its contract, that an earlier launch
 * stands alone; parity_text names it. */
bool contracts_judged(struct contract_totals totals[CONTRACTS], const struct check_report *report);

/* "contract rmsnorm: 2 of 8 items that were seen before differ; ...", no newline. */
void parity_text(const struct parity_report *parity, char out[PARITY_TEXT]);

/* A line of the summary for one contract. */
void contract_line(const struct contract *contract, const struct contract_totals *totals,
                   struct textbuf *out);

#endif
