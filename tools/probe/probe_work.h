/* probe_work.h - a probe under way, shared by the files of this folder. */
#ifndef TOOLS_PROBE_PROBE_WORK_H
#define TOOLS_PROBE_PROBE_WORK_H

#include "tools/probe/probe.h"

/* The dense elements of each output of one run; NULL for arrays that are not written. */
struct probe_outputs {
    uint8_t *dense[BUNDLE_ARRAYS];
    struct worker_result result;
};

struct probe {
    struct scene *scene;
    const struct probe_settings *settings;
    struct probe_report *report;
    enum probe_check now;
    struct probe_outputs first;       /* of the launch as it was */
    uint8_t *unsteady[BUNDLE_ARRAYS]; /* a byte an element: 1 where runs differ */
};

/* Counts, and the place of the first. */
struct probe_count {
    uint64_t elements;
    int array;
    int64_t first;
};

/* One run; where `raw` is given it is kept there for the caller to release. */
enum status probe_run(struct probe *probe, const struct scene_change *change,
                      struct probe_outputs *out, struct scene_run *raw, struct error *err);
void probe_release(struct probe_outputs *outputs);

void probe_good(struct probe *probe, enum probe_check check);
void probe_find(struct probe *probe, enum probe_check check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void probe_skip(struct probe *probe, enum probe_check check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Elements of the outputs that differ, without those that are unsteady. */
struct probe_count probe_differ(const struct probe *probe, const struct probe_outputs *a,
                                const struct probe_outputs *b);

/* probe_relations.c: the bundle's inputs into the scene, in another order where `seed` is not 0. */
enum status probe_refill(struct probe *probe, uint64_t seed, struct error *err);
enum status probe_scale(struct probe *probe, struct error *err);
enum status probe_permute(struct probe *probe, struct error *err);
enum status probe_neighbours(struct probe *probe, struct error *err);

#endif
