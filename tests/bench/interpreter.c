/*
 * interpreter.c - how fast tests/softgpu runs PTX: the rmsnorm reference, one thread, no driver.
 *
 *   interpreter REFS.PTX [ROWS COLS]
 *
 * One line of JSON for each kernel of the reference. Instructions are counted a warp at a time;
 * rows of whole packs keep all 32 lanes at work but for the last steps of a block, where verdicts
 * are merged.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "exec/exec.h"
#include "refs/abi/ref_abi.h"
#include "refs/abi/ref_batch.h"

enum { X, W, Y, ANSWER, VARIABLES, AREAS, BLOCKS = 4, ROUNDS = 5, SMALL = 1 << 16, SLACK = 64 };
static const uint64_t first_address = 1 << 24, address_step = 1 << 28;

static struct area {
    uint8_t *host;
    uint64_t bytes;
} areas[AREAS];

static _Noreturn void end(const char *text)
{
    fprintf(stderr, "interpreter: %s\n", text);
    exit(1);
}

static void *take(size_t bytes)
{
    void *room = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!room)
        end("no memory");
    memset(room, 0, bytes);
    return room;
}

static uint64_t address_of(unsigned area)
{
    return first_address + area * address_step;
}

static bool find(void *user, uint64_t address, struct exec_range *range)
{
    (void)user;
    for (unsigned i = 0; i < AREAS; i++) {
        if (address - address_of(i) >= areas[i].bytes)
            continue;
        *range = (struct exec_range){address_of(i), areas[i].bytes, areas[i].host, true};
        return true;
    }
    return false;
}

/* The references' own variables lie one behind the other. */
static bool place(void *user, const struct ptx_variable *variable, uint64_t *address)
{
    static uint64_t used;
    (void)user;
    uint64_t at = (used + 255) / 256 * 256;
    if (variable->bytes > areas[VARIABLES].bytes - at)
        return false;
    used = at + variable->bytes;
    *address = address_of(VARIABLES) + at;
    return true;
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void add_line(void *user, const char *line)
{
    const char *count = strrchr(line, ' ');
    if (!strncmp(line, "op ", 3) && count)
        *(uint64_t *)user += strtoull(count, NULL, 10);
}

static uint64_t executed(void)
{
    uint64_t sum = 0;
    exec_report(add_line, &sum);
    return sum;
}

static void put(enum dtype dtype, uint8_t *area, size_t i, float value)
{
    uint32_t bits;
    if (dtype == DTYPE_F32) {
        memcpy(area + 4 * i, &value, 4);
        return;
    }
    memcpy(&bits, &value, 4);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16; /* to nearest even; no NaN comes here */
    memcpy(area + 2 * i, &bits, 2);
}

/* Values that are the same in each dtype; y is right. */
static void fill(enum dtype dtype, unsigned rows, unsigned cols)
{
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        for (size_t c = 0; c < cols; c++) {
            double x = (double)((r * 31 + c * 17) % 97) / 32 - 1.5;
            put(dtype, areas[X].host, r * cols + c, (float)x);
            sum += x * x;
        }
        double inverse = 1 / sqrt(sum / cols + 1e-6);
        for (size_t c = 0; c < cols; c++) {
            double x = (double)((r * 31 + c * 17) % 97) / 32 - 1.5;
            put(dtype, areas[W].host, c, (float)(1 + c % 3));
            put(dtype, areas[Y].host, r * cols + c, (float)(x * inverse * (double)(1 + c % 3)));
        }
    }
}

static struct ref_call new_call(enum dtype dtype, unsigned rows, unsigned cols)
{
    int64_t size = dtype == DTYPE_F32 ? 4 : 2;
    struct ref_tensor t = {.bytes = rows * cols * size,
                           .dim = {rows, cols},
                           .stride = {cols, 1},
                           .dtype = (uint8_t)dtype,
                           .ndim = 2};
    struct ref_call call = {.tensor = {t, t, t},
                            .scalar = {1e-6},
                            .size = {rows, cols},
                            .sequence = 1,
                            .partial = (void *)(uintptr_t)(address_of(ANSWER) + 4096),
                            .answer = (void *)(uintptr_t)address_of(ANSWER),
                            .ticket = (void *)(uintptr_t)(address_of(ANSWER) + 2048),
                            .lambda = 8,
                            .unit_roundoff = 0x1p-24,
                            .underflow = 0x1p-126,
                            .pieces = 1,
                            .group = 32};
    call.tensor[X].in = (void *)(uintptr_t)address_of(X);
    call.tensor[W].in = (void *)(uintptr_t)address_of(W);
    call.tensor[W].bytes = cols * size;
    call.tensor[W].dim[0] = cols;
    call.tensor[W].stride[0] = 1;
    call.tensor[W].ndim = 1;
    call.tensor[Y].got = (void *)(uintptr_t)address_of(Y);
    return call;
}

static void run(const struct exec_launch *launch, uint64_t elements)
{
    struct exec_fault fault;
    const struct ref_verdict *verdict = (const void *)areas[ANSWER].host;
    if (exec_run(launch, &fault))
        end(fault.text);
    if (verdict->violations || verdict->checked != elements)
        end("the verdict is wrong");
}

static void measure(struct exec_module *module, const char *name, enum dtype dtype, unsigned rows,
                    unsigned cols)
{
    struct error err = {{0}};
    struct ref_call call = new_call(dtype, rows, cols);
    struct ref_batch batch = {0};
    ref_batch_alone(&batch, &call, BLOCKS);
    struct exec_launch launch = {.kernel = exec_find_kernel(module, name),
                                 .grid = {BLOCKS, 1, 1},
                                 .block = {REF_THREADS, 1, 1},
                                 .params = &batch};
    if (!launch.kernel || exec_prepare((struct exec_function *)launch.kernel, &err))
        end(launch.kernel ? err.text : name);
    fill(dtype, rows, cols);
    run(&launch, (uint64_t)rows * cols);
    double cpu = INFINITY, wall = INFINITY;
    uint64_t before = executed();
    for (int i = 0; i < ROUNDS; i++) {
        double cpu0 = seconds(CLOCK_THREAD_CPUTIME_ID), wall0 = seconds(CLOCK_MONOTONIC);
        run(&launch, (uint64_t)rows * cols);
        cpu = fmin(cpu, seconds(CLOCK_THREAD_CPUTIME_ID) - cpu0);
        wall = fmin(wall, seconds(CLOCK_MONOTONIC) - wall0);
    }
    printf("{\"kernel\": \"%s\", \"rows\": %u, \"cols\": %u, \"warp_instructions\": %llu, "
           "\"cpu_s\": %.6f, \"wall_s\": %.6f}\n",
           name, rows, cols, (unsigned long long)(executed() - before) / ROUNDS, cpu, wall);
}

static char *read_text(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        end(path);
    *size = (size_t)ftell(file);
    rewind(file);
    char *text = take(*size + 1);
    if (fread(text, 1, *size, file) != *size)
        end(path);
    fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 4)
        end("usage: interpreter REFS.PTX [ROWS COLS]");
    unsigned rows = argc > 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 256;
    unsigned cols = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 4096;
    if (!rows || !cols || cols % 256 || rows > 1 << 12 || cols > 1 << 14)
        end("up to 4096 rows of whole packs, a multiple of 256 columns up to 16384");
    for (unsigned i = 0; i < AREAS; i++) {
        areas[i].bytes = i >= ANSWER ? SMALL : (uint64_t)rows * cols * 4 + SLACK;
        areas[i].host = take(areas[i].bytes);
    }
    struct ptx_module *ptx = NULL;
    struct exec_module *module = NULL;
    struct error err = {{0}};
    size_t size;
    char *text = read_text(argv[1], &size);
    if (ptx_read(text, size, argv[1], &ptx, &err) ||
        exec_module_create(ptx, &(struct exec_host){NULL, find, place}, &module, &err))
        end(err.text);
    measure(module, "cuvet_ref_rmsnorm_f32", DTYPE_F32, rows, cols);
    measure(module, "cuvet_ref_rmsnorm_bf16", DTYPE_BF16, rows, cols);
    measure(module, "cuvet_ref_rmsnorm", DTYPE_F32, rows, cols);
    measure(module, "cuvet_ref_rmsnorm_wide", DTYPE_F32, rows, cols);
    exec_module_free(module);
    ptx_free(ptx);
    free(text);
    for (unsigned i = 0; i < AREAS; i++)
        free(areas[i].host);
    return 0;
}
