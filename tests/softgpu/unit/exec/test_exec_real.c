/* test_exec_real.c - our own device code, run on the interpreter: that all of it can be, and the
 * snapshots' (the references' is test_exec_refs.c). */
#include "real_bench.h"
#include "device/snapshot_abi.h"

static void every_kernel_can_be_prepared(void **state)
{
    (void)state;
    static const char *const names[] = {"snapshot.ptx", "refs.ptx", "refs_wide.ptx"};
    for (unsigned f = 0; f < 3; f++) {
        if (!open_file(names[f]))
            skip();
        unsigned kernels = 0;
        for (unsigned i = 0; i < bench.ptx->function_count; i++) {
            if (!bench.ptx->functions[i].is_entry)
                continue;
            open_kernel(bench.ptx->functions[i].name);
            kernels++;
        }
        assert_true(kernels >= 2);
    }
}

enum { ROWS = 24, ROW = 200, PITCH = 256, LONG = 3 * SNAPSHOT_CHUNK + 77, SKEW = 5 };

/* One long row at an odd address, and short rows with a pitch. */
static void set_segments(struct snapshot_call *call, uint64_t source)
{
    call->segment[0] = (struct snapshot_segment){.source = source + SKEW,
                                                 .target = SKEW,
                                                 .row_bytes = LONG,
                                                 .rows = 1,
                                                 .rows_per_chunk = 1,
                                                 .chunks_per_row = 4};
    call->segment[1] = (struct snapshot_segment){.source = source + 65536,
                                                 .target = 65536,
                                                 .row_bytes = ROW,
                                                 .rows = ROWS,
                                                 .source_pitch = PITCH,
                                                 .target_pitch = PITCH,
                                                 .first_chunk = 4,
                                                 .rows_per_chunk = 8,
                                                 .chunks_per_row = 1};
    call->header.segments = 2;
}

static bool is_copied(unsigned i)
{
    return (i >= SKEW && i < SKEW + LONG) ||
           (i >= 65536 && i < 65536 + ROWS * PITCH && (i - 65536) % PITCH < ROW);
}

static void a_snapshot_copies_just_its_rows(void **state)
{
    (void)state;
    enum { BYTES = 1 << 17 };
    if (!open_file("snapshot.ptx"))
        skip();
    open_kernel("cuvet_snapshot");
    uint64_t source = bench_area(BYTES), room = bench_area(BYTES * 4), words = bench_area(4096);
    struct snapshot_call call = {0};
    set_segments(&call, source);
    for (unsigned i = 0; i < BYTES; i++)
        ((uint8_t *)bench_at(source))[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
    struct snapshot_arena *arena = bench_at(words + 1024);
    *arena = (struct snapshot_arena){
        .bytes = BYTES * 4, .lap = BYTES * 4, .tail = (void *)(uintptr_t)(words + 2048)};
    call.header.seal = (void *)(uintptr_t)words;
    call.header.ticket = (void *)(uintptr_t)(words + 512);
    call.header.arena = (void *)(uintptr_t)(words + 1024);
    call.header.base = room;
    call.header.place = (void *)(uintptr_t)(words + 3072);
    call.header.bytes = BYTES;
    call.header.seals = 1;
    bench.launch.grid[0] = 4 + ROWS / 8;
    bench.launch.block[0] = SNAPSHOT_THREADS + SNAPSHOT_CLERKS;
    for (unsigned turn = 1; turn <= 3; turn++) {
        call.header.sequence = turn;
        bench.launch.seed = turn == 1 ? 0 : turn;
        memset(bench_at(room), 0xee, BYTES * 4);
        run_with(&call);
        const struct snapshot_seal *seal = bench_at(words);
        assert_int_equal(seal->sequence, turn);
        uint64_t begin = (turn - 1) * BYTES, word = (uint64_t)turn << SEAL_BITS;
        assert_int_equal(seal->begin, word | begin / SNAPSHOT_ALIGN);
        assert_int_equal(seal->end, word | (begin + BYTES) / SNAPSHOT_ALIGN);
        assert_int_equal(seal->started >> SEAL_BITS, turn);
        assert_int_equal(seal->stopped >> SEAL_BITS, turn);
        const uint8_t *from = bench_at(source), *to = bench_at(room + begin);
        for (unsigned i = 0; i < BYTES; i++)
            if (to[i] != (is_copied(i) ? from[i] : 0xee))
                fail_msg("byte %u of turn %u", i, turn);
    }
}

/* Whole chunks and others, into room that is free or is not. */
static void a_short_copy_waits_for_nobody_and_overwrites_nothing(void **state)
{
    (void)state;
    enum { BYTES = 1 << 17, PIECES = 4, VALUE = SKEW + 1000 };
    if (!open_file("snapshot.ptx"))
        skip();
    open_kernel("cuvet_snapshot_short");
    uint64_t source = bench_area(BYTES), room = bench_area(BYTES), words = bench_area(4096);
    struct snapshot_call_short call = {
        .piece = {{source + SKEW, SKEW, SNAPSHOT_CHUNK - SKEW},
                  {source + SNAPSHOT_CHUNK, SNAPSHOT_CHUNK, SNAPSHOT_CHUNK},
                  {source + 2 * SNAPSHOT_CHUNK, 2 * SNAPSHOT_CHUNK, SNAPSHOT_CHUNK - 77},
                  {source + 65536 + 3, 65536 + 3, 1}}};
    for (unsigned i = 0; i < BYTES; i++)
        ((uint8_t *)bench_at(source))[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
    const uint64_t copied = 3 * SNAPSHOT_CHUNK - 77;
    struct snapshot_reserve *reserve = bench_at(words + 1024);
    reserve->tail = (void *)(uintptr_t)(words + 2048);
    call.reserve = (void *)(uintptr_t)(words + 1024);
    call.header.seal = (void *)(uintptr_t)words;
    call.header.ticket = (void *)(uintptr_t)(words + 512);
    call.header.base = room;
    call.header.seals = call.header.values = 1;
    call.header.value[0] = VALUE << 4 | 1;
    bench.launch.grid[0] = PIECES;
    bench.launch.block[0] = SNAPSHOT_THREADS;
    /* The room is free; not yet; since then, by the host; by a kernel before. */
    static const struct {
        uint64_t needs, tail;
        bool fits;
    } turns[] = {
        {0, 0, true}, {500, 499, false}, {500, 600, true}, {600, 0, true}, {601, 0, false}};
    for (unsigned turn = 0; turn < sizeof turns / sizeof *turns; turn++) {
        const uint64_t sequence = turn + 1, word = sequence << SEAL_BITS;
        call.header.sequence = sequence;
        call.needs = turns[turn].needs;
        *(uint64_t *)bench_at(words + 2048) = turns[turn].tail;
        bench.launch.seed = turn;
        memset(bench_at(room), 0xee, BYTES);
        run_with(&call);
        const struct snapshot_seal *seal = bench_at(words);
        const bool fits = turns[turn].fits;
        assert_int_equal(seal->sequence, sequence);
        assert_int_equal(seal->begin, word);
        assert_int_equal(seal->end, word | fits);
        assert_int_equal(seal->started >> SEAL_BITS, sequence);
        assert_int_equal(seal->stopped >> SEAL_BITS, sequence);
        assert_int_equal(*(uint32_t *)bench_at(words + 512), 0);
        const uint8_t *from = bench_at(source), *to = bench_at(room);
        if (fits)
            assert_int_equal(seal->value[0], from[VALUE]);
        for (unsigned i = 0; i < BYTES; i++) {
            bool is = (i >= SKEW && i < copied) || i == 65536 + 3;
            if (to[i] != (fits && is ? from[i] : 0xee))
                fail_msg("byte %u of turn %u", i, turn);
        }
    }
}

/* A copy before a launch and the one behind it, in the same room, which may not be free for the
 * first and free for the second. */
static void half_a_short_snapshot_is_not_sealed(void **state)
{
    (void)state;
    enum { BYTES = 1 << 16, PIECES = 3, EARLIER = 2 * SNAPSHOT_CHUNK };
    if (!open_file("snapshot.ptx"))
        skip();
    open_kernel("cuvet_snapshot_short");
    uint64_t source = bench_area(BYTES), room = bench_area(BYTES), words = bench_area(4096);
    struct snapshot_reserve *reserve = bench_at(words + 1024);
    struct snapshot_place *place = bench_at(words + 3072);
    reserve->tail = (void *)(uintptr_t)(words + 2048);
    struct snapshot_call_short call = {.reserve = (void *)(uintptr_t)(words + 1024), .needs = 500};
    call.header.seal = (void *)(uintptr_t)words;
    call.header.ticket = (void *)(uintptr_t)(words + 512);
    call.header.place = (void *)(uintptr_t)(words + 3072);
    call.header.base = room;
    bench.launch.block[0] = SNAPSHOT_THREADS;
    static const struct {
        uint64_t first, second; /* the host's tail */
    } turns[] = {{500, 500}, {499, 500}, {499, 499}, {600, 600}};
    for (unsigned turn = 0; turn < sizeof turns / sizeof *turns; turn++) {
        const uint64_t sequence = turn + 1, word = sequence << SEAL_BITS;
        const bool first = turns[turn].first >= 500, second = turns[turn].second >= 500;
        const uint8_t *at = bench_at(room);
        call.header.sequence = sequence;
        reserve->tail_seen = 0;
        bench.launch.seed = turn;
        bench.launch.grid[0] = PIECES;
        memset(bench_at(source), (int)(2 * turn), BYTES);
        memset(bench_at(room), 0xee, BYTES);
        call.header.seals = 0;
        for (unsigned i = 0; i < PIECES; i++)
            call.piece[i] = (struct snapshot_piece){source + 256 * i, EARLIER + 256 * i, 100};
        *(uint64_t *)bench_at(words + 2048) = turns[turn].first;
        run_with(&call);
        const struct snapshot_seal *seal = bench_at(words);
        assert_int_equal(seal->sequence, sequence - 1);
        assert_int_equal(at[EARLIER + 512], first ? 2 * turn : 0xee);
        uint64_t busy = place->busy;
        memset(bench_at(source), (int)(2 * turn + 1), BYTES);
        call.header.seals = 1;
        for (unsigned i = 0; i < PIECES; i++)
            call.piece[i].target = 256 * i;
        *(uint64_t *)bench_at(words + 2048) = turns[turn].second;
        run_with(&call);
        assert_int_equal(seal->sequence, sequence);
        assert_int_equal(seal->begin, word);
        assert_int_equal(seal->end, word | (first && second));
        assert_true(seal->stopped - seal->started >= busy);
        assert_int_equal(at[512], second ? 2 * turn + 1 : 0xee);
        assert_int_equal(at[EARLIER + 512], first ? 2 * turn : 0xee);
        assert_int_equal(place->busy, 0);
        assert_int_equal(*(uint32_t *)bench_at(words + 512), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_can_be_prepared),
        cmocka_unit_test(a_snapshot_copies_just_its_rows),
        cmocka_unit_test(a_short_copy_waits_for_nobody_and_overwrites_nothing),
        cmocka_unit_test(half_a_short_snapshot_is_not_sealed),
    };
    return cmocka_run_group_tests_name("exec, our device code", tests, NULL, close_bench);
}
