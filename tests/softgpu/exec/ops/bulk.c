/*
 * bulk.c - cp.async.bulk: large copies between global and shared memory, of bytes or of a box of a
 * tensor.
 *
 * They are done at once, and so are the groups that wait for them. A box lies in shared memory row
 * by row, its 16-byte chunks exchanged by the map's swizzling.
 */
#include "exec/ops/ops.h"

enum { CHUNK = 16, TENSOR_ALIGN = 128, MAP_ALIGN = 64, BOX_MAX = 256 };

unsigned exec_tensor_bytes(unsigned type)
{
    static const uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 0, 8, 2};
    return type < sizeof bytes ? bytes[type] : 0;
}

/* ---- addresses of one lane ---- */

static uint64_t address_of(const struct warp *w, const struct access *a)
{
    uint64_t address[LANES];
    addresses(w, a, address);
    return address[first_lane(w->active)];
}

/* NULL after a fault. */
static uint8_t *host_of(struct warp *w, enum memory memory, uint64_t address, size_t bytes,
                        size_t align, bool write)
{
    uint64_t all[LANES];
    struct pointers p;
    for (unsigned i = 0; i < LANES; i++)
        all[i] = address;
    return resolve(w, memory, all, bytes, align, write, &p) ? p.p[first_lane(w->active)] : NULL;
}

static bool refused(struct warp *w, uint64_t address, const char *why)
{
    fault_at(w, w->active, EXEC_ILLEGAL_INSTRUCTION, address, why);
    return false;
}

/* ---- boxes of tensors ---- */

/* A box on its way: its map, where it begins in the tensor and in shared memory. */
struct box {
    const struct bulk_copy *copy;
    struct exec_tensor_map map;
    int64_t at[EXEC_TENSOR_DIMS];
    unsigned element; /* bytes */
    uint64_t shared;  /* an address */
    uint8_t *host;    /* of shared memory's address 0 */
    size_t bytes;
    bulk_fn *fn;
    void *user;
};

static bool read_map(struct warp *w, struct box *box)
{
    const uint64_t address = address_of(w, &box->copy->other);
    struct exec_tensor_map *map = &box->map;
    if (address % MAP_ALIGN)
        return fault_at(w, w->active, EXEC_MISALIGNED, address, "a tensor map") == STEP_NEXT;
    if (!peek(w, first_lane(w->active), address, map, sizeof *map))
        return fault_at(w, w->active, EXEC_ILLEGAL_ADDRESS, address, "a tensor map") == STEP_NEXT;
    if (map->kind != EXEC_TENSOR_MAP)
        return refused(w, address, "a tensor map in a device's own layout, which is not public");
    box->element = exec_tensor_bytes(map->type);
    bool odd = false;
    for (unsigned i = 0; i <= map->last && i < EXEC_TENSOR_DIMS; i++)
        odd = odd || map->box[i] > BOX_MAX || (i && map->step[i] > 1);
    if (!box->element || odd || map->interleave || map->fill || map->swizzle > 3)
        return refused(w, address, "a tensor map with what is not supported here");
    if (map->last + 1u != box->copy->dims || map->box[0] * box->element % CHUNK ||
        (map->swizzle && map->box[0] * box->element > 16u << map->swizzle))
        return refused(w, address, "a tensor map that does not fit the instruction");
    return true;
}

/* A piece of the box at byte `at` of it, chunk by chunk. */
static void send(const struct box *box, size_t at, const uint8_t *global, size_t bytes)
{
    const unsigned turns = (1u << box->map.swizzle) - 1;
    while (bytes) {
        const uint64_t plain = box->shared + at, place = plain ^ (plain >> 7 & turns) * CHUNK;
        const size_t room = CHUNK - at % CHUNK, piece = bytes < room ? bytes : room;
        uint8_t *shared = box->host + place;
        if (box->copy->kind == BULK_LOAD)
            box->fn(box->user, shared, global, piece);
        else if (global)
            box->fn(box->user, (uint8_t *)global, shared, piece);
        global = global ? global + piece : NULL;
        at += piece;
        bytes -= piece;
    }
}

/* The row of the box that lies `at` bytes into it: what is outside the tensor is zero when it is
 * loaded, and not stored. */
static bool send_row(struct warp *w, const struct box *box, size_t at, const int64_t *position)
{
    const struct exec_tensor_map *map = &box->map;
    const int64_t first = box->at[0], size = (int64_t)map->size[0], length = map->box[0];
    int64_t low = first < 0 ? -first : 0, high = size - first < length ? size - first : length;
    uint64_t address = map->address;
    for (unsigned i = 1; i <= map->last; i++) {
        address += (uint64_t)position[i] * map->stride[i - 1];
        if (position[i] < 0 || position[i] >= (int64_t)map->size[i])
            high = low;
    }
    if (low >= high) {
        send(box, at, NULL, (size_t)length * box->element);
        return true;
    }
    const size_t bytes = (size_t)(high - low) * box->element;
    const uint8_t *global = host_of(w, IN_GLOBAL, address + (uint64_t)(first + low) * box->element,
                                    bytes, box->element, box->copy->kind == BULK_STORE);
    if (!global)
        return false;
    send(box, at, NULL, (size_t)low * box->element);
    send(box, at + (size_t)low * box->element, global, bytes);
    send(box, at + (size_t)high * box->element, NULL, (size_t)(length - high) * box->element);
    return true;
}

static bool send_box(struct warp *w, const struct box *box)
{
    const unsigned dims = box->copy->dims;
    int64_t position[EXEC_TENSOR_DIMS] = {0};
    memcpy(position, box->at, sizeof position);
    for (size_t at = 0; at < box->bytes; at += (size_t)box->map.box[0] * box->element) {
        if (!send_row(w, box, at, position))
            return false;
        for (unsigned i = 1; i < dims && ++position[i] - box->at[i] == box->map.box[i]; i++)
            position[i] = box->at[i];
    }
    return true;
}

/* A load may begin before the tensor, a store may not. Rows begin at a multiple of 16 bytes. */
static bool corner_is_fine(struct warp *w, const struct box *box)
{
    bool before = false;
    for (unsigned i = 0; i < box->copy->dims; i++)
        before = before || box->at[i] < 0;
    if (box->at[0] * (int64_t)box->element % CHUNK)
        return refused(w, box->map.address, "a box whose rows begin at no multiple of 16 bytes");
    return !before || box->copy->kind != BULK_STORE ||
           refused(w, box->map.address, "a stored box whose first corner lies before the tensor");
}

/* Of the one active lane; `bytes`: what the barrier is to count. */
static bool tensor_pieces(struct warp *w, const struct bulk_copy *c, bulk_fn *fn, void *user,
                          uint64_t *bytes)
{
    struct box box = {.copy = c, .fn = fn, .user = user};
    if (!read_map(w, &box))
        return false;
    box.bytes = box.element;
    for (unsigned i = 0; i < c->dims; i++) {
        box.bytes *= box.map.box[i];
        box.at[i] = (int32_t)lane_value(w, c->coordinate[i], 4, first_lane(w->active));
    }
    if (!corner_is_fine(w, &box))
        return false;
    box.shared = address_of(w, &c->shared);
    const size_t lines = (box.bytes + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN;
    uint8_t *host = host_of(w, IN_SHARED, box.shared, box.map.swizzle ? lines : box.bytes,
                            TENSOR_ALIGN, c->kind == BULK_LOAD);
    if (!host)
        return false;
    box.host = host - box.shared;
    *bytes = box.bytes;
    return send_box(w, &box);
}

/* ---- copies of bytes ---- */

static bool byte_pieces(struct warp *w, const struct bulk_copy *c, bulk_fn *fn, void *user,
                        uint64_t *bytes)
{
    const bool stores = c->kind == BULK_STORE;
    const size_t size = (uint32_t)lane_value(w, c->bytes, 4, first_lane(w->active));
    if (size % CHUNK)
        return refused(w, size, "a size that is not a multiple of 16");
    *bytes = size;
    if (!size)
        return true;
    uint8_t *shared = host_of(w, IN_SHARED, address_of(w, &c->shared), size, CHUNK, !stores);
    uint8_t *other = shared ? host_of(w, c->kind == BULK_SHARED ? IN_SHARED : IN_GLOBAL,
                                      address_of(w, &c->other), size, CHUNK, stores)
                            : NULL;
    if (!other)
        return false;
    fn(user, stores ? other : shared, stores ? shared : other, size);
    return true;
}

/* ---- all lanes ---- */

static bool one_lane(struct warp *w, const struct bulk_copy *c, bulk_fn *fn, void *user,
                     uint64_t *bytes)
{
    return c->tensor ? tensor_pieces(w, c, fn, user, bytes) : byte_pieces(w, c, fn, user, bytes);
}

bool bulk_pieces(struct warp *w, const struct bulk_copy *c, bulk_fn *fn, void *user)
{
    const uint32_t active = w->active;
    bool fine = true;
    uint64_t bytes;
    for (uint32_t rest = active; rest && fine; rest &= rest - 1) {
        w->active = rest & -rest;
        fine = one_lane(w, c, fn, user, &bytes);
    }
    w->active = active;
    return fine;
}

static void copy_piece(void *user, uint8_t *to, const uint8_t *from, size_t bytes)
{
    (void)user;
    for (size_t b = 0; b < bytes; b++)
        __atomic_store_n(to + b, from ? __atomic_load_n(from + b, __ATOMIC_RELAXED) : 0,
                         __ATOMIC_RELAXED);
}

enum step op_bulk_copy(struct warp *w, const struct op *op)
{
    const struct bulk_copy *c = op->more;
    const uint32_t active = w->active;
    bool fine = true;
    for (uint32_t rest = active; rest && fine; rest &= rest - 1) {
        uint64_t bytes = 0;
        uint8_t *barrier = NULL;
        w->active = rest & -rest;
        if (c->kind != BULK_STORE)
            barrier = host_of(w, IN_SHARED, address_of(w, &c->barrier), 8, 8, true);
        fine = (barrier || c->kind == BULK_STORE) && one_lane(w, c, copy_piece, NULL, &bytes);
        if (fine && barrier)
            mbarrier_complete((uint64_t *)(void *)barrier, bytes);
    }
    w->active = active;
    return fine ? STEP_NEXT : STEP_FAULT;
}
