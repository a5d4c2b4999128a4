/* alone.h - launches that one of two runs has and the other lacks, by kernel. One thread. */
#ifndef TOOLS_REPORT_ALONE_H
#define TOOLS_REPORT_ALONE_H

#include "text/json_out.h"
#include "tools/report/diff/digests.h"

enum { ALONE_KERNELS = 4096 };

struct alone_kernel {
    char *kernel, *name;  /* name: the label, or the kernel again */
    uint64_t launches[2]; /* of the runs */
    uint64_t first[2];    /* the first of these */
    uint32_t process[2];  /* and its process */
};

struct alone {
    struct alone_kernel *row; /* in the order in which they came */
    uint32_t count, capacity;
    uint64_t launches[2]; /* also of kernels for which there is no row */
};

/* run: 0 or 1, the one that has the launch. Beyond ALONE_KERNELS, and without memory, launches are
 * counted alone. */
void alone_add(struct alone *alone, const struct digest_line *line, int run);
void alone_release(struct alone *alone);

void alone_text(const struct alone *alone); /* on standard output; nothing where there are none */
void alone_json(const struct alone *alone, struct json_out *json); /* members of an object */

#endif
