/*
 * whole_file.h - an output that appears under its name when it is whole. Standard output, a device
 * and a FIFO are written at once. Not thread safe.
 */
#ifndef TOOLS_REPORT_WHOLE_FILE_H
#define TOOLS_REPORT_WHOLE_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include "text/textbuf.h"

struct whole_file {
    FILE *file;
    const char *output; /* NULL: written at once */
    struct textbuf made;
};

/* `output` NULL or "-": standard output. False, with errno: it cannot be written. */
bool whole_file_open(struct whole_file *out, const char *output);
/* `good` false: what was written is dropped. False, with errno: `good` it was, but not written. */
bool whole_file_close(struct whole_file *out, bool good);

#endif
