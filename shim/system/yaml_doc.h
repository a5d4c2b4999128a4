/*
 * yaml_doc.h - a YAML file as an immutable tree whose nodes have their positions.
 *
 * Life: yaml_doc_load or yaml_doc_parse, then read the tree, then yaml_doc_destroy; nodes and texts
 * live as long as the document. Aliases share the anchored node. Immutable: any number of threads.
 * Limits: 1 MiB, 32 levels, 100,000 nodes counted with aliases expanded, one document a file. A
 * key that appears twice, a key that is not a plain word, a tag and a NUL byte are errors.
 */
#ifndef SYSTEM_YAML_DOC_H
#define SYSTEM_YAML_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

enum yaml_kind { YAML_KIND_SCALAR, YAML_KIND_SEQUENCE, YAML_KIND_MAPPING };

struct yaml_node {
    enum yaml_kind kind;
    const char *file;      /* as it was named to yaml_doc_load */
    unsigned line, column; /* from 1 */
    const char *text;      /* scalar: its value, terminated */
    bool quoted;  /* scalar: '..' or "..", so that it is text and never a number or empty */
    bool literal; /* scalar: a | block, whose lines are those of the file behind node->line */
    size_t count; /* sequence: items, mapping: pairs */
    const struct yaml_node *const *item; /* sequence: items, mapping: values */
    const struct yaml_node *const *key;  /* mapping: scalars, in the order of the file */
};

struct yaml_doc;

enum { YAML_MAX_BYTES = 1 << 20, YAML_MAX_DEPTH = 32, YAML_MAX_NODES = 100000 };

/* Reads a file. STATUS_IO, STATUS_INVALID or STATUS_NO_MEMORY with a sentence. Blocks. */
enum status yaml_doc_load(struct yaml_doc **out, const char *path, struct error *err);

/* The same from memory; `name` stands for the file in messages. */
enum status yaml_doc_parse(struct yaml_doc **out, const char *name, const char *text, size_t length,
                           struct error *err);
void yaml_doc_destroy(struct yaml_doc *doc); /* NULL is fine */

/* The top node; NULL for an empty file. */
const struct yaml_node *yaml_doc_root(const struct yaml_doc *doc);

/* Writes "FILE:LINE:COLUMN: SENTENCE" and returns STATUS_INVALID. */
enum status yaml_error(struct error *err, const struct yaml_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The value of a mapping's key, or NULL, also when `node` is no mapping. */
const struct yaml_node *yaml_get(const struct yaml_node *node, const char *key);

/*
 * Typed reads. `what` names the value in the message: "kernels.yaml:12:7: 'sample' is 'often';
 * expected a number from 0 to 1". STATUS_OK and *out, or STATUS_INVALID.
 */
enum status yaml_text(const struct yaml_node *node, const char *what, const char **out,
                      struct error *err);
enum status yaml_real(const struct yaml_node *node, const char *what, double low, double high,
                      double *out, struct error *err);
enum status yaml_integer(const struct yaml_node *node, const char *what, int64_t low, int64_t high,
                         int64_t *out, struct error *err);

/* Fails with "'WHAT' is a list; expected a mapping" unless the node is of that kind. */
enum status yaml_expect(const struct yaml_node *node, const char *what, enum yaml_kind kind,
                        struct error *err);

#endif
