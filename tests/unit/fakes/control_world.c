#include "tests/unit/fakes/control_world.h"

#include <pthread.h>
#include <unistd.h>
#include "control/control.h"
#include "tests/unit/fakes/fake_driver.h"

enum { COLS = 32, CONTEXT = 0x77, ADD = 1, ADD_ALWAYS = 2 };

static const char registry_text[] =
    "version: 1\n"
    "kernels:\n"
    "  - kernel: add\n"
    "    signature: const f32 a[cols], const f32 b[cols], f32 y[cols], i32 cols\n"
    "    reference: add\n"
    "  - kernel: add_always\n"
    "    signature: const f32 a[cols], const f32 b[cols], f32 y[cols], i32 cols\n"
    "    reference: add\n"
    "    sample: 1\n";

static struct world {
    struct registry *registry;
    struct counters *counters;
    struct pipeline pipeline;
    struct sink sink;
    struct control_targets targets;
    const char *_Atomic bundle;
    pthread_mutex_t lock; /* of the fake driver, which is not made for several threads */
    struct ticket ticket;
    float *a, *b, *y;
    pthread_mutex_t steered_lock;
    char steered[64];
} world;

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "control_world: %s\n", what);
    abort();
}

/* ---- the sink ---- */

static void on_seen(void *user)
{
    counters_seen(((struct world *)user)->counters);
}

static void on_skipped(void *user, const struct kernel_spec *spec, enum skip skip)
{
    counters_skip(((struct world *)user)->counters, spec ? (int64_t)spec->number : -1, skip);
}

static void on_judged(void *user, const struct check_report *report,
                      const struct bundle_source *source)
{
    struct world *w = user;
    (void)source;
    counters_check(w->counters, report);
    if (report->verdict == VERDICT_MISMATCH)
        control_found(report, atomic_load(&w->bundle));
}

static void on_spent(void *user, const struct kernel_spec *spec, const struct check_cost *cost)
{
    counters_spent(((struct world *)user)->counters, spec ? (int64_t)spec->number : -1, cost);
}

static void on_warned(void *user, const char *symbol, enum skip skip, const char *sentence)
{
    (void)user;
    fprintf(stderr, "control_world: %s: %s: %s\n", symbol, skip_text(skip), sentence);
}

static void on_failed(void *user, const struct launch *launch, const char *error_name)
{
    (void)user, (void)launch, (void)error_name;
}

static void on_kernel(void *user, const struct known_kernel *kernel, const char *sentence)
{
    must(kernel->spec, sentence);
    counters_add_kernel(((struct world *)user)->counters, kernel->spec);
}

static void on_steered(void *user, const char *what)
{
    struct world *w = user;
    pthread_mutex_lock(&w->steered_lock);
    snprintf(w->steered, sizeof(w->steered), "%s", what);
    pthread_mutex_unlock(&w->steered_lock);
}

static void complain(void *user, const char *sentence)
{
    (void)user;
    must(false, sentence);
}

/* ---- life ---- */

static CUresult param_info(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    (void)kernel;
    if (index >= 4)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = index * 8;
    *size = index < 3 ? 8 : 4;
    return CUDA_SUCCESS;
}

static void load_registry(void)
{
    char file[] = "/tmp/cuvet-control-XXXXXX";
    int fd = mkstemp(file);
    ssize_t length = (ssize_t)sizeof(registry_text) - 1;
    must(fd >= 0 && write(fd, registry_text, (size_t)length) == length, "no registry file");
    close(fd);
    struct registry_source source = {.files = file};
    must(!registry_load(&world.registry, &source, complain, NULL), "no registry");
    unlink(file);
}

static void make_arrays(void)
{
    world.a = fake_alloc(COLS * sizeof(float));
    world.b = fake_alloc(COLS * sizeof(float));
    world.y = fake_alloc(COLS * sizeof(float));
    for (int i = 0; i < COLS; i++) {
        world.a[i] = (float)i;
        world.b[i] = 0.5f;
    }
}

void control_world_open(const struct gate_settings *gate)
{
    struct pipeline *p = &world.pipeline;
    fake_driver_install();
    cuda.cuKernelGetParamInfo = param_info;
    load_registry();
    make_arrays();
    pthread_mutex_init(&world.lock, NULL);
    pthread_mutex_init(&world.steered_lock, NULL);
    world.counters = counters_create();
    world.sink = (struct sink){&world,    on_seen,   on_skipped, on_judged, on_spent,
                               on_warned, on_failed, NULL,       NULL,      NULL};
    p->gate = gate_create(gate);
    p->kernels = kernels_create(world.registry, on_kernel, &world);
    p->sides = sides_create();
    p->sink = &world.sink;
    p->ready_wait_ms = 5000;
    struct collector_settings settings = {
        .sides = p->sides, .side = {1 << 20, 64, 0}, .sink = &world.sink};
    must(!collector_create(&p->collector, &settings, NULL), "no collector");
    pipeline_context_created(p, (CUcontext)(uintptr_t)CONTEXT);
    world.targets = (struct control_targets){p, world.counters, on_steered, &world};
    control_open(&world.targets);
}

void control_world_launch(bool wrong, bool always)
{
    int32_t cols = COLS;
    void *params[] = {&world.a, &world.b, &world.y, &cols};
    struct launch launch = {.symbol = always ? "add_always" : "add",
                            .function = (void *)(uintptr_t)(always ? ADD_ALWAYS : ADD),
                            .context = (void *)CONTEXT,
                            .stream = (void *)1,
                            .grid = {1, 1, 1},
                            .block = {COLS, 1, 1},
                            .params = params};
    pthread_mutex_lock(&world.lock);
    pipeline_enter(&world.pipeline, &launch, &world.ticket);
    for (int i = 0; i < COLS; i++)
        world.y[i] = world.a[i] + world.b[i] + (wrong && i == 7 ? 1 : 0);
    pipeline_exit(&world.pipeline, &launch, &world.ticket, CUDA_SUCCESS);
    pthread_mutex_unlock(&world.lock);
}

void control_world_hold(void)
{
    atomic_store(&fake.hold_seals, true);
}

void control_world_release(void)
{
    struct side *side = sides_find(world.pipeline.sides, (CUcontext)(uintptr_t)CONTEXT);
    if (!atomic_load(&fake.hold_seals) || !side || atomic_load(&side->state) != SIDE_READY)
        return;
    pthread_mutex_lock(&world.lock);
    atomic_store(&fake.hold_seals, false);
    for (uint32_t i = 0; i < side->slot.count; i++)
        __atomic_store_n(&side->slot.seal[i].sequence, side->slot.check[i].sequence,
                         __ATOMIC_RELEASE);
    pthread_mutex_unlock(&world.lock);
}

void control_world_bundle(const char *path)
{
    atomic_store(&world.bundle, path);
}

struct counters *control_world_counters(void)
{
    return world.counters;
}

const char *control_world_steered(void)
{
    return world.steered;
}

bool control_world_close(void)
{
    struct pipeline *p = &world.pipeline;
    struct counters_totals totals;
    control_world_release();
    must(collector_drain(p->collector, 10000), "checks stay under way");
    must(collector_stop(p->collector, 5000), "the collector does not end");
    collector_destroy(p->collector);
    control_reset();
    counters_read(world.counters, &totals);
    bool balanced = counters_balanced(&totals) && !atomic_load(&fake.strays);
    sides_destroy(p->sides);
    kernels_destroy(p->kernels);
    gate_destroy(p->gate);
    registry_destroy(world.registry);
    counters_destroy(world.counters);
    memset(&world, 0, sizeof(world));
    fake_driver_remove();
    return balanced;
}
