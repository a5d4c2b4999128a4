/* store.h - a case that failed, as a bundle that `cuvet replay` takes. */
#ifndef TOOLS_FUZZ_STORE_H
#define TOOLS_FUZZ_STORE_H

#include "tools/fuzz/subject.h"

/* Writes FOLDER/KERNEL-PID-NUMBER for the case that the subject ran last. `path` has room for
 * BUNDLE_PATH bytes. */
enum status fuzz_store(struct fuzz_subject *subject, const struct fuzz_case *c,
                       const struct fuzz_result *result, uint64_t number, const char *folder,
                       char *path, struct error *err);

#endif
