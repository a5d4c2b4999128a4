/*
 * cudnn_plan.h - what an execution plan of cuDNN's computes, as far as cuvet has a formula for it:
 * made from the plan's graph of operations when it is finalized.
 */
#ifndef HOOK_CALLS_CUDNN_PLAN_H
#define HOOK_CALLS_CUDNN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "call/dnn.h"

struct descriptor;
struct dnn_tensor;

enum { DNN_PLAN_ARRAYS = 20 };

/* What a pack has under a tensor's number: an address of the GPU's memory, or one of a number in
 * the program's memory, which becomes a real or a whole argument. */
enum dnn_plan_value { DNN_PLAN_ADDRESS, DNN_PLAN_REAL, DNN_PLAN_WHOLE_F32, DNN_PLAN_WHOLE_I32 };

struct dnn_plan {
    struct dnn call; /* all but addresses, and numbers that the program keeps in its memory */
    int arrays;
    struct dnn_plan_array {
        int64_t uid;  /* of the tensor in a pack */
        int argument; /* which of call.argument it is */
        uint8_t kind; /* enum dnn_plan_value */
        int64_t more; /* added to a whole number */
    } array[DNN_PLAN_ARRAYS];
};

/* Fills in `plan` from the graph; one that is not recognised becomes DNN_GRAPH with the word
 * `other`. */
void dnn_plan_make(struct dnn_plan *plan, const struct descriptor *graph);

/* A convolution with sums in f32 and a result of 16 bit, whose engine may round partial sums. */
bool dnn_plan_may_reduce(const struct dnn_plan *plan);

/* A tensor by its descriptor. */
void dnn_plan_tensor(const struct descriptor *tensor, struct dnn_tensor *out);

/* A tensor's place among the arguments. */
void dnn_plan_array(struct dnn_plan *plan, const struct descriptor *tensor, size_t argument);

/* The same of one that is a whole number, f32 or i32 in the program's memory; `more` is added. */
void dnn_plan_whole(struct dnn_plan *plan, const struct descriptor *tensor, size_t argument,
                    int64_t more);

/* The recognisers: false where the graph is none of theirs. */
bool dnn_plan_conv(struct dnn_plan *plan, const struct descriptor *graph);
bool dnn_plan_attention(struct dnn_plan *plan, const struct descriptor *graph);

/* enum dtype of cudnnDataType_t; DTYPE_NONE where cuvet has no such type. */
uint8_t dnn_dtype(int64_t type);

/* How sums are kept that a compute type declares, over inputs of this dtype. */
enum accumulation dnn_accumulation(int64_t compute, uint8_t input);

#endif
