/* bodies.c - see bodies.h: a list, for programs have few conditional nodes. */
#include "graph/bodies.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/uninterrupted.h"

struct conditional {
    CUgraph graph;
    CUgraphNode node;
    struct conditional *next;
    uint32_t count;
    CUgraph body[];
};

struct bodies {
    pthread_mutex_t lock;
    _Atomic(struct conditional *) first;
};

struct bodies *bodies_create(void)
{
    struct bodies *bodies = calloc(1, sizeof(*bodies));
    if (bodies)
        pthread_mutex_init(&bodies->lock, NULL);
    return bodies;
}

bool bodies_any(const struct bodies *bodies)
{
    return atomic_load_explicit(&bodies->first, memory_order_relaxed) != NULL;
}

static struct conditional *find_conditional(const struct bodies *bodies, CUgraphNode node)
{
    struct conditional *at = atomic_load(&bodies->first);
    while (at && at->node != node)
        at = at->next;
    return at;
}

static void take_out(struct bodies *bodies, struct conditional *conditional)
{
    struct conditional *before = atomic_load(&bodies->first);
    if (before == conditional) {
        atomic_store(&bodies->first, conditional->next);
        return;
    }
    while (before->next != conditional)
        before = before->next;
    before->next = conditional->next;
}

void bodies_destroy(struct bodies *bodies)
{
    struct conditional *at;
    if (!bodies)
        return;
    while ((at = atomic_load(&bodies->first)) != NULL) {
        take_out(bodies, at);
        free(at);
    }
    pthread_mutex_destroy(&bodies->lock);
    free(bodies);
}

static void remove_node(struct bodies *bodies, CUgraphNode node);

static void remove_graph(struct bodies *bodies, CUgraph graph)
{
    struct conditional *at = atomic_load(&bodies->first);
    while (at) {
        struct conditional *next = at->next;
        if (at->graph == graph) {
            remove_node(bodies, at->node);
            next = atomic_load(&bodies->first); /* those of its bodies are gone, too */
        }
        at = next;
    }
}

static void remove_node(struct bodies *bodies, CUgraphNode node)
{
    struct conditional *conditional = find_conditional(bodies, node);
    if (!conditional)
        return;
    take_out(bodies, conditional);
    for (uint32_t i = 0; i < conditional->count; i++)
        remove_graph(bodies, conditional->body[i]);
    free(conditional);
}

void bodies_added(struct bodies *bodies, CUgraph graph, CUgraphNode node, const CUgraph *body,
                  uint32_t count)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    struct conditional *made = malloc(sizeof(*made) + count * sizeof(CUgraph));
    pthread_mutex_lock(&bodies->lock);
    remove_node(bodies, node); /* an old one of that handle, whose end was not seen */
    if (made) {
        *made = (struct conditional){
            .graph = graph, .node = node, .next = atomic_load(&bodies->first), .count = count};
        memcpy(made->body, body, count * sizeof(CUgraph));
        atomic_store(&bodies->first, made);
    }
    pthread_mutex_unlock(&bodies->lock);
    uninterrupted_end(&kept);
}

void bodies_gone(struct bodies *bodies, CUgraph graph)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    pthread_mutex_lock(&bodies->lock);
    remove_graph(bodies, graph);
    pthread_mutex_unlock(&bodies->lock);
    uninterrupted_end(&kept);
}

void bodies_removed(struct bodies *bodies, CUgraphNode node)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    pthread_mutex_lock(&bodies->lock);
    remove_node(bodies, node);
    pthread_mutex_unlock(&bodies->lock);
    uninterrupted_end(&kept);
}

CUgraph bodies_find(struct bodies *bodies, CUgraphNode node, uint32_t i)
{
    if (!bodies_any(bodies))
        return NULL;
    pthread_mutex_lock(&bodies->lock);
    const struct conditional *conditional = find_conditional(bodies, node);
    CUgraph body = conditional && i < conditional->count ? conditional->body[i] : NULL;
    pthread_mutex_unlock(&bodies->lock);
    return body;
}
