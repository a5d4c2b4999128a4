/*
 * names.h - kernels of random numbers as PyTorch 2.11 calls them, and what they take by value, for
 * kernels.cu and program.c. `hash` stands for that of a build, 8 digits: RIGHT or WRONG.
 */
#ifndef TORCH_RANDOM_H
#define TORCH_RANDOM_H

#include <stdbool.h>

#define RIGHT 11111111
#define WRONG 22222222

/* Names longer than a line. */
/* clang-format off */
#define UNIFORM_(hash) \
    _ZN2at6native55_GLOBAL__N__##hash \
    ##_22_DistributionUniform_cu_67fa25cf43distribution_elementwise_grid_stride_kernel \
    ##IfLi4EZNS0_9templates4cuda21uniform_and_transformIffPNS_17CUDAGeneratorImplEZZZN \
    ##S4_14uniform_kernelIS7_EEvRNS_18TensorIteratorBaseEddT_ENKUlvE_clEvENKUlvE0_clEv \
    ##EUlfE_EEvSA_T1_T2_EUlP24curandStatePhilox4_32_10E0_ZNS1_27distribution_nullary_k \
    ##ernelIff6float4S7_SJ_SE_EEvSA_SG_RKT3_T4_EUlifE_EEvlNS_15PhiloxCudaStateESF_SG_
#define NORMAL_(hash) \
    _ZN2at6native54_GLOBAL__N__##hash \
    ##_21_DistributionNormal_cu_0c5b6e8543distribution_elementwise_grid_stride_kernelI \
    ##fLi4EZNS0_9templates4cuda20normal_and_transformIffPNS_17CUDAGeneratorImplEZZZNS4 \
    ##_13normal_kernelIS7_EEvRKNS_10TensorBaseEddT_ENKUlvE_clEvENKUlvE0_clEvEUlfE_EEvR \
    ##NS_18TensorIteratorBaseET1_T2_EUlP24curandStatePhilox4_32_10E0_ZNS1_27distributi \
    ##on_nullary_kernelIff6float4S7_SM_SF_EEvSH_SJ_RKT3_T4_EUlifE_EEvlNS_15PhiloxCudaS \
    ##tateESI_SJ_
#define NORMAL_DOUBLE_(hash) \
    _ZN2at6native54_GLOBAL__N__##hash \
    ##_21_DistributionNormal_cu_0c5b6e8543distribution_elementwise_grid_stride_kernelI \
    ##dLi2EZNS0_9templates4cuda20normal_and_transformIddPNS_17CUDAGeneratorImplEZZZNS4 \
    ##_13normal_kernelIS7_EEvRKNS_10TensorBaseEddT_ENKUlvE_clEvENKUlvE_clEvEUldE_EEvRN \
    ##S_18TensorIteratorBaseET1_T2_EUlP24curandStatePhilox4_32_10E_ZNS1_27distribution \
    ##_nullary_kernelIdd7double2S7_SM_SF_EEvSH_SJ_RKT3_T4_EUlidE_EEvlNS_15PhiloxCudaSt \
    ##ateESI_SJ_
#define NORMAL_STRIDED_(hash) \
    _ZN2at6native54_GLOBAL__N__##hash \
    ##_21_DistributionNormal_cu_0c5b6e8543distribution_elementwise_grid_stride_kernelI \
    ##fLi4EZNS0_9templates4cuda20normal_and_transformIN3c108BFloat16EfPNS_17CUDAGenera \
    ##torImplEZZZNS4_13normal_kernelIS9_EEvRKNS_10TensorBaseEddT_ENKUlvE_clEvENKUlvE2_ \
    ##clEvEUlfE_EEvRNS_18TensorIteratorBaseET1_T2_EUlP24curandStatePhilox4_32_10E0_ZNS \
    ##1_27distribution_nullary_kernelIS7_f6float4S9_SO_SH_EEvSJ_SL_RKT3_T4_EUlifE0_EEv \
    ##lNS_15PhiloxCudaStateESK_SL_
#define INTEGERS_(hash) \
    _ZN2at6native60_GLOBAL__N__##hash \
    ##_27_DistributionRandomKernel_cu_f88cee4443distribution_elementwise_grid_stride_k \
    ##ernelIjLi4EZZZNS0_9templates4cuda21random_from_to_kernelIPNS_17CUDAGeneratorImpl \
    ##EEEvRNS_18TensorIteratorBaseEmlT_ENKUlvE_clEvENKUlvE2_clEvEUlP24curandStatePhilo \
    ##x4_32_10E0_ZNS1_27distribution_nullary_kernelIlj5uint4S7_SF_ZZZS5_IS7_EvS9_mlSA_ \
    ##ENKSB_clEvENKSC_clEvEUljE_EEvS9_T2_RKT3_T4_EUlijE_EEvlNS_15PhiloxCudaStateET1_SJ \
    ##_
#define BERNOULLI_(hash) \
    _ZN2at4cuda57_GLOBAL__N__##hash \
    ##_24_DistributionBernoulli_cu_7537a20d21kernelPointwiseApply2IZNS_6native9templat \
    ##es4cuda28bernoulli_tensor_cuda_kernelIffEEvRKNS_10TensorBaseES9_NS_15PhiloxCudaS \
    ##tateEEUliRfSB_SB_SB_RKfSD_SD_SD_E_fSC_jLi1ELi1ELi4ELi512ELi2EEEvNS0_6detail10Ten \
    ##sorInfoIT0_T2_EENSG_IT1_SI_EESI_T_
#define DROPOUT_(hash) \
    _ZN2at6native43_GLOBAL__N__##hash \
    ##_10_Dropout_cu_0e96ed3824fused_dropout_kernel_vecIffjLi1ELi4EbEEvNS_4cuda6detail \
    ##10TensorInfoIKT_T1_EENS5_IS6_S8_EENS5_IT4_S8_EES8_T0_NS_15PhiloxCudaStateE
/* clang-format on */
#define UNIFORM(hash)        UNIFORM_(hash)
#define NORMAL(hash)         NORMAL_(hash)
#define NORMAL_DOUBLE(hash)  NORMAL_DOUBLE_(hash)
#define NORMAL_STRIDED(hash) NORMAL_STRIDED_(hash)
#define INTEGERS(hash)       INTEGERS_(hash)
#define BERNOULLI(hash)      BERNOULLI_(hash)
#define DROPOUT(hash)        DROPOUT_(hash)

enum { DIMS = 25 };

struct philox_state {
    unsigned long long seed, offset, within; /* captured: the first two are addresses */
    bool captured;
};

struct nothing {
    char unused;
};

struct uniform {
    float *y;
    int stride; /* in bytes, here and below */
    float range, bottom, top;
};

struct normal {
    float *y;
    int stride;
    float mean, std;
};

struct normal_double {
    double *y;
    int stride;
    double mean, std;
};

struct integers {
    long *y;
    int stride;
    unsigned long range;
    long base;
};

/* bf16 over any dims, the fastest first. */
struct normal_strided {
    int dims;
    struct {
        unsigned divisor, magic, shift;
    } size[DIMS];
    unsigned step[DIMS];
    unsigned short *y;
    float mean, std;
};

struct tensor_info {
    void *data;
    int size[DIMS], stride[DIMS], dims;
};

#endif
