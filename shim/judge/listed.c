#include "judge/listed.h"

#include <stdlib.h>
#include "lang/dtype.h"
#include "judge/replay.h"

enum { AT_ONCE = 2048 }; /* addresses */

/* The lists of a check, gone through from the first address to the last. */
struct look {
    struct side *side;
    struct check *check;
    struct error *why;
    bool learns; /* else it only asks whether all is known */
    bool replaced;
};

/* The launch's number of the address that the check saw as number `t`. */
static int64_t number_of(const struct binding *binding, int list, int64_t t)
{
    return binding_gathers(binding, list) ? subset_item(&binding->subset, t) : t;
}

static enum skip refuse(struct look *look, int array, int64_t t, uint64_t address)
{
    const struct binding *binding = &look->check->binding;
    int list = bound_ids(&binding->array[array]);
    error_prefix(look->why, "'%s': address %lld of %lld, 0x%llx", binding->array[array].name,
                 (long long)number_of(binding, list, t), (long long)binding->array[list].dim[0],
                 (unsigned long long)address);
    return SKIP_ADDRESS;
}

/* Address number `t` that the check saw. */
static enum skip look_at(struct look *look, int array, int64_t t, uint64_t address)
{
    const struct bound_array *bound = &look->check->binding.array[array];
    struct ranges *ranges = &look->side->ranges;
    unsigned align = dtype_bytes(bound->dtype);
    if (!look->learns) {
        if (ranges_hold(ranges, address, bound->rows.reach))
            return SKIP_NONE;
        error_set(look->why, STATUS_FULL,
                  "the addresses lead to more than %d allocations, which is what a check can know",
                  SNAPSHOT_RANGES);
        return refuse(look, array, t, address);
    }
    if (!address || address % align) {
        if (address)
            error_set(look->why, STATUS_INVALID, "it is no multiple of %u bytes", align);
        else
            error_set(look->why, STATUS_INVALID, "it is null");
        return refuse(look, array, t, address);
    }
    enum ranges_answer answer =
        ranges_learn(ranges, address, bound->rows.reach, look->side->device, look->why);
    look->replaced |= answer == RANGES_REPLACED;
    return answer == RANGES_REFUSED ? refuse(look, array, t, address) : SKIP_NONE;
}

static enum skip look_through(struct look *look, int array)
{
    uint64_t address[AT_ONCE];
    const struct binding *binding = &look->check->binding;
    struct replay_source source = {look->side, NULL, look->check};
    int list = bound_ids(&binding->array[array]);
    int64_t count = binding_seen(binding, list, 0);
    enum skip skip = SKIP_NONE;
    for (int64_t first = 0; !skip && first < count; first += AT_ONCE) {
        int64_t part = count - first < AT_ONCE ? count - first : AT_ONCE;
        if (replay_read_array(&source, list, 0, (uint64_t)first * sizeof *address, address,
                              (size_t)part * sizeof *address)) {
            error_set(look->why, STATUS_DRIVER, "'%s': the addresses cannot be copied to the host",
                      binding->array[array].name);
            return SKIP_DRIVER;
        }
        for (int64_t i = 0; !skip && i < part; i++)
            skip = look_at(look, array, first + i, address[i]);
    }
    return skip;
}

static enum skip look_through_all(struct look *look)
{
    const struct binding *binding = &look->check->binding;
    enum skip skip = SKIP_NONE;
    for (int i = 0; !skip && i < binding->arrays; i++) {
        if (binding->array[i].rows.listed)
            skip = look_through(look, i);
    }
    return skip;
}

enum skip listed_look(struct side *side, struct check *check, bool *again, struct error *why)
{
    struct look look = {.side = side, .check = check, .why = why, .learns = true};
    ranges_purge(&side->ranges, side->device);
    enum skip skip = look_through_all(&look);
    look.learns = false;
    if (!skip && look.replaced) /* perhaps by each other */
        skip = look_through_all(&look);
    *again = !look.replaced;
    return skip ? skip : SKIP_NEW_MEMORY;
}

struct entry {
    uint64_t address;
    int64_t t;
};

static int by_address(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->t < y->t ? -1 : x->t > y->t;
}

static enum skip find_twin(const struct check *check, int array, struct entry *entry, int64_t count,
                           struct error *why)
{
    const struct binding *binding = &check->binding;
    int list = bound_ids(&binding->array[array]);
    qsort(entry, (size_t)count, sizeof *entry, by_address);
    for (int64_t i = 1; i < count; i++) {
        if (entry[i].address != entry[i - 1].address)
            continue;
        error_set(why, STATUS_INVALID,
                  "'%s' is written, and its addresses %lld and %lld of %lld are one, 0x%llx; "
                  "expected memory of its own for each",
                  binding->array[array].name, (long long)number_of(binding, list, entry[i - 1].t),
                  (long long)number_of(binding, list, entry[i].t),
                  (long long)binding->array[list].dim[0], (unsigned long long)entry[i].address);
        return SKIP_SHAPE;
    }
    return SKIP_NONE;
}

/* Where the list cannot be had the finding stands, as it does for all other arrays. */
static enum skip look_for_twins(struct side *side, struct check *check, int array,
                                struct error *why)
{
    struct replay_source source = {side, NULL, check};
    int list = bound_ids(&check->binding.array[array]);
    int64_t count = binding_seen(&check->binding, list, 0);
    uint64_t *address = malloc((size_t)count * sizeof *address);
    struct entry *entry = malloc((size_t)count * sizeof *entry);
    enum skip skip = SKIP_NONE;
    if (address && entry &&
        !replay_read_array(&source, list, 0, 0, address, (size_t)count * sizeof *address)) {
        for (int64_t i = 0; i < count; i++)
            entry[i] = (struct entry){address[i], i};
        skip = find_twin(check, array, entry, count, why);
    }
    free(entry);
    free(address);
    return skip;
}

enum skip listed_twice(struct side *side, struct check *check, struct error *why)
{
    enum skip skip = SKIP_NONE;
    for (int i = 0; !skip && i < check->binding.arrays; i++) {
        const struct bound_array *array = &check->binding.array[i];
        if (array->rows.listed && role_writes(array->role))
            skip = look_for_twins(side, check, i, why);
    }
    return skip;
}
