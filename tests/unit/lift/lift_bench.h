/*
 * lift_bench.h - runs a kernel of a PTX file and then the lifted one on the interpreter, over the
 * same arrays: what `cuvet` does with a launch of the program, without a driver.
 */
#ifndef TESTS_LIFT_LIFT_BENCH_H
#define TESTS_LIFT_LIFT_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lift/lift_abi.h"
#include "exec/exec.h"
#include "lift/lift.h"

enum { AREA_STEP = 1 << 24, AREAS = 60, PARAMS = 12 };

/* Device memory: areas of its own for each array, before and after. */
struct area {
    uint64_t address, bytes;
    uint8_t *host;
};
static struct area area[AREAS];
static unsigned areas;

static inline uint64_t new_area(uint64_t bytes)
{
    assert_true(areas < AREAS);
    struct area *a = &area[areas];
    a->address = (uint64_t)(areas++ + 1) * AREA_STEP;
    a->bytes = bytes;
    a->host = aligned_alloc(256, (bytes + 511) / 256 * 256);
    assert_non_null(a->host);
    memset(a->host, 0, bytes);
    return a->address;
}

static inline struct area *area_of(uint64_t address)
{
    for (unsigned i = 0; i < areas; i++) {
        if (address - area[i].address < area[i].bytes)
            return &area[i];
    }
    return NULL;
}

static inline void *host_of(uint64_t address)
{
    struct area *a = area_of(address);
    assert_non_null(a);
    return a->host + (address - a->address);
}

static inline void free_areas(void)
{
    while (areas)
        free(area[--areas].host);
}

static inline bool bench_find(void *user, uint64_t address, struct exec_range *range)
{
    struct area *a = area_of(address);
    (void)user;
    if (a)
        *range = (struct exec_range){a->address, a->bytes, a->host, true};
    return a != NULL;
}

static inline bool bench_place(void *user, const struct ptx_variable *variable, uint64_t *address)
{
    (void)user;
    *address = new_area(variable->bytes ? variable->bytes : 1);
    return true;
}

/* A parameter: an array of so many bytes, or the bits of a scalar. */
struct bench_param {
    uint64_t bytes;
    uint64_t bits;
};

struct bench_launch {
    const char *kernel;
    unsigned grid, block;
    size_t shared;
    struct bench_param param[PARAMS];
};

static uint64_t bench_cut;        /* bytes that each array's snapshot lacks */
static bool bench_apart;          /* shadows of shared memory lie in device memory, in one place */
static const char *bench_subject; /* the PTX that is launched, where it is another */
static uint64_t bench_scratch;    /* bytes that Triton's kernel has behind its parameters */
enum { BENCH_ROWS = 4 };          /* at most: */
static unsigned bench_rows[PARAMS]; /* of each parameter, a table of so many arrays' addresses */

static inline void run_ptx(const char *text, size_t bytes, const char *kernel,
                           const struct bench_launch *launch, size_t shared, const void *params)
{
    struct error err = {{0}};
    struct ptx_module *ptx = NULL;
    struct exec_module *module = NULL;
    const struct exec_host host = {.find = bench_find, .place = bench_place};
    struct exec_fault fault;
    if (ptx_read(text, bytes, kernel, &ptx, &err) ||
        exec_module_create(ptx, &host, &module, &err) ||
        exec_prepare(exec_find_kernel(module, kernel), &err))
        fail_msg("%s", err.text);
    struct exec_launch run = {.kernel = exec_find_kernel(module, kernel),
                              .grid = {launch->grid, 1, 1},
                              .block = {launch->block, 1, 1},
                              .dynamic_shared = shared,
                              .params = params,
                              .step_limit = 1u << 30};
    if (exec_run(&run, &fault) != EXEC_DONE)
        fail_msg("%s", fault.text);
    exec_module_free(module);
    ptx_free(ptx);
}

static inline char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s cannot be read", path);
    char *text = calloc(1, 1 << 20);
    *bytes = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    return text;
}

/* Parameters as they lie: each at a multiple of its size. */
struct bench_params {
    uint8_t bytes[1024];
    size_t offset[PARAMS], end;
    uint64_t array[PARAMS];
    uint64_t row[PARAMS][BENCH_ROWS]; /* of a table */
};

static inline void add_param(struct bench_params *p, uint64_t value, size_t bytes)
{
    p->end = (p->end + bytes - 1) / bytes * bytes;
    memcpy(p->bytes + p->end, &value, bytes);
    p->end += bytes;
}

/* What a test does with an array before the launch, and after it. */
typedef void (*bench_fill_fn)(unsigned param, void *array, uint64_t bytes);

/* Two pointers of 8 bytes end Triton's parameter lists, mostly null. */
static inline void make_params(struct bench_params *p, const struct bench_launch *launch,
                               bench_fill_fn fill)
{
    for (unsigned i = 0; i < PARAMS && (launch->param[i].bytes || launch->param[i].bits); i++) {
        const struct bench_param *from = &launch->param[i];
        const unsigned rows = bench_rows[i];
        for (unsigned k = 0; k < rows; k++) {
            p->row[i][k] = new_area(from->bytes);
            fill(i, host_of(p->row[i][k]), from->bytes);
        }
        if (rows) {
            p->array[i] = new_area(rows * sizeof(uint64_t));
            memcpy(host_of(p->array[i]), p->row[i], rows * sizeof(uint64_t));
        } else if (from->bytes) {
            p->array[i] = new_area(from->bytes);
            fill(i, host_of(p->array[i]), from->bytes);
        }
        add_param(p, from->bytes ? p->array[i] : from->bits, from->bytes ? 8 : 4);
    }
    add_param(p, bench_scratch ? new_area(bench_scratch) : 0, 8);
    add_param(p, 0, 8);
}

static inline uint64_t copy_area(uint64_t address)
{
    struct area *from = area_of(address);
    uint64_t copy = new_area(from->bytes);
    memcpy(host_of(copy), from->host, from->bytes);
    return copy;
}

/* A copy of the array of a parameter, or of all rows of a table. */
static inline uint64_t copy_param(const struct bench_params *p, const struct bench_launch *launch,
                                  unsigned i)
{
    const uint64_t bytes = launch->param[i].bytes;
    if (!bench_rows[i])
        return copy_area(p->array[i]);
    const uint64_t copy = new_area(bench_rows[i] * bytes);
    for (unsigned k = 0; k < bench_rows[i]; k++)
        memcpy((uint8_t *)host_of(copy) + k * bytes, host_of(p->row[i][k]), bytes);
    return copy;
}

struct bench_result {
    struct ref_verdict verdict;
    char refused[640];
};

static inline struct lift *lift_file(const struct bench_launch *launch, const char *text,
                                     size_t bytes, struct bench_result *out)
{
    struct error err = {{0}};
    struct lift *lift = NULL;
    if (lift_make(&lift, text, bytes, launch->kernel, 0, &err))
        snprintf(out->refused, sizeof out->refused, "%s", err.text);
    return lift;
}

static inline void fill_call(struct lift_call *call, const struct lift *lift,
                             const struct bench_launch *launch, const uint64_t *before,
                             const struct bench_params *params)
{
    const struct lift_view *view;
    unsigned views = lift_views(lift, &view);
    for (unsigned i = 0; i < views; i++) {
        const unsigned param = view[i].param;
        const uint64_t address = params->array[param], after = copy_param(params, launch, param);
        call->array[i] = (struct lift_array){
            address, before[param], after, area_of(after)->bytes - bench_cut, i, 0, LIFT_WHOLE};
        if (view[i].listed)
            call->array[view[i].table] = (struct lift_array){
                address, address, address, area_of(address)->bytes, 0, 0, LIFT_WHOLE};
    }
    call->shared_bytes = (launch->shared + 15) / 16 * 16;
    call->blocks = launch->grid;
    call->threads = (uint64_t)launch->grid * launch->block;
    call->sequence = 7;
    size_t cells = lift_cells(lift, launch->shared);
    if (bench_apart && cells) {
        call->slot_bytes = cells;
        call->slots = (void *)(uintptr_t)new_area(LIFT_SLOTS * sizeof(struct lift_slot) + cells);
    }
}

static inline void run_lifted(const struct lift *lift, const struct bench_launch *launch,
                              struct bench_params *params, const uint64_t *before,
                              struct bench_result *out)
{
    struct textbuf text;
    struct error err = {{0}};
    textbuf_init(&text);
    if (lift_write(lift, &text, &err))
        fail_msg("%s", err.text);
    uint64_t at = new_area(sizeof(struct lift_call)), answer = new_area(sizeof(struct ref_verdict));
    struct lift_call *call = host_of(at);
    fill_call(call, lift, launch, before, params);
    call->figures = (void *)(uintptr_t)new_area(sizeof(struct lift_figures));
    call->answer = (void *)(uintptr_t)answer;
    add_param(params, at, 8);
    run_ptx(text.data, text.length, LIFT_ENTRY, launch,
            lift_shared(lift, launch->shared, bench_apart), params->bytes);
    textbuf_release(&text);
    out->verdict = *(struct ref_verdict *)host_of(answer);
    assert_int_equal(out->verdict.sequence, 7);
}

/* The launch, `damage` done to what it wrote, and its check. */
static inline struct bench_result bench_check_text(const struct bench_launch *launch,
                                                   const char *text, size_t bytes,
                                                   bench_fill_fn fill, bench_fill_fn damage)
{
    struct bench_result out = {0};
    struct bench_params params = {0};
    uint64_t before[PARAMS] = {0};
    struct lift *lift = lift_file(launch, text, bytes, &out);
    if (lift) {
        make_params(&params, launch, fill);
        for (unsigned i = 0; i < PARAMS; i++)
            before[i] = params.array[i] ? copy_param(&params, launch, i) : 0;
        size_t length = bytes;
        char *subject = bench_subject ? read_file(bench_subject, &length) : NULL;
        run_ptx(subject ? subject : text, length, launch->kernel, launch, launch->shared,
                params.bytes);
        free(subject);
        for (unsigned i = 0; damage && i < PARAMS; i++) {
            if (params.array[i])
                damage(i, host_of(params.array[i]), launch->param[i].bytes);
        }
        run_lifted(lift, launch, &params, before, &out);
        lift_free(lift);
    }
    free_areas();
    return out;
}

static inline struct bench_result bench_check(const struct bench_launch *launch, const char *path,
                                              bench_fill_fn fill, bench_fill_fn damage)
{
    size_t bytes;
    char *text = read_file(path, &bytes);
    const struct bench_result out = bench_check_text(launch, text, bytes, fill, damage);
    free(text);
    return out;
}

#endif
