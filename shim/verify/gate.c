#include "verify/gate.h"

#include <stdatomic.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <Random123/philox.h>
#include "base/hot.h"

/* Bounded for a program of ever new shapes: 64 Ki signatures in 2 MiB. */
enum { TABLE = 1 << 16, PROBES = 16 };

/* One signature of one kernel. */
struct gate_turn {
    _Atomic(uint64_t) key;      /* 0: free */
    _Atomic(uint64_t) taken;    /* the generation, and in the lower half the turns taken in it */
    _Atomic(uint64_t) launches; /* of the signature so far */
    struct budget_use use;
};

static const uint64_t TURNS = UINT32_MAX;

struct gate {
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
    struct gate *gate = calloc(1, sizeof(*gate));
    if (!gate)
        return NULL;
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
    free(gate);
}

enum { SIGNATURE_WORDS = 5 + 32 };

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

/* A parameter's value, widened; the usual sizes without a call. */
HOT static uint64_t read_value(const struct launch *launch, const struct shape_param *param)
{
    uint64_t value = 0;
    uint32_t half = 0;
    if (launch->params && param->size == sizeof(value)) {
        memcpy(&value, (const char *)launch->params[param->index] + param->offset, sizeof(value));
        return value;
    }
    if (launch->params && param->size == sizeof(half)) {
        memcpy(&half, (const char *)launch->params[param->index] + param->offset, sizeof(half));
        return half;
    }
    launch_read(launch, param->index, param->start, param->offset, param->size, &value);
    return value;
}

/* The same in every run. */
HOT static uint64_t signature_hash(const struct kernel_spec *spec, uint64_t key,
                                   const struct launch *launch)
{
    uint64_t words[SIGNATURE_WORDS], pointers[32];
    unsigned count = 0, pointer_count = 0;
    words[count++] = key;
    words[count++] = launch->shared_bytes;
    words[count++] = (uint64_t)launch->grid[0] << 32 | launch->grid[1];
    words[count++] = (uint64_t)launch->grid[2] << 32 | launch->block[0];
    words[count++] = (uint64_t)launch->block[1] << 32 | launch->block[2];
    for (unsigned i = 0; i < spec->shape_params; i++) {
        const struct shape_param *param = &spec->shape_param[i];
        uint64_t value = read_value(launch, param);
        if (param->pointer) {
            pointers[pointer_count] = value;
            value = pointer_class(pointers, pointer_count++);
        }
        words[count++] = value;
    }
    return XXH3_64bits(words, count * sizeof(words[0]));
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

HOT static uint64_t first_of(const struct gate *gate, const struct kernel_spec *spec)
{
    uint64_t first = spec->first >= 0 ? (uint64_t)spec->first : gate->settings.first;
    return first < TURNS ? first : TURNS;
}

/* Turns of an older generation do not count. */
HOT static bool take_one_of(const struct gate *gate, struct gate_turn *seen, uint64_t first)
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
HOT static bool take_turn(struct gate *gate, const struct kernel_spec *spec, struct gate_turn *seen)
{
    uint64_t first = first_of(gate, spec);
    return seen && first && take_one_of(gate, seen, first);
}

/* `number` counts the launches that are drawn under `key`, from 0; gate.h says how. */
HOT static bool draw(const struct gate *gate, double probability, uint64_t key, uint64_t number)
{
    if (probability >= 1)
        return true;
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
    return number % length == place && (double)random.v[2] < chance * 4294967296.0;
}

HOT struct gate_answer gate_decide(struct gate *gate, const struct kernel_spec *spec, uint64_t key,
                                   uint64_t number, const struct launch *launch)
{
    uint64_t hash = signature_hash(spec, key, launch);
    uint64_t signature = signature_key(spec, hash);
    struct gate_turn *seen = find(gate, signature);
    struct gate_answer answer = {.use = seen ? &seen->use : &gate->overflow_use,
                                 .signature = signature};
    if (seen)
        number = atomic_fetch_add_explicit(&seen->launches, 1, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&gate->overflow, 1, memory_order_relaxed);
    if (take_turn(gate, spec, seen)) {
        answer.result = GATE_FIRST;
        answer.turn = seen;
        return answer;
    }
    double probability = spec->sample >= 0 ? spec->sample : gate_sample(gate);
    answer.result = draw(gate, probability, seen ? hash : key, number) ? GATE_RANDOM : GATE_NO;
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
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

void gate_set_sample(struct gate *gate, double probability)
{
    atomic_store_explicit(&gate->sample, probability, memory_order_relaxed);
}

HOT double gate_sample(const struct gate *gate)
{
    return atomic_load_explicit(&gate->sample, memory_order_relaxed);
}

void gate_reset(struct gate *gate)
{
    atomic_fetch_add_explicit(&gate->generation, TURNS + 1, memory_order_relaxed);
}

uint64_t gate_overflow(const struct gate *gate)
{
    return atomic_load_explicit(&gate->overflow, memory_order_relaxed);
}
