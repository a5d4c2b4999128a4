/*
 * parity.h - contracts between launches: an item that two of them read must have one result, in
 * bits or within a margin. Held against each other are the launches that the gates picked for a
 * check. Collector thread only.
 */
#ifndef EXTRA_PARITY_H
#define EXTRA_PARITY_H

#include "context/side.h"
#include "extra/meetings.h"
#include "value/check_report.h"

/* Whether items of this check are hashed: its kernel has a contract, and all that it reads is seen.
 */
bool parity_wanted(const struct check *check);

/* Compares the lane's items with earlier ones and fills report->parity. `call` has the addresses in
 * the snapshot; *meetings is made when it is first needed. The side's context is current. */
void parity_compare(struct meetings **meetings, struct side *side, const struct lane *lane,
                    const struct ref_call *call, struct check_report *report);

#endif
