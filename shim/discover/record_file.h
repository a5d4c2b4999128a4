/*
 * record_file.h - what was recorded, as JSON lines: FOLDER/discover-HOST-PID[-RUN].jsonl, and the
 * bytes of memory and of module images in a file beside it that ends with .bytes.
 *
 *   begin    the process
 *   sample   a launch: kernel, launch, grid, block, shared, captured, cooperative, cluster, params
 *            (hex), layout ([[offset, size], ...]), pointers ([{at, address, base, bytes}, ...]),
 *            regions ([{address, bytes, before, after}, ...]: places in the file of bytes; no
 *            after: nothing changed)
 *   image    kernel, at, bytes: the module's image, as the device runs it
 *   kernel   at the end: kernel, launches, timed, ns, replayed, replayed_ns
 *   end      kernels, and how many had no room
 *
 * The recorder's lock is held.
 */
#ifndef DISCOVER_RECORD_FILE_H
#define DISCOVER_RECORD_FILE_H

#include "discover/capture.h"
#include "report/quota.h"
#include "value/gpu_time.h"

enum { RECORD_VERSION = 1 };

struct record_file;

enum status record_file_create(struct record_file **out, const char *folder, const char *run,
                               struct quota *quota, struct error *err);
void record_file_sample(struct record_file *file, const char *symbol, uint64_t number,
                        const struct launch *launch, const struct capture *capture, bool captured);
void record_file_image(struct record_file *file, const char *symbol, const void *image,
                       size_t bytes);
void record_file_kernel(struct record_file *file, const char *symbol, uint64_t launches,
                        const struct gpu_time *time, const struct gpu_time *replayed);
void record_file_end(struct record_file *file, uint64_t kernels, uint64_t lost);

#endif
