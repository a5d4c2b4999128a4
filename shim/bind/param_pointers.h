/*
 * param_pointers.h - which bytes of a launch's parameters are device pointers, for bundles: a
 * launch that is run again elsewhere gets other addresses there. Queries only; collector thread.
 */
#ifndef BIND_PARAM_POINTERS_H
#define BIND_PARAM_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include "value/check_report.h"
#include "value/launch.h"

enum { PARAM_POINTERS = 512 }; /* as many as 4 KiB of parameters have */

/* Tries each aligned 8-byte word of the packed parameters with the driver. An integer that happens
 * to be an address of an allocation counts as a pointer. Returns how many were found. */
size_t param_pointers_find(const struct param_layout *layout, const uint8_t *params, size_t bytes,
                           struct param_pointer out[PARAM_POINTERS]);

/* Whether the word is an address of memory of the driver: address, base and bytes. Any thread. */
bool param_pointer_look_up(uint64_t word, struct param_pointer *out);

struct report_machine report_machine_of(int device, int multiprocessors);

#endif
