/*
 * lift_bulk.cuh - boxes of tensors between the snapshot and shared memory, see lift_bulk.c. A part
 * of lift.cu, which has what it uses.
 *
 * A box is taken apart into units of 16 bytes, as they lie in shared memory.
 */
enum { UNIT = 16, AT_ONCE = 4 };

struct bulk_unit {
    uint64_t offset;    /* from the map's address */
    uint32_t low, high; /* its bytes that lie in the tensor */
    uint32_t shared;    /* an address */
};

static __device__ bulk_unit unit_of(const lift_map *map, const lift_bulk *box, uint32_t i)
{
    const uint32_t each = map->box[0] * map->element / UNIT, plain = box->at + i * UNIT;
    const int64_t end = (int64_t)map->size[0] * map->element;
    uint32_t row = each & (each - 1) ? i / each : i >> (31 - __clz((int)each));
    int64_t first = (int64_t)box->corner[0] * map->element + (i - row * each) * UNIT;
    int64_t offset = first;
    bool inside = first > -UNIT && first < end;
    for (uint32_t d = 1; d < map->rank; d++) {
        const bool last = d + 1 == map->rank; /* without a division */
        const uint32_t turn = last ? 0 : row / map->box[d];
        const int64_t at = (int64_t)box->corner[d] + (row - turn * map->box[d]);
        inside = inside && at >= 0 && at < map->size[d];
        offset += at * (int64_t)map->stride[d - 1];
        row = turn;
    }
    bulk_unit unit = {(uint64_t)offset, 0, 0, 0};
    unit.shared = plain ^ (plain >> 7 & ((1u << map->swizzle) - 1)) * UNIT;
    if (inside) {
        unit.low = first < 0 ? (uint32_t)-first : 0;
        unit.high = end - first < UNIT ? (uint32_t)(end - first) : UNIT;
    }
    return unit;
}

/* Where the unit's first byte lies in the array; false: what is in the tensor is not all there. */
static __device__ bool place_in(const lift_map *map, const lift_array *array, const bulk_unit *unit,
                                uint64_t *at)
{
    *at = map->address + unit->offset - array->base;
    const uint64_t low = *at + unit->low;
    return unit->low == unit->high ||
           (low <= array->bytes && unit->high - unit->low <= array->bytes - low);
}

/* What lies outside of the tensor is zero. */
static __device__ uint4 read_unit(lift_bulk *box, const lift_map *map, const lift_array *array,
                                  const bulk_unit *unit)
{
    uint64_t at;
    uint32_t word[4] = {};
    if (!place_in(map, array, unit, &at)) {
        box->refused++;
    } else if (unit->high - unit->low == UNIT && (array->in + at) % UNIT == 0) {
        return *(const uint4 *)(array->in + at);
    } else {
        const uint8_t *from = (const uint8_t *)(array->in + at);
        for (uint32_t b = unit->low; b < unit->high; b++)
            word[b / 4] |= (uint32_t)from[b] << b % 4 * 8;
    }
    return {word[0], word[1], word[2], word[3]};
}

static __device__ lift_number *cell_of(const lift_bulk *box, uint32_t at)
{
    return (lift_number *)box->cells + ((at - box->shared) >> (31 - __clz((int)box->cell)));
}

static __device__ void write_unit(const lift_bulk *box, uint32_t at, uint4 v)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w)
                 : "memory");
    if (!box->cells)
        return;
    lift_number *cell = cell_of(box, at);
    for (uint32_t b = 0; b < UNIT; b += box->cell)
        cell++->e = -1;
}

/* The next copy of a thread of the warp, as that thread has it; false: there is none. */
static __device__ bool next_box(lift_bulk *box, const lift_bulk *own, uint32_t *rest)
{
    if (!*rest)
        return false;
    const int lane = __ffs((int)*rest) - 1;
    box->at = __shfl_sync(own->mask, own->at, lane);
    for (int d = 0; d < LIFT_MAP_DIMS; d++)
        box->corner[d] = __shfl_sync(own->mask, own->corner[d], lane);
    *rest &= *rest - 1;
    return true;
}

static __device__ uint32_t units_of(const lift_map *map)
{
    uint32_t bytes = map->element;
    for (uint32_t d = 0; d < map->rank; d++)
        bytes *= map->box[d];
    return bytes / UNIT;
}

/* The threads that make the copies together; `own` has who they are, and what is refused. */
static __device__ uint32_t gather_copies(lift_bulk *own)
{
    own->mask = __activemask();
    own->refused = 0;
    own->sent = units_of((const lift_map *)own->map) * UNIT;
    return __ballot_sync(own->mask, own->mine != 0);
}

/* The array that a map describes, where it lies behind an address: its row, whose bytes are counted
 * from the first row on. */
static __device__ lift_array row_of_map(lift_state *s, const lift_call *call, const lift_bulk *own,
                                        const lift_map *map)
{
    lift_array row = call->array[own->index];
    uint64_t at = 0, all = (uint64_t)map->size[0] * map->element;
    if (own->table)
        at = cuvet_lift_row(s, call, own->index, own->table, map->address, 16);
    for (uint32_t d = 1; d < map->rank; d++)
        all += (uint64_t)(map->size[d] - 1) * map->stride[d - 1];
    if (own->table && at != ~(uint64_t)0)
        note_reached(s, at % row_bytes(call, own->index, own->table) + all);
    const uint64_t each = row_bytes(call, own->index, own->table);
    row.base = map->address - at;
    row.bytes = !each || at == ~(uint64_t)0 ? 0 : at / each * each + each;
    return row;
}

static __device__ uint32_t rank_of(uint32_t mask)
{
    return (uint32_t)__popc(mask & ((1u << lane_of()) - 1));
}

LIFT_FN void cuvet_lift_bulk_load(lift_state *s, const lift_call *call, lift_bulk *own)
{
    uint32_t rest = gather_copies(own);
    const lift_map *map = (const lift_map *)own->map;
    const lift_array row = row_of_map(s, call, own, map);
    if (own->table)
        own->array = (uint64_t)&row;
    const lift_array *array = (const lift_array *)own->array;
    const uint32_t units = own->sent / UNIT, together = (uint32_t)__popc(own->mask);
    for (lift_bulk box = *own; next_box(&box, own, &rest);) {
        for (uint32_t first = rank_of(own->mask); first < units; first += together * AT_ONCE) {
            uint4 v[AT_ONCE];
            uint32_t at[AT_ONCE];
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++) {
                const uint32_t i = first + k * together;
                if (i >= units)
                    continue;
                const bulk_unit unit = unit_of(map, &box, i);
                at[k] = unit.shared;
                v[k] = read_unit(own, map, array, &unit);
            }
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++)
                if (first + k * together < units)
                    write_unit(&box, at[k], v[k]);
        }
    }
    __threadfence_block();
}

static __device__ uint32_t shared_element(uint32_t at, uint32_t bytes)
{
    uint32_t word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(at & ~3u) : "memory");
    word >>= at % 4 * 8;
    return bytes == 4 ? word : word & ((1u << 8 * bytes) - 1);
}

static __device__ uint32_t global_element(uint64_t at, uint32_t bytes)
{
    return bytes == 4   ? *(const uint32_t *)at
           : bytes == 2 ? *(const uint16_t *)at
                        : *(const uint8_t *)at;
}

/* The element at byte `b` of a unit that lies at `place` in the array. Of a number that is copied
 * byte by byte none is compared. */
static __device__ void judge_element(lift_state *s, const lift_call *call, const lift_bulk *box,
                                     const bulk_unit *unit, uint64_t place, uint32_t b)
{
    const lift_array *array = (const lift_array *)box->array;
    const uint32_t own = shared_element(unit->shared + b, box->bytes);
    const uint32_t got = global_element(array->got + place + b, box->bytes);
    const uint64_t index = (place + b) / box->bytes;
    const lift_number *cell = box->cells ? cell_of(box, unit->shared + b) : nullptr;
    const bool number = cell && cell->e >= 0;
    if (cell && cell->e == LIFT_ENDS) {
        if (box->bytes > 1 || box->format == LIFT_F32)
            return;
        const uint32_t shift = (unit->shared + b) % box->cell * 8;
        const uint64_t ends = (uint64_t)__double_as_longlong(cell->v);
        cuvet_lift_between(s, call, box->index, index, got, own, (uint32_t)ends >> shift,
                           (uint32_t)(ends >> 32) >> shift, box->format, 1);
    } else if (number && box->bytes > 1)
        cuvet_lift_judge(s, call, box->index, index, cell->v, cell->e, got, own, box->format);
    else if (!number && box->judged)
        cuvet_lift_same(s, call, box->index, index, got, own);
}

LIFT_FN void cuvet_lift_bulk_store(lift_state *s, const lift_call *call, lift_bulk *own)
{
    uint32_t rest = gather_copies(own);
    const lift_map *map = (const lift_map *)own->map;
    const lift_array row = row_of_map(s, call, own, map);
    if (own->table)
        own->array = (uint64_t)&row;
    const lift_array *array = (const lift_array *)own->array;
    const uint32_t units = own->sent / UNIT, together = (uint32_t)__popc(own->mask);
    for (lift_bulk box = *own; next_box(&box, own, &rest);) {
        for (uint32_t i = rank_of(own->mask); i < units; i += together) {
            const bulk_unit unit = unit_of(map, &box, i);
            uint64_t place;
            if (!place_in(map, array, &unit, &place)) {
                own->refused++;
                continue;
            }
            for (uint32_t b = unit.low; b < unit.high; b += box.bytes)
                judge_element(s, call, &box, &unit, place, b);
        }
    }
    __syncwarp(own->mask);
}
