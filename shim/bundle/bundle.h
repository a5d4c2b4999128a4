/*
 * bundle.h - one folder for a finding, with all that it takes to examine it without the program:
 * REPORT/KERNEL-PID-LAUNCH/ (mode 0700, files 0600).
 *
 * Format, version 2:
 *
 *   launch.json         one object. "version" first; kernel, label, reference, where, verdict,
 *                       gate, launch, device, grid, block, shared_bytes, subset, arrays, numbers,
 * worst and first as in the journal's finding lines (report_json.h); "seed" (of the run), "host",
 *                       "pid"; "parameters": for each the offset and size in the packed buffer and
 *                       its bytes as hex (null where no room was free for them); "pointers": which
 *                       of these bytes are addresses of device memory, and the allocation that
 *                       each lies in; "cluster" and "cooperative" where the launch has them;
 *                       "surroundings", where there is such a file: {"address", "bytes"};
 *                       "machine": compute capability, driver; "call": what the
 *                       reference was given besides arrays: formals, scalars, sizes, tolerances,
 *                       and for each of its tensors the array's name, dtype, shape, stride in the
 *                       program's memory, and rule;
 *                       "module": {"file", "bytes"} or {"missing": why}, and where it is one of
 *                       NVIDIA's libraries "library": {"name", "file", "version"}, the last two
 *                       null where they are not known; "variables", where the
 *                       source has read those of the module: of each that does not hold what the
 *                       image begins with its name, bytes and "at", its place in variables.bin, or
 *                       "missing", why its value is not known; "variables_unchanged", how many hold
 *                       what the image begins with, "variables_unread", how many were not read, and
 *                       "variables_bytes" of the file; "excerpts", where tensors
 *                       were too large: for each its name, shape and bytes, and "stored", the names
 *                       of its parts, or "left_out", why.
 *   tensors.safetensors the safetensors format: u64 length of the header (little endian), a JSON
 *                       header padded with spaces to 8 bytes, then the data. Dense, row major:
 *                       before.NAME and after.NAME for each array that was snapshotted on that
 *                       side, in its own dtype (i8, u8, bool as one byte), reference.NAME in F64,
 *                       unrounded, NaN where the reference has no value. With "subset" a
 * tensor has the chosen items alone, in the order of the blocks, as has "call". Of an array with
 * "rows_by" it has the rows that were touched, and the indices are the numbers of these: together a
 * small problem of their own. NAME is the
 * signature's. A tensor that is too large stands in parts, as `after.y[100:140]`: rows 100 to 139
 * (excerpt.h). Widest dtypes first, so that every tensor is aligned to its element.
 *   module.cubin        the image of the launch's module (module.ptx, module.fatbin where it is
 *                       that); "missing" is why there is none.
 *   variables.bin       values of module variables, each at a multiple of BUNDLE_VALUE_ALIGN bytes:
 * those at the time of the report, which is later than the launch.
 *   surroundings.bin    of a launch that cuvet made itself: all memory before the launch in which
 * the arrays lie, with what is between and around them.
 *
 * A folder under its final name is complete: it is written as .bundle-XXXXXX and renamed.
 * Bump BUNDLE_VERSION whenever a field changes its meaning or goes, or a reader of the last version
 * would misread a tensor; a new field, file or tensor needs no bump. A reader takes all versions
 * from BUNDLE_OLDEST on, whatever the newest is, and refuses later ones: tests/golden has a bundle
 * of each, which is replayed.
 *
 * Limits: CUVET_BUNDLES tries for each kernel, and one once BUNDLE_MANY were made in all;
 * CUVET_QUOTA bytes with the journal. A bundle has CUVET_BUNDLE_SIZE bytes; but beyond BUNDLE_SMALL
 * it takes a sixteenth of what quota and disk have left at most, and after n others 1 / (16 + n),
 * so that many wrong kernels all get theirs, the later the smaller, and the program's own files
 * find room. Its tensors are cut to fit, the image is left out where it would take more than half,
 * values of variables where they would take more than a quarter of the rest. When the disk fails,
 * the folder is removed, that is reported once, and no more bundles are tried; when the source
 * fails, only this bundle is dropped. Nothing of it reaches the program.
 */
#ifndef BUNDLE_BUNDLE_H
#define BUNDLE_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "report/quota.h"
#include "value/check_report.h"

enum {
    BUNDLE_VERSION = 2,
    BUNDLE_OLDEST = 2, /* that is read: format 1 had no pointers, and nothing read it */
    BUNDLE_CHUNK = 1 << 20,
    BUNDLE_PATH = 4096,
    BUNDLE_MANY = 64,
    BUNDLE_SMALL = 16 << 10,
    BUNDLE_TEXT = 16 << 10, /* set aside for launch.json and the tensors' header */
    BUNDLE_VALUE_ALIGN = 16,
};

#define BUNDLE_AROUND "surroundings.bin"
#define BUNDLE_VALUES "variables.bin"

/* The writer of a process: where bundles go and how many are left. */
struct bundles;

struct bundles_settings {
    const char *folder; /* of reports; NULL or empty: no bundles */
    uint64_t limit;     /* for each kernel */
    uint64_t size;      /* bytes of one */
    uint64_t seed;      /* of the run, for launch.json */
    bool vendor;        /* images of NVIDIA's own libraries are stored, too */
    struct quota *quota;
};

/* Makes the folder if need be. Without a folder or with limit 0: *out is NULL, STATUS_OK. */
enum status bundles_create(struct bundles **out, const struct bundles_settings *settings,
                           struct error *err);
void bundles_destroy(struct bundles *bundles);

/* Whether bundles_write would try; for a test before preparing a source. NULL: false. Any thread
 * but the program's: it may wait for a bundle that is being written. */
bool bundles_wanted(struct bundles *bundles, const struct kernel_spec *spec);

/*
 * Writes one bundle. Blocks on the disk and in the source; collector thread. STATUS_OK: `path`
 * holds its folder. STATUS_FULL: none is due (limit, quota, switched off, after fork). Otherwise it
 * failed, which has been reported. `path` is "" unless STATUS_OK.
 */
enum status bundles_write(struct bundles *bundles, const struct check_report *report,
                          const struct bundle_source *source, char *path, size_t path_size);

#endif
