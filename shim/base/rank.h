/* rank.h - which process of a parallel job this one is, by the environment of its launcher. */
#ifndef BASE_RANK_H
#define BASE_RANK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The variables, in the order in which they are read; NULL behind the last. They are set by
 * torchrun; Open MPI; PMIx; MPICH and Intel MPI; MVAPICH2; Slurm; an indexed job of Kubernetes; and
 * LOCAL_RANK, which counts on one machine. Slurm's comes behind those of MPI, since the processes
 * that an mpirun starts have others; that of a Kubernetes job late, since a pod may hold several
 * processes.
 */
extern const char *const rank_names[];

/* The first of rank_names that holds a whole number. False: the process has no rank, *rank stays.
 * Reads the environment: call it at the start. */
bool rank_read(int64_t *rank);

#endif
