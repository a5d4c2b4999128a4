/*
 * back_end.h - which of the two back ends reports the program's launches: CUPTI's callbacks
 * (cupti_router.h) or the driver's wrapped entry points (entry.h).
 */
#ifndef HOOK_BACK_END_H
#define HOOK_BACK_END_H

#include <stdbool.h>
#include "base/error.h"

/*
 * Starts CUVET_HOOK's back end (`choice`: "auto", "cupti" or "entry"), or the other one where that
 * cannot start: then `instead` gets a sentence. `path`: CUVET_CUPTI, or "". Inside cuInit, behind
 * core_start. An error when neither can start: that of the chosen one.
 */
enum status back_end_start(const char *choice, const char *path, struct error *instead,
                           struct error *err);

/* Whether CUPTI reports launches; false before the start. */
bool back_end_is_cupti(void);

#endif
