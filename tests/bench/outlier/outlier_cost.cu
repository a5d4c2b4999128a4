/*
 * outlier_cost.cu - the outlier gate's kernel on an ordinary launch, against a kernel that reads
 * the same sample once and adds it up.
 *
 *   outlier_cost OUTLIER.fatbin
 *
 * One JSON line for each dtype and size: microseconds of both and of an empty kernel, launches
 * included, median of interleaved runs; what the phases of a look take, means of single looks on
 * a GPU at rest; `sealed`: every run of the kernel ended with a seal.
 *
 * look_us is a look as cuvet launches it, read_us the kernel that reads; ..._queued_us when the
 * host has launched all of them before the GPU comes to the first, so that the host's time for a
 * launch is not in it; late_us a look that is launched when the kernel in front has
 * ended, behind_us what it adds behind the reading kernel, least_us a kernel that reads the sample
 * and has one block wait for all others, unsealed_us a probe without a word to the host (the
 * seal is in device memory): no variant of the product, but what the seal takes. `early`: cuvet
 * would launch it while the kernel in front ends.
 */
#include <cstring>
#include <cuda.h>
#include "device/early.cuh"
#include "device/outlier_look.cuh"
#include "device/snapshot_copy.cuh"
#include "../measure.cuh"
#include "outlier_phases.cuh"
#include "refs/abi/ref_abi.h"

struct format {
    const char *name;
    int dtype, size;
};
static const format formats[] = {
    {"bf16", DTYPE_BF16, 2}, {"f16", DTYPE_F16, 2}, {"f32", DTYPE_F32, 4}, {"i32", DTYPE_I32, 4}};
static const size_t most = 64u << 20;

static CUfunction look;
static CUstream stream;
static CUdeviceptr data;
static outlier_call_few call;
static uint64_t sequence, launches, sealed;
static snapshot_seal *seal, *device_seal;
static bool waits; /* the kernel does, see shim/extra/outlier_launch.h */

/* The sample of a look with that seed: a warp reads a piece. */
static __device__ uint32_t read_part(const outlier_input &input, uint64_t seed)
{
    piece_place at = place_piece(input, seed, blockIdx.x * WARPS + threadIdx.x / 32);
    uint32_t lane = threadIdx.x % 32, sum = 0;
    uint4 value[UNROLL] = {};
#pragma unroll
    for (int i = 0; i < UNROLL; i++) {
        if (lane + 32 * i < at.units)
            value[i] = ((const uint4 *)at.address)[lane + 32 * i];
    }
#pragma unroll
    for (int i = 0; i < UNROLL; i++)
        sum += value[i].x ^ value[i].y ^ value[i].z ^ value[i].w;
    return sum;
}

__global__ void read_sample(const __grid_constant__ outlier_input input, uint64_t seed,
                            uint32_t *to)
{
    uint32_t sum = read_part(input, seed);
    if (sum == 0x12345678)
        *to = sum;
}

/* Holds the stream for as long. */
__global__ void hold_stream(uint64_t ns)
{
    uint64_t began = global_timer();
    while (global_timer() - began < ns)
        continue;
}

/*
 * The least that a kernel must do to decide by all of that sample: each block leaves a word for the
 * one that began last, which waits for them and signals the host. No statistics, and nothing waits
 * for the decision.
 */
__global__ void read_and_tell(const __grid_constant__ outlier_input input, uint64_t sequence,
                              uint64_t *word, uint32_t *ticket, uint64_t *answer)
{
    __shared__ uint32_t total;
    __shared__ bool last;
    wait_for_stream();
    if (threadIdx.x == 0) {
        total = 0;
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    uint32_t sum = read_part(input, sequence);
    for (int step = 16; step; step /= 2)
        sum ^= __shfl_xor_sync(~0u, sum, step);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        atomicXor(&total, sum);
    __syncthreads();
    volatile uint64_t *left = word;
    if (!last) {
        if (threadIdx.x == 0)
            left[blockIdx.x] = sequence << 32 | total;
        return;
    }
    if (threadIdx.x < gridDim.x && threadIdx.x != blockIdx.x) {
        uint64_t seen;
        while ((seen = left[threadIdx.x]) >> 32 != (uint32_t)sequence)
            continue;
        atomicXor(&total, (uint32_t)seen);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        *(volatile uint64_t *)answer = sequence << 32 | total;
}

__global__ void nothing()
{
}

template <class T> static T *device_zeroed(size_t count)
{
    CUdeviceptr made;
    CHECK(cuMemAlloc(&made, count * sizeof(T)));
    CHECK(cuMemsetD8(made, 0, count * sizeof(T)));
    return (T *)made;
}

template <class T> static T *pinned(size_t count)
{
    void *made;
    CHECK(cuMemHostAlloc(&made, count * sizeof(T), CU_MEMHOSTALLOC_DEVICEMAP));
    memset(made, 0, count * sizeof(T));
    return (T *)made;
}

/* The same geometry as shim/extra/outlier.c makes. */
static void lay_out(const format &format, size_t bytes)
{
    outlier_input &input = call.input[0];
    input.address = data;
    input.row_bytes = bytes;
    input.rows = 1;
    input.pieces = input.pieces_per_row = (uint32_t)((bytes + OUTLIER_PIECE - 1) / OUTLIER_PIECE);
    bool integer = format.dtype == DTYPE_I32;
    input.sampled =
        std::min((uint32_t)input.pieces, (uint32_t)(integer ? OUTLIER_ID_PIECES : OUTLIER_PIECES));
    input.blocks = std::min((input.sampled + OUTLIER_BLOCK_PIECES - 1) / OUTLIER_BLOCK_PIECES,
                            (uint32_t)(OUTLIER_LINES / (integer ? OUTLIER_ID_LINES : 1)));
    input.period = 256;
    input.group = 67;
    input.dtype = (uint8_t)format.dtype;
    input.size = (uint8_t)format.size;
    input.integer = integer;
    input.aligned = 1;
    CHECK(cuMemsetD8((CUdeviceptr)input.entry, 0, sizeof(outlier_entry)));
}

static void launch_look(snapshot_seal *to, bool early)
{
    call.header.seal = to;
    call.header.sequence = ++sequence;
    call.outlier.seed = sequence;
    void *params[] = {&call};
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config = {};
    config.gridDimX = call.input[0].blocks;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = OUTLIER_THREADS + OUTLIER_CLERKS;
    config.hStream = stream;
    config.attrs = &attribute;
    config.numAttrs = early;
    CHECK(cuLaunchKernelEx(&config, look, params, NULL));
}

static void run_look()
{
    launch_look(seal, waits);
}

static void run_late()
{
    launch_look(seal, false);
}

static void run_unsealed()
{
    launch_look(device_seal, waits);
}

/* A warp reads a piece, as a look of floats does it. */
static unsigned reading_blocks()
{
    return (call.input[0].sampled + OUTLIER_BLOCK_PIECES - 1) / OUTLIER_BLOCK_PIECES;
}

static void run_read()
{
    read_sample<<<reading_blocks(), OUTLIER_THREADS, 0, stream>>>(call.input[0], ++sequence,
                                                                  (uint32_t *)call.outlier.slot);
}

/* Launched as a look is. */
static void run_least()
{
    static uint64_t *const word = device_zeroed<uint64_t>(OUTLIER_LINES + 1);
    static uint64_t *const answer = pinned<uint64_t>(1);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = reading_blocks();
    config.blockDim = OUTLIER_THREADS;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = waits;
    CHECK(cudaLaunchKernelEx(&config, read_and_tell, call.input[0], ++sequence, word,
                             (uint32_t *)&word[OUTLIER_LINES], answer));
}

static void run_behind()
{
    run_read();
    run_look();
}

static void run_nothing()
{
    nothing<<<1, 32, 0, stream>>>();
}

enum { REPEAT = 32, HOLD_NS = REPEAT * 12500 /* longer than the host needs to launch them */ };

/* One of several in a row. */
static double each_us(void (*run)())
{
    auto all = [&] {
        for (int i = 0; i < REPEAT; i++)
            run();
    };
    double us = time_us(stream, all) / REPEAT;
    bool seals = call.header.seal == seal && call.header.sequence == sequence;
    launches += seals;
    sealed += seals && (seal->sequence == sequence || seal->ordinary >> SEAL_TIME_BITS == sequence);
    return us;
}

/* Launched while the stream is held. */
static double each_queued_us(void (*run)())
{
    hold_stream<<<1, 1, 0, stream>>>(HOLD_NS);
    return each_us(run);
}

/* Means over looks of their own. */
static void time_phases(double (&phase)[OUTLIER_PHASES])
{
    const int looks = 200;
    for (double &us : phase)
        us = 0;
    for (int i = 0; i < looks; i++) {
        double us[OUTLIER_PHASES];
        call.header.seal = seal;
        call.header.sequence = ++sequence;
        call.outlier.seed = sequence;
        if (!outlier_phases(call, call.input[0].blocks, stream, us)) {
            fprintf(stderr, "the look with stamps failed\n");
            exit(3);
        }
        for (int p = 0; p < OUTLIER_PHASES; p++)
            phase[p] += us[p] / looks;
    }
}

/* Ordinary values of each format: normal floats, uniform indices. */
static void fill(const format &format)
{
    std::vector<uint8_t> bytes(most);
    uint64_t state = 1;
    for (size_t i = 0; i < most / format.size; i++) {
        double sum = 0;
        for (int j = 0; j < 4; j++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            sum += (double)(state >> 40) / (1 << 24) - 0.5;
        }
        float value = (float)(1.7 * sum);
        uint32_t bits;
        memcpy(&bits, &value, 4);
        if (format.dtype == DTYPE_I32)
            bits = (uint32_t)(state >> 40) % 32000;
        else if (format.dtype == DTYPE_BF16)
            bits >>= 16;
        else if (format.dtype == DTYPE_F16)
            bits = (bits >> 16 & 0x8000) | (((bits & 0x7fffffff) >> 13) - (112 << 10)) % 0x7c00;
        memcpy(&bytes[i * format.size], &bits, format.size);
    }
    CHECK(cuMemcpyHtoD(data, bytes.data(), most));
    CHECK(cuCtxSynchronize());
}

static void set_up(const char *path)
{
    CUmodule module;
    CHECK(cudaFree(NULL)); /* the runtime's context, for the kernels above */
    CHECK(cuModuleLoad(&module, path));
    CHECK(cuModuleGetFunction(&look, module, "cuvet_outlier_few"));
    int ptx = 0;
    CHECK(cuFuncGetAttribute(&ptx, CU_FUNC_ATTRIBUTE_PTX_VERSION, look));
    waits = ptx >= 90;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&data, most));
    seal = pinned<snapshot_seal>(1);
    device_seal = device_zeroed<snapshot_seal>(1);
    call.header.place = device_zeroed<snapshot_place>(1);
    call.header.arena = device_zeroed<snapshot_arena>(1);
    call.outlier.slot = device_zeroed<outlier_slot>(1);
    call.outlier.answer = pinned<outlier_answer>(1);
    call.outlier.inputs = 1;
    call.outlier.detector = OUTLIER_FINGERPRINT;
    call.header.seals = 1;
    call.input[0].entry = device_zeroed<outlier_entry>(1);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: outlier_cost OUTLIER.fatbin\n");
        return 2;
    }
    set_up(argv[1]);
    /* An outlier finds an arena with room for nothing: it is sealed without a copy. */
    snapshot_arena arena = {};
    arena.bytes = arena.lap = 256;
    arena.head = 1;
    arena.tail = pinned<uint64_t>(1);
    call.header.bytes = 512;
    CHECK(cuMemcpyHtoD((CUdeviceptr)call.header.arena, &arena, sizeof arena));
    for (const format &format : formats) {
        fill(format);
        for (size_t bytes = (size_t)16 << 10; bytes <= most; bytes *= 4) {
            std::vector<double> ours, late, behind, unsealed, theirs, least, empty;
            std::vector<double> queued, theirs_queued, least_queued;
            lay_out(format, bytes);
            launches = sealed = 0;
            for (int i = 0; i < 25; i++) {
                ours.push_back(each_us(run_look));
                late.push_back(each_us(run_late));
                behind.push_back(each_us(run_behind));
                unsealed.push_back(each_us(run_unsealed));
                theirs.push_back(each_us(run_read));
                least.push_back(each_us(run_least));
                empty.push_back(each_us(run_nothing));
                queued.push_back(each_queued_us(run_look));
                theirs_queued.push_back(each_queued_us(run_read));
                least_queued.push_back(each_queued_us(run_least));
            }
            double phase[OUTLIER_PHASES];
            time_phases(phase);
            printf("{\"dtype\": \"%s\", \"bytes\": %zu, \"sampled\": %zu, \"look_us\": %.2f, "
                   "\"late_us\": %.2f, \"behind_us\": %.2f, \"unsealed_us\": %.2f, "
                   "\"read_us\": %.2f, \"least_us\": %.2f, \"empty_us\": %.2f, "
                   "\"look_queued_us\": %.2f, \"read_queued_us\": %.2f, "
                   "\"least_queued_us\": %.2f, "
                   "\"phase_us\": [%.2f, %.2f, %.2f, %.2f, %.2f], \"early\": %s, \"sealed\": %s}\n",
                   format.name, bytes, (size_t)call.input[0].sampled * OUTLIER_PIECE, median(ours),
                   median(late), median(behind) - median(theirs), median(unsealed), median(theirs),
                   median(least), median(empty), median(queued), median(theirs_queued),
                   median(least_queued), phase[0], phase[1], phase[2], phase[3], phase[4],
                   waits ? "true" : "false", sealed == launches ? "true" : "false");
        }
    }
    return 0;
}
