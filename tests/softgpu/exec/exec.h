/*
 * exec.h - runs PTX kernels on the CPU, a warp of 32 lanes at a time.
 *
 * It handles PTX and memory, nothing of the driver API: its owner gives it the memory (struct
 * exec_host) and turns a fault into an error code.
 *
 * Threads: exec_prepare() of one module's functions is locked inside; exec_run() may be called from
 * any number of threads at once, also for one function. Loads, stores and atomics of kernels that
 * run at once act on memory as a device's would: aligned accesses of up to 8 bytes are atomic
 * (relaxed); volatile, relaxed, acquire and release accesses, fences and atomics synchronise with
 * each other and with the host's own atomics.
 */
#ifndef SOFTGPU_EXEC_H
#define SOFTGPU_EXEC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "ptx/ptx.h"

/*
 * The generic address space. Device and pinned memory have addresses below EXEC_WINDOWS, as given
 * by exec_host.find; above it lie the windows of each thread's own spaces. An address in no range
 * and in no window is a fault, and so is one past the end of a range.
 */
#define EXEC_WINDOWS       (1ull << 48)
#define EXEC_SHARED_BASE   (1ull << 48)
#define EXEC_LOCAL_BASE    (2ull << 48)
#define EXEC_PARAM_BASE    (3ull << 48)
#define EXEC_FUNCTION_BASE (4ull << 48) /* addresses of functions, for indirect calls */

/* [begin, begin + bytes) as kernels see it, and the same bytes as the host may touch them. */
struct exec_range {
    uint64_t begin;
    uint64_t bytes;
    uint8_t *host;
    bool writable;
};

struct exec_host {
    void *user;
    /* The range that holds `address`; false where there is none. Called from any thread; a range
     * found stays valid until the launch that found it has ended. `host` is aligned as `begin` is,
     * up to 16 bytes. */
    bool (*find)(void *user, uint64_t address, struct exec_range *range);
    /* Room in device memory for a module's variable, zeroed: its address in `address`. */
    bool (*place)(void *user, const struct ptx_variable *variable, uint64_t *address);
};

struct exec_module;
struct exec_function;

/* Gives each .global and .const variable its place and initial value. `ptx` stays the
 * caller's and must outlive the module. An extern variable or function that nothing defines
 * is an error only where a launched kernel uses it. */
enum status exec_module_create(struct ptx_module *ptx, const struct exec_host *host,
                               struct exec_module **module, struct error *err);
/* The places of variables are the owner's to free. */
void exec_module_free(struct exec_module *module);

/* NULL where the module has no such kernel (entry) with a body. */
struct exec_function *exec_find_kernel(struct exec_module *module, const char *name);
bool exec_find_variable(struct exec_module *module, const char *name, uint64_t *address,
                        uint64_t *bytes);

/* Reads and decodes the kernel and all that it calls. An instruction that is not known is an
 * error here, with file and line; so is a cluster of more than one block. Idempotent. */
enum status exec_prepare(struct exec_function *kernel, struct error *err);

struct exec_param {
    size_t offset, bytes; /* in the parameter buffer */
};

/* From the declarations. registers, local and static_shared are 0 until exec_prepare(), which
 * writes them: read them after a call of it. Names and parameters may be read at any time. */
struct exec_info {
    const char *name;
    unsigned param_count;
    const struct exec_param *params;
    size_t param_bytes; /* of the whole buffer */
    size_t
        static_shared;  /* bytes of a block that the kernel and its callees use, without dynamic */
    size_t local;       /* bytes of a thread */
    unsigned registers; /* 32-bit registers of a thread, a guess from above */
    unsigned max_threads; /* of a block: maxntid or reqntid, else 1024 */
    unsigned reqntid[3];  /* 0 where not given */
    unsigned reqcluster[3];
};
const struct exec_info *exec_describe(const struct exec_function *kernel);

enum exec_outcome {
    EXEC_DONE,
    EXEC_ILLEGAL_ADDRESS, /* outside every range, or a write to a read-only one */
    EXEC_MISALIGNED,
    EXEC_ILLEGAL_INSTRUCTION, /* an extern function that nothing defines; an indirect call to no
                                 function */
    EXEC_TRAP,
    EXEC_ASSERT,
    EXEC_STACK_OVERFLOW,
    EXEC_STOPPED, /* `stop` was set, or step_limit was passed */
};

struct exec_launch {
    const struct exec_function *kernel; /* prepared */
    unsigned grid[3], block[3];
    size_t dynamic_shared;
    const void *params;     /* param_bytes bytes, copied */
    bool cooperative;       /* all blocks are run in turn, so that they may wait for each other */
    const uint64_t *blocks; /* numbers of those that run, x first; NULL: all of the grid */
    uint64_t block_count;
    unsigned device;
    uint64_t seed; /* not 0: blocks and warps take turns in an order drawn from it */
    /* Not 0: half of the warps and half of the blocks get a turn only where the others end or wait.
     * 1 to 4: even or odd ones; beyond: drawn from the number. The order is drawn too. */
    uint64_t holds;
    uint64_t step_limit;     /* instructions of a warp in all; 0: none */
    const atomic_bool *stop; /* may be NULL; read now and then */
    void *watch;             /* of the owner of functions put into the program's ops */
};

struct exec_fault {
    enum exec_outcome outcome;
    uint64_t address;
    unsigned block[3], thread[3];
    char text[256]; /* kernel, PTX line, instruction, address, the thread: one sentence */
    uint64_t steps; /* instructions of a warp that were executed, whatever the outcome */
};

/* Blocks that wait for each other in a launch that is not cooperative get their turns too: no block
 * that can go on is starved by one that spins. `fault` is filled in always. */
enum exec_outcome exec_run(const struct exec_launch *launch, struct exec_fault *fault);

/* What cudaGraphSetConditional does in device code; NULL: nothing. */
extern void (*exec_set_condition)(uint64_t handle, unsigned value);

/* What was executed by this process, for the coverage report: one call of `each` a line of the
 * report, in a fixed order: "op ld.global.nc.v4.u32 1234", "kernel NAME LAUNCHES", and
 * "line FILE LINE COUNT" and "function NAME COUNT" where the PTX has line information. Counts are
 * of instructions that a warp executed; kernels, lines and functions that were prepared and never
 * executed have 0. */
void exec_report(void (*each)(void *user, const char *line), void *user);

/*
 * The 128 bytes of a tensor map, as this stand-in has them: what a device's own hold is not public.
 * Dimension 0 is the one whose elements lie side by side.
 */
enum { EXEC_TENSOR_DIMS = 5, EXEC_TENSOR_MAP_BYTES = 128 };
#define EXEC_TENSOR_MAP 0x70616d726f736e65ull /* in `kind`; a device's map has other bits there */
struct exec_tensor_map {
    uint64_t kind;
    uint64_t address;
    uint64_t stride[EXEC_TENSOR_DIMS - 1];   /* of dimensions 1 and up, in bytes */
    uint64_t size[EXEC_TENSOR_DIMS];         /* of the tensor, in elements */
    uint16_t box[EXEC_TENSOR_DIMS];          /* of what one instruction copies */
    uint8_t step[EXEC_TENSOR_DIMS];          /* element strides; that of dimension 0 is not used */
    uint8_t last;                            /* the last dimension: their count less 1 */
    uint8_t type, interleave, swizzle, fill; /* numbers of PTX's tensormap.replace */
};
/* Bytes of an element of that type; 0 where it is not supported here. */
unsigned exec_tensor_bytes(unsigned type);

#endif
