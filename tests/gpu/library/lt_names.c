/*
 * lt_names.c - calls of cublasLtMatmul without a handle, which the library refuses: what cuvet
 * reads of the real library's descriptors is in the names of the calls.
 */
#include <cublasLt.h>
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 64, N = 48, K = 80, ARRAYS = 6 };

struct request {
    cudaDataType inputs, output;
    cublasComputeType_t compute;
    cublasLtEpilogue_t epilogue;
    bool by_rows, apart, scaled, fast;
    int32_t batch;
    float beta;
};

static CUdeviceptr array[ARRAYS];

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int status_ = (int)(call);                                                                 \
        if (status_) {                                                                             \
            printf("%s: %d\n", #call, status_);                                                    \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)
#define SET(desc, name, value)                                                                     \
    CHECK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_##name, &(value),              \
                                         sizeof(value)))

static cublasLtMatrixLayout_t layout_of(const struct request *request, cudaDataType type,
                                        uint64_t rows, uint64_t cols)
{
    cublasLtMatrixLayout_t layout;
    const cublasLtOrder_t order = CUBLASLT_ORDER_ROW;
    const int64_t distance = M * K;
    CHECK(cublasLtMatrixLayoutCreate(&layout, type, rows, cols,
                                     (int64_t)(request->by_rows ? cols : rows)));
    if (request->by_rows)
        CHECK(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order,
                                               sizeof order));
    if (request->batch > 1) {
        CHECK(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                               &request->batch, sizeof request->batch));
        CHECK(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                               &distance, sizeof distance));
    }
    return layout;
}

static int ask(const struct request *request)
{
    const float alpha = 1;
    const int64_t ld = 128;
    const int8_t fast = request->fast;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a = layout_of(request, request->inputs, M, K);
    cublasLtMatrixLayout_t b = layout_of(request, request->inputs, K, N);
    cublasLtMatrixLayout_t c = layout_of(request, request->output, M, N);
    CHECK(cublasLtMatmulDescCreate(&desc, request->compute, CUDA_R_32F));
    SET(desc, EPILOGUE, request->epilogue);
    SET(desc, BIAS_POINTER, array[4]);
    SET(desc, EPILOGUE_AUX_POINTER, array[5]);
    SET(desc, EPILOGUE_AUX_LD, ld);
    SET(desc, FAST_ACCUM, fast);
    if (request->scaled) {
        SET(desc, A_SCALE_POINTER, array[4]);
        SET(desc, B_SCALE_POINTER, array[4]);
    }
    return (int)cublasLtMatmul(NULL, desc, &alpha, (void *)array[0], a, (void *)array[1], b,
                               &request->beta, (void *)array[request->apart ? 3 : 2], c,
                               (void *)array[2], c, NULL, NULL, 0, 0);
}

#define F32  CUBLAS_COMPUTE_32F
#define BF16 CUDA_R_16BF, CUDA_R_16BF, F32

int main(void)
{
    static const struct request requests[] = {
        {CUDA_R_16F, CUDA_R_32F, F32, CUBLASLT_EPILOGUE_DEFAULT, .by_rows = true},
        {BF16, .epilogue = CUBLASLT_EPILOGUE_BIAS},
        {BF16, .epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS},
        {BF16, .epilogue = CUBLASLT_EPILOGUE_RELU_AUX},
        {BF16, .epilogue = CUBLASLT_EPILOGUE_DGELU_BGRAD},
        {BF16, .epilogue = CUBLASLT_EPILOGUE_DRELU_BGRAD},
        {BF16, .epilogue = CUBLASLT_EPILOGUE_BGRADA},
        {BF16, .epilogue = CUBLASLT_EPILOGUE_BGRADB},
        {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLASLT_EPILOGUE_DEFAULT,
         .batch = 3, .beta = 0.5f},
        {CUDA_R_32F, CUDA_R_32F, F32, CUBLASLT_EPILOGUE_DEFAULT, .apart = true, .beta = 0.5f},
        {CUDA_R_8F_E4M3, CUDA_R_16BF, F32, CUBLASLT_EPILOGUE_DEFAULT, .scaled = true, .fast = true},
        {CUDA_R_8F_E4M3, CUDA_R_16BF, F32, CUBLASLT_EPILOGUE_BIAS, .scaled = true},
    };
    CUcontext context;
    CUdevice device;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    for (int i = 0; i < ARRAYS; i++)
        CHECK(cuMemAlloc(&array[i], 1 << 20));
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        printf("%zu: %s\n", i, ask(&requests[i]) ? "refused" : "done");
    return 0;
}
