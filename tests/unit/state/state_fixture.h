/*
 * state_fixture.h - an append and a reader with `state`, bound to memory of one allocation, and
 * their checks as the rules see them.
 */
#ifndef TESTS_STATE_FIXTURE_H
#define TESTS_STATE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "driver/cuda_api.h"
#include "tests/unit/common/binding_fixture.h"
#include "state/caches.h"
#include "state/guard.h"
#include "state/history.h"

/* All memory is one allocation. */
enum { START = 0x10000, SIZE = 0x80000, CACHE = 0x20000 };

static CUresult attributes(unsigned count, CUpointer_attribute *wanted, void **into,
                           CUdeviceptr address)
{
    for (unsigned i = 0; i < count && address >= START && address < START + SIZE; i++) {
        if (wanted[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
            *(CUdeviceptr *)into[i] = START;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
            *(size_t *)into[i] = SIZE;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
            *(unsigned *)into[i] = CU_MEMORYTYPE_DEVICE;
        else if (wanted[i] == CU_POINTER_ATTRIBUTE_CONTEXT)
            *(void **)into[i] = (void *)1;
    }
    return CUDA_SUCCESS;
}

static int install(void **state)
{
    (void)state;
    cuda.cuPointerGetAttributes = attributes;
    return 0;
}

#define APPEND                                                                                     \
    "signature: const f32 key[n][2][4], const i64 slots[n], inout f32 cache[@slots][2][4], "       \
    "i32 n, i32 rows\n  reference: cache_append\n  bind: {key_cache: cache}\n"
#define READ                                                                                       \
    "signature: >\n"                                                                               \
    "    const f32 q[n][1][2][4], const f32 k[@table][page][2][4], const i32 table[n][entries],\n" \
    "    const i32 lengths[n], f32 y[n][1][2][4], i32 n, i32 page, i32 entries, i32 pages\n"       \
    "  reference: attention_paged\n  bind: {v: k, scale: 1}\n"

static void bind_append(const char *more, int32_t n, int32_t rows)
{
    uint64_t key = 0x60000, slots = 0x70000, cache = CACHE;
    char entry[900];
    snprintf(entry, sizeof entry, APPEND "  state: {cache: cache, append: slots%s}\n", more);
    expect_bound(bind_launch(entry, SIZES(8, 8, 8, 4, 4), PARAMS(&key, &slots, &cache, &n, &rows)));
    guard_add(bound.spec->plan, &b, &(struct guard_request){.rows = rows, .seed = 7});
}

static struct known_kernel kernel;
static struct check check;
static struct state_view view;
static struct state_report report;

static struct state_ids ids_of(const int64_t *value, int64_t count)
{
    return (struct state_ids){.bytes = (const uint8_t *)value,
                              .count = count,
                              .dim = {count},
                              .stride = {1},
                              .ndim = 1,
                              .width = 8};
}

/* A check of the launch that is bound. */
static struct state_case case_of(void)
{
    struct state_case of;
    kernel.spec = bound.spec;
    check.kernel = &kernel;
    check.typed = NULL;
    check.binding = b;
    state_case_open(&of, &check, &view);
    return of;
}

static void bind_read(const char *more)
{
    uint64_t q = 0x60000, k = CACHE, table = 0x70000, lengths = 0x70400, y = 0x71000;
    int32_t n = 2, page = 4, entries = 3, pages = 20;
    char entry[900];
    snprintf(entry, sizeof entry,
             READ "  state: {cache: k, table: table, lengths: lengths, rows: pages%s}\n", more);
    expect_bound(bind_launch(entry, SIZES(8, 8, 8, 8, 8, 4, 4, 4, 4),
                             PARAMS(&q, &k, &table, &lengths, &y, &n, &page, &entries, &pages)));
}

/* Of one sequence. */
static inline void bind_dense(int32_t length)
{
    uint64_t q = 0x60000, k = CACHE, y = 0x71000;
    int32_t page = 40;
    expect_bound(
        bind_launch("signature: >\n    const f32 q[1][1][2][4], const f32 k[1][length][2][4],"
                    " f32 y[1][1][2][4], i32 length, i32 page\n  reference: attention\n"
                    "  bind: {v: k, scale: 1, keys: length}\n"
                    "  state: {cache: k, lengths: length, page: page, owned: yes}\n",
                    SIZES(8, 8, 8, 4, 4), PARAMS(&q, &k, &y, &length, &page)));
}

/* ---- launches in a row ---- */

static struct history *history;
static uint8_t data;

/* A launch, `appends` and `replays` before it; in a graph at `replay`. What it breaks, or NULL. */
static const char *next(uint64_t appends, uint64_t replays, int64_t replay, uint8_t input)
{
    struct state_case of = case_of();
    data = input;
    view.inputs = 1;
    view.input[0].bytes = &data;
    view.input[0].size = 1;
    check.gate.signature = 1;
    check.sequence++;
    check.moment_of_state =
        (struct state_moment){.cache = CACHE, .appends = appends, .replays = replays};
    check.place = (struct graph_place){0};
    if (replay >= 0)
        check.place = (struct graph_place){
            .graph = 1, .node = view.append.bytes ? 3 : 4, .replay = (uint64_t)replay};
    report = (struct state_report){0};
    return history_rules(history, &of, &report) ? report.rule : NULL;
}

static int open_history(void **state)
{
    (void)state;
    history = history_create();
    return history ? 0 : 1;
}

static int close_history(void **state)
{
    (void)state;
    history_destroy(history);
    return 0;
}

static bool launches_on(struct caches *caches, uint64_t cache, void *stream,
                        struct state_moment *moment)
{
    uint64_t key = 0x60000, slots = 0x70000;
    int32_t n = 5, rows = 0;
    struct launch launch = {.stream = stream, .params = PARAMS(&key, &slots, &cache, &n, &rows)};
    return caches_launch(caches, bound.spec, &launch, moment);
}

static bool launches(struct caches *caches, uint64_t cache, struct state_moment *moment)
{
    return launches_on(caches, cache, NULL, moment);
}

#endif
