#include "tools/discover/facts/ptx_facts.h"

#include <stdlib.h>
#include <string.h>
#include "tools/discover/facts/ptx_text.h"

bool ptx_facts_read(const struct seen_kernel *kernel, struct param_fact out[LAYOUT_MAX],
                    unsigned *params)
{
    char *text = ptx_text_of(kernel);
    bool found =
        text && facts_read(text, strlen(text), kernel->names.mangled, out, LAYOUT_MAX, params);
    if (!found)
        memset(out, 0, LAYOUT_MAX * sizeof *out);
    free(text);
    return found;
}

bool ptx_facts_places(const struct seen_kernel *kernel, const struct facts_place *place,
                      unsigned places, struct param_fact *out, unsigned *params)
{
    char *text = ptx_text_of(kernel);
    bool found = text && facts_read_places(text, strlen(text), kernel->names.mangled, place, places,
                                           out, params);
    if (!found)
        memset(out, 0, places * sizeof *out);
    free(text);
    return found;
}

unsigned ptx_facts_fields(const struct seen_kernel *kernel, struct facts_place *out, unsigned most)
{
    char *text = ptx_text_of(kernel);
    unsigned count = text ? facts_fields(text, strlen(text), kernel->names.mangled, out, most) : 0;
    free(text);
    return count;
}
