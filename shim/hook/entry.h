/*
 * entry.h - the back end that wraps the driver's functions, without CUPTI.
 *
 * Each function of entry_apis.def has a wrapper, exported as cuvet_entry_NAME. A program gets their
 * addresses in place of the driver's from libcuvet-audit.so, which `cuvet run` names in LD_AUDIT
 * (dlsym and linked calls), and from cuGetProcAddress, which is wrapped too and which the library
 * also exports under its own name. While the back end is off a wrapper only calls the driver.
 *
 * The library's own driver calls never come here: they go by the table of driver/cuda_api.h.
 */
#ifndef HOOK_ENTRY_H
#define HOOK_ENTRY_H

#include <stdbool.h>
#include "base/error.h"

/* Wrappers may be handed out by cuGetProcAddress. `at_init`: called behind each cuInit of the
 * program that passes a wrapper. By the library's constructor. */
void entry_allow(void (*at_init)(void));

/* Whether the program's calls come here: an auditor gives it the wrappers, or it got cuInit itself
 * from cuGetProcAddress. Where only some calls came, the end of a context could be missed. */
bool entry_reached(void);

/* Whether libcuvet-audit.so gave them. */
bool entry_by_audit(void);

/* Turns the wrappers on, behind core_start. STATUS_NOT_FOUND when the driver cannot name kernels
 * (before 12.3). */
enum status entry_start(struct error *err);

#endif
