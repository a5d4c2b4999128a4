/*
 * touch_abi.h - the parameters of the kernels `cuvet_touch_find` and `cuvet_touch_number`, passed
 * by value as their only one. Plain data for C and CUDA; library and fatbin are built together.
 *
 * They make a small problem of gathered rows (snapshot_touch): in the copy of the indices each
 * becomes the number of the first element that has it, which is where its row lies. One that is
 * negative becomes -1, one not below the limit `count`, a row that there is not. Rows that no index
 * then names are filled with zeros: those of negative indices and of further elements that name the
 * same row.
 */
#ifndef DEVICE_TOUCH_ABI_H
#define DEVICE_TOUCH_ABI_H

#include <stdint.h>
#include "device/snapshot_abi.h"

enum {
    TOUCH_THREADS = 256,
    TOUCH_COPIES = 2 * SNAPSHOT_TOUCHES, /* of rows: before and after the launch */
};

struct touch_call {
    uint64_t ids; /* device address of the copy of the indices */
    uint64_t limit;
    uint64_t stride[SNAPSHOT_IDS_DIMS]; /* elements */
    uint32_t dim[SNAPSHOT_IDS_DIMS];    /* outermost first */
    uint32_t count, id_bytes;
    uint32_t slots;  /* of the table, a power of two, more than count */
    uint32_t copies; /* entries of copy[] */
    uint32_t reserved;
    uint32_t *table; /* all bits set at first; then the first element that has an index */
    uint32_t *place; /* by element: where in the table */
    struct {
        uint64_t rows;      /* device address, a multiple of SNAPSHOT_UNIT */
        uint64_t row_bytes; /* from a row to the next, too */
    } copy[TOUCH_COPIES];
};

#endif
