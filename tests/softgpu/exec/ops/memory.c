/*
 * memory.c - from the addresses of 32 lanes to host pointers: spaces, windows, ranges, and what is
 * no address at all.
 */
#include "exec/ops/ops.h"

static const uint64_t window_base[] = {
    [IN_SHARED] = EXEC_SHARED_BASE,
    [IN_LOCAL] = EXEC_LOCAL_BASE,
    [IN_PARAM] = EXEC_PARAM_BASE,
};

enum memory window_of(uint64_t address)
{
    switch (address >> 48) {
    case EXEC_SHARED_BASE >> 48:
        return IN_SHARED;
    case EXEC_LOCAL_BASE >> 48:
        return IN_LOCAL;
    case EXEC_PARAM_BASE >> 48:
        return IN_PARAM;
    default:
        return IN_GLOBAL;
    }
}

uint32_t same_window(const uint64_t address[LANES], uint32_t mask, enum memory *memory)
{
    uint32_t same = 0;
    *memory = window_of(address[first_lane(mask)]);
    for (unsigned i = 0; i < LANES; i++)
        same |= (uint32_t)(window_of(address[i]) == *memory) << i;
    return same & mask;
}

static const struct exec_range *remember(struct launch *l, const struct exec_range *range)
{
    struct exec_range *to = l->range + l->range_next;
    *to = *range;
    l->range_next = (l->range_next + 1) % RANGES;
    if (l->range_count < RANGES)
        l->range_count++;
    return to;
}

/* The range that holds all of [low, low + bytes), NULL where none does. */
static const struct exec_range *range_of(struct launch *l, uint64_t low, uint64_t bytes)
{
    for (unsigned i = 0; i < l->range_count; i++) {
        const struct exec_range *r = l->range + i;
        if (low - r->begin < r->bytes && r->bytes - (low - r->begin) >= bytes)
            return r;
    }
    struct exec_range found = {0};
    bool there =
        low < EXEC_WINDOWS ? l->host->find(l->host->user, low, &found) : heap_range(low, &found);
    if (!there || found.bytes - (low - found.begin) < bytes)
        return NULL;
    return remember(l, &found);
}

/* A lane that does not take part has the address of the first that does: see spread(). */
static bool bad(struct warp *w, unsigned lane, enum exec_outcome outcome, uint64_t address,
                const char *what)
{
    if (!(w->active >> lane & 1))
        lane = first_lane(w->active);
    fault_at(w, 1u << lane, outcome, address, what);
    return false;
}

static bool global_slowly(struct warp *w, const uint64_t address[LANES], size_t bytes, bool write,
                          struct pointers *out)
{
    const struct exec_range *r = NULL;
    for (unsigned i = 0; i < LANES; i++) {
        uint64_t a = address[i];
        if (!r || a - r->begin >= r->bytes || r->bytes - (a - r->begin) < bytes)
            r = range_of(w->launch, a, bytes);
        if (!r)
            return bad(w, i, EXEC_ILLEGAL_ADDRESS, a, "outside every allocation");
        if (write && !r->writable)
            return bad(w, i, EXEC_ILLEGAL_ADDRESS, a, "a write to read-only memory");
        out->p[i] = r->host + (a - r->begin);
    }
    return true;
}

static bool global(struct warp *w, const uint64_t address[LANES], size_t bytes, bool write,
                   struct pointers *out)
{
    uint64_t low = address[0], high = address[0];
    for (unsigned i = 1; i < LANES; i++) {
        low = address[i] < low ? address[i] : low;
        high = address[i] > high ? address[i] : high;
    }
    const struct exec_range *r = NULL;
    for (unsigned i = 0; i < w->launch->range_count && !r; i++) {
        const struct exec_range *o = w->launch->range + i;
        if (low >= o->begin && high - o->begin < o->bytes && o->bytes - (high - o->begin) >= bytes)
            r = o;
    }
    if (!r || (write && !r->writable))
        return global_slowly(w, address, bytes, write, out);
    for (unsigned i = 0; i < LANES; i++)
        out->p[i] = r->host + (address[i] - r->begin);
    return true;
}

static bool inside(struct warp *w, const uint64_t address[LANES], size_t bytes, uint64_t limit,
                   uint64_t base, const char *what)
{
    for (unsigned i = 0; i < LANES; i++)
        if (address[i] >= limit || limit - address[i] < bytes)
            return bad(w, i, EXEC_ILLEGAL_ADDRESS, base + address[i], what);
    return true;
}

static bool aligned(struct warp *w, const uint64_t address[LANES], size_t align)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < LANES; i++)
        all |= address[i];
    if (!(all & (align - 1)))
        return true;
    unsigned i = 0;
    while (!(address[i] & (align - 1)))
        i++;
    return bad(w, i, EXEC_MISALIGNED, address[i], NULL);
}

static bool in_local(struct warp *w, const uint64_t address[LANES], size_t bytes,
                     struct pointers *out)
{
    if (!inside(w, address, bytes, w->launch->stack_bytes, EXEC_LOCAL_BASE,
                "past the end of the thread's local memory"))
        return false;
    for (unsigned i = 0; i < LANES; i++)
        out->p[i] =
            w->local + address[i] / WORD * WORD_STRIDE + (size_t)i * WORD + address[i] % WORD;
    return true;
}

/* The lanes that do not take part stand where one that does stands, but a thread's own memory lies
 * in another place for each lane, so they are spared below by the mask as well. */
bool resolve(struct warp *w, enum memory memory, uint64_t address[LANES], size_t bytes,
             size_t align, bool write, struct pointers *out)
{
    const struct launch *l = w->launch;
    const uint64_t limit = memory == IN_SHARED ? l->shared_bytes : l->kernel->info.param_bytes;
    uint8_t *base = memory == IN_SHARED ? w->block->shared : l->params;
    out->words = memory == IN_LOCAL;
    if (!aligned(w, address, align))
        return false;
    if (memory == IN_GLOBAL)
        return global(w, address, bytes, write, out);
    if (memory == IN_LOCAL)
        return in_local(w, address, bytes, out);
    if (memory == IN_PARAM && write)
        return bad(w, first_lane(w->active), EXEC_ILLEGAL_ADDRESS, EXEC_PARAM_BASE + address[0],
                   "a write to the kernel's parameters");
    if (!inside(w, address, bytes, limit, window_base[memory],
                memory == IN_SHARED ? "past the end of the block's shared memory"
                                    : "past the end of the kernel's parameters"))
        return false;
    for (unsigned i = 0; i < LANES; i++)
        out->p[i] = base + address[i];
    return true;
}

static void spread(const struct warp *w, uint64_t address[LANES])
{
    const uint64_t first = address[first_lane(w->active)];
    if (w->active == ALL_LANES)
        return;
    for (unsigned i = 0; i < LANES; i++)
        address[i] = w->active >> i & 1 ? address[i] : first;
}

void addresses(const struct warp *w, const struct access *a, uint64_t address[LANES])
{
    const uint64_t offset = (uint64_t)a->offset;
    if (a->address_width == 0) {
        for (unsigned i = 0; i < LANES; i++)
            address[i] = offset;
        return;
    }
    if (a->address_width == 8) {
        const uint64_t *from = at(w, a->address);
        for (unsigned i = 0; i < LANES; i++)
            address[i] = from[i] + offset;
    } else {
        const uint32_t *from = at(w, a->address);
        for (unsigned i = 0; i < LANES; i++)
            address[i] = (uint32_t)(from[i] + (uint32_t)offset);
    }
    spread(w, address);
}

/* A variable of a call's .param space: the place is the same in each lane. */
static void in_frame(const struct warp *w, const struct access *a, struct pointers *out)
{
    const uint64_t offset = (uint64_t)a->offset;
    uint8_t *from = (uint8_t *)at(w, a->frame) + offset / WORD * WORD_STRIDE + offset % WORD;
    out->words = true;
    for (size_t i = 0; i < LANES; i++)
        out->p[i] = from + i * WORD;
}

static enum step one_space(struct warp *w, const struct op *op, const struct access *a,
                           enum memory memory, uint64_t address[LANES], bool write, access_fn *fn)
{
    struct pointers p;
    const size_t bytes = (size_t)a->bytes * a->count;
    if (!resolve(w, memory, address, bytes, bytes, write, &p) || !fn(w, op, a, &p))
        return STEP_FAULT;
    return STEP_NEXT;
}

/* Generic addresses: the lanes of one window at a time. */
static enum step by_window(struct warp *w, const struct op *op, const struct access *a,
                           uint64_t address[LANES], bool write, access_fn *fn)
{
    const uint32_t active = w->active;
    enum step step = STEP_NEXT;
    for (uint32_t todo = active; todo && step == STEP_NEXT; todo &= ~w->active) {
        enum memory memory;
        uint64_t part[LANES];
        w->active = same_window(address, todo, &memory);
        for (unsigned i = 0; i < LANES; i++)
            part[i] = address[i] - window_base[memory];
        spread(w, part);
        step = one_space(w, op, a, memory, part, write, fn);
    }
    w->active = active;
    return step;
}

enum step each_space(struct warp *w, const struct op *op, const struct access *a, bool write,
                     access_fn *fn)
{
    uint64_t address[LANES];
    if (a->memory == IN_FRAME) {
        struct pointers p;
        in_frame(w, a, &p);
        return fn(w, op, a, &p) ? STEP_NEXT : STEP_FAULT;
    }
    addresses(w, a, address);
    if (a->memory != IN_GENERIC)
        return one_space(w, op, a, a->memory, address, write, fn);
    uint64_t windows = 0;
    for (unsigned i = 0; i < LANES; i++)
        windows |= address[i] >> 48;
    if (!windows)
        return one_space(w, op, a, IN_GLOBAL, address, write, fn);
    return by_window(w, op, a, address, write, fn);
}

bool peek(struct warp *w, unsigned lane, uint64_t address, void *data, size_t bytes)
{
    const struct launch *l = w->launch;
    uint8_t *to = data;
    enum memory memory = window_of(address);
    uint64_t offset = address - window_base[memory];
    if (memory == IN_LOCAL) {
        for (size_t i = 0; i < bytes; i++, offset++) {
            if (offset >= l->stack_bytes)
                return false;
            to[i] = w->local[offset / WORD * WORD_STRIDE + lane * WORD + offset % WORD];
        }
        return true;
    }
    const uint64_t limit = memory == IN_SHARED ? l->shared_bytes : l->kernel->info.param_bytes;
    const uint8_t *from = memory == IN_SHARED ? w->block->shared : l->params;
    if (memory == IN_GLOBAL) {
        const struct exec_range *r = range_of(w->launch, address, bytes);
        if (!r)
            return false;
        from = r->host + (address - r->begin);
    } else if (offset >= limit || limit - offset < bytes) {
        return false;
    } else {
        from += offset;
    }
    for (size_t i = 0; i < bytes; i++)
        to[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
    return true;
}
