#include "judge/waiting.h"

void waiting_clear(struct waiting *waiting)
{
    waiting->groups = 0;
    waiting->checks = 0;
    waiting->overflow = false;
}

static bool group_fits(const struct group *group, const struct check *check)
{
    return group->count < REF_BATCH && group->bytes + check->room.bytes <= WAITING_BYTES;
}

/* The group that the check fits into, or NULL. A group that it does not fit into is closed. */
static struct group *find_group(struct waiting *waiting, const struct check *check)
{
    for (int i = 0; i < waiting->groups; i++) {
        struct group *group = &waiting->group[i];
        if (group->full || group->reference != check->reference)
            continue;
        if (group_fits(group, check))
            return group;
        group->full = true;
    }
    return NULL;
}

/* Where all places are taken: that of the latest check that is to be alone, if that one is later.
 */
static struct group *take_place(struct waiting *waiting, const struct check *check)
{
    struct group *last = NULL;
    for (int i = 0; i < waiting->groups; i++) {
        struct group *group = &waiting->group[i];
        if (group->alone && (!last || group->check[0]->sequence > last->check[0]->sequence))
            last = group;
    }
    return last && last->check[0]->sequence > check->sequence ? last : NULL;
}

void waiting_add(struct waiting *waiting, struct check *check, bool alone)
{
    struct group *group = alone ? NULL : find_group(waiting, check);
    waiting->checks++;
    if (!group && waiting->groups == WAITING_GROUPS) {
        waiting->overflow = true;
        group = alone ? take_place(waiting, check) : NULL;
        if (!group)
            return;
        group->count = 0;
    } else if (!group) {
        group = &waiting->group[waiting->groups++];
        group->count = 0;
    }
    if (group->count == 0) {
        *group =
            (struct group){.reference = check->reference, .since = check->seal.at, .alone = alone};
    }
    group->check[group->count++] = check;
    group->bytes += check->room.bytes;
    group->since = check->seal.at < group->since ? check->seal.at : group->since;
    group->full = alone || group->count == REF_BATCH || group->bytes >= WAITING_BYTES;
}

static bool goes_first(const struct group *a, const struct group *b)
{
    return a->alone && b->alone ? a->check[0]->sequence < b->check[0]->sequence
                                : a->since < b->since;
}

const struct group *waiting_due(const struct waiting *waiting, int64_t now, bool hurry)
{
    const struct group *due = NULL;
    for (int i = 0; i < waiting->groups; i++) {
        const struct group *group = &waiting->group[i];
        bool ready =
            hurry || waiting->overflow || group->full || now - group->since >= WAITING_HOLD_NS;
        if (ready && (!due || goes_first(group, due)))
            due = group;
    }
    return due;
}
