/* probe_work.h - a probe under way, shared by the files of this folder. */
#ifndef TOOLS_PROBE_PROBE_WORK_H
#define TOOLS_PROBE_PROBE_WORK_H

#include "tools/probe/probe.h"

/* The dense elements of each output of one run; NULL for arrays that are not written. */
struct probe_outputs {
    uint8_t *dense[BUNDLE_ARRAYS];
    struct worker_result result;
};

enum { PROBE_POISON = 0x7b, PROBE_LEARNT = 3 /* launches that show a relation */ };

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

/* The array's name, "" for none. */
const char *probe_array(const struct probe *probe, int array);

/* The number that a 4 or 8 byte parameter holds; 0 where it is none, or an address of an array. */
int64_t probe_number(const struct probe *probe, unsigned param);
/* The same in a buffer of parameters. */
void probe_set_number(const struct probe *probe, unsigned param, int64_t value, uint8_t *params);

/* probe_relations.c: the bundle's inputs into the scene, in another order where `seed` is not 0. */
enum status probe_refill(struct probe *probe, uint64_t seed, struct error *err);
/* The rows that every output has; 0: none. */
int64_t probe_rows(const struct probe *probe);
/* Rows of an array that is an input and has them. */
int64_t probe_input_rows(const struct probe *probe, int array);
/* Whether the relation of rows holds by the settings, or because the reference declares that the
 * rows of its first output are independent. */
bool probe_rows_declared(const struct probe *probe, enum probe_check check);
enum status probe_scale(struct probe *probe, struct error *err);
enum status probe_permute(struct probe *probe, struct error *err);
enum status probe_neighbours(struct probe *probe, struct error *err);

/* probe_split.c */
enum status probe_split(struct probe *probe, struct error *err);
/* probe_far.c */
enum status probe_far(struct probe *probe, struct error *err);

#endif
