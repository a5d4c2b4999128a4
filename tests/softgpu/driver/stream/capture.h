/*
 * capture.h - what graph_exec.c needs of capture.c; the stream side's part is in graph.h.
 */
#ifndef SOFTGPU_CAPTURE_H
#define SOFTGPU_CAPTURE_H

#include <cuda.h>

struct stream;

/* A launch of an executable graph into a capturing stream: refused with
 * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the capture is broken, as driver 580 does. With the
 * graphs' lock held. */
CUresult capture_launch_graph(struct stream *stream);

#endif
