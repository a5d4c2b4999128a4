/* Module images: kept when they hold a registered kernel, whatever the bytes are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/fakes/small_elf.h"
#include "tests/unit/fakes/small_fatbin.h"
#include "judge/modules/images.h"

static const char registry_text[] = "version: 1\n"
                                    "kernels:\n"
                                    "  - kernel: wanted\n"
                                    "    signature: const f32 x[n], f32 y[n], i32 n\n"
                                    "    reference: relu\n"
                                    "  - kernel: other_*\n"
                                    "    signature: const f32 x[n], f32 y[n], i32 n\n"
                                    "    reference: relu\n";

static void complain(void *user, const char *sentence)
{
    (void)user;
    fail_msg("%s", sentence);
}

static struct registry *load(void)
{
    char file[] = "/tmp/cuvet-images-XXXXXX";
    struct registry *registry = NULL;
    int fd = mkstemp(file);
    assert_int_equal(write(fd, registry_text, sizeof(registry_text) - 1),
                     sizeof(registry_text) - 1);
    close(fd);
    struct registry_source source = {.files = file};
    assert_int_equal(registry_load(&registry, &source, complain, NULL), STATUS_OK);
    unlink(file);
    return registry;
}

static const void *const here = "context", *const there = "another context";

static void load_as(struct images *images, const char *kernel, uint32_t id, char mark)
{
    struct small_elf elf = small_elf(kernel);
    elf.mark = mark;
    images_loaded(images, here, id, NULL, &elf, sizeof(elf));
}

/* By a call that returns its CUmodule. */
static void load_module(struct images *images, const char *kernel, uint32_t id, const void *module)
{
    images_call_begins();
    load_as(images, kernel, id, (char)('a' + id));
    images_call_ends(images, module);
}

/* The mark of the image of a launch now of `symbol`; 0: there is none. */
static char find(struct images *images, const char *symbol, const void *module, uint64_t moment)
{
    struct image_query query = {symbol, here, {module, NULL}, moment, 90};
    const char *reason = NULL;
    size_t bytes = 1;
    const struct image *image = images_hold(images, &query, &reason);
    const struct small_elf *elf = image_data(image, &bytes);
    assert_int_equal(bytes, image ? sizeof(*elf) : 0);
    char mark = elf ? elf->mark : 0;
    assert_true((reason == NULL) == (image != NULL));
    images_release(images, image);
    return mark;
}

static const char *reason_of(struct images *images, const char *symbol, const void *context)
{
    struct image_query query = {symbol, context, {NULL, NULL}, images_moment(images), 90};
    const char *reason = NULL;
    assert_null(images_hold(images, &query, &reason));
    return reason;
}

static void only_registered_kernels_are_kept(void **state)
{
    struct registry *registry = load();
    struct images *images = images_create(registry);
    (void)state;
    load_as(images, "wanted", 1, 'w');
    load_as(images, "other", 2, 'o');
    assert_int_equal(images_kept(images), sizeof(struct small_elf));
    assert_int_equal(find(images, "wanted", NULL, images_moment(images)), 'w');
    assert_non_null(reason_of(images, "other", here));
    assert_non_null(reason_of(images, "wanted", there));
    assert_non_null(reason_of(NULL, "wanted", here));
    images_destroy(images);
    registry_destroy(registry);
}

/* As the specialisations of a Triton kernel: one symbol, a module each. */
static void of_two_modules_with_one_symbol_each_launch_has_its_own(void **state)
{
    static const char first[] = "module", second[] = "another", third[] = "a third";
    struct registry *registry = load();
    struct images *images = images_create(registry);
    (void)state;
    load_module(images, "wanted", 1, first);
    assert_int_equal(find(images, "wanted", NULL, images_moment(images)), 'b');
    load_module(images, "wanted", 2, second);
    uint64_t now = images_moment(images);
    assert_int_equal(find(images, "wanted", first, now), 'b');
    assert_int_equal(find(images, "wanted", second, now), 'c');
    assert_int_equal(find(images, "wanted", third, now), 0);
    assert_int_equal(find(images, "wanted", NULL, now), 0);
    assert_non_null(strstr(reason_of(images, "wanted", here), "several"));
    /* a third one, which no call returned: what is known of the others leaves it alone */
    load_as(images, "wanted", 3, 'x');
    now = images_moment(images);
    assert_int_equal(find(images, "wanted", third, now), 'x');
    assert_int_equal(find(images, "wanted", first, now), 'b');
    images_destroy(images);
    registry_destroy(registry);
}

/* As two libraries that nvcc's programs load: the query of a kernel makes the driver load its
 * module. */
static void of_two_libraries_with_one_symbol_each_launch_has_its_own(void **state)
{
    static const char first[] = "library", second[] = "another", third[] = "a third";
    struct small_elf elf = small_elf("wanted");
    struct registry *registry = load();
    struct images *images = images_create(registry);
    struct image_query query = {"wanted", here, {NULL, first}, 0, 90};
    const char *reason = NULL;
    (void)state;
    images_loaded(images, here, 1, first, &elf, sizeof(elf));
    elf.mark = 'b';
    images_loaded(images, here, 2, second, &elf, sizeof(elf));
    query.moment = images_moment(images);
    for (int i = 0; i < 2; i++) {
        const struct image *image = images_hold(images, &query, &reason);
        size_t bytes = 0;
        assert_non_null(image);
        assert_int_equal(((const struct small_elf *)image_data(image, &bytes))->mark, i ? 'b' : 0);
        images_release(images, image);
        query.home.library = second;
    }
    query.home.library = third;
    assert_null(images_hold(images, &query, &reason));
    /* by a CUfunction of one of them: which it is of is not known */
    query.home = (struct kernel_home){.module = third};
    assert_null(images_hold(images, &query, &reason));
    assert_non_null(strstr(reason, "several"));
    images_destroy(images);
    registry_destroy(registry);
}

static uint64_t hash_of(struct images *images, const void *module)
{
    struct image_query query = {"wanted", here, {module, NULL}, images_moment(images), 90};
    return images_hash(images, &query);
}

static void equal_bytes_have_one_hash_at_each_load(void **state)
{
    static const char first[] = "module", second[] = "another";
    struct registry *registry = load();
    struct images *images = images_create(registry);
    (void)state;
    load_module(images, "wanted", 1, first);
    load_module(images, "wanted", 2, second);
    uint64_t hash = hash_of(images, first);
    assert_int_not_equal(hash, 0);
    assert_int_not_equal(hash_of(images, second), 0);
    assert_int_not_equal(hash_of(images, second), hash);
    assert_int_equal(hash_of(images, NULL), 0); /* which of the two is not known */
    images_unloading(images, here, 1);
    load_module(images, "wanted", 1, first);
    assert_int_equal(hash_of(images, first), hash);
    assert_int_equal(hash_of(NULL, first), 0);
    images_destroy(images);
    registry_destroy(registry);
}

static void equal_images_are_one(void **state)
{
    struct registry *registry = load();
    struct images *images = images_create(registry);
    (void)state;
    load_as(images, "wanted", 1, 'e');
    load_as(images, "wanted", 2, 'e');
    assert_int_equal(find(images, "wanted", NULL, images_moment(images)), 'e');
    images_destroy(images);
    registry_destroy(registry);
}

/* A launch has the module that was there when it was enqueued, also when another has its name, its
 * number or its handle since. */
static void an_unloaded_module_is_its_launches_still(void **state)
{
    static const char handle[] = "handle";
    struct registry *registry = load();
    struct images *images = images_create(registry);
    (void)state;
    load_module(images, "wanted", 1, handle);
    uint64_t before = images_moment(images);
    images_unloading(images, here, 1);
    assert_int_equal(find(images, "wanted", handle, images_moment(images)), 0);
    load_module(images, "wanted", 2, handle);
    uint64_t after = images_moment(images);
    assert_int_equal(find(images, "wanted", handle, before), 'b');
    assert_int_equal(find(images, "wanted", NULL, before), 'b');
    assert_int_equal(find(images, "wanted", handle, after), 'c');
    assert_int_equal(find(images, "wanted", NULL, after), 'c');
    images_context_going(images, here);
    assert_int_equal(find(images, "wanted", handle, after), 'c');
    assert_int_equal(find(images, "wanted", handle, images_moment(images)), 0);
    images_destroy(images);
    registry_destroy(registry);
}

static void unloaded_modules_are_forgotten_in_time(void **state)
{
    struct registry *registry = load();
    struct images *images = images_create(registry);
    const char *reason;
    (void)state;
    load_as(images, "wanted", 0, 'h');
    struct image_query query = {"wanted", here, {NULL, NULL}, images_moment(images), 90};
    const struct image *held = images_hold(images, &query, &reason);
    images_unloading(images, here, 0);
    for (uint32_t i = 1; i < 1000; i++) {
        load_as(images, "wanted", i, 'x');
        images_unloading(images, here, i);
        assert_true(images_kept(images) <= (IMAGES_UNLOADED + 1) * sizeof(struct small_elf));
    }
    size_t bytes;
    const struct small_elf *elf = image_data(held, &bytes);
    assert_int_equal(elf->mark, 'h'); /* what is in use stays */
    images_release(images, held);
    assert_true(images_kept(images) <= IMAGES_UNLOADED * sizeof(struct small_elf));
    images_destroy(images);
    registry_destroy(registry);
}

/* More modules with registered kernels than were ever counted. */
static void the_thousandth_module_has_its_image_too(void **state)
{
    struct registry *registry = load();
    struct images *images = images_create(registry);
    (void)state;
    for (uint32_t i = 0; i < 1000; i++)
        load_as(images, "other_wanted", i, 'x');
    load_as(images, "wanted", 1000, 'w');
    load_as(images, "other_wanted", 1001, 'x');
    assert_int_equal(find(images, "wanted", NULL, images_moment(images)), 'w');
    images_destroy(images);
    registry_destroy(registry);
}

/* Every byte of the headers set to something else, and every shorter length: nothing is read
 * outside (the sanitizers watch) and nothing crashes. */
static void broken_images_are_passed_over(void **state)
{
    struct registry *registry = load();
    struct images *images = images_create(registry);
    (void)state;
    images_loaded(images, here, 1, NULL, NULL, 0);
    for (size_t i = 0; i < sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Shdr); i++) {
        struct small_elf *elf = malloc(sizeof(*elf)), *cut = malloc(i + 1);
        *elf = small_elf("wanted");
        memcpy(cut, elf, i);
        ((unsigned char *)elf)[i] ^= 0xff;
        images_loaded(images, here, 1, NULL, elf, sizeof(*elf));
        images_loaded(images, here, 1, NULL, cut, i);
        free(elf);
        free(cut);
    }
    images_destroy(images);
    registry_destroy(registry);
}

static void too_large_an_image_is_refused_with_a_reason(void **state)
{
    struct registry *registry = load();
    struct images *images = images_create(registry);
    size_t large = (32u << 20) + 1;
    struct small_elf *elf = calloc(1, large);
    (void)state;
    *elf = small_elf("wanted");
    images_loaded(images, here, 1, NULL, elf, large);
    assert_non_null(strstr(reason_of(images, "wanted", here), "32 MiB"));
    /* it may be the launch's module, and this one is not shown instead */
    load_as(images, "wanted", 2, 'w');
    assert_non_null(strstr(reason_of(images, "wanted", here), "several"));
    images_unloading(images, here, 1);
    assert_int_equal(find(images, "wanted", NULL, images_moment(images)), 'w');
    free(elf);
    images_destroy(images);
    registry_destroy(registry);
}

static void ptx_is_kept_too(void **state)
{
    static const char wanted[] =
        "\n// text\n.version 6.4\n.visible .entry wanted(\n.param .u64 x)\n",
                      never[] = ".version 6.4\n.visible .entry wanted2()\n";
    (void)state;
    struct images *images = images_create(load());
    images_loaded(images, here, 1, NULL, never, sizeof(never));
    assert_int_equal(images_kept(images), 0);
    images_loaded(images, here, 2, NULL, wanted, sizeof(wanted));
    assert_int_equal(images_kept(images), sizeof(wanted));
    struct image_query query = {"wanted", here, {NULL, NULL}, images_moment(images), 90};
    const char *reason;
    size_t bytes;
    const struct image *image = images_hold(images, &query, &reason);
    assert_memory_equal(image_data(image, &bytes), wanted, sizeof(wanted));
    images_release(images, image);
    images_destroy(images);
}

/* The image of a launch now; NULL and why. */
static const struct image *hold(struct images *images, const void *module, const void *library,
                                const char **reason)
{
    struct image_query query = {"wanted", here, {module, library}, images_moment(images), 90};
    return images_hold(images, &query, reason);
}

static void note_fatbin(void *user, const void *fatbin, size_t bytes)
{
    const struct small_fatbin *seen = fatbin;
    assert_int_equal(bytes, seen->header_bytes + seen->bytes);
    *(const void **)user = fatbin;
}

static uint64_t load_in_context(struct images *images, const struct small_fatbin *fatbin)
{
    images_given(images, fatbin, here, fatbin, true);
    struct image_query query = {"wanted", here, {fatbin, NULL}, images_moment(images), 90};
    return images_fatbin(images, &query);
}

/* Whichever way it is unloaded. */
static void an_unloaded_fatbin_is_not_read(void **state)
{
    struct small_fatbin fatbin = {0};
    const void *seen = NULL;
    (void)state;
    small_fatbin_add(&fatbin, SMALL_PTX, 75, 0, "text");
    struct images *images = images_create(load());
    uint64_t first = load_in_context(images, &fatbin);
    assert_true(images_read(images, first, note_fatbin, &seen));
    images_context_going(images, here);
    assert_false(images_read(images, first, note_fatbin, &seen));
    uint64_t second = load_in_context(images, &fatbin);
    assert_true(images_read(images, second, note_fatbin, &seen));
    images_taken(images, &fatbin);
    assert_false(images_read(images, second, note_fatbin, &seen));
    images_destroy(images);
}

/* Of all of the fatbin, whether or not a part of it was copied before. */
static void a_fatbin_has_one_hash_before_and_after_it_is_cut(void **state)
{
    struct small_fatbin fatbin = {0};
    const char *reason = NULL;
    (void)state;
    small_fatbin_add(&fatbin, SMALL_CUBIN, 80, 0, "sm_80");
    small_fatbin_add(&fatbin, SMALL_CUBIN, 90, 0, "sm_90");
    struct images *images = images_create(load());
    for (int lasting = 0; lasting < 2; lasting++) {
        images_given(images, &fatbin, here, &fatbin, lasting);
        uint64_t whole = hash_of(images, &fatbin);
        images_taken(images, &fatbin);
        images_given(images, &fatbin, here, &fatbin, lasting);
        images_release(images, hold(images, &fatbin, NULL, &reason));
        assert_null(reason);
        assert_int_equal(hash_of(images, &fatbin), whole);
        images_taken(images, &fatbin);
    }
    images_destroy(images);
}

/* Where a kernel is launched for the first time, its device is not known yet. */
static void a_fatbin_is_not_cut_without_a_device(void **state)
{
    struct small_fatbin fatbin = {0};
    const char *reason = NULL;
    (void)state;
    small_fatbin_add(&fatbin, SMALL_CUBIN, 90, 0, "sm_90");
    struct images *images = images_create(load());
    images_given(images, &fatbin, here, &fatbin, true);
    struct image_query query = {"wanted", here, {&fatbin, NULL}, images_moment(images), 0};
    assert_null(images_hold(images, &query, &reason));
    assert_non_null(reason);
    assert_int_equal(images_kept(images), 0);
    images_release(images, hold(images, &fatbin, NULL, &reason));
    assert_null(reason);
    images_destroy(images);
}

/* Each load of a fatbin has a number of its own, by which it is read where it lies. */
static void a_fatbin_is_read_while_it_is_loaded(void **state)
{
    struct small_fatbin fatbin = {0};
    const void *const library = &fatbin, *seen = NULL;
    (void)state;
    small_fatbin_add(&fatbin, SMALL_PTX, 75, 0, "text");
    struct images *images = images_create(load());
    images_given(images, library, NULL, &fatbin, true);
    struct image_query query = {"wanted", here, {NULL, library}, images_moment(images), 90};
    uint64_t first = images_fatbin(images, &query);
    assert_int_not_equal(first, 0);
    assert_true(images_read(images, first, note_fatbin, &seen));
    assert_ptr_equal(seen, &fatbin);
    assert_int_equal(images_kept(images), 0);
    images_taken(images, library);
    assert_false(images_read(images, first, note_fatbin, &seen));
    images_given(images, library, NULL, &fatbin, true);
    query.moment = images_moment(images);
    assert_true(images_fatbin(images, &query) > first);
    query.home.library = &query;
    assert_int_equal(images_fatbin(images, &query), 0);
    images_destroy(images);
}

/* PTX and cubins, which have no number, are held. */
static void other_images_are_no_fatbins(void **state)
{
    static const char ptx[] = ".version 6.4\n.visible .entry wanted()\n";
    (void)state;
    struct images *images = images_create(load());
    images_given(images, ptx, NULL, ptx, false);
    struct image_query query = {"wanted", here, {NULL, ptx}, images_moment(images), 90};
    assert_int_equal(images_fatbin(images, &query), 0);
    images_destroy(images);
}

/* By its library alone, and copied when it is first wanted. */
static void a_library_has_what_the_device_runs_of_its_fatbin(void **state)
{
    struct small_fatbin fatbin = {0};
    struct small_wrapper wrapper = {.magic = 0x466243B1u, .version = 1, .fatbin = &fatbin};
    const void *const library = &wrapper, *const other = &fatbin;
    const char *reason = NULL;
    size_t bytes = 0;
    (void)state;
    small_fatbin_add(&fatbin, SMALL_CUBIN, 80, 0, "sm_80");
    small_fatbin_add(&fatbin, SMALL_CUBIN, 90, 0, "sm_90");
    struct images *images = images_create(load());
    images_given(images, library, NULL, &wrapper, true);
    assert_int_equal(images_kept(images), 0);
    assert_null(hold(images, NULL, other, &reason));
    assert_null(hold(images, NULL, NULL, &reason));
    const struct image *image = hold(images, NULL, library, &reason);
    const struct small_fatbin *data = image_data(image, &bytes);
    assert_int_equal(bytes, data->header_bytes + sizeof(struct small_entry));
    assert_string_equal(data->entry[0].payload, "sm_90");
    assert_int_equal(images_kept(images), bytes);
    images_taken(images, library);
    images_release(images, image);
    assert_null(hold(images, NULL, library, &reason));
    images_destroy(images);
}

/* Bytes that may go at once are copied at once. */
static void a_fatbin_on_the_heap_is_copied(void **state)
{
    struct small_fatbin *fatbin = calloc(1, sizeof(*fatbin));
    const char *reason = NULL;
    size_t bytes = 0;
    (void)state;
    small_fatbin_add(fatbin, SMALL_PTX, 75, 0, "compute_75");
    small_fatbin_add(fatbin, SMALL_CUBIN, 100, 0, "sm_100");
    struct images *images = images_create(load());
    images_given(images, there, here, fatbin, false);
    memset(fatbin, 0xee, sizeof(*fatbin));
    free(fatbin);
    const struct image *image = hold(images, there, NULL, &reason);
    const struct small_fatbin *data = image_data(image, &bytes);
    assert_string_equal(data->entry[0].payload, "compute_75");
    assert_int_equal(images_kept(images), bytes);
    images_release(images, image);
    images_context_going(images, here);
    assert_null(hold(images, there, NULL, &reason));
    images_destroy(images);
}

/* Without a length: a cubin's is in its headers, that of PTX ends with it. */
static void cubins_and_ptx_that_were_passed_are_kept_by_their_kernels(void **state)
{
    struct small_elf wanted = small_elf("wanted"), never = small_elf("never");
    const char *reason = NULL;
    size_t bytes = 0;
    (void)state;
    struct images *images = images_create(load());
    images_given(images, &never, here, &never, false);
    images_given(images, there, here, NULL, false);
    assert_int_equal(images_kept(images), 0);
    images_given(images, &wanted, here, &wanted, false);
    const struct image *image = hold(images, &wanted, NULL, &reason);
    assert_memory_equal(image_data(image, &bytes), &wanted, offsetof(struct small_elf, mark));
    assert_int_equal(bytes, offsetof(struct small_elf, mark));
    images_release(images, image);
    images_given(images, there, here, ".version 6.4\n.visible .entry wanted()", false);
    image = hold(images, there, NULL, &reason);
    assert_non_null(image_data(image, &bytes));
    assert_int_equal(bytes, strlen(".version 6.4\n.visible .entry wanted()"));
    images_release(images, image);
    images_destroy(images);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_registered_kernels_are_kept),
        cmocka_unit_test(ptx_is_kept_too),
        cmocka_unit_test(a_library_has_what_the_device_runs_of_its_fatbin),
        cmocka_unit_test(a_fatbin_is_read_while_it_is_loaded),
        cmocka_unit_test(an_unloaded_fatbin_is_not_read),
        cmocka_unit_test(a_fatbin_has_one_hash_before_and_after_it_is_cut),
        cmocka_unit_test(a_fatbin_is_not_cut_without_a_device),
        cmocka_unit_test(other_images_are_no_fatbins),
        cmocka_unit_test(a_fatbin_on_the_heap_is_copied),
        cmocka_unit_test(cubins_and_ptx_that_were_passed_are_kept_by_their_kernels),
        cmocka_unit_test(of_two_modules_with_one_symbol_each_launch_has_its_own),
        cmocka_unit_test(of_two_libraries_with_one_symbol_each_launch_has_its_own),
        cmocka_unit_test(equal_bytes_have_one_hash_at_each_load),
        cmocka_unit_test(equal_images_are_one),
        cmocka_unit_test(an_unloaded_module_is_its_launches_still),
        cmocka_unit_test(unloaded_modules_are_forgotten_in_time),
        cmocka_unit_test(the_thousandth_module_has_its_image_too),
        cmocka_unit_test(broken_images_are_passed_over),
        cmocka_unit_test(too_large_an_image_is_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
