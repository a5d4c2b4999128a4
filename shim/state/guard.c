#include "state/guard.h"

#include "bind/extent.h"
#include "lang/dtype.h"
#include "plan/plan.h"

enum { WINDOW_BYTES = 64 << 10, LIVE_BYTES = 16 << 10, MOST_PLAIN = SNAPSHOT_BESIDE };

enum guard_kind {
    GUARD_BEHIND,
    GUARD_FIRST,
    GUARD_FRONT,
    GUARD_LAST,
    GUARD_OWNED,
    GUARD_OTHER,
    GUARD_RANDOM,
    GUARD_KINDS
};

static const char *const guard_names[PLAN_CACHES][GUARD_KINDS] = {
    {"&behind", "&first", "&front", "&last", "&owned", "&other", "&random"},
    {"&behind 2", "&first 2", "&front 2", "&last 2", "&owned 2", "&other 2", "&random 2"},
};

/* Elements from one row to the next, inside a page. */
static int64_t pitch_of(const struct bound_rows *rows)
{
    return rows->page > 1 ? rows->stride[1] : rows->stride[0];
}

/* Whether rows lie at one distance throughout. */
static bool is_even(const struct bound_rows *rows)
{
    return rows->page <= 1 || rows->stride[0] == rows->page * rows->stride[1];
}

/* Whether there is room for one more array of this kind. */
static bool has_room(const struct binding *binding, bool touched)
{
    int same = 0;
    for (int i = 0; i < binding->arrays; i++)
        same += (bound_ids(&binding->array[i]) >= 0) == touched;
    return binding->arrays < SPEC_MAX_ARRAYS && same < (touched ? SNAPSHOT_TOUCHES : MOST_PLAIN);
}

static struct bound_array *open_guard(struct binding *binding, int cache, const char *name)
{
    struct bound_array *guard = &binding->array[binding->arrays];
    *guard = binding->array[cache];
    guard->name = name;
    guard->role = ROLE_INOUT;
    guard->guard = cache + 1;
    guard->first = 0;
    return guard;
}

/* Row t of the copy is the one behind the row that index t names. */
static void add_behind(struct binding *binding, int cache, int64_t rows, const char *name)
{
    const struct bound_rows *of = &binding->array[cache].rows;
    int64_t limit = of->limit;
    if (rows > 0 && rows < limit)
        limit = rows;
    if (!has_room(binding, true) || !is_even(of) || (of->runs > 1 && rows <= 0) || limit < 2)
        return;
    struct bound_array *guard = open_guard(binding, cache, name);
    guard->address += (uint64_t)pitch_of(of) * dtype_bytes(guard->dtype);
    guard->rows.limit = limit - 1;
    guard->first = 1;
    binding->arrays++;
}

/* Rows [first, first + count), which lie at one distance; first may be -1. */
static void add_window(struct binding *binding, int cache, int64_t first, int64_t count, int device,
                       const char *name)
{
    const struct bound_rows *of = &binding->array[cache].rows;
    int64_t size = dtype_bytes(binding->array[cache].dtype), pitch = pitch_of(of);
    int64_t page = of->page > 1 ? of->page : 1, row = of->run * of->runs * size;
    int64_t start = first < 0 ? -pitch
                              : (page > 1 ? first / page * of->stride[0] + first % page * pitch
                                          : first * pitch);
    if (!has_room(binding, false) || row * count > WINDOW_BYTES || pitch < of->run ||
        (count > 1 && of->runs > 1 && pitch != of->run))
        return;
    struct bound_array *guard = open_guard(binding, cache, name);
    bool dense = pitch == of->run || count == 1;
    guard->rows = (struct bound_rows){0};
    guard->address += (uint64_t)(start * size);
    guard->ndim = of->runs > 1 || !dense ? 2 : 1;
    guard->dim[0] = of->runs > 1 ? of->runs : dense ? count * of->run : count;
    guard->stride[0] = of->runs > 1 ? of->run_stride : dense ? 1 : pitch;
    guard->dim[1] = of->runs > 1 ? count * of->run : of->run;
    guard->stride[1] = 1;
    int64_t last = guard->dim[guard->ndim - 1];
    guard->bytes =
        (uint64_t)(((guard->ndim > 1 ? (guard->dim[0] - 1) * guard->stride[0] : 0) + last) * size);
    guard->axis = -1;
    guard->first = first;
    if (!extent_check(guard->address, guard->bytes, device, NULL))
        binding->arrays++;
}

/* As many rows as `bytes` hold, `first` among them, from a multiple of that on. Pages that lie
 * apart are not mixed. */
static void add_near(struct binding *binding, int cache, int64_t first, int64_t bytes,
                     const struct guard_request *request, const char *name)
{
    const struct bound_rows *of = &binding->array[cache].rows;
    int64_t row = of->run * of->runs * (int64_t)dtype_bytes(binding->array[cache].dtype);
    if (row <= 0)
        return;
    int64_t most = bytes / row > 0 ? bytes / row : 1, page = is_even(of) ? 1 : of->page;
    if (of->runs > 1 && pitch_of(of) != of->run)
        most = 1;
    int64_t start = first - (page > 1 ? first % page : first) % most;
    int64_t left = page > 1 ? page - start % page : request->rows - start;
    if (left > request->rows - start)
        left = request->rows - start;
    add_window(binding, cache, start, left < most ? left : most, request->device, name);
}

static void guard_cache(struct binding *binding, int cache, const char *const *name,
                        const int64_t *live, const struct guard_request *request)
{
    int64_t rows = request->rows;
    int device = request->device;
    add_behind(binding, cache, rows, name[GUARD_BEHIND]);
    add_window(binding, cache, 0, 1, device, name[GUARD_FIRST]);
    add_window(binding, cache, -1, 1, device, name[GUARD_FRONT]);
    if (rows <= 0)
        return;
    add_window(binding, cache, rows - 1, 1, device, name[GUARD_LAST]);
    for (int i = 0; live && i < GUARD_LIVE / PLAN_CACHES; i++) {
        if (live[i] >= 0 && live[i] < rows)
            add_near(binding, cache, live[i], LIVE_BYTES, request, name[GUARD_OWNED + i]);
    }
    add_near(binding, cache, (int64_t)(request->seed % (uint64_t)rows), WINDOW_BYTES, request,
             name[GUARD_RANDOM]);
}

void guard_add(const struct binding_plan *plan, struct binding *binding,
               const struct guard_request *request)
{
    const struct plan_state *state = plan->state;
    int arrays = binding->arrays;
    for (unsigned c = 0; state->append >= 0 && c < state->caches; c++) {
        const char *name = plan->array[state->cache[c]].item->name;
        const int64_t *live = request->live ? request->live + c * GUARD_LIVE / PLAN_CACHES : NULL;
        for (int i = 0; i < arrays; i++) {
            const struct bound_array *array = &binding->array[i];
            if (array->name == name && bound_ids(array) >= 0 && !array->rows.listed &&
                role_writes(array->role))
                guard_cache(binding, i, guard_names[c], live, request);
        }
    }
}
