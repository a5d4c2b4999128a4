/* early.cuh - for kernels that are brought to the GPU while the one in front still ends. */
#ifndef DEVICE_EARLY_CUH
#define DEVICE_EARLY_CUH

/* The kernel may be there before the one in front of it has ended (verify/enqueue.h): all threads
 * of all blocks pass here before they touch any memory. Machine code for 9.0 and later alone. */
static __device__ __forceinline__ void wait_for_stream()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif
