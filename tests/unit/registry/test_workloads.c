/* Real kernels: tests/unit/registry/workloads.yaml is parsed, compiled and held against the
 * parameter lists of their binaries; config/kernels/ is met with the mangled names that it was
 * written for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "text/number.h"
#include "refs/abi/ref_list.h"
#include "tests/unit/common/registry_fixture.h"
#include "tests/unit/registry/pattern_names.h"
#include "bind/binding.h"
#include "plan/plan.h"

static struct param_layout read_layout(const struct yaml_node *entry)
{
    unsigned sizes[LAYOUT_MAX + 1] = {0};
    const struct yaml_node *params = yaml_get(entry, "params");
    assert_non_null(params);
    for (size_t i = 0; i < params->count; i++) {
        int64_t size = 0;
        assert_true(number_integer(params->item[i]->text, &size));
        sizes[i] = (unsigned)size;
    }
    struct param_layout layout = layout_of(sizes);
    if (yaml_get(entry, "bytes")) { /* of the whole list, read from the binary */
        int64_t bytes = 0;
        assert_true(number_integer(yaml_get(entry, "bytes")->text, &bytes));
        unsigned last = layout.count - 1;
        assert_int_equal(layout.param[last].offset + layout.param[last].size, bytes);
    }
    return layout;
}

static struct captures read_captures(const struct yaml_node *entry)
{
    struct captures captures = {0};
    const struct yaml_node *node = yaml_get(entry, "captures");
    for (size_t i = 0; node && i < node->count; i++) {
        captures.capture[captures.count].name = node->key[i]->text;
        captures.capture[captures.count++].text = node->item[i]->text;
    }
    return captures;
}

/* An entry without a reference: signature, lets and layout are judged alone. */
static void signatures_say_the_real_parameter_lists(void **state)
{
    (void)state;
    struct yaml_doc *doc = NULL;
    struct error err = {0};
    if (yaml_doc_load(&doc, "tests/unit/registry/workloads.yaml", &err))
        fail_msg("%s", err.text);
    const struct yaml_node *kernels = yaml_get(yaml_doc_root(doc), "kernels");
    assert_true(kernels && kernels->count > 25);
    for (size_t i = 0; i < kernels->count; i++) {
        struct arena arena = {0};
        const struct yaml_node *entry = kernels->item[i];
        struct param_layout layout = read_layout(entry);
        struct captures captures = read_captures(entry);
        struct plan_source source = {.signature = yaml_get(entry, "signature"),
                                     .let = yaml_get(entry, "let")};
        const struct binding_plan *plan;
        if (plan_make(&plan, &arena, &source, &captures, &layout, &err))
            fail_msg("%s: %s", yaml_get(entry, "kernel")->text, err.text);
        layout.count--; /* and one parameter fewer does not fit, unless the list is open */
        struct error unheard = {0};
        if (!plan->signature->open_end)
            assert_int_equal(plan_make(&plan, &arena, &source, &captures, &layout, &unheard),
                             STATUS_UNSUPPORTED);
        arena_release(&arena);
    }
    yaml_doc_destroy(doc);
}

#define SIZES(...) ((const unsigned[]){__VA_ARGS__, 0})

/* Parameter lists by their sizes, and kernels that have them. */
static const unsigned eight_i[] = {8, 8, 8, 8, 8, 8, 4, 4, 0}, gelu[] = {8, 8, 4, 0},
                      add[] = {8, 8, 8, 4, 0}, linear[] = {8, 8, 8, 8, 4, 4, 0}, two[] = {8, 8, 0},
                      three[] = {8, 8, 8, 0}, rms[] = {8, 8, 8, 8, 4, 4, 4, 0},
                      norm[] = {4, 4, 8, 8, 8, 8, 8, 8, 0}, warp[] = {8, 8, 4, 4, 4, 8, 4, 1, 0},
                      triton[] = {8, 4, 8, 4, 8, 8, 4, 4, 4, 8, 8, 0},
                      encoder[] = {8, 8, 8, 8, 4, 4, 4, 0},
                      back[] = {8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 0},
                      permute[] = {8, 8, 8, 8, 4, 4, 4, 4, 0}, unpermute[] = {8, 8, 4, 4, 4, 4, 0},
                      causal[] = {8, 4, 8, 4, 4, 0}, causal_back[] = {8, 8, 8, 4, 4, 4, 4, 0},
                      bias[] = {8, 8, 4, 4, 4, 0}, classifier[] = {8, 8, 8, 8, 8, 4, 4, 4, 4, 0},
                      adamw[] = {8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 0},
                      fused[] = {8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 0},
                      inplace_back[] = {8, 8, 4, 4, 4, 4, 0},
                      classifier_tag[] = {8, 8, 8, 4, 8, 4, 4, 4, 4, 1, 0},
                      flash_rms[] = {8, 8, 8, 4, 4, 4, 4, 4, 0},
                      layer_norm[] = {8, 4, 8, 4, 8, 8, 8, 8, 4, 4, 8, 8, 0},
                      swiglu[] = {8, 8, 8, 4, 8, 8, 0}, static8[] = {8, 8, 8, 4, 0},
                      fp8[] = {8, 8, 8, 4, 8, 8, 0}, per_token[] = {8, 8, 8, 8, 4, 8, 8, 0},
                      q8[] = {8, 8, 8, 0}, foreach1[] = {3368, 1, 1, 4, 0},
                      foreach2[] = {3144, 1, 1, 4, 0}, reduce_add[] = {8, 8, 8, 8, 0},
                      caches[] = {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 8, 8, 0},
                      caches_scaled[] = {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 8, 8, 4, 0},
                      flash_464[] = {464, 0}, flash_472[] = {472, 0}, flash_648[] = {648, 0},
                      flash_652[] = {648, 4, 0}, codes[] = {8, 8, 8, 8, 4, 4, 0},
                      vector4[] = {4, 4, 4, 8, 8, 8, 8, 8, 4, 4, 4, 4, 0},
                      rows4[] = {8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 0},
                      append[] = {88, 8, 8, 8, 8, 4, 8, 8, 8, 8, 0},
                      append_strides[] = {104, 8, 8, 8, 8, 4, 8, 8, 8, 8, 0},
                      append_one[] = {88, 8, 8, 0}, append_one_strides[] = {104, 8, 8, 0},
                      scan[] = {280, 0}, convolution[] = {184, 0},
                      gated_rows[] = {8, 8, 8, 4, 4, 4, 4, 8, 8, 0},
                      int8_rows[] = {8, 8, 8, 4, 4, 4, 8, 8, 0}, fp8_rows[] = {8, 8, 8, 8, 8, 0},
                      fp8_all[] = {8, 8, 8, 8, 0},
                      fp8_groups[] = {8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 0},
                      router[] = {8, 8, 8, 4, 8, 4, 4, 4, 1, 4, 8, 0},
                      router_softmax[] = {8, 8, 8, 4, 4, 8, 0},
                      router_best[] = {8, 8, 8, 8, 4, 4, 4, 4, 1, 0},
                      experts[] = {8, 8, 8, 8, 8, 8, 8, 4, 0},
                      merged[] = {8, 8, 8, 8, 8, 8, 4, 4, 4, 0},
                      turned_heads[] = {8, 8, 8, 8, 4, 8, 8, 8, 4, 4, 4, 0},
                      plain_rms[] = {8, 8, 8, 4, 4, 8, 8, 0}, norm_136[] = {136, 0},
                      turned[] = {8, 8, 8, 8, 8, 8, 8, 8, 8, 0},
                      unary[] = {8, 8, 8, 8, 8, 8, 1, 8, 8, 0},
                      gated[] = {8, 8, 8, 8, 8, 8, 8, 1, 8, 0},
                      tiles[] = {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 1, 8, 0},
                      angles[] = {8, 8, 8, 8, 8, 1, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 0},
                      adam_lists[] = {8, 8, 3048, 1, 4, 4, 4, 4, 4, 4, 4, 4, 0},
                      apex_norm[] = {8, 8, 8, 8, 4, 4, 4, 8, 8, 0},
                      apex_angles[] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 8, 8, 0};

/* PyTorch 2.11's, 64 wide in f16, and what adds up the parts of one that is 128 wide in bf16. */
#define FLASH                                                                                      \
    "_ZN13pytorch_flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi64ELi128ELi128ELi4ELb0ELb0E" \
    "N7cutlass6half_tE19Flash_kernel_traitsILi64ELi128ELi128ELi4ES3_EELb0ELb1ELb0ELb0ELb0ELb1ELb0" \
    "ELb0EEEvNS_16Flash_fwd_paramsE"
#define FLASH_COMBINE                                                                              \
    "_ZN13pytorch_flash32flash_fwd_splitkv_combine_kernelI23Flash_fwd_kernel_traitsILi128ELi64E"   \
    "Li128ELi4ELb0ELb0EN7cutlass10bfloat16_tE19Flash_kernel_traitsILi128ELi64ELi128ELi4ES3_EELi4E" \
    "Li3ELb1EEEvNS_16Flash_fwd_paramsE"

static const struct {
    const char *symbol, *reference;
    const unsigned *sizes;
} shipped[] = {
    {"_Z25layernorm_forward_kernel3PfS_S_PKfS1_S1_ii", "layernorm", eight_i},
    {"_Z19gelu_forward_kernelPfPKfi", "gelu_tanh", gelu},
    {"_Z23residual_forward_kernelPfS_S_i", "residual_add", add},
    {"_Z22matmul_forward_kernel4PfPKfS1_S1_ii", "linear", linear},
    {"_Z20gelu_forward_kernel2P13__nv_bfloat16PKS_", "gelu_tanh", two},
    {"_Z23residual_forward_kernelP13__nv_bfloat16PKS_S2_", "residual_add", three},
    {"_ZN4vllm15rms_norm_kernelIN3c108BFloat16EEEvPT_PKS3_lS6_fii", "rmsnorm", rms},
    {"_ZN4vllm18act_and_mul_kernelIN3c104HalfEXadL_ZNS_11silu_kernelIS2_EET_RKS4_EELb1EEEvPS4_"
     "PKS4_i",
     "silu_and_mul", gelu},
    {"_ZN2at6native12_GLOBAL__N_128vectorized_layer_norm_kernelIN3c108BFloat16EfLb0EEEviT0_"
     "PKT_S8_S8_PS5_S9_PS6_",
     "layernorm", norm},
    {"_ZN12_GLOBAL__N_120softmax_warp_forwardIfffLi7ELb0ELb0EEEvPT0_PKT_iiiPKbib", "softmax", warp},
    {"_ZN12_GLOBAL__N_120softmax_warp_forwardIN3c108BFloat16ES2_fLi10ELb1ELb0EEEvPT0_PKT_iii"
     "PKbib",
     "log_softmax", warp},
    {"_rms_norm_forward_kernel", "rmsnorm_offset", triton},
    {"_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi1EEENS1_"
     "21BinaryOpScalarFunctorIfLi1ELi1ELi0EEEJSt10multipliesIfEfEEEvT_T0_DpT1_",
     "scale", foreach1},
    {"_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi2EEENS1_"
     "21BinaryOpScalarFunctorIN3c108BFloat16ELi2ELi1ELi1EEEJSt10multipliesIfEfEEEvT_T0_DpT1_",
     "scale", foreach2},
    {"_Z21reduce_add_sum_kernelP13__nv_bfloat16PKfmm", "col_sum", reduce_add},
    {"_Z23encoder_forward_kernel3P6float4PKiPKS_S4_iii", "embedding_positions", encoder},
    {"_Z23encoder_backward_kernelPfS_PKfPKiiii", "embedding_positions_backward", encoder},
    {"_Z26layernorm_backward_kernel2PfS_S_PKfS1_S1_S1_S1_iii", "layernorm_backward", back},
    {"_Z14permute_kernelPfS_S_PKfiiii", "qkv_split", permute},
    {"_Z16unpermute_kernelPfS_iiii", "permute", unpermute},
    {"_Z23softmax_forward_kernel5PffPKfii", "softmax_causal", causal},
    {"_Z38softmax_autoregressive_backward_kernelPfPKfS1_iiif", "softmax_causal_backward",
     causal_back},
    {"_Z20gelu_backward_kernelPfPKfS1_i", "gelu_tanh_backward", add},
    {"_Z28matmul_backward_bias_kernel4PfPKfiii", "col_sum", bias},
    {"_Z24fused_classifier_kernel3PfS_S_PKfPKiiiii", "cross_entropy_backward", classifier},
    {"_Z13adamw_kernel2PfS_S_S_lfffffff", "adamw", adamw},
    {"_Z28gelu_backward_inplace_kernelP13__nv_bfloat16PKS_", "gelu_tanh_backward", two},
    {"_Z30fused_residual_forward_kernel5P13__nv_bfloat16S0_PfS1_PKS_S3_S3_S3_ii", "add_layernorm",
     fused},
    {"_Z46softmax_autoregressive_backward_inplace_kernelP13__nv_bfloat16PKS_iiif",
     "softmax_causal_backward", inplace_back},
    {"_Z24fused_classifier_kernel5ILb1ELb0EEvP13__nv_bfloat16PfS1_fPKiiiiiSt17integral_"
     "constantIbXT_EE",
     "cross_entropy_backward", classifier_tag},
    {"_ZN4vllm25fused_add_rms_norm_kernelIN3c108BFloat16ELi8EEEvPT_lS4_PKS3_fii", "add_rmsnorm",
     rms},
    {"_ZN10flashinfer4norm13RMSNormKernelILj8E13__nv_bfloat16EEvPT0_S4_S4_jjjff", "rmsnorm_offset",
     flash_rms},
    {"_ZN10flashinfer4norm21FusedAddRMSNormKernelILj8E13__nv_bfloat16EEvPT0_S4_S4_jjjff",
     "add_rmsnorm_unrounded", flash_rms},
    {"_ZN10flashinfer24AppendPagedKVCacheKernelILj128ELj8E13__nv_bfloat16iEEvNS_10paged_kv_tIT1_T2_"
     "EEPS3_S6_PS4_S7_jmmmm",
     "cache_append_csr", append},
    {"_ZN10flashinfer24AppendPagedKVCacheKernelILj64ELj8E6__halfiEEvNS_10paged_kv_tIT1_T2_"
     "EEPS3_S6_PS4_S7_jmmmm",
     "cache_append_csr", append_strides},
    {"_ZN10flashinfer30AppendPagedKVCacheDecodeKernelILj128ELj8E13__nv_bfloat16iEEvNS_10paged_kv_"
     "tIT1_T2_EEPS3_S6_",
     "cache_append_csr", append_one},
    {"_ZN10flashinfer30AppendPagedKVCacheDecodeKernelILj128ELj8E13__nv_bfloat16iEEvNS_10paged_kv_"
     "tIT1_T2_EEPS3_S6_",
     "cache_append_csr", append_one_strides},
    {"_layer_norm_forward_kernel", "layernorm", layer_norm},
    {"_swiglu_backward_kernel", "swiglu_backward", swiglu},
    {"_ZN4vllm31scaled_fp8_quant_kernel_stridedIN3c108BFloat16ENS1_13Float8_e4m3fnEEEvPT0_PKT_"
     "PKfill",
     "quantise", fp8},
    {"_ZN4vllm49dynamic_per_token_scaled_fp8_quant_kernel_stridedIN3c104HalfENS1_13Float8_"
     "e4m3fnEEEvPT0_PfPKT_PKfill",
     "quantise_rows", per_token},
    {"_ZN4vllm31static_scaled_int8_quant_kernelIffEEvPKT_PaPKT0_i", "quantise", static8},
    {"_ZN4vllm32dynamic_scaled_int8_quant_kernelIffEEvPKT_PaPT0_i", "quantise_rows", static8},
    {"_ZL21dequantize_block_q4_KI6__halfEvPKvPT_", "dequantise_blocks", two},
    {"_ZL21dequantize_block_q6_KIfEvPKvPT_", "dequantise_blocks", two},
    {"_ZL21dequantize_block_q4_0IfEvPKvPT_i", "dequantise_blocks", gelu},
    {"_ZL25dequantize_block_q8_0_f16ILb1EEvPKvP6__halfl", "dequantise_blocks", q8},
    {"_ZN4vllm30reshape_and_cache_flash_kernelI13__nv_bfloat16S1_LNS_18Fp8KVCacheDataTypeE0EEEvPKT_"
     "S5_PT0_S7_PKlllllliiiPKfSA_",
     "cache_append", caches},
    {"_ZN4vllm30reshape_and_cache_flash_kernelIttLNS_18Fp8KVCacheDataTypeE0EEEvPKT_S4_PT0_S6_"
     "PKlllllliiiPKfS9_i",
     "cache_append", caches_scaled},
    {"_Z20kDequantizeBlockwiseI13__nv_bfloat16Li512ELi64ELi8ELi2EEvPfPhS1_PT_ii",
     "dequantise_codes", codes},
    {"_Z26kgemm_4bit_inference_naiveI6__halfLi128ELi16EEviiiPT_PhPfPKfS2_iiii", "linear_codes",
     vector4},
    {"_Z14gemm_4bit_simtI13__nv_bfloat16Li1EEvPKT_PKhPKfS5_S7_S7_PS1_S3_iiiii", "linear_codes",
     rows4},
    {"_Z25selective_scan_fwd_kernelI32Selective_Scan_fwd_kernel_traitsILi64ELi16ELi1ELb1ELb1ELb1"
     "ELb1EN3c108BFloat16EfEEv13SSMParamsBase",
     "selective_scan", scan},
    {"_Z25selective_scan_fwd_kernelI32Selective_Scan_fwd_kernel_traitsILi128ELi16ELi1ELb0ELb1ELb1"
     "ELb0EffEEv13SSMParamsBase",
     "selective_scan", scan},
    {"_Z24causal_conv1d_fwd_kernelI31Causal_conv1d_fwd_kernel_traitsILi128ELi2ELb0EN3c104HalfENS1_"
     "8BFloat16EEEv14ConvParamsBase",
     "causal_conv1d", convolution},
    {"_Z36causal_conv1d_channellast_fwd_kernelI43Causal_conv1d_channellast_fwd_kernel_traitsILi128E"
     "Li4ELi64ELb1EffELb0EEv14ConvParamsBase",
     "causal_conv1d", convolution},
    {"_Z27causal_conv1d_update_kernelI34Causal_conv1d_update_kernel_traitsILi64ELi2EN3c104HalfENS1_"
     "8BFloat16EELb0EEv14ConvParamsBase",
     "causal_conv1d", convolution},
    {"_swiglu_fwd_kernel", "formula", gated_rows},
    {"_Z33per_token_group_quant_8bit_kernelI13__nv_bfloat1613__nv_fp8_e4m3Lb0ELb0EfEvPKT_PvPT3_iii"
     "fffii",
     "quantise_rows", fp8_groups},
    {"_Z33per_token_group_quant_8bit_kernelI6__half13__nv_fp8_e4m3Lb1ELb0EfEvPKT_PvPT3_iiifffii",
     "quantise_rows", fp8_groups},
    {"_per_token_quant_int8", "quantise_rows", int8_rows},
    {"_Z26per_token_quant_fp8_kernelI13__nv_bfloat1613__nv_fp8_e4m3Li8ELi16ELb1EEvPKT_PT0_Pfll",
     "quantise_rows", fp8_rows},
    {"_Z27per_tensor_quant_fp8_kernelI6__half13__nv_fp8_e4m3EvPKT_PT0_PKfl", "quantise", fp8_all},
    {"_Z17topkGatingSoftmaxI13__nv_bfloat16Li8ELi128ELi4ELi16EEvPKT_PKbPfiPiiiibfPKf",
     "topk_unsorted", router},
    {"_Z10moeSoftmaxI13__nv_bfloat16Li256EEvPKT_PKbPfifPKf", "softmax", router_softmax},
    {"_Z7moeTopKILi256EEvPfPKbS0_Piiiiib", "topk_unsorted", router_best},
    {"_Z11moeTopKFastILi256EEvPfPKbS0_Piiiiib", "topk_unsorted", router_best},
    {"_Z21moe_sum_reduce_kernelIN3c108BFloat16ELi8EEvPKT_PS2_lllllf", "sum_over", experts},
    {"_Z24merge_attn_states_kernelI13__nv_bfloat16Lj128EEvPT_PfPKS1_PKfS5_S7_jjj",
     "attention_merge_two", merged},
    {"_Z23rotary_embedding_kernelIN3c108BFloat16ELb1EEvPKlPT_S5_PKS4_illliii", "rope_halves_table",
     turned_heads},
    {"_ZN10flashinfer10activation18act_and_mul_kernelI13__nv_bfloat16XadL_Z4siluIfET_RKS3_EEEEvPT_"
     "PKS5_i",
     "silu_and_mul", gelu},
    {"_rms_norm_kernel", "rmsnorm", plain_rms},
    {"_ZN18transformer_engine13normalization19ln_fwd_tuned_kernelINS0_13Kernel_traitsI13__nv_"
     "bfloat16S3_S3_fjLj1024ELj1ELj1ELj4ELj16ENS0_18Kernel_traits_baseILj1024ES3_S3_S3_fjLj128EEEEE"
     "EEvNS0_19ForwardKernelParamsE",
     "layernorm_offset", norm_136},
    {"_Z31cast_transpose_optimized_kernelPK13__nv_bfloat16PKfP13__nv_fp8_e4m3S5_S3_PfS6_mm",
     "quantise_transpose", turned},
    {"_ZN18transformer_engine12unary_kernelILi16ELb1EfNS_5EmptyEXadL_ZNS_4geluIffEET_T0_RKS1_EE13__"
     "nv_bfloat1613__nv_fp8_e4m3EEvPKT4_PKT1_PT5_SE_PSC_SH_T2_mm",
     "formula", unary},
    {"_ZN18transformer_engine16gated_act_kernelILi16ELb1EfNS_5EmptyEXadL_ZNS_4siluIffEET_T0_RKS1_"
     "EE1"
     "3__nv_bfloat16S7_EEvPKT4_PT5_PKT1_PSD_SG_mmT2_m",
     "formula", gated},
    {"_ZN18transformer_engine71_GLOBAL__N__85086984_38_quantize_transpose_vector_blockwise_cu_"
     "d4a478bd37block_scaled_1d_cast_transpose_kernelILb1Ef13__nv_bfloat1613__nv_fp8_e4m3EEvPKT1_"
     "PT2_S8_PT0_SA_mmmmmmfNS_6detail25FP8BlockwiseRowwiseOptionENSB_28FP8BlockwiseColumnwiseOption"
     "EbPKf",
     "quantise_tiles", tiles},
    {"_ZN18transformer_engine25fused_rope_forward_kernelI13__nv_bfloat16EEvPKT_PKiPKfS6_PS2_"
     "biiiiiiiiiiiiii",
     "formula", angles},
    {"_Z16cuApplyLayerNormIN3c108BFloat16EfS1_EvPT1_PT0_S5_PKT_iiS4_PKS2_SA_", "layernorm_offset",
     apex_norm},
    {"_Z25multi_tensor_apply_"
     "kernelI18TensorListMetadataILi4EE11AdamFunctorIN3c108BFloat16EfiEJffffff"
     "10adamMode_tfEEvlPViT_T0_DpT1_",
     "adamw", adam_lists},
    {"_ZN74_GLOBAL__N__a2171a98_41_fused_rotary_positional_embedding_cuda_cu_45f2adc818fused_rope_"
     "forwardIN3c108BFloat16EEEviiiiiiiiiiiPKT_PKfPS3_",
     "formula", apex_angles},
    {FLASH, "attention", flash_464},
    {FLASH, "attention", flash_472},
    {FLASH_COMBINE, "attention", flash_472},
    {"_ZN13pytorch_flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi128ELi128ELi32E"
     "Li4ELb0ELb0EN7cutlass6half_tE19Flash_kernel_traitsILi128ELi128ELi32ELi4ES3_EELb1"
     "ELb0ELb0ELb0ELb0ELb0ELb0ELb0EEEvNS_16Flash_fwd_paramsE",
     "attention_dropout", flash_472},
    {"_ZN13pytorch_flash44flash_bwd_dq_dk_dv_loop_seqk_parallel_kernelI23Flash_bwd_ker"
     "nel_traitsILi128ELi64ELi128ELi8ELi2ELi4ELi2ELb0ELb0EN7cutlass6half_tE19Flash_ker"
     "nel_traitsILi128ELi64ELi128ELi8ES3_EELb1ELb0ELb0ELb0ELb0ELb0ELb0EEEvNS_16Flash_b"
     "wd_paramsE",
     "attention_dropout_backward", flash_648},
    {"_ZN13pytorch_flash44flash_bwd_dq_dk_dv_loop_seqk_parallel_kernelI23Flash_bwd_ker"
     "nel_traitsILi128ELi64ELi128ELi8ELi2ELi4ELi2ELb0ELb0EN7cutlass6half_tE19Flash_ker"
     "nel_traitsILi128ELi64ELi128ELi8ES3_EELb0ELb0ELb0ELb0ELb0ELb0ELb0EEEvNS_16Flash_b"
     "wd_paramsE",
     "attention_backward", flash_648},
    {"_ZN13pytorch_flash27flash_bwd_convert_dq_kernelI23Flash_bwd_kernel_traitsILi128E"
     "Li64ELi128ELi8ELi2ELi4ELi2ELb0ELb0EN7cutlass6half_tE19Flash_kernel_traitsILi128E"
     "Li64ELi128ELi8ES3_EEEEvNS_16Flash_bwd_paramsEi",
     "attention_dropout_backward", flash_652},
};

static void shipped_entries_meet_their_kernels(void **state)
{
    (void)state;
    struct complaints complaints = {0};
    struct registry *registry;
    struct registry_source source = {.files = "config/kernels/llmc.yaml:config/kernels/vllm.yaml:"
                                              "config/kernels/pytorch.yaml:"
                                              "config/kernels/triton.yaml:"
                                              "config/kernels/flashinfer.yaml:"
                                              "config/kernels/flashattention.yaml:"
                                              "config/kernels/pytorch_attention.yaml:"
                                              "config/kernels/llamacpp.yaml:"
                                              "config/kernels/bitsandbytes.yaml:"
                                              "config/kernels/mamba.yaml:"
                                              "config/kernels/sglang.yaml:"
                                              "config/kernels/xformers.yaml:"
                                              "config/kernels/apex.yaml:"
                                              "config/kernels/transformer_engine.yaml:"
                                              "config/untried/flashinfer_older.yaml"};
    registry_load(&registry, &source, complain_to, &complaints);
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    for (size_t i = 0; i < sizeof shipped / sizeof shipped[0]; i++) {
        struct param_layout layout = layout_of(shipped[i].sizes);
        struct error err = {0};
        enum skip skip;
        /* Triton's names spell no types: its first arrays are bf16 by their code. */
        for (unsigned k = 0; k < 5 && strncmp(shipped[i].symbol, "_Z", 2) != 0; k++)
            layout.param[k].dtype = layout.param[k].size == 8 ? DTYPE_BF16 : DTYPE_NONE;
        if (strcmp(shipped[i].symbol, "_layer_norm_forward_kernel") == 0)
            layout.param[6].dtype = layout.param[7].dtype = DTYPE_F32; /* mean and rstd */
        const struct kernel_spec *spec =
            registry_resolve(registry, shipped[i].symbol, &layout, &skip, &err);
        if (!spec)
            fail_msg("%s: %s %s", shipped[i].symbol, skip_text(skip), err.text);
        assert_string_equal(spec->reference->name, shipped[i].reference);
        assert_true(none_is_lost_of(registry, shipped[i].symbol) > 0);
    }
    /* rms_norm shares the kernel with layer_norm, and is another function. */
    assert_false(registry_names(
        registry, "_ZN2at6native12_GLOBAL__N_128vectorized_layer_norm_kernelIN3c108BFloat16EfLb1EEE"
                  "viT0_PKT_S8_S8_PS5_S9_PS6_"));
    registry_destroy(registry);
}

static void a_grid_sized_kernel_is_bound(void **state)
{
    (void)state;
    struct complaints complaints = {0};
    struct registry *registry;
    struct registry_source source = {.files = "config/kernels/llmc.yaml"};
    registry_load(&registry, &source, complain_to, &complaints);
    struct param_layout layout = layout_of(SIZES(8, 8));
    enum skip skip;
    const struct kernel_spec *spec = registry_resolve(
        registry, "_Z20gelu_forward_kernel2P13__nv_bfloat16PKS_", &layout, &skip, NULL);
    assert_non_null(spec);
    uint64_t out = 0x1000, inp = 0x2000;
    void *params[] = {&out, &inp};
    struct launch launch = {.grid = {10, 1, 1}, .block = {512, 1, 1}, .params = params};
    static struct binding binding;
    assert_int_equal(binding_make(spec, &launch, &binding, NULL), SKIP_NONE);
    assert_int_equal(binding.call.size[1], 10 * 512 * 8);
    assert_int_equal(binding.array[0].bytes, 2 * 10 * 512 * 8);
    assert_int_equal(binding.array[binding.tensor_array[1]].address, out);
    registry_destroy(registry);
}

static void put(uint8_t *at, size_t offset, int64_t value, size_t bytes)
{
    memcpy(at + offset, &value, bytes);
}

/* Two sequences of 7 queries and 9 keys, 4 heads that share 2 of the keys', 40 wide; heads before
 * the time in memory. Causal: nothing after a key's own place. */
static void fill_flash(uint8_t *at)
{
    static const struct {
        size_t offset, bytes;
        int64_t value;
    } rows[] = {{0, 8, 0x10000},      {8, 8, 0x20000},  {16, 8, 0x30000},  {24, 8, 4 * 7 * 40},
                {32, 8, 2 * 9 * 40},  {40, 8, 720},     {48, 8, 40},       {56, 8, 40},
                {64, 8, 40},          {72, 8, 7 * 40},  {80, 8, 9 * 40},   {88, 8, 360},
                {96, 4, 4},           {100, 4, 2},      {112, 8, 0x40000}, {128, 8, 4 * 7 * 40},
                {136, 8, 40},         {144, 8, 7 * 40}, {160, 8, 0x50000}, {176, 4, 2},
                {180, 4, 7},          {184, 4, 9},      {192, 4, 40},      {216, 4, 0x3e000000},
                {372, 4, 0x3f800000}, {388, 4, 9},      {392, 4, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        put(at, rows[i].offset, rows[i].value, rows[i].bytes);
}

/* FlashAttention's parameters by value; what the reference does not compute is not read. */
static void flash_attention_is_bound(void **state)
{
    (void)state;
    struct complaints complaints = {0};
    struct registry *registry;
    struct registry_source source = {.files = "config/kernels/flashattention.yaml"};
    registry_load(&registry, &source, complain_to, &complaints);
    struct param_layout layout = layout_of(flash_472);
    enum skip skip;
    const struct kernel_spec *spec = registry_resolve(registry, FLASH, &layout, &skip, NULL);
    assert_non_null(spec);
    uint8_t params_struct[472] = {0};
    fill_flash(params_struct);
    void *params[] = {params_struct};
    struct launch launch = {.grid = {1, 2, 4}, .block = {128, 1, 1}, .params = params};
    static struct binding binding;
    struct error err = {0};
    if (binding_make(spec, &launch, &binding, &err) != SKIP_NONE)
        fail_msg("%s", err.text);
    static const struct {
        const char *formal;
        uint64_t address;
        int64_t dim[4], stride[4];
    } arrays[] = {{"q", 0x10000, {2, 7, 4, 40}, {1120, 40, 280, 1}},
                  {"k", 0x20000, {2, 9, 2, 40}, {720, 40, 360, 1}},
                  {"v", 0x30000, {2, 9, 2, 40}, {720, 40, 360, 1}},
                  {"y", 0x40000, {2, 7, 4, 40}, {1120, 40, 280, 1}},
                  {"lse", 0x50000, {2, 4, 7, 0}, {28, 7, 1, 0}}};
    struct formals formals;
    assert_int_equal(formals_parse(&formals, spec->reference->formals, &err), STATUS_OK);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        const struct formal *formal = formals_find(&formals, arrays[i].formal);
        const struct ref_tensor *tensor = &binding.call.tensor[formal->slot];
        assert_int_equal(binding.array[binding.tensor_array[formal->slot]].address,
                         arrays[i].address);
        for (int k = 0; k < tensor->ndim; k++) {
            assert_int_equal(tensor->dim[k], arrays[i].dim[k]);
            assert_int_equal(tensor->stride[k], arrays[i].stride[k]);
        }
    }
    static const size_t refused[] = {224, 232, 248, 352, 372, 396, 448};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        params_struct[refused[i]]++;
        assert_int_equal(binding_make(spec, &launch, &binding, NULL), SKIP_WHEN);
        params_struct[refused[i]]--;
    }
    put(params_struct, 180, 10, 4); /* the first query would see no key */
    assert_int_equal(binding_make(spec, &launch, &binding, NULL), SKIP_WHEN);
    registry_destroy(registry);
}

/* llama.cpp's mul_mat_vec_q with its real layout: one matrix is bound, experts are not. */
static void a_quantised_product_is_bound(void **state)
{
    (void)state;
    struct complaints complaints = {0};
    struct registry *registry;
    struct registry_source source = {.files = "config/kernels/llamacpp.yaml"};
    registry_load(&registry, &source, complain_to, &complaints);
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    static const uint32_t sizes[] = {8, 8, 8, 48, 8, 4, 12, 4, 4, 4, 12, 4, 4, 4, 12, 4, 4, 4, 4};
    struct param_layout layout = {.count = 0};
    uint32_t end = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        layout.param[layout.count].offset = end;
        layout.param[layout.count++].size = sizes[i];
        end += sizes[i];
    }
    struct error err = {0};
    enum skip skip;
    const struct kernel_spec *spec =
        registry_resolve(registry, "_ZL13mul_mat_vec_qIL9ggml_type12ELi2ELb0ELb0ELb0EEvPKvS2_PKi",
                         &layout, &skip, &err);
    if (!spec)
        fail_msg("%s %s", skip_text(skip), err.text);
    uint64_t vx = 0x10000, vy = 0x20000, ids = 0, dst = 0x30000;
    uint32_t cols = 512, row = 2, column = 16, rows = 41, fastdiv[3] = {0, 0, 1}, fusion[12] = {0};
    void *params[] = {&vx,     &vy,     &ids,  &fusion, &dst, &cols,   fastdiv,
                      &row,    &column, &rows, fastdiv, &row, &column, &rows,
                      fastdiv, &row,    &row,  &row,    &row};
    struct launch launch = {.grid = {21, 1, 1}, .block = {32, 4, 1}, .params = params};
    struct binding b;
    if (binding_make(spec, &launch, &b, &err))
        fail_msg("%s", err.text);
    const struct ref_tensor *x = &b.call.tensor[0], *w = &b.call.tensor[1], *y = &b.call.tensor[3];
    assert_int_equal(x->dtype, DTYPE_Q8_1);
    assert_int_equal(x->dim[0], 2);
    assert_int_equal(x->stride[0], 16 * 36);
    assert_int_equal(w->dtype, DTYPE_Q4_K);
    assert_int_equal(w->dim[0], 41);
    assert_int_equal(w->dim[1], 512);
    assert_int_equal(w->stride[0], 2 * 144);
    assert_int_equal(y->dim[1], 41);
    assert_int_equal(y->stride[0], 41);
    ids = 0x40000;
    assert_int_equal(binding_make(spec, &launch, &b, &err), SKIP_WHEN);
    registry_destroy(registry);
}

/* Dims in another order than in memory are strides. */
static void a_transposed_output_is_bound(void **state)
{
    (void)state;
    struct complaints complaints = {0};
    struct registry *registry;
    struct registry_source source = {.files = "config/kernels/llmc.yaml"};
    registry_load(&registry, &source, complain_to, &complaints);
    struct param_layout layout = layout_of(unpermute);
    enum skip skip;
    const struct kernel_spec *spec =
        registry_resolve(registry, "_Z16unpermute_kernelPfS_iiii", &layout, &skip, NULL);
    assert_non_null(spec);
    uint64_t inp = 0x1000, out = 0x2000;
    int B = 2, N = 3, NH = 4, d = 5;
    void *params[] = {&inp, &out, &B, &N, &NH, &d};
    struct launch launch = {.grid = {1, 1, 1}, .block = {256, 1, 1}, .params = params};
    static struct binding binding;
    assert_int_equal(binding_make(spec, &launch, &binding, NULL), SKIP_NONE);
    const struct ref_tensor *y = &binding.call.tensor[1];
    static const int64_t dims[] = {2, 4, 3, 5}, strides[] = {60, 5, 20, 1};
    assert_memory_equal(y->dim, dims, sizeof dims);
    assert_memory_equal(y->stride, strides, sizeof strides);
    assert_int_equal(binding.array[binding.tensor_array[1]].bytes, 4 * 2 * 3 * 4 * 5);
    registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_say_the_real_parameter_lists),
        cmocka_unit_test(shipped_entries_meet_their_kernels),
        cmocka_unit_test(a_grid_sized_kernel_is_bound),
        cmocka_unit_test(flash_attention_is_bound),
        cmocka_unit_test(a_quantised_product_is_bound),
        cmocka_unit_test(a_transposed_output_is_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
