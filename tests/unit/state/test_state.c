/* What has to hold between launches: how it is written, which rows are guarded, each rule broken
 * and kept. */
#include "tests/unit/state/state_fixture.h"

/* ---- the keys ---- */

#define CSR                                                                                        \
    "signature: >\n"                                                                               \
    "    const f32 q[n][2][4], const f32 k[@pages][page][2][4], const i32 starts[n + 1],\n"        \
    "    const i32 pages[listed], const i32 last[n], f32 y[n][2][4], i32 n, i32 page,\n"           \
    "    i32 listed, i32 total\n"                                                                  \
    "  reference: attention_paged_csr\n"                                                           \
    "  bind: {v: k, kv_indptr: starts, kv_indices: pages, last_page_len: last, scale: 1}\n"

static void nonsense_is_refused(void **state)
{
    (void)state;
    entry_refused(APPEND "  state: {append: slots}\n", "'state' has no 'cache'");
    entry_refused(APPEND "  state: {cache: cash}\n",
                  "cache: 'cash' is no array that a formal of the reference is bound to; did you "
                  "mean 'cache'?");
    entry_refused(APPEND "  state: {cache: [key, cache, slots]}\n", "expected one or two");
    entry_refused(APPEND "  state: {cache: cache, apend: slots}\n", "unknown key 'apend'");
    entry_refused(APPEND "  state: {cache: cache, append: key}\n",
                  "append: 'key' is no const array of i32 or i64");
    entry_refused(APPEND "  state: {cache: cache, rows: roes}\n", "unknown name 'roes'");
    entry_refused(APPEND "  state: {cache: cache, advance: never}\n",
                  "'advance' is 'never'; expected no or yes");
    entry_refused(APPEND "  position: {step: 1}\n", "'position' has no 'of'");
    entry_refused(APPEND "  position: cache\n", "position: 'cache' is no const array");
    entry_refused(APPEND "  state: {cache: cache, positions: decode}\n",
                  "state: 'positions' without 'lengths', of which each ends at one");
    entry_refused(READ "  state: {cache: k, table: table, lengths: lengths, positions: a}\n"
                       "  position: {of: lengths, as: a}\n",
                  "'as' beside 'positions' of the same entry");
    entry_refused(APPEND "  flow: cache\n", "'flow' is 'cache'; expected a mapping");
    entry_refused(APPEND "  flow: {}\n", "'flow' has 0 arrays; expected 1 to 8");
    entry_refused(APPEND "  flow: {kay: {to: a}}\n", "flow: 'kay' is no array");
    entry_refused(APPEND "  flow: {key: {}}\n", "flow: no stage; expected from, after or to");
    entry_refused(APPEND "  flow: {key: {form: a}}\n", "unknown key 'form'");
    entry_refused(APPEND "  flow: {key: {from: a, after: b}}\n", "flow: 'after' beside 'from'");
    entry_refused(APPEND "  flow: {key: {from: [a, b, c, d, e]}}\n", "'from' has 5 stages");
    entry_refused(READ "  flow: {y: {from: a}}\n", "flow: 'from' of 'y', which is written alone");
    entry_refused(READ "  state: {cache: k, table: table}\n",
                  "'table' without 'lengths', how much of it is read");
    entry_refused(READ "  state: {cache: k, table: table, lengths: lengths, shared: perhaps}\n",
                  "'shared' is 'perhaps'; expected no, prefix or yes");
    entry_refused(
        READ "  state: {cache: k, table: table, lengths: lengths, shared: yes, "
             "owned: yes}\n",
        "'owned' needs 'lengths', or a 'table' of whose pages sequences have none in common");
    entry_refused(READ "  state: {cache: k, table: table, lengths: lengths, owned: cached}\n",
                  "'owned: cached' without 'shared: prefix'");
    entry_refused(APPEND "  state: {cache: cache, append: slots, owned: yes}\n",
                  "'owned' needs 'lengths'");
    entry_refused(READ "  state: {cache: k, lengths: lengths, shared: prefix, owned: yes}\n",
                  "'shared' beside 'owned' without a 'table'");
    entry_refused(CSR "  state: {cache: k, table: {indices: pages}}\n", "without 'indptr'");
    entry_refused(CSR "  state: {cache: k, table: {indptr: starts}}\n", "without 'indices'");
    entry_refused(CSR "  state: {cache: k, table: {indptr: q, indices: pages}}\n",
                  "indptr: 'q' is no const array of i32 or i64");
    entry_refused(CSR "  state: {cache: k, table: {indptr: starts, indices: pages, lst: last}}\n",
                  "unknown key 'lst'");
    entry_refused(CSR
                  "  state: {cache: k, table: {indptr: starts, indices: pages}, lengths: last}\n",
                  "'lengths' beside a table that has its own");
}

/* ---- guarded rows ---- */

static const struct bound_array *guard_named(const char *name)
{
    for (int i = 0; i < b.arrays; i++) {
        if (b.array[i].guard && !strcmp(b.array[i].name, name))
            return &b.array[i];
    }
    return NULL;
}

static void rows_beside_the_written_ones_are_guarded(void **state)
{
    (void)state;
    bind_append(", rows: rows", 5, 100);
    const struct bound_array *behind = guard_named("&behind"), *front = guard_named("&front");
    const struct bound_array *first = guard_named("&first"), *last = guard_named("&last");
    const struct bound_array *random = guard_named("&random");
    assert_non_null(behind);
    assert_int_equal(behind->address, CACHE + 32);
    assert_int_equal(behind->rows.limit, 99);
    assert_int_equal(front->address, CACHE - 32);
    assert_int_equal(front->first, -1);
    assert_int_equal(front->bytes, 32);
    assert_int_equal(first->address, CACHE);
    assert_int_equal(last->address, CACHE + 99 * 32);
    assert_int_equal(random->address, CACHE + (uint64_t)random->first * 32);
    assert_in_range(random->first + (int64_t)random->bytes / 32, 1, 100);
    assert_int_equal(guard_row(&b, random, 0, 8), random->first + 1);
    bind_append("", 5, 0);
    assert_null(guard_named("&last")); /* the number of rows is not given */
    assert_non_null(guard_named("&behind"));
}

/* Heads outermost: a row is a run in each head, and what is behind the last one is another head's.
 */
static void rows_in_runs_are_guarded(void **state)
{
    (void)state;
    uint64_t key = 0x60000, slots = 0x70000, cache = CACHE;
    int32_t n = 3, rows = 50;
    expect_bound(bind_launch("signature: >\n    const f32 key[n][2][4], const i64 slots[n],"
                             " inout f32 cache[@slots: 4][2: rows * 4][4], i32 n, i32 rows\n"
                             "  reference: cache_append\n  bind: {key_cache: cache}\n"
                             "  state: {cache: cache, append: slots, rows: rows}\n",
                             SIZES(8, 8, 8, 4, 4), PARAMS(&key, &slots, &cache, &n, &rows)));
    guard_add(bound.spec->plan, &b, &(struct guard_request){.rows = rows, .seed = 7});
    const struct bound_array *last = guard_named("&last"), *random = guard_named("&random");
    assert_int_equal(last->address, CACHE + 49 * 16);
    assert_int_equal(last->ndim, 2);
    assert_int_equal(last->dim[0], 2);
    assert_int_equal(last->stride[0], 200);
    assert_int_equal(guard_row(&b, random, 1, 4), random->first + 1);
    assert_int_equal(guard_named("&behind")->rows.limit, 49);
}

static void memory_of_others_is_left_alone(void **state)
{
    (void)state;
    uint64_t key = 0x60000, slots = 0x70000, cache = START;
    int32_t n = 5, rows = 100;
    expect_bound(bind_launch(APPEND "  state: {cache: cache, append: slots, rows: rows}\n",
                             SIZES(8, 8, 8, 4, 4), PARAMS(&key, &slots, &cache, &n, &rows)));
    guard_add(bound.spec->plan, &b, &(struct guard_request){.rows = rows, .seed = 7});
    assert_null(guard_named("&front")); /* in front of the allocation */
    assert_non_null(guard_named("&first"));
}

static void rows_of_sequences_are_guarded(void **state)
{
    (void)state;
    const int64_t live[GUARD_LIVE] = {700, -1, 3, 4};
    bind_append(", rows: rows", 5, 1000);
    b.arrays = 3; /* without guards */
    guard_add(bound.spec->plan, &b, &(struct guard_request){.rows = 1000, .seed = 7, .live = live});
    const struct bound_array *owned = guard_named("&owned");
    assert_non_null(owned);
    assert_int_equal(owned->first, 512); /* 16 KiB of rows of 32 bytes */
    assert_int_equal(owned->bytes, (1000 - 512) * 32);
    assert_null(guard_named("&other"));
}

static void rows_that_checks_find_are_drawn(void **state)
{
    (void)state;
    struct caches *caches = caches_create();
    struct state_live found = {.cache = CACHE, .count = 2, .row = {7, 9}};
    int64_t row[8];
    caches_draw(caches, CACHE, 1, 8, row);
    assert_int_equal(row[0], -1);
    for (int i = 0; i < 100; i++)
        caches_found(caches, &found);
    unsigned sevens = 0;
    caches_draw(caches, CACHE, 1, 8, row);
    for (int i = 0; i < 8; i++) {
        assert_true(row[i] == 7 || row[i] == 9);
        sevens += row[i] == 7;
    }
    assert_in_range(sevens, 1, 7);
    caches_draw(caches, CACHE + 4096, 1, 8, row); /* another cache */
    assert_int_equal(row[0], -1);
    caches_destroy(caches);
}

/* Rows of a cache are guarded while appends come on one stream. */
static void streams_of_appends_are_counted(void **state)
{
    (void)state;
    struct caches *caches = caches_create();
    struct state_moment moment, other;
    int stream;
    int64_t slots[] = {4};
    bind_append(", rows: rows", 1, 100);
    view = (struct state_view){.append = ids_of(slots, 1)};
    launches_on(caches, CACHE, &stream, &moment);
    launches_on(caches, CACHE, &stream, &moment);
    assert_false(moment_is_shared(&moment));
    launches_on(caches, CACHE + 4096, NULL, &other);
    assert_false(moment_is_shared(&moment));
    launches_on(caches, CACHE, NULL, &moment);
    assert_true(moment_is_shared(&moment));
    assert_false(moment_is_shared(&other));
    caches_destroy(caches);
}

/* ---- rules of one launch ---- */

static void expect_rule(const char *rule, const char *part)
{
    struct state_case of = case_of();
    report = (struct state_report){0};
    bool found = state_rules(&of, &report);
    if (found != (rule != NULL) ||
        (rule && (strcmp(rule, report.rule) || !strstr(report.sentence, part))))
        fail_msg("%s: %s", found ? report.rule : "nothing", report.sentence);
}

static void an_append_obeys_its_rules(void **state)
{
    (void)state;
    int64_t slots[] = {4, -1, 7, 9, -1};
    bind_append(", rows: rows", 5, 100);
    view = (struct state_view){.append = ids_of(slots, 5)};
    expect_rule(NULL, "");
    slots[2] = 100;
    expect_rule("beyond", "gives token 2 row 100; 'cache' has 100 rows");
    slots[2] = 9;
    expect_rule("twice", "gives tokens 2 and 3 the same row, 9, of 'cache'");
}

static void a_changed_row_is_named(void **state)
{
    (void)state;
    int64_t slots[] = {4, -1, 7, 9, 8}, stride[] = {8, 1};
    float before[5][8] = {{0}}, after[5][8] = {{0}};
    bind_append(", rows: rows", 5, 100);
    view = (struct state_view){.append = ids_of(slots, 5), .guards = 1};
    const struct bound_array *behind = guard_named("&behind");
    view.guard[0] = (struct state_guard){behind, stride, (void *)before, (void *)after};
    after[2][3] = 1; /* behind row 7 lies row 8, which is written */
    after[1][0] = 1; /* behind none */
    expect_rule(NULL, "");
    after[4][7] = 1; /* row 9 is written, too */
    expect_rule(NULL, "");
    after[3][7] = 1;
    expect_rule("changed", "row 10 of 'cache' changed");
    view.guard[0] =
        (struct state_guard){guard_named("&front"), stride + 1, (void *)before, (void *)after};
    expect_rule(NULL, "");
    after[0][1] = 1;
    expect_rule("changed", "row -1 of 'cache' changed");
}

static void a_reader_obeys_its_rules(void **state)
{
    (void)state;
    int64_t table[] = {5, 6, 7, 8, 9, 30}, lengths[] = {12, 8};
    view = (struct state_view){.table = ids_of(table, 6), .lengths = ids_of(lengths, 2)};
    bind_read(", \"null\": 0");
    expect_rule(NULL, ""); /* page 30 is not read */
    lengths[1] = 9;
    expect_rule("beyond", "sequence 1 reads page 30 by entry 2 of 'table'; 'k' has 20 pages");
    table[5] = -1;
    expect_rule("beyond", "sequence 1 reads page -1");
    table[5] = 0;
    expect_rule("null",
                "sequence 1 reads the null page, 0, by entry 2 of 'table': its length is 9");
    table[5] = 6;
    expect_rule("shared", "page 6 of 'k' is entry 1 of sequence 0 and entry 2 of sequence 1");
    lengths[0] = 13;
    expect_rule("beyond", "sequence 0 has length 13; 'k' has 12 places for it");
}

static void pages_are_shared_as_the_entry_says(void **state)
{
    (void)state;
    int64_t table[] = {5, 6, 7, 5, 6, 8}, lengths[] = {9, 9};
    view = (struct state_view){.table = ids_of(table, 6), .lengths = ids_of(lengths, 2)};
    bind_read("");
    expect_rule("shared", "page 5 of 'k' is entry 0 of sequence 0 and entry 0 of sequence 1");
    bind_read(", shared: prefix");
    expect_rule(NULL, "");
    lengths[1] = 7; /* page 6 is still being filled */
    expect_rule("shared", "page 6");
    lengths[1] = 9;
    table[3] = 4; /* no common beginning */
    expect_rule("shared", "page 6");
    bind_read(", shared: yes");
    expect_rule(NULL, "");
}

static void a_place_that_was_never_written_is_named(void **state)
{
    (void)state;
    int64_t table[] = {5, 6, 7, 8, 9, 10}, lengths[] = {5, 6};
    uint8_t heads[6][4][16];
    memset(heads, 1, sizeof heads);
    view = (struct state_view){.table = ids_of(table, 6),
                               .lengths = ids_of(lengths, 2),
                               .heads = {heads[0][0], 16, 6, 4, true}};
    bind_read(", blank: zero");
    memset(heads[1][1], 0, 16); /* place 5 of sequence 0: behind its end */
    expect_rule(NULL, "");
    memset(heads[4][1], 0, 15);
    expect_rule(NULL, "");
    heads[4][1][15] = 0;
    expect_rule("blank", "sequence 1 reads place 5 of 6, in page 9 of 'k'");
}

static void bind_csr(const char *table, const char *more)
{
    uint64_t q = 0x60000, k = CACHE, starts = 0x70000, pages = 0x70400, last = 0x70800, y = 0x71000;
    int32_t n = 2, page = 4, listed = 6, total = 20;
    char entry[900];
    snprintf(entry, sizeof entry,
             CSR "  state: {cache: k, table: {indptr: starts, indices: pages%s}, rows: total%s}\n",
             table, more);
    expect_bound(
        bind_launch(entry, SIZES(8, 8, 8, 8, 8, 8, 4, 4, 4, 4),
                    PARAMS(&q, &k, &starts, &pages, &last, &y, &n, &page, &listed, &total)));
}

static void a_table_in_csr_obeys_the_same_rules(void **state)
{
    (void)state;
    int64_t starts[] = {0, 2, 5}, pages[] = {5, 6, 7, 8, 9, 30}, last[] = {4, 1};
    view = (struct state_view){
        .table = ids_of(pages, 6), .indptr = ids_of(starts, 3), .last = ids_of(last, 2)};
    bind_csr(", last: last", ", \"null\": 0");
    expect_rule(NULL, ""); /* page 30 is no sequence's */
    starts[2] = 6;
    expect_rule("beyond", "sequence 1 reads page 30 by entry 3 of 'pages'; 'k' has 20 pages");
    pages[5] = 0;
    expect_rule("null",
                "sequence 1 reads the null page, 0, by entry 3 of 'pages': its length is 13");
    pages[5] = 6;
    expect_rule("shared", "page 6 of 'k' is entry 1 of sequence 0 and entry 3 of sequence 1");
    last[0] = 5;
    expect_rule("beyond", "sequence 0 has length 9; 'k' has 8 places for it");
    starts[2] = 7;
    expect_rule("beyond", "'starts' gives sequence 1 entries 2 to 7; 'pages' has 6");
    starts[1] = 7;
    expect_rule("beyond", "'starts' gives sequence 0 entries 0 to 7; 'pages' has 6");
    starts[0] = starts[1] = starts[2] = 0; /* no sequence has a page */
    expect_rule(NULL, "");
    view.last = (struct state_ids){0}; /* not copied */
    starts[2] = 7;
    expect_rule(NULL, "");
}

static void a_last_page_in_csr_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    int64_t starts[] = {0, 2, 5}, pages[] = {5, 6, 7, 8, 9, 0}, last[] = {1, 2};
    uint8_t heads[6][4][16];
    memset(heads, 1, sizeof heads);
    view = (struct state_view){.table = ids_of(pages, 6),
                               .indptr = ids_of(starts, 3),
                               .last = ids_of(last, 2),
                               .heads = {heads[0][0], 16, 6, 4, true}};
    memset(heads[4][2], 0, 16); /* place 10 of sequence 1, whose length is 10 */
    bind_csr(", last: last", ", blank: zero");
    expect_rule(NULL, "");
    last[1] = 3;
    expect_rule("blank", "sequence 1 reads place 10 of 11, in page 9 of 'k'");
    view.last = (struct state_ids){0};
    bind_csr("", ", blank: zero"); /* all of each page */
    expect_rule("blank", "sequence 1 reads place 10 of 12, in page 9 of 'k'");
}

/* ---- launches in a row ---- */

static void the_same_rows_twice_in_a_row_are_stale(void **state)
{
    (void)state;
    int64_t slots[] = {4, -1, 7, 9, 8};
    bind_append("", 5, 0);
    view = (struct state_view){.append = ids_of(slots, 5)};
    assert_null(next(0, 0, -1, 1));
    assert_null(next(1, 0, -1, 1)); /* the same data: a warm-up */
    assert_string_equal(next(2, 0, -1, 2), "stale");
    assert_null(next(4, 0, -1, 3)); /* one came in between */
    assert_null(next(5, 1, -1, 4)); /* a replay did */
    slots[0] = 5;
    assert_null(next(6, 1, -1, 5));
    slots[0] = slots[2] = slots[3] = slots[4] = -1;
    assert_null(next(7, 1, -1, 6));
    assert_null(next(8, 1, -1, 7)); /* nothing but padding */
    bind_append(", advance: no", 5, 0);
    slots[0] = 5;
    assert_null(next(9, 1, -1, 8));
    assert_null(next(10, 1, -1, 9));
}

static void checks_come_in_any_order(void **state)
{
    (void)state;
    int64_t slots[] = {4, -1, 7, 9, 8};
    bind_append("", 5, 0);
    view = (struct state_view){.append = ids_of(slots, 5)};
    assert_null(next(1, 0, -1, 1));
    assert_string_equal(next(0, 0, -1, 2), "stale");
}

static void replays_in_a_row_are_held_together(void **state)
{
    (void)state;
    int64_t slots[] = {4, -1, 7, 9, 8};
    bind_append("", 5, 0);
    view = (struct state_view){.append = ids_of(slots, 5)};
    assert_null(next(3, 1, 0, 1));
    assert_string_equal(next(3, 2, 1, 2), "stale");
    assert_non_null(strstr(report.sentence, "in replay 0 and in replay 1 of graph 1"));
    assert_null(next(4, 3, 2, 3)); /* an append beside the graph */
    assert_null(next(4, 5, 3, 4)); /* another graph */
    assert_null(next(4, 6, 5, 5)); /* a replay that was not checked */
}

static void a_position_goes_on_by_its_step(void **state)
{
    (void)state;
    uint64_t key = 0x60000, cache = CACHE;
    int32_t pos = 5, width = 8;
    static const char entry[] =
        "signature: const f32 key[width], f32 cache[1 from pos][width], "
        "i32 pos, i32 width\n  reference: cast\n  bind: {x: key, y: cache}\n"
        "  state: {cache: cache}\n  position: {of: pos, step: 1}\n";
    view = (struct state_view){.inputs = 0};
    static const struct {
        int32_t pos;
        int64_t replay;
        const char *rule;
    } steps[] = {{5, -1, NULL}, {6, -1, NULL},    {8, -1, "step"}, {2, -1, NULL},
                 {3, -1, NULL}, {3, -1, "stale"}, {4, -1, NULL}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        pos = steps[i].pos;
        expect_bound(bind_launch(entry, SIZES(8, 8, 4, 4), PARAMS(&key, &cache, &pos, &width)));
        const char *rule = next(i, 0, -1, (uint8_t)i);
        if (!rule != !steps[i].rule || (rule && strcmp(rule, steps[i].rule)))
            fail_msg("step %zu: %s", i, rule ? report.sentence : "nothing");
    }
    assert_null(next(20, 1, 0, 1));
    assert_string_equal(next(20, 2, 1, 2), "stale");
    assert_non_null(strstr(report.sentence, "it is passed by value"));
}

static void a_reader_has_what_was_appended(void **state)
{
    (void)state;
    int64_t slots[] = {22, -1, 39, 2, -1}, table[] = {5, 6, 7, 8, 9, 10}, lengths[] = {3, 8};
    bind_append("", 5, 0);
    view = (struct state_view){.append = ids_of(slots, 5)};
    assert_null(next(0, 0, -1, 1));
    view = (struct state_view){.table = ids_of(table, 6), .lengths = ids_of(lengths, 2)};
    bind_read(", \"null\": 0");
    assert_null(next(1, 0, -1, 1)); /* not declared */
    bind_read(", \"null\": 0, fresh: yes");
    assert_null(next(1, 0, -1, 1));
    lengths[1] = 7;
    assert_null(next(2, 0, -1, 1)); /* another append came in between */
    assert_string_equal(next(1, 0, -1, 1), "fresh");
    assert_non_null(strstr(report.sentence, "row 39 of 'k'"));
}

/* ---- caches, as the program's threads see them ---- */

static void the_launch_behind_a_checked_one_follows(void **state)
{
    (void)state;
    struct caches *caches = caches_create();
    struct state_moment moment;
    bind_append("", 5, 0);
    assert_false(launches(caches, CACHE, &moment));
    assert_int_equal(moment.appends, 0);
    uint64_t first = moment.replays;
    assert_false(caches_settle(caches)); /* launches go by unseen */
    caches_picked(caches, bound.spec, &moment);
    assert_true(caches_settle(caches));
    assert_false(launches(caches, CACHE + 4096, &moment)); /* another cache */
    assert_int_equal(moment.appends, 0);
    assert_true(launches(caches, CACHE, &moment));
    assert_int_equal(moment.appends, 1);
    assert_false(launches(caches, CACHE, &moment));
    caches_replay(caches);
    assert_false(launches(caches, CACHE, &moment));
    assert_int_equal(moment.appends, 3);
    assert_int_equal(moment.replays, first + 1);
    assert_true(caches_settle(caches)); /* a reader is wanted, too, ... */
    for (int i = 0; i < 600; i++)
        caches_settle(caches);
    assert_false(caches_settle(caches)); /* ... but not for ever */
    assert_false(launches(caches, CACHE, &moment));
    assert_true(moment.replays > first + 1); /* launches may have come in between */
    caches_destroy(caches);
}

static void more_caches_than_there_is_room_for_are_left_out(void **state)
{
    (void)state;
    struct caches *caches = caches_create();
    struct state_moment moment;
    int without = 0;
    bind_append("", 5, 0);
    for (uint64_t i = 0; i < 2000; i++) {
        assert_false(launches(caches, CACHE + i * 65536, &moment));
        without += !moment.cache;
    }
    assert_in_range(without, 2000 - 256, 1999);
    caches_destroy(caches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(rows_beside_the_written_ones_are_guarded),
        cmocka_unit_test(rows_in_runs_are_guarded),
        cmocka_unit_test(memory_of_others_is_left_alone),
        cmocka_unit_test(rows_of_sequences_are_guarded),
        cmocka_unit_test(rows_that_checks_find_are_drawn),
        cmocka_unit_test(streams_of_appends_are_counted),
        cmocka_unit_test(an_append_obeys_its_rules),
        cmocka_unit_test(a_changed_row_is_named),
        cmocka_unit_test(a_reader_obeys_its_rules),
        cmocka_unit_test(pages_are_shared_as_the_entry_says),
        cmocka_unit_test(a_place_that_was_never_written_is_named),
        cmocka_unit_test(a_table_in_csr_obeys_the_same_rules),
        cmocka_unit_test(a_last_page_in_csr_is_read_as_far_as_it_goes),
        cmocka_unit_test_setup_teardown(the_same_rows_twice_in_a_row_are_stale, open_history,
                                        close_history),
        cmocka_unit_test_setup_teardown(checks_come_in_any_order, open_history, close_history),
        cmocka_unit_test_setup_teardown(replays_in_a_row_are_held_together, open_history,
                                        close_history),
        cmocka_unit_test_setup_teardown(a_position_goes_on_by_its_step, open_history,
                                        close_history),
        cmocka_unit_test_setup_teardown(a_reader_has_what_was_appended, open_history,
                                        close_history),
        cmocka_unit_test(the_launch_behind_a_checked_one_follows),
        cmocka_unit_test(more_caches_than_there_is_room_for_are_left_out),
    };
    return cmocka_run_group_tests(tests, install, bound_release);
}
