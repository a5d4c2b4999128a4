#include "state/flows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "value/kernel_spec.h"

enum { ARRAYS = 1024, NAMES = 16, PROBES = 16, KEPT = 4, SEQUENCES = 64, STAGE_TEXT = 120 };

/* A launch that has an array, or named positions. */
struct turn {
    struct flow_moment moment; /* array 0: empty */
    uint64_t breaks, launch;
    struct graph_place place;
    const struct kernel_spec *spec;
};

/* A launch and one of its arrays. */
struct use {
    struct turn turn;
    const struct plan_flow *flow;
    const char *name;       /* of the array */
    uint64_t before, after; /* hashes of its beginning; 0: not known */
    uint64_t bytes;         /* of the array */
};

struct flows {
    struct kept {
        uint64_t array; /* 0: empty */
        unsigned next;
        struct use use[KEPT];
    } kept[ARRAYS];
    struct named {
        uint64_t token; /* 0: empty */
        unsigned next;
        struct stand {
            struct turn turn;
            bool names;                      /* it has the positions, else it reads the cache */
            int64_t count, place[SEQUENCES]; /* -1: the sequence has none */
        } stand[KEPT];
    } named[NAMES];
};

struct flows *flows_create(void)
{
    return calloc(1, sizeof(struct flows));
}

void flows_destroy(struct flows *flows)
{
    free(flows);
}

static uint64_t bytes_hash(const uint8_t *bytes, size_t size)
{
    uint64_t hash = 1;
    for (size_t i = 0; bytes && i < size; i++) {
        hash = (hash ^ bytes[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return bytes ? hash | 1 : 0;
}

static struct turn turn_of(const struct check *check, unsigned number)
{
    return (struct turn){.moment = check->moment_of_state.flow[number],
                         .breaks = check->moment_of_state.replays,
                         .launch = check->launch,
                         .place = check->place,
                         .spec = check->kernel->spec};
}

static void describe_use(const struct state_case *of, unsigned number, struct use *out)
{
    const struct state_flow *view = &of->view->flow[number];
    const struct plan_flow *flow = &of->plan->state->flow[number];
    *out = (struct use){.turn = turn_of(of->check, number),
                        .flow = flow,
                        .name = of->plan->array[flow->array].item->name,
                        .before = bytes_hash(view->before, view->size),
                        .after = bytes_hash(view->after, view->size),
                        .bytes = view->whole};
}

/* The array's place; the oldest neighbour's where there is none. */
static struct kept *find_flow(struct flows *flows, uint64_t array)
{
    uint64_t at = (array >> 4) * 0x9e3779b97f4a7c15u >> 32;
    for (unsigned i = 0; i < PROBES; i++) {
        struct kept *kept = &flows->kept[(at + i) % ARRAYS];
        if (kept->array == array || !kept->array)
            return kept;
    }
    return &flows->kept[at % ARRAYS];
}

/* Whether `b` is the launch behind `a` among those that have the array. */
static bool turn_follows(const struct turn *a, const struct turn *b)
{
    bool next_replay = a->place.graph && a->place.graph == b->place.graph &&
                       b->place.replay == a->place.replay + 1 && b->breaks == a->breaks + 1;
    return a->moment.array && b->moment.turn == a->moment.turn + 1 &&
           (b->breaks == a->breaks || next_replay);
}

/* The stage that a launch leaves its array at; NULL: not known. */
static const char *left(const struct use *a)
{
    const struct plan_flow *flow = a->flow;
    return flow->to ? flow->to : flow->stages == 1 ? flow->stage[0] : NULL;
}

static bool expects(const struct plan_flow *flow, const char *stage)
{
    bool any = flow->stages == 0;
    for (unsigned i = 0; i < flow->stages; i++)
        any |= strcmp(flow->stage[i], stage) == 0;
    return any;
}

static const char *stages(const struct plan_flow *flow, char text[STAGE_TEXT])
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < flow->stages && used < STAGE_TEXT; i++)
        used += (size_t)snprintf(text + used, STAGE_TEXT - used, "%s'%.24s'", i ? " or " : "",
                                 flow->stage[i]);
    return text;
}

/* `b` is the launch of this check, or `a` is. */
static bool judge_uses(const struct use *a, const struct use *b, bool earlier,
                       struct state_report *report)
{
    const char *stage = left(a);
    char text[STAGE_TEXT], who[96] = "";
    if (!stage || !b->flow->stages)
        return false;
    if (earlier)
        snprintf(who, sizeof who,
                 "behind it %.40s, launch %" PRIu64 ", finds: ", b->turn.spec->label,
                 b->turn.launch);
    if (!expects(b->flow, stage))
        return state_find(report, "stage",
                          "%s'%s' is at stage '%.24s', at which %.60s, launch %" PRIu64
                          ", left it; %s is due: a kernel of the chain was left out, or came twice",
                          who, b->name, stage, a->turn.spec->label, a->turn.launch,
                          stages(b->flow, text));
    if (!b->flow->same || !a->after || !b->before || a->bytes != b->bytes || a->after == b->before)
        return false;
    return state_find(report, "altered",
                      "%s'%s' is not what %.60s, launch %" PRIu64
                      ", left at stage '%.24s': something else has written it since",
                      who, b->name, a->turn.spec->label, a->turn.launch, stage);
}

static bool one_flow(struct flows *flows, const struct use *now, struct state_report *report)
{
    struct kept *kept = find_flow(flows, now->turn.moment.array);
    bool found = false;
    if (kept->array != now->turn.moment.array)
        *kept = (struct kept){.array = now->turn.moment.array};
    for (unsigned i = 0; i < KEPT && !found; i++) {
        const struct use *other = &kept->use[i];
        if (turn_follows(&other->turn, &now->turn))
            found = judge_uses(other, now, false, report);
        else if (other->turn.moment.array && turn_follows(&now->turn, &other->turn))
            found = judge_uses(now, other, true, report);
    }
    kept->use[kept->next++ % KEPT] = *now;
    return found;
}

/* ---- named positions ---- */

static void add_stand_place(struct stand *stand, int64_t place)
{
    if (stand->count < SEQUENCES)
        stand->place[stand->count] = place;
    stand->count++;
}

/* Its positions, or the last place of each sequence that it reads. */
static void describe_stand(const struct state_case *of, struct stand *out)
{
    const struct plan_state *state = of->plan->state;
    const struct state_ids *ids = &of->view->positions;
    int64_t number = state_number(of->check, state->position, -1);
    int64_t sequences = state->names ? 0 : state_sequences(of);
    *out = (struct stand){.turn = turn_of(of->check, PLAN_FLOWS), .names = state->names};
    for (int64_t i = 0; state->names && ids->bytes && i < ids->count; i++)
        add_stand_place(out, state_id(ids, i));
    if (state->names && number >= 0)
        add_stand_place(out, number);
    for (int64_t n = 0; n < sequences; n++)
        add_stand_place(out, state_length(of, n) - 1);
}

/* One position may be that of all sequences. Of several queries a sequence nothing is found. */
static bool apart_rule(const struct stand *a, const struct stand *b, struct state_report *report)
{
    if (!a->names || b->names || (a->count != 1 && a->count != b->count))
        return false;
    for (int64_t n = 0; n < b->count && n < SEQUENCES; n++) {
        int64_t position = a->place[a->count == 1 ? 0 : n];
        if (b->place[n] >= 0 && position >= 0 && b->place[n] != position)
            return state_find(report, "apart",
                              "sequence %" PRId64 " of %.60s, launch %" PRIu64
                              ", ends at place %" PRId64 ", and the position of %.60s, launch "
                              "%" PRIu64 ", before it is %" PRId64,
                              n, b->turn.spec->label, b->turn.launch, b->place[n],
                              a->turn.spec->label, a->turn.launch, position);
    }
    return false;
}

static bool named_rules(struct flows *flows, const struct state_case *of,
                        struct state_report *report)
{
    struct stand now;
    bool found = false;
    describe_stand(of, &now);
    unsigned at = 0;
    while (at < NAMES && flows->named[at].token && flows->named[at].token != now.turn.moment.array)
        at++;
    if (at == NAMES || !now.turn.moment.array)
        return false;
    struct named *named = &flows->named[at];
    named->token = now.turn.moment.array;
    for (unsigned i = 0; i < KEPT && !found; i++) {
        const struct stand *other = &named->stand[i];
        if (turn_follows(&other->turn, &now.turn))
            found = apart_rule(other, &now, report);
        else if (other->turn.moment.array && turn_follows(&now.turn, &other->turn))
            found = apart_rule(&now, other, report);
    }
    named->stand[named->next++ % KEPT] = now;
    return found;
}

bool flows_rules(struct flows *flows, const struct state_case *of, struct state_report *report)
{
    bool found = flows && of->plan->state->token && named_rules(flows, of, report);
    for (unsigned i = 0; flows && i < of->plan->state->flows; i++) {
        struct state_report unused;
        struct use now;
        describe_use(of, i, &now);
        if (now.turn.moment.array && one_flow(flows, &now, found ? &unused : report))
            found = true;
    }
    return found;
}
