/*
 * ptx_compiler.h - lifted PTX becomes machine code in a process `cuvet compile --serve` beside the
 * program.
 *
 * The driver compiles PTX as well, but cuModuleLoadData holds a lock for as long, seconds for a
 * large kernel, which launches of the program wait for; and its linker, which takes no lock, aborts
 * a program that ends meanwhile.
 *
 * A thread "cuvet-code" serves the process, while there is something to compile. No caller waits.
 */
#ifndef COMPILE_PTX_COMPILER_H
#define COMPILE_PTX_COMPILER_H

#include "driver/find.h"
#include "lift/lift.h"

struct ptx_compiler;

struct ptx_compiler_settings {
    const char *tool;        /* path of the program cuvet, copied; NULL: there is none */
    const char *version;     /* cuvet_version(), outlives the compiler */
    const char *cache;       /* CUVET_CACHE */
    struct find_hints hints; /* homes and major; they outlive the compiler */
    char *const *env;        /* of the program */
};

/* Starts nothing. On a thread that may call getenv. NULL: no memory. */
struct ptx_compiler *ptx_compiler_create(const struct ptx_compiler_settings *settings);
/* After a stop that was true, or before the first request; NULL is fine. */
void ptx_compiler_destroy(struct ptx_compiler *compiler);

/* Sets the function that is called after each result, on the thread. Before the first request. */
void ptx_compiler_on_result(struct ptx_compiler *compiler, void (*done)(void *user), void *user);

/* Queues a lift for the architecture of `code`, a lift_code of it that the caller has brought to
 * QUEUED; it lives as long as the compiler. `code` has the result; after the end it stays QUEUED.
 * Takes a lock, may start a thread; not for the launch path. */
void ptx_compiler_request(struct ptx_compiler *compiler, const struct lift *lift,
                          struct lift_code *code);

/* How many results there are so far. Any thread. */
unsigned ptx_compiler_results(const struct ptx_compiler *compiler);

/* Ends thread and process; what is queued stays so. False: the thread did not end in time. Once; in
 * a child of fork, where there is no such thread, true at once. */
bool ptx_compiler_stop(struct ptx_compiler *compiler, int timeout_ms);

#endif
