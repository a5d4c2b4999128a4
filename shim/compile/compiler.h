/*
 * compiler.h - compiles the references of a registry in processes of their own.
 *
 * A text is compiled when it is requested for an architecture, once, in the order of requests. What
 * the cache folder holds is taken from there; the rest is compiled by processes `cuvet compile
 * --serve` (compile_client.h), a few at once. A thread of the compiler serves them; it runs while
 * there is something to do. No caller waits for it: the state of a text is read with compiler_find.
 * Results stay in memory, one for each text and architecture, for all contexts. NVRTC is never
 * opened here.
 */
#ifndef COMPILE_COMPILER_H
#define COMPILE_COMPILER_H

#include <stdbool.h>
#include "base/error.h"
#include "driver/find.h"
#include "compile/ref_image.h"
#include "registry/user_ref.h"

enum { COMPILER_ARCHS = 8, COMPILER_PROCESSES = 4, COMPILER_TEXT_MS = 300000 };

struct compiler;

struct compiler_settings {
    const struct user_references *users; /* outlive the compiler */
    const char *tool;                    /* path of the program cuvet */
    const char *version;                 /* cuvet_version(), outlives the compiler */
    const char *cache;                   /* CUVET_CACHE */
    struct find_hints nvrtc;             /* path, homes and major; the path outlives the compiler */
    char *const *env;                    /* of the program */
    /* One sentence for each text of which nothing came, and one where nothing can be compiled at
     * all (STATUS_NOT_FOUND). On the compiler's thread or the collector's. */
    void (*complain)(void *user, enum status status, const char *sentence);
    void *user;
};

enum compiler_state {
    COMPILER_UNWANTED,
    COMPILER_WANTED,    /* the cache is being read */
    COMPILER_COMPILING, /* it was not there */
    COMPILER_DONE,
    COMPILER_FAILED
};

struct compiler_counts {
    unsigned compiled, cached, failed, waiting; /* texts, once for each architecture */
};

/* Starts nothing. On a thread that may call getenv. */
enum status compiler_create(struct compiler **out, const struct compiler_settings *settings,
                            struct error *err);
void compiler_destroy(struct compiler *compiler); /* after a stop that was true; NULL is fine */

const struct user_references *compiler_users(const struct compiler *compiler);

/* Sets the function that is called after each result, on the compiler's thread. Before the first
 * compiler_request. */
void compiler_on_result(struct compiler *compiler, void (*done)(void *user), void *user);

/* Requests the text for this compute capability (90: 9.0). Takes a lock, may start a thread; not
 * for the launch path. */
void compiler_request(struct compiler *compiler, unsigned text, int arch);

/* How many results there are so far; states change only with this number. Any thread. */
unsigned compiler_results(const struct compiler *compiler);

/* What came of a text; *out on COMPILER_DONE, as old as the compiler. Any thread, no lock. */
enum compiler_state compiler_find(const struct compiler *compiler, unsigned text, int arch,
                                  const struct ref_image **out);

/* Reports why a compiled text is of no use, once for each text. Any thread. */
void compiler_complain(struct compiler *compiler, unsigned text, enum status status,
                       const char *sentence);

/* Any thread. */
struct compiler_counts compiler_count(const struct compiler *compiler);

/* Ends the thread and the processes. False when it did not end in time: then nothing may be freed.
 * In a child of fork, where there is no such thread, true at once. */
bool compiler_stop(struct compiler *compiler, int timeout_ms);

#endif
