/* What variables of a module hold, for a bundle: which are taken, and which are not and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include "driver/cuda_api.h"
#include "judge/modules/module_variables.h"

static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                          ".const .align 4 .u32 changed = 5;\n"
                          ".const .align 4 .u32 kept = 7;\n"
                          ".global .align 4 .u32 moved;\n"
                          ".global .align 4 .u32 unknown;\n"
                          ".global .align 8 .u64 leads = generic(moved);\n"
                          ".global .align 4 .u32 large[300000];\n";

static struct side side;
static struct check check;
static uint8_t staging[STAGING_BYTES];
static unsigned lookups, copies;
static bool copies_fail;
static uint32_t value[2] = {6, 7}; /* of `changed` and `kept` */

static CUresult get_global(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
    assert_ptr_equal(module, &side);
    lookups++;
    if (!strcmp(name, "unknown"))
        return CUDA_ERROR_NOT_FOUND;
    *address = !strcmp(name, "changed") ? 1 : !strcmp(name, "kept") ? 2 : 3;
    *bytes = 4;
    return CUDA_SUCCESS;
}

static CUresult attribute(void *out, CUpointer_attribute wanted, CUdeviceptr address)
{
    assert_int_equal(wanted, CU_POINTER_ATTRIBUTE_IS_MANAGED);
    *(unsigned *)out = address == 3;
    return CUDA_SUCCESS;
}

static CUresult copy(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    copies++;
    if (copies_fail)
        return CUDA_ERROR_LAUNCH_FAILED;
    memcpy(to, &value[from - 1], bytes);
    return CUDA_SUCCESS;
}

static CUresult query(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static int setup(void **state)
{
    (void)state;
    cuda.cuModuleGetGlobal = get_global;
    cuda.cuPointerGetAttribute = attribute;
    cuda.cuMemcpyDtoHAsync = copy;
    cuda.cuStreamQuery = query;
    side = (struct side){.staging_host = staging};
    memset(&check, 0, sizeof(check));
    check.module.home.module = &side;
    check.module.unloads = module_unloads();
    lookups = copies = 0;
    copies_fail = false;
    return 0;
}

static struct module_variables *read_them(struct bundle_variables *out)
{
    struct module_variables *variables =
        module_variables_read(&side, &check, ptx, sizeof(ptx) - 1, 90);
    assert_non_null(variables);
    module_variables_list(variables, out);
    return variables;
}

static void expect(const struct bundle_variable *variable, const char *name, const char *why)
{
    assert_string_equal(variable->name, name);
    assert_null(variable->value);
    assert_string_equal(variable->why, why);
}

static void those_that_changed_are_taken(void **state)
{
    struct bundle_variables out;
    struct module_variables *variables = read_them(&out);
    (void)state;
    assert_int_equal(out.count, 5);
    assert_int_equal(out.unchanged, 1);
    assert_int_equal(out.unread, 0);
    assert_string_equal(out.list[0].name, "changed");
    assert_memory_equal(out.list[0].value, &value[0], 4);
    expect(&out.list[1], "moved", "it is managed memory");
    expect(&out.list[2], "unknown", "the driver does not find it");
    expect(&out.list[3], "leads", "it begins with addresses that the driver fills in");
    expect(&out.list[4], "large", "more bytes than are read of the variables of a module");
    assert_int_equal(copies, 2);
    module_variables_free(variables);
}

static void a_copy_that_fails_is_named(void **state)
{
    struct bundle_variables out;
    copies_fail = true;
    struct module_variables *variables = read_them(&out);
    (void)state;
    expect(&out.list[0], "changed", "it could not be copied");
    expect(&out.list[1], "kept", "it could not be copied");
    module_variables_free(variables);
}

/* Handles of modules are not used any more: they may be gone. */
static void after_an_unload_nothing_is_looked_up(void **state)
{
    static void (*const unloads[])(void) = {module_unload_begins, module_unload_seen};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct bundle_variables out;
        check.module.unloads = module_unloads();
        unloads[i]();
        struct module_variables *variables = read_them(&out);
        assert_int_equal(lookups + copies, 0);
        assert_int_equal(out.count, 6);
        expect(&out.list[5], "large", "a module was unloaded after the launch");
        module_variables_free(variables);
    }
}

static void an_image_that_is_none_has_none(void **state)
{
    (void)state;
    assert_null(module_variables_read(&side, &check, "nothing", 7, 90));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(those_that_changed_are_taken, setup),
        cmocka_unit_test_setup(a_copy_that_fails_is_named, setup),
        cmocka_unit_test_setup(after_an_unload_nothing_is_looked_up, setup),
        cmocka_unit_test_setup(an_image_that_is_none_has_none, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
