/* image.h - the file that holds the kernel; of a folder, the file of that kernel in it. */
#ifndef TOOLS_FUZZ_IMAGE_H
#define TOOLS_FUZZ_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"
#include "tools/fuzz/case/rule.h"

struct fuzz_image {
    void *bytes;
    size_t count;
    char path[4096];
    struct fuzz_known known[4]; /* of KERNEL.json beside it; ends with a NULL name */
};

/* STATUS_INVALID, STATUS_NOT_FOUND, STATUS_IO: and why. */
enum status fuzz_image_read(struct fuzz_image *out, const char *path, struct error *err);

bool fuzz_image_is_folder(const char *path);

/* Of a folder (Triton's cache): the newest file KERNEL.cubin in it or below it, or KERNEL.ptx where
 * the device takes `text`; the other where there is none. */
enum status fuzz_image_find(struct fuzz_image *out, const char *folder, const char *kernel,
                            bool text, struct error *err);
void fuzz_image_release(struct fuzz_image *image);

#endif
