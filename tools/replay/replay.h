/* replay.h - a bundle's launch run again and compared with what it gave in the program. */
#ifndef TOOLS_REPLAY_REPLAY_H
#define TOOLS_REPLAY_REPLAY_H

#include "tools/replay/scene.h"

/* An output of the first run that ended, beside the program's. */
struct replay_output {
    const char *name;
    uint64_t compared, differing; /* elements; those that are not written do not differ */
    double max_abs;               /* largest difference of two numbers */
    int64_t first;                /* the first element that differs, row major; -1 */
    uint64_t unwritten;           /* hold other bytes than in the program, and are never written */
    int64_t first_unwritten;      /* or -1 */
};

struct replay_report {
    int runs;                     /* that ended */
    int same;                     /* with the program's bytes in every output */
    int distinct;                 /* different results among them */
    struct worker_result stopped; /* the first run that did not end, where one did not */
    bool same_ending;             /* ... as in the bundle, whose finding is that fault or hang */
    struct replay_output output[BUNDLE_ARRAYS];
    int outputs;
    bool judged; /* numbers and verdict are the reference's, of the first run ... */
    struct ref_verdict numbers;
    enum verdict verdict;
    struct error why_not;    /* ... or this is why there are none */
    uint64_t outside;        /* bytes around the arrays that the first run wrote */
    uint64_t inputs;         /* bytes of inputs that it changed */
    uint32_t held;           /* multiprocessors held beside every run: the fewest */
    bool freed;              /* ... not until the end of each */
    bool values;             /* module variables held the bundle's values ... */
    int absent;              /* ... but for these, which the image lacks ... */
    const char *absent_name; /* ... one of them; or NULL */
    bool initial;            /* module variables hold what the image begins with: with the bundle's
                              * values the launch is not reproduced, and with these it is */
};

struct replay_settings {
    int times;
    enum worker_oracle oracle;
    bool stored;   /* no run: the reference is held against the program's outputs */
    uint64_t seed; /* interpreter: order of blocks; each further run adds one; 0: in turn */
    bool one_sm;   /* GPU: busy blocks hold all multiprocessors but `sm` */
    uint32_t sm;
};

enum status replay_bundle(struct scene *scene, const struct replay_settings *settings,
                          struct replay_report *out, struct error *err);

/* Whether the launch gave the program's bytes in all runs, or ended with the bundle's fault or
 * hang. */
bool replay_reproduced(const struct replay_report *report);

/* Whether all blocks of all runs must have run on the multiprocessor of the settings. */
bool replay_landed(const struct replay_report *report, const struct worker_about *about);

#endif
