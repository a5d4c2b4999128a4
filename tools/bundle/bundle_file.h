/*
 * bundle_file.h - a bundle read back: the launch, its arrays and its image, as shim/bundle/bundle.h
 * describes the format. Everything in the files is validated: whatever they hold, the result is
 * either consistent in itself or an error with one sentence.
 */
#ifndef TOOLS_BUNDLE_BUNDLE_FILE_H
#define TOOLS_BUNDLE_BUNDLE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "refs/abi/ref_abi.h"
#include "value/kernel_spec.h"
#include "value/launch.h"

enum {
    BUNDLE_ARRAYS = SPEC_MAX_ARRAYS,
    BUNDLE_DIMS = 8,
    BUNDLE_POINTERS = 512,
    BUNDLE_PARAMS = 32 << 10, /* CUDA allows 32764 */
    BUNDLE_PARTS = 2,
    BUNDLE_BLOCKS = 4096,
    BUNDLE_VARIABLES = 1024,
    BUNDLE_TEXT_MOST = 16 << 20 /* bytes of launch.json */
};

/* Elements [first, first + count) of an array, row major over its seen dims. */
struct bundle_part {
    const uint8_t *bytes;
    int64_t first, count;
};

enum bundle_side { BUNDLE_BEFORE, BUNDLE_AFTER, BUNDLE_SIDES };

struct bundle_array {
    char name[80];
    enum role role;
    enum dtype dtype;
    uint64_t address, bytes; /* in the program */
    int ndim;
    int64_t dim[BUNDLE_DIMS], stride[BUNDLE_DIMS]; /* of the whole array, in elements */
    int64_t seen[BUNDLE_DIMS];                     /* elements of each dim that are stored */
    int64_t elements;                              /* product of seen */
    int axis;                                      /* dim of which chosen items are stored; -1 */
    bool by_rows, listed;                          /* rows are named by another array ... */
    char rows_by[80];                              /* ... of this name */
    bool placed, lists; /* a listed array was given a place; the list of such a one */
    int64_t page, row_stride[2], runs, run, run_stride;
    struct bundle_part part[BUNDLE_SIDES][BUNDLE_PARTS]; /* count 0: not there */
};

/* A tensor of the reference's call. */
struct bundle_tensor {
    int array; /* -1: formal not bound */
    int ndim;
    int64_t dim[REF_MAX_DIMS], stride[REF_MAX_DIMS]; /* stride: in the program's memory */
};

/* An element that the verdict names: the worst violation, and the first. */
struct bundle_spot {
    int tensor, ndim;
    int64_t index[REF_MAX_DIMS];
};

struct bundle_pointer {
    uint32_t offset;
    uint64_t address, base, bytes;
    bool workspace; /* the entry declares it as scratch */
};

/* A variable of the kernel's module that did not hold what its image begins with. */
struct bundle_value {
    char *name;
    uint64_t at, count;   /* in variables.bin */
    const uint8_t *bytes; /* at the time of the report; NULL: not in the bundle, because of ... */
    char why[160];
};

struct bundle {
    char folder[4096];
    char kernel[4096], label[512], reference[64], verdict[32];
    uint64_t launch;
    uint32_t grid[3], block[3], shared_bytes, cluster[3];
    bool cooperative;
    int sm, driver, multiprocessors;
    uint64_t elements, violations; /* of the program's verdict */
    double max_ratio;
    bool projected; /* found by the projection of the whole product */
    bool differs; /* ... because an earlier launch gave another output for the same input or item */
    char drawn[1200]; /* of a case of `cuvet fuzz`: "fault: ..."; "": none */
    bool probed;      /* ... whose finding is that of a probe, which made further launches */
    char state[320];  /* what it breaks of what holds between launches; "": nothing */
    uint8_t params[BUNDLE_PARAMS];
    uint32_t params_bytes; /* 0: they are not in the bundle */
    struct bundle_pointer pointer[BUNDLE_POINTERS];
    int pointers;
    struct bundle_array array[BUNDLE_ARRAYS];
    int arrays;
    int64_t block_from[BUNDLE_BLOCKS], block_to[BUNDLE_BLOCKS]; /* items of the subset */
    int blocks;
    struct ref_call call; /* without addresses; dims and strides of tensors are in `tensor` */
    char formals[4096];   /* of the reference; "" where they are not there */
    char relations[512];  /* that hold between results: "permute, scale x"; "": none is declared */
    struct bundle_tensor tensor[REF_MAX_TENSORS];
    int tensors;
    struct bundle_spot spot[2];
    int spots;
    char image_file[64]; /* its name in the folder; "": none */
    uint8_t *image;      /* NULL: not in the bundle, because of ... */
    size_t image_bytes;
    char no_image[160];
    char library[4096]; /* NVIDIA's, whose image it is: its file; "": it is none, or not known */
    uint8_t *around;    /* all bytes of [around_address, ... + around_bytes); NULL: not known */
    uint64_t around_address, around_bytes;
    bool values_known;          /* the bundle shows what module variables held ... */
    struct bundle_value *value; /* ... where that is not what the image begins with */
    int values;
    uint64_t values_unread; /* further variables, of which nothing is known */
    uint8_t *values_file;
    uint64_t values_bytes;
    uint8_t *tensors_file;
    size_t tensors_bytes;
};

/* STATUS_INVALID, STATUS_NOT_FOUND: that is no bundle, and why. */
enum status bundle_open(struct bundle **out, const char *folder, struct error *err);
void bundle_close(struct bundle *bundle); /* NULL is fine */

/* The same from memory, which the bundle copies; for tests of hostile input. */
enum status bundle_parse(struct bundle **out, const char *launch, size_t launch_bytes,
                         const void *tensors, size_t tensors_bytes, struct error *err);

/* Whether all elements of that side are there, as one part. */
bool bundle_whole(const struct bundle_array *array, enum bundle_side side);

/* Byte offset, from the array's address in the program, of element `linear` of those stored. */
int64_t bundle_offset(const struct bundle *bundle, const struct bundle_array *array,
                      int64_t linear);

/* The address in the program of a spot's element. */
uint64_t bundle_spot_address(const struct bundle *bundle, const struct bundle_spot *spot);

/* Text that a bundle holds or is made of, for messages. */
enum status bundle_read_file(const char *folder, const char *name, size_t most, uint8_t **bytes,
                             size_t *count, struct error *err);

#endif
