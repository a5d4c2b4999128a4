/* carried_text.h - the PTX text of a module image. No state: any thread may call. */
#ifndef IMAGE_CARRIED_TEXT_H
#define IMAGE_CARRIED_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a module image has PTX text; NULL has none. */
bool carries_text(const void *image, size_t bytes);
/* The PTX text of a module image: PTX as it is, or what a cubin carries for debuggers. Allocated,
 * `bytes` long and terminated; NULL: there is none, or no memory. */
char *carried_text_of(const void *image, size_t image_bytes, size_t *bytes);

#endif
