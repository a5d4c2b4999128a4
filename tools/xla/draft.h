/*
 * draft.h - the fusions of XLA's dumps as entries of a registry.
 *
 * A kernel is called like its fusion; its parameters are the fusion's operands and results, each
 * piece of memory once. Where two modules give one name, with as many parameters, to different
 * fusions, neither has an entry. Not thread safe.
 */
#ifndef XLA_XLA_DRAFT_H
#define XLA_XLA_DRAFT_H

#include <stdbool.h>
#include <stdio.h>
#include "base/arena.h"
#include "base/error.h"

struct xla_draft;

/* `verb`: of the program, it begins the names of references. */
enum status xla_draft_create(struct xla_draft **out, const char *verb);
void xla_draft_destroy(struct xla_draft *draft);

/* Adds a module; both texts are changed, `buffers` may be NULL. STATUS_INVALID: it is none. */
enum status xla_draft_add(struct xla_draft *draft, char *module, char *buffers, struct error *err);

/* A kernel with its entry. Its texts are in the draft's arena. */
struct xla_kernel {
    const char *name, *signature, *bind;
    const char *when;   /* NULL: always */
    const char *text;   /* what follows "REFERENCE_ONCE(NAME" */
    const char *why;    /* it has none, because of this */
    unsigned arguments; /* kernels of one name differ in it */
    bool rounds, tf32, approx;
};
struct arena *xla_draft_arena(struct xla_draft *draft);
enum status xla_draft_put(struct xla_draft *draft, const struct xla_kernel *kernel);

struct xla_counts {
    unsigned entries, refused, texts;
};
struct xla_counts xla_draft_count(struct xla_draft *draft);

/* The registry; `stem`: of the files of its references, STEM_0.cu and so on. */
void xla_draft_registry(const struct xla_draft *draft, FILE *out, const char *stem);
/* References of the text with that number. */
void xla_draft_text(const struct xla_draft *draft, FILE *out, unsigned number);
/* All files, with a line or a JSON object on standard output that counts: 0, or 1 with a message.
 * `unread`: modules that could not be read. */
int xla_write(struct xla_draft *draft, const char *output, bool json, unsigned unread);

#endif
