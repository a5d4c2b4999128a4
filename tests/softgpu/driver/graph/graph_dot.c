/* graph_dot.c - a graph as text for Graphviz: the nodes with their types, child graphs as clusters.
 */
#include <stdio.h>
#include "driver/graph/graph_data.h"
#include "impls.h"

static const char *type_name(CUgraphNodeType type)
{
    static const char *const names[] = {
        [CU_GRAPH_NODE_TYPE_KERNEL] = "KERNEL",
        [CU_GRAPH_NODE_TYPE_MEMCPY] = "MEMCPY",
        [CU_GRAPH_NODE_TYPE_MEMSET] = "MEMSET",
        [CU_GRAPH_NODE_TYPE_HOST] = "HOST",
        [CU_GRAPH_NODE_TYPE_GRAPH] = "GRAPH",
        [CU_GRAPH_NODE_TYPE_EMPTY] = "EMPTY",
        [CU_GRAPH_NODE_TYPE_WAIT_EVENT] = "WAIT_EVENT",
        [CU_GRAPH_NODE_TYPE_EVENT_RECORD] = "EVENT_RECORD",
        [CU_GRAPH_NODE_TYPE_MEM_ALLOC] = "MEM_ALLOC",
        [CU_GRAPH_NODE_TYPE_MEM_FREE] = "MEM_FREE",
        [CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = "BATCH_MEM_OP",
    };
    const char *name = (size_t)type < sizeof(names) / sizeof(*names) ? names[type] : NULL;
    return name ? name : "UNKNOWN";
}

/* `path` numbers the nodes of this graph and no other: "graph_0_node_3_". */
static void print_graph(FILE *out, const struct graph *graph, const char *path)
{
    for (size_t i = 0; i < graph->count; i++) {
        const struct node *node = graph->nodes[i];
        fprintf(out, "\"%snode_%zu\" [shape=\"record\" label=\"{%s | %zu}\"];\n", path, i,
                type_name(node->type), i);
        for (size_t k = 0; k < node->in.count; k++)
            fprintf(out, "\"%snode_%zu\" -> \"%snode_%zu\";\n", path, node->in.at[k].node->index,
                    path, i);
        if (!node->child)
            continue;
        char inner[256];
        snprintf(inner, sizeof(inner), "%snode_%zu_", path, i);
        fprintf(out, "subgraph \"cluster_%s\" {\nlabel=\"%snode_%zu\";\n", inner, path, i);
        print_graph(out, node->child, inner);
        fprintf(out, "}\n");
    }
}

CUresult impl_cuGraphDebugDotPrint(const struct call *call, cuGraphDebugDotPrint_params *p)
{
    struct section section;
    section_begin(&section, call->context);
    const struct graph *graph = graph_find(p->hGraph);
    if (!graph || !p->path)
        return section_end(&section, CUDA_ERROR_INVALID_VALUE);
    FILE *out = fopen(p->path, "w");
    if (!out)
        return section_end(&section, CUDA_ERROR_OPERATING_SYSTEM);
    fprintf(out, "digraph dot {\n");
    print_graph(out, graph, "graph_0_");
    fprintf(out, "}\n");
    bool failed = ferror(out) != 0;
    failed |= fclose(out) != 0;
    return section_end(&section, failed ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS);
}
