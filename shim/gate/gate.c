#include "gate/gate.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <Random123/philox.h>
#include "base/hot.h"
#include "gate/gate_table.h"
#include "gate/passing.h"
#include "gate/tally.h"

enum { PROBES = 16 };

enum { LEASE_LEAST = 16, LEASE_MOST = 4096, LEASE_SHARE = 16 }; /* numbers taken ahead */

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
    struct gate_note note[TALLIES_OWNED * GATE_NOTES];
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

static uint64_t first_count(const struct gate *gate, const struct kernel_spec *spec)
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
    return probability_of(gate, spec) <= 0 && !first_count(gate, spec);
}

struct gate_note *gate_all_notes(struct gate *gate)
{
    return gate->note;
}

void gate_destroy(struct gate *gate)
{
    if (gate)
        free(gate->memory);
}

/* ---- signatures ---- */

/* What a recipe has, in its order. Guarded ones are words. */
enum part { POINTERS, LONGS, WORDS, BYTES, GUARDED, OTHERS };

static enum part recipe_part(const struct kernel_spec *spec, const struct shape_param *param)
{
    static const enum part by_size[] = {[1] = BYTES, [2] = OTHERS, [4] = WORDS, [8] = LONGS};
    if (param->index > UINT8_MAX || param->offset > UINT16_MAX)
        return OTHERS;
    if (param->pointer)
        return param->size == sizeof(uint64_t) ? POINTERS : OTHERS;
    enum part part = by_size[param->size];
    if (!param->guard)
        return part;
    return part == WORDS && recipe_part(spec, &spec->shape_param[param->guard - 1]) == WORDS
               ? GUARDED
               : OTHERS;
}

static void add_recipe_item(struct gate_recipe *recipe, uint8_t *items,
                            const struct kernel_spec *spec, unsigned from)
{
    const struct shape_param *param = &spec->shape_param[from];
    recipe->item[(*items)++] = (struct gate_item){
        .index = (uint8_t)param->index, .from = (uint8_t)from, .offset = (uint16_t)param->offset};
}

static void add_recipe_part(struct gate_recipe *recipe, uint8_t *items,
                            const struct kernel_spec *spec, enum part part)
{
    for (unsigned i = 0; i < spec->shape_params; i++) {
        if (recipe_part(spec, &spec->shape_param[i]) == part)
            add_recipe_item(recipe, items, spec, i);
    }
}

/* Those under one guard, by the value from which on they are present. */
static void add_guard(struct gate_recipe *recipe, uint8_t *items, const struct kernel_spec *spec,
                      unsigned number)
{
    const struct shape_param *param = &spec->shape_param[number - 1];
    struct gate_guard *guard = &recipe->guard[recipe->guards++];
    *guard = (struct gate_guard){
        .index = (uint8_t)param->index, .begin = *items, .offset = (uint16_t)param->offset};
    guard->end[0] = *items;
    for (unsigned above = 0; above < GATE_GUARD_VALUES - 1; above++) {
        for (unsigned i = 0; i < spec->shape_params; i++) {
            const struct shape_param *other = &spec->shape_param[i];
            if (other->guard == number && other->above == above &&
                recipe_part(spec, other) == GUARDED)
                add_recipe_item(recipe, items, spec, i);
        }
        guard->end[above + 1] = *items;
    }
}

static bool is_guard(const struct kernel_spec *spec, unsigned number)
{
    for (unsigned i = 0; i < spec->shape_params; i++) {
        if (spec->shape_param[i].guard == number &&
            recipe_part(spec, &spec->shape_param[i]) == GUARDED)
            return true;
    }
    return false;
}

void gate_recipe_make(struct gate_recipe *recipe, const struct kernel_spec *spec, uint64_t key)
{
    uint8_t items = 0;
    *recipe = (struct gate_recipe){.seed = gate_mix(key, spec->shape_params)};
    add_recipe_part(recipe, &items, spec, POINTERS);
    recipe->pointers = items;
    add_recipe_part(recipe, &items, spec, LONGS);
    recipe->longs = items;
    add_recipe_part(recipe, &items, spec, WORDS);
    recipe->words = items;
    add_recipe_part(recipe, &items, spec, BYTES);
    recipe->items = items;
    for (unsigned number = 1; number <= spec->shape_params; number++) {
        if (is_guard(spec, number) && recipe->guards < GATE_GUARDS)
            add_guard(recipe, &items, spec, number);
    }
    recipe->odd = items < spec->shape_params;
}

/* A parameter's value, widened. */
static uint64_t read_shape_value(const struct launch *launch, const struct shape_param *param)
{
    uint64_t value = 0;
    launch_read(launch, param->index, param->start, param->offset, param->size, &value);
    return value;
}

static bool is_present(const struct kernel_spec *spec, const struct shape_param *param,
                       const struct launch *launch)
{
    if (!param->guard)
        return true;
    return (int32_t)read_shape_value(launch, &spec->shape_param[param->guard - 1]) > param->above;
}

/* gate_signature() of a launch that this cannot read. */
static uint64_t signature_slowly(const struct gate_recipe *recipe, const uint32_t *shape,
                                 const struct kernel_spec *spec, const struct launch *launch)
{
    uint64_t pointers[SHAPE_PARAMS], hash = gate_mix_shape(recipe->seed, shape);
    unsigned count = 0;
    for (unsigned i = 0; i < spec->shape_params; i++) {
        const struct shape_param *param =
            &spec->shape_param[recipe->odd ? i : recipe->item[i].from];
        uint64_t value;
        if (!is_present(spec, param, launch))
            continue;
        value = read_shape_value(launch, param);
        if (param->pointer) {
            pointers[count] = value;
            value = gate_pointer_class(pointers, count++);
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

/* The signature's entry, made on its first launch; NULL when the neighbourhood is full. */
static struct gate_turn *find_turn(struct gate *gate, uint64_t key)
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

/* ---- notes ---- */

/* Numbers that were taken ahead and not used go back, where no thread has taken any behind them. */
static void give_numbers_back(struct gate *gate, struct gate_note *note)
{
    uint64_t key = atomic_load_explicit(&note->key, memory_order_relaxed);
    struct gate_turn *turn = key ? find_turn(gate, key) : NULL;
    uint64_t next = note->number - note->left, end = note->number + note->rest;
    if (turn && end > next)
        atomic_compare_exchange_strong(&turn->launches, &end, next);
}

/* The calling thread's note of a signature; one of the set's others ends for it, where all are in
 * use. NULL: the thread shares its tallies, and has no notes. */
static struct gate_note *own_note(struct gate *gate, uint64_t key)
{
    unsigned which = tally_own();
    if (which >= TALLIES_OWNED)
        return NULL;
    struct gate_note *first = gate_notes_of(gate_notes(gate->note, which + 1), key), *note;
    struct gate_note *gone = first;
    for (note = first; note < first + GATE_WAYS; note++) {
        uint64_t there = atomic_load_explicit(&note->key, memory_order_relaxed);
        if (there == key)
            return note;
        if (!there || note->read_at < gone->read_at)
            gone = note;
    }
    give_numbers_back(gate, gone);
    atomic_store(&gone->stamp, 0);
    gone->left = gone->rest = gone->paused = 0;
    gone->read_at = 0;
    gone->blind = false;
    atomic_store(&gone->key, key);
    return gone;
}

/* The launch's number among those of its signature. */
static uint64_t take_turn_number(struct gate_turn *turn, struct gate_note *note)
{
    if (!note)
        return atomic_fetch_add_explicit(&turn->launches, 1, memory_order_relaxed);
    note->number -= note->left;
    note->rest += note->left;
    note->left = 0;
    if (!note->rest) {
        uint64_t most = atomic_load_explicit(&turn->launches, memory_order_relaxed) / LEASE_SHARE;
        most = most < LEASE_LEAST ? LEASE_LEAST : most < LEASE_MOST ? most : LEASE_MOST;
        note->number = atomic_fetch_add_explicit(&turn->launches, most, memory_order_relaxed);
        note->rest = (uint32_t)most;
    }
    note->rest--;
    return note->number++;
}

/* Marks the note valid as of `stamp`. Safe beside a gate_return on another thread: that decrements
 * the count of turns before it clears stamps, and here the stamp is stored before take_gate_turn
 * reads the count. */
static void renew(struct gate_note *note, uint32_t stamp)
{
    if (atomic_load(&note->stamp) == stamp)
        return;
    note->next = 0;
    note->blind = false;
    atomic_store(&note->stamp, stamp);
}

void gate_pause(struct gate_note *note, uint64_t launches, enum skip skip)
{
    if (!note)
        return;
    note->left = launches < note->rest ? (uint32_t)launches : note->rest;
    note->number += note->left;
    note->rest -= note->left;
    note->paused += note->left;
    note->skip = skip;
}

uint64_t gate_until_draw(const struct gate_note *note)
{
    return note->next > note->number ? note->next - note->number : 0;
}

double gate_rate(struct gate_note *note, int64_t now)
{
    int64_t since = now - note->read_at;
    double rate = note->read_at && since > 0 ? (1.0 + note->paused) / (double)since : 0;
    note->read_at = now;
    note->paused = 0;
    return rate;
}

/* ---- decisions ---- */

/* Turns of an older generation do not count. */
static bool take_one_of(const struct gate *gate, struct gate_turn *seen, uint64_t first)
{
    uint64_t generation = atomic_load_explicit(&gate->generation, memory_order_relaxed);
    uint64_t taken = atomic_load(&seen->taken); /* see renew() */
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
static bool take_gate_turn(struct gate *gate, const struct kernel_spec *spec,
                           struct gate_turn *seen)
{
    uint64_t first = first_count(gate, spec);
    return first && take_one_of(gate, seen, first);
}

/*
 * `number` counts the launches that are drawn under `key`, from 0; see gate.h. *next: the first
 * launch after this one that may be taken, at the earliest.
 */
static bool draw_launch(const struct gate *gate, double probability, uint64_t key, uint64_t number,
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

/* The same, for a launch of a signature that may have a note of where the next draw is. */
static bool launch_is_drawn(const struct gate *gate, double probability, uint64_t key,
                            uint64_t number, struct gate_note *note)
{
    uint64_t next;
    if (note && number < note->next)
        return false;
    bool taken = draw_launch(gate, probability, key, number, &next);
    if (note)
        note->next = next;
    return taken;
}

struct gate_answer gate_decide(struct gate *gate, const struct kernel_spec *spec,
                               const struct gate_recipe *recipe, const struct launch *launch,
                               bool alone)
{
    uint64_t key = signature_of(recipe, spec, launch);
    struct gate_turn *turn = find_turn(gate, key);
    struct gate_note *note = turn ? own_note(gate, key) : NULL;
    struct gate_answer answer = {
        .note = note, .use = turn ? &turn->use : &gate->overflow_use, .signature = key};
    uint32_t stamp = gate_stamp();
    if (note && (answer.skip = gate_note_passes(note, stamp)))
        return answer;
    uint64_t number = turn ? take_turn_number(turn, note)
                           : atomic_fetch_add_explicit(&gate->overflow, 1, memory_order_relaxed);
    if (note)
        renew(note, stamp);
    if (turn && take_gate_turn(gate, spec, turn)) {
        atomic_store_explicit(&turn->notes, gate->note, memory_order_relaxed);
        answer.result = GATE_FIRST;
        answer.turn = turn;
        return answer;
    }
    if (launch_is_drawn(gate, probability_of(gate, spec), turn ? key : 0, number, note)) {
        answer.result = GATE_RANDOM;
    } else if (alone) {
        answer.skip = SKIP_NOT_SAMPLED;
        if (note)
            gate_pause(note, gate_until_draw(note), SKIP_NOT_SAMPLED);
    }
    return answer;
}

struct gate_answer gate_of_node(struct gate *gate, const struct kernel_spec *spec,
                                const struct gate_recipe *recipe, const struct launch *launch,
                                enum gate_result drawn)
{
    uint64_t key = signature_of(recipe, spec, launch);
    struct gate_turn *turn = find_turn(gate, key);
    struct gate_answer answer = {
        .result = drawn, .use = turn ? &turn->use : &gate->overflow_use, .signature = key};
    if (turn && take_gate_turn(gate, spec, turn)) {
        atomic_store_explicit(&turn->notes, gate->note, memory_order_relaxed);
        answer.result = GATE_FIRST;
        answer.turn = turn;
    }
    return answer;
}

bool gate_has_first(const struct gate *gate, const struct kernel_spec *spec)
{
    return first_count(gate, spec) > 0;
}

double gate_probability(const struct gate *gate, const struct kernel_spec *spec)
{
    return probability_of(gate, spec);
}

uint64_t gate_generation(const struct gate *gate)
{
    return atomic_load_explicit(&gate->generation, memory_order_relaxed) + 1;
}

uint64_t gate_seed_of(const struct gate *gate, uint64_t key, uint64_t number)
{
    key = ~key; /* other numbers than draw_launch()'s */
    philox4x32_ctr_t counter = {
        {(uint32_t)number, (uint32_t)(number >> 32), (uint32_t)key, (uint32_t)(key >> 32)}};
    philox4x32_ctr_t random = philox4x32(counter, gate->stream);
    return (uint64_t)random.v[0] << 32 | random.v[1];
}

/* Notes of a signature, of any thread, hold no longer. */
static void void_notes(struct gate_note *notes, uint64_t key)
{
    for (uint32_t passes = 1; passes <= TALLIES_OWNED; passes++) {
        struct gate_note *note = gate_notes_of(gate_notes(notes, passes), key);
        for (struct gate_note *end = note + GATE_WAYS; note < end; note++) {
            if (atomic_load(&note->key) == key)
                atomic_store(&note->stamp, 0);
        }
    }
}

void gate_postpone(struct gate_turn *turn)
{
    if (!turn)
        return;
    uint64_t taken = atomic_load_explicit(&turn->taken, memory_order_relaxed);
    while ((taken & TURNS) && !atomic_compare_exchange_weak(&turn->taken, &taken, taken - 1))
        ;
}

void gate_return(struct gate_turn *turn)
{
    if (!turn)
        return;
    gate_postpone(turn);
    void_notes(atomic_load_explicit(&turn->notes, memory_order_relaxed),
               atomic_load_explicit(&turn->key, memory_order_relaxed));
}

void gate_set_sample(struct gate *gate, double probability)
{
    atomic_store(&gate->sample, probability);
    atomic_fetch_add(&passing.draws, 2);
}

double gate_sample(const struct gate *gate)
{
    return atomic_load_explicit(&gate->sample, memory_order_relaxed);
}

void gate_reset(struct gate *gate)
{
    atomic_fetch_add(&gate->generation, TURNS + 1);
    atomic_fetch_add(&passing.draws, 2);
}

uint64_t gate_overflow(const struct gate *gate)
{
    return atomic_load_explicit(&gate->overflow, memory_order_relaxed);
}
