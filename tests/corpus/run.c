/*
 * run.c - launches the kernels of the corpus, as an ordinary program of the driver API, and leaves
 * a line for each launch: its purpose, the oracles' verdicts, and its input.
 *
 * Threads take the kernels one by one. A kernel is launched by one thread, on one stream, so that
 * the number of a launch is the same in every run, and so is what its memory held before.
 */
#include "corpus.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_SEED = 42 };

/* One thread's. */
struct worker {
    pthread_t thread;
    struct launcher *launcher;
    struct problem problem;
};

static struct {
    CUcontext context;
    CUmodule module;
    FILE *records; /* a line is one call, so that lines of threads do not mix */
    struct settings settings;
    size_t *turn; /* numbers of the entries to run, the longest turns first */
    size_t turns;
    double soak_ms; /* of a right kernel's soak launches, at most */
    double start;
    _Atomic size_t next; /* turn */
    _Atomic size_t ended;
    _Atomic uint64_t launches;
    _Atomic double next_progress; /* ms */
} run;

/* Now and then a line of how far it is. */
static void tell_progress(void)
{
    double now = milliseconds(), due = run.next_progress;
    if (!run.settings.progress || now < due ||
        !atomic_compare_exchange_strong(&run.next_progress, &due,
                                        now + 1e3 * run.settings.progress))
        return;
    printf("corpus: %zu of %zu kernels, %llu launches in %.0f s\n", run.ended, run.turns,
           (unsigned long long)run.launches, (now - run.start) / 1e3);
    fflush(stdout);
}

/* One launch of a kernel; with `oracles`, judged by them as well. */
static void one(struct worker *worker, CUfunction function, const struct entry *entry,
                const char *what, int *number, const struct input *input, bool oracles)
{
    struct problem *p = &worker->problem;
    char name[64], text[512], letters[ORACLES + 1] = "....";
    double start = milliseconds();
    entry_symbol(entry, name);
    input_print(input, text);
    problem_make(p, entry_operation(entry), dtype_of(entry->dtype, DTYPE_NONE), input);
    if (strcmp(input_word(input, "fill", "nan"), "right") == 0)
        problem_expect(p);
    if (!launcher_launch(worker->launcher, function, p)) {
        fprintf(run.records, "%s\t-1\t%s\t%s\t0\t%s\n", name, what, letters, text);
        return;
    }
    if (oracles) {
        launcher_read(worker->launcher, p);
        problem_expect(p);
        oracles_judge(p, letters);
    }
    fprintf(run.records, "%s\t%d\t%s\t%s\t%.3f\t%s\n", name, (*number)++, what, letters,
            milliseconds() - start, text);
    run.launches++;
    tell_progress();
}

static int most_seeds(const struct entry *entry)
{
    const struct settings *settings = &run.settings;
    int seeds = entry->study ? settings->study : settings->seeds;
    if (entry->kind != ENTRY_RIGHT)
        return seeds;
    return entry->study && seeds > settings->soak ? seeds : settings->soak;
}

/* Launches on the schema's inputs. Input number i of a kernel is the same in every run. */
static void run_seeds(struct worker *worker, CUfunction function, const struct entry *entry,
                      int *number)
{
    const struct settings *settings = &run.settings;
    /* The study's faults need its sizes, which are small. */
    double elements = entry->study ? fmax(settings->elements, 1 << 14) : settings->elements;
    double end = entry->kind == ENTRY_RIGHT ? milliseconds() + run.soak_ms : INFINITY;
    char name[64];
    entry_symbol(entry, name);
    for (int i = 0; i < most_seeds(entry) && milliseconds() < end; i++) {
        struct input input;
        uint64_t seed = (uint64_t)(i + 1) * 0x10001;
        for (const char *at = name; *at; at++)
            seed = seed * 31 + (unsigned char)*at;
        input_draw(&input, entry_operation(entry), seed,
                   i % 64 == 63 ? 64 * settings->elements : elements);
        one(worker, function, entry, "seed", number, &input, false);
    }
}

static void run_entry(struct worker *worker, const struct entry *entry)
{
    int number = 0;
    CUfunction function;
    char name[64];
    entry_symbol(entry, name);
    check(cuModuleGetFunction(&function, run.module, name), __FILE__, __LINE__, name);
    launcher_begin(worker->launcher);
    if (*run.settings.input) {
        struct input input = {.seed = 0};
        input_add(&input, run.settings.input);
        one(worker, function, entry, "usual", &number, &input, true);
        return;
    }
    for (int i = 0; i < run.settings.trials; i++) {
        struct input input = {.seed = (uint64_t)(USUAL_SEED + i)};
        input_add(&input, *entry->usual ? entry->usual : entry_operation(entry)->usual);
        one(worker, function, entry, "usual", &number, &input, true);
    }
    if (*entry->kill) { /* after another input at the same addresses */
        struct input input = {.seed = 1};
        input_add(&input, entry->kill);
        one(worker, function, entry, "kill", &number, &input, true);
    }
    run_seeds(worker, function, entry, &number);
    run.ended++;
}

static void *work(void *user)
{
    struct worker *worker = user;
    const struct settings *settings = &run.settings;
    CHECK(cuCtxSetCurrent(run.context));
    worker->launcher = launcher_create(settings->ahead / settings->threads);
    for (size_t turn; (turn = run.next++) < run.turns;)
        run_entry(worker, &entries[run.turn[turn]]);
    launcher_destroy(worker->launcher);
    return NULL;
}

/* This thread is one of them. */
static void work_all(void)
{
    int threads = run.settings.threads;
    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    if (!workers)
        die("no memory for %d threads", threads);
    for (int i = 1; i < threads; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            die("thread %d of %d cannot be started", i + 1, threads);
    work(&workers[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < threads; i++)
        problem_free(&workers[i].problem);
    free(workers);
}

/* Whether this process is to run the entry. All dtypes of an operation are one part's. */
static bool is_mine(const struct entry *entry)
{
    const struct operation *op = entry_operation(entry);
    char name[64];
    entry_symbol(entry, name);
    bool named = *run.settings.input ? strcmp(name, run.settings.only) == 0
                                     : strstr(name, run.settings.only) != NULL;
    return op->builtin && named &&
           (int)((size_t)(op - operations) % (size_t)run.settings.parts) == run.settings.part;
}

/* Right kernels first, for theirs are the long turns. */
static void take_entries(void)
{
    size_t rights = 0;
    run.turn = calloc(entry_count, sizeof *run.turn);
    if (!run.turn)
        die("no memory for %zu entries", entry_count);
    for (int right = 1; right >= 0; right--) {
        for (size_t i = 0; i < entry_count; i++)
            if ((entries[i].kind == ENTRY_RIGHT) == right && is_mine(&entries[i]))
                run.turn[run.turns++] = i;
        rights = right ? run.turns : rights;
    }
    double share = rights ? (double)run.settings.threads / (double)rights : 1;
    run.soak_ms = run.settings.seconds ? 1e3 * run.settings.seconds * fmin(share, 1) : INFINITY;
}

static void load(const char *fatbin)
{
    CUdevice device;
    FILE *file = fopen(fatbin, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        die("%s cannot be read", fatbin);
    size_t size = (size_t)ftell(file);
    void *image = malloc(size);
    rewind(file);
    if (!image || fread(image, 1, size, file) != size)
        die("%s cannot be read", fatbin);
    fclose(file);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    /* A thread that waits leaves its core to those that draw inputs. */
    CHECK(cuDevicePrimaryCtxSetFlags(device, CU_CTX_SCHED_BLOCKING_SYNC));
    CHECK(cuDevicePrimaryCtxRetain(&run.context, device));
    CHECK(cuCtxSetCurrent(run.context));
    CHECK(cuModuleLoadData(&run.module, image));
    free(image);
}

void corpus_run(const char *fatbin, const char *records, const struct settings *settings)
{
    run.settings = *settings;
    run.records = fopen(records, "w");
    if (!run.records)
        die("%s cannot be written", records);
    inputs_start();
    take_entries();
    load(fatbin);
    flow_start(settings);
    run.start = milliseconds();
    run.next_progress = run.start + 1e3 * settings->progress;
    work_all();
    flow_finish();
    CHECK(cuCtxSynchronize());
    free(run.turn);
    if (fclose(run.records))
        die("%s cannot be written", records);
}
