#include "tools/discover/ptx_facts.h"

#include <stdlib.h>
#include <string.h>
#include "tools/discover/ptx_text.h"

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
