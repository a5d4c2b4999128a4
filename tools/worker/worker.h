/*
 * worker.h - a process that runs kernels for the offline verbs: `cuvet worker --serve` at the other
 * end of a socket.
 *
 * The worker opens a device, loads images, holds arrays with guard bytes around them, launches
 * subjects and runs references. A subject that faults or hangs ends the worker alone: the call
 * returns STATUS_OK with an outcome, worker_lost() is true, and worker_restart() starts another
 * process, in which no module, kernel or array exists.
 *
 * Every call blocks until the answer is there or the time limit has passed. One thread. Addresses
 * are those of the worker's device; the caller cannot dereference them.
 */
#ifndef TOOLS_WORKER_WORKER_H
#define TOOLS_WORKER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "bind/binding.h"
#include "value/launch.h"
#include "value/verdict.h"

struct worker;

enum worker_device {
    WORKER_AUTO, /* the GPU, or the interpreter where there is no driver */
    WORKER_GPU,
    WORKER_INTERPRETER, /* runs PTX on the CPU */
};

/* "auto", "gpu", "interpreter"; else STATUS_INVALID. */
enum status worker_device_of(const char *text, enum worker_device *out, struct error *err);

struct worker_settings {
    enum worker_device device;
    int ordinal;      /* of the GPU */
    int timeout_ms;   /* of one call; 0: 60 seconds */
    const char *tool; /* the program cuvet; NULL: the running program */
};

struct worker_about {
    char kind[16];  /* "gpu" or "interpreter" */
    char name[128]; /* "NVIDIA H100 80GB HBM3" */
    int32_t sm;     /* 90; of the interpreter, the newest PTX that it takes */
    int32_t driver; /* 13000; 0: none */
    int32_t multiprocessors;
    uint64_t memory; /* bytes that can be allocated, about */
};

/* The same, or the number of a GPU. */
enum status worker_device_read(const char *text, struct worker_settings *out, struct error *err);
/* The value of --timeout: seconds, such as 0.5, or "500ms"; 1 ms to a million seconds. */
enum status worker_timeout_read(const char *text, struct worker_settings *out, struct error *err);

/* STATUS_DRIVER: that device is not there. */
enum status worker_start(struct worker **out, const struct worker_settings *settings,
                         struct error *err);
const struct worker_about *worker_about(const struct worker *worker);
void worker_end(struct worker *worker); /* NULL is fine */

/* Whether the process is gone: every call but worker_restart and worker_end fails then. */
bool worker_lost(const struct worker *worker);
/* Whether SIGKILL ended it, by another process or by the kernel where memory ran out. */
bool worker_killed(const struct worker *worker);
enum status worker_restart(struct worker *worker, struct error *err);

/* ---- images and kernels ---- */

/* A cubin, PTX, a fatbin, or a host program or shared object that holds fatbins. STATUS_INVALID:
 * the device cannot run it, and why. */
enum status worker_load(struct worker *worker, const void *image, size_t bytes, uint32_t *module,
                        struct error *err);
enum status worker_unload(struct worker *worker, uint32_t module, struct error *err);

struct worker_kernel {
    uint32_t id;
    uint32_t max_threads;   /* of a block */
    uint32_t static_shared; /* bytes of a block */
    uint32_t param_bytes;   /* of the packed buffer */
    struct param_layout layout;
};

/* By its mangled name. STATUS_NOT_FOUND. */
enum status worker_kernel(struct worker *worker, uint32_t module, const char *symbol,
                          struct worker_kernel *out, struct error *err);

/* Writes a variable of the kernel's module. STATUS_NOT_FOUND: there is none of that name;
 * STATUS_INVALID: it has another size. */
enum status worker_variable(struct worker *worker, uint32_t kernel, const char *name,
                            const void *value, size_t bytes, struct error *err);

/* A call of a library in a kernel's place: worker_launch makes it, on a GPU alone. `library`: the
 * file to open, NULL for the one that is found. STATUS_UNSUPPORTED: it cannot be made, and why. */
enum status worker_library(struct worker *worker, const char *call, const char *library,
                           struct worker_kernel *out, struct error *err);

/* ---- memory ---- */

struct worker_array {
    uint64_t bytes;
    uint64_t align; /* power of two, 0: 256; the address is `skew` beyond a multiple of it */
    uint64_t skew;
    uint64_t guard; /* guard bytes on each side: large and finite in f32 and bf16, NaN in f16; they
                       differ between arrays and from place to place */
    uint8_t fill;   /* what every byte holds at first */
    bool sparse;    /* not filled: what it holds is not known; may be larger than memory where no
                        more than a part of it is touched */
};

/* `address` is that of the first byte behind the guard. STATUS_FULL: the device has no room. */
enum status worker_allocate(struct worker *worker, const struct worker_array *array,
                            uint64_t *address, struct error *err);
enum status worker_free(struct worker *worker, uint64_t address, struct error *err);
enum status worker_free_all(struct worker *worker, struct error *err);

/* Inside one array, without its guards. */
enum status worker_write(struct worker *worker, uint64_t address, const void *bytes, size_t count,
                         struct error *err);
enum status worker_read(struct worker *worker, uint64_t address, void *bytes, size_t count,
                        struct error *err);
enum status worker_fill(struct worker *worker, uint64_t address, size_t count, uint8_t value,
                        struct error *err);
enum status worker_copy(struct worker *worker, uint64_t to, uint64_t from, size_t count,
                        struct error *err);

struct worker_guard {
    uint64_t changed; /* guard bytes that were written */
    int64_t first;    /* the first of them, from the array's first byte: negative lies before it */
};

/* Counts the array's guard bytes that do not hold their pattern, and restores them. */
enum status worker_guards(struct worker *worker, uint64_t address, struct worker_guard *out,
                          struct error *err);

/* ---- launches ---- */

struct worker_launch {
    uint32_t kernel;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; /* dynamic */
    uint32_t cluster[3];   /* zeros: none, or as the kernel declares */
    uint32_t cooperative;
    uint32_t param_bytes;
    const void *params; /* packed, with addresses of this worker */
    uint64_t seed;      /* interpreter: draws the order of blocks and warps; 0: in turn */
    uint64_t steps;     /* interpreter: instructions of a warp in all; 0: the time limit alone */
    /* Not 0: the launch runs beside busy blocks, which hold even multiprocessors, odd ones or a
     * part of each (1, 2, 3, and again); on the interpreter some blocks and warps are held back. */
    uint32_t noise;
    /* GPU: busy blocks hold all multiprocessors but number `sm`. The interpreter refuses it. */
    bool one_sm;
    uint32_t sm;
};

enum worker_outcome {
    WORKER_RAN,
    WORKER_REFUSED, /* the device does not accept this launch; the worker lives */
    WORKER_FAULTED, /* illegal address, trap, ...: the worker is lost */
    WORKER_HUNG,    /* the time limit passed: the worker is lost */
};

struct worker_result {
    enum worker_outcome outcome;
    double ms;          /* that the launch took on the device */
    char sentence[640]; /* why it did not run to its end; "" where it did */
    uint32_t held;      /* multiprocessors that busy blocks held when the launch began */
    bool freed;         /* ... and left before it ended, because their time was over */
};

/* Launches and waits for the end. */
enum status worker_launch(struct worker *worker, const struct worker_launch *launch,
                          struct worker_result *out, struct error *err);

/* ---- references ---- */

enum worker_oracle {
    WORKER_ORACLE_CPU,    /* the host build of the references, inside the worker */
    WORKER_ORACLE_DEVICE, /* the device build; on the interpreter as ORACLE_CPU */
};

/* Runs the built-in reference over arrays of the worker: `in` and `got` of each tensor are the
 * worker's addresses. STATUS_NOT_FOUND: no such reference. */
enum status worker_reference(struct worker *worker, const char *reference, enum worker_oracle where,
                             const struct ref_call *call, struct ref_verdict *out,
                             struct error *err);

/* Reference values of elements [first, first + count) of tensor number `tensor`, unrounded. */
enum status worker_expected(struct worker *worker, const char *reference, enum worker_oracle where,
                            const struct ref_call *call, int tensor, int64_t first, int64_t count,
                            double *out, struct error *err);

/* Where the bytes of a bound array lie: `before` a copy of what it held before the launch, `after`
 * what it holds now; each laid out as in the program's memory from bound_array.address on. An input
 * that no launch writes may give the same address twice; 0: not there. */
struct worker_view {
    uint64_t before, after;
};

/* The verdict of a binding, made by binding_make for a launch of the subject. `views` are by array
 * number. */
enum status worker_judge(struct worker *worker, const struct ref_builtin *reference,
                         const struct binding *binding, const struct worker_view *views,
                         enum worker_oracle where, struct ref_verdict *numbers,
                         enum verdict *verdict, struct error *err);

#endif
