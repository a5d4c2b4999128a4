/* ptx_text.c - the PTX text of a recorded image. */
#include "tools/discover/facts/ptx_text.h"

#include <stdlib.h>
#include <string.h>
#include "tools/worker/image.h"

char *ptx_text_of(const struct seen_kernel *kernel)
{
    struct image_piece *pieces;
    struct error err = {{0}};
    char *text = NULL;
    if (!kernel->image)
        return NULL;
    size_t count = image_split(kernel->image, kernel->image_bytes, &pieces, &err);
    for (size_t i = 0; i < count && !text; i++) {
        struct image_text found;
        image_text_read(&found, &pieces[i], NULL);
        if (found.text && strstr(found.text, kernel->names.mangled)) {
            text = found.text;
            found.text = NULL;
        }
        image_text_release(&found);
    }
    if (count)
        free(pieces);
    return text;
}
