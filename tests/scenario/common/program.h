/*
 * program.h - what the programs of the scenarios share: ordinary CUDA programs of the driver API
 * without any code for the library.
 *
 *   PROGRAM FATBIN [WORD ...]
 *
 * A failed call ends the program with 3 and prints which. What a program computes it prints as
 * checksums, so that two runs can be compared.
 */
#ifndef SCENARIO_PROGRAM_H
#define SCENARIO_PROGRAM_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECK(call) check((call), #call, __FILE__, __LINE__)
void check(CUresult result, const char *what, const char *file, int line);

/* Reads the fatbin, no CUDA. Its bytes live as long as the program. */
const void *read_image(int argc, char **argv);

/* The same, then starts CUDA on device 0 with its primary context current and loads the module. */
const void *start(int argc, char **argv);

/* Unloads the module and releases the context: the orderly end. */
void finish(void);

/* The WORD at `number` from 0; "" where there is none. */
const char *word(int number);

extern CUmodule module;
extern CUcontext context;

CUfunction kernel(const char *name);

/* Numbers in [-1, 1), the same for the same seed. Synchronous. */
void fill(CUdeviceptr array, size_t count, unsigned seed);
CUdeviceptr upload(size_t count, unsigned seed);

void launch(CUfunction function, unsigned grid, unsigned block, CUstream stream, void **params);

/* Waits for the context, then prints the checksum of that many bytes. Any thread. */
void print_sum(const char *name, CUdeviceptr array, size_t bytes);

/* The arguments of `rmsnorm`-like kernels: a row a block. */
struct norm {
    CUdeviceptr x, w, y;
    int cols;
    float eps;
    unsigned rows;
};

struct norm norm_new(unsigned rows, int cols, unsigned seed);
void norm_launch(const char *name, struct norm *norm, CUstream stream);
/* The same as a node of a graph; `params` is read by the call that takes the node. */
CUDA_KERNEL_NODE_PARAMS norm_node(const char *name, struct norm *norm, void *params[5]);
void norm_print(const char *name, const struct norm *norm);
void norm_free(struct norm *norm);

/* A second context on `device`, current. */
CUcontext make_context(CUdevice device);

/* `work(0)` captured from the stream, in a mode that refuses unsafe calls of all threads, and
 * instantiated. */
CUgraphExec graph_of_work(CUstream stream, void (*work)(int));

#endif
