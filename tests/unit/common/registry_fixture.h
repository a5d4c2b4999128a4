/* registry_fixture.h - registries out of texts, kernels out of parameter lists, for unit tests. */
#ifndef TESTS_UNIT_REGISTRY_FIXTURE_H
#define TESTS_UNIT_REGISTRY_FIXTURE_H

#include "registry/registry.h"
#include "lang/signature.h"

/* The parameters of a kernel: their sizes as layout_of takes them, and pointers to their values. */
#define SIZES(...)  ((const unsigned[]){__VA_ARGS__, 0})
#define PARAMS(...) ((void *[]){__VA_ARGS__})

/* What registry_load complained about. */
struct complaints {
    int count;
    char text[8][700];
};
void complain_to(void *complaints, const char *sentence);

/* Writes `text` to a file of its own folder and loads it; the folder is gone again on return.
 * Its name in messages is ".../NAME". */
struct registry *registry_of(const char *text, struct complaints *complaints);

/* Fails the test unless a registry whose only entry, of kernel "k", goes on like this from its
 * second line on, indented by two, is refused with a message that holds `part`. */
void entry_refused(const char *entry, const char *part);

/* The signature that a text is, for as long as the program runs; fails the test where it is
 * refused. `captures` may be NULL. */
const struct signature *signature_of(const char *text, const struct captures *captures);

/* Fails it where it is not, or where the message does not hold `part`. */
void signature_refused(const char *text, const struct captures *captures, const char *part);

/* The parameter list of C for these sizes: a parameter of size 8, 4, 2 or 1 is aligned to it,
 * others to 8. The list ends with 0. */
struct param_layout layout_of(const unsigned *sizes);

/* One entry, written without its indentation, as the only one of a registry, resolved for a kernel
 * named "k" (by the entry) with these sizes. Fails the test on any complaint. */
struct resolved {
    struct registry *registry;
    const struct kernel_spec *spec;
};
struct resolved resolve_entry(const char *entry, const unsigned *sizes);

#endif
