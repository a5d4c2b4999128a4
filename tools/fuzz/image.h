/* image.h - the file that holds the kernel; of a folder, the file of that kernel in it. */
#ifndef TOOLS_FUZZ_IMAGE_H
#define TOOLS_FUZZ_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"
#include "tools/fuzz/case/rule.h"

enum { FUZZ_KNOWN = 4 };

struct fuzz_image {
    void *bytes;
    size_t count;
    char path[4096];
    struct fuzz_known known[FUZZ_KNOWN]; /* by fuzz_image_known; ends with a NULL name */
};

/* STATUS_INVALID, STATUS_NOT_FOUND, STATUS_IO: and why. */
enum status fuzz_image_read(struct fuzz_image *out, const char *path, struct error *err);

bool fuzz_image_is_folder(const char *path);

/* Of a folder (Triton's cache): the newest file KERNEL.cubin in it or below it, or KERNEL.ptx where
 * the device takes `text`; the other where there is none. */
enum status fuzz_image_find(struct fuzz_image *out, const char *folder, const char *kernel,
                            bool text, struct error *err);

/* What Triton wrote into KERNEL.json beside the image, which launches need and no image holds.
 * STATUS_INVALID: there is such a file, and it is damaged. */
enum status fuzz_image_known(struct fuzz_image *image, struct error *err);
/* The same of the file's text. `path` is for messages. */
enum status fuzz_known_read(struct fuzz_known known[FUZZ_KNOWN], const char *text, size_t bytes,
                            const char *path, struct error *err);
void fuzz_image_release(struct fuzz_image *image);

#endif
