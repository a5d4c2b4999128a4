/*
 * copy_cost.cu - our snapshot copy kernel against cuMemcpyDtoDAsync.
 *
 *   copy_cost SNAPSHOT.fatbin
 *
 * One JSON line for each size: microseconds of both, median of interleaved runs. `pitched` copies
 * the same bytes as rows of 4096 bytes out of a pitch of 4352, where cuMemcpy2DAsync is the rival.
 */
#include <cstring>
#include <cuda.h>
#include "device/snapshot_abi.h"
#include "measure.cuh"

static const size_t most = (size_t)1 << 30, row = 4096, pitch = 4352;
static CUfunction kernel;
static CUstream stream;
static CUdeviceptr source, target, other;
static snapshot_seal *seal;
static uint32_t *ticket;
static uint64_t sequence;

static uint64_t round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

/* The same geometry as shim/copy/snapshot.c makes. */
static void run_kernel(size_t bytes, bool pitched)
{
    snapshot_call_few call;
    memset(&call, 0, sizeof call);
    snapshot_segment &s = call.segment[0];
    s.source = source;
    s.target = 0;
    s.row_bytes = pitched ? row : bytes;
    s.rows = pitched ? bytes / row : 1;
    s.source_pitch = pitch;
    s.target_pitch = row;
    s.rows_per_chunk = s.chunks_per_row = 1;
    uint64_t units = round_up(s.row_bytes, SNAPSHOT_UNIT), chunks;
    if (pitched && units * 2 <= SNAPSHOT_CHUNK) {
        s.rows_per_chunk = (uint32_t)(SNAPSHOT_CHUNK / units);
        chunks = (s.rows + s.rows_per_chunk - 1) / s.rows_per_chunk;
    } else {
        s.chunks_per_row = (uint32_t)((units + SNAPSHOT_CHUNK - 1) / SNAPSHOT_CHUNK);
        chunks = s.rows * s.chunks_per_row;
    }
    call.header.segments = 1;
    call.header.base = target;
    call.header.sequence = ++sequence;
    call.header.seal = seal;
    call.header.seals = 1;
    call.header.ticket = ticket;
    void *params[] = {&call};
    CHECK(cuLaunchKernel(kernel, (unsigned)chunks, 1, 1, SNAPSHOT_THREADS + SNAPSHOT_CLERKS, 1, 1,
                         0, stream, params, NULL));
}

static void run_memcpy(size_t bytes, bool pitched)
{
    if (!pitched) {
        CHECK(cuMemcpyDtoDAsync(target, source, bytes, stream));
        return;
    }
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = source;
    copy.dstDevice = target;
    copy.srcPitch = pitch;
    copy.dstPitch = row;
    copy.WidthInBytes = row;
    copy.Height = bytes / row;
    CHECK(cuMemcpy2DAsync(&copy, stream));
}

/* One of several in a row. */
static double each_us(void (*run)(size_t, bool), size_t bytes, bool pitched)
{
    const int repeat = bytes >= (64u << 20) ? 4 : 16;
    auto all = [&] {
        for (int i = 0; i < repeat; i++)
            run(bytes, pitched);
    };
    return time_us(stream, all) / repeat;
}

/* Whether our copy equals cuMemcpy's, over the first and the last MB. */
static bool same(size_t bytes, bool pitched)
{
    const size_t part = bytes < (1u << 20) ? bytes : (1u << 20);
    std::vector<char> ours(part), theirs(part);
    bool equal = true;
    for (size_t start : {(size_t)0, bytes - part}) {
        CHECK(cuMemsetD8(target, 0, bytes));
        run_kernel(bytes, pitched);
        CHECK(cuCtxSynchronize());
        CHECK(cuMemcpyDtoH(ours.data(), target + start, part));
        CHECK(cuMemsetD8(target, 1, bytes));
        run_memcpy(bytes, pitched);
        CHECK(cuCtxSynchronize());
        CHECK(cuMemcpyDtoH(theirs.data(), target + start, part));
        equal = equal && memcmp(ours.data(), theirs.data(), part) == 0;
    }
    return equal && *(volatile uint64_t *)&seal->sequence == sequence;
}

static void set_up(const char *path)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoad(&module, path));
    CHECK(cuModuleGetFunction(&kernel, module, "cuvet_snapshot_few"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&source, most / row * pitch));
    CHECK(cuMemAlloc(&target, most));
    CHECK(cuMemAlloc(&other, 256));
    CHECK(cuMemsetD8(other, 0, 256));
    ticket = (uint32_t *)other;
    CHECK(cuMemHostAlloc((void **)&seal, sizeof *seal, CU_MEMHOSTALLOC_DEVICEMAP));
    std::vector<uint32_t> words(most / row * pitch / 4);
    for (size_t i = 0; i < words.size(); i++)
        words[i] = (uint32_t)(i * 2654435761u);
    CHECK(cuMemcpyHtoD(source, words.data(), words.size() * 4));
    CHECK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: copy_cost SNAPSHOT.fatbin\n");
        return 2;
    }
    set_up(argv[1]);
    for (int pitched = 0; pitched < 2; pitched++) {
        for (size_t bytes = (size_t)64 << 10; bytes <= most; bytes *= 4) {
            std::vector<double> ours, theirs;
            bool equal = same(bytes, pitched);
            for (int i = 0; i < 15; i++) {
                ours.push_back(each_us(run_kernel, bytes, pitched));
                theirs.push_back(each_us(run_memcpy, bytes, pitched));
            }
            printf("{\"bytes\": %zu, \"pitched\": %s, \"equal\": %s, \"kernel_us\": %.2f, "
                   "\"memcpy_us\": "
                   "%.2f}\n",
                   bytes, pitched ? "true" : "false", equal ? "true" : "false", median(ours),
                   median(theirs));
        }
    }
    return 0;
}
