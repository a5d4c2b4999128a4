/* capture_data.c - capture sequences as data. */
#include "driver/stream/capture_data.h"

#include <stdlib.h>
#include "driver/graph/graph.h"

struct capture *captures;

uint64_t capture_thread(void)
{
    static _Atomic uint64_t threads;
    static _Thread_local uint64_t mine;
    if (mine == 0)
        mine = atomic_fetch_add(&threads, 1) + 1;
    return mine;
}

struct capture *capture_begin(struct section *section, struct stream *stream,
                              CUstreamCaptureMode mode, struct graph *graph)
{
    static uint64_t last_id;
    struct capture *capture = must_allocate(1, sizeof(*capture));
    capture->id = ++last_id;
    capture->mode = mode;
    capture->thread = capture_thread();
    capture->origin = stream;
    capture->to_graph = graph != NULL;
    capture->graph = graph ? graph : graph_new(section, NULL);
    capture->graph->capturing = true;
    capture->graph->owned = true;
    for (size_t i = 0; i < capture->graph->count; i++)
        capture->graph->nodes[i]->capture_joins = false;
    capture->next = captures;
    captures = capture;
    capture_join(capture, stream);
    return capture;
}

static void member_free(struct member *member)
{
    free(member->waits.at);
    free(member->shown);
    free(member->shown_data);
    free(member);
}

void capture_free(struct capture *capture)
{
    struct capture **at = &captures;
    while (*at != capture)
        at = &(*at)->next;
    *at = capture->next;
    for (size_t i = 0; i < capture->count; i++) {
        stream_set_capture(capture->members[i]->stream, NULL);
        member_free(capture->members[i]);
    }
    capture->graph->capturing = false;
    capture->graph->owned = false;
    free(capture->members);
    free(capture->orphans);
    free(capture);
}

struct capture *capture_find(uint64_t id)
{
    struct capture *capture = captures;
    while (capture && capture->id != id)
        capture = capture->next;
    return capture;
}

struct member *capture_member(struct capture *capture, const struct stream *stream)
{
    for (size_t i = 0; i < capture->count; i++) {
        if (capture->members[i]->stream == stream)
            return capture->members[i];
    }
    return NULL;
}

struct member *capture_join(struct capture *capture, struct stream *stream)
{
    struct member *member = must_allocate(1, sizeof(*member));
    member->stream = stream;
    capture->members =
        must_grow(capture->members, capture->count, &capture->room, sizeof(struct member *));
    capture->members[capture->count++] = member;
    stream_set_capture(stream, capture);
    return member;
}

void capture_leave(struct capture *capture, struct stream *stream)
{
    size_t at = 0;
    while (at < capture->count && capture->members[at]->stream != stream)
        at++;
    if (at == capture->count)
        return;
    struct member *member = capture->members[at];
    for (size_t i = 0; i < member->waits.count; i++) {
        capture->orphans = must_grow(capture->orphans, capture->orphan_count, &capture->orphan_room,
                                     sizeof(struct node *));
        capture->orphans[capture->orphan_count++] = member->waits.at[i].node;
    }
    member_free(member);
    capture->count--;
    for (; at < capture->count; at++)
        capture->members[at] = capture->members[at + 1];
    if (capture->origin == stream)
        capture->origin = NULL;
    stream_set_capture(stream, NULL);
}

bool capture_is_joined(struct capture *capture)
{
    const struct member *origin = capture_member(capture, capture->origin);
    graph_unmark(capture->graph);
    for (size_t i = 0; origin && i < origin->waits.count; i++)
        graph_mark_ancestors(origin->waits.at[i].node);
    for (size_t i = 0; i < capture->graph->count; i++) {
        if (capture->graph->nodes[i]->capture_joins)
            graph_mark_ancestors(capture->graph->nodes[i]);
    }
    bool joined = true;
    for (size_t i = 0; i < capture->count; i++) {
        const struct edges *waits = &capture->members[i]->waits;
        for (size_t k = 0; k < waits->count; k++)
            joined = joined && waits->at[k].node->mark;
    }
    for (size_t i = 0; i < capture->orphan_count; i++)
        joined = joined && capture->orphans[i]->mark;
    return joined;
}

void member_wait(struct member *member, struct node *node, const CUgraphEdgeData *data)
{
    struct edges *waits = &member->waits;
    for (size_t i = 0; i < waits->count; i++) {
        if (waits->at[i].node == node)
            return;
    }
    waits->at = must_grow(waits->at, waits->count, &waits->room, sizeof(*waits->at));
    waits->at[waits->count++] =
        (struct edge){.node = node, .data = data ? *data : (CUgraphEdgeData){0}};
}

void member_wait_only(struct member *member, struct node *node)
{
    member->waits.count = 0;
    member_wait(member, node, NULL);
}
