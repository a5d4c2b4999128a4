/*
 * cudnn_types.h - the numbers of cuDNN's binary interface that are read: they are part of it since
 * version 8 or 9, and no header of cuDNN's is needed.
 */
#ifndef HOOK_CALLS_CUDNN_TYPES_H
#define HOOK_CALLS_CUDNN_TYPES_H

typedef int dnn_status; /* 0: success */
enum { DNN_SUCCESS, DNN_NOT_SUPPORTED = 3000, DNN_RANK_MAX = 8 };

enum dnn_type { DNN_F32, DNN_F64, DNN_F16, DNN_I32 = 4, DNN_BF16 = 9, DNN_I64 = 10 };

/* cudnnBackendDescriptorType_t */
enum dnn_descriptor {
    DNN_CONVOLUTION_DESCRIPTOR = 1,
    DNN_ENGINE = 2,
    DNN_ENGINE_CONFIG = 3,
    DNN_HEURISTICS = 4,
    DNN_PLAN = 5,
    DNN_KNOB_CHOICE = 7,
    DNN_OP_CONV = 10,
    DNN_OP_CONV_WEIGHT = 11,
    DNN_OP_CONV_DATA = 12,
    DNN_OP_POINTWISE = 13,
    DNN_GRAPH_DESCRIPTOR = 15,
    DNN_PACK = 16,
    DNN_OP_MATMUL = 19,
    DNN_OP_REDUCTION = 22,
    DNN_OP_RESHAPE = 31,
    DNN_OP_RANDOM = 33,
    DNN_OP_PAGES = 35,
    DNN_OP_SDPA = 41,
    DNN_OP_SDPA_BACKWARD = 43
};

/* cudnnBackendAttributeType_t */
enum dnn_attribute_type {
    DNN_IS_HANDLE = 0,
    DNN_IS_BOOLEAN = 2,
    DNN_IS_INT64 = 3,
    DNN_IS_FLOAT = 4,
    DNN_IS_DOUBLE = 5,
    DNN_IS_POINTER = 6,
    DNN_IS_KNOB = 9,
    DNN_IS_NOTE = 11,
    DNN_IS_DESCRIPTOR = 15,
    DNN_IS_CHAR = 24,
    DNN_IS_FRACTION = 26
};

/* cudnnBackendAttributeName_t */
enum dnn_attribute {
    DNN_POINTWISE_MODE = 0,
    DNN_POINTWISE_LEAST = 3,
    DNN_POINTWISE_MOST = 4,
    DNN_POINTWISE_SLOPE = 5,
    DNN_POINTWISE_AXIS = 9,
    DNN_CONV_COMPUTE = 100,
    DNN_CONV_MODE = 101,
    DNN_CONV_DILATIONS = 102,
    DNN_CONV_STRIDES = 103,
    DNN_CONV_PADDINGS = 105,
    DNN_HEURISTICS_GRAPH = 201,
    DNN_HEURISTICS_RESULTS = 202,
    DNN_CONFIG_ENGINE = 300,
    DNN_CONFIG_CHOICES = 302,
    DNN_PLAN_CONFIG = 401,
    DNN_CHOICE_KNOB = 600,
    DNN_CHOICE_VALUE = 601,
    DNN_CONV_FIRST = 700, /* six attributes each, in the same order */
    DNN_CONV_DATA_FIRST = 706,
    DNN_CONV_WEIGHT_FIRST = 712,
    DNN_POINTWISE_DESCRIPTOR = 750,
    DNN_POINTWISE_X = 751,
    DNN_POINTWISE_B = 752,
    DNN_POINTWISE_Y = 753,
    DNN_POINTWISE_ALPHA = 754, /* the factors of x and b */
    DNN_POINTWISE_BETA = 755,
    DNN_POINTWISE_T = 758,
    DNN_GRAPH_OPS = 801,
    DNN_TENSOR_TYPE = 901,
    DNN_TENSOR_DIMS = 902,
    DNN_TENSOR_STRIDES = 903,
    DNN_TENSOR_UID = 906,
    DNN_TENSOR_VIRTUAL = 907,
    DNN_TENSOR_BY_VALUE = 908,
    DNN_TENSOR_RAGGED = 913,
    DNN_PACK_UIDS = 1000,
    DNN_PACK_POINTERS = 1001,
    DNN_PACK_OVERRIDES = 1010,
    DNN_ENGINE_GRAPH = 1300,
    DNN_ENGINE_NOTES = 1303,
    DNN_MATMUL_A = 1520,
    DNN_MATMUL_B = 1521,
    DNN_MATMUL_C = 1522,
    DNN_MATMUL_M = 1525, /* sizes that are in memory, one for each item of the batch */
    DNN_MATMUL_N = 1526,
    DNN_MATMUL_K = 1527,
    DNN_REDUCTION_OPERATOR = 1600,
    DNN_REDUCTION_X = 1610,
    DNN_REDUCTION_Y = 1611,
    DNN_REDUCTION_DESCRIPTOR = 1612,
    DNN_RESHAPE_X = 2200,
    DNN_RESHAPE_Y = 2201,
    DNN_SDPA_Q = 2800,
    DNN_SDPA_K = 2801,
    DNN_SDPA_V = 2802,
    DNN_SDPA_Y = 2803,
    DNN_SDPA_STATS = 2804,
    DNN_SDPA_SCALE = 2805,
    DNN_SDPA_LENGTHS = 2809, /* of the queries, of the keys */
    DNN_SDPA_KEY_LENGTHS = 2810,
    DNN_SDPA_END = 2850,
    DNN_SDPA_BACKWARD_Q = 2851,
    DNN_SDPA_BACKWARD_K = 2852,
    DNN_SDPA_BACKWARD_V = 2853,
    DNN_SDPA_BACKWARD_Y = 2854,
    DNN_SDPA_BACKWARD_STATS = 2855,
    DNN_SDPA_BACKWARD_SCALE = 2856,
    DNN_SDPA_BACKWARD_LENGTHS = 2857,
    DNN_SDPA_BACKWARD_KEY_LENGTHS = 2858,
    DNN_SDPA_BACKWARD_DQ = 2859,
    DNN_SDPA_BACKWARD_DK = 2860,
    DNN_SDPA_BACKWARD_DV = 2861,
    DNN_SDPA_BACKWARD_DY = 2862,
    DNN_SDPA_BACKWARD_END = 2900,
};

enum { DNN_CROSS_CORRELATION = 1 };
enum { DNN_NOTE_REDUCED = 2, DNN_NOTES_MOST = 32 }; /* cudnnBackendNumericalNote_t */
enum {
    DNN_KNOB_SPLIT_K = 0,
    DNN_KNOB_SPLIT_K_SLICES = 17,
    DNN_CHOICES_MOST = 44
};                                                         /* ...KnobType_t */
enum { DNN_MODE_ADD = 0, DNN_MODE_RELU = 100 };            /* cudnnPointwiseMode_t */
enum { DNN_ACTIVATION_RELU = 1, DNN_ACTIVATION_NONE = 5 }; /* cudnnActivationMode_t */

#endif
