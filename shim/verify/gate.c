#include "verify/gate.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <Random123/philox.h>
#include "base/hot.h"

/* Bounded for a program of ever new shapes: 64 Ki signatures in 4 MiB. */
enum { TABLE = 1 << 16, PROBES = 16 };

/* One signature of one kernel, on one line. */
struct gate_turn {
    _Alignas(64) _Atomic(uint64_t) key; /* 0: free */
    _Atomic(uint64_t) taken;    /* the generation, and in the lower half the turns taken in it */
    _Atomic(uint64_t) launches; /* of the signature so far */
    _Atomic(uint64_t) due;      /* the epoch, and the launch before which none is taken in it */
    struct budget_use use;
};

/* Of `due`, the lower bits are a launch's number, those above the epoch that it holds in. A number
 * that does not fit is never reached: such launches are thought about one by one. */
enum { DUE_BITS = 40 };
static const uint64_t DUE_MOST = ((uint64_t)1 << DUE_BITS) - 1;

static const uint64_t TURNS = UINT32_MAX;

struct gate {
    void *memory; /* what all this lies in */
    /* Counts what makes all `due` void; what a launch reads of this struct. */
    _Atomic(uint64_t) epoch;
    struct gate_settings settings;
    _Atomic(double) sample;
    _Atomic(uint64_t) generation; /* of the turns, in the upper half; gate_reset begins a new one */
    philox4x32_key_t stream;      /* of (seed, rank) */
    _Atomic(uint64_t) overflow;
    struct budget_use overflow_use;
    struct gate_turn seen[TABLE];
};

const char *gate_text(enum gate_result result)
{
    static const char *const text[] = {"no", "first", "random", "outlier"};
    return text[result];
}

struct gate *gate_create(const struct gate_settings *settings)
{
    /* Its pages are not touched before there are signatures, so no aligned_alloc and memset. */
    size_t alignment = _Alignof(struct gate);
    char *memory = calloc(1, sizeof(struct gate) + alignment);
    if (!memory)
        return NULL;
    struct gate *gate = (void *)(memory + (alignment - (uintptr_t)memory % alignment));
    gate->memory = memory;
    uint64_t seed = settings->seed, rank = (uint64_t)settings->rank;
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t of_rank = {{(uint32_t)rank, (uint32_t)(rank >> 32)}};
    philox4x32_ctr_t stream = philox4x32(of_rank, key);
    gate->settings = *settings;
    atomic_init(&gate->sample, settings->sample);
    gate->stream = (philox4x32_key_t){{stream.v[0], stream.v[1]}};
    return gate;
}

void gate_destroy(struct gate *gate)
{
    if (gate)
        free(gate->memory);
}

/* Class of a pointer: its alignment, whether it is null, and the first earlier pointer equal to it.
 */
HOT static uint64_t pointer_class(const uint64_t *pointers, unsigned index)
{
    unsigned alias = index;
    for (unsigned i = 0; i < index; i++) {
        if (pointers[i] == pointers[index]) {
            alias = i;
            break;
        }
    }
    return (uint64_t)alias << 8 | (pointers[index] & 15) << 1 | (pointers[index] == 0);
}

/* A parameter's value, widened. */
APART static uint64_t read_value(const struct launch *launch, const struct shape_param *param)
{
    uint64_t value = 0;
    launch_read(launch, param->index, param->start, param->offset, param->size, &value);
    return value;
}

/* The same; the usual sizes without a call. */
HOT static inline uint64_t read_usual(const struct launch *launch, const struct shape_param *param)
{
    uint64_t value;
    uint32_t half;
    if (UNUSUAL(!launch->params || param->size < sizeof(half) || param->size % sizeof(half)))
        return read_value(launch, param);
    const char *at = (const char *)launch->params[param->index] + param->offset;
    memcpy(&half, at, sizeof(half));
    if (param->size == sizeof(half))
        return half;
    memcpy(&value, at, sizeof(value));
    return value;
}

/* Each step is one to one in either argument, so two lists of words that differ in one place never
 * collide; others do as random numbers would. */
HOT static inline uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9FB21C651E98DF25u;
    return hash ^ hash >> 29;
}

/* The same in every run. Little code and no tables: it is cold each time (base/hot.h). */
HOT static inline uint64_t signature_hash(const struct kernel_spec *spec, uint64_t key,
                                          const struct launch *launch)
{
    uint64_t pointers[32];
    unsigned pointer_count = 0;
    uint64_t hash = mix(key, launch->shared_bytes);
    hash = mix(hash, (uint64_t)launch->grid[0] << 32 | launch->grid[1]);
    hash = mix(hash, (uint64_t)launch->grid[2] << 32 | launch->block[0]);
    hash = mix(hash, (uint64_t)launch->block[1] << 32 | launch->block[2]);
    for (unsigned i = 0; i < spec->shape_params; i++) {
        const struct shape_param *param = &spec->shape_param[i];
        uint64_t value = read_usual(launch, param);
        if (param->pointer) {
            pointers[pointer_count] = value;
            value = pointer_class(pointers, pointer_count++);
        }
        hash = mix(hash, value);
    }
    return mix(hash, spec->shape_params);
}

/* Kernels of one symbol, told apart by their parameter lists, have signatures of their own. */
HOT static uint64_t signature_key(const struct kernel_spec *spec, uint64_t hash)
{
    uint64_t key = hash + spec->number * 0x9E3779B97F4A7C15u;
    return key ? key : 1;
}

/* The signature's entry, made on first sight; NULL when the neighbourhood is full. */
HOT static struct gate_turn *find(struct gate *gate, uint64_t key)
{
    for (unsigned i = 0; i < PROBES; i++) {
        struct gate_turn *seen = &gate->seen[(key + i) % TABLE];
        uint64_t there = atomic_load_explicit(&seen->key, memory_order_relaxed);
        if (there == key)
            return seen;
        if (!there) {
            if (atomic_compare_exchange_strong(&seen->key, &there, key) || there == key)
                return seen;
        }
    }
    return NULL;
}

static uint64_t first_of(const struct gate *gate, const struct kernel_spec *spec)
{
    uint64_t first = spec->first >= 0 ? (uint64_t)spec->first : gate->settings.first;
    return first < TURNS ? first : TURNS;
}

/* Turns of an older generation do not count. */
static bool take_one_of(const struct gate *gate, struct gate_turn *seen, uint64_t first)
{
    uint64_t generation = atomic_load_explicit(&gate->generation, memory_order_relaxed);
    uint64_t taken = atomic_load_explicit(&seen->taken, memory_order_relaxed);
    for (;;) {
        uint64_t count = (taken & ~TURNS) == generation ? taken & TURNS : 0;
        if (count >= first)
            return false;
        if (atomic_compare_exchange_weak_explicit(&seen->taken, &taken, generation | (count + 1),
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    }
}

/* Whether this launch is one of its signature's first k. */
static bool take_turn(struct gate *gate, const struct kernel_spec *spec, struct gate_turn *seen)
{
    uint64_t first = first_of(gate, spec);
    return seen && first && take_one_of(gate, seen, first);
}

/*
 * `number` counts the launches that are drawn under `key`, from 0; gate.h says how. *next: the
 * first launch behind this one that may be taken, at the earliest.
 */
static bool draw(const struct gate *gate, double probability, uint64_t key, uint64_t number,
                 uint64_t *next)
{
    *next = number + 1;
    if (probability >= 1)
        return true;
    *next = UINT64_MAX;
    if (probability <= 0)
        return false;
    uint64_t length = probability > 0x1p-62 ? (uint64_t)(1 / probability) : (uint64_t)1 << 62;
    uint64_t stratum = number / length;
    philox4x32_ctr_t counter = {
        {(uint32_t)stratum, (uint32_t)(stratum >> 32), (uint32_t)key, (uint32_t)(key >> 32)}};
    philox4x32_ctr_t random = philox4x32(counter, gate->stream);
    uint64_t uniform = (uint64_t)random.v[0] << 32 | random.v[1];
    uint64_t place = (uint64_t)((unsigned __int128)uniform * length >> 64);
    double chance = probability * (double)length;
    bool taken = (double)random.v[2] < chance * 4294967296.0;
    *next = taken && number % length < place ? stratum * length + place : (stratum + 1) * length;
    return taken && number % length == place;
}

/*
 * Notes that no launch of the signature before `next` is to be taken, as of `epoch`. A turn that is
 * given back meanwhile takes the note away, either there or here.
 */
static void note_due(const struct gate *gate, const struct kernel_spec *spec,
                     struct gate_turn *seen, uint64_t epoch, uint64_t next)
{
    uint64_t first = first_of(gate, spec);
    uint64_t number = next < DUE_MOST ? next : DUE_MOST;
    atomic_store(&seen->due, epoch << DUE_BITS | number);
    if ((atomic_load(&seen->taken) & TURNS) < first)
        atomic_store(&seen->due, 0);
}

/* What the note of the signature does not say already. */
APART static void decide(struct gate *gate, const struct kernel_spec *spec, uint64_t key,
                         uint64_t number, struct gate_turn *seen, struct gate_answer *answer)
{
    uint64_t epoch = atomic_load(&gate->epoch), next;
    if (take_turn(gate, spec, seen)) {
        answer->result = GATE_FIRST;
        answer->turn = seen;
        return;
    }
    double probability = spec->sample >= 0 ? spec->sample : gate_sample(gate);
    if (draw(gate, probability, key, number, &next))
        answer->result = GATE_RANDOM;
    if (seen)
        note_due(gate, spec, seen, epoch, next);
}

/* Most launches of a signature need nothing but its entry: which launch is taken next is known. */
HOT struct gate_answer gate_decide(struct gate *gate, const struct kernel_spec *spec, uint64_t key,
                                   uint64_t number, const struct launch *launch)
{
    uint64_t epoch = atomic_load_explicit(&gate->epoch, memory_order_relaxed);
    uint64_t hash = signature_hash(spec, key, launch);
    uint64_t signature = signature_key(spec, hash);
    struct gate_turn *seen = find(gate, signature);
    struct gate_answer answer = {.use = &gate->overflow_use, .signature = signature};
    if (UNUSUAL(!seen)) {
        atomic_fetch_add_explicit(&gate->overflow, 1, memory_order_relaxed);
        decide(gate, spec, key, number, NULL, &answer);
        return answer;
    }
    answer.use = &seen->use;
    number = atomic_fetch_add_explicit(&seen->launches, 1, memory_order_relaxed);
    uint64_t due = atomic_load_explicit(&seen->due, memory_order_relaxed) ^ epoch << DUE_BITS;
    if (UNUSUAL(due > DUE_MOST) || UNUSUAL(number >= due))
        decide(gate, spec, hash, number, seen, &answer);
    return answer;
}

uint64_t gate_seed_of(const struct gate *gate, uint64_t key, uint64_t number)
{
    key = ~key; /* other numbers than draw()'s */
    philox4x32_ctr_t counter = {
        {(uint32_t)number, (uint32_t)(number >> 32), (uint32_t)key, (uint32_t)(key >> 32)}};
    philox4x32_ctr_t random = philox4x32(counter, gate->stream);
    return (uint64_t)random.v[0] << 32 | random.v[1];
}

void gate_return(struct gate_turn *turn)
{
    if (!turn)
        return;
    uint64_t taken = atomic_load_explicit(&turn->taken, memory_order_relaxed);
    while ((taken & TURNS) &&
           !atomic_compare_exchange_weak_explicit(&turn->taken, &taken, taken - 1,
                                                  memory_order_seq_cst, memory_order_relaxed))
        ;
    atomic_store(&turn->due, 0);
}

void gate_set_sample(struct gate *gate, double probability)
{
    atomic_store_explicit(&gate->sample, probability, memory_order_relaxed);
    atomic_fetch_add(&gate->epoch, 1);
}

double gate_sample(const struct gate *gate)
{
    return atomic_load_explicit(&gate->sample, memory_order_relaxed);
}

void gate_reset(struct gate *gate)
{
    atomic_fetch_add_explicit(&gate->generation, TURNS + 1, memory_order_relaxed);
    atomic_fetch_add(&gate->epoch, 1);
}

uint64_t gate_overflow(const struct gate *gate)
{
    return atomic_load_explicit(&gate->overflow, memory_order_relaxed);
}
