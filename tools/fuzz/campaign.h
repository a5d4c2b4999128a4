/* campaign.h - a run of `cuvet fuzz`: cases one after the other, findings, and what is printed. */
#ifndef TOOLS_FUZZ_CAMPAIGN_H
#define TOOLS_FUZZ_CAMPAIGN_H

#include "tools/fuzz/subject.h"

struct fuzz_probing;
struct fuzz_record;

struct fuzz_settings {
    uint64_t seed;          /* of the run */
    bool one;               /* the one case whose seed is `seed` */
    uint64_t cases;         /* of all shards */
    double seconds;         /* 0: no limit */
    uint64_t shard, shards; /* this run has the cases whose number modulo `shards` is `shard` */
    uint64_t findings;      /* that end the run; 0: none does */
    bool keep;              /* every case that was judged becomes a bundle, not findings alone */
    unsigned shrink;    /* launches that a smaller case may take; 0: findings are left as drawn */
    const char *folder; /* of bundles; NULL: none are written */
    const struct fuzz_probing *probing; /* of cases that have no finding; NULL: none is probed */
    struct fuzz_record *record;         /* of the run; NULL: none */
    bool json;                          /* one object a line on standard output */
    bool list;                          /* print every case */
};

struct fuzz_totals {
    uint64_t cases, outcome[FUZZ_OUTCOMES], findings;
    uint64_t probed, probes; /* cases, and launches of these */
    double seconds;
};

/* STATUS_INVALID: no case could be drawn, or none was judged; others: the worker failed. */
enum status fuzz_campaign(struct fuzz_subject *subject, const struct fuzz_settings *settings,
                          struct fuzz_totals *totals, struct error *err);

#endif
