/*
 * kernels.cu - pointwise kernels with the names and parameter lists of PyTorch's, so that its table
 * names them: contiguous arrays, arrays whose types the launch decides, arrays of any strides.
 * Those of vector width 8 leave out the last elements.
 */
#include <array>

namespace c10
{
struct BFloat16 {
    unsigned short bits;
};
} // namespace c10

__device__ static float to_float(float x)
{
    return x;
}

__device__ static float to_float(c10::BFloat16 x)
{
    return __uint_as_float((unsigned)x.bits << 16);
}

__device__ static c10::BFloat16 to_bf16(float x)
{
    unsigned bits = __float_as_uint(x);
    return {(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

template <class T> __device__ static T narrow(float x);
template <> __device__ float narrow<float>(float x)
{
    return x;
}
template <> __device__ c10::BFloat16 narrow<c10::BFloat16>(float x)
{
    return to_bf16(x);
}

template <int, class = unsigned> struct TrivialOffsetCalculator {
};

namespace at::native
{

template <class T> struct CUDAFunctor_add {
    typedef T type;
    float alpha;
    __device__ float operator()(float a, float b) const
    {
        return a + alpha * b;
    }
};

namespace binary_internal
{
template <class> struct MulFunctor {
};
} // namespace binary_internal

template <class T, class, class, class> struct BinaryFunctor {
    typedef T type;
    __device__ float operator()(float a, float b) const
    {
        return a * b;
    }
};

namespace memory
{
/* Types are numbers: 6 is f32, 15 bf16. */
template <int N> struct LoadWithCast {
    signed char dtypes[N];
    unsigned sizes[N];
    __device__ float load(const char *base, int i, int argument) const
    {
        if (dtypes[argument] == 15)
            return to_float(((const c10::BFloat16 *)base)[i]);
        return ((const float *)base)[i];
    }
};
template <int> struct StoreWithCast {
    signed char dtype;
    unsigned size;
    __device__ void store(char *base, int i, float x) const
    {
        if (dtype == 15)
            ((c10::BFloat16 *)base)[i] = to_bf16(x);
        else
            ((float *)base)[i] = x;
    }
};
} // namespace memory

template <int vec, class F, class A>
__global__ void vectorized_elementwise_kernel(int N, F f, A data)
{
    typedef typename F::type T;
    int end = vec == 8 ? N / 8 * 8 : N;
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < end;
         i += (int)(gridDim.x * blockDim.x)) {
        float a = to_float(((const T *)data._M_elems[1])[i]);
        float b = to_float(((const T *)data._M_elems[2])[i]);
        ((T *)data._M_elems[0])[i] = narrow<T>(f(a, b));
    }
}

/* The last template argument of the table's kind comes before these; `wrong` rounds on its way. */
template <class F, class A, int wrong, class I, class O, class L, class S>
__global__ void unrolled_elementwise_kernel(int N, F f, A data, I, O, L load, S store)
{
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < N;
         i += (int)(gridDim.x * blockDim.x)) {
        float y = f(load.load(data._M_elems[1], i, 0), load.load(data._M_elems[2], i, 1));
        store.store(data._M_elems[0], i, wrong == 8 ? to_float(to_bf16(y)) : y);
    }
}

#define ADD(T) CUDAFunctor_add<T>
#define MUL(T) BinaryFunctor<T, T, T, binary_internal::MulFunctor<float>>
#define THREE  std::array<char *, 3>
#define KERNEL(vec, F)                                                                             \
    template __global__ void vectorized_elementwise_kernel<vec, F, THREE>(int, F, THREE);
KERNEL(4, ADD(float))
KERNEL(4, ADD(c10::BFloat16))
KERNEL(4, MUL(c10::BFloat16))
KERNEL(8, ADD(float))
KERNEL(8, MUL(c10::BFloat16))
#define CALCULATOR TrivialOffsetCalculator<2>, TrivialOffsetCalculator<1>
#define CASTS      memory::LoadWithCast<2>, memory::StoreWithCast<1>
template __global__ void
unrolled_elementwise_kernel<ADD(float), THREE, 4, CALCULATOR, CASTS>(int, ADD(float), THREE,
                                                                     CALCULATOR, CASTS);
template __global__ void
unrolled_elementwise_kernel<ADD(float), THREE, 8, CALCULATOR, CASTS>(int, ADD(float), THREE,
                                                                     CALCULATOR, CASTS);

} // namespace at::native

/* An offset calculator and what it is for: sizes with their dividers, strides in bytes. */
struct closure {
    int dims;
    struct {
        unsigned divisor, magic, shift;
    } size[25];
    unsigned stride[25][3];
    char *data[3];
    char functor;
};

__device__ static void multiply(int total, const closure &c, int end)
{
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < total;
         i += (int)(gridDim.x * blockDim.x)) {
        unsigned rest = (unsigned)i, at[3] = {0, 0, 0};
        for (int d = 0; d < end; d++) {
            unsigned index = rest % c.size[d].divisor;
            rest /= c.size[d].divisor;
            for (int k = 0; k < 3; k++)
                at[k] += index * c.stride[d][k];
        }
        *(float *)(c.data[0] + at[0]) =
            *(const float *)(c.data[1] + at[1]) * *(const float *)(c.data[2] + at[2]);
    }
}

extern "C" __global__ void strided_right(int total, const __grid_constant__ closure c)
{
    multiply(total, c, c.dims);
}

/* The stride of the second operand's outermost dim is that of the first. */
extern "C" __global__ void strided_wrong(int total, const __grid_constant__ closure c)
{
    closure other = c;
    other.stride[c.dims - 1][2] = c.stride[c.dims - 1][1];
    multiply(total, other, c.dims);
}
