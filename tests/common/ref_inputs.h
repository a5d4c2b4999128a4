/*
 * ref_inputs.h - what a reference's inputs have to look like, by the names of its formals, for
 * tests that draw them: an index must be one of the table that it points into, a variance is
 * positive, codes have a dtype of their own.
 *
 * Plain C, for test_catalogue.c, tests/scenario/catalogue and tests/gpu/reference/ref_parity.cu.
 */
#ifndef TESTS_REF_INPUTS_H
#define TESTS_REF_INPUTS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "refs/abi/ref_abi.h"

/* Dtypes of which a test takes one after the other; REF_SIGNED: bytes that have a sign. */
enum { REF_BYTES = -1, REF_BLOCKS = -2, REF_SIGNED = -3 };

/* What is drawn for it: an index of one of the first seven kinds, or a number. */
enum ref_input_kind {
    ANY_INDEX,
    WITH_GAPS, /* every ninth of them is -100, for what is left out */
    NO_TWICE,  /* no two of them are the same, where there is room */
    NO_TWICE_WITH_GAPS,
    FIRST,    /* 0 */
    WHOLE,    /* the size itself: nothing is left out */
    GROWING,  /* from 0 to the size itself, in uneven steps */
    BIT,      /* 0 or 1 */
    POSITIVE, /* a magnitude */
    SHARE,    /* between 0 and 1, neither of them */
    ANY_NUMBER
};

struct ref_input {
    const char *reference, *formal; /* reference NULL: of any */
    const char *below;              /* an index: the size that it stays under */
    enum ref_input_kind kind;
    int dtype; /* enum dtype, or one of the three above; 0: as other arrays */
};

/* The first row that fits a formal counts. */
static const struct ref_input ref_inputs[] = {
    {"mse_loss", "target", NULL, ANY_NUMBER, 0},
    {"bce_loss", "target", NULL, BIT, 0},
    {NULL, "ids", "entries", ANY_INDEX, 0},
    {"attention_dropout", "seed_at", "keys", ANY_INDEX, 0},
    {"attention_dropout", "offset_at", "keys", ANY_INDEX, 0},
    {"attention_dropout_backward", "seed_at", "keys", ANY_INDEX, 0},
    {"attention_dropout_backward", "offset_at", "keys", ANY_INDEX, 0},
    {NULL, "seed_at", "threads", ANY_INDEX, 0},
    {NULL, "offset_at", "threads", ANY_INDEX, 0},
    {NULL, "index", "entries", ANY_INDEX, 0},
    {NULL, "second", "second_size", ANY_INDEX, 0},
    {NULL, "third", "third_size", ANY_INDEX, 0},
    {"masked_scatter", "prefix", "entries", ANY_INDEX, 0},
    {"search_sorted", "edges", "length", GROWING, 0},
    {"masked_scatter", "mask", NULL, BIT, 0},
    {"repeat_index", "ends", "length", GROWING, 0},
    {"segment_sum", "bag", "sources", ANY_INDEX, 0},
    {"segment_sum", "sizes", NULL, POSITIVE, 0},
    {"weight_norm_backward", "norm", NULL, POSITIVE, 0},
    {"nll_loss_images", "w", NULL, POSITIVE, 0},
    {"nll_loss_images_backward", "w", NULL, POSITIVE, 0},
    {"nll_loss_images_backward", "weight", NULL, POSITIVE, 0},
    {NULL, "segments", "parts", WHOLE, 0},
    {NULL, "sorted", "entries", ANY_INDEX, 0},
    {NULL, "order", "tokens", ANY_INDEX, 0},
    {NULL, "target", "classes", WITH_GAPS, 0},
    {"rope_angles", "position", "half", ANY_INDEX, 0},
    {"rmsnorm_rope", "position", "cols", ANY_INDEX, 0},
    {"rmsnorm_rope", "factors", NULL, POSITIVE, 0},
    {"rmsnorm_rope_rows", "position", "cols", ANY_INDEX, 0},
    {"rmsnorm_rope_rows", "factors", NULL, POSITIVE, 0},
    {"rope_angles_rows", "position", "half", ANY_INDEX, 0},
    {"rope_angles_rows", "factors", NULL, POSITIVE, 0},
    {"rope_angles_rows", "slots", "entries", NO_TWICE_WITH_GAPS, 0},
    {"rmsnorm_rope_rows", "slots", "entries", NO_TWICE_WITH_GAPS, 0},
    {"rope_angles", "factors", NULL, POSITIVE, 0},
    {NULL, "position", "positions", ANY_INDEX, 0},
    {"histogram", "x", "bins", ANY_INDEX, 0},
    {NULL, "slots", "blocks", NO_TWICE_WITH_GAPS, 0},
    {"cache_append_rows", "filled", "batch", ANY_INDEX, 0},
    {"cache_append_rows", "row", "rows", NO_TWICE, 0},
    {"cache_append_paged", "filled", "page", ANY_INDEX, 0},
    {"cache_append_paged", "table", "blocks", NO_TWICE, 0},
    {"attention_paged", "table", "blocks", ANY_INDEX, 0},
    {"attention_paged", "lengths", "pages", ANY_INDEX, 0},
    {"attention_paged_split", "table", "blocks", ANY_INDEX, 0},
    {"attention_paged_split", "lengths", "pages", ANY_INDEX, 0},
    {NULL, "qo_indptr", "tokens", GROWING, 0},
    {NULL, "append_indptr", "tokens", GROWING, 0},
    {NULL, "kv_indptr", "listed", GROWING, 0},
    {"cache_append_csr", "batch_indices", "sequences", FIRST, 0},
    {"cache_append_csr", "positions", "tokens", NO_TWICE, 0},
    {"attention_paged_csr", "kv_indices", "blocks", ANY_INDEX, 0},
    {"cache_append_csr", "kv_indices", "blocks", NO_TWICE, 0},
    {NULL, "last_page_len", "page", ANY_INDEX, 0},
    {"attention_lengths", "lengths", "queries", WHOLE, 0},
    {"attention_lengths_backward", "lengths", "queries", WHOLE, 0},
    {"attention_lengths_backward", "key_lengths", "keys", WHOLE, 0},
    {NULL, "key_lengths", "keys", ANY_INDEX, 0},
    {NULL, "starts", "tokens", GROWING, 0},
    {NULL, "key_starts", "rows", GROWING, 0},
    {"dropout", "mask", NULL, BIT, 0},
    {"masked_fill", "mask", NULL, BIT, 0},
    {"softmax_boolean", "mask", NULL, BIT, 0},
    {"dropout_bits", "mask", "cols", ANY_INDEX, 0},
    {"gemm_f8", "a", NULL, ANY_NUMBER, DTYPE_F8E4M3},
    {"gemm_f8", "b", NULL, ANY_NUMBER, DTYPE_F8E4M3},
    {"gemm_f8", "a_scale", NULL, POSITIVE, 0},
    {"gemm_f8", "b_scale", NULL, POSITIVE, 0},
    {"dequantise_codes", "q", "count", ANY_INDEX, 0},
    {"linear_codes", "q", "k", ANY_INDEX, 0},
    {"linear_codes", "codes", "parts", ANY_INDEX, 0},
    {"adam_step", "v", NULL, POSITIVE, 0},
    {"adam_step", "most", NULL, POSITIVE, 0},
    {"bce_loss", "x", NULL, SHARE, 0},
    {"gemm_relu", "mask", NULL, ANY_NUMBER, DTYPE_U8},
    {"gemm_relu_backward", "mask", "k", ANY_INDEX, 0},
    {"max_pool_backward", "places", "pixels", ANY_INDEX, 0},
    {"adaptive_max_pool_backward", "places", "pixels", ANY_INDEX, 0},
    {"softmax_lengths", "lengths", "cols", ANY_INDEX, 0},
    {"row_sum_lengths", "lengths", "cols", ANY_INDEX, 0},
    {"pool_lengths", "lengths", "time", ANY_INDEX, 0},
    {"nll_loss", "w", NULL, POSITIVE, 0},
    {"nll_loss_backward", "w", NULL, POSITIVE, 0},
    {"nll_loss_backward", "weight", NULL, POSITIVE, 0},
    {"adamw", "v", NULL, POSITIVE, 0},
    {"adamw_step", "v", NULL, POSITIVE, 0},
    {"batchnorm", "var", NULL, POSITIVE, 0},
    {"batchnorm_running", "var", NULL, POSITIVE, 0},
    {NULL, "rstd", NULL, POSITIVE, 0},
    {"selective_scan", "a", NULL, SHARE, 0},
    {"dequantise", "q", NULL, ANY_NUMBER, REF_BYTES},
    {"dequantise", "scale", NULL, POSITIVE, 0},
    {"quantise", "q", NULL, ANY_NUMBER, REF_BYTES},
    {"quantise", "scale", NULL, POSITIVE, 0},
    {"quantise_rows", "q", NULL, ANY_NUMBER, REF_SIGNED},
    {"quantise_rows", "most", NULL, POSITIVE, 0},
    {"quantise_blocks", "q", NULL, ANY_NUMBER, REF_SIGNED},
    {"quantise_transpose", "q", NULL, ANY_NUMBER, REF_SIGNED},
    {"quantise_transpose", "t", NULL, ANY_NUMBER, REF_SIGNED},
    {"quantise_transpose", "scale", NULL, POSITIVE, 0},
    {"quantise_tiles", "q", NULL, ANY_NUMBER, REF_SIGNED},
    {"quantise_tiles", "t", NULL, ANY_NUMBER, REF_SIGNED},
    {"dequantise_blocks", "w", NULL, ANY_NUMBER, REF_BLOCKS},
    {"embedding_blocks", "table", NULL, ANY_NUMBER, REF_BLOCKS},
    {"linear_blocks", "w", NULL, ANY_NUMBER, REF_BLOCKS},
    {"linear_blocks", "x", NULL, ANY_NUMBER, DTYPE_Q8_1},
    {"linear_blocks_gated", "w", NULL, ANY_NUMBER, REF_BLOCKS},
    {"linear_blocks_gated", "gate", NULL, ANY_NUMBER, REF_BLOCKS},
    {"linear_blocks_gated", "x", NULL, ANY_NUMBER, DTYPE_Q8_1},
    {"linear_blocks_scaled", "w", NULL, ANY_NUMBER, REF_BLOCKS},
    {"linear_blocks_scaled", "x", NULL, ANY_NUMBER, DTYPE_I8},
    {"linear_blocks_scaled", "scale", NULL, POSITIVE, 0},
    {"linear_int8", "x", NULL, ANY_NUMBER, DTYPE_I8},
    {"linear_int8", "w", NULL, ANY_NUMBER, DTYPE_I8},
    {"linear_f8", "x", NULL, ANY_NUMBER, DTYPE_F8E4M3},
    {"linear_f8", "w", NULL, ANY_NUMBER, DTYPE_F8E4M3},
    {NULL, "x_scale", NULL, POSITIVE, 0},
    {NULL, "w_scale", NULL, POSITIVE, 0},
};

/* The row for this formal, or NULL for numbers of any kind. */
static inline const struct ref_input *ref_input_find(const char *reference, const char *formal)
{
    for (size_t i = 0; i < sizeof ref_inputs / sizeof *ref_inputs; i++) {
        if (strcmp(ref_inputs[i].formal, formal) == 0 &&
            (!ref_inputs[i].reference || strcmp(ref_inputs[i].reference, reference) == 0))
            return &ref_inputs[i];
    }
    return NULL;
}

/* How many turns ref_input_dtype has. */
static inline unsigned ref_input_turns(const struct ref_input *kind)
{
    if (kind && kind->dtype == REF_BLOCKS)
        return DTYPE_LAST_BLOCK - DTYPE_Q4_0 + 1;
    return kind && kind->dtype == REF_BYTES ? 4 : kind && kind->dtype == REF_SIGNED ? 3 : 1;
}

/* The dtype of a formal's elements where the others are `dtype`; `turn` picks one of several. */
static inline enum dtype ref_input_dtype(const struct ref_input *kind, enum dtype dtype,
                                         unsigned turn)
{
    static const enum dtype bytes[] = {DTYPE_I8, DTYPE_F8E4M3, DTYPE_F8E5M2, DTYPE_U8};
    if (kind && (kind->dtype == REF_BYTES || kind->dtype == REF_SIGNED))
        return bytes[turn % ref_input_turns(kind)];
    if (kind && kind->dtype == REF_BLOCKS)
        return (enum dtype)(DTYPE_Q4_0 + (int)(turn % ref_input_turns(kind)));
    return kind && kind->dtype ? (enum dtype)kind->dtype : dtype;
}

/* Element i of `count`, by its row, of an index below `size`; `random` is in 0 .. 1. */
static inline double ref_input_index(const struct ref_input *row, int64_t i, int64_t count,
                                     int64_t size, double random)
{
    int64_t last = count > 1 ? count - 1 : 1;
    if (row->kind == GROWING)
        return (double)(i * i * size / (last * last));
    if (row->kind == FIRST)
        return 0;
    if (row->kind == WHOLE)
        return (double)size;
    if (i % 9 == 4 && (row->kind == WITH_GAPS || row->kind == NO_TWICE_WITH_GAPS))
        return -100;
    if (row->kind == NO_TWICE || row->kind == NO_TWICE_WITH_GAPS)
        return (double)((i * 7919 + 3) % size);
    int64_t index = (int64_t)(random * (double)size);
    return (double)(index < size ? index : size - 1);
}

/* A scalar's value in tests; a name without a row is 0.7, an int formal keeps its default. */
static inline double ref_scalar(const char *formal)
{
    static const struct {
        const char *name;
        double value;
    } rows[] = {{"eps", 1e-5},        {"direction", -1},  {"beta1", 0.9},
                {"beta2", 0.99},      {"c1", 0.271},      {"c2", 0.0297},
                {"lr", 1e-2},         {"decay", 0.1},     {"dampening", 0.25},
                {"grad_scale", 0.5},  {"offset", 1},      {"p", 0.1},
                {"empty", -INFINITY}, {"low", -INFINITY}, {"smoothing", 0.1},
                {"limit", 0},         {"least", 1e-3},    {"step", 7},
                {"high", INFINITY},   {"bottom", -1},     {"top", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, formal) == 0)
            return rows[i].value;
    }
    return 0.7;
}

#endif
