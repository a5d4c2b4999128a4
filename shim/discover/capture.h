/* capture.h - one launch as it is recorded: its parameters, its pointers, and the memory behind
 * them before and after it. */
#ifndef DISCOVER_CAPTURE_H
#define DISCOVER_CAPTURE_H

#include "base/error.h"
#include "bind/param_pointers.h"
#include "value/launch.h"

enum {
    CAPTURE_PARAMS = 4096,
    CAPTURE_POINTER_BYTES = 16 << 20, /* behind one pointer */
    CAPTURE_BYTES = 96 << 20          /* of one launch */
};

/* Memory that pointers lead to, and addresses in the first 64 KiB of such memory. */
struct capture_region {
    uint64_t address, bytes;
    uint8_t *before, *after; /* NULL: not read; `after` also where nothing changed */
};

struct capture {
    struct param_layout layout;
    uint8_t params[CAPTURE_PARAMS];
    size_t params_bytes; /* 0: too many, or the launch does not carry them */
    struct param_pointer pointer[PARAM_POINTERS];
    size_t pointers;
    struct capture_region region[PARAM_POINTERS];
    size_t regions;
};

/* Parameters and pointers. False: the driver has no parameter list. */
bool capture_params(struct capture *capture, const struct launch *launch);

/* Waits for the stream, and reads the memory. STATUS_TIMEOUT: the stream did not come to an end in
 * two seconds; then nothing is kept. */
enum status capture_before(struct capture *capture, const struct launch *launch, struct error *err);
enum status capture_after(struct capture *capture, const struct launch *launch, struct error *err);

void capture_release(struct capture *capture); /* its memory */

#endif
