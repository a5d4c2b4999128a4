/*
 * lt_tail.c - `lt_tail K [CODE [graph]]`: 8 rows of K f16 ones times K columns of 8 by
 * cublasLtMatmul, into f32, by the algorithm that the library's heuristic ranks first; `graph`: in
 * a CUDA graph that is launched once. Prints one element, and ends with CODE where that is right.
 */
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 8, N = 8 };

static void check(int status, const char *what)
{
    if (status != 0) {
        printf("%s: %d\n", what, status);
        exit(3);
    }
}
#define CHECK(call) check((int)(call), #call)

static void *upload_ones(size_t count)
{
    void *array;
    uint16_t *ones = malloc(count * sizeof *ones);
    if (!ones)
        exit(2);
    for (size_t i = 0; i < count; i++)
        ones[i] = 0x3c00;
    CHECK(cudaMalloc(&array, count * sizeof *ones));
    CHECK(cudaMemcpy(array, ones, count * sizeof *ones, cudaMemcpyHostToDevice));
    free(ones);
    return array;
}

static cublasLtMatrixLayout_t by_rows(cudaDataType type, uint64_t rows, uint64_t cols)
{
    cublasLtMatrixLayout_t layout;
    cublasLtOrder_t order = CUBLASLT_ORDER_ROW;
    CHECK(cublasLtMatrixLayoutCreate(&layout, type, rows, cols, (int64_t)cols));
    CHECK(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order,
                                           sizeof order));
    return layout;
}

/* The stream's work so far, which was captured. */
static void launch_captured(cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(ready));
}

int main(int argc, char **argv)
{
    const int in_graph = argc > 3;
    const int k = argc > 1 ? atoi(argv[1]) : 11528;
    const size_t workspace_bytes = 32 << 20;
    const float alpha = 1, beta = 0;
    float first;
    int found = 0;
    void *workspace, *c;
    cudaStream_t stream;
    cublasLtHandle_t lt;
    cublasLtMatmulDesc_t desc;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t heuristic;
    CHECK(cublasLtCreate(&lt));
    CHECK(cudaMalloc(&workspace, workspace_bytes));
    CHECK(cudaMalloc(&c, M * N * sizeof(float)));
    void *a = upload_ones((size_t)M * (size_t)k), *b = upload_ones((size_t)k * N);
    CHECK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    cublasLtMatrixLayout_t la = by_rows(CUDA_R_16F, M, (uint64_t)k),
                           lb = by_rows(CUDA_R_16F, (uint64_t)k, N), lc = by_rows(CUDA_R_32F, M, N);
    CHECK(cublasLtMatmulPreferenceCreate(&preference));
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &workspace_bytes, sizeof workspace_bytes));
    CHECK(cublasLtMatmulAlgoGetHeuristic(lt, desc, la, lb, lc, lc, preference, 1, &heuristic,
                                         &found));
    CHECK(found ? 0 : -1);
    CHECK(cudaStreamCreate(&stream));
    if (in_graph)
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CHECK(cublasLtMatmul(lt, desc, &alpha, a, la, b, lb, &beta, c, lc, c, lc, &heuristic.algo,
                         workspace, workspace_bytes, stream));
    if (in_graph)
        launch_captured(stream);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&first, c, sizeof first, cudaMemcpyDeviceToHost));
    printf("cublasLt %zu: k %d, c[0][0] = %g\n", cublasLtGetVersion(), k, first);
    return first == (float)k && argc > 2 ? atoi(argv[2]) : 0;
}
