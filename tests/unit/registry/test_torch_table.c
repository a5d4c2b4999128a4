/*
 * The table of PyTorch's pointwise kernels: names and parameter lists as PyTorch 2 has them meet
 * the operation that they are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "plan/plan.h"
#include "registry/registry.h"
#include "tests/unit/common/registry_fixture.h"
#include "tests/unit/registry/pattern_names.h"

static const struct {
    const char *name;
    unsigned sizes[26];
    const char *output, *dtype;
} kernels[] = {
    {"_ZN50_GLOBAL__N__fa15d16e_17_RangeFactories_cu_38772b0829elementwise_kernel_with_ind"
     "exIiZZZN2at6native15arange_cuda_outERKN3c106ScalarES6_S6_RNS1_6TensorEENKUlvE_clEvEN"
     "KUlvE2_clEvEUllE_EEvT_T0_PN15function_traitsISD_E11result_typeE",
     {4, 24, 8},
     "y",
     "i64"},
    {"_ZN50_GLOBAL__N__fa15d16e_17_RangeFactories_cu_38772b0829elementwise_kernel_with_ind"
     "exIiZZZN2at6native15arange_cuda_outERKN3c106ScalarES6_S6_RNS1_6TensorEENKUlvE_clEvEN"
     "KUlvE7_clEvEUllE_EEvT_T0_PN15function_traitsISD_E11result_typeE",
     {4, 16, 8},
     "y",
     "bf16"},
    {"_ZN50_GLOBAL__N__fa15d16e_17_RangeFactories_cu_38772b0829elementwise_kernel_with_ind"
     "exIiZZZN2at6native15arange_cuda_outERKN3c106ScalarES6_S6_RNS1_6TensorEENKUlvE_clEvEN"
     "KUlvE_clEvEUllE_EEvT_T0_PN15function_traitsISD_E11result_typeE",
     {4, 24, 8},
     "y",
     "u8"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIP"
     "cLm3EEEEviT0_T1_",
     {4, 4, 24},
     "y",
     "f32"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIlEESt5arrayIP"
     "cLm3EEEEviT0_T1_",
     {4, 8, 24},
     "y",
     "i64"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIN3c108BFloat16E"
     "S4_S4_NS0_15binary_internal10MulFunctorIfEEEESt5arrayIPcLm3EEEEviT0_T1_",
     {4, 1, 24},
     "y",
     "bf16"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BUnaryFunctorIfffNS0_15binary"
     "_internal10MulFunctorIfEEEESt5arrayIPcLm2EEEEviT0_T1_",
     {4, 8, 16},
     "y",
     "f32"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_18GeluCUDAKernelImplERNS_18T"
     "ensorIteratorBaseENS0_8GeluTypeEENKUlvE_clEvENKUlvE2_clEvEUlN3c108BFloat16EE_St5arra"
     "yIPcLm2EEEEviT0_T1_",
     {4, 1, 16},
     "y",
     "bf16"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_18GeluCUDAKernelImplERNS_18T"
     "ensorIteratorBaseENS0_8GeluTypeEENKUlvE0_clEvENKUlvE2_clEvEUlN3c108BFloat16EE_St5arr"
     "ayIPcLm2EEEEviT0_T1_",
     {4, 1, 16},
     "y",
     "bf16"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIiEESt5arrayIPcLm1"
     "EEEEviT0_T1_",
     {4, 4, 8},
     "y",
     "i32"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi2ENS0_21CUDAFunctorOnSelf_addIlEESt5a"
     "rrayIPcLm2EEEEviT0_T1_",
     {4, 16, 16},
     "y",
     "i64"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_12_GLOBAL__N_117where_kernel"
     "_implERNS_14TensorIteratorEENKUlvE_clEvENKUlvE12_clEvEUlbffE_St5arrayIPcLm4EEEEviT0_"
     "T1_",
     {4, 1, 32},
     "y",
     "f32"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_12_GLOBAL__N_129pow_tensor_sca"
     "lar_kernel_implIffEEvRNS_18TensorIteratorBaseET0_EUlfE0_St5arrayIPcLm2EEEEviS6_T1_",
     {4, 1, 16},
     "y",
     "f32"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BUnaryFunctorIllbNS0_12_GLOBA"
     "L__N_116CompareEqFunctorIlEEEESt5arrayIPcLm2EEEEviT0_T1_",
     {4, 16, 16},
     "y",
     "bool"},
    {"_ZN2at6native27unrolled_elementwise_kernelINS0_13BinaryFunctorIfffNS0_15binary_inter"
     "nal10MulFunctorIfEEEESt5arrayIPcLm3EELi4E23TrivialOffsetCalculatorILi2EjESA_ILi1EjEN"
     "S0_6memory15LoadWithoutCastENSD_16StoreWithoutCastEEEviT_T0_T2_T3_T4_T5_",
     {4, 1, 24, 1, 1, 1, 1},
     "y",
     "f32"},
    {"_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18Te"
     "nsorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_St5arrayIPcLm2EELi4E23TrivialOffset"
     "CalculatorILi1EjESB_NS0_6memory12LoadWithCastILi1EEENSC_13StoreWithCastILi1EEEEEviT_"
     "T0_T2_T3_T4_T5_",
     {4, 1, 16, 1, 1, 8, 8},
     "y",
     "u8"},
    {"_ZN2at6native27unrolled_elementwise_kernelINS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EE"
     "Li4E23TrivialOffsetCalculatorILi2EjES7_ILi1EjENS0_6memory12LoadWithCastILi2EEENSA_13"
     "StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_",
     {4, 4, 24, 1, 1, 12, 8},
     "y",
     "u8"},
    {"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastINS0_13Bina"
     "ryFunctorIfffNS0_15binary_internal10MulFunctorIfEEEEEEvRNS_18TensorIteratorBaseERKT_"
     "EUliE_EEviT1_",
     {4, 640},
     "y",
     "f32"},
    {"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23d"
     "irect_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_EEvS"
     "4_RKT_EUliE_EEviT1_",
     {4, 528},
     "y",
     "f32"},
    {"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_15CUDA"
     "Functor_addIN3c108BFloat16EEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_",
     {4, 640},
     "y",
     "bf16"},
    {"_ZN2at6native13reduce_kernelILi128ELi4ENS0_8ReduceOpIN3c108BFloat16ENS0_14func_wrapp"
     "er_tIS4_ZNS0_11sum_functorIS4_fS4_EclERNS_14TensorIteratorEEUlffE_EEjS4_Li4ELi8EEEEE"
     "vT1_",
     {1048},
     "y",
     "bf16"},
    {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfLi4ELi4EE"
     "EEEvT1_",
     {1048},
     "y",
     "f32"},
    {"_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi2E"
     "EENS1_24BinaryOpListAlphaFunctorIfLi2ELi2ELi0EEEJSt4plusIfEfEEEvT_T0_DpT1_",
     {3144, 1, 1, 4},
     "a",
     "f32"},
    {"_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi3E"
     "EENS1_24PointwiseOpScalarFunctorIfLi3ELi3ELi0EEEJSt10multipliesIfEfEEEvT_T0_DpT1_",
     {3144, 1, 1, 4},
     "a",
     "f32"},
    {"_ZN2at6native12_GLOBAL__N_139layer_norm_grad_input_kernel_vectorizedIN3c108BFloat16EfLb0EEEv"
     "PKT_S7_PKT0_SA_S7_PS5_i",
     {8, 8, 8, 8, 8, 8, 4},
     "dx",
     "bf16"},
    {"_ZN2at6native12_GLOBAL__N_138nll_loss_forward_reduce_cuda_kernel_2dIfflEEvPT_S4_PKS3_PKT1_S6_"
     "bllll",
     {8, 8, 8, 8, 8, 1, 8, 8, 8, 8},
     "loss",
     "f32"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_26GeluBackwardCUDAKernelImplE"
     "RNS_18TensorIteratorBaseENS0_8GeluTypeEENKUlvE_clEvENKUlvE2_clEvEUlN3c108BFloat16ES8_"
     "E_St5arrayIPcLm3EEEEviT0_T1_",
     {4, 1, 24},
     "y",
     "bf16"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_12_GLOBAL__N_119launch_clamp_"
     "scalarERNS_18TensorIteratorBaseEN3c106ScalarES6_NS0_6detail11ClampLimitsEENKUlvE_clEv"
     "ENKUlvE5_clEvEUlfE_St5arrayIPcLm2EEEEviT0_T1_",
     {4, 24, 16},
     "y",
     "f32"},
    {"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastIZZZNS0_12_G"
     "LOBAL__N_119launch_clamp_scalarERNS_18TensorIteratorBaseEN3c106ScalarES7_NS0_6detail1"
     "1ClampLimitsEENKUlvE_clEvENKUlvE7_clEvEUlNS6_8BFloat16EE_EEvS5_RKT_EUliE_EEviT1_",
     {4, 552},
     "y",
     "bf16"},
    {"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_15gpu_kernel_implINS0_15CUDAFunctor_"
     "addIfEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_",
     {4, 648},
     "y",
     "u8"},
    {"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_12_G"
     "LOBAL__N_118masked_fill_kernelERNS_14TensorIteratorERKN3c106ScalarEENKUlvE_clEvENKUlv"
     "E5_clEvEUlfbE_EEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_",
     {4, 656},
     "y",
     "f32"},
    {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c108BFloat16ENS0_9ArgMaxOpsIfE"
     "EjlLi4ELi4EEEEEvT1_",
     {1064},
     "y",
     "i64"},
    {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c108BFloat16ENS0_6MaxOpsIS4_EE"
     "jS4_Li4ELi4EEEEEvT1_",
     {1064},
     "places",
     "i64"},
    {"_ZN2at6native13reduce_kernelILi128ELi4ENS0_8ReduceOpIfNS0_10WelfordOpsIffiN4cuda3std3"
     "__44pairIffEEEEjfLi2ELi2EEEEEvT1_",
     {1064},
     "mean",
     "f32"},
    {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIbNS0_14func_wrapper_tIbZZZNS0_14"
     "or_kernel_cudaERNS_14TensorIteratorEENKUlvE_clEvENKUlvE10_clEvEUlbbE_EEjbLi4ELi4EEEEE"
     "vT1_",
     {1040},
     "y",
     "bool"},
    {"_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_32FusedOptimizerTensorList"
     "MetadataILi4EEENS1_20FusedAdamMathFunctorIfLi4ELNS0_9ADAM_MODEE1ELb0EEEJPKfdddddbS9_S"
     "9_EEEvT_T0_DpT1_",
     {3336, 1, 8, 8, 8, 8, 8, 8, 1, 8, 8},
     "p",
     "f32"},
    {"_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_28TensorListScalarListMeta"
     "dataIfLi1EEENS1_25BinaryOpScalarListFunctorIN3c108BFloat16ELi1ELi1ELi0EEEJSt7dividesI"
     "fEEEEvT_T0_DpT1_",
     {3520, 1, 1},
     "a",
     "bf16"},
    {"_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi1EE"
     "ENS0_13LpNormFunctorIfLNS0_8NormTypeE1EfLi1ELi1ELi0EEEJPfiEEEvT_T0_DpT1_",
     {3368, 1, 8, 4},
     "y",
     "f32"},
    {"_ZN2at6native12_GLOBAL__N_135CatArrayBatchedCopy_alignedK_contigINS1_10OpaqueTypeILj2"
     "EEEjLi3ELi128ELi1ELi16EEEvPT_NS1_25CatArrInputTensorMetadataIS5_T0_XT2_EXT3_EEENS1_16"
     "TensorSizeStrideIS8_Lj4EEEiS8_",
     {8, 2720, 32, 4, 4},
     "y",
     "u16"},
    {"_ZN2at6native12_GLOBAL__N_130CatArrayBatchedCopy_vectorizedINS1_10OpaqueTypeILj4EEEjL"
     "i2ELi128ELi1ELi16ELi4EEEvPcNS1_25CatArrInputTensorMetadataIT_T0_XT2_EXT3_EEENS1_16Ten"
     "sorSizeStrideIS8_Lj4EEEiS8_",
     {8, 2720, 32, 4, 4},
     "y",
     "u32"},
    {"_ZN2at6native12_GLOBAL__N_135GammaBetaBackwardCUDAKernelTemplateIffLj32ELj32ELj256ELb"
     "0ELb1ELb0EEEvllPKT_S5_PKT0_S8_PS3_S9_",
     {8, 8, 8, 8, 8, 8, 8, 8},
     "dw",
     "f32"},
    {"_ZN2at6native47batch_norm_backward_reduce_channels_last_kernelILi4EN3c108BFloat16EffE"
     "EvPKT0_S6_PKT1_S9_PS7_SA_PT2_SC_PVS7_Piii",
     {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 4},
     "sum_dy",
     "f32"},
    {"_ZN2at6native12_GLOBAL__N_121max_pool_forward_nhwcIN3c108BFloat16EiEEvPKT_iT0_S8_S8_S"
     "8_S8_iiiiiiiiS8_S8_S8_S8_iiPS5_Pl",
     {8, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 8},
     "y",
     "bf16"},
    {"_ZN12_GLOBAL__N_121softmax_warp_backwardIfN3c108BFloat16EfLi7ELb0ELb0EEEvPT0_PKT_S7_i"
     "iiPKb",
     {8, 8, 8, 4, 4, 4, 8},
     "dx",
     "bf16"},
    {"_ZN2at6native51_GLOBAL__N__a30dace1_18_DepthwiseConv2d_cu_9959487031conv_depthwise2d"
     "_forward_kernelILi3EN3c108BFloat16EiEEvN5torch10headeronly6detail27GenericPackedTens"
     "orAccessorINS7_14TensorAccessorINS3_8ArrayRefIlEEKT0_Lm3ENS6_16DefaultPtrTraitsEiEEN"
     "S_6detail16IndexBoundsCheckILm4EiEESD_Lm4ESE_iEENS8_INS9_ISB_SC_Lm3ESE_iEESI_SC_Lm4E"
     "SE_iEESJ_NS8_INS9_ISB_SD_Lm0ESE_iEENSH_ILm1EiEESD_Lm1ESE_iEEbT1_iiiiiiiiiiiiii",
     {40, 40, 40, 16, 1, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4},
     "y",
     "bf16"},
    {"_ZN2at6native51_GLOBAL__N__a30dace1_18_DepthwiseConv2d_cu_9959487032conv_depthwise2d"
     "_backward_kernelILi5ELi2EN3c108BFloat16EiEEvN5torch10headeronly6detail27GenericPacke"
     "dTensorAccessorINS7_14TensorAccessorINS3_8ArrayRefIlEEKT1_Lm3ENS6_16DefaultPtrTraits"
     "EiEENS_6detail16IndexBoundsCheckILm4EiEESD_Lm4ESE_iEENS8_INS9_ISB_SC_Lm3ESE_iEESI_SC"
     "_Lm4ESE_iEESJ_T2_iiiiiiiiiiiiiii",
     {40, 40, 40, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4},
     "dx",
     "bf16"},
    {"_ZN2at6native51_GLOBAL__N__a30dace1_18_DepthwiseConv2d_cu_9959487035conv_depthwise2d"
     "_grad_weight_kernelIfjEEvN5torch10headeronly6detail27GenericPackedTensorAccessorINS5"
     "_14TensorAccessorIN3c108ArrayRefIlEEKT_Lm3ENS4_16DefaultPtrTraitsEiEENS_6detail16Ind"
     "exBoundsCheckILm4EiEESC_Lm4ESD_iEESI_NS6_INS7_ISA_SB_Lm3ESD_iEESH_SB_Lm4ESD_iEEiiiii"
     "iiiiiiiiiii",
     {40, 40, 40, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4},
     "dw",
     "f32"},
    {"_ZN2at6native19indexFuncLargeIndexIfljLi2ELi2ELin2ELb1ENS0_44_GLOBAL__N__50c743a2_11"
     "_Indexing_cu_89862edb9ReduceAddEEEvNS_4cuda6detail10TensorInfoIT_T1_EENS6_IKS7_S8_EE"
     "NS6_IKT0_S8_EEiiS8_S8_llRKT6_S7_",
     {216, 216, 216, 4, 4, 4, 4, 8, 8, 8, 4},
     "y",
     "f32"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_61_GLOBAL__N__1b4ab108_22_Ac"
     "tivationEluKernel_cu_751192d7_1491019elu_backward_kernelERNS_18TensorIteratorBaseERK"
     "N3c106ScalarES8_S8_bENKUlvE_clEvENKUlvE0_clEvEUlffE_St5arrayIPcLm3EEEEviT0_T1_",
     {4, 16, 24},
     "y",
     "f32"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi2ENS0_13BUnaryFunctorIlllZZZNS0_15bin"
     "ary_internal21div_trunc_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE_clEvENKUlvE2_cl"
     "EvEUlllE_EESt5arrayIPcLm2EEEEviT0_T1_",
     {4, 16, 16},
     "y",
     "i64"},
    {"_ZN2at6native34_scatter_gather_elementwise_kernelILi128ELi8EZNS0_36_cuda_scatter_gathe"
     "r_internal_kernelILb0ENS0_10OpaqueTypeILi8EEElEclINS0_12TensorAssignEEEvRNS_14TensorIt"
     "eratorElllRKT_EUliE_EEviT1_",
     {4, 672},
     "y",
     "f64"},
    {"_ZN2at6native24index_elementwise_kernelILi128ELi4EZNS0_16gpu_index_kernelIZNS0_17index"
     "_kernel_implINS0_10OpaqueTypeILi1EEEEEvRNS_18TensorIteratorBaseEN3c108ArrayRefIlEESA_E"
     "UlPcPKclE_EEvS7_SA_SA_RKT_bEUliE_EEvlT1_",
     {8, 1248},
     "y",
     "u8"},
    {"_ZN2at6native49_GLOBAL__N__0edc5583_16_Normalization_cu_5c38458745unrolled_elementwise"
     "_kernel_for_multi_outputsILi3EZZZNS1_34batch_norm_update_stats_and_invertERKNS_6Tensor"
     "ES5_S5_S5_ddlENKUlvE_clEvENKUlvE0_clEvEUlffffE_St5arrayIPcLm7EE23TrivialOffsetCalculat"
     "orILi4EjESC_ILi3EjEEEviT0_T1_T2_T3_",
     {4, 12, 56, 1, 1},
     "new_var",
     "f32"},
#include "tests/unit/registry/torch_image_names.inc"
#include "tests/unit/registry/torch_more_names.inc"
#include "tests/unit/registry/torch_random_names.inc"
};

/* A reduction and a function that no entry has. */
static const char *const others[] = {
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_9MinMaxOpsIffiEEjfLi4ELi4EEEEEvT1_",
    "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_16sinc_kernel_cudaERNS_18Tenso"
    "rIteratorBaseEEUlfE_St5arrayIPcLm2EEEEviT0_T1_",
};

static void kernels_meet_their_operation(void **state)
{
    (void)state;
    struct complaints complaints = {0};
    struct registry *registry;
    struct registry_source source = {.files = "config/kernels/pytorch_pointwise.yaml:"
                                              "config/kernels/pytorch_casts.yaml:"
                                              "config/kernels/pytorch_strided.yaml:"
                                              "config/kernels/pytorch_strided_casts.yaml:"
                                              "config/kernels/pytorch_cat.yaml:"
                                              "config/kernels/pytorch_reduce.yaml:"
                                              "config/kernels/pytorch_foreach.yaml:"
                                              "config/kernels/pytorch_rows.yaml:"
                                              "config/kernels/pytorch_images.yaml:"
                                              "config/kernels/pytorch_indexed.yaml:"
                                              "config/kernels/pytorch_more.yaml:"
                                              "config/kernels/pytorch_random.yaml"};
    registry_load(&registry, &source, complain_to, &complaints);
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        struct param_layout layout = layout_of(kernels[i].sizes);
        struct error err = {{0}};
        enum skip skip;
        const struct kernel_spec *spec =
            registry_resolve(registry, kernels[i].name, &layout, &skip, &err);
        if (!spec)
            fail_msg("%s: %s %s", kernels[i].name, skip_text(skip), err.text);
        assert_non_null(spec->reference);
        const struct signature_item *y = signature_find(spec->signature, kernels[i].output);
        assert_string_equal(dtype_text(y->type.dtype), kernels[i].dtype);
        assert_true(none_is_lost_of(registry, kernels[i].name) > 0);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(registry_names(registry, others[i]));
    registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_meet_their_operation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
