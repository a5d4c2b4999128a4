#include "names/generated.h"

#include <stdbool.h>
#include <string.h>

static bool name_begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Whether the symbol ends with "fusion", or with that and numbers: "_12", "_12_0". */
static bool ends_as_fusion(const char *symbol)
{
    size_t end = strlen(symbol);
    while (end > 0 && strchr("_0123456789", symbol[end - 1]))
        end--;
    return end >= 6 && memcmp(symbol + end - 6, "fusion", 6) == 0;
}

enum generator generator_of(const char *symbol)
{
    static const char *const fusions[] = {"loop_", "input_", "transpose_", "fusion"};
    static const char *const others[] = {"wrapped_", "gemm_fusion_", "triton_softmax_",
                                         "triton_gemm_"};
    static const char *const inductor[] = {"triton_poi_fused_", "triton_red_fused_",
                                           "triton_per_fused_", "triton_tem_fused_",
                                           "triton_for_fused_", "triton_mm_"};
    for (size_t i = 0; i < sizeof fusions / sizeof *fusions; i++) {
        if (name_begins(symbol, fusions[i]) && ends_as_fusion(symbol))
            return GENERATOR_XLA;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (name_begins(symbol, others[i]))
            return GENERATOR_XLA;
    }
    for (size_t i = 0; i < sizeof inductor / sizeof *inductor; i++) {
        if (name_begins(symbol, inductor[i]))
            return GENERATOR_INDUCTOR;
    }
    return GENERATOR_NONE;
}
