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

/* Chosen items, twice, an arena's length apart: into room that is free, and room that is not. */
static void a_snapshot_of_chosen_items_waits_for_no_room(void **state)
{
    (void)state;
    enum { BYTES = 1 << 14, ITEM = 64, PITCH_OF = 128, CHOSEN = 5, OUTER = BYTES / 2 };
    static const unsigned item[CHOSEN] = {3, 4, 40, 41, 42};
    if (!open_file("snapshot.ptx"))
        skip();
    open_kernel("cuvet_snapshot_few");
    uint64_t source = bench_area(BYTES), room = bench_area(BYTES), words = bench_area(4096);
    for (unsigned i = 0; i < BYTES; i++)
        ((uint8_t *)bench_at(source))[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
    struct snapshot_call_few call = {
        .header = {.seal = (void *)(uintptr_t)words,
                   .ticket = (void *)(uintptr_t)(words + 512),
                   .arena = (void *)(uintptr_t)(words + 1024),
                   .place = (void *)(uintptr_t)(words + 3072),
                   .base = room,
                   .bytes = BYTES,
                   .seals = 1,
                   .segments = 1,
                   .values = 1,
                   .value = {(OUTER / 4 + ITEM + 1) << 4 | 1}},
        .select = {.length = 2, .blocks = 2, .unit = 1, .start = {3, 40}},
        .segment = {{.source = source,
                     .row_bytes = ITEM,
                     .rows = 2 * CHOSEN,
                     .source_pitch = PITCH_OF,
                     .target_pitch = ITEM,
                     .rows_per_chunk = 4,
                     .chunks_per_row = 1,
                     .outer_source = OUTER,
                     .outer_target = OUTER / 4,
                     .last_bytes = ITEM,
                     .chosen = CHOSEN}}};
    struct snapshot_arena *arena = bench_at(words + 1024);
    *arena = (struct snapshot_arena){
        .bytes = BYTES, .lap = BYTES, .tail = (void *)(uintptr_t)(words + 2048)};
    bench.launch.grid[0] = 3;
    bench.launch.block[0] = SNAPSHOT_THREADS + SNAPSHOT_CLERKS;
    for (unsigned turn = 1; turn <= 3; turn++) {
        const bool fits = turn != 2; /* the first one's room is free again in the third turn */
        *(uint64_t *)bench_at(words + 2048) = turn == 3 ? BYTES : 0;
        call.header.sequence = turn;
        bench.launch.seed = turn;
        memset(bench_at(room), 0xee, BYTES);
        run_with(&call);
        const struct snapshot_seal *seal = bench_at(words);
        const uint8_t *from = bench_at(source), *to = bench_at(room);
        assert_int_equal(seal->sequence, turn);
        assert_int_equal(seal->begin != seal->end, fits);
        if (fits)
            assert_int_equal(seal->value[0], from[OUTER + item[1] * PITCH_OF + 1]);
        for (unsigned i = 0; i < BYTES; i++) {
            const unsigned outer = i / (OUTER / 4), at = i % (OUTER / 4);
            const bool is = fits && outer < 2 && at < CHOSEN * ITEM;
            const unsigned there = is ? outer * OUTER + item[at / ITEM] * PITCH_OF + at % ITEM : 0;
            if (to[i] != (is ? from[there] : 0xee))
                fail_msg("byte %u of turn %u", i, turn);
        }
    }
}

/* A copy before a launch and the one behind it, in one room, which may not be free for the first
 * and free for the second. */
static void half_a_snapshot_is_not_sealed(void **state)
{
    (void)state;
    enum { PART = 2 * SNAPSHOT_CHUNK, BYTES = 2 * PART };
    if (!open_file("snapshot.ptx"))
        skip();
    open_kernel("cuvet_snapshot_few");
    uint64_t source = bench_area(PART), room = bench_area(BYTES), words = bench_area(4096);
    struct snapshot_arena *arena = bench_at(words + 1024);
    struct snapshot_place *place = bench_at(words + 3072);
    struct snapshot_call_few call = {.header = {.seal = (void *)(uintptr_t)words,
                                                .ticket = (void *)(uintptr_t)(words + 512),
                                                .arena = (void *)(uintptr_t)(words + 1024),
                                                .place = (void *)(uintptr_t)(words + 3072),
                                                .base = room,
                                                .bytes = BYTES,
                                                .segments = 1},
                                     .segment = {{.source = source,
                                                  .row_bytes = PART,
                                                  .rows = 1,
                                                  .rows_per_chunk = 1,
                                                  .chunks_per_row = 2}}};
    bench.launch.grid[0] = 2;
    bench.launch.block[0] = SNAPSHOT_THREADS + SNAPSHOT_CLERKS;
    static const struct {
        uint64_t head, first, second; /* the arena's, and the host's tail before each copy */
        bool fits;
    } turns[] = {{0, 0, 0, true},
                 {BYTES, 0, BYTES, false},
                 {BYTES, 0, 0, false},
                 {BYTES, BYTES, BYTES, true}};
    for (unsigned turn = 0; turn < sizeof turns / sizeof *turns; turn++) {
        const struct snapshot_seal *seal = bench_at(words);
        const uint8_t *to = bench_at(room);
        const bool fits = turns[turn].fits;
        *arena = (struct snapshot_arena){.bytes = BYTES,
                                         .lap = BYTES,
                                         .head = turns[turn].head,
                                         .tail = (void *)(uintptr_t)(words + 2048)};
        call.header.sequence = turn + 1;
        memset(bench_at(room), 0xee, BYTES);
        for (unsigned part = 0; part < 2; part++) {
            *(uint64_t *)bench_at(words + 2048) = part ? turns[turn].second : turns[turn].first;
            memset(bench_at(source), (int)(2 * turn + part), PART);
            call.header.seals = part;
            call.segment[0].target = part * PART;
            bench.launch.seed = 2 * turn + part;
            run_with(&call);
            assert_int_equal(seal->sequence, turn + part);
            assert_int_equal(place->busy == 0, part);
        }
        const uint64_t mask = ((uint64_t)1 << SEAL_BITS) - 1;
        assert_int_equal(seal->begin != seal->end, fits);
        assert_true((seal->stopped & mask) > (seal->started & mask));
        assert_int_equal(*(uint32_t *)bench_at(words + 512), 0);
        for (unsigned i = 0; i < BYTES; i++)
            if (to[i] != (fits ? 2 * turn + i / PART : 0xee))
                fail_msg("byte %u of turn %u", i, turn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_can_be_prepared),
        cmocka_unit_test(a_snapshot_copies_just_its_rows),
        cmocka_unit_test(a_snapshot_of_chosen_items_waits_for_no_room),
        cmocka_unit_test(half_a_snapshot_is_not_sealed),
    };
    return cmocka_run_group_tests_name("exec, our device code", tests, NULL, close_bench);
}
