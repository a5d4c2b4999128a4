/*
 * draft.h - the fusions of XLA's dumps as entries of a registry.
 *
 * A kernel is called like its fusion; its parameters are the fusion's operands and results, each
 * piece of memory once. Where two modules give one name, with as many parameters, to different
 * fusions, neither has an entry. Not thread safe.
 */
#ifndef XLA_XLA_DRAFT_H
#define XLA_XLA_DRAFT_H

#include <stdio.h>
#include "base/error.h"

struct xla_draft;

enum status xla_draft_create(struct xla_draft **out);
void xla_draft_destroy(struct xla_draft *draft);

/* Adds a module; both texts are changed, `buffers` may be NULL. STATUS_INVALID: it is none. */
enum status xla_draft_add(struct xla_draft *draft, char *module, char *buffers, struct error *err);

struct xla_counts {
    unsigned entries, refused, texts;
};
struct xla_counts xla_draft_count(struct xla_draft *draft);

/* The registry; `stem`: of the files of its references, STEM_0.cu and so on. */
void xla_draft_registry(const struct xla_draft *draft, FILE *out, const char *stem);
/* References of the text with that number. */
void xla_draft_text(const struct xla_draft *draft, FILE *out, unsigned number);

#endif
