/* graph_conditional.c - see graph_conditional.h. */
#include "driver/graph/graph_conditional.h"

#include <stdlib.h>
#include "driver/context/device.h"
#include "driver/base/newer_values.h"
#include "driver/base/settings.h"
#include "exec/exec.h"
#include "impls.h"

enum { MOST_CONDITIONS = 1024, HANDLE_BASE = 0x5000 };

struct condition {
    atomic_uint value;
    unsigned initial;
    bool assign; /* each launch begins with the initial value */
    bool used;   /* by a node */
};

static struct condition conditions[MOST_CONDITIONS];
static unsigned condition_count;

static struct condition *find(CUgraphConditionalHandle handle)
{
    cuuint64_t i = handle - HANDLE_BASE;
    return handle >= HANDLE_BASE && i < condition_count ? &conditions[i] : NULL;
}

static void set_condition(uint64_t handle, unsigned value)
{
    struct condition *condition = find(handle);
    if (condition)
        atomic_store(&condition->value, value);
}

CUresult impl_cuGraphConditionalHandleCreate(const struct call *call,
                                             cuGraphConditionalHandleCreate_params *p)
{
    struct section section;
    section_begin(&section, call->context);
    if (!p->pHandle_out || !graph_find(p->hGraph) || p->flags > CU_GRAPH_COND_ASSIGN_DEFAULT)
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    if (condition_count == MOST_CONDITIONS)
        softgpu_abort("too many conditional handles");
    exec_set_condition = set_condition;
    *p->pHandle_out = HANDLE_BASE + condition_count;
    conditions[condition_count++] = (struct condition){
        .initial = p->defaultLaunchValue, .assign = p->flags == CU_GRAPH_COND_ASSIGN_DEFAULT};
    return section_end(&section, CUDA_SUCCESS);
}

static bool size_fits(const CUDA_CONDITIONAL_NODE_PARAMS *params)
{
    if (params->type == CU_GRAPH_COND_TYPE_SWITCH)
        return params->size > 0;
    return params->size == 1 || (params->type == CU_GRAPH_COND_TYPE_IF && params->size == 2);
}

static struct conditional *with_room(CUgraphConditionalNodeType type, struct condition *condition,
                                     unsigned count)
{
    struct conditional *conditional = must_allocate(1, sizeof(*conditional));
    *conditional =
        (struct conditional){.type = type,
                             .condition = condition,
                             .count = count,
                             .body = must_allocate(count, sizeof(*conditional->body)),
                             .handle = must_allocate(count, sizeof(*conditional->handle))};
    return conditional;
}

static void set_body(struct conditional *conditional, unsigned i, struct graph *body)
{
    body->owned = true;
    conditional->body[i] = body;
    conditional->handle[i] = body->handle;
}

struct conditional *conditional_new(struct section *section,
                                    const CUDA_CONDITIONAL_NODE_PARAMS *params)
{
    struct condition *condition = find(params->handle);
    if (!condition || condition->used || params->type > CU_GRAPH_COND_TYPE_SWITCH ||
        !size_fits(params))
        return NULL;
    condition->used = true;
    struct conditional *made = with_room(params->type, condition, params->size);
    for (unsigned i = 0; i < made->count; i++)
        set_body(made, i, graph_new(section, NULL));
    return made;
}

struct conditional *conditional_copy(struct section *section, const struct conditional *from)
{
    struct conditional *made = with_room(from->type, from->condition, from->count);
    for (unsigned i = 0; i < made->count; i++)
        set_body(made, i, graph_copy(section, from->body[i]));
    return made;
}

void conditional_free(struct section *section, struct conditional *conditional)
{
    for (unsigned i = 0; i < conditional->count; i++)
        graph_free(section, conditional->body[i]);
    free(conditional->body);
    free(conditional->handle);
    free(conditional);
}

void condition_reset(struct condition *condition)
{
    if (condition->assign)
        atomic_store(&condition->value, condition->initial);
}

unsigned condition_value(const struct condition *condition)
{
    return atomic_load(&condition->value);
}
