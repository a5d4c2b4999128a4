/*
 * kernels.cu - elements by two indices, put by two, flipped, and above a diagonal, with the names
 * and parameter lists of PyTorch's, so that its tables name them. Those with a second template
 * argument of 5, and triu of 3 elements a thread, are wrong by one element.
 */
#include "structs.h"

namespace at::native
{

template <int> struct OpaqueType {
};
template <class> struct index_kernel_impl {
    enum { PUTS = 0 };
};
template <class> struct index_put_kernel_impl {
    enum { PUTS = 1 };
};

/* The place of element i in array k. */
template <class S> __device__ long long place(const S &s, int i, int k)
{
    long long at = 0;
    for (int d = 0; d < s.dims; d++) {
        at += (long long)(i % (int)s.size[d].divisor) * s.stride[d][k];
        i /= (int)s.size[d].divisor;
    }
    return at;
}

template <class F> struct gpu_index_kernel : by_index {
    __device__ void operator()(int i) const
    {
        long long at = 0;
        for (int k = 0; k < indices; k++) {
            long long e = *(const long long *)((const char *)index[k] + place(*this, i, 2));
            at += (e < 0 ? e + entries[k] : e) * step[k];
        }
        char *to = out + place(*this, i, 0) + (F::PUTS ? at : 0);
        *(float *)to = *(const float *)(in + place(*this, i, 1) + (F::PUTS ? 0 : at));
    }
};
template <class T> struct flip_kernel_impl : flipping {
    __device__ void operator()(int i) const
    {
        *(float *)(out + place(*this, i, 0)) = *(const float *)(in + place(*this, i, 1));
    }
};

template <int nt, int vt, class F> __global__ void index_elementwise_kernel(long n, F f)
{
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        if (vt == 4 || i != 3)
            f(i);
}

namespace cuda::detail
{
template <class, class> struct TensorInfo : tensor_info {
};
} // namespace cuda::detail

template <class T, class I, bool upper, int each, bool inplace>
__global__ void triu_tril_kernel(cuda::detail::TensorInfo<T, I> y,
                                 cuda::detail::TensorInfo<const T, I> x, long k, long n, I padded)
{
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) {
        int left = i, from = 0, to = 0, at[DIMS];
        for (int d = x.dims - 1; d >= 0; d--) {
            at[d] = left % x.size[d];
            left /= x.size[d];
            from += at[d] * x.stride[d];
            to += at[d] * y.stride[d];
        }
        bool in = at[x.dims - 1] - at[x.dims - 2] >= k + (each == 3);
        ((T *)y.data)[to] = in ? ((const T *)x.data)[from] : 0;
    }
    (void)padded;
}

#define BY_INDEX(vt, kind)                                                                         \
    template __global__ void                                                                       \
    index_elementwise_kernel<128, vt, gpu_index_kernel<kind<OpaqueType<4>>>>(                      \
        long, gpu_index_kernel<kind<OpaqueType<4>>>);
BY_INDEX(4, index_kernel_impl)
BY_INDEX(5, index_kernel_impl)
BY_INDEX(4, index_put_kernel_impl)
BY_INDEX(5, index_put_kernel_impl)
#define FLIP flip_kernel_impl<OpaqueType<4>>
template __global__ void index_elementwise_kernel<128, 4, FLIP>(long, FLIP);
template __global__ void index_elementwise_kernel<128, 5, FLIP>(long, FLIP);
#define TRIU(each)                                                                                 \
    template __global__ void triu_tril_kernel<float, int, true, each, false>(                      \
        cuda::detail::TensorInfo<float, int>, cuda::detail::TensorInfo<const float, int>, long,    \
        long, int);
TRIU(2)
TRIU(3)

} // namespace at::native
