/* From a handle to its entry: which calls of the driver are made, and when; handles that come
 * back as other kernels; more handles than the table holds; many threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "driver/cuda_api.h"
#include "tests/unit/common/registry_fixture.h"
#include "gate/kernels.h"

/* Two entries of one name, distinguished by their layouts; the third name has one entry. */
static const char registry_text[] = "version: 1\n"
                                    "parity:\n"
                                    "- {name: same, kernels: one}\n"
                                    "kernels:\n"
                                    "- kernel: two\n"
                                    "  signature: const f32 x[n], f32 y[n], i32 n\n"
                                    "  reference: relu\n"
                                    "  label: narrow\n"
                                    "- kernel: two\n"
                                    "  signature: const f32 x[n], f32 y[n], i64 n\n"
                                    "  reference: relu\n"
                                    "  label: wide\n"
                                    "- kernel: one\n"
                                    "  signature: const f32 x[n], f32 y[n], i32 n\n"
                                    "  reference: relu\n";

static const char two[] = "two", one[] = "one", other[] = "other";

/* ---- a driver that has parameter lists ---- */

/* Handles are numbers; the lowest bits select what the driver reports of them. */
enum { NARROW = 0, WIDE = 1, ODD = 2, KINDS = 4 };

static atomic_int asked; /* for a first parameter */

static CUresult tell(uintptr_t handle, size_t index, size_t *offset, size_t *size)
{
    static const size_t sizes[KINDS][3] = {{8, 8, 4}, {8, 8, 8}, {8, 4, 0}};
    const size_t *list = sizes[handle % KINDS];
    if (index == 0)
        atomic_fetch_add(&asked, 1);
    if (index >= 3 || !list[index])
        return CUDA_ERROR_INVALID_VALUE;
    *offset = index * 8;
    *size = list[index];
    return CUDA_SUCCESS;
}

static CUresult kernel_info(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    return tell((uintptr_t)kernel, index, offset, size);
}

static CUresult function_info(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    return tell((uintptr_t)function, index, offset, size);
}

static CUresult refuse_kernel(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    (void)kernel, (void)index, (void)offset, (void)size;
    return CUDA_ERROR_INVALID_HANDLE;
}

static CUresult refuse_function(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    (void)function, (void)index, (void)offset, (void)size;
    return CUDA_ERROR_INVALID_HANDLE;
}

/* ---- the table under test ---- */

struct fixture {
    struct registry *registry;
    struct kernels *kernels;
    int seen, misfits, unsaid; /* unsaid: of a misfit, or a sentence on a fit */
    char sentence[1024];
};

static void on_seen(void *user, const struct known_kernel *kernel, const char *sentence)
{
    struct fixture *f = user;
    f->seen++;
    f->unsaid += (sentence == NULL) != (kernel->spec != NULL);
    if (sentence) {
        f->misfits++;
        snprintf(f->sentence, sizeof(f->sentence), "%s", sentence);
    }
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct complaints complaints;
    assert_non_null(f);
    f->registry = registry_of(registry_text, &complaints);
    assert_int_equal(complaints.count, 0);
    f->kernels = kernels_create(f->registry, on_seen, f);
    assert_non_null(f->kernels);
    cuda.cuKernelGetParamInfo = kernel_info;
    cuda.cuFuncGetParamInfo = refuse_function;
    atomic_store(&asked, 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    int unsaid = f->unsaid; /* fails the case */
    kernels_destroy(f->kernels);
    registry_destroy(f->registry);
    free(f);
    return unsaid;
}

static struct known_kernel *find(struct fixture *f, uintptr_t handle, const char *symbol)
{
    struct launch launch = {.function = (const void *)handle, .symbol = symbol};
    struct known_kernel *kernel = kernels_find(f->kernels, &launch);
    assert_non_null(kernel);
    return kernel;
}

static uintptr_t handle(unsigned number, unsigned kind)
{
    return (uintptr_t)(number + 1) * KINDS * 16 + kind;
}

/* ---- cases ---- */

static void count_sight(void *user, const struct launch *launch, const struct known_kernel *kernel)
{
    assert_string_equal(launch->symbol, kernel->symbol);
    ++*(int *)user;
}

/* Registered or not; again after a module was unloaded, for its handle may be another kernel's. */
static void each_handle_is_sighted_once(void **state)
{
    struct fixture *f = *state;
    int sights = 0;
    find(f, handle(0, NARROW), one);
    kernels_watch(f->kernels, count_sight, &sights);
    for (int i = 0; i < 3; i++) {
        find(f, handle(1, NARROW), one);
        find(f, handle(2, NARROW), other);
        find(f, handle(3, NARROW), other);
        find(f, handle(0, NARROW), one);
    }
    assert_int_equal(sights, 3);
    kernels_revalidate();
    for (int i = 0; i < 2; i++)
        find(f, handle(1, NARROW), one);
    assert_int_equal(sights, 4);
}

/* A handle's image is a number in it; that of number 0 is not known. */
static uint64_t image_of(void *user, const struct launch *launch, const char *symbol)
{
    (void)user;
    assert_string_equal(symbol, "one");
    return (uintptr_t)launch->function / KINDS % 16;
}

static uintptr_t build_handle(unsigned number, unsigned image)
{
    return handle(number, NARROW) + image * KINDS;
}

static void functions_of_one_name_are_numbered_by_their_images(void **state)
{
    struct fixture *f = *state;
    kernels_distinguish(f->kernels, image_of, NULL);
    static const unsigned image[] = {5, 7, 5, 0, 7, 9}, number[] = {0, 1, 0, 0, 1, 2};
    for (unsigned i = 0; i < 6; i++) {
        find(f, build_handle(i, image[i]), one);
        assert_int_equal(kernels_build(f->kernels, (void *)build_handle(i, image[i])), number[i]);
    }
    kernels_revalidate(); /* the first handle comes back, as does the second's image */
    find(f, build_handle(9, 7), one);
    find(f, build_handle(0, 5), one);
    assert_int_equal(kernels_build(f->kernels, (void *)build_handle(9, 7)), 1);
    assert_int_equal(kernels_build(f->kernels, (void *)build_handle(0, 5)), 0);
}

/* image_of() fails for them. */
static void kernels_without_a_contract_have_no_numbers(void **state)
{
    struct fixture *f = *state;
    kernels_distinguish(f->kernels, image_of, NULL);
    find(f, build_handle(0, 3), two);
    find(f, build_handle(1, 4), other);
    assert_int_equal(kernels_build(f->kernels, (void *)build_handle(0, 3)), 0);
    assert_int_equal(kernels_build(f->kernels, (void *)build_handle(2, 3)), 0); /* unknown */
}

static void a_known_handle_asks_nothing(void **state)
{
    struct fixture *f = *state;
    struct known_kernel *first = find(f, handle(0, NARROW), one);
    assert_non_null(first->spec);
    assert_int_equal(first->skip, SKIP_NONE);
    assert_string_equal(first->symbol, "one");
    assert_int_equal(first->layout.count, 3);
    int so_far = atomic_load(&asked);
    for (int i = 0; i < 100; i++)
        assert_ptr_equal(find(f, handle(0, NARROW), one), first);
    assert_int_equal(atomic_load(&asked), so_far);
    assert_int_equal(f->seen, 1);
}

static void an_unregistered_kernel_asks_nothing_at_all(void **state)
{
    struct fixture *f = *state;
    struct known_kernel *kernel = find(f, handle(0, NARROW), other);
    assert_null(kernel->spec);
    assert_int_equal(kernel->skip, SKIP_UNREGISTERED);
    assert_ptr_equal(find(f, handle(1, WIDE), other), kernel);
    assert_int_equal(atomic_load(&asked), 0);
    assert_int_equal(f->seen, 0);
}

static void another_handle_of_the_same_kernel_is_the_same_record(void **state)
{
    struct fixture *f = *state;
    char copy[] = "one"; /* another module holds its own copy of the name */
    struct known_kernel *kernel = find(f, handle(0, NARROW), one);
    assert_ptr_equal(find(f, handle(1, NARROW), copy), kernel);
    assert_ptr_not_equal(kernel->symbol, one);
    assert_int_equal(f->seen, 1);
}

static void one_symbol_with_two_layouts_is_two_kernels(void **state)
{
    struct fixture *f = *state;
    struct known_kernel *narrow = find(f, handle(0, NARROW), two);
    struct known_kernel *wide = find(f, handle(1, WIDE), two);
    assert_ptr_not_equal(narrow, wide);
    assert_string_equal(narrow->spec->label, "narrow");
    assert_string_equal(wide->spec->label, "wide");
    assert_int_equal(narrow->key, wide->key);
    assert_ptr_equal(find(f, handle(0, NARROW), two), narrow);
    assert_ptr_equal(find(f, handle(1, WIDE), two), wide);
    assert_int_equal(f->seen, 2);
}

/* A kernels_lift_fn: the kernel of each handle is another one. */
static const struct kernel_spec *lifted_of(void *specs, const struct launch *launch,
                                           const char *symbol, const struct param_layout *layout)
{
    (void)symbol, (void)layout;
    return (const struct kernel_spec *)specs + (uintptr_t)launch->function / (KINDS * 16) % 2;
}

/* Modules of one symbol whose parameters a shipped entry does not fit. */
static void kernels_of_one_symbol_are_held_against_their_own_code(void **state)
{
    struct fixture *f = *state;
    const struct registry_source source = {.tables = true};
    struct complaints complaints = {0};
    struct kernel_spec specs[2];
    const struct known_kernel *known = find(f, handle(0, NARROW), one);
    specs[0] = specs[1] = *known->spec;
    specs[0].lift = specs[1].lift = (const struct lift *)specs;
    kernels_destroy(f->kernels);
    registry_destroy(f->registry);
    assert_int_equal(registry_load(&f->registry, &source, complain_to, &complaints), STATUS_OK);
    f->kernels = kernels_create(f->registry, on_seen, f);
    kernels_lift(f->kernels, lifted_of, specs);
    for (unsigned i = 1; i < 5; i++) {
        const uintptr_t function = handle(i, NARROW);
        assert_ptr_equal(find(f, function, "_rms_norm_forward_kernel")->spec,
                         &specs[function / (KINDS * 16) % 2]);
    }
}

static void a_layout_that_fits_no_entry_is_told_once(void **state)
{
    struct fixture *f = *state;
    struct known_kernel *kernel = find(f, handle(0, ODD), two);
    assert_null(kernel->spec);
    assert_int_equal(kernel->skip, SKIP_LAYOUT);
    assert_non_null(strchr(f->sentence, '@')); /* sizes and offsets */
    find(f, handle(0, ODD), two);
    find(f, handle(1, ODD), two);
    assert_int_equal(f->misfits, 1);
}

/* ---- drivers that report otherwise, or nothing ---- */

static void a_function_is_asked_as_a_function(void **state)
{
    struct fixture *f = *state;
    cuda.cuKernelGetParamInfo = refuse_kernel;
    cuda.cuFuncGetParamInfo = function_info;
    assert_non_null(find(f, handle(0, NARROW), one)->spec);
    cuda.cuKernelGetParamInfo = NULL;
    assert_non_null(find(f, handle(1, NARROW), two)->spec);
}

static void expect_unknown_layout(struct fixture *f)
{
    struct known_kernel *kernel = find(f, handle(0, NARROW), one);
    assert_null(kernel->spec);
    assert_int_equal(kernel->skip, SKIP_LAYOUT);
    assert_int_equal(f->misfits, 1);
    assert_non_null(strstr(f->sentence, "12.4"));
    assert_ptr_equal(find(f, handle(0, NARROW), one), kernel);
    assert_int_equal(f->misfits, 1);
    assert_int_equal(find(f, handle(1, NARROW), other)->skip, SKIP_UNREGISTERED);
}

static void an_old_driver_leaves_kernels_unchecked(void **state)
{
    cuda.cuKernelGetParamInfo = NULL;
    cuda.cuFuncGetParamInfo = NULL;
    expect_unknown_layout(*state);
}

static void a_driver_that_refuses_leaves_kernels_unchecked(void **state)
{
    cuda.cuKernelGetParamInfo = refuse_kernel;
    expect_unknown_layout(*state);
}

static void no_symbol_is_an_unregistered_kernel(void **state)
{
    struct fixture *f = *state;
    struct known_kernel *kernel = find(f, handle(0, NARROW), NULL);
    assert_null(kernel->spec);
    assert_int_equal(kernel->skip, SKIP_UNREGISTERED);
    assert_string_equal(kernel->symbol, "");
    assert_ptr_equal(find(f, handle(0, NARROW), NULL), kernel);
    assert_int_equal(atomic_load(&asked), 0);
}

/* ---- unloads ---- */

static void after_an_unload_a_handle_is_looked_at_once_more(void **state)
{
    struct fixture *f = *state;
    struct known_kernel *kernel = find(f, handle(0, NARROW), one);
    int before = atomic_load(&asked);
    kernels_revalidate();
    assert_ptr_equal(find(f, handle(0, NARROW), one), kernel);
    assert_int_equal(atomic_load(&asked), before + 1);
    assert_ptr_equal(find(f, handle(0, NARROW), one), kernel);
    assert_int_equal(atomic_load(&asked), before + 1);
    assert_int_equal(f->seen, 1);
}

static void one_handle_is_resolved_again(void **state)
{
    struct fixture *f = *state;
    struct known_kernel *kernel = find(f, handle(0, NARROW), one);
    find(f, handle(1, NARROW), one);
    int before = atomic_load(&asked);
    kernels_resolve_again(f->kernels, (const void *)handle(0, NARROW));
    kernels_resolve_again(f->kernels, (const void *)handle(2, NARROW)); /* never seen */
    find(f, handle(1, NARROW), one);
    assert_int_equal(atomic_load(&asked), before);
    for (int i = 0; i < 2; i++)
        assert_ptr_equal(find(f, handle(0, NARROW), one), kernel);
    assert_int_equal(atomic_load(&asked), before + 1);
}

/* The next module's kernel has the handle of the one that went; even its name may lie at the same
 * address. */
static void a_handle_comes_back_as_another_kernel(void **state)
{
    struct fixture *f = *state;
    char name[8] = "one";
    struct known_kernel *before = find(f, handle(0, NARROW), name), *after;
    strcpy(name, "other");
    kernels_revalidate();
    after = find(f, handle(0, NARROW), name);
    assert_string_equal(after->symbol, "other");
    assert_string_equal(before->symbol, "one");
    strcpy(name, "one");
    kernels_revalidate();
    assert_ptr_equal(find(f, handle(0, NARROW), name), before);
}

/* Without a word of the unload: the name's address gives it away. */
static void another_name_under_a_known_handle_is_noticed(void **state)
{
    struct fixture *f = *state;
    struct known_kernel *kernel = find(f, handle(0, NARROW), one);
    assert_string_equal(find(f, handle(0, NARROW), other)->symbol, "other");
    assert_ptr_equal(find(f, handle(0, NARROW), one), kernel);
}

/* ---- threads that are cancelled or interrupted at a first lookup ---- */

static struct fixture *interrupted;
static atomic_int handled, handled_early, before_query;

/* A cancellation point inside a driver call, which a signal arrives in. */
static CUresult tell_at_length(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    raise(SIGUSR1);
    handled_early += handled > before_query;
    pthread_testcancel();
    return tell((uintptr_t)kernel, index, offset, size);
}

/* As exit does it, in a handler: takes the locks that the thread may hold. */
static void look_up_in_handler(int number)
{
    struct launch launch = {.function = (const void *)handle(900, NARROW), .symbol = other};
    (void)number;
    handled += kernels_find(interrupted->kernels, &launch) != NULL;
}

static void *look_up_cancelled(void *user)
{
    pthread_cancel(pthread_self());
    find(user, handle(0, NARROW), one);
    handled += 100;
    pthread_testcancel();
    return NULL;
}

/* The thread ends after the first lookup, its signals are handled after it, and no lock is left
 * held. Where one is, the test hangs until the alarm. */
static void a_first_sight_is_brought_to_its_end(void **state)
{
    struct sigaction action = {.sa_handler = look_up_in_handler}, before;
    pthread_t thread;
    void *result = NULL;
    interrupted = *state;
    handled = handled_early = before_query = 0;
    cuda.cuKernelGetParamInfo = tell_at_length;
    sigaction(SIGUSR1, &action, &before);
    alarm(60);
    assert_int_equal(pthread_create(&thread, NULL, look_up_cancelled, interrupted), 0);
    pthread_join(thread, &result);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_int_equal(handled, 101);
    assert_int_equal(handled_early, 0);
    before_query = handled;
    find(interrupted, handle(1, WIDE), two);
    assert_int_equal(handled, 102);
    assert_int_equal(handled_early, 0);
    alarm(0);
    sigaction(SIGUSR1, &before, NULL);
}

/* ---- memory ---- */

/* Whatever a program launches: half a kilobyte for each, its name included. Every second name holds
 * a word of an entry. */
static void unregistered_kernels_take_little_memory(void **state)
{
    enum { KERNELS = 4000, EACH = 512 };
    struct fixture *f = *state;
    size_t before = mallinfo2().uordblks;
    for (unsigned i = 0; i < KERNELS; i++) {
        char symbol[80];
        snprintf(symbol, sizeof(symbol),
                 i % 2 ? "_ZN3one12kernel_%05uI13__nv_bfloat16Li8EEvPT_S3_S3_i"
                       : "_ZN4four12kernel_%05uI13__nv_bfloat16Li8EEvPT_S3_S3_i",
                 i);
        assert_int_equal(find(f, handle(i, NARROW), symbol)->skip, SKIP_UNREGISTERED);
    }
    assert_in_range(mallinfo2().uordblks - before, 0, KERNELS * EACH); /* 0: a sanitizer's malloc */
    assert_int_equal(atomic_load(&asked), 0);
}

/* ---- many handles, many threads ---- */

enum { MANY = 20000, THREADS = 8 };

/* Which of four kernels a handle is; every one of them is right whether or not it has a place. */
static void expect_number(struct fixture *f, unsigned i)
{
    static const char *const names[] = {two, two, one, other};
    static const unsigned kinds[] = {NARROW, WIDE, NARROW, ODD};
    static const char *const labels[] = {"narrow", "wide", "", ""};
    const struct known_kernel *kernel = find(f, handle(i, kinds[i % 4]), names[i % 4]);
    assert_string_equal(kernel->symbol, names[i % 4]);
    assert_int_equal(kernel->spec == NULL, i % 4 == 3);
    if (i % 4 < 2)
        assert_string_equal(kernel->spec->label, labels[i % 4]);
}

static void more_handles_than_places_are_slower_never_wrong(void **state)
{
    struct fixture *f = *state;
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < MANY; i++)
            expect_number(f, i);
    }
    /* Some found no place and were looked up twice, most were not. */
    assert_in_range(atomic_load(&asked), MANY / 4 * 3 + 1, MANY / 4 * 3 * 2 - MANY / 4);
    assert_int_equal(f->seen, 3);
}

struct worker {
    pthread_t thread;
    struct fixture *fixture;
    unsigned number, wrong;
};

/* The assertions of cmocka belong to the main thread: this one counts. */
static void *look_up_all(void *user)
{
    static const char *const names[] = {two, two, one, other};
    static const unsigned kinds[] = {NARROW, WIDE, NARROW, ODD};
    struct worker *worker = user;
    for (unsigned i = 0; i < MANY; i++) {
        unsigned at = (i * 7919 + worker->number * 2503) % 2000, kind = at % 4;
        struct launch launch = {.function = (const void *)handle(at, kinds[kind]),
                                .symbol = names[kind]};
        const struct known_kernel *kernel = kernels_find(worker->fixture->kernels, &launch);
        worker->wrong += !kernel || strcmp(kernel->symbol, names[kind]) != 0 ||
                         (kernel->spec == NULL) != (kind == 3) ||
                         (kind < 2 && strcmp(kernel->spec->label, kind ? "wide" : "narrow") != 0);
        if (i % 1000 == worker->number)
            kernels_revalidate();
    }
    return NULL;
}

static void eight_threads_find_the_same(void **state)
{
    struct fixture *f = *state;
    struct worker worker[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        worker[i] = (struct worker){.fixture = f, .number = i};
        assert_int_equal(pthread_create(&worker[i].thread, NULL, look_up_all, &worker[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(worker[i].thread, NULL);
        assert_int_equal(worker[i].wrong, 0);
    }
    assert_int_equal(f->seen, 3);
    assert_int_equal(f->misfits, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_handle_is_sighted_once),
        CASE(functions_of_one_name_are_numbered_by_their_images),
        CASE(kernels_without_a_contract_have_no_numbers),
        CASE(a_known_handle_asks_nothing),
        CASE(an_unregistered_kernel_asks_nothing_at_all),
        CASE(another_handle_of_the_same_kernel_is_the_same_record),
        CASE(one_symbol_with_two_layouts_is_two_kernels),
        CASE(kernels_of_one_symbol_are_held_against_their_own_code),
        CASE(a_layout_that_fits_no_entry_is_told_once),
        CASE(a_function_is_asked_as_a_function),
        CASE(an_old_driver_leaves_kernels_unchecked),
        CASE(a_driver_that_refuses_leaves_kernels_unchecked),
        CASE(no_symbol_is_an_unregistered_kernel),
        CASE(after_an_unload_a_handle_is_looked_at_once_more),
        CASE(one_handle_is_resolved_again),
        CASE(a_handle_comes_back_as_another_kernel),
        CASE(another_name_under_a_known_handle_is_noticed),
        CASE(unregistered_kernels_take_little_memory),
        CASE(a_first_sight_is_brought_to_its_end),
        CASE(more_handles_than_places_are_slower_never_wrong),
        CASE(eight_threads_find_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
