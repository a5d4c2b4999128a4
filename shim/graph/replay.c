/* replay.c - one replay of a graph: which of its kernels are checked, and their way to a check. */
#include "graph/graph.h"

#include <math.h>
#include "base/clock.h"
#include "base/hot.h"
#include "gates/gates.h"
#include "gates/paying.h"

enum {
    /* Kernels of a replay that are checked together: each replay that runs the twin pays for all of
     * its nodes, so few replays with several checks cost less than many with one. */
    TOGETHER = 16,
    /* What a disabled node takes of the GPU, ns. */
    NODE_NS = 200,
    /* Probes of a replay may cost so many times as much as its disabled nodes. */
    PROBES_SHARE = 4,
    /* A node's arguments rarely change, so what keeps it from a check rarely passes. */
    MOST_TRIES = 8,
};

static bool is_on(const struct graph *graph, const struct graph_subject *subject)
{
    return !subject->changed && !graph->node[subject->node].off;
}

/* ---- which ---- */

/* The largest probability of all subjects' that are on. */
static double largest_probability(const struct graph *graph, const struct pipeline *pipeline)
{
    double most = 0;
    for (uint32_t i = 0; i < graph->counts; i++) {
        const struct graph_count *count = &graph->count[i];
        if (!count->skip && count->nodes)
            most = fmax(most, gate_probability(pipeline->gate, count->spec));
    }
    return most;
}

/* How the random gate draws: `together` subjects, spread evenly over all, in a share `replays` of
 * the replays, so that each is drawn with the probability `most`. */
struct draw {
    double most, replays;
    uint32_t together;
    uint64_t seed;
};

static struct draw draw_of(const struct graph *graph, const struct pipeline *pipeline,
                           uint64_t replay)
{
    struct draw draw = {.most = largest_probability(graph, pipeline)};
    double expected = draw.most * graph->subjects;
    uint32_t few = graph->subjects < TOGETHER ? graph->subjects : TOGETHER;
    draw.together = expected > few ? (uint32_t)ceil(expected) : few;
    draw.replays = draw.together ? expected / draw.together : 0;
    draw.seed = gate_seed_of(pipeline->gate, ((uint64_t)graph->number << 32) + 1, replay);
    return draw;
}

static double uniform(uint64_t seed)
{
    return (double)(seed >> 11) * 0x1p-53;
}

static bool replay_is_drawn(const struct draw *draw)
{
    return uniform(draw->seed) < draw->replays;
}

/* Whether some subject may be due for being new. */
static bool any_first(const struct graph *graph, const struct pipeline *pipeline)
{
    bool any = false;
    for (uint32_t i = 0; i < graph->counts && !any; i++)
        any = !graph->count[i].skip && graph->count[i].nodes &&
              gate_has_first(pipeline->gate, graph->count[i].spec);
    return any && graph->all_first != gate_generation(pipeline->gate);
}

bool replay_may_pick(const struct graph *graph, const struct pipeline *pipeline)
{
    return any_first(graph, pipeline) || largest_probability(graph, pipeline) > 0;
}

bool replay_is_picked(const struct graph *graph, const struct pipeline *pipeline, uint64_t replay)
{
    if (!graph->subjects)
        return false;
    if (replay_follows(graph, replay) || any_first(graph, pipeline))
        return true;
    struct draw draw = draw_of(graph, pipeline, replay);
    return replay_is_drawn(&draw);
}

/* Subjects that were never checked, some at a time. */
static uint32_t choose_first(struct graph *graph, const struct pipeline *pipeline)
{
    uint64_t now = gate_generation(pipeline->gate);
    uint32_t chosen = 0, left = 0;
    if (graph->all_first == now)
        return 0;
    for (uint32_t i = 0; i < graph->subjects; i++) {
        struct graph_subject *subject = &graph->subject[i];
        if (subject->first == now || !is_on(graph, subject) ||
            !gate_has_first(pipeline->gate, subject->kernel->spec))
            continue;
        left++;
        if (chosen < TOGETHER) {
            subject->chosen = true;
            chosen++;
        }
    }
    if (!left)
        graph->all_first = now;
    return chosen;
}

static uint32_t choose_drawn(struct graph *graph, const struct pipeline *pipeline, uint64_t replay,
                             bool forced)
{
    struct draw draw = draw_of(graph, pipeline, replay);
    uint32_t chosen = 0;
    if (draw.most <= 0 || (!forced && !replay_is_drawn(&draw)))
        return 0;
    uint64_t seed = gate_seed_of(pipeline->gate, ((uint64_t)graph->number << 32) + 2, replay);
    double step = (double)graph->subjects / draw.together, at = uniform(seed) * step;
    for (uint32_t i = 0; i < draw.together; i++, at += step) {
        struct graph_subject *subject = &graph->subject[(uint32_t)at % graph->subjects];
        double share = gate_probability(pipeline->gate, subject->kernel->spec) / draw.most;
        seed = gate_mix(seed, i);
        if (subject->chosen || !is_on(graph, subject) ||
            uniform((seed ^ seed >> 29) * GATE_ODD) >= share)
            continue;
        subject->chosen = true;
        chosen++;
    }
    return chosen;
}

void replay_estimate(struct graph *graph, const struct pipeline *pipeline, uint64_t replay)
{
    struct draw draw = draw_of(graph, pipeline, replay);
    for (uint32_t i = 0; i < graph->counts; i++) {
        struct graph_count *count = &graph->count[i];
        double share = !count->skip && draw.most > 0
                           ? gate_probability(pipeline->gate, count->spec) / draw.most
                           : 0;
        count->chosen = (uint32_t)(share * count->nodes * draw.together / graph->subjects + 0.5);
    }
}

/* Subjects that were checked in the replay before, and whose entry has rules for both. */
static uint32_t choose_following(struct graph *graph, uint64_t replay)
{
    uint32_t chosen = 0;
    for (uint32_t i = 0; replay_follows(graph, replay) && i < graph->subjects; i++) {
        struct graph_subject *subject = &graph->subject[i];
        subject->chosen = subject->follows == replay + 1 && is_on(graph, subject);
        chosen += subject->chosen;
    }
    return chosen;
}

/* All others that the outlier gate probes: the budget ends them, see replay_arm. */
static uint32_t choose_probed(struct graph *graph)
{
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < graph->subjects; i++) {
        struct graph_subject *subject = &graph->subject[i];
        if (subject->chosen || subject->blind || !graph->count[subject->count].detects ||
            !is_on(graph, subject))
            continue;
        subject->chosen = subject->probed = true;
        chosen++;
    }
    return chosen;
}

void replay_find_detectors(struct graph *graph, const struct pipeline *pipeline)
{
    graph->detects = false;
    for (uint32_t i = 0; i < graph->counts; i++) {
        struct graph_count *count = &graph->count[i];
        count->detects =
            count->spec && !count->skip &&
            outliers_detector(pipeline->outliers, &count->spec->outlier) != OUTLIER_OFF;
        graph->detects |= count->detects;
    }
}

/* Each launch of the twin pays for all of its nodes, so probes wait until several can be paid. */
bool replay_may_probe(const struct graph *graph, int64_t now)
{
    const struct side *side = graph->side;
    if (!graph->detects)
        return false;
    if (!side || side->probes.share <= 0)
        return true;
    double ahead = (double)graph->spliced * NODE_NS * PROBES_SHARE / side->probes.share;
    ahead = fmin(ahead, 0.5 * BUDGET_WINDOW_NS);
    return !budget_wait(&side->probes, NULL, now - (int64_t)ahead) &&
           !budget_wait_end(&side->budget, now);
}

uint32_t replay_choose(struct graph *graph, const struct pipeline *pipeline, uint64_t replay,
                       bool forced, bool probes)
{
    for (uint32_t i = 0; i < graph->counts; i++)
        graph->count[i].chosen = 0;
    for (uint32_t i = 0; i < graph->subjects; i++)
        graph->subject[i].chosen = graph->subject[i].probed = false;
    uint32_t chosen = choose_following(graph, replay);
    chosen += choose_first(graph, pipeline) + choose_drawn(graph, pipeline, replay, forced);
    if (probes)
        chosen += choose_probed(graph);
    for (uint32_t i = 0; i < graph->subjects; i++) {
        const struct graph_subject *subject = &graph->subject[i];
        if (subject->chosen)
            graph->count[subject->count].chosen++;
    }
    return chosen;
}

/* Rows of one kernel, counted for several reasons, share its symbol. */
size_t replay_names(const struct graph *graph, const char **name, size_t most)
{
    size_t names = 0;
    for (uint32_t i = 0; i < graph->counts && names < most; i++) {
        const struct known_kernel *kernel = graph->count[i].nodes ? graph->count[i].kernel : NULL;
        size_t known = 0;
        while (kernel && known < names && name[known] != kernel->symbol)
            known++;
        if (kernel && known == names)
            name[names++] = kernel->symbol;
    }
    return names;
}

/* ---- on their way ---- */

void launch_of_node(const CUDA_KERNEL_NODE_PARAMS_v2 *params, struct known_kernel *kernel,
                    struct launch *launch)
{
    *launch = (struct launch){
        .symbol = kernel->symbol,
        .function = params->func ? (const void *)params->func : (const void *)params->kern,
        .grid = {params->gridDimX, params->gridDimY, params->gridDimZ},
        .block = {params->blockDimX, params->blockDimY, params->blockDimZ},
        .shared_bytes = params->sharedMemBytes,
        .params = params->kernelParams,
        .known = kernel,
    };
    for (void **extra = params->extra; !launch->params && extra && *extra != CU_LAUNCH_PARAM_END;
         extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            launch->packed = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            launch->packed_bytes = *(size_t *)extra[1];
        else
            break;
    }
}

/* What the node runs. It borrows from the clone. */
static enum status describe_node(const struct graph_node *node, struct known_kernel *kernel,
                                 struct launch *launch, struct error *err)
{
    CUDA_KERNEL_NODE_PARAMS_v2 params = {0};
    if (cuda_check(err, cuda.cuGraphKernelNodeGetParams_v2(node->own, &params),
                   "cuGraphKernelNodeGetParams"))
        return STATUS_DRIVER;
    launch_of_node(&params, kernel, launch);
    return STATUS_OK;
}

/* A library call with the arguments that it was captured with. */
static void describe_call(const struct captured_call *call, struct launch *launch)
{
    *launch = (struct launch){
        .symbol = call->kernel->symbol,
        .function = call->kernel->symbol,
        .grid = {1, 1, 1},
        .block = {1, 1, 1},
        .packed = call->argument,
        .packed_bytes = call->bytes,
        .known = call->kernel,
        .call = call->layout,
    };
}

static enum status describe_subject(const struct graph *graph, const struct graph_subject *subject,
                                    struct launch *launch, struct error *err)
{
    if (!subject->call)
        return describe_node(&graph->node[subject->node], subject->kernel, launch, err);
    describe_call(subject->call, launch);
    return STATUS_OK;
}

/* For an entry with `after`: the launch right before this one is the node that it waits for. */
static void keep_subject(struct graph *graph, const struct graph_subject *subject,
                         const struct launch *launch)
{
    struct launch earlier;
    struct graph_node *node = subject->previous ? graph_find_node(graph, subject->previous) : NULL;
    bool is_kernel = node && node->count >= 0 && !node->off;
    struct known_kernel *kernel = is_kernel ? graph->count[node->count].kernel : NULL;
    if (kernel && describe_node(node, kernel, &earlier, NULL))
        kernel = NULL;
    if (kernel) {
        earlier.stream = launch->stream;
        earlier.context = launch->context;
    }
    earlier_note(&graph->ticket->earlier, kernel, kernel ? &earlier : launch);
}

static bool subject_is_new(const struct graph_subject *subject, const struct pipeline *pipeline)
{
    return subject->first != gate_generation(pipeline->gate) &&
           gate_has_first(pipeline->gate, subject->kernel->spec);
}

/* The first gates, as in pipeline_enter() for a launch. */
static void open_ticket(struct ticket *ticket, const struct graph_subject *subject,
                        struct pipeline *pipeline, const struct launch *launch, uint64_t replay)
{
    bool due = subject_is_new(subject, pipeline) || subject->follows == replay + 1;
    ticket->began = clock_ns();
    ticket->account.budget = ticket->account.probes = NULL;
    ticket->kernel = subject->kernel;
    ticket->torn = ticket->blind = false;
    ticket->drawn = due ? GATE_FIRST : subject->probed ? GATE_NO : GATE_RANDOM;
    ticket->skip = gates_select(pipeline, launch, ticket);
}

/* What is enqueued behind a launch: the projection, where it is to be, and the copy that seals. */
static enum status enqueue_behind(const struct launch *launch, struct ticket *ticket,
                                  struct error *why)
{
    bool taken;
    struct error other = {{0}};
    if (ticket->projection.wanted &&
        project_enqueue(ticket->side, ticket->check, &ticket->projection, launch, &taken, &other)) {
        error_set(why, STATUS_DRIVER, "%s", other.text);
        return STATUS_DRIVER;
    }
    return pipeline_enqueue_after(ticket, launch, why);
}

/* All that goes beside the launch is put into the twin's nodes. */
static enum skip arm_copies(struct twin_place *place, struct pipeline *pipeline,
                            const struct launch *launch, struct ticket *ticket, struct error *why)
{
    enum skip skip = pipeline_begin(pipeline, launch, ticket);
    if (skip)
        return place->lacked ? SKIP_GRAPH : skip;
    place->part = TWIN_AFTER;
    if (!ticket->torn && !enqueue_behind(launch, ticket, why))
        return SKIP_NONE;
    side_release(ticket->side, ticket->check);
    return place->lacked ? SKIP_GRAPH : SKIP_DRIVER;
}

/* Whether the budget postponed it, as it does with dear checks alone (kernel_spec.guess). */
static bool is_postponed(const struct ticket *ticket, enum skip skip)
{
    return skip == SKIP_BUDGET && ticket->account.dear;
}

/* It is not checked: no longer due for being new, unless that may pass. */
static void note_skipped(struct graph_subject *subject, const struct pipeline *pipeline,
                         const struct ticket *ticket, enum skip skip)
{
    subject->blind |= ticket->blind;
    if (!subject->probed && !is_postponed(ticket, skip) &&
        (!gates_may_pass(skip) || ++subject->tries >= MOST_TRIES))
        subject->first = gate_generation(pipeline->gate);
}

static void note_checked(struct graph *graph, struct graph_subject *subject,
                         const struct pipeline *pipeline, uint64_t replay)
{
    subject->first = gate_generation(pipeline->gate);
    if (subject->has_state && subject->follows != replay + 1) {
        subject->follows = replay + 2;
        graph->follows = replay + 2;
    }
}

/* Returns what became of it. */
static enum skip arm_subject(struct graph *graph, struct graph_subject *subject,
                             struct pipeline *pipeline, const struct launch *where, uint64_t replay)
{
    struct ticket *ticket = graph->ticket;
    struct error why = {{0}};
    struct twin_place place;
    struct launch launch;
    const struct sink *sink = pipeline->sink;
    ledger_seen(sink);
    enum skip skip = SKIP_DRIVER;
    if (!describe_subject(graph, subject, &launch, &why)) {
        launch.context = where->context;
        launch.stream = where->stream;
        launch.replayed = &place.replayed;
        twin_place_open(&place, graph, subject, replay);
        open_ticket(ticket, subject, pipeline, &launch, replay);
        if (subject->kernel->spec->after >= 0)
            keep_subject(graph, subject, &launch);
        skip = ticket->skip = arm_copies(&place, pipeline, &launch, ticket, &why);
        paying_begins(pipeline, &launch, ticket);
        graph->lacks_nodes |= place.lacked;
    }
    if (skip) {
        note_skipped(subject, pipeline, ticket, skip);
        twin_disarm(graph, subject);
        if (why.text[0])
            pipeline_warn(pipeline, subject->kernel, skip, why.text);
        ledger_skip(sink, subject->kernel->spec, skip);
        return skip;
    }
    if (ticket->gate.result != GATE_OUTLIER)
        note_checked(graph, subject, pipeline, replay);
    graph->armed[graph->armed_count++] = (struct graph_armed){ticket->side, ticket->check};
    return SKIP_NONE;
}

static void pay_nodes(const struct graph *graph, bool probed)
{
    int64_t now = clock_ns(), cost = (int64_t)graph->spliced * NODE_NS;
    ledger_add(&graph->side->budget, now, cost);
    if (probed)
        ledger_add(&graph->side->probes, now, cost);
}

/* Whether all subjects with rules between launches are chosen, and are armed in their order. */
static bool replay_is_whole(const struct graph *graph, uint32_t begin)
{
    bool whole = graph->has_states && begin == 0;
    for (uint32_t i = 0; whole && i < graph->subjects; i++) {
        const struct graph_subject *subject = &graph->subject[i];
        whole = !subject->has_state || subject->chosen || !is_on(graph, subject);
    }
    return whole;
}

/* In the order of the nodes, so that numbers of launches are those of the program run eagerly.
 * Where the budget ends all that are left yield to it, but for those that are new; the next replay
 * begins with the first of them. A dear check that it postpones ends nothing. */
void replay_arm(struct graph *graph, struct pipeline *pipeline, const void *stream,
                CUcontext context, uint64_t replay)
{
    const struct launch where = {.stream = stream, .context = context};
    const struct sink *sink = pipeline->sink;
    bool spent = false, probed = false;
    uint32_t begin = graph->begin;
    graph->armed_count = 0;
    graph->begin = 0;
    graph->whole = replay_is_whole(graph, begin);
    for (uint32_t i = 0; i < graph->subjects; i++) {
        uint32_t at = (begin + i) % graph->subjects;
        struct graph_subject *subject = &graph->subject[at];
        if (!subject->chosen)
            continue;
        if (spent && !subject_is_new(subject, pipeline) && subject->follows != replay + 1)
            ledger_count(sink, subject->kernel->spec, SKIP_BUDGET, 1);
        else if (arm_subject(graph, subject, pipeline, &where, replay) == SKIP_BUDGET && !spent &&
                 !is_postponed(graph->ticket, SKIP_BUDGET)) {
            spent = true;
            graph->begin = at;
        }
        probed |= subject->probed;
    }
    if (graph->armed_count)
        pay_nodes(graph, probed);
}

/* The driver refused the launch: nothing of ours is under way. */
static void end_armed(struct pipeline *pipeline, struct side *side, struct check *check)
{
    const struct sink *sink = pipeline->sink;
    paying_back(pipeline, check);
    gate_return(check->gate.turn);
    side_release(side, check);
    ledger_skip(sink, check->kernel->spec, SKIP_LAUNCH_FAILED);
}

void replay_launched(struct graph *graph, struct pipeline *pipeline, CUresult result)
{
    for (uint32_t i = 0; i < graph->armed_count; i++) {
        struct side *side = graph->armed[i].side;
        struct check *check = graph->armed[i].check;
        if (result) {
            end_armed(pipeline, side, check);
            continue;
        }
        check->module.moment = images_moment(pipeline->images);
        side_submit(side, check, CHECK_SUBMITTED);
    }
    if (graph->armed_count)
        collector_wake(pipeline->collector);
    graph->armed_count = 0;
}
