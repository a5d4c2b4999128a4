/*
 * layer_order.h - the layer of a launch by the order of launches: a run is read once for the order,
 * then each launch has its layer.
 *
 * A layer begins at each launch of a kernel that the program's user names; or launch L of a kernel
 * is of layer L modulo N, where the kernel is launched once a layer. Whether it is shows in its
 * launches between two of a kernel that is launched as often as most: one, or a whole phase of N.
 * Where the run does not have all launches, none is held against others.
 */
#ifndef TOOLS_REPORT_LAYER_ORDER_H
#define TOOLS_REPORT_LAYER_ORDER_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

enum { LAYER_KERNELS = 1024, LAYER_MOST = 4096, LAYER_NAME = 128 };

struct layer_order {
    uint64_t every; /* layers; 0: not given */
    bool begins;    /* `regex` names the kernel that begins a layer */
    regex_t regex;
    struct layer_launch {
        uint64_t process, sequence;
        uint32_t kernel;
    } * launch; /* with `begins` those of that kernel alone */
    size_t count, capacity;
    struct layer_kernel {
        char *name;
        uint64_t launches, most; /* that were added; one more than the highest number */
        bool repeats, rare;      /* launched more, or less, than once a layer */
    } kernel[LAYER_KERNELS];
    uint32_t kernels;
    bool gaps; /* some launches are missing */
};

/* 0, or STATUS_INVALID with a sentence. */
enum status layer_order_number(struct layer_order *order, const char *text, struct error *err);
enum status layer_order_begins(struct layer_order *order, const char *pattern, struct error *err);
void layer_order_release(struct layer_order *order);

/* Launch `number` of its kernel; `names` of that, of which the first is the one that it is known
 * by, NULL: none. */
enum status layer_order_add(struct layer_order *order, uint64_t process, uint64_t sequence,
                            uint64_t number, const char *const names[2], struct error *err);
/* All launches are there. True: kernels have no layer, and why. */
bool layer_order_settle(struct layer_order *order, char *text, size_t size);

/* The layer of a launch, the `number`th of its kernel, or -1. */
int64_t layer_order_find(const struct layer_order *order, uint64_t process, uint64_t sequence,
                         const char *kernel, uint64_t number);

#endif
