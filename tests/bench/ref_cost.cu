/*
 * ref_cost.cu - what the row-wise references cost against reading their arrays once.
 *
 *   ref_cost REFS.fatbin NAME FORMALS [NAME FORMALS ...]
 *
 * FORMALS is the text of the reference's REFERENCE line (bench.py takes it from refs/). For each
 * reference, bf16, 4096 columns, main input of 16 and of 64 MB: first the outputs are made by
 * the reference itself in store mode, with the errors of a kernel in f32, and rounded, so that the
 * timed runs compare and match; then
 * one launch, cut into pieces as shim/judge/replay.c does, is timed with arrays out of cache
 * (cold) and just copied (warm), for both group sizes, beside a kernel that reads the same bytes.
 * Then REF_BATCH checks with a main input of 1 MB each, launch by launch and as one launch, dealt
 * to the blocks as shim/judge/replay.c does. JSON lines.
 */
#include <cstring>
#include <string>
#include <cuda.h>
#include <cuda_bf16.h>
#include "measure.cuh"
#include "read_once.cuh"
#include "refs/abi/ref_abi.h"
#include "refs/abi/ref_batch.h"

enum { COLS = 4096, REPEAT = 9, PIECE = 64 << 20 };

struct formal {
    std::string kind, name;
    bool optional;
    double fallback;
    std::vector<std::string> dims;
    size_t elements;
    __nv_bfloat16 *array, *spare;
};

static CUmodule module;
static cudaStream_t stream;
static struct ref_verdict *answer;
static int processors;

/* In -1 .. 1, of an index. */
static __device__ float noise(unsigned i)
{
    unsigned z = i * 2654435761u;
    z = (z ^ (z >> 15)) * 2246822519u;
    return (float)(int)(z ^ (z >> 13)) * (1.0f / 2147483648.0f);
}

static __global__ void fill(__nv_bfloat16 *array, size_t count, unsigned seed)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        array[i] = __nv_bfloat16(2 * noise((unsigned)i + seed));
}

/* As a kernel leaves them whose arithmetic is off by up to `share` of a number. */
static __global__ void round_all(__nv_bfloat16 *out, const double *in, size_t count, double share)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        out[i] = __double2bfloat16(in[i] * (1 + share * noise((unsigned)i)));
}

/* That of a right kernel which computes in f32: once 2^-24 where it rounds but once. */
static double usual_error(const char *name)
{
    static const char *const simple[] = {"add",  "mul",        "scale",  "residual_add",
                                         "relu", "leaky_relu", "row_max"};
    for (const char *one : simple)
        if (!strcmp(name, one))
            return 0x1p-24;
    return 0x1p-22;
}

static std::string word(const char *&at)
{
    while (*at == ' ')
        at++;
    const char *start = at;
    while (isalnum((unsigned char)*at) || *at == '_')
        at++;
    return std::string(start, at);
}

/* The grammar of shim/lang/formals.h, of texts that are known to be right. */
static std::vector<formal> parse(const char *at)
{
    std::vector<formal> out;
    while (*at) {
        formal f = {};
        f.kind = word(at);
        f.name = word(at);
        for (;;) {
            while (*at == ' ')
                at++;
            if (*at == '?') {
                f.optional = true;
                at++;
            } else if (*at == '[') {
                at++;
                f.dims.push_back(word(at));
                at += *at == ']';
            } else if (*at == '=') {
                char *end;
                f.optional = true;
                f.fallback = strtod(at + 1, &end);
                at = end;
            } else {
                break;
            }
        }
        out.push_back(f);
        if (*at == ',')
            at++;
        else if (*at)
            break;
    }
    return out;
}

static bool is_array(const formal &f)
{
    return f.kind == "in" || f.kind == "out" || f.kind == "inout";
}

static bool is_output(const formal &f)
{
    return f.kind == "out" || f.kind == "inout";
}

static int64_t extent_of(const std::string &dim, int64_t rows)
{
    if (isdigit((unsigned char)dim[0]))
        return atoll(dim.c_str());
    return dim == "rows" ? rows : COLS;
}

/* False: the reference is not row-wise, and not for this program. */
static bool row_wise(const std::vector<formal> &formals)
{
    for (const formal &f : formals) {
        for (const std::string &dim : f.dims)
            if (dim != "rows" && dim != "cols" && !isdigit((unsigned char)dim[0]))
                return false;
        if (f.kind == "int" || f.dims.size() > REF_MAX_DIMS)
            return false;
    }
    return true;
}

static void allocate(std::vector<formal> &formals, int64_t rows)
{
    unsigned seed = 1;
    for (formal &f : formals) {
        f.elements = is_array(f) ? 1 : 0;
        for (const std::string &dim : f.dims)
            f.elements *= (size_t)extent_of(dim, rows);
        if (!is_array(f) || (is_output(f) && f.optional))
            continue;
        CHECK(cudaMalloc(&f.array, f.elements * 2 + 16));
        CHECK(cudaMalloc(&f.spare, f.elements * 2 + 16));
        fill<<<256, 256, 0, stream>>>(f.array, f.elements, seed++ * 77777u);
        if (f.kind == "inout") /* the values before stay in spare */
            CHECK(cudaMemcpyAsync(f.spare, f.array, f.elements * 2, cudaMemcpyDeviceToDevice,
                                  stream));
    }
}

/* `slot`, below REF_BATCH, selects where the answer goes. */
static ref_call make_call(const std::vector<formal> &formals, int64_t rows, uint32_t group,
                          int slot = 0)
{
    ref_call call;
    std::vector<std::string> sizes;
    int tensors = 0, scalars = 0;
    memset(&call, 0, sizeof call);
    for (const formal &f : formals) {
        if (!is_array(f)) {
            call.scalar[scalars++] = f.optional ? f.fallback : f.name == "eps" ? 1e-6 : 0.75;
            continue;
        }
        ref_tensor &t = call.tensor[tensors];
        t.id = (uint32_t)tensors++;
        t.in = f.kind == "inout" ? f.spare : f.kind == "in" ? f.array : NULL;
        t.got = is_output(f) ? f.array : NULL;
        t.bytes = f.array ? (int64_t)f.elements * 2 : 0;
        t.dtype = DTYPE_BF16;
        t.ndim = (uint8_t)f.dims.size();
        t.rule = RULE_BOUND;
        t.absent = f.fallback;
        int64_t inner = 1;
        for (int d = t.ndim - 1; d >= 0; d--) {
            t.dim[d] = extent_of(f.dims[d], rows);
            t.stride[d] = inner;
            inner *= t.dim[d];
        }
        for (const std::string &dim : f.dims)
            if (!isdigit((unsigned char)dim[0]) &&
                std::find(sizes.begin(), sizes.end(), dim) == sizes.end()) {
                call.size[sizes.size()] = extent_of(dim, rows);
                sizes.push_back(dim);
            }
    }
    static ref_verdict *partial;
    static uint32_t *ticket;
    if (!partial) {
        CHECK(cudaMalloc(&partial, REF_BATCH * REF_MAX_BLOCKS * sizeof *partial));
        CHECK(cudaMalloc(&ticket, REF_BATCH * sizeof *ticket));
        CHECK(cudaMemset(ticket, 0, REF_BATCH * sizeof *ticket));
    }
    call.partial = partial + slot * REF_MAX_BLOCKS;
    call.ticket = ticket + slot;
    call.answer = answer + slot;
    call.lambda = 8;
    call.unit_roundoff = 0x1p-24;
    call.underflow = 0x1p-126;
    call.pieces = 1;
    call.group = group;
    return call;
}

static size_t bytes_of(const std::vector<formal> &formals)
{
    size_t bytes = 0;
    for (const formal &f : formals)
        bytes += f.array ? f.elements * 2 * (f.kind == "inout" ? 2 : 1) : 0;
    return bytes;
}

/* Blocks that the GPU holds at once. */
static uint32_t resident_blocks(CUfunction function)
{
    int resident = 1;
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, function, REF_THREADS, 0));
    return (uint32_t)std::min(processors * resident, (int)REF_MAX_BLOCKS);
}

static uint32_t wanted_blocks(CUfunction function, size_t bytes)
{
    return std::min(std::max((uint32_t)(bytes / 4096), 64u), resident_blocks(function));
}

/* Several calls go to the device in front of the launch; what did before must have ended. */
static void launch_calls(CUfunction function, const ref_call *call, int count, uint32_t blocks)
{
    static uint64_t sequence;
    static ref_call *calls;
    static CUdeviceptr there;
    ref_batch batch = {};
    if (!calls) {
        CHECK(cudaMallocHost(&calls, REF_BATCH * sizeof *calls));
        CHECK(cuMemAlloc(&there, REF_BATCH * sizeof *calls));
    }
    for (int i = 0; i < count; i++)
        ref_batch_add(&batch, calls, &call[i], blocks)->sequence = ++sequence;
    uint64_t bytes = ref_batch_close(&batch, calls, there);
    if (bytes)
        CHECK(cuMemcpyHtoDAsync(there, calls, bytes, stream));
    void *params[] = {&batch};
    CHECK(cuLaunchKernel(function, batch.blocks, 1, 1, REF_THREADS, 1, 1, 0, stream, params, NULL));
}

static void launch(CUfunction function, ref_call call, size_t bytes)
{
    call.pieces = std::max(1, (int)((bytes + PIECE / 2) / PIECE));
    for (call.piece = 0; call.piece < call.pieces; call.piece++)
        launch_calls(function, &call, 1, wanted_blocks(function, bytes));
}

/* Outputs become what a right kernel makes. */
static void make_outputs(const char *name, CUfunction function, std::vector<formal> &formals,
                         int64_t rows, uint32_t group)
{
    uint32_t id = 0;
    for (formal &f : formals) {
        if (!is_array(f))
            continue;
        if (is_output(f) && f.array) {
            ref_call call = make_call(formals, rows, group);
            CHECK(cudaMalloc(&call.store, f.elements * sizeof(double)));
            CHECK(cudaMemset(call.store, 0, f.elements * sizeof(double)));
            call.store_tensor = id;
            call.store_count = (int64_t)f.elements;
            CHECK(cudaDeviceSynchronize());
            launch(function, call, bytes_of(formals));
            round_all<<<512, 256, 0, stream>>>(f.array, call.store, f.elements, usual_error(name));
            CHECK(cudaStreamSynchronize(stream));
            CHECK(cudaFree(call.store));
        }
        id++;
    }
}

/* `formals` are those of several checks, one after another, too. */
static void prepare(const std::vector<formal> &formals, bool warm)
{
    clear_cache(stream);
    for (const formal &f : formals)
        if (warm && f.array && f.kind != "inout") { /* as the copy kernel leaves them */
            CHECK(cudaMemcpyAsync(f.spare, f.array, f.elements * 2, cudaMemcpyDeviceToDevice,
                                  stream));
            CHECK(cudaMemcpyAsync(f.array, f.spare, f.elements * 2, cudaMemcpyDeviceToDevice,
                                  stream));
        }
}

template <typename Run>
static double cold_or_warm_us(const std::vector<formal> &formals, bool warm, Run run)
{
    return median_us(
        stream, REPEAT, [&] { prepare(formals, warm); }, run);
}

static void read_all(const std::vector<formal> &formals)
{
    for (const formal &f : formals) {
        if (!f.array)
            continue;
        size_t units = f.elements / 8;
        unsigned blocks = (unsigned)std::min(units / 1024 + 1, (size_t)processors * 8);
        read_once<<<blocks, 256, 0, stream>>>((const uint4 *)f.array, units);
        if (f.kind == "inout")
            read_once<<<blocks, 256, 0, stream>>>((const uint4 *)f.spare, units);
    }
}

static void release(std::vector<formal> &formals)
{
    for (formal &f : formals) {
        CHECK(cudaFree(f.array));
        CHECK(cudaFree(f.spare));
    }
}

/* REF_BATCH checks, apart and together, and one alone. */
static void measure_batch(const char *name, const char *text)
{
    CUfunction function;
    const int64_t rows = (1 << 20) / 2 / COLS;
    std::vector<formal> all, some[REF_BATCH];
    ref_call call[REF_BATCH];
    if (!row_wise(parse(text)))
        return;
    CHECK(cuModuleGetFunction(&function, module,
                              (std::string("cuvet_ref_") + name + "_bf16").c_str()));
    for (int i = 0; i < REF_BATCH; i++) {
        some[i] = parse(text);
        allocate(some[i], rows);
        make_outputs(name, function, some[i], rows, 32);
        all.insert(all.end(), some[i].begin(), some[i].end());
    }
    size_t bytes = bytes_of(some[0]);
    uint32_t wanted = wanted_blocks(function, bytes), most = resident_blocks(function);
    uint32_t share = ref_batch_share(wanted, REF_BATCH * wanted, most);
    for (int i = 0; i < REF_BATCH; i++)
        call[i] = make_call(some[i], rows, 32, i);
    for (int warm = 0; warm < 2; warm++) {
        double one = cold_or_warm_us(all, warm, [&] { launch(function, call[0], bytes); });
        double apart = cold_or_warm_us(all, warm, [&] {
            for (int i = 0; i < REF_BATCH; i++)
                launch(function, call[i], bytes);
        });
        memset(answer, 0, REF_BATCH * sizeof *answer);
        double together =
            cold_or_warm_us(all, warm, [&] { launch_calls(function, call, REF_BATCH, share); });
        uint64_t odd = 0, checked = 0;
        for (int i = 0; i < REF_BATCH; i++) {
            odd += answer[i].violations + answer[i].refused;
            checked += answer[i].checked;
        }
        printf("{\"reference\": \"%s\", \"batch\": %d, \"bytes\": %zu, \"cache\": \"%s\", "
               "\"one_us\": %.1f, \"apart_us\": %.1f, \"together_us\": %.1f, \"checked\": %llu, "
               "\"odd\": %llu}\n",
               name, REF_BATCH, bytes, warm ? "warm" : "cold", one, apart, together,
               (unsigned long long)checked, (unsigned long long)odd);
        fflush(stdout);
    }
    for (std::vector<formal> &formals : some)
        release(formals);
}

static void measure(const char *name, const char *text, int64_t mega)
{
    std::vector<formal> formals = parse(text);
    CUfunction function;
    const int64_t rows = (mega << 20) / 2 / COLS;
    if (!row_wise(formals))
        return;
    CHECK(cuModuleGetFunction(&function, module,
                              (std::string("cuvet_ref_") + name + "_bf16").c_str()));
    allocate(formals, rows);
    make_outputs(name, function, formals, rows, REF_THREADS);
    size_t bytes = bytes_of(formals);
    for (int warm = 0; warm < 2; warm++) {
        double read = cold_or_warm_us(formals, warm, [&] { read_all(formals); });
        double us[2];
        for (int wide = 0; wide < 2; wide++) {
            ref_call call = make_call(formals, rows, wide ? (uint32_t)REF_THREADS : 32u);
            us[wide] = cold_or_warm_us(formals, warm, [&] { launch(function, call, bytes); });
        }
        printf("{\"reference\": \"%s\", \"mb\": %lld, \"bytes\": %zu, \"cache\": \"%s\", "
               "\"read_us\": %.1f, "
               "\"warp_us\": %.1f, \"block_us\": %.1f, \"violations\": %llu, \"refused\": %llu}\n",
               name, (long long)mega, bytes, warm ? "warm" : "cold", read, us[0], us[1],
               (unsigned long long)answer->violations, (unsigned long long)answer->refused);
        fflush(stdout);
    }
    release(formals);
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc % 2) {
        fprintf(stderr, "usage: ref_cost REFS.fatbin NAME FORMALS [NAME FORMALS ...]\n");
        return 2;
    }
    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(0));
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cuModuleLoad(&module, argv[1]));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocHost(&answer, REF_BATCH * sizeof *answer));
    memset(answer, 0, REF_BATCH * sizeof *answer);
    for (int i = 2; i + 1 < argc; i += 2) {
        for (int64_t mega : {16, 64})
            measure(argv[i], argv[i + 1], mega);
        measure_batch(argv[i], argv[i + 1]);
    }
    return 0;
}
