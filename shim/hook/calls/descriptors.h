/*
 * descriptors.h - what the program has set on cuDNN's backend descriptors: a record for each, by
 * its handle. The library has queries for most attributes of a descriptor, but not for the
 * operations of a graph, so these are recorded when they are set.
 *
 * All functions may be called from any thread. Records are made and filled where the program builds
 * its plans. Packs, which it makes for every execution, are kept by the thread that makes them,
 * take no memory and no lock, and are visible to that thread alone.
 */
#ifndef HOOK_CALLS_DESCRIPTORS_H
#define HOOK_CALLS_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>
#include "hook/calls/cudnn_plan.h"
#include "hook/calls/cudnn_types.h"

/* After success of the functions that make and fill in a descriptor, and before the one
 * that destroys it. One that is made while calls are not seen is `gone`, too: its handle may have
 * been another's. */
void descriptors_made(const void *handle, int type);
void descriptors_set(const void *handle, int name, int type, int64_t count, const void *values);
void descriptors_gone(const void *handle);

/* After success of finalizing. The configuration of a plan whose engine may round partial sums, as
 * the configuration has it; NULL for all else. */
const void *descriptors_finalized(const void *handle);

/* The engine of this plan does. */
void descriptors_reduced(const void *plan);

/* Heuristics filled in `count` engine configurations. */
void descriptors_listed(const void *heuristics, int64_t count, const void *const *configs);

/* What the plan computes on the pack's arrays. False: the plan or the pack is not known. */
bool descriptors_execution(const void *plan, const void *pack, struct dnn *out);

/* ---- reading a graph, inside dnn_plan_make ---- */

/* An attribute's number of values; 0: it was not set. */
int64_t descriptor_count(const struct descriptor *d, int name);

/* Value i of an attribute that is a whole number or an enumeration; `missing` where it was not set.
 */
int64_t descriptor_integer(const struct descriptor *d, int name, int64_t i, int64_t missing);
double descriptor_real(const struct descriptor *d, int name, double missing);

/* The descriptor that value i is; NULL: none. */
const struct descriptor *descriptor_child(const struct descriptor *d, int name, int64_t i);

/* enum dnn_descriptor, or a number that it does not have; -1 of NULL. */
int descriptor_type(const struct descriptor *d);

#endif
