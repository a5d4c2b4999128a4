#include "state/history.h"

#include <stdlib.h>
#include <string.h>
#include "state/flows.h"
#include "state/owned.h"
#include "state/cache_rows.h"

enum { HISTORIES = 256, PROBES = 16, PLACES = 16, KEPT = 4 /* checks come in no order */ };
enum { APPENDED = 64, FRESH = 256 };

/* Where a launch was: its rows or its position, as far as they go, and a hash of them all. */
struct places {
    int64_t count, place[PLACES];
    uint64_t hash;
};

struct one {
    uint64_t key, signature; /* key 0: empty */
    struct graph_place graph;
    struct state_moment moment;
    uint64_t data; /* a hash of its inputs */
    struct places rows, positions;
    const struct kernel_spec *spec;
    uint64_t buffer; /* address that the positions were read from; 0: there is none */
};

/* The last append to a cache. */
struct appended {
    uint64_t cache; /* 0: empty */
    struct graph_place graph;
    struct state_moment moment;
    int64_t count, row[FRESH];
};

struct history {
    struct owned *owned;      /* made when an entry first needs it; NULL before */
    struct cache_rows *slots; /* the same */
    struct flows *flows;      /* the same */
    struct appended appended[APPENDED];
    struct kept {
        uint64_t key; /* 0: empty */
        unsigned next;
        struct one one[KEPT];
    } kept[HISTORIES];
};

struct history *history_create(void)
{
    return calloc(1, sizeof(struct history));
}

void history_destroy(struct history *history)
{
    if (history) {
        owned_destroy(history->owned);
        cache_rows_destroy(history->slots);
        flows_destroy(history->flows);
    }
    free(history);
}

static uint64_t mix_value(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* ---- what a launch is ---- */

static void add_append_place(struct places *places, int64_t place)
{
    if (places->count < PLACES)
        places->place[places->count] = place;
    places->count++;
    places->hash = mix_value(places->hash, (uint64_t)place);
}

static void take_ids(struct places *places, const struct state_ids *ids)
{
    *places = (struct places){0};
    for (int64_t i = 0; ids->bytes && i < ids->count; i++)
        add_append_place(places, state_id(ids, i));
}

static uint64_t hash_data(const struct state_view *view)
{
    uint64_t hash = 1;
    for (int i = 0; i < view->inputs; i++) {
        for (size_t k = 0; k < view->input[i].size; k++)
            hash = mix_value(hash, view->input[i].bytes[k]);
    }
    return hash;
}

/* A position without a cache is known by its node of a graph. */
static uint64_t history_key(const struct state_case *of)
{
    const struct check *check = of->check;
    if (check->moment_of_state.cache)
        return mix_value(check->kernel->key, check->moment_of_state.cache) | 1;
    if (!check->place.graph)
        return 0;
    return mix_value(mix_value(check->kernel->key, check->place.graph), check->place.node) | 1;
}

/* The address of the array of positions. */
static uint64_t buffer_of(const struct state_case *of)
{
    const struct binding *binding = &of->check->binding;
    int positions = of->plan->state->positions;
    const char *name = positions < 0 ? NULL : of->plan->array[positions].item->name;
    for (int i = 0; name && i < binding->arrays; i++) {
        if (binding->array[i].name == name)
            return binding->array[i].address;
    }
    return 0;
}

static void describe_append(const struct state_case *of, struct one *out)
{
    const struct check *check = of->check;
    const struct plan_state *state = of->plan->state;
    *out = (struct one){.key = history_key(of),
                        .signature = check->gate.signature,
                        .graph = check->place,
                        .moment = check->moment_of_state,
                        .data = hash_data(of->view),
                        .spec = check->kernel->spec,
                        .buffer = buffer_of(of)};
    take_ids(&out->rows, &of->view->append);
    take_ids(&out->positions, &of->view->positions);
    int64_t position = state_number(check, state->position, INT64_MIN);
    if (position != INT64_MIN)
        add_append_place(&out->positions, position);
}

static struct kept *find_history(struct history *history, uint64_t key)
{
    for (unsigned i = 0; i < PROBES; i++) {
        struct kept *kept = &history->kept[(key + i) % HISTORIES];
        if (kept->key == key || !kept->key)
            return kept;
    }
    return NULL;
}

/* Whether `now` is the launch behind `last`: none has written the cache in between. */
static bool append_follows(const struct one *last, const struct one *now)
{
    uint64_t replays = now->moment.replays - last->moment.replays;
    uint64_t appends = now->moment.appends - last->moment.appends;
    if (last->signature != now->signature || last->graph.graph != now->graph.graph)
        return false;
    if (!now->graph.graph)
        return replays == 0 && appends == 1;
    return last->graph.node == now->graph.node && now->graph.replay == last->graph.replay + 1 &&
           replays == 1 && appends == 0;
}

/* ---- the rules ---- */

static bool is_same(const struct places *a, const struct places *b)
{
    return a->count > 0 && a->count == b->count && a->hash == b->hash;
}

/* Rows that pad are no places. */
static int64_t first_place(const struct places *places)
{
    for (int64_t i = 0; i < places->count && i < PLACES; i++) {
        if (places->place[i] >= 0)
            return places->place[i];
    }
    return -1;
}

enum { WHEN = 96, DUE = 96, REMEDY = 256 };

static const char *when(char text[WHEN], const struct one *last, const struct one *now)
{
    if (now->graph.graph)
        snprintf(text, WHEN, "in replay %llu and in replay %llu of graph %u",
                 (unsigned long long)last->graph.replay, (unsigned long long)now->graph.replay,
                 now->graph.graph);
    else
        snprintf(text, WHEN, "at two launches in a row");
    return text;
}

/* The place that was due, where the entry has `step`. One that is by value in a graph is the
 * capture's in all replays, so it is counted from replay 0. */
static const char *place_due(const struct state_case *of, const struct one *last,
                             const struct one *now, char text[DUE])
{
    const struct plan_state *state = of->plan->state;
    int64_t step = state_number(of->check, state->step, 0), place = first_place(&now->positions);
    bool direct = state->direct && now->graph.graph;
    text[0] = '\0';
    if (step <= 0 || place < 0)
        return text;
    if (direct)
        snprintf(text, DUE, "; by 'step' replay %llu is at %lld if replay 0 is at %lld",
                 (unsigned long long)now->graph.replay,
                 (long long)(place + step * (int64_t)now->graph.replay), (long long)place);
    else
        snprintf(text, DUE, "; by 'step' %lld is due",
                 (long long)(first_place(&last->positions) + step));
    return text;
}

/* A launch that reads its position from memory: of the same graph, or else any. */
static const struct one *find_reader(const struct history *history, const struct one *now)
{
    const struct one *found = NULL;
    for (unsigned i = 0; i < HISTORIES; i++) {
        for (unsigned k = 0; history->kept[i].key && k < KEPT; k++) {
            const struct one *one = &history->kept[i].one[k];
            bool same = one->graph.graph == now->graph.graph;
            if (one->key && one->buffer && (!found || same))
                found = one;
        }
    }
    return found;
}

/* What to do about a position by value in a graph. */
static const char *remedy(const struct history *history, const struct one *now, char text[REMEDY])
{
    const struct one *reader = find_reader(history, now);
    char as[REMEDY / 2] = "";
    if (reader)
        snprintf(as, sizeof as, ", as %.60s does from 0x%llx", reader->spec->label,
                 (unsigned long long)reader->buffer);
    snprintf(text, REMEDY,
             "it is passed by value, so that replays keep the one that was captured; read it from "
             "device memory%s, or give the node new parameters before each replay",
             as);
    return text;
}

static bool stale_position(const struct history *history, const struct state_case *of,
                           const struct one *last, const struct one *now,
                           struct state_report *report)
{
    const struct plan_state *state = of->plan->state;
    char text[WHEN];
    if (!state->position_name || !is_same(&last->positions, &now->positions) ||
        last->data == now->data)
        return false;
    bool direct = state->direct && now->graph.graph;
    char due[DUE], advice[REMEDY];
    return state_find(report, "stale", "position '%s' is %lld %s, with other data: %s%s",
                      state->position_name, (long long)first_place(&now->positions),
                      when(text, last, now),
                      direct ? remedy(history, now, advice) : "it does not advance",
                      place_due(of, last, now, due));
}

static bool stale_rows(const struct state_case *of, const struct one *last, const struct one *now,
                       struct state_report *report)
{
    const struct plan_state *state = of->plan->state;
    char text[WHEN];
    if (!state->advance || state->append < 0 || !is_same(&last->rows, &now->rows) ||
        first_place(&now->rows) < 0 || last->data == now->data)
        return false;
    return state_find(
        report, "stale", "row %lld of '%s' is written %s, with other data: '%s' does not advance",
        (long long)first_place(&now->rows), of->plan->array[state->cache[0]].item->name,
        when(text, last, now), of->plan->array[state->append].item->name);
}

/* A smaller position begins another sequence. */
static bool wrong_step(const struct state_case *of, const struct one *last, const struct one *now,
                       struct state_report *report)
{
    const struct plan_state *state = of->plan->state;
    int64_t step = state_number(of->check, state->step, 0);
    const struct places *a = &last->positions, *b = &now->positions;
    char text[WHEN];
    for (int64_t i = 0; step > 0 && a->count == b->count && i < a->count && i < PLACES; i++) {
        int64_t by = b->place[i] - a->place[i];
        if (a->place[i] < 0 || by == step || by <= 0)
            continue;
        return state_find(report, "step",
                          "position '%s' is %lld and then %lld %s: it goes on by %lld, and "
                          "'step' is %lld%s",
                          state->position_name, (long long)a->place[i], (long long)b->place[i],
                          when(text, last, now), (long long)by, (long long)step,
                          by > step ? ", so places in between were never written" : "");
    }
    return false;
}

/* `last` ran right before `now`. */
static bool judge_appends(const struct history *history, const struct state_case *of,
                          const struct one *last, const struct one *now,
                          struct state_report *report)
{
    return stale_position(history, of, last, now, report) || stale_rows(of, last, now, report) ||
           wrong_step(of, last, now, report);
}

/* ---- a reader behind an append ---- */

static struct appended *find_appended(struct history *history, uint64_t cache)
{
    for (unsigned i = 0; cache && i < PROBES; i++) {
        struct appended *appended = &history->appended[(mix_value(0, cache) + i) % APPENDED];
        if (appended->cache == cache || !appended->cache)
            return appended;
    }
    return NULL;
}

static void keep_history(struct history *history, const struct state_case *of)
{
    const struct state_ids *ids = &of->view->append;
    const struct check *check = of->check;
    struct appended *appended = find_appended(history, check->moment_of_state.cache);
    if (!appended || !ids->bytes)
        return;
    *appended = (struct appended){.cache = check->moment_of_state.cache,
                                  .graph = check->place,
                                  .moment = check->moment_of_state};
    for (int64_t i = 0; i < ids->count && i < FRESH; i++)
        appended->row[appended->count++] = state_id(ids, i);
}

static bool append_is_behind(const struct check *check, const struct appended *appended)
{
    const struct state_moment *now = &check->moment_of_state, *last = &appended->moment;
    if (now->replays != last->replays || check->place.graph != appended->graph.graph)
        return false;
    if (!check->place.graph)
        return now->appends == last->appends + 1;
    return now->appends == last->appends && check->place.replay == appended->graph.replay &&
           check->place.node > appended->graph.node;
}

static bool row_is_read(const struct state_case *of, int64_t row)
{
    int64_t sequences = state_sequences(of);
    for (int64_t n = 0; n < sequences; n++) {
        int64_t length = state_reach(of, n);
        for (int64_t place = row % of->page; place < length; place += of->page) {
            if (state_page(of, n, place) == row / of->page)
                return true;
        }
    }
    return false;
}

static bool fresh_rule(struct history *history, const struct state_case *of,
                       struct state_report *report)
{
    const struct appended *appended = find_appended(history, of->check->moment_of_state.cache);
    if (!of->plan->state->fresh || !state_sequences(of) || !appended ||
        !append_is_behind(of->check, appended))
        return false;
    for (int64_t i = 0; i < appended->count; i++) {
        int64_t row = appended->row[i];
        if (row >= 0 && (of->null < 0 || row / of->page != of->null) && !row_is_read(of, row))
            return state_find(report, "fresh",
                              "row %lld of '%s' was appended right before, and no sequence reads "
                              "it: a length is short, or a page is another one",
                              (long long)row,
                              of->plan->array[of->plan->state->cache[0]].item->name);
    }
    return false;
}

const struct state_slots *history_slots(struct history *history, const struct state_case *of)
{
    if (!history || !state_reads_rows || of->plan->state->append < 0)
        return NULL;
    if (!history->slots)
        history->slots = cache_rows_create();
    return history->slots ? cache_rows_hash(history->slots, of) : NULL;
}

/* What holds between the launch and those before and behind it, which are kept. */
static bool pairs_of(struct history *history, const struct state_case *of,
                     struct state_report *report)
{
    struct one now;
    bool found = false;
    keep_history(history, of);
    describe_append(of, &now);
    if (!now.key || (!now.rows.count && !now.positions.count))
        return false;
    struct kept *kept = find_history(history, now.key);
    for (unsigned i = 0; kept && kept->key && i < KEPT && !found; i++) {
        const struct one *other = &kept->one[i];
        if (other->key && append_follows(other, &now))
            found = judge_appends(history, of, other, &now, report);
        else if (other->key && append_follows(&now, other))
            found = judge_appends(history, of, &now, other, report);
    }
    if (kept) {
        kept->key = now.key;
        kept->one[kept->next++ % KEPT] = now;
    }
    return found;
}

/* A place that does not advance is reported rather than the owner of its page, which follows from
 * it. */
bool history_rules(struct history *history, const struct state_case *of,
                   struct state_report *report)
{
    if (!history)
        return false;
    if (of->plan->state->owned && !history->owned)
        history->owned = owned_create();
    if ((of->plan->state->flows || of->plan->state->token) && !history->flows)
        history->flows = flows_create();
    struct state_report owner = *report;
    bool owned = owned_rules(history->owned, of, &owner);
    bool flow = flows_rules(history->flows, of, report);
    if (fresh_rule(history, of, report) || pairs_of(history, of, report) || flow)
        return true;
    if (owned)
        *report = owner;
    return owned;
}
