#include "base/rank.h"

#include <stdlib.h>

bool rank_read(int64_t *rank)
{
    static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID",
                                        "LOCAL_RANK"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = getenv(names[i]);
        char *end;

        if (!text || !*text)
            continue;
        long long value = strtoll(text, &end, 10);
        if (*end != '\0')
            continue;
        *rank = value;
        return true;
    }
    return false;
}
