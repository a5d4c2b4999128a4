/*
 * recorder.h - what kernels without an entry are launched with, for `cuvet discover`
 * (CUVET_MODE=discover).
 *
 * Of each kernel a few launches are recorded: shape, parameters, where pointers lead and how far
 * memory goes from there, and of some what that memory holds before and after the launch. Unlike
 * everything else on the path of a launch this waits for the stream, allocates and writes files: a
 * recorded run is slow, and nothing in it is checked.
 */
#ifndef DISCOVER_RECORDER_H
#define DISCOVER_RECORDER_H

#include <stdbool.h>
#include "base/error.h"
#include "base/options.h"
#include "value/gpu_time.h"
#include "value/launch.h"

struct images;
struct quota;
struct recorder;

/* Whether the options enable it. */
bool recorder_wanted(const struct options *options);

/* **out is NULL where the options disable it. Writes into the report folder. `images`: keeps all
 * modules' (images_keep_all). */
enum status recorder_create(struct recorder **out, const struct options *options,
                            struct images *images, struct quota *quota, struct error *err);

/* Around a launch of a kernel that no entry fits, on its thread. begin: where the launch's time is
 * counted, or NULL. */
struct gpu_time *recorder_begin(struct recorder *recorder, const struct launch *launch,
                                const char *symbol);
void recorder_end(struct recorder *recorder, const struct launch *launch, bool ran);

/* A kernel node of a CUDA graph: what it will be launched with, recorded without memory. */
void recorder_node(struct recorder *recorder, const struct launch *node, const char *symbol);

/* After the last launch and timing_stop: the totals of each kernel. */
void recorder_finish(struct recorder *recorder);

#endif
