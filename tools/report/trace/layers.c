#include "tools/report/trace/layers.h"

#include <stdio.h>

enum status layers_compile(struct layers *layers, const char *pattern, struct error *err)
{
    char why[200];
    int failed = regcomp(&layers->regex, pattern, REG_EXTENDED);
    layers->compiled = !failed;
    if (!failed)
        return STATUS_OK;
    regerror(failed, &layers->regex, why, sizeof why);
    return error_set(err, STATUS_INVALID, "--layer: %s", why);
}

void layers_release(struct layers *layers)
{
    if (layers->compiled)
        regfree(&layers->regex);
    layers->compiled = false;
}

bool layers_find(const struct layers *layers, const char *const texts[3], char out[LAYER_BYTES])
{
    regmatch_t match[2];
    for (int i = 0; i < 3; i++) {
        if (!texts[i] || regexec(&layers->regex, texts[i], 2, match, 0) != 0)
            continue;
        const regmatch_t *group = match[1].rm_so >= 0 ? &match[1] : &match[0];
        snprintf(out, LAYER_BYTES, "%.*s", (int)(group->rm_eo - group->rm_so),
                 texts[i] + group->rm_so);
        return true;
    }
    return false;
}
