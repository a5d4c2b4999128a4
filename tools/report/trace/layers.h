/* layers.h - the layer that a launch belongs to: what an extended regular expression finds in its
 * NVTX range, else in its label or its kernel's name. */
#ifndef TOOLS_REPORT_LAYERS_H
#define TOOLS_REPORT_LAYERS_H

#include <regex.h>
#include <stdbool.h>
#include "base/error.h"

enum { LAYER_BYTES = 128 };

struct layers {
    regex_t regex;
    bool compiled;
};

enum status layers_compile(struct layers *layers, const char *pattern, struct error *err);
void layers_release(struct layers *layers);

/* The first group, or the whole match, of the first text that has one; texts may be NULL. False:
 * none has. */
bool layers_find(const struct layers *layers, const char *const texts[3], char out[LAYER_BYTES]);

#endif
