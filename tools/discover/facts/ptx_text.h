/* ptx_text.h - the PTX text of a recorded image, for free(); NULL: it holds none of the kernel. */
#ifndef TOOLS_DISCOVER_PTX_TEXT_H
#define TOOLS_DISCOVER_PTX_TEXT_H

#include "tools/discover/facts/record.h"

char *ptx_text_of(const struct seen_kernel *kernel);

#endif
