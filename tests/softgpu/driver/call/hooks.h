/*
 * hooks.h - what the stand-in for CUPTI gets from the stand-in for the driver.
 *
 * libcupti finds softgpu_set_hooks in libcuda (dlsym) and gives it one table; NULL takes it away.
 * The driver calls the filter before each call, so that only what a subscriber has enabled is sent.
 * Nothing here holds a lock of the driver while the subscriber runs, except where the real driver
 * holds one too: then a call of the subscriber that would need the lock aborts with a sentence.
 */
#ifndef SOFTGPU_HOOKS_H
#define SOFTGPU_HOOKS_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct hook_call {
    bool exit;
    unsigned cbid;
    const char *name;
    const void *params;
    CUresult *result;   /* valid at exit */
    const char *symbol; /* the kernel, for launches; else NULL */
    CUcontext context;  /* current, or NULL */
    uint32_t context_uid;
    uint32_t correlation;       /* the same at enter and exit */
    uint64_t *correlation_data; /* a word of the caller's for this call: lives from enter to exit */
};

/* The resource callbacks. `cbid` is a CUpti_CallbackIdResource. */
struct hook_resource {
    unsigned cbid;
    CUcontext context;
    CUstream stream;
    /* module loaded / unload starting */
    uint32_t module_id;
    const void *image;
    size_t image_bytes;
    /* graphs: as CUpti_GraphData */
    CUgraph graph, original_graph;
    CUgraphNode node, original_node, dependency;
    CUgraphNodeType node_type;
    CUgraphExec graph_exec;
};

struct hooks {
    bool (*wants_call)(unsigned cbid);
    void (*call)(const struct hook_call *call);
    bool (*wants_resource)(unsigned cbid);
    void (*resource)(const struct hook_resource *event);
};

/* Exported by libcuda; the table must live until it is replaced. */
void softgpu_set_hooks(const struct hooks *hooks);
/* Exported by libcuda, for cuptiGetContextId and its kin. */
uint32_t softgpu_context_uid(CUcontext context);
uint32_t softgpu_stream_uid(CUstream stream, bool per_thread);

/* For the driver's own modules: nothing happens where no subscriber has enabled it. */
void hooks_resource(const struct hook_resource *event);

#endif
