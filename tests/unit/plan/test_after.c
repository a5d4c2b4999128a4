/* Results that a second kernel completes: what `after` means, what is refused, which launch counts
 * as the one before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/common/registry_fixture.h"
#include "bind/earlier.h"
#include "bind/binding.h"
#include "plan/plan.h"

/* ---- what is refused when a registry is read ---- */

#define TWO(first, bind)                                                                           \
    "after: {kernel: f, signature: '" first "'}\n  signature: f32 y[n], i32 n\n"                   \
    "  reference: scale\n  bind: {" bind "}\n"

static void nonsense_is_refused(void **state)
{
    (void)state;
    entry_refused("after: f\n  signature: f32 y[n], i32 n\n  reference: gelu\n",
                  ":4:10: 'after' is 'f'; expected a mapping");
    entry_refused("after: {kernel: f}\n  signature: f32 y[n], i32 n\n  reference: gelu\n",
                  "'after' needs a 'kernel' and its 'signature'");
    entry_refused("after: {kernel: f, signature: _, refrence: x}\n  signature: f32 y[n], i32 n\n"
                  "  reference: gelu\n",
                  "unknown key 'refrence'; expected one of kernel, signature");
    entry_refused("after: {kernel: '/(/', signature: _}\n  signature: f32 y[n], i32 n\n"
                  "  reference: gelu\n",
                  ":4:19");
    entry_refused(TWO("const f33 x[n]", "alpha: 1"), "signature: at 'f33': unknown type");
    entry_refused(TWO("inout f32 x[n]", "alpha: 1"),
                  "'after.x' is inout: what it held before the kernel of 'after' is gone");
    entry_refused(TWO("f32 x[n]", "alpha: 1"), "needs an argument that is const");
    entry_refused(TWO("const f32 x[z]", "alpha: 1"), "array 'after.x': expression 'z'");
    entry_refused(TWO("const f32 x[n], inout f32 s[1]", "alpha: \"s[0]\""),
                  "what it held before the kernel of 'after' is gone");
    entry_refused(TWO("const f32 x[n]", "alpha: 1") "  deterministic: yes\n",
                  "what the kernel of 'after' was given is not compared");
    entry_refused("after: {kernel: f, signature: 'const f32 x[n]'}\n"
                  "  signature: 'struct 8 { f32 x[n] @0 } after, i32 n'\n  reference: gelu\n",
                  "the name 'after.x' appears twice");
}

/* ---- launches ---- */

static struct known_kernel first; /* with a parameter list */
static struct earlier earlier;

static int forget_all(void **state)
{
    (void)state;
    memset(&earlier, 0, sizeof earlier);
    memset(&first, 0, sizeof first);
    first.after = 1;
    return 0;
}

static struct launch on_stream(uintptr_t stream)
{
    return (struct launch){.context = (void *)1, .stream = (const void *)stream};
}

static void the_first_kernels_names_mean_the_first_launch(void **state)
{
    (void)state;
    static struct binding b;
    struct error why = {0};
    uint64_t X = 0x10000, Y = 0x20000;
    int32_t n_first = 5, cols = 7, n = 3;
    float alpha = 2.5f;
    struct resolved r = resolve_entry(
        "kernel: k\n  after:\n    kernel: f\n    signature: >\n"
        "      const f32 x[n][block.y * grid.x][cols], _, struct 16 { i32 n @4, i32 cols @8 } s,\n"
        "      f32 alpha\n"
        "  signature: f32 y[after.n][n * after.grid.x / n][after.s.cols], i32 n\n"
        "  reference: scale\n",
        SIZES(8, 4));
    first.layout = layout_of(SIZES(8, 2, 16, 4));
    uint8_t s[16] = {0};
    memcpy(s + 4, &n_first, 4);
    memcpy(s + 8, &cols, 4);
    struct launch before = on_stream(9), launch = on_stream(9);
    before.params = PARAMS(&X, &X, s, &alpha);
    memcpy(before.grid, (uint32_t[]){6, 1, 1}, sizeof before.grid);
    memcpy(before.block, (uint32_t[]){32, 1, 1}, sizeof before.block);
    earlier_note(&earlier, &first, &before);
    n_first = cols = 0; /* what is kept is a copy */
    X = 0;
    alpha = 0;
    memset(s, 0, sizeof s);
    launch.params = PARAMS(&Y, &n);
    memcpy(launch.grid, (uint32_t[]){2, 1, 1}, sizeof launch.grid);
    launch.earlier = earlier_find(&earlier, &launch);
    assert_non_null(launch.earlier);
    if (binding_make(r.spec, &launch, &b, &why))
        fail_msg("%s", why.text);
    assert_int_equal(r.spec->after, 0);
    assert_int_equal(b.array[0].address, 0x10000);
    assert_int_equal(b.array[1].address, 0x20000);
    assert_int_equal(b.call.tensor[0].dim[0], 30);
    assert_int_equal(b.call.tensor[0].dim[1], 7);
    assert_true(b.call.scalar[0] == 2.5);
    for (unsigned i = 0; i < r.spec->shape_params; i++) /* the gate reads the second launch alone */
        assert_in_range(r.spec->shape_param[i].index, 0, 1);
    registry_destroy(r.registry);
}

static void a_kernel_is_known_by_the_entries_that_name_it(void **state)
{
    (void)state;
    struct complaints complaints = {0};
    struct registry *registry = registry_of(
        "version: 1\nkernels:\n"
        "- {kernel: k, signature: 'f32 y[n], i32 n', reference: scale, bind: {alpha: 1},"
        " after: {kernel: 'f*', signature: 'const f32 x[n]'}}\n"
        "- {kernel: f1, signature: 'const f32 x[n], f32 y[n], i32 n', reference: gelu}\n"
        "- {kernel: l, signature: 'f32 y[n], i32 n', reference: scale, bind: {alpha: 1},"
        " after: {kernel: /f1|g/, signature: 'const f32 x[n]'}}\n",
        &complaints);
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    assert_int_equal(registry_after(registry, "f1"), 3);
    assert_int_equal(registry_after(registry, "f2"), 1);
    assert_int_equal(registry_after(registry, "g"), 2);
    assert_int_equal(registry_after(registry, "k"), 0);
    assert_true(registry_names(registry, "f1"));
    assert_false(registry_names(registry, "f2"));
    char text[4096] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    registry_print(registry, out);
    fclose(out);
    assert_non_null(strstr(text, "    after f*: const f32 x[n]\n    bind alpha: 1\n"));
    registry_destroy(registry);
}

static void only_the_launch_right_before_counts(void **state)
{
    (void)state;
    struct known_kernel other = {0};
    struct launch a = on_stream(1), b = on_stream(2), c = on_stream(1);
    c.context = (void *)2; /* such as a legacy stream of another context */
    assert_null(earlier_find(&earlier, &a));
    earlier_note(&earlier, &other, &a);
    assert_int_equal(earlier.kept, 0);
    earlier_note(&earlier, &first, &a);
    assert_ptr_equal(earlier_find(&earlier, &a)->kernel, &first);
    assert_null(earlier_find(&earlier, &b));
    assert_null(earlier_find(&earlier, &c));
    earlier_note(&earlier, &other, &b);
    earlier_note(&earlier, NULL, &c);
    assert_non_null(earlier_find(&earlier, &a));
    earlier_note(&earlier, NULL, &a);
    assert_null(earlier_find(&earlier, &a));
    assert_int_equal(earlier.kept, 0);
    earlier_note(&earlier, &first, &a);
    earlier_note(&earlier, &first, &a);
    assert_int_equal(earlier.kept, 1);
}

static void a_few_streams_are_remembered(void **state)
{
    (void)state;
    for (uintptr_t stream = 1; stream <= EARLIER_STREAMS + 1; stream++) {
        struct launch launch = on_stream(stream);
        earlier_note(&earlier, &first, &launch);
    }
    struct launch oldest = on_stream(1), second = on_stream(2), last = on_stream(5);
    assert_int_equal(earlier.kept, EARLIER_STREAMS);
    assert_null(earlier_find(&earlier, &oldest));
    assert_non_null(earlier_find(&earlier, &second));
    assert_non_null(earlier_find(&earlier, &last));
}

static void long_parameter_lists_are_not_kept(void **state)
{
    (void)state;
    static uint8_t many[EARLIER_PARAMS + 8];
    struct launch launch = on_stream(1);
    first.layout = layout_of(SIZES(EARLIER_PARAMS, 8));
    launch.params = PARAMS(many, many);
    earlier_note(&earlier, &first, &launch);
    const struct earlier_launch *found = earlier_find(&earlier, &launch);
    uint32_t value;
    assert_non_null(found);
    assert_false(launch_read(&found->launch, 0, 0, 0, sizeof value, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test_setup(the_first_kernels_names_mean_the_first_launch, forget_all),
        cmocka_unit_test(a_kernel_is_known_by_the_entries_that_name_it),
        cmocka_unit_test_setup(only_the_launch_right_before_counts, forget_all),
        cmocka_unit_test_setup(a_few_streams_are_remembered, forget_all),
        cmocka_unit_test_setup(long_parameter_lists_are_not_kept, forget_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
