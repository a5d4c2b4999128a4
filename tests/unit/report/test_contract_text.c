/* The sentences for contracts between kernels and for errors of earlier launches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "report/summary_parts.h"
#include "refs/abi/ref_list.h"
#include "report/contracts.h"

static const struct contract bits = {.name = "norms", .where = "k.yaml:3", .bits = true};
static const struct contract margin = {.name = "sums", .where = "k.yaml:4", .rtol = 1e-3};
static const struct kernel_spec other = {.symbol = "norm_one", .label = "norm_one"};

static void a_difference_names_both_items(void **state)
{
    const struct parity_report parity = {.contract = &bits,
                                         .items = 8,
                                         .met = 4,
                                         .differ = 2,
                                         .item = 3,
                                         .other = &other,
                                         .other_launch = 7,
                                         .other_how = {{2, 1, 1}, {64, 1, 1}, 512, 1},
                                         .with = 1,
                                         .others = 2};
    char text[PARITY_TEXT];
    (void)state;
    parity_text(&parity, text);
    assert_string_equal(text, "contract norms: 2 of 4 items that were seen before differ; item 3 "
                              "is item 0 of norm_one, launch 7 (grid 2x1x1, block 64x1x1, 512 "
                              "bytes of shared memory, here 0, function 2 of its name, here 1), "
                              "which gave another output; 2 configurations agree on that");
}

static void a_margin_shows_the_values(void **state)
{
    const struct parity_report parity = {.contract = &margin,
                                         .met = 1,
                                         .differ = 1,
                                         .other = &other,
                                         .other_how = {{1, 2, 3}, {4, 5, 6}, 0, 0},
                                         .other_place = {.graph = 2, .node = 1, .replay = 9},
                                         .with = 1,
                                         .others = 1,
                                         .element = 5,
                                         .got = 1.5,
                                         .other_got = 2};
    char text[PARITY_TEXT];
    (void)state;
    parity_text(&parity, text);
    assert_string_equal(text,
                        "contract sums: 1 of 1 items that were seen before differ; item 0 "
                        "is item 0 of norm_one, launch 0 (grid 1x2x3, block 4x5x6) (node "
                        "1 of graph 2, replay 9), which gave another output: in element 5 2, here "
                        "1.5; which of the two is right, the contract does not show");
}

static void kernels_of_two_references_never_meet(void **state)
{
    static const struct ref_builtin one = {.name = "rmsnorm"}, two = {.name = "add_rmsnorm"};
    const struct contract within = {.within = true};
    struct kernel_spec norm = {.label = "norm", .reference = &one, .contract = &bits};
    struct kernel_spec fused = {.label = "fused", .reference = &two, .contract = &bits};
    struct contract_totals totals[CONTRACTS] = {0};
    struct check_report report = {.spec = &norm, .parity = {.contract = &bits, .items = 1}};
    char buffer[512];
    struct textbuf text;
    (void)state;
    textbuf_init_fixed(&text, buffer, sizeof buffer);
    contracts_judged(totals, &report);
    report.spec = &fused;
    contracts_judged(totals, &report);
    contract_line(&bits, totals, &text);
    assert_string_equal(buffer,
                        "    norms: 2 launches, 2 items, 0 of them seen before: nothing was "
                        "compared; items of norm (rmsnorm) and fused (add_rmsnorm) never "
                        "meet: their references differ\n");
    norm.contract = fused.contract = &within;
    totals[0] = (struct contract_totals){0};
    contracts_judged(totals, &report);
    report.spec = &norm;
    contracts_judged(totals, &report);
    assert_null(totals[0].apart);
}

static const char *line_of(const struct contract_totals *totals)
{
    static char buffer[512];
    struct textbuf text;
    textbuf_init_fixed(&text, buffer, sizeof buffer);
    contract_line(&bits, totals, &text);
    return buffer;
}

static void totals_add_up_and_silence_is_no_success(void **state)
{
    struct contract_totals totals[CONTRACTS] = {0};
    struct check_report report = {.spec = &other, .parity = {.contract = &bits, .items = 8}};
    (void)state;
    assert_string_equal(line_of(totals), "    norms: no launch of its kernels was checked\n");
    assert_false(contracts_judged(totals, &report));
    assert_string_equal(line_of(totals), "    norms: 1 launches, 8 items, 0 of them seen before: "
                                         "nothing was compared\n");
    report.parity.met = 8;
    report.parity.differ = 1;
    assert_false(contracts_judged(totals, &report));
    report.parity = (struct parity_report){.contract = &bits};
    assert_false(contracts_judged(totals, &report));
    assert_string_equal(line_of(totals),
                        "    norms: 3 launches, 16 items, 8 of them seen before, 1 with another "
                        "output; 1 launches have no such items (norm_one)\n");
    report.parity = (struct parity_report){.contract = &bits, .items = 1, .reveals = true};
    assert_true(contracts_judged(totals, &report));
    assert_false(contracts_judged(totals, &report)); /* once */
    report.parity.contract = NULL;
    assert_false(contracts_judged(totals, &report));
}

static void an_error_has_the_last_launches_and_the_advice(void **state)
{
    struct api_error error = {.api = "cuStreamSynchronize",
                              .error = "CUDA_ERROR_ASSERT",
                              .name = {"b", "a", "", "c"},
                              .names = 4};
    char text[API_ERROR_TEXT], *name;
    (void)state;
    api_error_text(&error, text);
    assert_string_equal(text, "cuStreamSynchronize returned CUDA_ERROR_ASSERT, the error of an "
                              "earlier launch. The last launches, the newest first: b, a; of "
                              "another thread: c. CUVET_SYNC=1 names the one that failed");
    error = (struct api_error){.error = "CUDA_ERROR_ASSERT", .at = "k", .grid = {1, 2, 3}};
    api_error_text(&error, text);
    assert_string_equal(text, "launch of k with grid (1,2,3), block (0,0,0): CUDA_ERROR_ASSERT "
                              "while it ran");
    error = (struct api_error){
        .error = "CUDA_ERROR_ASSERT", .at = "a CUDA graph", .name = {"a", "b"}, .names = 2};
    api_error_text(&error, text);
    assert_string_equal(text, "launch of a CUDA graph: CUDA_ERROR_ASSERT while it ran; its "
                              "kernels: a, b");
    name = malloc(90);
    memset(name, 'x', 89);
    name[89] = '\0';
    error = (struct api_error){.api = "f", .error = "E", .names = API_ERROR_NAMES};
    for (int i = 0; i < API_ERROR_NAMES; i++)
        error.name[i] = name;
    api_error_text(&error, text);
    assert_non_null(strstr(text, ". CUVET_SYNC=1 names")); /* also where names were left out */
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_two_references_never_meet),
        cmocka_unit_test(a_difference_names_both_items),
        cmocka_unit_test(a_margin_shows_the_values),
        cmocka_unit_test(totals_add_up_and_silence_is_no_success),
        cmocka_unit_test(an_error_has_the_last_launches_and_the_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
