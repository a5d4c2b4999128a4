/*
 * gate_cost.c - what the gate and the outlier gate's table take of a launch, for one signature and
 * for many, at the beginning of a long run and at its end. Needs no GPU.
 *
 *   gate_cost [LAUNCHES]
 *
 * One JSON line for each number of signatures: nanoseconds a launch over the first and the last
 * tenth of the launches, best of 5 runs, and the bytes that were allocated meanwhile.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "gate/gate.h"
#include "gate/gate_table.h"
#include "extra/outlier.h"

enum { RUNS = 5, TENTHS = 10 };

static const struct kernel_spec spec = {
    .sample = -1,
    .first = -1,
    .shape_params = 3,
    .shape_param = {{.index = 0, .size = 8, .pointer = true},
                    {.index = 1, .size = 8, .start = 8, .pointer = true},
                    {.index = 2, .size = 4, .start = 16}},
};

static struct gate_recipe recipe;

static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* The decisions are used, so that nothing is left out. */
static uint64_t ask(struct gate *gate, struct outliers *outliers, int32_t size)
{
    uint64_t in = 0x10000, out = 0x20000;
    void *params[] = {&in, &out, &size};
    struct launch launch = {.grid = {64, 1, 1}, .block = {256, 1, 1}, .params = params};
    struct gate_answer answer = gate_decide(gate, &spec, &recipe, &launch, false);
    return answer.result +
           (uint64_t)outliers_index(outliers, answer.signature, OUTLIER_FINGERPRINT, 1);
}

/* Nanoseconds a launch in each tenth; the smallest so far stays. */
static size_t run(uint64_t launches, uint64_t signatures, double tenth[TENTHS])
{
    static volatile uint64_t sink;
    struct gate *gate = gate_create(&(struct gate_settings){.sample = 0.01, .first = 1});
    struct outliers *outliers = outliers_create(OUTLIER_FINGERPRINT);
    if (!gate || !outliers)
        exit(2);
    for (uint64_t i = 0; i < signatures; i++) /* first lookups, and pages touched */
        sink = sink + ask(gate, outliers, (int32_t)i);
    size_t before = in_use();
    for (int t = 0; t < TENTHS; t++) {
        int64_t start = clock_ns();
        for (uint64_t i = 0; i < launches / TENTHS; i++)
            sink = sink + ask(gate, outliers, (int32_t)(i % signatures));
        double each = (double)(clock_ns() - start) / (double)(launches / TENTHS);
        tenth[t] = each < tenth[t] ? each : tenth[t];
    }
    size_t grown = in_use() - before;
    outliers_destroy(outliers);
    gate_destroy(gate);
    return grown;
}

int main(int argc, char **argv)
{
    static const uint64_t signatures[] = {1, 10, 100, 1000};
    uint64_t launches = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    if (launches < 10000) {
        fprintf(stderr, "usage: gate_cost [LAUNCHES, 10000 or more]\n");
        return 2;
    }
    gate_recipe_make(&recipe, &spec, 77);
    for (size_t s = 0; s < sizeof(signatures) / sizeof(*signatures); s++) {
        double tenth[TENTHS];
        size_t grown = 0;
        for (int t = 0; t < TENTHS; t++)
            tenth[t] = 1e9;
        for (int i = 0; i < RUNS; i++)
            grown += run(launches, signatures[s], tenth);
        printf("{\"signatures\": %llu, \"launches\": %llu, \"first_ns\": %.1f, \"last_ns\": %.1f, "
               "\"grown\": %zu}\n",
               (unsigned long long)signatures[s], (unsigned long long)launches, tenth[0],
               tenth[TENTHS - 1], grown);
    }
    return 0;
}
