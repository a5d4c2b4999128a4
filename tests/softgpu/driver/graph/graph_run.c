/* graph_run.c - what a launch of an instance runs: the nodes as steps in an order that their edges
 * allow. */
#include <stdint.h>
#include <stdlib.h>
#include "driver/context/device.h"
#include "driver/graph/graph.h"
#include "driver/graph/graph_conditional.h"
#include "driver/graph/graph_exec.h"
#include "driver/base/settings.h"

struct step {
    struct shared_work *work; /* NULL: nothing to do (empty, disabled, the ends of a child graph) */
    struct context *context;
    const struct conditional *conditional; /* of the instance's body, which outlives the program */
    struct program **body;                 /* of each of its bodies */
    size_t missing;                        /* how many steps it waits for */
    size_t *next;                          /* the steps that wait for it */
    size_t next_count, next_room;
};

struct program {
    atomic_uint owners;
    struct step *steps;
    size_t count, room;
};

static size_t add_step(struct program *program, struct shared_work *work, struct context *context)
{
    program->steps =
        must_grow(program->steps, program->count, &program->room, sizeof(*program->steps));
    program->steps[program->count] =
        (struct step){.work = shared_work_hold(work), .context = context};
    return program->count++;
}

static void order(struct program *program, size_t before, size_t after)
{
    struct step *step = &program->steps[before];
    step->next = must_grow(step->next, step->next_count, &step->next_room, sizeof(*step->next));
    step->next[step->next_count++] = after;
    program->steps[after].missing++;
}

static void add_bodies(struct step *step, const struct conditional *conditional)
{
    step->conditional = conditional;
    step->body = must_allocate(conditional->count, sizeof(*step->body));
    for (unsigned i = 0; i < conditional->count; i++)
        step->body[i] = program_new(conditional->body[i]);
}

/* A child graph lies between two empty steps: `first` before all of its nodes, `last` behind them.
 */
static void add_graph(struct program *program, const struct graph *graph, size_t first, size_t last)
{
    size_t *begin = must_allocate(2 * graph->count, sizeof(*begin)), *end = begin + graph->count;
    for (size_t i = 0; i < graph->count; i++) {
        const struct node *node = graph->nodes[i];
        begin[i] = end[i] = add_step(program, node->enabled ? node->work : NULL, node->context);
        if (node->conditional)
            add_bodies(&program->steps[begin[i]], node->conditional);
        if (node->child) {
            end[i] = add_step(program, NULL, NULL);
            order(program, begin[i], end[i]);
            add_graph(program, node->child, begin[i], end[i]);
        }
    }
    for (size_t i = 0; i < graph->count; i++) {
        const struct node *node = graph->nodes[i];
        for (size_t k = 0; k < node->in.count; k++)
            order(program, end[node->in.at[k].node->index], begin[i]);
        if (node->in.count == 0)
            order(program, first, begin[i]);
        if (node->out.count == 0)
            order(program, end[i], last);
    }
    free(begin);
}

struct program *program_new(const struct graph *body)
{
    struct program *program = must_allocate(1, sizeof(*program));
    atomic_init(&program->owners, 1);
    size_t first = add_step(program, NULL, NULL), last = add_step(program, NULL, NULL);
    add_graph(program, body, first, last);
    return program;
}

struct program *program_hold(struct program *program)
{
    atomic_fetch_add_explicit(&program->owners, 1, memory_order_relaxed);
    return program;
}

void program_drop(struct section *section, struct program *program)
{
    if (!program || atomic_fetch_sub_explicit(&program->owners, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < program->count; i++) {
        const struct step *step = &program->steps[i];
        section_drop(section, step->work);
        for (unsigned k = 0; step->conditional && k < step->conditional->count; k++)
            program_drop(section, step->body[k]);
        free(step->body);
        free(program->steps[i].next);
    }
    free(program->steps);
    free(program);
}

/* From the seed and the number of the run; never 0. */
static uint64_t first_draw(uint64_t seed)
{
    static _Atomic uint64_t runs;
    return (seed + atomic_fetch_add(&runs, 1)) * 0x9e3779b97f4a7c15u | 1;
}

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static CUresult run_steps(const struct program *program, struct context *context);

/* The body that the value picks; of a loop, as often as it does. */
static CUresult run_conditional(const struct step *step, struct context *context)
{
    const struct conditional *conditional = step->conditional;
    const atomic_bool *stop = stream_stop_flag(context);
    CUresult result = CUDA_SUCCESS;
    unsigned value = condition_value(conditional->condition), pick = value;
    if (conditional->type == CU_GRAPH_COND_TYPE_WHILE) {
        while (!result && condition_value(conditional->condition) && !atomic_load(stop))
            result = run_steps(step->body[0], context);
        return result;
    }
    if (conditional->type == CU_GRAPH_COND_TYPE_IF)
        pick = value ? 0 : 1;
    return pick < conditional->count ? run_steps(step->body[pick], context) : CUDA_SUCCESS;
}

static CUresult run_step(const struct step *step, struct context *context)
{
    if (step->conditional)
        return run_conditional(step, context);
    if (!step->work)
        return CUDA_SUCCESS;
    if (step->context && !context_is_alive(step->context))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    const struct work *work = &step->work->work;
    return work->type->run(step->context ? step->context : context, work->data);
}

static CUresult run_steps(const struct program *program, struct context *context)
{
    CUresult result = CUDA_SUCCESS;
    uint64_t seed = settings()->seed, state = seed ? first_draw(seed) : 0;
    size_t *missing = must_allocate(2 * program->count, sizeof(*missing));
    size_t *ready = missing + program->count, done = 0, count = 0;
    for (size_t i = 0; i < program->count; i++) {
        missing[i] = program->steps[i].missing;
        if (missing[i] == 0)
            ready[count++] = i;
    }
    const atomic_bool *stop = stream_stop_flag(context);
    while (!result && done < count && !atomic_load(stop)) {
        size_t pick = seed ? done + draw(&state) % (count - done) : done, at = ready[pick];
        ready[pick] = ready[done];
        ready[done++] = at;
        const struct step *step = &program->steps[at];
        result = run_step(step, context);
        for (size_t i = 0; i < step->next_count; i++) {
            if (--missing[step->next[i]] == 0)
                ready[count++] = step->next[i];
        }
    }
    free(missing);
    return result;
}

static void reset_conditions(const struct program *program)
{
    for (size_t i = 0; i < program->count; i++) {
        const struct step *step = &program->steps[i];
        if (!step->conditional)
            continue;
        condition_reset(step->conditional->condition);
        for (unsigned k = 0; k < step->conditional->count; k++)
            reset_conditions(step->body[k]);
    }
}

CUresult program_run(const struct program *program, struct context *context)
{
    reset_conditions(program);
    return run_steps(program, context);
}
