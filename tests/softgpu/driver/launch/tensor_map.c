/* tensor_map.c - tensor maps of tiles, in the layout that the interpreter reads. */
#include <string.h>
#include "exec/exec.h"
#include "impls.h"

enum { ADDRESS_ALIGN = 16, MAP_ALIGN = 64, STRIDE_ALIGN = 16, BOX_MAX = 256, STEP_MAX = 8 };
#define SIZE_MAX_OF_DIM (1ull << 32)
#define STRIDE_LIMIT    (1ull << 40)

_Static_assert(sizeof(struct exec_tensor_map) <= sizeof(CUtensorMap), "a map has 128 bytes");

/* The numbers of PTX; 8 and 9 are other types there. */
static bool type_of(CUtensorMapDataType given, uint8_t *type)
{
    static const uint8_t types[] = {
        [CU_TENSOR_MAP_DATA_TYPE_UINT8] = 0,         [CU_TENSOR_MAP_DATA_TYPE_UINT16] = 1,
        [CU_TENSOR_MAP_DATA_TYPE_UINT32] = 2,        [CU_TENSOR_MAP_DATA_TYPE_INT32] = 3,
        [CU_TENSOR_MAP_DATA_TYPE_UINT64] = 4,        [CU_TENSOR_MAP_DATA_TYPE_INT64] = 5,
        [CU_TENSOR_MAP_DATA_TYPE_FLOAT16] = 6,       [CU_TENSOR_MAP_DATA_TYPE_FLOAT32] = 7,
        [CU_TENSOR_MAP_DATA_TYPE_FLOAT64] = 9,       [CU_TENSOR_MAP_DATA_TYPE_BFLOAT16] = 10,
        [CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ] = 8,   [CU_TENSOR_MAP_DATA_TYPE_TFLOAT32] = 11,
        [CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ] = 12,
    };
    if ((unsigned)given >= sizeof types)
        return false;
    *type = types[given];
    return true;
}

/* What is right on a device and not done here. */
static bool is_supported(const cuTensorMapEncodeTiled_params *p, uint8_t type)
{
    bool steps = false;
    for (unsigned i = 1; i < p->tensorRank; i++)
        steps = steps || p->elementStrides[i] != 1;
    return exec_tensor_bytes(type) && !steps && p->interleave == CU_TENSOR_MAP_INTERLEAVE_NONE &&
           p->oobFill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE &&
           p->swizzle <= CU_TENSOR_MAP_SWIZZLE_128B;
}

static bool dims_are_right(const cuTensorMapEncodeTiled_params *p)
{
    for (unsigned i = 0; i < p->tensorRank; i++)
        if (!p->globalDim[i] || p->globalDim[i] > SIZE_MAX_OF_DIM || !p->boxDim[i] ||
            p->boxDim[i] > BOX_MAX || !p->elementStrides[i] || p->elementStrides[i] > STEP_MAX)
            return false;
    for (unsigned i = 0; i + 1 < p->tensorRank; i++)
        if (p->globalStrides[i] % STRIDE_ALIGN || p->globalStrides[i] >= STRIDE_LIMIT)
            return false;
    return true;
}

static bool is_right(const cuTensorMapEncodeTiled_params *p)
{
    return p->tensorMap && (uintptr_t)p->tensorMap % MAP_ALIGN == 0 && p->tensorRank &&
           p->tensorRank <= EXEC_TENSOR_DIMS && p->globalAddress &&
           (uintptr_t)p->globalAddress % ADDRESS_ALIGN == 0 && p->globalDim && p->boxDim &&
           p->elementStrides && (p->globalStrides || p->tensorRank == 1) && dims_are_right(p);
}

CUresult impl_cuTensorMapEncodeTiled(const struct call *call, cuTensorMapEncodeTiled_params *p)
{
    struct exec_tensor_map map = {.kind = EXEC_TENSOR_MAP};
    (void)call;
    if (!is_right(p) || !type_of(p->tensorDataType, &map.type))
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_supported(p, map.type))
        return CUDA_ERROR_NOT_SUPPORTED;
    const unsigned row = p->boxDim[0] * exec_tensor_bytes(map.type);
    if (row % ADDRESS_ALIGN || (p->swizzle && row > 16u << p->swizzle))
        return CUDA_ERROR_INVALID_VALUE;
    map.address = (uintptr_t)p->globalAddress;
    map.last = (uint8_t)(p->tensorRank - 1);
    map.swizzle = (uint8_t)p->swizzle;
    for (unsigned i = 0; i < p->tensorRank; i++) {
        map.size[i] = p->globalDim[i];
        map.box[i] = (uint16_t)p->boxDim[i];
        map.step[i] = (uint8_t)p->elementStrides[i];
        if (i)
            map.stride[i - 1] = p->globalStrides[i - 1];
    }
    memset(p->tensorMap, 0, sizeof *p->tensorMap);
    memcpy(p->tensorMap, &map, sizeof map);
    return CUDA_SUCCESS;
}

CUresult impl_cuTensorMapReplaceAddress(const struct call *call,
                                        cuTensorMapReplaceAddress_params *p)
{
    struct exec_tensor_map map;
    (void)call;
    if (!p->tensorMap || (uintptr_t)p->tensorMap % MAP_ALIGN || !p->globalAddress ||
        (uintptr_t)p->globalAddress % ADDRESS_ALIGN)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&map, p->tensorMap, sizeof map);
    if (map.kind != EXEC_TENSOR_MAP)
        return CUDA_ERROR_INVALID_VALUE;
    map.address = (uintptr_t)p->globalAddress;
    memcpy(p->tensorMap, &map, sizeof map);
    return CUDA_SUCCESS;
}
