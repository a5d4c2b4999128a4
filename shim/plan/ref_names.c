#include "plan/ref_names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "text/nearest.h"

/* Names that libraries and papers give to operations, where their letters are far from ours. */
static const struct synonym {
    const char *word, *name;
} synonyms[] = {
    {"matmul_nt", "linear"},
    {"fc", "linear"},
    {"dense", "linear"},
    {"mm", "matmul"},
    {"dot", "matmul"},
    {"sgemm", "gemm"},
    {"hgemm", "gemm"},
    {"addmm", "gemm"},
    {"baddbmm", "bmm"},
    {"batched_matmul", "bmm"},
    {"matvec", "gemv"},
    {"rms_norm", "rmsnorm"},
    {"layer_norm", "layernorm"},
    {"group_norm", "groupnorm"},
    {"batch_norm", "batchnorm"},
    {"fused_add_rms_norm", "add_rmsnorm"},
    {"normalize", "l2norm"},
    {"sdpa", "attention"},
    {"flash_attention", "attention"},
    {"scaled_dot_product_attention", "attention"},
    {"flash_attention_varlen", "attention_varlen"},
    {"paged_attention", "attention_paged"},
    {"causal_softmax", "softmax_causal"},
    {"masked_softmax", "softmax_masked"},
    {"rope", "rope_halves"},
    {"rotary", "rope_halves"},
    {"rotary_embedding", "rope_halves"},
    {"ce", "cross_entropy"},
    {"nll_loss", "cross_entropy"},
    {"adam", "adamw"},
    {"swish", "silu"},
    {"lrelu", "leaky_relu"},
    {"residual", "residual_add"},
    {"axpy", "add_scaled"},
    {"transpose", "permute"},
    {"copy", "cast"},
    {"convert", "cast"},
    {"mean", "row_mean"},
    {"reduce_sum", "row_sum"},
    {"cumsum", "row_cumsum"},
    {"argmax", "row_argmax"},
    {"bincount", "histogram"},
    {"lookup", "embedding"},
    {"dequantize", "dequantise"},
    {"quantize", "quantise"},
    {"reshape_and_cache", "cache_append_paged"},
    {"kv_cache_write", "cache_append"},
};

const struct ref_builtin *ref_names_find(const char *name)
{
    for (size_t i = 0; i < ref_builtin_count; i++)
        if (strcmp(ref_builtins[i].name, name) == 0)
            return &ref_builtins[i];
    return NULL;
}

const char *ref_names_hint(const char *name, char *text, size_t size)
{
    static const char list[] = "`cuvet help references` lists all";
    struct nearest nearest = {.word = name};
    char question[96];
    for (size_t i = 0; i < sizeof(synonyms) / sizeof(*synonyms); i++) {
        if (strcasecmp(synonyms[i].word, name) == 0) {
            snprintf(text, size, "; did you mean '%s'? %s", synonyms[i].name, list);
            return text;
        }
    }
    for (size_t i = 0; i < ref_builtin_count; i++)
        nearest_offer(&nearest, ref_builtins[i].name);
    nearest_text(&nearest, question, sizeof(question));
    snprintf(text, size, "%s%s %s", question, question[0] ? "" : ";", list);
    return text;
}
