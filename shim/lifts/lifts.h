/*
 * lifts.h - kernels that no entry names, made into references of their own: found by the image of
 * their module, lifted once, counted by reason where they cannot be.
 */
#ifndef LIFTS_H
#define LIFTS_H

#include "pipeline/pipeline.h"
#include "text/textbuf.h"

struct lifts;

/* From now on kernels of the pipeline that no entry names are lifted at their first launch, where
 * they can be: PTX of some 100 KB at most is read in milliseconds. Kernels of fatbins are lifted
 * on a thread of cuvet, and are without an entry until then. Before the first launch; lives as long
 * as the pipeline. NULL: no memory, or the program allows no module to be loaded while it
 * runs. */
struct lifts *lifts_start(struct pipeline *pipeline, struct registry *registry);

/* Ends the thread that reads PTX, once; see lifts_reader.h. NULL is fine. */
void lifts_stop(struct lifts *lifts, int wait_ms);

/* Writes "12 kernels are held against their own PTX; 3 are not: tensor-core instructions 2, atomics
 * 1"; nothing where no PTX was read. */
void lifts_print(struct lifts *lifts, struct textbuf *out);

#endif
