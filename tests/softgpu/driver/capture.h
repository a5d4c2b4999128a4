/*
 * capture.h - what graph_exec.c needs of capture.c; the stream side's part is in graph.h.
 */
#ifndef SOFTGPU_CAPTURE_H
#define SOFTGPU_CAPTURE_H

#include <cuda.h>

struct graph;
struct section;
struct stream;

/* An instance was launched in a capturing stream: its body becomes a child graph node. With the
 * graphs' lock held. */
CUresult capture_add_graph(struct section *section, struct stream *stream,
                           const struct graph *body);

#endif
