/* ref_host.h - run a reference on the host: the CPU oracle of offline tools and unit tests. */
#ifndef REFS_REF_HOST_H
#define REFS_REF_HOST_H

#include "ref_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Runs the built-in reference `name` over host memory. `call` as on the GPU, except that partial
 * and ticket are ignored and group is taken as 1. Blocks. Returns 0, or -1 for an unknown name.
 */
int ref_host_run(const char *name, const struct ref_call *call, int wide);

#ifdef __cplusplus
}
#endif
#endif
