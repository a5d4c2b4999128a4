/* other_injection.c - a tool of somebody else's that is already named by CUDA_INJECTION64_PATH. */
int InitializeInjection(void);

int InitializeInjection(void)
{
    return 1;
}
