/*
 * library_call.h - a product of cuBLAS or cuBLASLt made again: the subject of a bundle whose
 * finding is a library call. The library is opened at run time, on the CUDA context that is
 * current.
 */
#ifndef TOOLS_WORKER_LIBRARY_CALL_H
#define TOOLS_WORKER_LIBRARY_CALL_H

#include "tools/worker/worker.h"

struct library_call;

/* The call of that name ("cublasLtMatmul<f16, f16, f32, f32>"). `library`: a file to open in place
 * of the one that is found, or "". STATUS_UNSUPPORTED: it cannot be made again, and why. */
enum status library_call_find(const char *name, const char *library, struct library_call **out,
                              struct worker_kernel *about, struct error *err);

/* Bytes of scratch that the program gave the library; 0: none. */
uint64_t library_call_workspace(const struct worker_launch *launch);

/* Makes the call with launch->params, struct product_arguments with addresses of this process, on
 * the legacy stream; `workspace` is 0 or has library_call_workspace bytes. WORKER_RAN: it was
 * enqueued; else WORKER_REFUSED with a sentence. */
void library_call_run(struct library_call *call, const struct worker_launch *launch,
                      uint64_t workspace, struct worker_result *out);

#endif
