/* Which code of a fatbin a device runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "image/fatbin.h"
#include "tests/unit/fakes/small_fatbin.h"

static struct small_fatbin whole(void)
{
    struct small_fatbin fatbin = {0};
    small_fatbin_add(&fatbin, SMALL_CUBIN, 80, 0, "sm_80");
    small_fatbin_add(&fatbin, SMALL_PTX, 75, 0, "compute_75");
    small_fatbin_add(&fatbin, SMALL_CUBIN, 90, 0, "sm_90");
    small_fatbin_add(&fatbin, SMALL_CUBIN, 90, SMALL_THIS_ARCH, "sm_90a");
    small_fatbin_add(&fatbin, SMALL_PTX, 90, SMALL_THIS_ARCH, "compute_90a");
    small_fatbin_add(&fatbin, SMALL_CUBIN, 100, 0, "sm_100");
    small_fatbin_add(&fatbin, SMALL_PTX, 100, 0, "compute_100");
    return fatbin;
}

/* Cut for the device: machine code and PTX; NULL: none of that kind. */
static void expect(unsigned arch, const char *cubin, const char *ptx)
{
    struct small_fatbin fatbin = whole();
    size_t bytes = 0, entries = (size_t)(cubin != NULL) + (ptx != NULL);
    const struct small_fatbin *cut = fatbin_cut(&fatbin, sizeof(fatbin), arch, &bytes);
    if (!entries) {
        assert_null(cut);
        return;
    }
    assert_non_null(cut);
    assert_int_equal(bytes, cut->header_bytes + entries * sizeof(struct small_entry));
    assert_int_equal(cut->bytes, entries * sizeof(struct small_entry));
    if (cubin)
        assert_string_equal(cut->entry[0].payload, cubin);
    if (ptx)
        assert_string_equal(cut->entry[entries - 1].payload, ptx);
    free((void *)(uintptr_t)cut);
}

static void each_device_gets_what_it_runs(void **state)
{
    (void)state;
    expect(90, "sm_90a", "compute_90a");
    expect(86, "sm_80", "compute_75");
    expect(80, "sm_80", "compute_75");
    expect(75, NULL, "compute_75");
    expect(70, NULL, NULL);
    expect(89, "sm_80", "compute_75");
    expect(100, "sm_100", "compute_100");
    expect(103, "sm_100", "compute_100");
    expect(120, NULL, "compute_100"); /* 90a is for 9.0 alone */
}

static void a_wrapper_leads_to_its_fatbin(void **state)
{
    struct small_fatbin fatbin = whole();
    struct small_wrapper wrapper = {.magic = 0x466243B1u, .version = 1, .fatbin = &fatbin};
    size_t bytes = 0;
    (void)state;
    assert_ptr_equal(fatbin_at(&fatbin, &bytes), &fatbin);
    assert_int_equal(bytes, fatbin.header_bytes + fatbin.bytes);
    assert_ptr_equal(fatbin_at(&wrapper, &bytes), &fatbin);
    wrapper.fatbin = NULL;
    assert_null(fatbin_at(&wrapper, &bytes));
    assert_null(fatbin_at("\x7f"
                          "ELF and more",
                          &bytes));
}

/* An entry that ends beyond its fatbin ends the search; what came before is taken. */
static void sizes_are_held_against_the_fatbin(void **state)
{
    struct small_fatbin fatbin = whole();
    size_t bytes = 0;
    (void)state;
    fatbin.entry[2].payload_bytes = UINT64_MAX - 8;
    struct small_fatbin *cut = fatbin_cut(&fatbin, sizeof(fatbin), 90, &bytes);
    assert_string_equal(cut->entry[0].payload, "compute_75");
    free(cut);
    fatbin.entry[0].header_bytes = 8;
    assert_null(fatbin_cut(&fatbin, sizeof(fatbin), 90, &bytes));
    fatbin = whole();
    assert_null(fatbin_cut(&fatbin, 8, 90, &bytes));
    fatbin.header_bytes = UINT16_MAX;
    assert_null(fatbin_cut(&fatbin, sizeof(fatbin), 90, &bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_device_gets_what_it_runs),
        cmocka_unit_test(a_wrapper_leads_to_its_fatbin),
        cmocka_unit_test(sizes_are_held_against_the_fatbin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
