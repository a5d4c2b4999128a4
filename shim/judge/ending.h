/*
 * ending.h - how a check ends: judged, or unchecked for a reason. Either way its cost is charged,
 * the reports are updated, and its slot and its memory are free again. Collector thread only.
 */
#ifndef JUDGE_ENDING_H
#define JUDGE_ENDING_H

#include "judge/modules/images.h"
#include "judge/judges.h"
#include "extra/hardware.h"
#include "context/side.h"
#include "value/sink.h"

/* Where results go, and what is kept between checks. */
struct ending {
    const struct sink *sink;
    struct images *images;     /* for bundles; NULL: none */
    struct hardware *hardware; /* NULL: off */
    struct judges judges;
};

/* The lane's check has its answer: a verdict, or SKIP_REFUSED. The lane is free afterwards. */
void ending_judge(struct ending *ending, struct side *side, struct lane *lane);

/* The check ends without a verdict. */
void ending_skip(struct ending *ending, struct side *side, struct check *check, enum skip skip);

/* Reports once for each kernel and reason why its launches are unchecked. */
void ending_warn(struct ending *ending, const struct check *check, enum skip skip,
                 const char *sentence);

#endif
