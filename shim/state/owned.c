#include "state/owned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CACHES = 256, PROBES = 16, APPENDS = 16, READINGS = 6, NODES = 8 };
enum { ROWS = 512, PAGES = 512, SEQUENCES = 256, LEARNING = 3 /* replays */ };

/* Numbers, each with a place in an array; open addressing. */
struct set {
    int32_t count;
    struct {
        int64_t number;
        int32_t place; /* 1 and more; 0: empty */
    } at[2 * PAGES];   /* at most half full */
};

/* What one launch appended. */
struct appended {
    bool used, whole; /* whole: all its rows are here */
    struct graph_place graph;
    struct state_moment moment;
    int32_t count;
    int64_t row[ROWS];
};

/* The pages that a reader read, those of each sequence in a row. */
struct reading {
    bool used, whole, judged;
    bool prefix; /* sequences may begin with the same full pages ... */
    bool cached; /* ... which outlive them */
    const struct kernel_spec *spec;
    uint64_t launch, order; /* of its kernel; of all launches */
    struct graph_place graph;
    struct state_moment moment;
    int64_t page, null; /* places in a page; the null page */
    int32_t sequences, reads;
    struct {
        int64_t length;
        int32_t begin; /* in `read` */
    } sequence[SEQUENCES + 1];
    struct read {
        int64_t page;
        int32_t sequence, number, filled; /* filled: places of it that are read */
    } read[PAGES];
    struct set set; /* of pages, each with 1 + its place in `read` */
};

struct owned_cache {
    uint64_t cache;
    unsigned appends, readings, nodes;
    struct graph_place node[NODES]; /* that append, in any replay */
    uint64_t learned;               /* replay from which these are all */
    struct appended appended[APPENDS];
    struct reading reading[READINGS];
};

struct owned {
    struct owned_cache *cache[CACHES];
    struct set rows; /* appended between two readers */
};

struct owned *owned_create(void)
{
    return calloc(1, sizeof(struct owned));
}

void owned_destroy(struct owned *owned)
{
    for (int i = 0; owned && i < CACHES; i++)
        free(owned->cache[i]);
    free(owned);
}

/* ---- sets ---- */

static size_t set_slot(const struct set *set, int64_t number)
{
    size_t size = 2 * PAGES, at = ((uint64_t)number * 0x9e3779b97f4a7c15u >> 32) % size;
    while (set->at[at].place && set->at[at].number != number)
        at = (at + 1) % size;
    return at;
}

/* The place of the number; 0: it has none. */
static int32_t set_find(const struct set *set, int64_t number)
{
    return set->at[set_slot(set, number)].place;
}

/* Gives the number a place, unless it has one. False: the set is full. */
static bool set_add(struct set *set, int64_t number, int32_t place)
{
    size_t at = set_slot(set, number);
    if (set->at[at].place)
        return true;
    if (set->count == PAGES)
        return false;
    set->at[at].number = number;
    set->at[at].place = place;
    set->count++;
    return true;
}

/* ---- what is kept ---- */

/* The cache's record, with `make` a new one; NULL: none, or no room. */
static struct owned_cache *find_owned(struct owned *owned, uint64_t cache, bool make)
{
    for (unsigned i = 0; cache && i < PROBES; i++) {
        struct owned_cache **at = &owned->cache[((cache >> 8) * 0x9e3779b97f4a7c15u + i) % CACHES];
        if (!*at && make && (*at = calloc(1, sizeof(**at))))
            (*at)->cache = cache;
        if (!*at || (*at)->cache == cache)
            return *at;
    }
    return NULL;
}

/* Of the last graph alone. */
static void note_owner_node(struct owned_cache *cache, const struct graph_place *node)
{
    if (cache->nodes > 0 && cache->node[0].graph != node->graph)
        cache->nodes = 0;
    for (unsigned i = 0; i < cache->nodes; i++) {
        if (cache->node[i].graph == node->graph && cache->node[i].node == node->node)
            return;
    }
    if (node->graph && cache->nodes < NODES) {
        cache->node[cache->nodes++] = *node;
        cache->learned = node->replay + LEARNING;
    }
}

static void keep_pages(struct owned_cache *cache, const struct state_case *of)
{
    const struct state_ids *ids = &of->view->append;
    struct appended *appended = &cache->appended[cache->appends++ % APPENDS];
    appended->used = true;
    appended->whole = ids->bytes && ids->count <= ROWS;
    appended->graph = of->check->place;
    appended->moment = of->check->moment_of_state;
    appended->count = 0;
    for (int64_t i = 0; appended->whole && i < ids->count; i++)
        appended->row[appended->count++] = state_id(ids, i);
    note_owner_node(cache, &of->check->place);
}

static void add_pages(const struct state_case *of, int64_t n, struct reading *out)
{
    int64_t length = state_reach(of, n);
    out->sequence[n].length = length;
    out->sequence[n].begin = out->reads;
    for (int64_t i = 0; i * of->page < length && out->whole; i++) {
        int64_t left = length - i * of->page, page = state_page(of, n, i * of->page);
        out->whole = out->reads < PAGES;
        if (!out->whole)
            return;
        out->read[out->reads++] = (struct read){page, (int32_t)n, (int32_t)i,
                                                (int32_t)(left < of->page ? left : of->page)};
        if (page != of->null)
            set_add(&out->set, page, out->reads);
    }
}

static void keep_reading(struct owned_cache *cache, const struct state_case *of)
{
    struct reading *out = &cache->reading[cache->readings++ % READINGS];
    int64_t sequences = state_sequences(of);
    memset(out, 0, sizeof(*out));
    out->used = true;
    out->whole = sequences <= SEQUENCES;
    out->prefix = of->plan->state->shared == SHARED_PREFIX;
    out->cached = of->plan->state->owned == OWNED_CACHED;
    out->spec = check_spec(of->check);
    out->launch = of->check->launch;
    out->order = of->check->sequence;
    out->graph = of->check->place;
    out->moment = of->check->moment_of_state;
    out->page = of->page;
    out->null = of->null;
    for (int64_t n = 0; n < sequences && out->whole; n++)
        add_pages(of, n, out);
    out->sequences = out->whole ? (int32_t)sequences : 0;
    out->sequence[out->sequences].begin = out->reads;
}

/* NULL: the reader read nothing of the page. */
static const struct read *read_of(const struct reading *reading, int64_t page)
{
    int32_t place = set_find(&reading->set, page);
    return place ? &reading->read[place - 1] : NULL;
}

static int64_t first_page(const struct reading *reading, int32_t sequence)
{
    return reading->read[reading->sequence[sequence].begin].page;
}

/* ---- what lies between two readers ---- */

static bool eager_between(const struct owned_cache *cache, const struct reading *last,
                          const struct reading *now, const struct appended **of)
{
    uint64_t wanted = now->moment.appends - last->moment.appends, found = 0;
    if (now->moment.replays != last->moment.replays || now->graph.graph || last->graph.graph ||
        wanted > APPENDS ||
        (wanted == 0 && (last->order >= now->order || now->moment.appends == 0)))
        return false; /* of a cache whose appends no entry names nothing is known */
    for (int i = 0; i < APPENDS; i++) {
        const struct appended *appended = &cache->appended[i];
        if (appended->used && appended->whole && !appended->graph.graph &&
            appended->moment.replays == now->moment.replays &&
            appended->moment.appends - last->moment.appends < wanted)
            of[found++] = appended;
    }
    return found == wanted;
}

/* Whether a node of replay `replay` ran between the readers. */
static bool is_between(const struct graph_place *at, uint64_t replay, const struct reading *last,
                       const struct reading *now)
{
    bool behind = replay > last->graph.replay ||
                  (replay == last->graph.replay && at->node > last->graph.node);
    bool before =
        replay < now->graph.replay || (replay == now->graph.replay && at->node < now->graph.node);
    return at->graph == now->graph.graph && behind && before;
}

/* Of each node that is known to append, all launches in between must be there. */
static bool graph_between(const struct owned_cache *cache, const struct reading *last,
                          const struct reading *now, const struct appended **of)
{
    uint64_t replays = now->graph.replay - last->graph.replay;
    unsigned found = 0, wanted = 0;
    if (!now->graph.graph || now->graph.graph != last->graph.graph || replays > 1 ||
        now->moment.replays != last->moment.replays + replays ||
        now->moment.appends != last->moment.appends)
        return false;
    for (unsigned i = 0; i < cache->nodes; i++) {
        for (uint64_t replay = last->graph.replay; replay <= now->graph.replay; replay++)
            wanted += is_between(&cache->node[i], replay, last, now);
    }
    for (int i = 0; i < APPENDS; i++) {
        const struct appended *appended = &cache->appended[i];
        if (appended->used && appended->whole &&
            is_between(&appended->graph, appended->graph.replay, last, now))
            of[found++] = appended;
    }
    return found > 0 && found == wanted && cache->nodes < NODES &&
           now->graph.replay >= cache->learned;
}

/* The rows appended between the readers; false: not all are known. */
static bool between(const struct owned_cache *cache, const struct reading *last,
                    const struct reading *now, struct set *rows)
{
    const struct appended *appended[APPENDS] = {NULL};
    memset(rows, 0, sizeof(*rows));
    if (!last->used || !last->whole || !now->whole ||
        !(eager_between(cache, last, now, appended) || graph_between(cache, last, now, appended)))
        return false;
    for (int i = 0; i < APPENDS && appended[i]; i++) {
        for (int32_t k = 0; k < appended[i]->count; k++) {
            if (!set_add(rows, appended[i]->row[k], 1))
                return false;
        }
    }
    return true;
}

/* ---- the rules ---- */

/* Two readers, what was appended in between, and one sequence of the second. */
struct pair {
    const struct reading *last, *now;
    const struct set *rows;
    const char *cache;
    bool prefix, cached;     /* of the second reader */
    bool goes_on[SEQUENCES]; /* of the sequences of the reader before, where `prefix` */
    int32_t sequence;
    int64_t had;  /* the sequence's length at the reader before; 0: it had none */
    int32_t was;  /* its number there */
    bool anew;    /* it began with a page that a sequence which ended had first */
    char by[128]; /* the reader, where the finding is another launch's */
};

static int64_t row_at(const struct pair *pair, int64_t place)
{
    const struct reading *now = pair->now;
    const struct read *read = &now->read[now->sequence[pair->sequence].begin + place / now->page];
    return read->page * now->page + place % now->page;
}

/* Pages that a sequence read. */
static int32_t count_read_pages(const struct reading *reading, int32_t sequence)
{
    return reading->sequence[sequence + 1].begin - reading->sequence[sequence].begin;
}

/* Whether the sequence begins with all pages that `was` had at the reader before. */
static bool begins_with(const struct pair *pair, int32_t sequence, int32_t was)
{
    const struct reading *last = pair->last, *now = pair->now;
    int32_t pages = count_read_pages(last, was);
    if (!pages || count_read_pages(now, sequence) < pages ||
        now->sequence[sequence].length < last->sequence[was].length)
        return false;
    for (int32_t i = 0; i < pages; i++) {
        if (last->read[last->sequence[was].begin + i].page !=
            now->read[now->sequence[sequence].begin + i].page)
            return false;
    }
    return true;
}

/* Where sequences share pages, a sequence is known by all of them, and of those that it may be it
 * is the longest; else by its first page. False: the reader before had none such. */
static bool find_last(struct pair *pair, int32_t sequence)
{
    const struct reading *last = pair->last, *now = pair->now;
    const struct read *first =
        now->sequence[sequence].length > 0 ? read_of(last, first_page(now, sequence)) : NULL;
    bool found = !pair->prefix && first && first->number == 0;
    if (found)
        pair->was = first->sequence;
    for (int32_t was = 0; pair->prefix && first && was < last->sequences; was++) {
        if (begins_with(pair, sequence, was) &&
            (!found || last->sequence[was].length > last->sequence[pair->was].length)) {
            pair->was = was;
            found = true;
        }
    }
    return found;
}

/* It is another sequence where all of this was appended again: of pages that may be shared that on
 * the last page, the only one that may be its own. */
static bool begins_anew(const struct pair *pair)
{
    const struct reading *now = pair->now;
    int64_t place = pair->prefix ? (pair->had - 1) / now->page * now->page : 0;
    bool anew = true;
    for (; anew && now->sequence[pair->sequence].length >= pair->had && place < pair->had; place++)
        anew = set_find(pair->rows, row_at(pair, place));
    return anew;
}

static void find_pair_before(struct pair *pair, int32_t sequence)
{
    bool found = find_last(pair, sequence);
    pair->sequence = sequence;
    pair->had = found ? pair->last->sequence[pair->was].length : 0;
    pair->anew = found && begins_anew(pair);
}

static void find_going_on(struct pair *pair)
{
    for (int32_t n = 0; pair->prefix && n < pair->now->sequences; n++) {
        find_pair_before(pair, n);
        if (pair->had && !pair->anew)
            pair->goes_on[pair->was] = true;
    }
}

/* Whether all places of the page are written: those that the reader before did not read of it were
 * appended since. */
static bool is_full(const struct pair *pair, const struct read *old)
{
    const struct reading *last = pair->last;
    bool full = true;
    for (int64_t at = old->filled; full && at < last->page; at++)
        full = set_find(pair->rows, old->page * last->page + at);
    return full;
}

/* Whether a sequence that goes on had the page there. */
static bool has_owner(const struct pair *pair, const struct read *old)
{
    const struct reading *last = pair->last;
    for (int32_t was = 0; was < last->sequences; was++) {
        if (pair->goes_on[was] && old->number < count_read_pages(last, was) &&
            last->read[last->sequence[was].begin + old->number].page == old->page)
            return true;
    }
    return false;
}

/* Whether the page, which another sequence had, may be read though nothing was appended to it. */
static bool may_share_page(const struct pair *pair, const struct read *read, const struct read *old)
{
    return pair->prefix && old->number == read->number && is_full(pair, old) &&
           (pair->cached || has_owner(pair, old));
}

/* A page that is read, of which the places are held against the rules in turn. */
struct page {
    const struct read *read, *old; /* old: what read it before; NULL: nothing did */
    bool known, shared;            /* known: `shared` is what may_share_page() gave */
};

static bool is_shared(const struct pair *pair, struct page *page)
{
    if (!page->known)
        page->shared = may_share_page(pair, page->read, page->old);
    page->known = true;
    return page->shared;
}

/* Whether the sequence goes on, and had the place. */
static bool page_is_own(const struct pair *pair, const struct read *read, const struct read *old,
                        int64_t place)
{
    if (!pair->had || pair->anew)
        return false;
    return pair->prefix ? place < pair->had
                        : old->sequence == pair->was && old->number == read->number;
}

/* Whether a sequence that goes on must have appended the place. One whose pages were all full may
 * be another, which began with these pages and further ones: of that the last place alone. */
static bool is_ahead(const struct pair *pair, int64_t place)
{
    bool sure = !pair->prefix || pair->had % pair->now->page != 0;
    return pair->had && !pair->anew && place >= pair->had &&
           (sure || place == pair->now->sequence[pair->sequence].length - 1);
}

static bool place_rule(const struct pair *pair, struct page *page, int64_t at,
                       struct state_report *report)
{
    const struct reading *now = pair->now;
    const struct read *read = page->read, *old = page->old;
    int64_t place = read->number * now->page + at;
    bool appended = set_find(pair->rows, read->page * now->page + at),
         had = old && at < old->filled;
    bool own = had && page_is_own(pair, read, old, place);
    if (own && appended)
        return state_find(report, "reused",
                          "place %lld of sequence %d, in page %lld of '%s', was appended again "
                          "while the sequence goes on%s",
                          (long long)place, read->sequence, (long long)read->page, pair->cache,
                          pair->by);
    if (own || appended || (had && is_shared(pair, page)))
        return false;
    if (had)
        return state_find(report, "freed",
                          "sequence %d reads place %lld of %lld, in page %lld of '%s': entry %d of "
                          "another sequence, or of one that ended, and not appended since%s",
                          read->sequence, (long long)place,
                          (long long)now->sequence[read->sequence].length, (long long)read->page,
                          pair->cache, old->number, pair->by);
    return is_ahead(pair, place) &&
           state_find(report, "ahead",
                      "sequence %d goes on from length %lld to %lld, and nothing was appended to "
                      "place %lld, in page %lld of '%s'%s",
                      read->sequence, (long long)pair->had,
                      (long long)now->sequence[read->sequence].length, (long long)place,
                      (long long)read->page, pair->cache, pair->by);
}

static bool page_rule(const struct pair *pair, const struct read *read, struct state_report *report)
{
    struct page page = {.read = read, .old = read_of(pair->last, read->page)};
    for (int32_t at = 0; at < read->filled && read->page != pair->now->null; at++) {
        if (place_rule(pair, &page, at, report))
            return true;
    }
    return false;
}

static bool judge_pages(struct pair *pair, struct state_report *report)
{
    const struct reading *now = pair->now;
    for (int32_t n = 0; n < now->sequences; n++) {
        find_pair_before(pair, n);
        for (int32_t i = now->sequence[n].begin; i < now->sequence[n + 1].begin; i++) {
            if (page_rule(pair, &now->read[i], report))
                return true;
        }
    }
    return false;
}

/* The last reader before, of those where all in between is known; *rows is that. NULL: none. */
static const struct reading *reading_before(const struct owned_cache *cache,
                                            const struct reading *now, struct set *rows)
{
    const struct reading *best = NULL;
    for (int i = 0; i < READINGS; i++) {
        const struct reading *last = &cache->reading[i];
        bool later =
            !best || last->graph.replay > best->graph.replay ||
            (last->graph.replay == best->graph.replay &&
             (last->graph.node > best->graph.node || last->moment.appends > best->moment.appends ||
              (last->moment.appends == best->moment.appends && last->order > best->order)));
        if (later && between(cache, last, now, rows))
            best = last;
    }
    return best && between(cache, best, now, rows) ? best : NULL;
}

/* Holds each reader that was not held yet against the one before. */
static bool judge_pair(struct owned *owned, struct owned_cache *cache, const struct state_case *of,
                       struct state_report *report)
{
    bool found = false;
    for (int i = 0; i < READINGS && !found; i++) {
        struct reading *now = &cache->reading[i];
        const struct reading *last =
            now->used && !now->judged ? reading_before(cache, now, &owned->rows) : NULL;
        if (!last)
            continue;
        struct pair pair = {.last = last,
                            .now = now,
                            .rows = &owned->rows,
                            .prefix = now->prefix,
                            .cached = now->cached,
                            .cache = of->plan->array[of->plan->state->cache[0]].item->name};
        if (now->spec != check_spec(of->check) || now->launch != of->check->launch)
            snprintf(pair.by, sizeof(pair.by), ", by launch %llu of %.80s",
                     (unsigned long long)now->launch, now->spec->symbol);
        now->judged = true;
        find_going_on(&pair);
        found = judge_pages(&pair, report);
    }
    return found;
}

bool owned_rules(struct owned *owned, const struct state_case *of, struct state_report *report)
{
    const struct plan_state *state = of->plan->state;
    struct owned_cache *cache = NULL;
    if (owned && (state->append >= 0 || state->owned))
        cache = find_owned(owned, of->check->moment_of_state.cache, state->owned);
    if (!cache)
        return false;
    if (state->append >= 0)
        keep_pages(cache, of);
    else if (state->owned && state_sequences(of))
        keep_reading(cache, of);
    return judge_pair(owned, cache, of, report);
}
