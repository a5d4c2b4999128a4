#include "verify/gate.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <Random123/philox.h>
#include "base/hot.h"
#include "verify/gate_table.h"
#include "verify/passing.h"
#include "verify/tally.h"

enum { PROBES = 16 };

static const uint64_t NUMBER_MOST = ((uint64_t)1 << GATE_NUMBER_BITS) - 1;
static const uint64_t LEFT_MOST = ((uint64_t)1 << GATE_LEFT_BITS) - 1;
enum { LEASE_LEAST = 16, LEASE_MOST = 4096, LEASE_SHARE = 16 };

static const uint64_t TURNS = UINT32_MAX;

struct gate {
    void *memory; /* what all this lies in */
    struct gate_settings settings;
    _Atomic(double) sample;
    _Atomic(uint64_t) generation; /* of the turns, in the upper half; gate_reset begins a new one */
    philox4x32_key_t stream;      /* of (seed, rank) */
    _Atomic(uint64_t) overflow;
    struct budget_use overflow_use;
    struct gate_turn seen[GATE_TABLE];
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

static uint64_t first_of(const struct gate *gate, const struct kernel_spec *spec)
{
    uint64_t first = spec->first >= 0 ? (uint64_t)spec->first : gate->settings.first;
    return first < TURNS ? first : TURNS;
}

static double probability_of(const struct gate *gate, const struct kernel_spec *spec)
{
    return spec->sample >= 0 ? spec->sample : gate_sample(gate);
}

bool gate_idle(const struct gate *gate, const struct kernel_spec *spec)
{
    return probability_of(gate, spec) <= 0 && !first_of(gate, spec);
}

struct gate_turn *gate_table(struct gate *gate)
{
    return gate->seen;
}

void gate_destroy(struct gate *gate)
{
    if (gate)
        free(gate->memory);
}

/* ---- signatures ---- */

/* What a recipe has in three parts. */
enum part { POINTERS, LONGS, WORDS, OTHERS };

static enum part part_of(const struct shape_param *param)
{
    if (param->index > UINT8_MAX || param->offset > UINT16_MAX)
        return OTHERS;
    if (param->size == sizeof(uint64_t))
        return param->pointer ? POINTERS : LONGS;
    return param->size == sizeof(uint32_t) && !param->pointer ? WORDS : OTHERS;
}

void gate_recipe_make(struct gate_recipe *recipe, const struct kernel_spec *spec, uint64_t key)
{
    uint8_t ends[OTHERS + 1], items = 0;
    *recipe = (struct gate_recipe){.seed = gate_mix(key, spec->shape_params)};
    for (enum part part = POINTERS; part <= OTHERS; part++) {
        for (unsigned i = 0; i < spec->shape_params; i++) {
            const struct shape_param *param = &spec->shape_param[i];
            if (part_of(param) == part)
                recipe->item[items++] = (struct gate_item){.index = (uint8_t)param->index,
                                                           .from = (uint8_t)i,
                                                           .offset = (uint16_t)param->offset};
        }
        ends[part] = items;
    }
    recipe->pointers = ends[POINTERS];
    recipe->longs = ends[LONGS];
    recipe->items = ends[WORDS];
    recipe->odd = ends[OTHERS] > ends[WORDS];
}

/* A parameter's value, widened. */
static uint64_t read_value(const struct launch *launch, const struct shape_param *param)
{
    uint64_t value = 0;
    launch_read(launch, param->index, param->start, param->offset, param->size, &value);
    return value;
}

/* gate_signature() of a launch that this cannot read. */
static uint64_t signature_slowly(const struct gate_recipe *recipe, const uint32_t *shape,
                                 const struct kernel_spec *spec, const struct launch *launch)
{
    uint64_t pointers[SHAPE_PARAMS], hash = gate_mix_shape(recipe->seed, shape);
    for (unsigned i = 0; i < spec->shape_params; i++) {
        uint64_t value = read_value(launch, &spec->shape_param[recipe->item[i].from]);
        if (i < recipe->pointers) {
            pointers[i] = value;
            value = gate_pointer_class(pointers, i);
        }
        hash = gate_mix(hash, value);
    }
    return gate_key(hash);
}

/* Never 0. */
static uint64_t signature_of(const struct gate_recipe *recipe, const struct kernel_spec *spec,
                             const struct launch *launch)
{
    uint32_t shape[GATE_SHAPE_WORDS];
    memcpy(shape, launch->grid, sizeof(launch->grid));
    memcpy(shape + 3, launch->block, sizeof(launch->block));
    shape[6] = launch->shared_bytes;
    uint64_t key = launch->params && !recipe->odd ? gate_signature(recipe, shape, launch->params)
                                                  : signature_slowly(recipe, shape, spec, launch);
    return key ? key : 1;
}

/* The signature's entry, made on first sight; NULL when the neighbourhood is full. */
static struct gate_turn *find(struct gate *gate, uint64_t key)
{
    for (unsigned i = 0; i < PROBES; i++) {
        struct gate_turn *seen = &gate->seen[(key + i) % GATE_TABLE];
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

/* ---- numbers ---- */

/* The calling thread's; NULL: it has to take its numbers one by one. */
static struct gate_lease *own_lease(struct gate_turn *turn)
{
    unsigned which = tally_own();
    uint64_t launches = atomic_load_explicit(&turn->launches, memory_order_relaxed);
    if (which >= TALLIES_OWNED || launches > NUMBER_MOST - LEASE_MOST)
        return NULL;
    uint64_t mine = (uint64_t)(which + 1) << GATE_THREAD_SHIFT;
    for (int i = 0; i < GATE_LEASES; i++) {
        uint64_t none = 0, word = atomic_load_explicit(&turn->lease[i].word, memory_order_relaxed);
        if (word >> GATE_THREAD_SHIFT == which + 1 ||
            (!word && atomic_compare_exchange_strong(&turn->lease[i].word, &none, mine)))
            return &turn->lease[i];
    }
    return NULL;
}

/* The launch's number among those of its signature; what is left of the lease is in `rest`. */
static uint64_t take_number(struct gate_turn *turn, struct gate_lease *lease)
{
    if (!lease)
        return atomic_fetch_add_explicit(&turn->launches, 1, memory_order_relaxed);
    uint64_t word = atomic_load_explicit(&lease->word, memory_order_relaxed);
    uint64_t number = word & NUMBER_MOST, left = word >> GATE_NUMBER_BITS & LEFT_MOST;
    lease->rest += (uint32_t)left;
    if (!lease->rest) {
        uint64_t most = atomic_load_explicit(&turn->launches, memory_order_relaxed) / LEASE_SHARE;
        most = most < LEASE_LEAST ? LEASE_LEAST : most < LEASE_MOST ? most : LEASE_MOST;
        number = atomic_fetch_add_explicit(&turn->launches, most, memory_order_relaxed);
        lease->rest = (uint32_t)most;
    }
    lease->rest--;
    atomic_store_explicit(&lease->word,
                          (word >> GATE_THREAD_SHIFT << GATE_THREAD_SHIFT) + number + 1,
                          memory_order_relaxed);
    return number;
}

/* Notes that none of the lease's launches before `next` is to be taken, as of `stamp`. */
static void note_next(struct gate_lease *lease, uint32_t stamp, uint64_t next)
{
    uint64_t word = atomic_load_explicit(&lease->word, memory_order_relaxed);
    uint64_t left = next - (word & NUMBER_MOST);
    left = left < lease->rest ? left : lease->rest;
    lease->rest -= (uint32_t)left;
    lease->stamp = stamp;
    atomic_store_explicit(&lease->word, word + (left << GATE_NUMBER_BITS), memory_order_relaxed);
}

/* ---- decisions ---- */

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
    return first && take_one_of(gate, seen, first);
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

struct gate_answer gate_decide(struct gate *gate, const struct kernel_spec *spec,
                               const struct gate_recipe *recipe, const struct launch *launch)
{
    uint64_t key = signature_of(recipe, spec, launch), next;
    struct gate_turn *turn = find(gate, key);
    struct gate_answer answer = {.use = turn ? &turn->use : &gate->overflow_use, .signature = key};
    uint32_t stamp = turn ? gate_stamp(turn) : 0;
    struct gate_lease *lease = turn ? own_lease(turn) : NULL;
    if (lease && gate_lease_passes(turn, lease))
        return answer;
    uint64_t number = turn ? take_number(turn, lease)
                           : atomic_fetch_add_explicit(&gate->overflow, 1, memory_order_relaxed);
    if (turn && take_turn(gate, spec, turn)) {
        answer.result = GATE_FIRST;
        answer.turn = turn;
        return answer;
    }
    if (draw(gate, probability_of(gate, spec), turn ? key : 0, number, &next))
        answer.result = GATE_RANDOM;
    if (lease)
        note_next(lease, stamp, next);
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
    atomic_fetch_add(&turn->returned, 1);
}

void gate_set_sample(struct gate *gate, double probability)
{
    atomic_store(&gate->sample, probability);
    atomic_fetch_add(&passing.draws, 1);
}

double gate_sample(const struct gate *gate)
{
    return atomic_load_explicit(&gate->sample, memory_order_relaxed);
}

void gate_reset(struct gate *gate)
{
    atomic_fetch_add(&gate->generation, TURNS + 1);
    atomic_fetch_add(&passing.draws, 1);
}

uint64_t gate_overflow(const struct gate *gate)
{
    return atomic_load_explicit(&gate->overflow, memory_order_relaxed);
}
