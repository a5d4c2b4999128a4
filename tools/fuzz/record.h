/* record.h - a run of `cuvet fuzz` as a journal, which `cuvet report` merges with those of other
 * shards and of programs. */
#ifndef TOOLS_FUZZ_RECORD_H
#define TOOLS_FUZZ_RECORD_H

#include "tools/fuzz/subject.h"

struct fuzz_record;

/* In FOLDER, which is made if need be. `config`, the registry's files, and `image` outlive the
 * record. */
enum status fuzz_record_create(struct fuzz_record **out, const char *folder, const char *config,
                               const char *image, size_t entries, struct error *err);
/* Writes the totals. NULL is fine here and below. */
void fuzz_record_end(struct fuzz_record *record);

void fuzz_record_kernel(struct fuzz_record *record, const struct fuzz_subject *subject);

/* A case that the subject ran just now: counted by its outcome. */
void fuzz_record_case(struct fuzz_record *record, const struct fuzz_subject *subject,
                      const struct fuzz_case *c, uint64_t number, const struct fuzz_result *result);

/* A finding, as the case that the subject ran last; `bundle` may be "". */
void fuzz_record_finding(struct fuzz_record *record, const struct fuzz_subject *subject,
                         const struct fuzz_case *c, uint64_t number,
                         const struct fuzz_result *result, const char *bundle);

#endif
