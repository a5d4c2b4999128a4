/*
 * job.h - what every kernel of this scenario is launched with: arrays and scalars of one reference,
 * and a copy that brings the outputs into place. Plain data, the same bytes for C and CUDA.
 *
 * The places of the fields are what registry.c writes as `@offset`.
 */
#ifndef CATALOGUE_JOB_H
#define CATALOGUE_JOB_H

enum { JOB_ARRAYS = 12, JOB_SCALARS = 8, JOB_SIZES = 16 };

struct job {
    unsigned long long array[JOB_ARRAYS]; /* by the formals' slots; 0: not given */
    long long size[JOB_SIZES];            /* named dims, then int formals */
    float scalar[JOB_SCALARS];
    unsigned char *to; /* the outputs lie together, and so does what they should hold */
    const unsigned char *from;
    long long bytes;
};

#endif
