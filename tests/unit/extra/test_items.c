/* Items of a launch: which dim, which axes of which arrays, and what makes two of them the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "extra/items.h"
#include "extra/parity.h"
#include "lang/signature.h"
#include "plan/plan.h"
#include "refs/abi/ref_list.h"

/* A check of a kernel of a reference with these formals. */
static struct launched {
    struct formals formals;
    struct binding_plan plan;
    struct contract contract;
    struct ref_builtin reference;
    struct signature signature;
    struct kernel_spec spec;
    struct known_kernel kernel;
    struct check check;
} l;

/* Sizes in the order of the formals' names; every array is bound. */
static struct check *set_up(const char *formals, const char *item, const int64_t *sizes)
{
    struct error err = {{0}};
    memset(&l, 0, sizeof l);
    if (formals_parse(&l.formals, formals, &err))
        fail_msg("%s", err.text);
    l.contract.item = item;
    l.reference.name = "test";
    l.plan.formals = &l.formals;
    l.spec = (struct kernel_spec){.plan = &l.plan,
                                  .contract = &l.contract,
                                  .reference = &l.reference,
                                  .signature = &l.signature};
    l.kernel.spec = &l.spec;
    l.check.kernel = &l.kernel;
    l.check.binding.tensors = l.formals.tensors;
    for (int i = 0; i < l.formals.sizes; i++)
        l.check.binding.call.size[i] = sizes[i];
    for (int t = 0; t < l.formals.tensors; t++) {
        const struct formal *formal = formals_array(&l.formals, t);
        struct ref_tensor *tensor = &l.check.binding.call.tensor[t];
        l.check.binding.tensor_array[t] = (int8_t)t;
        tensor->dtype = DTYPE_F32;
        tensor->ndim = (uint8_t)formal->ndim;
        for (int d = 0; d < formal->ndim; d++)
            tensor->dim[d] =
                formal->dim[d].size < 0 ? formal->dim[d].literal : sizes[formal->dim[d].size];
    }
    return &l.check;
}

#define NORM "in x[rows][cols], in w[cols], out y[rows][cols], real eps, each rows, each cols"

static void the_first_promise_is_meant(void **state)
{
    struct items items;
    (void)state;
    items_find(set_up(NORM, NULL, (int64_t[]){5, 8}), &items);
    assert_int_equal(items.count, 5);
    assert_int_equal(items.total, 5);
    assert_int_equal(items.axis[0], 0);
    assert_int_equal(items.axis[1], -1);
    assert_int_equal(items.axis[2], 0);
    items_find(set_up(NORM, "cols", (int64_t[]){5, 8}), &items);
    assert_int_equal(items.count, 8);
    assert_int_equal(items.axis[1], 0);
    assert_int_equal(items.axis[2], 1);
}

static void what_is_not_promised_has_no_items(void **state)
{
    struct items items;
    (void)state;
    items_find(set_up(NORM, "heads", (int64_t[]){5, 8}), &items);
    assert_int_equal(items.count, 0);
    items_find(set_up("in x[rows], out y[rows]", "rows", (int64_t[]){5}), &items);
    assert_int_equal(items.count, 0);
    items_find(
        set_up("in x[rows], in p?[rows], out y[rows], each rows given p", "rows", (int64_t[]){5}),
        &items);
    assert_int_equal(items.count, 5);
    l.check.binding.tensor_array[1] = -1; /* then the place of a row counts */
    items_find(&l.check, &items);
    assert_int_equal(items.count, 0);
}

static void a_launch_may_be_one_item(void **state)
{
    struct items items;
    (void)state;
    items_find(set_up(NORM, "", (int64_t[]){5, 8}), &items);
    assert_int_equal(items.count, 1);
    assert_int_equal(items.axis[0], -1);
    items_find(set_up("in x[n], out y[1]", NULL, (int64_t[]){5}), &items);
    assert_int_equal(items.count, 1); /* nothing is promised */
}

#define HEADS "in q[heads][n], in k[groups][n], out y[heads], each groups with heads"

static void a_group_has_its_share(void **state)
{
    struct items items;
    (void)state;
    items_find(set_up(HEADS, NULL, (int64_t[]){8, 4, 2}), &items);
    assert_int_equal(items.count, 2);
    assert_int_equal(items.share, 4);
    assert_true(items.linked[0] && !items.linked[1] && items.linked[2]);
    items_find(set_up(HEADS, NULL, (int64_t[]){7, 4, 2}), &items);
    assert_int_equal(items.count, 0);
}

static void one_scale_for_all_is_shared(void **state)
{
    struct items items;
    const char *formals = "in x[rows], in s[scales], out y[rows], each rows like scales";
    (void)state;
    items_find(set_up(formals, NULL, (int64_t[]){6, 1}), &items);
    assert_int_equal(items.count, 6);
    assert_int_equal(items.axis[1], -1);
    items_find(set_up(formals, NULL, (int64_t[]){6, 6}), &items);
    assert_int_equal(items.axis[1], 0);
    items_find(set_up(formals, NULL, (int64_t[]){6, 3}), &items);
    assert_int_equal(items.count, 0);
}

static void many_items_are_spread(void **state)
{
    struct items items;
    (void)state;
    items_find(set_up(NORM, NULL, (int64_t[]){1000, 8}), &items);
    assert_int_equal(items.count, DIGEST_ITEMS);
    assert_int_equal(items_place(&items, 0), 0);
    assert_int_equal(items_place(&items, DIGEST_ITEMS - 1), 996);
}

static uint64_t key(const struct check *check, uint64_t shared, uint64_t in)
{
    struct digest_sums sums = {.shared = shared, .item_in = {0, in}};
    struct items items;
    items_find(check, &items);
    return items_key(check, &items, &sums, 1);
}

static void what_makes_two_items_the_same(void **state)
{
    (void)state;
    uint64_t first = key(set_up(NORM, NULL, (int64_t[]){5, 8}), 1, 2);
    assert_true(first == key(set_up(NORM, NULL, (int64_t[]){9, 8}), 1, 2)); /* another batch */
    assert_true(first != key(set_up(NORM, NULL, (int64_t[]){5, 9}), 1, 2));
    assert_true(first != key(set_up(NORM, NULL, (int64_t[]){5, 8}), 3, 2));
    assert_true(first != key(set_up(NORM, NULL, (int64_t[]){5, 8}), 1, 3));
    l.check.binding.call.scalar[0] = 1e-6;
    assert_true(first != key(&l.check, 1, 2));
    set_up(NORM, NULL, (int64_t[]){5, 8})->binding.call.tensor[2].dtype = DTYPE_BF16;
    assert_true(first != key(&l.check, 1, 2));
    set_up(NORM, NULL, (int64_t[]){5, 8})->binding.tensor_array[1] = -1;
    assert_true(first != key(&l.check, 1, 2));
    set_up(NORM, NULL, (int64_t[]){5, 8});
    l.contract.number = 1;
    assert_true(first != key(&l.check, 1, 2));
    set_up(NORM, NULL, (int64_t[]){5, 8});
    l.reference.name = "other";
    assert_true(first != key(&l.check, 1, 2));
    set_up(NORM, NULL, (int64_t[]){5, 8});
    l.spec.number = 7;
    assert_true(first == key(&l.check, 1, 2)); /* another kernel */
    l.contract.within = true;
    uint64_t own = key(&l.check, 1, 2);
    l.spec.number = 8;
    assert_true(own != first && own != key(&l.check, 1, 2));
}

static void entries_without_a_reference_have_none(void **state)
{
    (void)state;
    struct check *check = set_up(NORM, NULL, (int64_t[]){5, 8});
    assert_true(parity_wanted(check));
    check->binding.picks = 1;
    assert_false(parity_wanted(check));
    check->binding.picks = 0;
    l.plan.formals = NULL;
    assert_false(parity_wanted(check));
    l.plan.formals = &l.formals;
    l.spec.contract = NULL;
    assert_false(parity_wanted(check));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_promise_is_meant),
        cmocka_unit_test(what_is_not_promised_has_no_items),
        cmocka_unit_test(a_launch_may_be_one_item),
        cmocka_unit_test(a_group_has_its_share),
        cmocka_unit_test(one_scale_for_all_is_shared),
        cmocka_unit_test(many_items_are_spread),
        cmocka_unit_test(what_makes_two_items_the_same),
        cmocka_unit_test(entries_without_a_reference_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
