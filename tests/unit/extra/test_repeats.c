/* Which launch gave which output for which input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "extra/digest.h"
#include "registry/registry.h"
#include "extra/repeats.h"
#include "lang/signature.h"

static void the_same_output_is_no_news(void **state)
{
    struct repeats *repeats = repeats_create();
    uint64_t earlier = 99;
    (void)state;
    assert_false(repeats_differ(repeats, 7, 1000, 0, &earlier));
    assert_false(repeats_differ(repeats, 7, 1000, 1, &earlier));
    assert_false(repeats_differ(repeats, 8, 2000, 2, &earlier)); /* another input */
    assert_false(repeats_differ(repeats, 0, 5, 3, &earlier));
    assert_false(repeats_differ(repeats, 0, 5, 4, &earlier));
    repeats_destroy(repeats);
}

static void another_output_names_the_first_launch(void **state)
{
    struct repeats *repeats = repeats_create();
    uint64_t earlier = 99;
    (void)state;
    assert_false(repeats_differ(repeats, 7, 1000, 3, &earlier));
    assert_true(repeats_differ(repeats, 7, 1001, 5, &earlier));
    assert_int_equal(earlier, 3);
    assert_false(repeats_differ(repeats, 7, 1000, 6, &earlier)); /* the first stays */
    assert_false(repeats_differ(repeats, 0, 1, 0, &earlier));    /* 0 is a key as any other */
    assert_true(repeats_differ(repeats, 0, 2, 1, &earlier));
    assert_false(repeats_differ(NULL, 7, 1, 0, &earlier));
    repeats_destroy(repeats);
}

static void a_full_table_forgets_and_never_errs(void **state)
{
    struct repeats *repeats = repeats_create();
    uint64_t earlier;
    (void)state;
    for (uint64_t key = 1; key <= 3 * REPEATS; key++)
        assert_false(repeats_differ(repeats, key, key * key, key, &earlier));
    assert_true(repeats_differ(repeats, 3 * REPEATS, 1, 0, &earlier));
    assert_false(repeats_differ(repeats, 1, 12345, 0, &earlier)); /* no longer kept */
    repeats_destroy(repeats);
}

/* A kernel f(const f32 *x, f32 *y, i32 n) and a check of it. */
struct launched {
    struct known_kernel kernel;
    struct kernel_spec spec;
    struct signature signature;
    struct signature_item item[3];
    struct check check;
};

static void set_up(struct launched *l, uint64_t x, uint64_t y, int n)
{
    memset(l, 0, sizeof *l);
    l->item[0] = (struct signature_item){.name = "x", .array = true, .param = 0};
    l->item[1] = (struct signature_item){.name = "y", .array = true, .param = 1};
    l->item[2] = (struct signature_item){.name = "n", .param = 2};
    l->signature = (struct signature){.items = 3, .item = l->item};
    l->spec = (struct kernel_spec){.signature = &l->signature, .deterministic = true};
    l->kernel.spec = &l->spec;
    l->kernel.layout.count = 3;
    for (unsigned i = 0; i < 3; i++) {
        l->kernel.layout.param[i].offset = 8 * i;
        l->kernel.layout.param[i].size = i < 2 ? 8 : 4;
    }
    l->check.kernel = &l->kernel;
    l->check.binding.arrays = 2;
    l->check.binding.array[0].address = x;
    l->check.binding.array[1].address = y;
    l->check.params.bytes = 20;
    l->check.params.packed = l->check.params.few;
    memcpy(l->check.params.few, &x, 8);
    memcpy(l->check.params.few + 8, &y, 8);
    memcpy(l->check.params.few + 16, &n, 4);
}

static uint64_t key_of(uint64_t x, uint64_t y, int n, unsigned grid, uint64_t in)
{
    static struct launched l;
    struct digest_sums sums = {.in = in, .out = 1};
    set_up(&l, x, y, n);
    l.check.how.grid[0] = grid;
    assert_true(digest_wanted(&l.check));
    return digest_key(&l.check, &sums);
}

static void what_makes_a_launch_the_same(void **state)
{
    (void)state;
    uint64_t key = key_of(0x10000, 0x20000, 7, 4, 55);
    assert_true(key == key_of(0x10000, 0x20000, 7, 4, 55));
    assert_true(key == key_of(0x70000, 0x90000, 7, 4, 55)); /* other memory, aligned alike */
    assert_true(key != key_of(0x10004, 0x20000, 7, 4, 55)); /* aligned otherwise */
    assert_true(key != key_of(0x10000, 0x10000, 7, 4, 55)); /* in place */
    assert_true(key != key_of(0x10000, 0x20000, 8, 4, 55));
    assert_true(key != key_of(0x10000, 0x20000, 7, 5, 55));
    assert_true(key != key_of(0x10000, 0x20000, 7, 4, 56));
}

/* The rows around a cache's are drawn by the launch's number: their number and their place. */
static void guard_rows_do_not_make_a_launch_another(void **state)
{
    static struct launched l;
    const struct digest_sums sums = {.in = 55, .out = 1};
    uint64_t key[2], input[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        set_up(&l, 0x10000, 0x20000, 7);
        struct bound_array *guard = &l.check.binding.array[l.check.binding.arrays++];
        guard->guard = 2;
        guard->address = i ? 0x20000 : 0x20100;
        guard->ndim = 1;
        guard->dim[0] = 3 + i;
        key[i] = digest_key(&l.check, &sums);
        input[i] = digest_input(&l.check, &sums);
    }
    assert_true(key[0] == key[1]);
    assert_true(input[0] == input[1]);
}

static void long_parameter_lists_are_left_out(void **state)
{
    static struct launched l;
    (void)state;
    set_up(&l, 1, 2, 3);
    l.check.params.bytes = 0;
    assert_false(digest_wanted(&l.check));
    l.check.params.bytes = 20;
    l.spec.deterministic = false;
    assert_false(digest_wanted(&l.check));
}

/* ---- which parts of which arrays are hashed ---- */

static struct part {
    struct digest_call call;
    unsigned blocks;
} part[16];
static int parts;

static CUresult CUDAAPI take_launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                                    unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                    CUstream stream, void **params, void **extra)
{
    (void)f, (void)shared, (void)stream, (void)extra;
    assert_true(parts < 16 && gy == 1 && gz == 1 && bx == DIGEST_THREADS && by == 1 && bz == 1);
    part[parts].blocks = gx;
    memcpy(&part[parts++].call, params[0], sizeof(struct digest_call));
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI take_memset(CUdeviceptr at, unsigned char value, size_t bytes,
                                    CUstream stream)
{
    (void)stream;
    assert_true(at == 0x5000 && value == 0 && bytes == sizeof(struct digest_sums));
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI take_copy(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    assert_true(to && from == 0x5000 && bytes == sizeof(struct digest_sums));
    return CUDA_SUCCESS;
}

static void start(struct launched *l)
{
    static struct side side;
    static struct digest_sums host;
    struct lane lane = {.check = &l->check, .digest = 0x5000, .digest_host = &host};
    struct error err = {{0}};
    cuda.cuLaunchKernel = take_launch;
    cuda.cuMemsetD8Async = take_memset;
    cuda.cuMemcpyDtoHAsync = take_copy;
    parts = 0;
    assert_int_equal(digest_start(&side, &lane, &err), STATUS_OK);
}

static void array(struct launched *l, int i, enum role role, int64_t rows, int64_t cols)
{
    struct bound_array *a = &l->check.binding.array[i];
    struct placement *p = &l->check.placement[i];
    a->role = role;
    a->dtype = DTYPE_BF16;
    a->ndim = 2;
    a->dim[0] = rows;
    a->dim[1] = cols;
    p->stride[0] = cols + 8;
    p->stride[1] = 1;
    p->after = 0x100 * (i + 1);
    p->before = role == ROLE_INOUT ? p->after + 0x10 : NOT_COPIED;
}

static void all_that_was_read_and_written_is_hashed(void **state)
{
    static struct launched l;
    (void)state;
    set_up(&l, 0x10000, 0x20000, 7);
    l.check.room.at = 0x100000;
    array(&l, 0, ROLE_READ, 3, 100);
    array(&l, 1, ROLE_INOUT, 3, 100);
    start(&l);
    assert_int_equal(parts, 3);
    const uint64_t base[] = {0x100100, 0x100210, 0x100200}; /* x, y before, y after */
    for (int i = 0; i < 3; i++) {
        const struct digest_call *call = &part[i].call;
        assert_true(call->base == base[i] && call->first == 0 && call->end == 300);
        assert_true(call->element == 2 && call->ndim == 2 && call->stride[0] == 108);
        assert_true((uint64_t)(uintptr_t)call->sum == 0x5000 + (i == 2 ? 8 : 0));
        assert_int_equal(part[i].blocks, 1);
    }
    assert_true(part[0].call.seed != part[1].call.seed); /* swapped inputs are other inputs */
    array(&l, 1, ROLE_WRITE, 3, 100);
    start(&l);
    assert_int_equal(parts, 2);
}

static void large_arrays_are_hashed_in_parts(void **state)
{
    static struct launched l;
    const uint64_t count = 3 * ((uint64_t)1 << 24) + 5;
    uint64_t next = 0;
    (void)state;
    set_up(&l, 0x10000, 0x20000, 7);
    l.check.binding.arrays = 1;
    array(&l, 0, ROLE_READ, 1, (int64_t)count);
    start(&l);
    assert_int_equal(parts, 4);
    for (int i = 0; i < parts; i++) {
        assert_true(part[i].call.first == next && part[i].call.end > next);
        assert_true(part[i].blocks <= 4096);
        next = part[i].call.end;
    }
    assert_true(next == count);
    assert_int_equal(part[3].blocks, 1);
}

/* The copy of a row whose index leads nowhere has arbitrary bytes. */
static void rows_with_their_indices_are_not_hashed(void **state)
{
    static struct launched l;
    (void)state;
    set_up(&l, 0x10000, 0x20000, 7);
    l.check.room.at = 0x100000;
    array(&l, 0, ROLE_READ, 3, 100);
    array(&l, 1, ROLE_WRITE, 3, 100);
    l.item[0].role = ROLE_READ;
    l.item[1].role = ROLE_WRITE;
    l.check.binding.array[0].name = "x";
    start(&l);
    assert_int_equal(parts, 2);
    assert_int_equal(digest_unseen(&l.check), 0);
    l.check.binding.array[0].rows.kept = true;
    start(&l);
    assert_int_equal(parts, 1);
    assert_int_equal(part[0].call.base, 0x100200);
    assert_int_equal(digest_unseen(&l.check), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_output_is_no_news),
        cmocka_unit_test(another_output_names_the_first_launch),
        cmocka_unit_test(a_full_table_forgets_and_never_errs),
        cmocka_unit_test(what_makes_a_launch_the_same),
        cmocka_unit_test(guard_rows_do_not_make_a_launch_another),
        cmocka_unit_test(long_parameter_lists_are_left_out),
        cmocka_unit_test(all_that_was_read_and_written_is_hashed),
        cmocka_unit_test(large_arrays_are_hashed_in_parts),
        cmocka_unit_test(rows_with_their_indices_are_not_hashed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
