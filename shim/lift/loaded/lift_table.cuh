/* lift_table.cuh - arrays behind addresses, see lift_table.c. A part of lift.cu, which has what it
 * uses. */

/* Bytes of a row; 0: the copy has no whole number of aligned rows, and then none is known. */
static __device__ uint64_t row_bytes(const lift_call *call, uint32_t array, uint32_t table)
{
    const uint64_t count = call->array[table].bytes / sizeof(uint64_t);
    const uint64_t bytes = call->array[array].bytes;
    return count && bytes % count == 0 && bytes / count % 16 == 0 ? bytes / count : 0;
}

static __device__ void note_reached(lift_state *s, uint64_t bytes)
{
    if (bytes > s->reached)
        s->reached = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

/* The offset of an access in the rows of an array, by its table of addresses; all ones: no row has
 * it as it is. Rows lie at multiples of 16 bytes. */
LIFT_FN uint64_t cuvet_lift_row(lift_state *s, const lift_call *call, uint32_t array,
                                uint32_t table, uint64_t address, uint32_t bytes)
{
    const uint64_t *first = (const uint64_t *)call->array[table].in;
    const uint64_t count = call->array[table].bytes / sizeof *first;
    uint64_t begin = 0, row = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (first[i] > address || first[i] <= begin)
            continue;
        begin = first[i];
        row = i;
    }
    const uint64_t each = row_bytes(call, array, table), at = address - begin;
    if (begin)
        note_reached(s, at + bytes);
    if (!begin || begin % 16 || address % bytes || at > each || each - at < bytes)
        return ~(uint64_t)0;
    return row * each + at;
}
