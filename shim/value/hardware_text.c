#include "value/hardware_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One number, where it is known, behind what is there. */
static void add_property(char out[HARDWARE_TEXT], bool known, const char *before, int64_t number,
                         const char *unit)
{
    char word[64];
    snprintf(word, sizeof(word), ", %s%" PRId64 " %s", before, number, unit);
    if (known)
        strncat(out, word, HARDWARE_TEXT - strlen(out) - 1);
}

const char *hardware_text(const struct hardware_report *h, char out[HARDWARE_TEXT])
{
    const char *what = h->suspected    ? "not reproduced: hardware suspected"
                       : h->mismatches ? "repeats"
                                       : "not known to repeat";
    snprintf(out, HARDWARE_TEXT,
             "       %s: of earlier checks of such launches %" PRIu64 " match, %" PRIu64
             " do not\n%s       device   %s",
             what, h->matches, h->mismatches,
             h->again && !h->repeats ? "       the reference, run again on the same bytes, finds "
                                       "the worst element right\n"
                                     : "",
             h->uuid[0] ? h->uuid : "of unknown UUID");
    add_property(out, h->clock > 0, "multiprocessors at ", h->clock, "MHz");
    add_property(out, h->celsius >= 0, "", h->celsius, "C");
    add_property(out, h->ecc >= 0, "", h->ecc, "uncorrected memory errors");
    strncat(out, "\n", HARDWARE_TEXT - strlen(out) - 1);
    return out;
}
