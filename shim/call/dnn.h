/*
 * dnn.h - a neural-network operation of a cuDNN call: a value that a wrapper fills in, and that the
 * gate, the binding and the reports treat as a launch with named arguments.
 */
#ifndef CALL_DNN_H
#define CALL_DNN_H

#include <stddef.h>
#include <stdint.h>
#include "call/product.h"

/* The kinds, the function that names each, and the list of its arguments in dnn.def. */
#define DNN_KIND_LIST(KIND)                                                                        \
    KIND(CONV, "cudnnConvolutionForward", CONV)                                                    \
    KIND(CONV_DATA, "cudnnConvolutionBackwardData", CONV)                                          \
    KIND(CONV_WEIGHT, "cudnnConvolutionBackwardFilter", CONV)                                      \
    KIND(ATTENTION, "cudnnAttentionForward", ATTENTION)                                            \
    KIND(ATTENTION_BACKWARD, "cudnnAttentionBackward", ATTENTION)                                  \
    KIND(NORM, "cudnnBatchNormalizationForwardInference", NORM)                                    \
    KIND(NORM_TRAINING, "cudnnBatchNormalizationForwardTraining", NORM)                            \
    KIND(NORM_BACKWARD, "cudnnBatchNormalizationBackward", NORM)                                   \
    KIND(CONV3, "cudnnConvolutionForward", CONV3)                                                  \
    KIND(CONV3_DATA, "cudnnConvolutionBackwardData", CONV3)                                        \
    KIND(CONV3_WEIGHT, "cudnnConvolutionBackwardFilter", CONV3)                                    \
    KIND(GRAPH, "cudnnBackendExecute", CONV) /* one that is none of these */

enum dnn_kind {
#define KIND(name, function, list) DNN_##name,
    DNN_KIND_LIST(KIND)
#undef KIND
        DNN_KINDS
};

/* What else decides how a call is checked; in the call's name, in this order. */
#define DNN_WORD_LIST(WORD)                                                                        \
    WORD(VOLUME, "3d")       /* a convolution of volumes */                                        \
    WORD(BIAS, "bias")       /* something is added: to each score, to each channel */              \
    WORD(ADDED, "added")     /* convolution: another tensor is added */                            \
    WORD(LENGTHS, "lengths") /* attention: sequences have lengths of their own, padded behind */   \
    WORD(LSE, "lse")         /* attention: the logarithms of the sums are written */               \
    WORD(GROUPED, "grouped") /* gradient of attention: heads share keys and values */              \
    WORD(SAVED, "saved")     /* batch norm: mean and 1 / deviation are written */                  \
    WORD(MOVED, "moved")     /* batch norm: running statistics are moved */                        \
    WORD(RAGGED, "ragged")   /* attention: sequences lie one behind the other */                   \
    WORD(PAGED, "paged")     /* attention: keys and values lie in pages */                         \
    WORD(DROPOUT, "dropout") /* attention: weights are cleared at random */                        \
    WORD(REDUCED, "reduced") /* convolution: partial sums may be rounded to the type of y */       \
    WORD(OTHER, "other")     /* something that this version does not support */

enum dnn_word {
#define WORD(name, text) DNN_##name##_BIT,
    DNN_WORD_LIST(WORD)
#undef WORD
        DNN_WORDS,
#define WORD(name, text) DNN_WORD_##name = 1 << DNN_##name##_BIT,
    DNN_WORD_LIST(WORD)
#undef WORD
};

#define POINTER(name)      uint64_t name;
#define INTEGER(name)      int64_t name;
#define REAL(name)         double name;
#define DNN_LIST_CONV      0
#define DNN_LIST_ATTENTION 1
#define DNN_LIST_NORM      2
#define DNN_LIST_CONV3     3
struct dnn_conv {
#define DNN_LIST DNN_LIST_CONV
#include "call/dnn.def"
#undef DNN_LIST
};
struct dnn_conv3 {
#define DNN_LIST DNN_LIST_CONV3
#include "call/dnn.def"
#undef DNN_LIST
};
struct dnn_attention {
#define DNN_LIST DNN_LIST_ATTENTION
#include "call/dnn.def"
#undef DNN_LIST
};
struct dnn_norm {
#define DNN_LIST DNN_LIST_NORM
#include "call/dnn.def"
#undef DNN_LIST
};
#undef POINTER
#undef INTEGER
#undef REAL

enum {
    DNN_CONV_ARGUMENTS = sizeof(struct dnn_conv) / 8,
    DNN_CONV3_ARGUMENTS = sizeof(struct dnn_conv3) / 8,
    DNN_ATTENTION_ARGUMENTS = sizeof(struct dnn_attention) / 8,
    DNN_NORM_ARGUMENTS = sizeof(struct dnn_norm) / 8,
    DNN_ARGUMENTS = 64 /* of any */
};
_Static_assert(DNN_ATTENTION_ARGUMENTS <= DNN_ARGUMENTS && DNN_CONV_ARGUMENTS <= DNN_ARGUMENTS &&
                   DNN_CONV3_ARGUMENTS <= DNN_ARGUMENTS && DNN_NORM_ARGUMENTS <= DNN_ARGUMENTS,
               "room for the arguments of each list");

struct dnn {
    uint8_t kind;         /* enum dnn_kind */
    uint8_t type[3];      /* enum dtype: of x, w, y; of q, lse, bias; of x, w, y */
    uint8_t accumulation; /* enum accumulation */
    uint32_t words;       /* enum dnn_word */
    const char *graph;    /* of DNN_GRAPH: its operations, as dnn_graph_name() gives them */
    union {
        uint64_t argument[DNN_ARGUMENTS];
        struct dnn_conv conv;
        struct dnn_conv3 conv3;
        struct dnn_attention attention;
        struct dnn_norm norm;
    };
};

/* The number of an argument of a list, and the whole numbers of a call from one on. */
#define DNN_ARGUMENT(list, name)  (offsetof(struct dnn_##list, name) / sizeof(uint64_t))
#define DNN_FROM(dnn, list, name) ((int64_t *)&(dnn)->argument[DNN_ARGUMENT(list, name)])

/* The parameter list that registry entries for the kind are held against. */
const struct param_layout *dnn_layout(enum dnn_kind kind);

/* Points params[i] at each argument. */
void dnn_params(const struct dnn *dnn, void *params[DNN_ARGUMENTS]);

/* The name of a graph of operations that is not recognised, "cudnnBackendExecute<conv, add>" for
 * "conv, add": see call_name(). */
const char *dnn_graph_name(const char *operations);

/* The call's name, such as "cudnnConvolutionForward<bf16, bf16, bf16, f32>": see call_name(). */
const char *dnn_name(const struct dnn *dnn);

#endif
