/*
 * ctl_view.h - a process's replies to status and top, read and shown: as text, as JSON, and as the
 * live view.
 */
#ifndef TOOLS_CTL_VIEW_H
#define TOOLS_CTL_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include "system/control_socket.h"
#include "text/json_out.h"
#include "text/textbuf.h"

enum { CTL_SKIPS = 64 };

struct ctl_kernel {
    uint64_t number; /* the same kernel has the same one in every answer */
    uint64_t launches, checked, match, mismatch, inconclusive;
    char worst[32]; /* error / bound, as text; "-" where nothing was checked */
    char label[256];
};

struct ctl_status {
    char version[32], program[256], state[16];
    uint64_t pid, seen, registered, checked, match, mismatch, inconclusive, unchecked, under_way;
    uint64_t kernels; /* of the process; `kernel` holds the first of them */
    double sample, elapsed, cost, cost_thread, cost_copy,
        cost_reference; /* seconds, but for sample */
    unsigned skips, rows;
    struct {
        uint64_t count;
        char name[32];
    } skip[CTL_SKIPS];
    struct ctl_kernel kernel[CONTROL_ROWS];
};

/* Reads the lines of an answer; unknown ones are passed over, control characters become '?'. False:
 * it names no state. */
bool ctl_view_read(struct ctl_status *out, const char *lines);

void ctl_view_text(const struct ctl_status *status, struct textbuf *out);
void ctl_view_json(const struct ctl_status *status, struct textbuf *out); /* one object, a line */
void ctl_view_object(const struct ctl_status *status, struct json_out *json); /* the object */

/* The live view. `before` is the one before, for rates, or NULL; `rows` is how many lines there are
 * to fill, 0: no limit; `ansi`: kernels with mismatches in bold. */
void ctl_view_top(const struct ctl_status *status, const struct ctl_status *before, int rows,
                  bool ansi, struct textbuf *out);

#endif
