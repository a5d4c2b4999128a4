#include "graph/exec_table.h"

enum { PROBES = 64 };

/* A place whose graph is gone is free for the next one, and does not end a search. */
static struct graph gone;

static size_t exec_place(CUgraphExec exec)
{
    return (size_t)(((uintptr_t)exec >> 4) * 0x9E3779B97F4A7C15u >> 40);
}

static struct exec_entry *find_entry(struct exec_table *table, CUgraphExec exec)
{
    for (size_t i = 0, place = exec_place(exec); i < PROBES; i++, place++) {
        struct exec_entry *entry = &table->entry[place % EXEC_TABLE];
        CUgraphExec there = atomic_load_explicit(&entry->exec, memory_order_acquire);
        if (there == exec)
            return entry;
        if (!there)
            break;
    }
    return NULL;
}

struct graph *exec_table_find(struct exec_table *table, CUgraphExec exec)
{
    struct exec_entry *entry = find_entry(table, exec);
    struct graph *graph = entry ? atomic_load_explicit(&entry->graph, memory_order_acquire) : NULL;
    return graph == &gone ? NULL : graph;
}

bool exec_table_add(struct exec_table *table, struct graph *graph)
{
    for (size_t i = 0, place = exec_place(graph->exec); i < PROBES && table->living < EXEC_MOST;
         i++, place++) {
        struct exec_entry *entry = &table->entry[place % EXEC_TABLE];
        struct graph *there = atomic_load(&entry->graph);
        if (there && there != &gone)
            continue;
        atomic_store_explicit(&entry->graph, graph, memory_order_release);
        atomic_store_explicit(&entry->exec, graph->exec, memory_order_release);
        table->living++;
        return true;
    }
    return false;
}

struct graph *exec_table_remove(struct exec_table *table, CUgraphExec exec)
{
    struct exec_entry *entry = find_entry(table, exec);
    struct graph *graph = entry ? atomic_exchange(&entry->graph, &gone) : NULL;
    if (!graph || graph == &gone)
        return NULL;
    atomic_store(&entry->exec, (CUgraphExec)(void *)&gone); /* no program's handle */
    table->living--;
    return graph;
}

struct graph *exec_table_at(struct exec_table *table, size_t at)
{
    struct graph *graph = atomic_load(&table->entry[at].graph);
    return graph == &gone ? NULL : graph;
}
