/* entry.h - a kernel of Inductor as an entry of the draft: which parameter is which value. */
#ifndef INDUCTOR_ENTRY_H
#define INDUCTOR_ENTRY_H

#include "tools/inductor/source.h"
#include "tools/xla/draft.h"

/* STATUS_NO_MEMORY. A kernel without a formula is put into the draft with the reason. */
enum status entry_add(const struct source_kernel *kernel, struct xla_draft *draft);

#endif
