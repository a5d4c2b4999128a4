/*
 * compiler.h - compiles the references that a registry brings along, on a thread of its own.
 *
 * Nobody waits for it: the collector asks for an architecture when it sets a context up, is woken
 * for each text that has been compiled, and loads it; until then launches of those kernels are
 * counted as SKIP_NOT_COMPILED. Results stay in memory, one for each text and architecture, for all
 * contexts. The thread ends when there is nothing left to do.
 *
 * Exit: NVRTC's destructors crash a compilation that they meet, and an exit that meets a dlopen of
 * NVRTC crashes too. So NVRTC is opened by compiler_create, on the program's thread inside cuInit,
 * and an exit handler registered behind it calls compiler_stop: that cancels (CUDA 12.8 and newer),
 * or waits for the text that is being compiled, 2 s at most.
 */
#ifndef VERIFY_COMPILER_H
#define VERIFY_COMPILER_H

#include "base/error.h"
#include "driver/find.h"
#include "verify/ref_compile.h"
#include "verify/user_ref.h"

enum { COMPILER_ARCHS = 8, COMPILER_STOP_MS = 2000 };

struct compiler;

struct compiler_settings {
    const struct user_references *users; /* outlive the compiler */
    struct find_hints nvrtc;             /* for compiler_create */
    /* One sentence for each text that is wrong, on the compiler's thread or the collector's. */
    void (*complain)(void *user, const char *sentence);
    void *user;
};

enum compiler_state { COMPILER_WAITING, COMPILER_DONE, COMPILER_FAILED };

/* Opens NVRTC, which blocks on files (10 ms, or 150 where none has read it lately), and starts
 * nothing. STATUS_NOT_FOUND says what to install. One at a time in a process. */
enum status compiler_create(struct compiler **out, const struct compiler_settings *settings,
                            struct error *err);
void compiler_destroy(struct compiler *compiler); /* after a stop that was true; NULL is fine */

const struct user_references *compiler_users(const struct compiler *compiler);

/* Who is called after each result, on the compiler's thread. Before the first compiler_want. */
void compiler_tell(struct compiler *compiler, void (*done)(void *user), void *user);

/* All texts are wanted for this compute capability (90: 9.0). One thread at a time; no wait. */
void compiler_want(struct compiler *compiler, int arch);

/* How many results there are so far: whoever has seen as many need not look again. Any thread. */
unsigned compiler_results(const struct compiler *compiler);

/* What came of a text; *out on COMPILER_DONE, as old as the compiler. Any thread. */
enum compiler_state compiler_look(const struct compiler *compiler, unsigned text, int arch,
                                  const struct ref_image **out);

/* Tells why a compiled text is of no use, once for each text. Any thread. */
void compiler_complain(struct compiler *compiler, unsigned text, const char *sentence);

/* Ends the thread. False when it did not end in time: then nothing may be freed. In a child of
 * fork, where there is no such thread, true at once. */
bool compiler_stop(struct compiler *compiler, int timeout_ms);

#endif
