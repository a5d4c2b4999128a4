#include "copy/snapshot_short.h"

/* Where pieces go. */
struct piece_list {
    struct snapshot_piece *piece;
    int count, room;
};

/* A row, cut where a block's units end. False: no room. */
static bool add_short_row(struct piece_list *list, uint64_t source, uint64_t target, uint64_t bytes)
{
    while (bytes) {
        uint64_t most = SNAPSHOT_CHUNK - source % SNAPSHOT_UNIT;
        uint64_t part = bytes < most ? bytes : most;
        if (list->count == list->room || target > UINT32_MAX)
            return false;
        if (list->piece)
            list->piece[list->count] =
                (struct snapshot_piece){source, (uint32_t)target, (uint32_t)part};
        list->count++;
        source += part;
        target += part;
        bytes -= part;
    }
    return true;
}

static bool add_plain(struct piece_list *list, const struct snapshot_pitch *shape, uint64_t source,
                      uint64_t target)
{
    for (uint64_t row = 0; row < shape->rows; row++) {
        if (!add_short_row(list, source + row * shape->source_pitch,
                           target + row * shape->target_pitch, shape->row_bytes))
            return false;
    }
    return true;
}

/* One time through the chosen items. */
static bool add_chosen(struct piece_list *list, const struct snapshot_pitch *shape,
                       const struct subset *subset, uint64_t source, uint64_t target)
{
    const struct snapshot_select *select = &subset->select;
    for (uint32_t i = 0; i < shape->chosen; i++) {
        bool last = shape->by_block && i + 1 == select->blocks;
        uint64_t from = shape->by_block ? (uint64_t)select->start[i] * select->unit
                                        : (uint64_t)subset_item(subset, i);
        uint64_t to = shape->by_block ? i * select->length : i;
        if (!add_short_row(list, source + from * shape->source_pitch,
                           target + to * shape->target_pitch,
                           last ? shape->last_bytes : shape->row_bytes))
            return false;
    }
    return true;
}

static bool add_short_array(struct piece_list *list, const struct check *check,
                            const struct snapshot_plan *plan, int index, uint64_t target)
{
    const struct snapshot_pitch *shape = &plan->shape[index];
    const uint64_t source = check->binding.array[index].address;
    if (shape->rows > (uint64_t)list->room) /* a piece each, at least */
        return false;
    if (!shape->chosen)
        return add_plain(list, shape, source, target);
    for (uint64_t outer = 0; outer < shape->rows / shape->chosen; outer++) {
        if (!add_chosen(list, shape, &check->binding.subset, source + outer * shape->outer_source,
                        target + outer * shape->outer_target))
            return false;
    }
    return true;
}

int snapshot_pieces(const struct check *check, const struct snapshot_plan *plan,
                    enum snapshot_part part, struct snapshot_piece *piece, int room)
{
    struct piece_list list = {.piece = piece, .room = room};
    for (int i = 0; i < check->binding.arrays; i++) {
        int64_t target = snapshot_target(&plan->placement[i], part);
        if (target != NOT_COPIED && !add_short_array(&list, check, plan, i, (uint64_t)target))
            return -1;
    }
    return list.count;
}

bool snapshot_may_be_short(const struct snapshot_plan *plan, enum gate_result gate, uint64_t bytes)
{
    return !plan->touches && !plan->projected && gate != GATE_OUTLIER &&
           bytes <= SNAPSHOT_PIECES * SNAPSHOT_CHUNK;
}

static bool take_room(struct side *side, struct check *check)
{
    struct reserve_room room;
    if (!reserve_take(side->arena.reserve, check->room.bytes, &room))
        return false;
    check->room.reserved = true;
    check->room.begin = room.begin;
    check->room.end = room.end;
    check->room.needs = room.needs;
    side_note_sealed(side, check);
    return true;
}

/* Of the first copy, which has `pieces`: whether the second is short, too, and there is room. */
static bool begin_short(struct side *side, struct check *check, const struct snapshot_plan *plan,
                        int pieces)
{
    if (pieces > 0 && plan->has_before)
        pieces = snapshot_pieces(check, plan, SNAPSHOT_AFTER, NULL, SNAPSHOT_PIECES);
    return pieces > 0 && take_room(side, check);
}

/* The clock of a copy before the launch goes through the place. */
static void fill_header(const struct side *side, const struct check *check, bool has_before,
                        enum snapshot_part part, struct snapshot_call_short *call)
{
    snapshot_header_of(side, check, &call->header);
    call->header.base = side_reserved_at(side, check);
    call->header.seals = part == SNAPSHOT_AFTER;
    if (!has_before)
        call->header.place = NULL;
    call->reserve = (struct snapshot_reserve *)(uintptr_t)side->arena.reserve_seen;
    call->needs = check->room.needs;
}

bool snapshot_short_describe(struct side *side, struct check *check,
                             const struct snapshot_plan *plan, enum snapshot_part part,
                             struct snapshot_call_short *call, int *pieces)
{
    bool is_first = part == (plan->has_before ? SNAPSHOT_BEFORE : SNAPSHOT_AFTER);
    if (is_first ? !snapshot_may_be_short(plan, check->gate.result, check->room.bytes)
                 : !check->room.reserved)
        return false;
    *pieces = snapshot_pieces(check, plan, part, call->piece, SNAPSHOT_PIECES);
    if (is_first && !begin_short(side, check, plan, *pieces))
        return false;
    fill_header(side, check, plan->has_before, part, call);
    return true;
}

void snapshot_short_nothing(const struct side *side, const struct check *check,
                            struct snapshot_call_short *call)
{
    call->piece[0] = (struct snapshot_piece){0};
    fill_header(side, check, true, SNAPSHOT_AFTER, call);
}
