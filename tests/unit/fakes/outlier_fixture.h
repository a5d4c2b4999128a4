/*
 * outlier_fixture.h - a stream of launches of random data that the outlier gate probes, for unit
 * tests. All of it is here; the arithmetic is the GPU's.
 */
#ifndef TESTS_UNIT_OUTLIER_FIXTURE_H
#define TESTS_UNIT_OUTLIER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "device/outlier_stat.h"
#include "tests/unit/fakes/outlier_host.h"
#include "context/outlier_window.h"

/* ---- random data ---- */

static uint64_t state = 1;

static inline uint64_t draw(void)
{
    state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t z = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline double uniform(void)
{
    return ((double)(draw() >> 11) + 0.5) * 0x1p-53;
}

static inline double normal(void)
{
    static double other;
    static bool have;
    have = !have;
    if (!have)
        return other;
    double radius = sqrt(-2 * log(uniform())), angle = 6.283185307179586 * uniform();
    other = radius * sin(angle);
    return radius * cos(angle);
}

enum kind { NORMAL, UNIFORM, LOGNORMAL, KINDS };
static const char *const kind_name[] = {"normal", "uniform", "lognormal"};

static inline double variate(enum kind kind)
{
    return kind == NORMAL ? normal() : kind == UNIFORM ? 2 * uniform() - 1 : exp(normal());
}

/* Truncated: good enough to give each format's grid. */
static inline void store(void *to, int dtype, double value)
{
    float single = (float)value;
    uint32_t bits = outlier_bits(single);
    if (dtype == DTYPE_F32) {
        memcpy(to, &single, 4);
        return;
    }
    uint16_t half = (uint16_t)(bits >> 16);
    if (dtype == DTYPE_F16 && isfinite(single)) {
        uint32_t scaled = outlier_bits(single * 0x1p-112f) + 0x1000;
        half = (uint16_t)((bits >> 31) << 15 | (scaled & 0x7fffffff) >> 13);
    } else if (dtype == DTYPE_F16) {
        half = isnan(single) ? 0x7e00 : 0x7c00;
    }
    memcpy(to, &half, 2);
}

/* ---- a stream of launches of one signature ---- */

struct stream {
    int dtype;
    int64_t rows, columns;
    char *data;
    struct outlier_input input;
    struct outlier_header header;
    struct outlier_entry entry;
    struct outlier_centroid *centroid;
    struct outlier_window *window;
    struct outlier_answer answer;
    struct outlier_quantile quantile;
    uint64_t launches, called;
};

static inline void open_stream(struct stream *s, enum outlier_detector detector, int dtype,
                               int64_t rows, int64_t columns)
{
    *s = (struct stream){
        .dtype = dtype, .rows = rows, .columns = columns, .quantile = {.value = -1}};
    uint8_t size = dtype == DTYPE_I64 ? 8 : dtype == DTYPE_F32 || dtype == DTYPE_I32 ? 4 : 2;
    uint64_t bytes = (uint64_t)(rows * columns) * size;
    s->data = aligned_alloc(64, (bytes + 63) / 64 * 64);
    s->centroid = calloc(1, sizeof(*s->centroid));
    assert_int_equal(outlier_window_create(&s->window, 10000, 0.95f), 0);
    s->input = (struct outlier_input){
        .address = (uintptr_t)s->data,
        .row_bytes = bytes,
        .rows = 1,
        .pitch = bytes,
        .pieces = (bytes + OUTLIER_PIECE - 1) / OUTLIER_PIECE,
        .entry = &s->entry,
        .group = 67, /* 15 groups: 1005 launches */
        .dtype = (uint8_t)dtype,
        .size = size,
        .integer = dtype == DTYPE_I64 || dtype == DTYPE_I32,
        .aligned = bytes % 16 == 0,
    };
    s->input.pieces_per_row = (uint32_t)s->input.pieces;
    uint32_t most = s->input.integer ? OUTLIER_ID_PIECES : OUTLIER_PIECES;
    s->input.sampled = s->input.pieces < most ? (uint32_t)s->input.pieces : most;
    uint64_t period = (uint64_t)columns * size / 16;
    s->input.period = (uint32_t)(s->input.aligned ? (period ? period : 1) : (uint64_t)columns);
    s->header = (struct outlier_header){
        .answer = &s->answer,
        .inputs = 1,
        .detector = detector,
        .batch = {.centroid = s->centroid,
                  .quantile = &s->quantile,
                  .alpha = 0.01f,
                  .threshold = 0.8f,
                  .all_rows = (uint64_t)rows,
                  .pitch = (uint64_t)columns * size,
                  .rows = (uint32_t)(rows < OUTLIER_ROWS ? rows : OUTLIER_ROWS),
                  .columns = (uint32_t)columns},
    };
}

static inline void close_stream(struct stream *s)
{
    free(s->data);
    free(s->centroid);
    outlier_window_destroy(s->window);
}

static inline void put(struct stream *s, int64_t row, int64_t column, double value)
{
    store(s->data + (row * s->columns + column) * s->input.size, s->dtype, value);
}

static inline void fill(struct stream *s, enum kind kind)
{
    for (int64_t i = 0; i < s->rows * s->columns; i++)
        put(s, 0, i, variate(kind));
}

/* One launch on what lies in the data; the collector's part follows at once. */
static inline bool launch(struct stream *s)
{
    s->header.seed = draw();
    bool called = outlier_host_decide(&s->header, &s->input);
    s->launches++;
    s->called += called;
    if (s->answer.rows)
        s->quantile.value = outlier_window_add(s->window, s->answer.distance, s->answer.rows);
    return called;
}

static inline double run_quiet(struct stream *s, enum kind kind, int launches)
{
    s->launches = s->called = 0;
    for (int i = 0; i < launches; i++) {
        fill(s, kind);
        launch(s);
    }
    return (double)s->called / (double)s->launches;
}

static inline void scale_all(struct stream *s, double factor)
{
    for (int64_t i = 0; i < s->rows * s->columns; i++)
        put(s, 0, i, factor * normal());
}

static inline void scale_3(struct stream *s)
{
    scale_all(s, 3);
}

static inline void nan_row(struct stream *s)
{
    int64_t row = (int64_t)(draw() % (uint64_t)s->rows);
    for (int64_t c = 0; c < s->columns; c++)
        put(s, row, c, NAN);
}

#endif
