/* other.c - a tool that CUDA_INJECTION64_PATH names and that only prints so. */
#include <stdio.h>

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
    puts("another tool was here");
    return 1;
}
