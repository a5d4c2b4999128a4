/* runtime.h - what the files of the runtime's stand-in share.
 *
 * Results of the runtime have the numbers of the driver's. Thread-safe: the last error belongs to a
 * thread, the contexts and the tables of kernels have locks. */
#ifndef SOFTGPU_RUNTIME_RUNTIME_H
#define SOFTGPU_RUNTIME_RUNTIME_H

#include <cuda.h>
#include <cuda_runtime_api.h>

/* The calling thread gets the primary context of device 0 where it has no context. */
CUresult runtime_enter(void);

/* The call's result, which becomes the thread's last error unless it is success or "not ready". */
cudaError_t runtime_result(CUresult result);

/* `call` in a context. */
#define RUNTIME_CALL(call)                                                                         \
    do {                                                                                           \
        CUresult entered_ = runtime_enter();                                                       \
        return runtime_result(entered_ ? entered_ : (call));                                       \
    } while (0)

/* The kernel of a host function: its module is loaded when it is first wanted. */
CUresult runtime_kernel(const void *function, CUkernel *out);

#endif
