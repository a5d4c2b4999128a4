#include "verify/subset.h"

#include <Random123/philox.h>

/* Word number `index` of the sequence that `seed` names. */
static uint32_t random_word(uint64_t seed, uint32_t index)
{
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t counter = {{index / 4, 0, 0, 0}};
    return philox4x32(counter, key).v[index % 4];
}

/* The blocks between the first and the last, in units: what lies between is dealt out evenly, and
 * each has a random place in its part. */
static void deal(struct snapshot_select *select, uint64_t units, uint64_t length, uint64_t seed)
{
    uint64_t between = units - 2 * length, parts = select->blocks - 2;
    for (uint32_t i = 1; i + 1 < select->blocks; i++) {
        uint64_t from = length + between / parts * (i - 1) + between % parts * (i - 1) / parts;
        uint64_t to = length + between / parts * i + between % parts * i / parts;
        uint64_t room = to - from - length;
        select->start[i] = (uint32_t)(from + (random_word(seed, i) * (room + 1) >> 32));
    }
    select->start[0] = 0;
    select->start[select->blocks - 1] = (uint32_t)(units - length);
}

bool subset_draw(struct subset *subset, int64_t total, int64_t count, int64_t unit, uint64_t seed)
{
    struct snapshot_select *select = &subset->select;
    int64_t units = total / unit, wanted = count / unit;
    if (wanted < 2 || wanted >= units || units > UINT32_MAX || wanted * unit > UINT32_MAX / 2)
        return false;
    select->blocks = wanted < SELECT_BLOCKS ? (uint32_t)wanted : SELECT_BLOCKS;
    int64_t length = wanted / select->blocks;
    select->unit = (uint32_t)unit;
    select->length = (uint64_t)(length * unit);
    deal(select, (uint64_t)units, (uint64_t)length, seed);
    subset->total = total;
    subset->count = length * unit * select->blocks + total % unit;
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

void subset_block(const struct subset *subset, uint32_t block, int64_t *from, int64_t *to)
{
    const struct snapshot_select *select = &subset->select;
    bool last = block + 1 == select->blocks;
    *from = (int64_t)select->start[block] * select->unit;
    *to = last ? subset->total : *from + (int64_t)select->length;
}
