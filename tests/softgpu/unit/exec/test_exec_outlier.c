/*
 * test_exec_outlier.c - the kernel of the outlier gate on the interpreter, launch by launch against
 * the same arithmetic on the host (tests/unit/fakes/outlier_host.c): what many blocks see together
 * is what one caller gets.
 */
#include "real_bench.h"
#include <math.h>
#include <time.h>
#include "tests/unit/fakes/outlier_host.h"
#include "device/outlier_abi.h"
#include "refs/abi/ref_abi.h"

static bool open_outlier(const char *name)
{
    if (!open_file("outlier.ptx"))
        return false;
    open_kernel(name);
    bench.launch.block[0] = OUTLIER_THREADS + OUTLIER_CLERKS;
    return true;
}

/* An input of the test, twice: on the device, and on the host. */
struct looked_at {
    struct outlier_input device, host;
    struct outlier_entry entry;
};

static struct outlier_call call;
static struct looked_at input[OUTLIER_INPUTS];
static uint64_t words, sequence;
static uint32_t looks; /* since set_up; each unlocks the entries as another version */

/* A row of `bytes` at an odd place where it is not to be aligned; of the same layout as
 * extra/outlier.c makes. */
static void add_input(unsigned i, int dtype, unsigned size, bool integer, bool aligned,
                      uint64_t bytes, unsigned inputs)
{
    uint64_t data = bench_area(bytes + 64), entry = bench_area(sizeof(struct outlier_entry));
    unsigned skew = aligned ? 0 : size;
    struct outlier_input *in = &input[i].device;
    *in = (struct outlier_input){
        .address = data + skew,
        .row_bytes = bytes,
        .rows = 1,
        .pieces = (bytes + OUTLIER_PIECE - 1) / OUTLIER_PIECE,
        .entry = (struct outlier_entry *)(uintptr_t)entry,
        .period = aligned ? 48 : 37,
        .group = 2,
        .first_block = i ? input[i - 1].device.first_block + input[i - 1].device.blocks : 0,
        .dtype = (uint8_t)dtype,
        .size = (uint8_t)size,
        .integer = integer,
        .aligned = aligned,
    };
    in->pieces_per_row = in->sampled = (uint32_t)in->pieces;
    uint32_t most = integer ? OUTLIER_ID_PIECES : OUTLIER_PIECES;
    if (in->sampled > most)
        in->sampled = most;
    in->blocks = (in->sampled + OUTLIER_BLOCK_PIECES - 1) / OUTLIER_BLOCK_PIECES;
    in->first_line = i * (OUTLIER_LINES / inputs);
    uint32_t room = OUTLIER_LINES / inputs / (integer ? OUTLIER_ID_LINES : 1);
    if (in->blocks > room)
        in->blocks = room;
    input[i].host = *in;
    input[i].host.address = (uint64_t)(uintptr_t)bench_at(data) + skew;
    input[i].host.entry = &input[i].entry;
    memset(&input[i].entry, 0, sizeof(input[i].entry));
    call.input[i] = *in;
    call.outlier.inputs = i + 1;
    bench.launch.grid[0] = in->first_block + in->blocks;
}

static void set_up(void)
{
    uint64_t slot = bench_area(sizeof(struct outlier_slot));
    words = bench_area(8192);
    looks = 0;
    memset(&call, 0, sizeof(call));
    struct snapshot_arena *arena = bench_at(words + 1024);
    *arena = (struct snapshot_arena){
        .bytes = 4096, .lap = 4096, .tail = (void *)(uintptr_t)(words + 2048)};
    call.header.seal = (void *)(uintptr_t)words;
    call.header.arena = (void *)(uintptr_t)(words + 1024);
    call.header.base = words;
    call.header.place = (void *)(uintptr_t)(words + 3072);
    call.header.bytes = 256;
    call.outlier.slot = (void *)(uintptr_t)slot;
    call.outlier.answer = (void *)(uintptr_t)(words + 4096);
    call.outlier.detector = OUTLIER_FINGERPRINT;
    call.header.seals = 1;
}

static uint32_t draw(void)
{
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

/* Values of about -4 to 4, or indices below 30000, of any of the dtypes. */
static void fill(const struct outlier_input *in)
{
    char *at = (char *)(uintptr_t)in->address;
    for (uint64_t i = 0; i < in->row_bytes; i += in->size) {
        float value = ((float)(draw() % 4096) - 2048) / 512;
        double wide = (double)value;
        uint64_t bits = draw() % 30000;
        uint32_t single;
        memcpy(&single, &value, 4);
        if (in->dtype == DTYPE_BF16)
            bits = single >> 16;
        else if (in->dtype == DTYPE_F32)
            bits = single;
        else if (in->dtype == DTYPE_F64)
            memcpy(&bits, &wide, 8);
        else if (in->dtype == DTYPE_F16)
            bits = draw() % 0x4400 + (draw() & 1) * 0x8000;
        else if (in->dtype == DTYPE_F8E4M3)
            bits = draw() % 0x70;
        memcpy(at + i, &bits, in->size);
    }
}

/* What else is among the values of a float format, in most units: zeros and subnormals; and NaNs,
 * Infs and values whose squares are beyond f32. */
enum strewn { NOTHING, SMALL, UNUSUAL };

static void strew(const struct outlier_input *in, enum strewn what)
{
    enum { KINDS = 7, SMALL_KINDS = 4 };
    static const uint32_t f32[KINDS] = {0,          1,          0x80000000, 0x807fffff,
                                        0x7fc00000, 0x7f800000, 0x7e000000};
    static const uint32_t f16[KINDS] = {0, 1, 0x8000, 0x83ff, 0x7e00, 0x7c00, 0x7bff};
    char *at = (char *)(uintptr_t)in->address;
    for (uint64_t i = draw() % 7; what && i < in->row_bytes / in->size; i += 1 + draw() % 12) {
        uint32_t kind = draw() % (what == SMALL ? SMALL_KINDS : KINDS);
        uint32_t bits = in->dtype == DTYPE_F16 ? f16[kind] : f32[kind];
        bits = in->dtype == DTYPE_BF16 && bits > 1 ? bits >> 16 : bits;
        memcpy(at + i * in->size, &bits, in->size);
    }
}

static bool is_close(float a, float b)
{
    return fabsf(a - b) <= 2e-3f * (1 + fabsf(b));
}

static void compare(unsigned i, const char *what)
{
    const struct outlier_entry *got = bench_at((uint64_t)(uintptr_t)input[i].device.entry);
    const struct outlier_entry *want = &input[i].entry;
    assert_int_equal(got->version, 2 * looks);
    assert_int_equal(got->launches, want->launches);
    assert_int_equal(got->epoch, want->epoch);
    for (int f = 0; f < OUTLIER_CHARTS; f++) {
        /* SHAPE is a small difference of sums that the GPU adds up in another order. */
        if (!is_close(got->mean[f], want->mean[f]) ||
            !is_close(got->variance[f], want->variance[f]))
            fail_msg("%s, input %u, launch %u, statistic %d: mean %g, variance %g; expected %g, %g",
                     what, i, got->launches, f, (double)got->mean[f], (double)got->variance[f],
                     (double)want->mean[f], (double)want->variance[f]);
    }
    for (int b = 0; b < OUTLIER_BINS; b++)
        assert_true(is_close(got->share[b], want->share[b]));
}

/* What %globaltimer is taken from. */
static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The kernel reports how long the probe held its stream: no longer than it ran. */
static void expect_ordinary(const struct snapshot_seal *seal, uint64_t began)
{
    uint64_t held = seal->ordinary & ((1u << SEAL_TIME_BITS) - 1);
    assert_int_equal(seal->ordinary >> SEAL_TIME_BITS, sequence);
    assert_true(held > 0 && held <= now() - began);
}

/* One launch on both sides; whether it was called, which both must agree on. */
static bool launch(const char *what)
{
    struct outlier_header header = call.outlier;
    struct outlier_answer answer = {0};
    struct outlier_input host[OUTLIER_INPUTS];
    call.header.sequence = ++sequence;
    looks++;
    header.seed = call.outlier.seed = draw();
    header.answer = &answer;
    for (unsigned i = 0; i < header.inputs; i++)
        host[i] = input[i].host;
    bench.launch.params = &call;
    bench.launch.seed = sequence % 3;
    uint64_t began = now();
    if (exec_run(&bench.launch, &bench.fault))
        fail_msg("%s: %s", what, bench.fault.text);
    const struct snapshot_seal *seal = bench_at(words);
    bool called = seal->sequence == sequence;
    assert_int_equal(outlier_host_decide(&header, host), called);
    if (!called)
        expect_ordinary(seal, began);
    for (unsigned i = 0; i < header.inputs; i++)
        compare(i, what);
    return called;
}

static const struct format {
    const char *what;
    int dtype;
    unsigned size;
    bool integer, aligned;
    uint64_t bytes;
} formats[] = {
    {"bf16, one block", DTYPE_BF16, 2, false, true, 5 * OUTLIER_PIECE + 48},
    {"bf16, many blocks", DTYPE_BF16, 2, false, true, 70 * OUTLIER_PIECE},
    {"bf16, as many blocks as there are", DTYPE_BF16, 2, false, true,
     OUTLIER_PIECES *OUTLIER_PIECE},
    {"bf16, not aligned", DTYPE_BF16, 2, false, false, 9 * OUTLIER_PIECE + 6},
    {"f16", DTYPE_F16, 2, false, true, 20 * OUTLIER_PIECE},
    {"f32", DTYPE_F32, 4, false, true, 20 * OUTLIER_PIECE + 16},
    {"f64", DTYPE_F64, 8, false, true, 12 * OUTLIER_PIECE},
    {"f8", DTYPE_F8E4M3, 1, false, true, 12 * OUTLIER_PIECE},
    {"i32, one block", DTYPE_I32, 4, true, true, 3 * OUTLIER_PIECE},
    {"i32, many blocks", DTYPE_I32, 4, true, true, 20 * OUTLIER_PIECE + 16},
    {"i64", DTYPE_I64, 8, true, true, 20 * OUTLIER_PIECE},
    {"i32, not aligned", DTYPE_I32, 4, true, false, 9 * OUTLIER_PIECE + 4},
    {"i16", DTYPE_I16, 2, true, true, 9 * OUTLIER_PIECE},
};

static void look_at(const struct format *format, enum strewn strewn)
{
    set_up();
    add_input(0, format->dtype, format->size, format->integer, format->aligned, format->bytes, 1);
    for (int i = 0; i < 4; i++) {
        fill(&input[0].host);
        strew(&input[0].host, strewn);
        launch(format->what);
    }
}

/* One is for any inputs, the other for a single one. */
static const char *const kernels[] = {"cuvet_outlier", "cuvet_outlier_few"};

static void blocks_see_what_one_caller_sees(void **state)
{
    (void)state;
    for (size_t f = 0; f < 2 * sizeof(formats) / sizeof(*formats); f++) {
        if (!open_outlier(kernels[f % 2]))
            skip();
        look_at(&formats[f / 2], NOTHING);
    }
}

static void unusual_elements_are_counted_alike(void **state)
{
    static const struct format strewn[] = {
        {"bf16, unusual", DTYPE_BF16, 2, false, true, 20 * OUTLIER_PIECE + 48},
        {"f16, unusual", DTYPE_F16, 2, false, true, 9 * OUTLIER_PIECE + 1024},
        {"f32, unusual", DTYPE_F32, 4, false, true, 9 * OUTLIER_PIECE + 16},
        {"f32, unusual, not aligned", DTYPE_F32, 4, false, false, 9 * OUTLIER_PIECE + 4},
    };
    (void)state;
    for (size_t f = 0; f < 4 * sizeof(strewn) / sizeof(*strewn); f++) {
        if (!open_outlier(kernels[f % 2]))
            skip();
        look_at(&strewn[f / 4], f / 2 % 2 ? SMALL : UNUSUAL);
    }
}

/* More pieces than are read, so that each warp has several and the sample is drawn. */
static void a_sample_is_the_same_on_both_sides(void **state)
{
    (void)state;
    if (!open_outlier("cuvet_outlier"))
        skip();
    set_up();
    add_input(0, DTYPE_F32, 4, false, true, (uint64_t)(OUTLIER_PIECES + 300) * OUTLIER_PIECE / 8,
              1);
    input[0].device.sampled = input[0].host.sampled = call.input[0].sampled = 256;
    input[0].device.blocks = call.input[0].blocks = bench.launch.grid[0] = 5;
    for (int i = 0; i < 3; i++) {
        fill(&input[0].host);
        launch("sampled");
    }
}

static void every_input_is_merged_by_itself(void **state)
{
    (void)state;
    if (!open_outlier("cuvet_outlier"))
        skip();
    set_up();
    add_input(0, DTYPE_BF16, 2, false, true, 20 * OUTLIER_PIECE, 3);
    add_input(1, DTYPE_I32, 4, true, true, 20 * OUTLIER_PIECE, 3);
    add_input(2, DTYPE_F32, 4, false, false, 3 * OUTLIER_PIECE, 3);
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 3; j++)
            fill(&input[j].host);
        launch("three inputs");
    }
}

/* A look of a later epoch finds nothing, one of an earlier one changes nothing. */
static void an_epoch_begins_with_nothing(void **state)
{
    static const uint32_t epochs[] = {0, 0, 3, 3, 2, 3, UINT32_MAX, 4};
    (void)state;
    if (!open_outlier("cuvet_outlier"))
        skip();
    set_up();
    add_input(0, DTYPE_BF16, 2, false, true, 20 * OUTLIER_PIECE, 2);
    add_input(1, DTYPE_I32, 4, true, true, 3 * OUTLIER_PIECE, 2);
    for (size_t i = 0; i < sizeof(epochs) / sizeof(*epochs); i++) {
        call.outlier.epoch = epochs[i];
        fill(&input[0].host);
        fill(&input[1].host);
        launch("epochs");
    }
    assert_int_equal(input[0].entry.launches, 1);
}

/* Another launch updates: this one judges, but leaves the statistics to the other. */
static void who_finds_an_entry_in_use_does_not_learn(void **state)
{
    (void)state;
    if (!open_outlier("cuvet_outlier"))
        skip();
    set_up();
    add_input(0, DTYPE_BF16, 2, false, true, 20 * OUTLIER_PIECE, 1);
    struct outlier_entry *entry = bench_at((uint64_t)(uintptr_t)input[0].device.entry), before;
    fill(&input[0].host);
    launch("free");
    entry->version++;
    before = *entry;
    call.header.sequence = ++sequence;
    bench.launch.params = &call;
    if (exec_run(&bench.launch, &bench.fault))
        fail_msg("in use: %s", bench.fault.text);
    const struct snapshot_seal *seal = bench_at(words);
    assert_int_equal(seal->ordinary >> SEAL_TIME_BITS, sequence);
    assert_memory_equal(entry, &before, sizeof(before));
}

/* NaN, Inf and a value whose square f32 does not hold arrive, each by its own word of a line. */
static void what_is_not_ordinary_is_called(void **state)
{
    static const uint16_t spoilt[] = {0x7fc0, 0x7f80, 0x7e00, 0x4300};
    (void)state;
    for (int s = 0; s < 4; s++) {
        if (!open_outlier("cuvet_outlier"))
            skip();
        set_up();
        add_input(0, DTYPE_BF16, 2, false, true, 20 * OUTLIER_PIECE, 1);
        int called = 0;
        for (int i = 0; i < OUTLIER_START + 8; i++) {
            fill(&input[0].host);
            called += launch("usual");
        }
        assert_true(called < 8);
        memcpy((char *)(uintptr_t)input[0].host.address + 33000, &spoilt[s], 2);
        assert_true(launch("unusual"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_see_what_one_caller_sees),
        cmocka_unit_test(unusual_elements_are_counted_alike),
        cmocka_unit_test(a_sample_is_the_same_on_both_sides),
        cmocka_unit_test(every_input_is_merged_by_itself),
        cmocka_unit_test(an_epoch_begins_with_nothing),
        cmocka_unit_test(who_finds_an_entry_in_use_does_not_learn),
        cmocka_unit_test(what_is_not_ordinary_is_called),
    };
    return cmocka_run_group_tests(tests, NULL, close_bench);
}
