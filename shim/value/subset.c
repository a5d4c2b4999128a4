#include "value/subset.h"

#include <Random123/philox.h>

enum { EDGES_FROM = 3 /* blocks, the first and the last of which have their places */ };

/* Each block has a random place in its own part of what is dealt out evenly: all of it, or, where
 * first and last block have their places, what lies between them. In units. */
static void deal_units(struct snapshot_select *select, uint64_t units, uint64_t length,
                       uint64_t seed)
{
    uint32_t edge = select->blocks >= EDGES_FROM;
    uint64_t parts = select->blocks - 2 * edge, between = units - 2 * edge * length;
    uint64_t share = between / parts, rest = between % parts, from = edge * length;
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t counter = {{0}}, random = {{0}};
    select->start[0] = 0;
    select->start[select->blocks - 1] = (uint32_t)(units - length);
    for (uint32_t i = 0; i < parts; i++) {
        uint64_t part = share + (i < rest), room = part - length;
        if (i % 4 == 0) {
            counter.v[0] = i;
            random = philox4x32(counter, key);
        }
        select->start[i + edge] = (uint32_t)(from + (random.v[i % 4] * (room + 1) >> 32));
        from += part;
    }
}

bool subset_draw(struct subset *subset, int64_t total, int64_t count, int64_t unit, uint64_t seed)
{
    struct snapshot_select *select = &subset->select;
    int64_t units = total / unit, wanted = count / unit;
    if (wanted < 1 || wanted >= units || units > UINT32_MAX || wanted * unit > UINT32_MAX / 2)
        return false;
    select->blocks = wanted < SELECT_BLOCKS ? (uint32_t)wanted : SELECT_BLOCKS;
    int64_t length = wanted / select->blocks;
    select->unit = (uint32_t)unit;
    select->length = (uint64_t)(length * unit);
    deal_units(select, (uint64_t)units, (uint64_t)length, seed);
    bool ends = select->start[select->blocks - 1] + length == units;
    subset->total = total;
    subset->count = subset->judged =
        length * unit * select->blocks + (ends ? total % unit : 0); /* that are no whole unit */
    return true;
}

int64_t subset_item(const struct subset *subset, int64_t index)
{
    const struct snapshot_select *select = &subset->select;
    int64_t length = (int64_t)select->length, block = index / length;
    if (block >= select->blocks)
        block = select->blocks - 1;
    return (int64_t)select->start[block] * select->unit + index - block * length;
}

int64_t subset_entry(const struct subset *subset, int tensor, int64_t index)
{
    int64_t share = subset->linked[tensor] ? subset->share : 1;
    return subset_item(subset, index / share) * share + index % share;
}

void subset_block(const struct subset *subset, uint32_t block, int64_t *from, int64_t *to)
{
    const struct snapshot_select *select = &subset->select;
    int64_t length = (int64_t)select->length;
    bool last = block + 1 == select->blocks;
    *from = (int64_t)select->start[block] * select->unit;
    *to = *from + (last ? subset->count - length * block : length);
}
