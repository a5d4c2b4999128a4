#include "hook/launch_decode.h"

CUstream launch_stream(CUstream stream, bool per_thread)
{
    if (stream)
        return stream;
    return per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

/* Whether a device can run such a launch: the driver reads no parameters of any other. `shape`:
 * grid and block. */
static bool set_shape(struct launch *out, const unsigned shape[6])
{
    memcpy(out->grid, shape, sizeof(out->grid));
    memcpy(out->block, shape + 3, sizeof(out->block));
    return launch_can_run(shape);
}

/* The `extra` list: pairs of a marker and a value, ended by CU_LAUNCH_PARAM_END. The value of the
 * size marker is a pointer to a size_t. */
static void read_extra(void **extra, struct launch *out)
{
    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            out->packed = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
            out->packed_bytes = *(size_t *)extra[1];
        else
            break;
    }
}

static bool decode_plain(const void *params, bool per_thread, struct launch *out)
{
    const cuLaunchKernel_params *p = params;
    const unsigned shape[] = {p->gridDimX,  p->gridDimY,  p->gridDimZ,
                              p->blockDimX, p->blockDimY, p->blockDimZ};
    out->function = p->f;
    out->stream = launch_stream(p->hStream, per_thread);
    out->shared_bytes = p->sharedMemBytes;
    if (!set_shape(out, shape))
        return false;
    out->params = p->kernelParams;
    if (!p->kernelParams)
        read_extra(p->extra, out);
    return p->f != NULL;
}

/* What a launch that is run again needs of them. */
static void read_launch_attributes(const CUlaunchConfig *config, struct launch *out)
{
    for (unsigned i = 0; config->attrs && i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            out->cluster[0] = attribute->value.clusterDim.x;
            out->cluster[1] = attribute->value.clusterDim.y;
            out->cluster[2] = attribute->value.clusterDim.z;
        } else if (attribute->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
            out->cooperative = attribute->value.cooperative != 0;
        }
    }
}

static bool decode_config(const void *params, bool per_thread, struct launch *out)
{
    const cuLaunchKernelEx_params *p = params;
    const CUlaunchConfig *config = p->config;
    out->function = p->f;
    out->stream = CU_STREAM_LEGACY;
    if (!config)
        return false;
    const unsigned shape[] = {config->gridDimX,  config->gridDimY,  config->gridDimZ,
                              config->blockDimX, config->blockDimY, config->blockDimZ};
    out->stream = launch_stream(config->hStream, per_thread);
    out->shared_bytes = config->sharedMemBytes;
    if (!set_shape(out, shape))
        return false;
    read_launch_attributes(config, out);
    out->params = p->kernelParams;
    if (!p->kernelParams)
        read_extra(p->extra, out);
    return p->f != NULL;
}

static bool decode_cooperative(const void *params, bool per_thread, struct launch *out)
{
    const cuLaunchCooperativeKernel_params *p = params;
    const unsigned shape[] = {p->gridDimX,  p->gridDimY,  p->gridDimZ,
                              p->blockDimX, p->blockDimY, p->blockDimZ};
    out->function = p->f;
    out->stream = launch_stream(p->hStream, per_thread);
    out->shared_bytes = p->sharedMemBytes;
    out->cooperative = true;
    if (!set_shape(out, shape))
        return false;
    out->params = p->kernelParams;
    return p->f != NULL;
}

/* The _ptsz structs of CUPTI are the same as the plain ones, field for field. */
bool launch_decode(const void *params, enum launch_shape shape, struct launch *out)
{
    memset(out, 0, sizeof(*out));
    switch (shape) {
    case SHAPE_PLAIN:
    case SHAPE_PLAIN_PTSZ:
        return decode_plain(params, shape == SHAPE_PLAIN_PTSZ, out);
    case SHAPE_CONFIG:
    case SHAPE_CONFIG_PTSZ:
        return decode_config(params, shape == SHAPE_CONFIG_PTSZ, out);
    case SHAPE_COOPERATIVE:
    case SHAPE_COOPERATIVE_PTSZ:
        return decode_cooperative(params, shape == SHAPE_COOPERATIVE_PTSZ, out);
    }
    return false;
}
