/* `parity:` of a registry: what it reads, what it refuses, which kernels get which contract. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "refs/abi/ref_list.h"
#include "tests/unit/common/registry_fixture.h"
#include "tests/unit/common/says.h"

#define KERNELS                                                                                    \
    "kernels:\n- {kernel: 'k*', signature: 'const f32 x[n], f32 y[n], i32 n', reference: gelu}\n"

static struct complaints complaints;

static void expect(const char *parity, const char *part)
{
    char text[1024];
    snprintf(text, sizeof text, "version: 1\nparity:\n%s\n" KERNELS, parity);
    struct registry *registry = registry_of(text, &complaints);
    if (complaints.count != 1)
        fail_msg("%d complaints, the first '%s'", complaints.count, complaints.text[0]);
    expect_says(complaints.text[0], part);
    assert_null(registry_contract(registry, 0));
    registry_destroy(registry);
}

static void bad_contracts_are_told(void **state)
{
    (void)state;
    expect("- {kernels: k}", "k.yaml:3:3: the contract has no 'name'");
    expect("- {name: n}", "the contract has no 'kernels'");
    expect("- {name: n, kernels: k, agree: nearly}",
           "'agree' is 'nearly'; expected bits, or {rtol: NUMBER, atol: NUMBER}");
    expect("- {name: n, kernels: k, agree: {}}", "'agree' has no margin");
    expect("- {name: n, kernels: k, agree: {single: bits}}", "'agree' has no margin");
    expect("- {name: n, kernels: k, agree: {rtol: 1, single: 2}}",
           "'single' is '2'; expected bits");
    expect("- {name: n, kernels: k, agree: {rtol: -1}}", "'rtol' is '-1'");
    expect("- {name: n, kernels: k, agree: {ulps: 1}}", "unknown key 'ulps'");
    expect("- {name: n, kernels: k, items: rows}", "unknown key 'items'");
    expect("- {name: n, kernels: [k, '/(/']}", "k.yaml:3");
    expect("- {name: n, kernels: k, within: reason}", "'within' is 'reason'; expected kernel");
    expect("- n", "'parity' is 'n'; expected a mapping");
}

static const struct contract *contract_of(struct registry *registry, const char *symbol)
{
    static const unsigned sizes[] = {8, 8, 4, 0};
    struct param_layout layout = layout_of(sizes);
    struct error err = {0};
    enum skip skip;
    const struct kernel_spec *spec = registry_resolve(registry, symbol, &layout, &skip, &err);
    if (!spec)
        fail_msg("%s: %s", symbol, err.text);
    return spec->contract;
}

static void kernels_get_the_last_contract_that_names_them(void **state)
{
    struct registry *registry = registry_of(
        "version: 1\n"
        "parity:\n"
        "- {name: all, kernels: 'ka*', item: rows}\n"
        "- {name: two, kernels: [kab, kac], agree: {rtol: 1e-3, atol: 2, single: bits}}\n"
        "- {name: whole, kernels: kd, item: launch, agree: bits, within: kernel}\n" KERNELS,
        &complaints);
    (void)state;
    assert_int_equal(complaints.count, 0);
    const struct contract *all = contract_of(registry, "kaa"), *two = contract_of(registry, "kac");
    assert_string_equal(all->name, "all");
    assert_string_equal(all->item, "rows");
    assert_true(all->bits);
    assert_string_equal(two->name, "two");
    assert_null(two->item);
    assert_false(two->bits);
    assert_true(two->rtol == 1e-3 && two->atol == 2 && two->single_bits && !all->single_bits);
    assert_ptr_equal(two, contract_of(registry, "kab"));
    assert_string_equal(contract_of(registry, "kd")->item, "");
    assert_true(contract_of(registry, "kd")->within && !two->within);
    assert_null(contract_of(registry, "kx"));
    assert_ptr_equal(registry_contract(registry, 1), two);
    assert_null(registry_contract(registry, 3));
    registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_contracts_are_told),
        cmocka_unit_test(kernels_get_the_last_contract_that_names_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
