/* other_injection.c - another tool that is already named by CUDA_INJECTION64_PATH. */
int InitializeInjection(void);

int InitializeInjection(void)
{
    return 1;
}
