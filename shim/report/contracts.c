#include "report/contracts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "refs/abi/ref_list.h"
#include "report/place.h"
#include "text/printable.h"

/* Items of kernels with different references have no inputs in common. */
static void note_reference(struct contract_totals *of, const struct kernel_spec *spec)
{
    if (!spec->reference || spec->contract->within || of->apart)
        return;
    if (!of->first)
        of->first = spec;
    else if (strcmp(of->first->reference->name, spec->reference->name) != 0)
        of->apart = spec;
}

bool contracts_judged(struct contract_totals totals[CONTRACTS], const struct check_report *report)
{
    const struct parity_report *parity = &report->parity;
    if (!parity->contract)
        return false;
    struct contract_totals *of = &totals[parity->contract->number];
    of->launches++;
    note_reference(of, report->spec);
    of->items += parity->items;
    of->met += parity->met;
    of->differ += parity->differ;
    if (!parity->items && !of->unhashed++)
        snprintf(of->kernel, sizeof of->kernel, "%s", place_kernel(report->spec));
    bool first = parity->reveals && !parity->differ && !of->revealed;
    of->revealed |= first;
    return first;
}

/* Appends which side has more configurations, where that is known. */
static void put_sides(struct textbuf *text, const struct parity_report *parity)
{
    if (parity->reveals && !parity->differ)
        textbuf_printf(text, "; %u configurations agree on another, and it stands alone",
                       parity->with);
    else if (parity->agree)
        textbuf_printf(text, "; that launch stands alone: %u configurations agree on this",
                       parity->agree);
    else if (parity->others > parity->with)
        textbuf_printf(text, "; %u configurations agree on that", parity->others);
    else if (parity->others == 1)
        textbuf_printf(text, "; which of the two is right, the contract does not show");
}

/* Grid and block; the rest where it differs from that of this launch. */
static void put_how(struct textbuf *text, const struct parity_report *parity)
{
    const struct configuration *how = &parity->other_how, *here = &parity->how;
    textbuf_printf(text, " (grid %ux%ux%u, block %ux%ux%u", how->grid[0], how->grid[1],
                   how->grid[2], how->block[0], how->block[1], how->block[2]);
    if (how->shared_bytes != here->shared_bytes)
        textbuf_printf(text, ", %u bytes of shared memory, here %u", how->shared_bytes,
                       here->shared_bytes);
    if (how->function != here->function)
        textbuf_printf(text, ", function %u of its name, here %u", how->function + 1,
                       here->function + 1);
    textbuf_printf(text, ")");
}

static void put_other(struct textbuf *text, const struct parity_report *parity)
{
    textbuf_printf(text, "%s, launch %" PRIu64, PRINTABLE(place_kernel(parity->other)),
                   parity->other_launch);
    put_how(text, parity);
    if (parity->other_place.graph)
        textbuf_printf(text, " (node %u of graph %u, replay %" PRIu64 ")", parity->other_place.node,
                       parity->other_place.graph, parity->other_place.replay);
}

void parity_text(const struct parity_report *parity, char out[PARITY_TEXT])
{
    struct textbuf text;
    const struct contract *contract = parity->contract;
    textbuf_init_fixed(&text, out, PARITY_TEXT);
    textbuf_printf(&text, "contract %s: ", PRINTABLE(contract->name));
    if (parity->differ)
        textbuf_printf(&text, "%" PRIu64 " of %" PRIu64 " items that were seen before differ; ",
                       parity->differ, parity->met);
    textbuf_printf(&text, "item %" PRId64 " is item %" PRId64 " of ", parity->item,
                   parity->other_item);
    put_other(&text, parity);
    textbuf_printf(&text, parity->single ? ", which has one item, too, and gave other bits"
                                         : ", which gave another output");
    if (parity->differ && !contract->bits && !parity->single)
        textbuf_printf(&text, ": in element %" PRId64 " %.9g, here %.9g", parity->element,
                       parity->other_got, parity->got);
    put_sides(&text, parity);
}

void contract_line(const struct contract *contract, const struct contract_totals *totals,
                   struct textbuf *out)
{
    if (!totals->launches) {
        textbuf_printf(out, "    %s: no launch of its kernels was checked\n",
                       PRINTABLE(contract->name));
        return;
    }
    textbuf_printf(
        out, "    %s: %" PRIu64 " launches, %" PRIu64 " items, %" PRIu64 " of them seen before",
        PRINTABLE(contract->name), totals->launches, totals->items, totals->met);
    if (totals->differ)
        textbuf_printf(out, ", %" PRIu64 " with another output", totals->differ);
    if (!totals->met)
        textbuf_printf(out, ": nothing was compared");
    if (totals->apart)
        textbuf_printf(out, "; items of %s (%s) and %s (%s) never meet: their references differ",
                       PRINTABLE(place_kernel(totals->first)), totals->first->reference->name,
                       PRINTABLE(place_kernel(totals->apart)), totals->apart->reference->name);
    if (totals->unhashed)
        textbuf_printf(out, "; %" PRIu64 " launches have no such items (%s)", totals->unhashed,
                       PRINTABLE(totals->kernel));
    textbuf_printf(out, "\n");
}
