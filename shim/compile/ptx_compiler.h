/*
 * ptx_compiler.h - lifted PTX becomes machine code in processes `cuvet compile --serve` beside the
 * program.
 *
 * The driver compiles PTX as well, but cuModuleLoadData holds a lock for as long, seconds for a
 * large kernel, which launches of the program wait for; and its linker, which takes no lock, aborts
 * a program that ends meanwhile.
 *
 * Workers are threads "cuvet-code" with a process each, one for each four processors: the threads
 * are started when jobs wait for them, the processes end when none does. Of the jobs in the queue
 * that is next whose kernel was launched most meanwhile (lift_code.missed). No caller waits.
 */
#ifndef COMPILE_PTX_COMPILER_H
#define COMPILE_PTX_COMPILER_H

#include "driver/find.h"
#include "lift/lift.h"

struct ptx_compiler;

enum { PTX_COMPILER_WORKERS = 4 /* at most */ };

struct ptx_compiler_settings {
    const char *tool;        /* path of the program cuvet, copied; NULL: there is none */
    const char *version;     /* cuvet_version(), outlives the compiler */
    const char *cache;       /* CUVET_CACHE */
    struct find_hints hints; /* homes and major; they outlive the compiler */
    char *const *env;        /* of the program */
    unsigned workers;        /* at most that many; 0: by the processors */
};

/* Starts nothing. On a thread that may call getenv. NULL: no memory. */
struct ptx_compiler *ptx_compiler_create(const struct ptx_compiler_settings *settings);
/* After a stop that was true, or before the first request; NULL is fine. */
void ptx_compiler_destroy(struct ptx_compiler *compiler);

/* Sets the function that is called after each result, on any of the threads, at once on several.
 * Before the first request. */
void ptx_compiler_on_result(struct ptx_compiler *compiler, void (*done)(void *user), void *user);

/* Queues a lift for the architecture of `code`, a lift_code of it that the caller has brought to
 * QUEUED; it lives as long as the compiler. `code` has the result; after the end it stays QUEUED.
 * Takes a lock, may start a thread; not for the launch path. */
void ptx_compiler_request(struct ptx_compiler *compiler, const struct lift *lift,
                          struct lift_code *code);

/* How many results there are so far. Any thread. */
unsigned ptx_compiler_results(const struct ptx_compiler *compiler);

/* Ends threads and processes; what is queued stays so. False: a thread did not end in time. Once;
 * in a child of fork, where there are no such threads, true at once. */
bool ptx_compiler_stop(struct ptx_compiler *compiler, int timeout_ms);

#endif
