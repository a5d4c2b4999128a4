/*
 * module_variables.h - what the variables of a kernel's module hold, read from the program's memory
 * for a bundle: at the time of the report, which is later than the launch.
 *
 * A module must not be unloaded while its variables are looked up. So each unload is announced
 * before the driver gets the call, and waits while lookups are under way: some microseconds for
 * each variable. After an unload nothing is read for launches that came before it: whether it was
 * their module is not known.
 */
#ifndef JUDGE_MODULE_VARIABLES_H
#define JUDGE_MODULE_VARIABLES_H

#include "context/side.h"
#include "value/check_report.h"

/* Read for one bundle; no more than half of what side_staging_host has. */
enum { MODULE_VARIABLES = 256, MODULE_VARIABLES_BYTES = 1 << 20 };

/* The program's thread is about to unload a module or a library: waits for lookups under way. Any
 * thread; no lock of the driver may be held. */
void module_unload_begins(void);
/* It is unloading one, maybe inside the driver: counts it and does not wait. Any thread. */
void module_unload_seen(void);
/* How many there were: for check.unloads. Any thread, no lock. */
uint64_t module_unloads(void);

struct module_variables;

/* Those of the image that the check's kernel is of, for module_variables_free(). NULL: the image
 * cannot be read, or there is no memory. Collector thread only, the side's context current; blocks
 * until the side stream is idle, 10 s at most. */
struct module_variables *module_variables_read(struct side *side, const struct check *check,
                                               const void *image, size_t bytes, unsigned arch);
void module_variables_list(const struct module_variables *variables, struct bundle_variables *out);
void module_variables_free(struct module_variables *variables); /* NULL is fine */

#endif
