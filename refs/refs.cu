/* refs.cu - all references in one translation unit: one fatbin, one copy of the slow paths. */
#include "elementwise.cu"
#include "matmul.cu"
#include "norm.cu"
#include "reduce.cu"
#include "softmax.cu"
