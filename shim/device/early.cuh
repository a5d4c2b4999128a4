/* early.cuh - for kernels that are brought to the GPU while the one in front still ends, and the
 * next one while they end themselves. Machine code for 9.0 and later alone. */
#ifndef DEVICE_EARLY_CUH
#define DEVICE_EARLY_CUH

/* The kernel may be there before the one in front of it has ended (context/enqueue.h): all threads
 * of all blocks pass here before they touch the program's memory. */
static __device__ __forceinline__ void wait_for_stream()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* One thread of each block, which reads nothing of the program's any more: the next kernel may
 * come, if it was launched to be there before this one has ended. It waits where it needs what this
 * one, or one before it, has written. */
static __device__ __forceinline__ void let_next_come()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#endif
