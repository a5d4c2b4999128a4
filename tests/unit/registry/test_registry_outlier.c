/* The keys of an entry for the outlier gate. */
#include "tests/unit/registry/registry_says.h"

#define OUTLIER(what) ENTRY("reference: gelu, outlier: " what ", " F)

static void bad_words_for_the_outlier_gate_are_told(void **state)
{
    (void)state;
    expect(OUTLIER("fingreprint"), 1,
           "k.yaml:3:41: unknown detector 'fingreprint'; expected off, fingerprint or centroid; "
           "did you mean 'fingerprint'?");
    expect(OUTLIER("[x]"), 1, "'outlier' is a list; expected a mapping");
    expect(OUTLIER("{input: x}"), 1, "unknown key 'input'; expected one of detector, inputs,");
    expect(OUTLIER("{inputs: z}"), 1,
           "k.yaml:3:50: 'z' is no array that the kernel reads and the reference gets");
    expect(OUTLIER("{inputs: y}"), 1, "'y' is no array that the kernel reads");
    expect(OUTLIER("{inputs: [x, x, x, x, x]}"), 1, "more than 4 inputs");
    expect(OUTLIER("{false_alarm: 0}"), 1, "'false_alarm' is '0'; expected a number between 0");
    expect(OUTLIER("{false_alarm: 1e-9}"), 1, "expected at least 1e-6");
    expect(OUTLIER("{detector: centroid, percentile: 1}"), 1, "expected a number between 0 and 1");
    expect(OUTLIER("{max_distances: 0}"), 1, "'max_distances' is '0'; expected a whole number");
    expect(OUTLIER("{detector: centroid, inputs: [x, x]}"), 1, "probes one input");
    quiet(OUTLIER("off"));
    quiet(OUTLIER("{inputs: x, false_alarm: 0.01}"));
    quiet(OUTLIER("{detector: centroid, inputs: [x], alpha: 0.5, threshold: 0.9}"));
}

static const struct outlier_spec *outlier_of(struct registry *registry)
{
    enum skip skip;
    struct error err;
    return &find(registry, "k", (const unsigned[]){8, 8, 8, 4, 0}, &skip, &err)->outlier;
}

/* The first const array of two dims, else the first that is read; or what the entry names. */
static void the_outlier_gate_has_its_inputs(void **state)
{
    static const struct {
        const char *signature, *rest, *bind, *input;
        int detector;
    } rows[] = {
        {"const f32 w[n], const f32 x[1][n], f32 y[1][n], i32 n", "", "eps: 0", "x", -1},
        {"const f32 w[n], const f32 x[n], f32 y[n], i32 n", "", "eps: 0", "w", -1},
        {"inout f32 y[1][n], const f32 w[n], _, i32 n", "", "eps: 0, x: y", "y", -1},
        {"const f32 w[n], const f32 x[1][n], f32 y[1][n], i32 n", "outlier: {inputs: w}, ",
         "eps: 0", "w", -1},
        {"const f32 w[n], const f32 x[1][n], f32 y[1][n], i32 n", "outlier: centroid, ", "eps: 0",
         "x", 2},
        {"const f32 w[n], const f32 x[1][n], f32 y[1][n], i32 n", "outlier: off, ", "eps: 0", "x",
         0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 HEAD "- {kernel: k, signature: '%s', %sreference: rmsnorm, bind: {%s}}\n",
                 rows[i].signature, rows[i].rest, rows[i].bind);
        struct registry *registry = registry_of(text, &complaints);
        const struct outlier_spec *outlier = outlier_of(registry);
        assert_int_equal(outlier->inputs, 1);
        assert_string_equal(outlier->input[0], rows[i].input);
        assert_int_equal(outlier->detector, rows[i].detector);
        registry_destroy(registry);
    }
}

/* Blocks are no numbers to it: it reads the other input, none, or the entry is refused with a
 * reason. */
static void the_outlier_gate_passes_over_blocks(void **state)
{
    (void)state;
    static const char text[] = HEAD
        "- {kernel: k, signature: 'const q8_0 w[32][n], const %s x[1][n], f32 y[1][32], i32 n',"
        " reference: linear_blocks, %s}\n";
    char entry[512];
    snprintf(entry, sizeof entry, text, "f32", "sample: 1");
    struct registry *registry = registry_of(entry, &complaints);
    assert_int_equal(outlier_of(registry)->inputs, 1);
    assert_string_equal(outlier_of(registry)->input[0], "x");
    registry_destroy(registry);
    snprintf(entry, sizeof entry, text, "q8_1", "sample: 1");
    registry = registry_of(entry, &complaints);
    assert_int_equal(outlier_of(registry)->inputs, 0);
    registry_destroy(registry);
    snprintf(entry, sizeof entry, text, "f32", "outlier: {inputs: w}");
    registry = registry_of(entry, &complaints);
    registry_destroy(registry);
    assert_int_equal(complaints.count, 1);
    if (!strstr(complaints.text[0], "'w' is in blocks of q8_0, which the gate cannot read"))
        fail_msg("%s", complaints.text[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_words_for_the_outlier_gate_are_told),
        cmocka_unit_test(the_outlier_gate_has_its_inputs),
        cmocka_unit_test(the_outlier_gate_passes_over_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
