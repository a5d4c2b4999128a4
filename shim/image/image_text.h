/*
 * image_text.h - the PTX text of the code that a device runs of a fatbin.
 *
 * It is taken in two steps, since the fatbin may be unloaded at any time: a copy of one entry, for
 * which the fatbin must lie still, and the text, which takes milliseconds.
 */
#ifndef IMAGE_IMAGE_TEXT_H
#define IMAGE_IMAGE_TEXT_H

#include "image/fatbin.h"
#include "lift/lift.h"

/* Bytes of an entry, of its text, and of the part that one kernel needs: most are far below. */
enum { IMAGE_ENTRY_BYTES = 16 << 20, IMAGE_TEXT_BYTES = 64 << 20, IMAGE_KERNEL_BYTES = 4 << 20 };

struct packed_text {
    struct fatbin_part part;   /* `at` is malloc'd */
    enum lift_refusal no_text; /* the reason where it turns out to have no text */
};

/*
 * Copies the entry that has the text: PTX where the device compiles it, or where its machine code
 * was made of it; else the machine code, which may carry its PTX. LIFT_OK, or why there is none.
 */
enum lift_refusal packed_text_copy(const void *fatbin, size_t bytes, unsigned arch,
                                   struct packed_text *out);
void packed_text_free(struct packed_text *packed);

/* The text, for free(), `length` long and terminated: LIFT_OK, or why there is none. */
enum lift_refusal packed_text_read(const struct packed_text *packed, char **text, size_t *length);

/*
 * The part of a text that one kernel needs: all but the other kernels. For free(), terminated;
 * NULL: no memory. `text` ends with a NUL.
 */
char *text_of_kernel(const char *text, size_t length, const char *symbol, size_t *out_length);

#endif
