/*
 * kernels.cu - torch.cat's kernel for dense inputs and its variance over one dim, with the names
 * and parameter lists of PyTorch's, so that its tables name them. Those with 3 dims, and with a
 * vector width of 4, are wrong: the first leaves out each input's last element, the other divides
 * by n.
 */
#include "structs.h"

namespace at::native
{

template <unsigned N> struct OpaqueType {
    unsigned short bits;
};
template <class, class, int n, int> struct CatArrInputTensorMetadata : cat_inputs {
};
template <class, unsigned> struct TensorSizeStride : cat_output {
};

/* Block (x, y): a part of input y. */
template <class T, class I, int D, int n, int strides>
__global__ void CatArrayBatchedCopy_contig(T *out, CatArrInputTensorMetadata<T, I, n, strides> in,
                                           TensorSizeStride<I, 4> os, int dim, I dim_stride)
{
    unsigned k = blockIdx.y, count = in.elements[k] - (D == 3);
    const T *from = (const T *)in.input[k];
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * blockDim.x) {
        unsigned left = i, to = in.offset[k] * dim_stride;
        for (int d = D - 1; d > 0; d--) {
            unsigned size = d == dim ? in.dim_size[k] : os.size[d];
            to += left % size * os.stride[d];
            left /= size;
        }
        out[to + left * os.stride[0]] = from[i];
    }
}

template <class A, class B> struct pair {
};
template <class, class, class, class> struct WelfordOps {
};
template <class, class, class, class, int, int> struct ReduceOp : reduced {
};

/* A thread an output. */
template <int threads, int vec, class R> __global__ void reduce_kernel(R op)
{
    int at = (int)(blockIdx.x * blockDim.x + threadIdx.x), n = (int)op.inner_size[0].divisor;
    if (at >= (int)op.outer_size[0].divisor)
        return;
    const char *from = op.source + (unsigned)at * op.outer_stride[0][1];
    float sum = 0, spread = 0;
    for (int i = 0; i < n; i++)
        sum += *(const float *)(from + (unsigned)i * op.inner_stride[0]);
    for (int i = 0; i < n; i++) {
        float gap = *(const float *)(from + (unsigned)i * op.inner_stride[0]) - sum / n;
        spread += gap * gap;
    }
    spread /= vec == 4 ? n : n - op.correction;
    *(float *)(op.out[0] + (unsigned)at * op.outer_stride[0][0]) =
        op.take_root ? sqrtf(spread) : spread;
    if (op.outputs == 2)
        *(float *)(op.out[1] + (unsigned)at * op.outer_stride[0][0]) = sum / n;
}

#define CAT(D)                                                                                     \
    template __global__ void CatArrayBatchedCopy_contig<OpaqueType<2>, unsigned, D, 128, 1>(       \
        OpaqueType<2> *, CatArrInputTensorMetadata<OpaqueType<2>, unsigned, 128, 1>,               \
        TensorSizeStride<unsigned, 4>, int, unsigned);
CAT(2)
CAT(3)
#define WELFORD                                                                                    \
    ReduceOp<float, WelfordOps<float, float, int, pair<float, float>>, unsigned, float, 2, 2>
template __global__ void reduce_kernel<512, 1, WELFORD>(WELFORD);
template __global__ void reduce_kernel<512, 4, WELFORD>(WELFORD);

} // namespace at::native
