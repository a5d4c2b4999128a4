/*
 * kernels.cu - ufuncs and sums with the names and parameter lists that CuPy gives them, so that its
 * table names them. cupy_maximum takes the strides of one operand for the other, cupy_negative
 * leaves out the last element, and cupy_true_divide cuts its operand to the digits of bf16.
 */

/* Strides are in bytes. */
template <class T, int D> struct CArray {
    struct {
        void *data;
        long long size, shape[D], strides[D];
    } raw;
    __device__ T &operator[](const long long *index) const
    {
        char *at = (char *)raw.data;
        for (int d = 0; d < D; d++)
            at += index[d] * raw.strides[d];
        return *(T *)at;
    }
};

template <int D> struct CIndexer {
    struct {
        long long size, shape[D], index[D];
    } raw;
    __device__ const long long *set(long long i)
    {
        for (int d = D - 1; d > 0; d--) {
            raw.index[d] = i % raw.shape[d];
            i /= raw.shape[d];
        }
        raw.index[0] = i;
        return raw.index;
    }
};

#define EACH(count)                                                                                \
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < (count);              \
         i += (long long)blockDim.x * gridDim.x)
#define TWO(name, A, B, T, D, formula)                                                             \
    extern "C" __global__ void name(const CArray<A, D> in0, const CArray<B, D> in1,                \
                                    CArray<T, D> out0, CIndexer<D> ind)                            \
    {                                                                                              \
        EACH(ind.raw.size)                                                                         \
        {                                                                                          \
            const long long *at = ind.set(i);                                                      \
            const T a = in0[at], b = in1[at];                                                      \
            out0[at] = formula;                                                                    \
        }                                                                                          \
    }
#define ONE_AND_SCALAR(name, A, S, T, D, formula)                                                  \
    extern "C" __global__ void name(const CArray<A, D> in0, const S b, CArray<T, D> out0,          \
                                    CIndexer<D> ind)                                               \
    {                                                                                              \
        EACH(ind.raw.size)                                                                         \
        {                                                                                          \
            const long long *at = ind.set(i);                                                      \
            const S a = in0[at];                                                                   \
            out0[at] = formula;                                                                    \
        }                                                                                          \
    }
#define ONE(name, A, T, D, count, formula)                                                         \
    extern "C" __global__ void name(const CArray<A, D> in0, CArray<T, D> out0, CIndexer<D> ind)    \
    {                                                                                              \
        EACH(count)                                                                                \
        {                                                                                          \
            const long long *at = ind.set(i);                                                      \
            const A a = in0[at];                                                                   \
            out0[at] = formula;                                                                    \
        }                                                                                          \
    }

TWO(cupy_add__float32_float32_float32, float, float, float, 1, a + b)
TWO(cupy_subtract__float32_float32_float32, float, float, float, 3, a - b)
ONE_AND_SCALAR(cupy_multiply__float32_float_float32, float, float, float, 2, a *b)
ONE_AND_SCALAR(cupy_less__int32_int_bool, int, long long, bool, 1, a < b)
ONE(cupy_copy__float64_float32, double, float, 1, ind.raw.size, (float)a)
ONE(cupy_negative__float32_float32, float, float, 1, ind.raw.size - 1, -a)
ONE_AND_SCALAR(cupy_true_divide__float32_float_float32, float, float, float, 1,
               __uint_as_float(__float_as_uint(a) & 0xffff0000) / b)

extern "C" __global__ void
cupy_where__bool_float32_float_float32(const CArray<bool, 1> in0, const CArray<float, 1> in1,
                                       const float b, CArray<float, 1> out0, CIndexer<1> ind)
{
    EACH(ind.raw.size)
    {
        const long long *at = ind.set(i);
        out0[at] = in0[at] ? in1[at] : b;
    }
}

extern "C" __global__ void cupy_maximum__float32_float32_float32(const CArray<float, 2> in0,
                                                                 CArray<float, 2> in1,
                                                                 CArray<float, 2> out0,
                                                                 CIndexer<2> ind)
{
    in1.raw.strides[0] = in0.raw.strides[0];
    in1.raw.strides[1] = in0.raw.strides[1];
    EACH(ind.raw.size)
    {
        const long long *at = ind.set(i);
        out0[at] = fmaxf(in0[at], in1[at]);
    }
}

extern "C" __global__ void cupy_fill(const float x, CArray<float, 1> y, CIndexer<1> ind)
{
    EACH(ind.raw.size)
    {
        y[ind.set(i)] = x;
    }
}

/* Threads whose number has the same low bits share an output; a stride that is no power of two is
 * wrong. */
template <int D, bool mean>
static __device__ void sum(const CArray<float, D> &in0, const CArray<float, 1> &out0,
                           CIndexer<D> in_ind, CIndexer<1> out_ind, int stride)
{
    __shared__ float part[128];
    long long outputs = out_ind.raw.size, out = (long long)blockIdx.x * stride;
    long long mine = out + (threadIdx.x & (stride - 1));
    float s = 0;
    for (long long j = mine + threadIdx.x / stride * outputs; j < in_ind.raw.size;
         j += 128 / stride * outputs)
        s += in0[in_ind.set(j)];
    part[threadIdx.x] = s;
    __syncthreads();
    if ((int)threadIdx.x >= stride || mine >= outputs)
        return;
    for (int t = threadIdx.x + stride; t < 128; t += stride)
        s += part[t];
    out0[out_ind.set(mine)] = mean ? s / (float)(in_ind.raw.size / outputs) : s;
}

extern "C" __global__ void cupy_sum(const CArray<float, 2> in0, CArray<float, 1> out0,
                                    CIndexer<2> in_ind, CIndexer<1> out_ind, const int stride)
{
    sum<2, false>(in0, out0, in_ind, out_ind, stride);
}

extern "C" __global__ void cupy_mean(const CArray<float, 3> in0, CArray<float, 1> out0,
                                     CIndexer<3> in_ind, CIndexer<1> out_ind, const int stride)
{
    sum<3, true>(in0, out0, in_ind, out_ind, stride);
}
