/* registry_says.h - what the registry complains of in a text, for unit tests. */
#ifndef TESTS_UNIT_REGISTRY_SAYS_H
#define TESTS_UNIT_REGISTRY_SAYS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "refs/abi/ref_list.h"
#include "tests/unit/common/registry_fixture.h"
#include "tests/unit/common/says.h"

#define HEAD "version: 1\nkernels:\n"
#define GELU "- {kernel: k, signature: 'const f32 x[n], f32 y[n], i32 n', reference: gelu}\n"

static const unsigned gelu_sizes[] = {8, 8, 4, 0};
static struct complaints complaints;

/* The text gives exactly one complaint, which holds `part`, and `entries` entries. */
static inline void expect(const char *text, size_t entries, const char *part)
{
    struct registry *registry = registry_of(text, &complaints);
    if (complaints.count != 1)
        fail_msg("%d complaints, the first '%s'", complaints.count, complaints.text[0]);
    expect_says(complaints.text[0], part);
    assert_int_equal(registry_entries(registry), entries);
    registry_destroy(registry);
}

static inline void quiet(const char *text)
{
    struct registry *registry = registry_of(text, &complaints);
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    registry_destroy(registry);
}

static inline const struct kernel_spec *find(struct registry *registry, const char *symbol,
                                             const unsigned *sizes, enum skip *skip,
                                             struct error *err)
{
    struct param_layout layout = layout_of(sizes);
    *err = (struct error){0};
    return registry_resolve(registry, symbol, &layout, skip, err);
}

#define ENTRY(rest) HEAD "- {kernel: k, " rest "}\n" GELU
#define F           "signature: 'const f32 x[n], f32 y[n], i32 n'"

#endif
