/* rank.h - which process of a parallel job this one is, by the environment of its launcher. */
#ifndef BASE_RANK_H
#define BASE_RANK_H

#include <stdbool.h>
#include <stdint.h>

/* The first of RANK, OMPI_COMM_WORLD_RANK, SLURM_PROCID, LOCAL_RANK that holds a whole number.
 * False: the process has no rank, *rank stays. Reads the environment: call it at the start. */
bool rank_read(int64_t *rank);

#endif
