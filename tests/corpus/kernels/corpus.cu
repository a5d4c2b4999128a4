/* corpus.cu - all kernels of the corpus in one fatbin: OP_DTYPE_MUTANT for each row of entries.def.
 */
#include "corpus.cuh"

namespace corpus
{
#include "attention.cu"
#include "elementwise.cu"
#include "embedding.cu"
#include "matmul.cu"
#include "norm.cu"
#include "reduce.cu"
#include "softmax.cu"
#include "study.cu"
#include "training.cu"
} // namespace corpus

#define KERNEL(op, dtype, number)                                                                  \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                            \
        op##_##dtype##_##number(op##_PARAMETERS(dtype))                                            \
    {                                                                                              \
        corpus::op<dtype, number>(op##_ARGUMENTS);                                                 \
    }
#define RIGHT(op, dtype)                KERNEL(op, dtype, 0)
#define WRONG(op, dtype, number, ...)   KERNEL(op, dtype, number)
#define STUDY_RIGHT(op, dtype)          KERNEL(op, dtype, 0)
#define STUDY_WRONG(op, dtype, ...)     KERNEL(op, dtype, 1)
#define ESCAPES(op, dtype, number, ...) KERNEL(op, dtype, number)
#include "../entries.def"
