#include "judge/listed.h"

#include <stdlib.h>
#include "bind/extent.h"
#include "lang/dtype.h"
#include "judge/replay.h"

enum { AT_ONCE = 2048 }; /* addresses */

/* The lists of a check, gone through from the first address to the last. */
struct reader {
    struct side *side;
    struct check *check;
    struct error *why;
    bool adds; /* else it only tests whether all ranges are known */
    bool replaced;
};

/* The launch's number of the address that has number `t` in the check. */
static int64_t listed_number(const struct binding *binding, int list, int64_t t)
{
    return binding_gathers(binding, list) ? subset_item(&binding->subset, t) : t;
}

static enum skip refuse_address(struct reader *reader, int array, int64_t t, uint64_t address)
{
    const struct binding *binding = &reader->check->binding;
    int list = bound_ids(&binding->array[array]);
    error_prefix(reader->why, "'%s': address %lld of %lld, 0x%llx", binding->array[array].name,
                 (long long)listed_number(binding, list, t), (long long)binding->array[list].dim[0],
                 (unsigned long long)address);
    return SKIP_ADDRESS;
}

/* Handles address number `t` of the check. */
static enum skip read_listed(struct reader *reader, int array, int64_t t, uint64_t address)
{
    const struct bound_array *bound = &reader->check->binding.array[array];
    struct ranges *ranges = &reader->side->ranges;
    unsigned align = dtype_bytes(bound->dtype);
    if (!reader->adds) {
        if (ranges_hold(ranges, address, bound->rows.reach))
            return SKIP_NONE;
        error_set(reader->why, STATUS_FULL,
                  "the addresses lead to more than %d allocations, which is the most for a check",
                  SNAPSHOT_RANGES);
        return refuse_address(reader, array, t, address);
    }
    if (!address || address % align) {
        if (address)
            error_set(reader->why, STATUS_INVALID, "it is no multiple of %u bytes", align);
        else
            error_set(reader->why, STATUS_INVALID, "it is null");
        return refuse_address(reader, array, t, address);
    }
    enum ranges_answer answer =
        ranges_add(ranges, address, bound->rows.reach, reader->side->device, reader->why);
    reader->replaced |= answer == RANGES_REPLACED;
    return answer == RANGES_REFUSED ? refuse_address(reader, array, t, address) : SKIP_NONE;
}

static enum skip read_array(struct reader *reader, int array)
{
    uint64_t address[AT_ONCE];
    const struct binding *binding = &reader->check->binding;
    struct replay_source source = {.side = reader->side, .check = reader->check};
    int list = bound_ids(&binding->array[array]);
    int64_t count = binding_seen(binding, list, 0);
    enum skip skip = SKIP_NONE;
    for (int64_t first = 0; !skip && first < count; first += AT_ONCE) {
        int64_t part = count - first < AT_ONCE ? count - first : AT_ONCE;
        if (replay_read_array(&source, list, 0, (uint64_t)first * sizeof *address, address,
                              (size_t)part * sizeof *address)) {
            error_set(reader->why, STATUS_DRIVER,
                      "'%s': the addresses cannot be copied to the host",
                      binding->array[array].name);
            return SKIP_DRIVER;
        }
        for (int64_t i = 0; !skip && i < part; i++)
            skip = read_listed(reader, array, first + i, address[i]);
    }
    return skip;
}

static enum skip read_arrays(struct reader *reader)
{
    const struct binding *binding = &reader->check->binding;
    enum skip skip = SKIP_NONE;
    for (int i = 0; !skip && i < binding->arrays; i++) {
        if (binding->array[i].rows.listed)
            skip = read_array(reader, i);
    }
    return skip;
}

enum skip listed_read(struct side *side, struct check *check, bool *again, struct error *why)
{
    struct reader reader = {.side = side, .check = check, .why = why, .adds = true};
    ranges_purge(&side->ranges, side->device);
    enum skip skip = read_arrays(&reader);
    reader.adds = false;
    if (!skip && reader.replaced) /* perhaps by each other */
        skip = read_arrays(&reader);
    *again = !reader.replaced;
    return skip ? skip : SKIP_NEW_MEMORY;
}

struct entry {
    uint64_t address;
    int64_t t;
};

static int compare_addresses(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->t < y->t ? -1 : x->t > y->t;
}

static enum skip find_equal(const struct check *check, int array, struct entry *entry,
                            int64_t count, struct error *why)
{
    const struct binding *binding = &check->binding;
    int list = bound_ids(&binding->array[array]);
    qsort(entry, (size_t)count, sizeof *entry, compare_addresses);
    for (int64_t i = 1; i < count; i++) {
        if (entry[i].address != entry[i - 1].address)
            continue;
        error_set(why, STATUS_INVALID,
                  "'%s' is written, and its addresses %lld and %lld of %lld are one, 0x%llx; "
                  "expected memory of its own for each",
                  binding->array[array].name,
                  (long long)listed_number(binding, list, entry[i - 1].t),
                  (long long)listed_number(binding, list, entry[i].t),
                  (long long)binding->array[list].dim[0], (unsigned long long)entry[i].address);
        return SKIP_SHAPE;
    }
    return SKIP_NONE;
}

/* The addresses of an array that lead to rows, to be freed; NULL: they cannot be had. */
static uint64_t *copy_list(struct side *side, struct check *check, int array, int64_t *count)
{
    struct replay_source source = {.side = side, .check = check};
    const int list = bound_ids(&check->binding.array[array]);
    *count = binding_seen(&check->binding, list, 0);
    const size_t bytes = (size_t)*count * sizeof(uint64_t);
    uint64_t *address = malloc(bytes);
    if (address && replay_read_array(&source, list, 0, 0, address, bytes)) {
        free(address);
        address = NULL;
    }
    return address;
}

/* Where the list cannot be had the finding stands, as it does for all other arrays. */
static enum skip find_duplicate(struct side *side, struct check *check, int array,
                                struct error *why)
{
    int64_t count;
    uint64_t *address = copy_list(side, check, array, &count);
    struct entry *entry = address ? malloc((size_t)count * sizeof *entry) : NULL;
    enum skip skip = SKIP_NONE;
    for (int64_t i = 0; entry && i < count; i++)
        entry[i] = (struct entry){address[i], i};
    if (entry)
        skip = find_equal(check, array, entry, count, why);
    free(entry);
    free(address);
    return skip;
}

/* Whether less of a row was copied than there is of it: its range was noted before its memory grew,
 * or is one of several pieces. */
static bool is_cut(struct side *side, uint64_t address, uint64_t row_bytes)
{
    struct error unread = {{0}};
    uint64_t room = 0;
    return extent_room(address, &room, &unread) ||
           ranges_least(&side->ranges, address) < (room < row_bytes ? room : row_bytes);
}

static enum skip find_cut(struct side *side, struct check *check, int array, struct error *why)
{
    const struct bound_array *bound = &check->binding.array[array];
    const uint64_t row_bytes = (uint64_t)bound->rows.run * dtype_bytes(bound->dtype);
    int64_t count;
    enum skip skip = SKIP_NONE;
    if (bound->rows.reach >= row_bytes)
        return SKIP_NONE; /* rows lie in their ranges as a whole */
    uint64_t *address = copy_list(side, check, array, &count);
    for (int64_t i = 0; !skip && i < (address ? count : 1); i++) {
        if (address && !is_cut(side, address[i], row_bytes))
            continue;
        error_set(why, STATUS_INVALID,
                  "'%s': the memory behind one of its addresses goes on behind what was copied",
                  bound->name);
        skip = SKIP_ADDRESS;
    }
    free(address);
    return skip;
}

enum skip listed_cut(struct side *side, struct check *check, struct error *why)
{
    enum skip skip = SKIP_NONE;
    for (int i = 0; !skip && i < check->binding.arrays; i++) {
        if (check->binding.array[i].rows.listed)
            skip = find_cut(side, check, i, why);
    }
    return skip;
}

enum skip listed_twice(struct side *side, struct check *check, struct error *why)
{
    enum skip skip = SKIP_NONE;
    for (int i = 0; !skip && i < check->binding.arrays; i++) {
        const struct bound_array *array = &check->binding.array[i];
        if (array->rows.listed && role_writes(array->role))
            skip = find_duplicate(side, check, i, why);
    }
    return skip;
}
