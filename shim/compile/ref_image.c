#include "compile/ref_image.h"

#include <stdlib.h>
#include <string.h>

static char *copy_of(const char *bytes, size_t size)
{
    char *copy = malloc(size);
    if (copy)
        memcpy(copy, bytes, size);
    return copy;
}

bool ref_image_fill(struct ref_image *image, const char *bytes, size_t cubin, size_t ptx)
{
    *image = (struct ref_image){0};
    if (cubin + ptx == 0 || (ptx && bytes[cubin + ptx - 1] != '\0'))
        return false;
    if (cubin && (image->cubin = copy_of(bytes, cubin)))
        image->cubin_bytes = cubin;
    if (ptx && (image->ptx = copy_of(bytes + cubin, ptx)))
        image->ptx_bytes = ptx;
    if (image->cubin_bytes == cubin && image->ptx_bytes == ptx)
        return true;
    ref_image_release(image);
    return false;
}

void ref_image_release(struct ref_image *image)
{
    free(image->cubin);
    free(image->ptx);
    *image = (struct ref_image){0};
}
