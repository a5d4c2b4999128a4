/*
 * run_audit.h - the auditor of `cuvet run`: libcuvet-audit.so, beside the library, gives programs
 * the wrappers of the driver's functions (hook/entry.h). Where it is missing, CUPTI reports
 * launches.
 */
#ifndef TOOLS_RUN_AUDIT_H
#define TOOLS_RUN_AUDIT_H

#include "text/textbuf.h"

/* LD_AUDIT for the program, behind what it is now; nothing where CUVET_HOOK needs no auditor or
 * there is none beside `library`. */
void run_audit_find(struct textbuf *audit, const char *library);

/* In the child: sets what that takes. */
void run_audit_set(const struct textbuf *audit);

#endif
