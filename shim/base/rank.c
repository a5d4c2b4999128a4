#include "base/rank.h"

#include <stdlib.h>

const char *const rank_names[] = {
    "RANK",         "OMPI_COMM_WORLD_RANK", "PMIX_RANK",  "PMI_RANK", "MV2_COMM_WORLD_RANK",
    "SLURM_PROCID", "JOB_COMPLETION_INDEX", "LOCAL_RANK", NULL};

bool rank_read(int64_t *rank)
{
    for (size_t i = 0; rank_names[i]; i++) {
        const char *text = getenv(rank_names[i]);
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
