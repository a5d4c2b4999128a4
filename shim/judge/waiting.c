#include "judge/waiting.h"

void waiting_clear(struct waiting *waiting)
{
    waiting->parties = 0;
    waiting->checks = 0;
    waiting->overflow = false;
}

static bool fits(const struct party *party, const struct check *check)
{
    return party->count < REF_BATCH && party->bytes + check->arena_bytes <= WAITING_BYTES;
}

/* The party that the check can join, or NULL. One that it is too large for waits no longer. */
static struct party *find(struct waiting *waiting, const struct check *check)
{
    for (int i = 0; i < waiting->parties; i++) {
        struct party *party = &waiting->party[i];
        if (party->full || party->reference != check->reference)
            continue;
        if (fits(party, check))
            return party;
        party->full = true;
    }
    return NULL;
}

/* Where all places are taken: that of the latest check that is to be alone, if that one is later.
 */
static struct party *take_place(struct waiting *waiting, const struct check *check)
{
    struct party *last = NULL;
    for (int i = 0; i < waiting->parties; i++) {
        struct party *party = &waiting->party[i];
        if (party->alone && (!last || party->check[0]->sequence > last->check[0]->sequence))
            last = party;
    }
    return last && last->check[0]->sequence > check->sequence ? last : NULL;
}

void waiting_add(struct waiting *waiting, struct check *check, bool alone)
{
    struct party *party = alone ? NULL : find(waiting, check);
    waiting->checks++;
    if (!party && waiting->parties == WAITING_PARTIES) {
        waiting->overflow = true;
        party = alone ? take_place(waiting, check) : NULL;
        if (!party)
            return;
        party->count = 0;
    } else if (!party) {
        party = &waiting->party[waiting->parties++];
        party->count = 0;
    }
    if (party->count == 0) {
        *party =
            (struct party){.reference = check->reference, .since = check->sealed, .alone = alone};
    }
    party->check[party->count++] = check;
    party->bytes += check->arena_bytes;
    party->since = check->sealed < party->since ? check->sealed : party->since;
    party->full = alone || party->count == REF_BATCH || party->bytes >= WAITING_BYTES;
}

static bool goes_first(const struct party *a, const struct party *b)
{
    return a->alone && b->alone ? a->check[0]->sequence < b->check[0]->sequence
                                : a->since < b->since;
}

const struct party *waiting_due(const struct waiting *waiting, int64_t now, bool hurry)
{
    const struct party *due = NULL;
    for (int i = 0; i < waiting->parties; i++) {
        const struct party *party = &waiting->party[i];
        bool ready =
            hurry || waiting->overflow || party->full || now - party->since >= WAITING_HOLD_NS;
        if (ready && (!due || goes_first(party, due)))
            due = party;
    }
    return due;
}
