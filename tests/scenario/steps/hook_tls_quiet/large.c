/* large.c - a library with thread-local storage that the loader must place at once. */
__attribute__((visibility("default"))) char *large_place(void);

static __thread char large[4096] __attribute__((tls_model("initial-exec")));

char *large_place(void)
{
    return large;
}
