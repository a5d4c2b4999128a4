/* rank.h - which process of a parallel job this one is, by the environment of its launcher. */
#ifndef BASE_RANK_H
#define BASE_RANK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The variables, NULL behind the last: of torchrun; of Open MPI, PMIx, MPICH and Intel MPI,
 * MVAPICH2; of Slurm, where an mpirun's helpers have numbers of their own; of an indexed job of
 * Kubernetes, whose pod may hold several processes; of one machine.
 */
extern const char *const rank_names[];

/* The first of rank_names that holds a whole number. False: the process has no rank, *rank stays.
 * Reads the environment: call it at the start. */
bool rank_read(int64_t *rank);

#endif
