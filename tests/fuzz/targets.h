/*
 * targets.h - the readers of texts and bytes that come from outside, each as a function that any
 * input may be given to. A target returns; it may refuse its input, and must not read beyond it,
 * overflow or run on.
 */
#ifndef TESTS_FUZZ_TARGETS_H
#define TESTS_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

struct target {
    const char *name; /* the folder of its corpus */
    void (*run)(const uint8_t *data, size_t size);
    /* Writes inputs that are no text into the folder; NULL: the corpus has all. */
    void (*seed)(const char *folder);
};
extern const struct target targets[];
extern const size_t target_count;

/* The target of that name, or NULL. */
const struct target *target_find(const char *name);

/* The input as a text of its own size that ends with NUL; the caller frees it. */
char *target_text(const uint8_t *data, size_t size);

/* targets_registry.c, targets_report.c, targets_image.c, targets_bundle.c, targets_cases.c,
 * targets_tools.c */
void target_registry(const uint8_t *data, size_t size);
void target_entry(const uint8_t *data, size_t size);
void target_expression(const uint8_t *data, size_t size);
void target_signature(const uint8_t *data, size_t size);
void target_formals(const uint8_t *data, size_t size);
void target_tolerance(const uint8_t *data, size_t size);
void target_pattern(const uint8_t *data, size_t size);
void target_symbol(const uint8_t *data, size_t size);
void target_reference(const uint8_t *data, size_t size);
void target_options(const uint8_t *data, size_t size);
void target_control(const uint8_t *data, size_t size);
void target_plugin_wire(const uint8_t *data, size_t size);
void target_journal(const uint8_t *data, size_t size);
void target_report(const uint8_t *data, size_t size);
void target_trace(const uint8_t *data, size_t size);
void target_diff(const uint8_t *data, size_t size);
void target_ptx(const uint8_t *data, size_t size);
void target_lint(const uint8_t *data, size_t size);
void target_fatbin(const uint8_t *data, size_t size);
void target_image(const uint8_t *data, size_t size);
void target_bundle(const uint8_t *data, size_t size);
void seed_bundle(const char *folder);
void target_bundle_files(const uint8_t *data, size_t size);
void seed_bundle_files(const char *folder);
void target_cases(const uint8_t *data, size_t size);
void target_inductor(const uint8_t *data, size_t size);
void target_xla(const uint8_t *data, size_t size);
void target_record(const uint8_t *data, size_t size);
void target_pieces(const uint8_t *data, size_t size);
void target_lift(const uint8_t *data, size_t size);
void target_status(const uint8_t *data, size_t size);
void target_triton(const uint8_t *data, size_t size);
void target_metadata(const uint8_t *data, size_t size);
void seed_plugin_wire(const char *folder);
void seed_image(const char *folder);

#endif
