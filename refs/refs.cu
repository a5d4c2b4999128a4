/* refs.cu - all references in one translation unit; compiled once for each REF_PART (ref.h). */
#include "element/elementwise.cu"
#include "element/optimiser.cu"
#include "element/quant.cu"
#include "element/random.cu"

#include "attention/attention.cu"
#include "attention/attention_backward.cu"
#include "attention/attention_dropout.cu"
#include "attention/cache.cu"
#include "attention/rotary.cu"

#include "row/backward.cu"
#include "row/gated.cu"
#include "row/loss.cu"
#include "row/norm.cu"
#include "row/rank.cu"
#include "row/reduce.cu"
#include "row/softmax.cu"

#include "index/embedding.cu"
#include "index/indexed.cu"
#include "index/select.cu"

#include "product/epilogue.cu"
#include "product/matmul.cu"

#include "sequence/recurrent.cu"
#include "sequence/scan.cu"

#include "image/resize.cu"
#include "image/spatial.cu"
#include "image/volume.cu"
