/* libfuzzer.c - one target, named by FUZZ_TARGET, under clang's libFuzzer: `make fuzz`. */
#include <stdlib.h>
#include "tests/fuzz/targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct target *target;
    const char *name = getenv("FUZZ_TARGET");
    if (!target)
        target = name ? target_find(name) : NULL;
    if (!target)
        abort();
    target->run(data, size);
    return 0;
}
