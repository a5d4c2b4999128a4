/*
 * torch_mutants.cu - PyTorch's own kernel templates, from its headers, over functors with PyTorch's
 * names that are wrong: what a faulty build of the library launches, under the same symbols.
 */
#include <ATen/ATen.h>
#include <ATen/OpMathType.h>
#include <ATen/native/ReduceOpsUtils.h>
#include <ATen/native/TensorIterator.h>
#include <ATen/native/cuda/ForeachFunctors.cuh>
#include <ATen/native/cuda/Loops.cuh>
#include <ATen/native/cuda/MultiTensorApply.cuh>
#include <ATen/native/cuda/Reduce.cuh>
#include <ATen/cuda/CUDAGeneratorImpl.h>
/* The template of that name is not PyTorch's here. */
#define normal_kernel right_normal_kernel
#include <ATen/native/cuda/DistributionTemplates.h>
#undef normal_kernel
#include <torch/library.h>

namespace at::native::templates::cuda
{

/* torch.normal_, which spreads by a thousandth more. */
template <class RNG> void normal_kernel(const TensorBase &self, double mean_, double std_, RNG gen)
{
    auto iter = TensorIterator::borrowing_nullary_op(self);
    float mean = (float)mean_, std = (float)std_;
    auto normal_func = [mean, std] __device__(float rand) {
        return transformation::normal<float>(rand * 1.001f, mean, std);
    };
    normal_and_transform<float, float>(iter, gen, normal_func);
}

} // namespace at::native::templates::cuda

namespace at::native
{

/* torch.add, which leaves out alpha. */
template <class T> struct CUDAFunctor_add {
    at::opmath_type<T> alpha;
    __device__ T operator()(T a, T b) const
    {
        return a + b;
    }
};

/* torch.sum, which keeps its sums in bf16. */
template <class T, class A = T, class O = T> struct sum_functor {
    void operator()(TensorIterator &iter)
    {
        gpu_reduce_kernel<T, O>(iter, func_wrapper<O>([] GPU_LAMBDA(A a, A b) -> A {
                                    return (A)c10::BFloat16(a + b);
                                }));
    }
};

/* torch._foreach_sqrt, with the precision of f16. */
template <class T> struct Sqrt {
    __device__ T operator()(T x) const
    {
        return (T)c10::Half(::sqrt(x));
    }
};

static Tensor wrong_add(const Tensor &a, const Tensor &b, double alpha)
{
    Tensor out = at::empty_like(a);
    auto iter = TensorIterator::binary_op(out, a, b);
    gpu_kernel(iter, CUDAFunctor_add<float>{(float)alpha});
    return out;
}

static Tensor wrong_sum(const Tensor &x)
{
    Tensor out = at::empty({}, x.options());
    auto iter = make_reduction("sum", out, x, IntArrayRef{1}, false, at::kFloat);
    sum_functor<float>()(iter);
    return out;
}

static Tensor wrong_normal(const Tensor &like)
{
    Tensor out = at::empty_like(like);
    auto *gen = check_generator<CUDAGeneratorImpl>(at::cuda::detail::getDefaultCUDAGenerator());
    templates::cuda::normal_kernel(out, 1, 2, gen);
    return out;
}

static std::vector<Tensor> wrong_roots(std::vector<Tensor> in)
{
    std::vector<Tensor> out;
    for (const Tensor &x : in)
        out.push_back(at::empty_like(x));
    std::vector<std::vector<Tensor>> lists{in, out};
    multi_tensor_apply<2>(lists, UnaryOpFunctor<float, 2, 1, 1>(), Sqrt<float>());
    return out;
}

} // namespace at::native

TORCH_LIBRARY(mutants, m)
{
    m.def("add", &at::native::wrong_add);
    m.def("sum", &at::native::wrong_sum);
    m.def("roots", &at::native::wrong_roots);
    m.def("normal", &at::native::wrong_normal);
}
