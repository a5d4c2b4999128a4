#include "tools/discover/trial/probing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "lang/dtype.h"

enum { MOST_LOST = 4, UNKNOWN_SIZE = 4, ADDRESS_SIZE = 8 };

/* Memory from a pointer to the next one, or to the end of the region. */
struct span {
    size_t region;
    uint64_t begin, bytes; /* in the region */
    enum dtype dtype;
    unsigned size;            /* bytes of an element */
    bool bare;                /* no parameter leads there */
    enum poison_apart steady; /* how far two runs of the same are apart */
    bool fatal;               /* with another content the launch fails */
    unsigned poison;          /* the content that makes a difference elsewhere */
    struct probed probed;
};

struct probing {
    struct rerun *rerun;
    struct facts *facts;
    struct probing_report *report;
    const struct seen_sample *sample;
    struct span span[SEEN_POINTERS];
    unsigned spans;
    struct rerun_run base;
    uint8_t *held; /* what a region is given */
    unsigned lost; /* launches that ended a worker */
    int64_t until;
};

/* ---- spans ---- */

static enum dtype dtype_at(const struct probing *p, uint64_t address)
{
    for (unsigned i = 0; i < p->facts->count; i++) {
        const struct fact *fact = &p->facts->fact[i];
        const struct seen_pointer *pointer = seen_pointer_at(p->sample, fact->offset);
        if (fact->kind == FACT_ARRAY && pointer && pointer->address == address)
            return fact->dtype;
    }
    return DTYPE_NONE;
}

/* Whether the first word of the array is an address. */
static bool lists(const struct probing *p, const struct seen_region *region, uint64_t begin)
{
    uint64_t word = 0;
    if (begin + sizeof word <= region->bytes)
        memcpy(&word, region->before + begin, sizeof word);
    return seen_memory(p->sample, word) != NULL;
}

static void add_span(struct probing *p, size_t number, uint64_t begin, bool bare)
{
    const struct seen_region *region = &p->sample->region[number];
    uint64_t end = region->bytes;
    for (size_t i = 0; i < p->sample->pointers; i++) {
        uint64_t next = p->sample->pointer[i].address - region->address;
        end = next > begin && next < end ? next : end;
    }
    for (unsigned i = 0; i < p->spans; i++) {
        if (p->span[i].region == number && p->span[i].begin == begin)
            return;
    }
    if (p->spans == SEEN_POINTERS)
        return;
    enum dtype dtype = dtype_at(p, region->address + begin);
    struct span span = {.region = number, .begin = begin, .bytes = end - begin, .bare = bare};
    bool address = !dtype_is_real(dtype) && lists(p, region, begin);
    span.dtype = address ? DTYPE_I64 : dtype;
    span.size = address ? ADDRESS_SIZE : dtype_bytes(dtype);
    span.size = span.size ? span.size : UNKNOWN_SIZE;
    p->span[p->spans++] = span;
}

static void find_spans(struct probing *p)
{
    p->spans = 0;
    for (size_t r = 0; r < p->sample->regions; r++) {
        const struct seen_region *region = &p->sample->region[r];
        bool some = false;
        for (size_t i = 0; i < p->sample->pointers; i++) {
            uint64_t at = p->sample->pointer[i].address - region->address;
            if (at >= region->bytes)
                continue;
            add_span(p, r, at, false);
            some = true;
        }
        if (!some)
            add_span(p, r, 0, true);
    }
}

static struct poison_run bytes_of(const struct span *span, const struct rerun_run *run)
{
    return (struct poison_run){run->held[span->region] + span->begin,
                               run->after[span->region] + span->begin};
}

/* ---- the launch as it was ---- */

static void blame(struct probing *p, const char *why, const char *sentence)
{
    if (!*p->report->sentence)
        snprintf(p->report->sentence, sizeof p->report->sentence, "%s%s", why, sentence);
}

/* How far the launch is from what was recorded. */
static enum poison_apart against_record(struct probing *p)
{
    enum poison_apart most = APART_NOT;
    for (unsigned i = 0; i < p->spans; i++) {
        const struct span *span = &p->span[i];
        const uint8_t *recorded = p->sample->region[span->region].after + span->begin;
        struct poison_run run = bytes_of(span, &p->base);
        enum poison_apart apart = poison_compare(span->dtype, recorded, run.after, span->bytes);
        if (span->steady != APART_FAR && apart > most)
            most = apart;
    }
    return most;
}

/* Runs it twice. Whether the launch can be used. */
static bool run_base(struct probing *p)
{
    struct error err = {{0}};
    struct rerun_run again;
    if (rerun_launch(p->rerun, -1, NULL, &p->base, &err)) {
        blame(p, "", err.text);
        return false;
    }
    if (p->base.outcome != WORKER_RAN) {
        blame(p, "its launch fails there: ", p->base.sentence);
        return false;
    }
    if (p->base.outside) {
        blame(p, "it writes outside the memory that was recorded", "");
        return false;
    }
    if (rerun_launch(p->rerun, -1, NULL, &again, &err))
        return false;
    bool ran = again.outcome == WORKER_RAN;
    for (unsigned i = 0; ran && i < p->spans; i++) {
        struct span *span = &p->span[i];
        span->steady = poison_compare(span->dtype, bytes_of(span, &p->base).after,
                                      bytes_of(span, &again).after, span->bytes);
    }
    rerun_release(&again);
    return ran;
}

static bool judge_base(struct probing *p)
{
    enum poison_apart apart = against_record(p);
    if (apart == APART_FAR) {
        blame(p,
              "the others need more than parameters and memory, such as a variable of the module",
              "");
        return false;
    }
    p->report->same += apart == APART_NOT;
    p->report->rounded += apart == APART_ROUNDING;
    return true;
}

/* ---- other contents ---- */

static bool is_over(struct probing *p)
{
    bool over = p->lost >= MOST_LOST || clock_ns() > p->until;
    p->report->late |= over;
    return over;
}

static bool span_differs(const struct probing *p, const struct span *span,
                         const struct rerun_run *run)
{
    struct poison_run base = bytes_of(span, &p->base), other = bytes_of(span, run);
    if (span->steady == APART_FAR || !poison_differs(&base, &other, span->bytes))
        return false;
    return span->steady == APART_NOT ||
           poison_compare(span->dtype, base.after, other.after, span->bytes) == APART_FAR;
}

/* Whether results of arrays other than `but` are others; NULL: of all. */
static bool differs(const struct probing *p, const struct span *but, const struct rerun_run *run)
{
    for (unsigned i = 0; i < p->spans; i++) {
        if (&p->span[i] != but && span_differs(p, &p->span[i], run))
            return true;
    }
    return false;
}

/* With the content `bytes` in part of an array; the rest of the region is as recorded. False: no
 * run was made, or the worker failed. */
static bool run_with(struct probing *p, const struct span *span, const uint8_t *bytes,
                     uint64_t from, uint64_t to, struct rerun_run *run)
{
    const struct seen_region *region = &p->sample->region[span->region];
    if (is_over(p))
        return false;
    memcpy(p->held, region->before, region->bytes);
    memcpy(p->held + span->begin + from, bytes + from, to - from);
    if (rerun_launch(p->rerun, (int)span->region, p->held, run, NULL))
        return false;
    p->lost += run->outcome == WORKER_FAULTED || run->outcome == WORKER_HUNG;
    return true;
}

/* A run keeps its content by reference: a copy of the array's. For free(). */
static uint8_t *poison_of(const struct probing *p, const struct span *span, unsigned number)
{
    const uint8_t *held = p->sample->region[span->region].before + span->begin;
    uint8_t *out = malloc(span->bytes + 1);
    if (out)
        poison_make(span->dtype, span->size, held, span->bytes, number, out);
    return out;
}

/* Which elements of the array are written, and which of them depend on what it held. */
static void find_written(struct span *span, const struct poison_run *run, unsigned runs)
{
    struct poison_marks kept;
    struct probed *probed = &span->probed;
    poison_written(run, runs, span->bytes, span->size, &probed->written, &kept);
    bool dense =
        probed->written.elements * span->size == probed->written.end - probed->written.begin;
    bool far = false;
    for (unsigned i = 1; i < runs && dense; i++)
        far |= poison_compare(span->dtype, run[0].after + probed->written.begin,
                              run[i].after + probed->written.begin,
                              probed->written.end - probed->written.begin) == APART_FAR;
    if (span->steady == APART_FAR || (span->steady == APART_ROUNDING && dense && !far))
        kept = (struct poison_marks){0};
    probed->writes = probed->written.elements > 0;
    probed->keeps = kept.elements > 0;
    probed->read = kept;
}

/* Both contents. False: there is no time for it. */
static bool poison_span(struct probing *p, struct span *span)
{
    struct poison_run seen[1 + POISONS] = {bytes_of(span, &p->base)};
    struct rerun_run run[POISONS] = {{0}};
    uint8_t *content[POISONS] = {NULL};
    unsigned runs = 0;
    bool made = true;
    for (; runs < POISONS && made && !span->fatal; runs++) {
        content[runs] = poison_of(p, span, runs);
        made = content[runs] && run_with(p, span, content[runs], 0, span->bytes, &run[runs]);
        if (!made)
            break;
        span->fatal = run[runs].outcome != WORKER_RAN;
        if (span->fatal)
            break;
        /* What the region held is the probing's own buffer: the array's part is in `content`. */
        seen[1 + runs] = (struct poison_run){content[runs], bytes_of(span, &run[runs]).after};
        if (differs(p, span, &run[runs]) && !span->probed.elsewhere) {
            span->probed.elsewhere = true;
            span->poison = runs;
        }
    }
    if (made)
        find_written(span, seen, 1 + (runs < POISONS ? runs : POISONS));
    span->probed.reads = span->probed.keeps || span->probed.elsewhere || span->fatal;
    span->probed.known = made;
    for (unsigned i = 0; i < POISONS; i++) {
        rerun_release(&run[i]);
        free(content[i]);
    }
    return made;
}

/* Whether what is written is what the array held and something more. */
static void find_sum(struct probing *p, struct span *span)
{
    const struct seen_region *region = &p->sample->region[span->region];
    uint8_t *small = malloc(span->bytes + 1);
    struct rerun_run run = {0};
    if (small && span->probed.keeps && !span->probed.elsewhere &&
        poison_small(span->dtype, region->before + span->begin, span->bytes, small) &&
        run_with(p, span, small, 0, span->bytes, &run)) {
        struct poison_run base = bytes_of(span, &p->base);
        struct poison_run other = {small, run.after[span->region]};
        if (run.outcome == WORKER_RAN) {
            other.after += span->begin;
            span->probed.adds = poison_adds(span->dtype, &base, &other, span->bytes);
        }
    }
    rerun_release(&run);
    free(small);
}

/* ---- the range that is read ---- */

/* Whether another content of elements [from, to) makes a difference; -1: the time is over. */
static int matters(struct probing *p, const struct span *span, const uint8_t *content,
                   uint64_t from, uint64_t to)
{
    struct rerun_run run;
    uint64_t end = to * span->size < span->bytes ? to * span->size : span->bytes;
    if (!run_with(p, span, content, from * span->size, end, &run))
        return -1;
    int result = run.outcome != WORKER_RAN || differs(p, NULL, &run);
    rerun_release(&run);
    return result;
}

/* The first element that matters, or with `last` one past the last; 0 .. count, -1: the time is
 * over. All together matter. */
static int64_t find_edge(struct probing *p, const struct span *span, const uint8_t *content,
                         bool last)
{
    uint64_t count = (span->bytes + span->size - 1) / span->size, low = 0, high = count;
    for (bool first = true; high - low > 1; first = false) {
        uint64_t middle = first ? (last ? count - 1 : 1) : low + (high - low) / 2;
        int found =
            last ? matters(p, span, content, middle, count) : matters(p, span, content, 0, middle);
        if (found < 0)
            return -1;
        if (last ? found : !found)
            low = middle;
        else
            high = middle;
    }
    return (int64_t)(last ? high : low);
}

static void find_edges(struct probing *p, struct span *span)
{
    struct probed *probed = &span->probed;
    probed->edges = probed->keeps && !probed->elsewhere; /* those of the written elements */
    if (!probed->reads || probed->edges)
        return;
    probed->read = (struct poison_marks){.end = span->bytes};
    uint8_t *content = span->fatal ? NULL : poison_of(p, span, span->poison);
    int64_t begin = content ? find_edge(p, span, content, false) : -1;
    int64_t end = begin >= 0 ? find_edge(p, span, content, true) : -1;
    free(content);
    if (end < 0)
        return;
    uint64_t bytes = (uint64_t)end * span->size;
    probed->read.begin = (uint64_t)begin * span->size;
    probed->read.end = bytes < span->bytes ? bytes : span->bytes;
    probed->edges = true;
}

/* ---- results ---- */

/* Memory that addresses in the array lead to. */
static void find_reached(const struct probing *p, struct span *span)
{
    const uint8_t *held = p->sample->region[span->region].before + span->begin;
    bool counted[SEEN_POINTERS] = {false};
    for (uint64_t at = 0; at + 8 <= span->bytes; at += 8) {
        uint64_t word;
        memcpy(&word, held + at, sizeof word);
        for (unsigned i = 0; i < p->spans; i++) {
            const struct span *other = &p->span[i];
            uint64_t begin = p->sample->region[other->region].address;
            if (!other->bare || word - begin >= other->bytes || counted[i])
                continue;
            counted[i] = true;
            span->probed.reached.places++;
            span->probed.reached.bytes += other->bytes;
            span->probed.reached.reads |= other->probed.reads;
            span->probed.reached.writes |= other->probed.writes;
        }
    }
}

static void hand_over(struct probing *p, unsigned launch)
{
    for (unsigned i = 0; i < p->spans; i++) {
        p->span[i].probed.bytes = p->span[i].bytes;
        if (!p->span[i].bare)
            find_reached(p, &p->span[i]);
    }
    for (unsigned f = 0; f < p->facts->count; f++) {
        struct fact *fact = &p->facts->fact[f];
        const struct seen_pointer *pointer = seen_pointer_at(p->sample, fact->offset);
        for (unsigned i = 0; i < p->spans && pointer && fact->kind == FACT_ARRAY; i++) {
            const struct span *span = &p->span[i];
            uint64_t address = p->sample->region[span->region].address + span->begin;
            if (address == pointer->address)
                fact->probed[launch] = span->probed;
        }
    }
}

static void probe_spans(struct probing *p)
{
    bool time = true;
    for (unsigned i = 0; i < p->spans && time; i++)
        time = poison_span(p, &p->span[i]);
    for (unsigned i = 0; i < p->spans && time; i++)
        find_sum(p, &p->span[i]);
    for (unsigned i = 0; i < p->spans; i++)
        find_edges(p, &p->span[i]);
}

static void probe_launch(struct probing *p, unsigned launch)
{
    struct error err = {{0}};
    uint64_t most = 0;
    p->lost = 0;
    p->sample = p->facts->kernel->sample[launch];
    find_spans(p);
    if (rerun_take(p->rerun, p->facts->kernel, p->sample, &err)) {
        blame(p, "", err.text);
        return;
    }
    for (size_t i = 0; i < p->sample->regions; i++)
        most = p->sample->region[i].bytes > most ? p->sample->region[i].bytes : most;
    p->held = malloc(most + 1);
    if (p->held && run_base(p) && judge_base(p)) {
        probe_spans(p);
        hand_over(p, launch);
    }
    rerun_release(&p->base);
    free(p->held);
}

void probing_run(struct rerun *rerun, struct facts *facts, const struct probing_settings *settings,
                 struct probing_report *report)
{
    struct probing *p = calloc(1, sizeof *p);
    const struct seen_kernel *kernel = facts->kernel;
    unsigned number = 0;
    *report = (struct probing_report){0};
    for (unsigned i = 0; i < kernel->samples; i++)
        report->launches += kernel->sample[i]->regions > 0;
    for (unsigned i = 0; p && i < kernel->samples; i++) {
        int64_t now = clock_ns();
        if (!kernel->sample[i]->regions)
            continue;
        if (now >= settings->until) {
            report->late = true;
            break;
        }
        if (settings->progress)
            settings->progress(settings->user, number, report->launches);
        p->rerun = rerun;
        p->facts = facts;
        p->report = report;
        p->until = now + (settings->until - now) / (report->launches - number++);
        probe_launch(p, i);
    }
    free(p);
}
