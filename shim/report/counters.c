/*
 * counters.c - see counters.h.
 *
 * A row has the tallies of one kernel, one for each of a few threads (gate/tally.h). A chunk of
 * rows has theirs in one zeroed allocation, whose pages are touched as threads launch. Rows are
 * found through a two-level table that only ever gains entries: readers need
 * no lock.
 */
#include "report/counters.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/hot.h"
#include "report/place.h"
#include "gate/tally.h"

enum {
    CHUNK_ROWS = 64,
    CHUNKS = 256, /* 16384 kernels; later ones count in the process's row */
};

/* What is summed up of a kernel's checks. */
struct sums {
    uint64_t elements, violations;
    double max_ratio;
    uint64_t ratios[COUNTERS_RATIOS];
    uint64_t subsets;
    double sum_shares;
    uint64_t projections, rows_left, left_launches;
    uint64_t wide, narrow_elements;
    double sum_square, sum_signed;
    uint64_t spread_launches, lean_launches;
    double note_square, note_mean;
};

struct row {
    struct tally *tally; /* TALLIES, see tally_at; the chunk's */
    const struct kernel_spec *spec;
    pthread_mutex_t lock; /* of the sums; the collector's and the reader's */
    struct sums *sums;    /* made at the first check; NULL: there was none, or no memory */
    _Atomic uint64_t spent_ns;
};

struct chunk {
    _Atomic(struct row *) row[CHUNK_ROWS];
    struct tally *tally; /* of the first row; each has the next one */
    void *memory;        /* what the tallies lie in */
};

_Static_assert((int)CHUNK_ROWS == (int)TALLY_STRIDE,
               "a chunk's rows share the tallies of each thread");

struct counters {
    struct row process;
    void *process_tallies; /* what its tallies lie in */
    _Atomic(struct chunk *) chunk[CHUNKS];
    _Atomic uint64_t thread_ns, copy_ns, reference_ns, probe_ns, overlap_ns; /* struct check_cost */
    _Atomic uint32_t hook_ns;
    atomic_bool cut_short;
    struct gpu_shares gpu; /* set once, before it is read */
    int64_t created;       /* clock_ns() */
    pthread_mutex_t add_lock;
    _Atomic uint32_t kernels, numbers;
    pthread_mutex_t error_lock;
    uint32_t errors;
    _Atomic uint64_t other_errors;
    struct counters_error error[COUNTERS_ERRORS];
};

static void add_to(_Atomic uint64_t *sum, uint64_t more)
{
    atomic_fetch_add_explicit(sum, more, memory_order_relaxed);
}

static uint64_t load_bucket(_Atomic uint64_t *bucket)
{
    return atomic_load_explicit(bucket, memory_order_relaxed);
}

static size_t round_to_line(size_t bytes)
{
    return (bytes + TALLY_LINE - 1) / TALLY_LINE * TALLY_LINE;
}

static void *line_alloc(size_t bytes)
{
    void *memory = aligned_alloc(TALLY_LINE, round_to_line(bytes));

    if (memory)
        memset(memory, 0, bytes);
    return memory;
}

/* Tallies of CHUNK_ROWS rows, untouched. `*memory` is to be freed. NULL: no memory. */
static struct tally *make_tallies(void **memory)
{
    *memory = calloc(1, (size_t)TALLIES * TALLY_STRIDE * sizeof(struct tally) + TALLY_LINE);
    uintptr_t skew = (uintptr_t)*memory % TALLY_LINE;
    return *memory ? (void *)((char *)*memory + (TALLY_LINE - skew)) : NULL;
}

struct counters *counters_create(void)
{
    struct counters *counters = line_alloc(sizeof *counters);

    if (!counters)
        return NULL;
    counters->process.tally = make_tallies(&counters->process_tallies);
    if (!counters->process.tally) {
        free(counters);
        return NULL;
    }
    counters->created = clock_ns();
    pthread_mutex_init(&counters->process.lock, NULL);
    pthread_mutex_init(&counters->add_lock, NULL);
    pthread_mutex_init(&counters->error_lock, NULL);
    return counters;
}

void counters_destroy(struct counters *counters)
{
    if (!counters)
        return;
    for (int c = 0; c < CHUNKS; c++) {
        struct chunk *chunk = atomic_load(&counters->chunk[c]);

        for (int r = 0; chunk && r < CHUNK_ROWS; r++) {
            struct row *row = atomic_load(&chunk->row[r]);

            free(row ? row->sums : NULL);
            free(row);
        }
        if (chunk)
            free(chunk->memory);
        free(chunk);
    }
    free(counters->process_tallies);
    free(counters->process.sums);
    free(counters);
}

/* The row of a kernel, or NULL. */
HOT static struct row *find_row(struct counters *counters, int64_t number)
{
    struct chunk *chunk;

    if (number < 0 || number >= CHUNKS * CHUNK_ROWS)
        return NULL;
    chunk = atomic_load_explicit(&counters->chunk[number / CHUNK_ROWS], memory_order_acquire);
    if (!chunk)
        return NULL;
    return atomic_load_explicit(&chunk->row[number % CHUNK_ROWS], memory_order_acquire);
}

HOT static struct row *row_or_process(struct counters *counters, int64_t number)
{
    struct row *row = find_row(counters, number);

    return row ? row : &counters->process;
}

static struct chunk *get_chunk(struct counters *counters, uint32_t index)
{
    struct chunk *chunk = atomic_load(&counters->chunk[index]);

    if (!chunk) {
        chunk = calloc(1, sizeof *chunk);
        if (chunk && !(chunk->tally = make_tallies(&chunk->memory))) {
            free(chunk);
            chunk = NULL;
        }
        atomic_store_explicit(&counters->chunk[index], chunk, memory_order_release);
    }
    return chunk;
}

enum status counters_add_kernel(struct counters *counters, const struct kernel_spec *spec)
{
    enum status status = STATUS_NO_MEMORY;
    struct chunk *chunk;
    struct row *row;

    if (!counters || find_row(counters, spec->number))
        return STATUS_OK;
    if (spec->number >= CHUNKS * CHUNK_ROWS)
        return STATUS_FULL;
    pthread_mutex_lock(&counters->add_lock);
    chunk = get_chunk(counters, spec->number / CHUNK_ROWS);
    if (!chunk)
        goto out;
    status = STATUS_OK;
    if (atomic_load(&chunk->row[spec->number % CHUNK_ROWS]))
        goto out;
    row = calloc(1, sizeof *row);
    if (!row) {
        status = STATUS_NO_MEMORY;
        goto out;
    }
    row->spec = spec;
    row->tally = chunk->tally + spec->number % CHUNK_ROWS;
    pthread_mutex_init(&row->lock, NULL);
    atomic_store_explicit(&chunk->row[spec->number % CHUNK_ROWS], row, memory_order_release);
    atomic_fetch_add(&counters->kernels, 1);
    if (spec->number >= atomic_load(&counters->numbers))
        atomic_store(&counters->numbers, spec->number + 1);
out:
    pthread_mutex_unlock(&counters->add_lock);
    return status;
}

HOT void counters_seen(struct counters *counters)
{
    unsigned own = tally_own();

    if (counters)
        tally_add(&tally_at(counters->process.tally, own)->seen, own, 1);
}

struct tally *counters_tallies(struct counters *counters, int64_t number)
{
    return counters ? row_or_process(counters, number)->tally : NULL;
}

void counters_spent(struct counters *counters, int64_t number, const struct check_cost *cost)
{
    struct row *row;

    if (!counters)
        return;
    if ((row = find_row(counters, number)) != NULL)
        add_to(&row->spent_ns, check_cost_sum(cost));
    add_to(&counters->thread_ns, cost->thread);
    if (!(cost->copy | cost->reference | cost->probe | cost->overlap))
        return;
    add_to(&counters->copy_ns, cost->copy);
    add_to(&counters->reference_ns, cost->reference);
    add_to(&counters->probe_ns, cost->probe);
    add_to(&counters->overlap_ns, cost->overlap);
}

void counters_hook(struct counters *counters, uint32_t ns)
{
    if (counters)
        atomic_store_explicit(&counters->hook_ns, ns, memory_order_relaxed);
}

void counters_cut_short(struct counters *counters)
{
    if (counters)
        atomic_store(&counters->cut_short, true);
}

void counters_gpu(struct counters *counters, const struct gpu_shares *shares)
{
    if (counters)
        counters->gpu = *shares;
}

HOT void counters_skip(struct counters *counters, int64_t number, enum skip skip)
{
    unsigned own = tally_own();

    if (counters && (unsigned)skip < SKIP_COUNT)
        tally_add(&tally_at(row_or_process(counters, number)->tally, own)->skip[skip], own, 1);
}

void counters_skip_all(struct counters *counters, int64_t number, enum skip skip, uint64_t launches)
{
    unsigned own = tally_own();

    if (!counters || (unsigned)skip >= SKIP_COUNT)
        return;
    tally_add(&tally_at(counters->process.tally, own)->seen, own, launches);
    tally_add(&tally_at(row_or_process(counters, number)->tally, own)->skip[skip], own, launches);
}

/* The launch whose errors stand out most represents the kernel. */
static void add_notes(struct sums *sums, const struct check_report *report)
{
    double square = verdict_square_ratio(&report->numbers);
    double mean = verdict_mean_signed(&report->numbers);

    if (report->notes & NOTE_SPREAD && square > sums->note_square)
        sums->note_square = square;
    if (report->notes & NOTE_LEAN && fabs(mean) > fabs(sums->note_mean))
        sums->note_mean = mean;
    sums->spread_launches += (report->notes & NOTE_SPREAD) != 0;
    sums->lean_launches += (report->notes & NOTE_LEAN) != 0;
}

int counters_ratio_bin(double ratio)
{
    int exponent;

    if (ratio < 0x1p-10)
        return 0;
    if (!(ratio < 0x1p12))
        return COUNTERS_RATIOS - 1;
    frexp(ratio, &exponent);
    return exponent + 10;
}

static void add_check(struct sums *sums, const struct check_report *report)
{
    const struct ref_verdict *numbers = &report->numbers;

    sums->elements += numbers->checked;
    sums->violations += numbers->violations;
    if (numbers->max_ratio > sums->max_ratio)
        sums->max_ratio = numbers->max_ratio;
    sums->ratios[counters_ratio_bin(numbers->max_ratio)]++;
    if (report->binding && report->binding->subset.dim) {
        const struct subset *subset = &report->binding->subset;

        sums->subsets++;
        sums->sum_shares += (double)subset->judged / (double)subset->total;
    }
    sums->projections += report->projection.array != NULL;
    sums->rows_left += report->projection.left;
    sums->left_launches += report->projection.left > 0;
    sums->wide += numbers->wide;
    add_notes(sums, report);
    if (report->statistics) {
        sums->narrow_elements += numbers->measured;
        sums->sum_square += numbers->sum_square;
        sums->sum_signed += numbers->sum_signed;
    }
}

bool counters_check(struct counters *counters, const struct check_report *report)
{
    unsigned own = tally_own();
    struct row *row;
    bool first;

    if (!counters || (unsigned)report->verdict >= VERDICT_COUNT)
        return false;
    row = row_or_process(counters, report->spec ? (int64_t)report->spec->number : -1);
    tally_add(&tally_at(row->tally, own)->verdict[report->verdict], own, 1);
    pthread_mutex_lock(&row->lock);
    first = !row->sums;
    if (!row->sums)
        row->sums = calloc(1, sizeof *row->sums);
    if (row->sums)
        add_check(row->sums, report);
    pthread_mutex_unlock(&row->lock);
    return first;
}

/* This lock is taken on the program's thread, so waits for it are bounded: a child forked while it
 * was held would hang. A launch that cannot take it is added to the total only. */
static bool lock_errors(struct counters *counters)
{
    for (int tries = 0; tries < 200; tries++) {
        if (pthread_mutex_trylock(&counters->error_lock) == 0)
            return true;
        sched_yield();
    }
    return false;
}

bool counters_launch_error(struct counters *counters, const char *symbol, const uint32_t grid[3],
                           const uint32_t block[3], const char *error_name)
{
    struct counters_error *error, key = {.count = 1};
    bool first = false;
    uint32_t i;

    if (!counters)
        return false;
    snprintf(key.symbol, sizeof key.symbol, "%s", symbol ? symbol : "?");
    snprintf(key.error_name, sizeof key.error_name, "%s", error_name ? error_name : "?");
    memcpy(key.grid, grid, sizeof key.grid);
    memcpy(key.block, block, sizeof key.block);
    if (!lock_errors(counters)) {
        add_to(&counters->other_errors, 1);
        return false;
    }
    for (i = 0; i < counters->errors; i++) {
        error = &counters->error[i];
        if (strcmp(error->symbol, key.symbol) == 0 &&
            strcmp(error->error_name, key.error_name) == 0)
            break;
    }
    if (i < counters->errors) {
        counters->error[i].count++;
    } else if (i < COUNTERS_ERRORS) {
        counters->error[counters->errors++] = key;
        first = true;
    } else {
        add_to(&counters->other_errors, 1);
    }
    pthread_mutex_unlock(&counters->error_lock);
    return first;
}

static void read_row(struct row *row, struct counters_buckets *out)
{
    for (unsigned t = 0; t < TALLIES; t++) {
        for (int v = 0; v < VERDICT_COUNT; v++)
            out->verdict[v] += load_bucket(&tally_at(row->tally, t)->verdict[v]);
        for (int k = 0; k < SKIP_COUNT; k++)
            out->skip[k] += load_bucket(&tally_at(row->tally, t)->skip[k]);
    }
}

static uint64_t seen_in(struct row *row)
{
    uint64_t seen = 0;

    for (unsigned t = 0; t < TALLIES; t++)
        seen += load_bucket(&tally_at(row->tally, t)->seen);
    return seen;
}

uint64_t counters_elapsed(const struct counters *counters)
{
    return counters ? (uint64_t)(clock_ns() - counters->created) : 0;
}

void counters_read(struct counters *counters, struct counters_totals *out)
{
    *out = (struct counters_totals){0};
    if (!counters)
        return;
    /* Buckets before the launches seen, so that a launch in between is in flight, never lost. */
    read_row(&counters->process, &out->other);
    out->buckets = out->other;
    for (uint32_t n = 0; n < counters_numbers(counters); n++) {
        struct row *row = find_row(counters, n);

        if (row) {
            read_row(row, &out->buckets);
            out->kernels++;
        }
    }
    atomic_thread_fence(memory_order_seq_cst);
    out->cost =
        (struct check_cost){load_bucket(&counters->thread_ns), load_bucket(&counters->copy_ns),
                            load_bucket(&counters->reference_ns), load_bucket(&counters->probe_ns),
                            load_bucket(&counters->overlap_ns)};
    out->elapsed = counters_elapsed(counters);
    out->hook_ns = atomic_load_explicit(&counters->hook_ns, memory_order_relaxed);
    out->gpu = counters->gpu;
    out->seen = seen_in(&counters->process);
    for (uint32_t n = 0; n < counters_numbers(counters); n++) {
        struct row *row = find_row(counters, n);

        if (row)
            out->seen += seen_in(row);
    }
    uint64_t sum = counters_sum(&out->buckets);
    if (atomic_load(&counters->cut_short) && out->seen > sum) {
        out->buckets.skip[SKIP_EXIT] += out->seen - sum;
        out->other.skip[SKIP_EXIT] += out->seen - sum;
    }
}

uint64_t counters_checked(const struct counters_buckets *buckets)
{
    uint64_t sum = 0;

    for (int v = 0; v < VERDICT_COUNT; v++)
        sum += buckets->verdict[v];
    return sum;
}

uint64_t counters_sum(const struct counters_buckets *buckets)
{
    uint64_t sum = counters_checked(buckets);

    for (int k = 0; k < SKIP_COUNT; k++)
        sum += buckets->skip[k];
    return sum;
}

bool counters_balanced(const struct counters_totals *totals)
{
    return totals->seen == counters_sum(&totals->buckets);
}

uint32_t counters_numbers(struct counters *counters)
{
    return counters ? atomic_load(&counters->numbers) : 0;
}

static void read_sums(const struct sums *sums, struct counters_kernel *out)
{
    out->elements = sums->elements;
    out->violations = sums->violations;
    out->max_ratio = sums->max_ratio;
    memcpy(out->ratios, sums->ratios, sizeof out->ratios);
    out->subsets = sums->subsets;
    if (sums->subsets > 0)
        out->subset_share = sums->sum_shares / (double)sums->subsets;
    out->projections = sums->projections;
    out->rows_left = sums->rows_left;
    out->left_launches = sums->left_launches;
    out->wide = sums->wide;
    out->spread_launches = sums->spread_launches;
    out->lean_launches = sums->lean_launches;
    out->note_square = sums->note_square;
    out->note_mean = sums->note_mean;
    out->narrow_elements = sums->narrow_elements;
    if (sums->narrow_elements > 0) {
        double elements = (double)sums->narrow_elements;

        out->square_ratio = 12 * sums->sum_square / elements;
        out->mean_signed = sums->sum_signed / elements;
        out->bias = sums->sum_signed / sqrt(elements);
    }
}

bool counters_read_kernel(struct counters *counters, uint32_t number, struct counters_kernel *out)
{
    struct row *row = counters ? find_row(counters, number) : NULL;

    if (!row)
        return false;
    *out = (struct counters_kernel){.spec = row->spec, .spent_ns = load_bucket(&row->spent_ns)};
    read_row(row, &out->buckets);
    pthread_mutex_lock(&row->lock);
    if (row->sums)
        read_sums(row->sums, out);
    pthread_mutex_unlock(&row->lock);
    return true;
}

static int by_interest(const void *left, const void *right)
{
    const struct counters_kernel *a = left, *b = right;
    const enum verdict order[] = {VERDICT_MISMATCH, VERDICT_INCONCLUSIVE};
    uint64_t launches_a = counters_sum(&a->buckets), launches_b = counters_sum(&b->buckets);

    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        uint64_t count_a = a->buckets.verdict[order[i]], count_b = b->buckets.verdict[order[i]];

        if (count_a != count_b)
            return count_a > count_b ? -1 : 1;
    }
    if (launches_a != launches_b)
        return launches_a > launches_b ? -1 : 1;
    return a->spec->number < b->spec->number ? -1 : 1;
}

void counters_sort(struct counters_kernel *kernels, uint32_t count)
{
    qsort(kernels, count, sizeof *kernels, by_interest);
}

struct counters_kernel *counters_read_kernels(struct counters *counters, uint32_t *count)
{
    uint32_t numbers = counters_numbers(counters);
    struct counters_kernel *kernels = calloc(numbers ? numbers : 1, sizeof *kernels);

    *count = 0;
    for (uint32_t n = 0; kernels && n < numbers; n++)
        *count += counters_read_kernel(counters, n, &kernels[*count]);
    if (kernels)
        counters_sort(kernels, *count);
    return kernels;
}

bool counters_read_error(struct counters *counters, uint32_t i, struct counters_error *out)
{
    bool found = false;

    if (!counters || !lock_errors(counters))
        return false;
    if (i < counters->errors) {
        *out = counters->error[i];
        found = true;
    }
    pthread_mutex_unlock(&counters->error_lock);
    return found;
}

uint64_t counters_other_errors(struct counters *counters)
{
    return counters ? load_bucket(&counters->other_errors) : 0;
}
