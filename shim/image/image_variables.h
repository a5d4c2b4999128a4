/*
 * image_variables.h - the variables of a module: its names in global and constant memory, and what
 * each holds when the module has been loaded.
 *
 * Machine code lists them as symbols, PTX as declarations. Strings and other names of the compiler
 * ("$str") are not among them, nor is what another module defines. Which of them a kernel reads is
 * not in its machine code: addresses of all are in one table of the module.
 *
 * Pure functions over bytes, which are validated. The result borrows from the image.
 */
#ifndef IMAGE_IMAGE_VARIABLES_H
#define IMAGE_IMAGE_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_variable {
    const char *name; /* mangled */
    uint64_t bytes;
    const uint8_t *initial; /* NULL: zeros */
    bool linked;            /* it begins with addresses, which the driver fills in */
};

struct image_variables {
    struct image_variable *list;
    size_t count;
    void *code; /* what was unpacked or parsed for the list */
    struct ptx_module *ptx;
};

/* Of what a device of `arch` (90) runs of the image: a cubin, PTX, or a fatbin. False: the image
 * cannot be read, or there is no memory. To be released. */
bool image_variables_read(struct image_variables *out, const void *image, size_t bytes,
                          unsigned arch);
void image_variables_release(struct image_variables *variables);

/* Whether `value`, as many bytes as the variable has, is what it holds at first. */
bool image_variable_is_initial(const struct image_variable *variable, const void *value);

#endif
