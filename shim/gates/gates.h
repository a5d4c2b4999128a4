/*
 * gates.h - whether a launch is checked, probed by the outlier gate, or passed over: one list of
 * gates, gates.def. What holds between launches (pipeline_state.h) may add a check to what it
 * passes over.
 *
 * Launches, library calls and the nodes of a graph's replay that are chosen pass the same list.
 *
 * On the program's thread. No lock, no allocation; waits for set-ups only.
 */
#ifndef GATES_GATES_H
#define GATES_GATES_H

#include "pipeline/pipeline.h"

/* The first part. ticket->kernel is set; of a node of a graph ticket->drawn, too. SKIP_NONE:
 * ticket->gate is what selected the launch; GATE_NO: the outlier gate may still probe it. */
enum skip gates_select(struct pipeline *pipeline, const struct launch *launch,
                       struct ticket *ticket);

/* The second part. SKIP_NONE: ticket->check has a slot, and room for its snapshot by the host's
 * estimate. Otherwise nothing is held, and a turn of the first launches is given back where the
 * reason may pass. `why`: a sentence for the user, or empty. */
enum skip gates_admit(struct pipeline *pipeline, const struct launch *launch, struct ticket *ticket,
                      struct error *why);

/* Whether the reason may pass: a first launch that meets it gives its turn to a later one. */
bool gates_may_pass(enum skip skip);

/* The launch was passed over, as ticket->skip: notes where the back end may do so with the next
 * ones by itself. */
void gates_note_passed(const struct pipeline *pipeline, const struct ticket *ticket);

/* SKIP_CAPTURED: the launch goes into a graph; SKIP_DRIVER: the driver's query fails. */
enum skip gates_captures(const struct launch *launch, struct error *why);

#endif
