/*
 * probing.h - what each recorded launch reads and writes, found by running it again (rerun.h): once
 * as it was, and once for each array with another content in it (poison.h).
 *
 * An array is read where another content changes any result, and written where an element does not
 * keep what it was given. The first and the last byte that is read are found by halving.
 */
#ifndef TOOLS_DISCOVER_PROBING_H
#define TOOLS_DISCOVER_PROBING_H

#include "tools/discover/facts/facts.h"
#include "tools/discover/trial/rerun.h"

/* Launches of one kernel. */
struct probing_report {
    unsigned launches;      /* whose memory was recorded */
    unsigned same, rounded; /* gave what was recorded, by their bits or within rounding */
    bool late;              /* the time was over before all was done */
    char sentence[700];     /* why the first of the others could not be used; "" */
};

struct probing_settings {
    int64_t until; /* by clock_ns() */
    /* Called before each launch is run again; or NULL. */
    void (*progress)(void *user, unsigned launch, unsigned launches);
    void *user;
};

/* Fills in `probed` of the arrays; facts_settle() takes it over. */
void probing_run(struct rerun *rerun, struct facts *facts, const struct probing_settings *settings,
                 struct probing_report *report);

#endif
