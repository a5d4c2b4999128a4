/*
 * flashinfer.cu - FlashInfer's kernels, launched by its own launchers from its unmodified headers.
 *
 *   nvcc -O3 -std=c++17 -use_fast_math -DNDEBUG -DENABLE_BF16 -DENABLE_FP8 -arch=native -I CCCL
 *        -I FOLDER/include flashinfer.cu
 *
 * FOLDER is a checkout of FlashInfer, CCCL the headers of CCCL 3.3 or later, its submodule. The
 * options are those of its own build. Some results are compared with a plain loop on the CPU; a
 * line for each has their count. A wrong one makes the program fail.
 */
#include <functional>
#include <random>

#include <flashinfer/activation.cuh>
#include <flashinfer/attention/decode.cuh>
#include <flashinfer/attention/default_decode_params.cuh>
#include <flashinfer/attention/variants.cuh>
#include <flashinfer/norm.cuh>
#include <flashinfer/sampling.cuh>

using namespace flashinfer;

#define CHECK(...)                                                                                 \
    if (cudaError_t error_ = (__VA_ARGS__)) {                                                      \
        fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(error_));                    \
        exit(1);                                                                                   \
    }

typedef std::vector<int> Ints;
typedef uint32_t u32;

static std::mt19937 random_bits(20260801);
static int wrong;

template <typename T> struct Array {
    std::vector<T> host;
    T *device;

    Array(const std::vector<T> &values) : host(values)
    {
        CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
        CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    Array(size_t n, float spread = 1, float mean = 0) : Array(std::vector<T>(n))
    {
        std::normal_distribution<float> normal(mean, spread);
        for (T &value : host)
            value = T(normal(random_bits));
        CHECK(cudaMemcpy(device, host.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    }
    Array(const Array &) = delete;
    ~Array()
    {
        CHECK(cudaFree(device));
    }

    operator T *()
    {
        return device;
    }
    double at(size_t i) const
    {
        return float(host[i]);
    }
};

/* Compares every `step`th of the first n elements of y with what it should be. */
static void expect(const char *what, size_t n, size_t step, std::function<double(size_t)> got,
                   std::function<double(size_t)> expected, double tolerance = 0.02)
{
    size_t bad = 0;
    for (size_t i = 0; i < n; i += step) {
        double e = expected(i), g = got(i);
        if (!(fabs(g - e) <= tolerance * (1 + fabs(e))) && !bad++)
            printf("element %zu is %g, not %g\n", i, g, e);
    }
    wrong += bad > 0;
    printf("%-20s %8zu compared, %zu wrong\n", what, (n + step - 1) / step, bad);
}

template <typename T> static std::function<double(size_t)> result(const Array<T> &y)
{
    std::vector<T> got(y.host.size());
    CHECK(cudaMemcpy(got.data(), y.device, got.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return [=](size_t i) { return float(got[i]); };
}

template <typename T> static void norms(u32 rows, u32 d, u32 pad)
{
    u32 wide = d + pad;
    Array<T> x(rows * wide), w(d, 0.2f, 1), y(rows * d), sum(rows * wide), z(rows * wide);
    Array<float> scale(1, 0, 0.05f), gamma(d, 0.2f, 1), beta(d);
    Array<__nv_fp8_e4m3> q(rows * d);
    std::vector<double> ms(rows);
    for (u32 i = 0; i < rows * d; i++)
        ms[i / d] += x.at(i / d * wide + i % d) * x.at(i / d * wide + i % d) / d;
    CHECK(norm::RMSNorm<T>(x, w, y, rows, d, wide, d));
    expect("RMSNorm", rows * d, 1, result(y), [&](size_t i) {
        return x.at(i / d * wide + i % d) / sqrt(ms[i / d] + 1e-5) * w.at(i % d);
    });
    CHECK(norm::GemmaRMSNorm<T>(x, w, y, rows, d, wide, d));
    CHECK(norm::RMSNormQuant<T, __nv_fp8_e4m3>(x, w, q, rows, d, wide, d, scale));
    CHECK(norm::FusedAddRMSNorm<T>(sum, z, w, rows, d, wide, wide));
    expect("FusedAddRMSNorm", d, 1, result(z), [&](size_t i) { return sum.at(i) + z.at(i); });
    CHECK(norm::GemmaFusedAddRMSNorm<T>(sum, z, w, rows, d, wide, wide));
    CHECK(norm::FusedAddRMSNormQuant<T>(sum, z, w, q.device, rows, d, wide, wide, d, scale));
    CHECK(norm::LayerNorm<T, float>(x, gamma, beta, y, rows, d));
    if (d == 64) /* 5 heads of each 13 */
        CHECK(norm::QKRMSNorm<T>(x, w, y, 5, 5, d, 13 * d, d, 5 * d, d));
}

/* The three that FlashInfer compiles, as it writes them. */
__device__ float silu(const float &val)
{
    return val / (1.0f + __expf(-val));
}

__device__ float gelu(const float &val)
{
    constexpr float kAlpha = M_SQRT1_2;
    return val * 0.5f * (1.0f + ::erf(val * kAlpha));
}

__device__ float gelu_tanh(const float &val)
{
    const float cdf =
        0.5f * (1.0f + math::tanh((0.7978845608028654f * (val + 0.044715f * val * val * val))));
    return val * cdf;
}

template <typename T, float (*Act)(const float &)>
static void activate(const char *what, std::function<double(double)> exact)
{
    for (u32 d : {8u, 136u, 1000u, 11008u}) {
        u32 tokens = d > 1000 ? 130 : 17, block = std::min(d / 8, 1024u);
        Array<T> x(2 * tokens * d, 2), y(tokens * d);
        activation::act_and_mul_kernel<T, Act><<<tokens, block>>>(y, x, d);
        CHECK(cudaGetLastError());
        expect(what, tokens * d, 1, result(y),
               [&](size_t i) { return exact(x.at(i + i / d * d)) * x.at(i + i / d * d + d); });
    }
}

/* Queries, keys and a head that stays; I is the type of the positions. */
template <typename T, typename I> static void rope(u32 tokens, u32 heads, u32 dim, u32 turned)
{
    const u32 places = 512, row = (heads + 2) * dim, out = (heads + 1) * dim, half = turned / 2;
    Array<T> x(size_t(tokens) * row), y(size_t(tokens) * out);
    std::vector<float> table(places * turned);
    for (u32 i = 0; i < places * half; i++) {
        double angle = i / half * pow(1e4, -2.0 * (i % half) / turned);
        table[i / half * turned + i % half] = cos(angle);
        table[i / half * turned + half + i % half] = sin(angle);
    }
    std::vector<I> drawn(tokens);
    for (I &place : drawn)
        place = random_bits() % places;
    Array<float> cache(table);
    Array<I> at(drawn);
    T *q = x, *k = q + heads * dim, *yq = y, *yk = yq + heads * dim;
    for (bool pairs : {false, true}) {
        CHECK(BatchQKApplyRotaryPosIdsCosSinCache<T, I>(q, k, yq, yk, cache, at, tokens, heads, 1,
                                                        turned, dim, row, dim, row, dim, out, dim,
                                                        out, dim, pairs));
        expect("rotary by table", y.host.size(), 7, result(y), [&](size_t e) {
            size_t t = e / out, c = e % dim, from = t * row + e % out - c;
            size_t pair = pairs ? c / 2 : c % half, first = pairs ? 2 * pair : pair;
            if (c >= turned)
                return x.at(from + c);
            double a = x.at(from + first), b = x.at(from + first + (pairs ? 1 : half));
            double u = table[drawn[t] * turned + pair], v = table[drawn[t] * turned + half + pair];
            return c == first ? a * u - b * v : a * v + b * u;
        });
        if (dim == 192)
            continue;
        CHECK(BatchQKApplyRotaryPosIds<T, I>(q, k, yq, yk, at, tokens, heads, 1, turned, dim, row,
                                             dim, row, dim, out, dim, out, dim, pairs, 1.f, 1e4f));
    }
    CHECK(BatchQKApplyRotaryPosIdsCosSinCache<T, I>(q, k, q, k, cache, at, tokens, heads, 1, turned,
                                                    dim, row, dim, row, dim, row, dim, row, dim,
                                                    false));
}

/* Pages of 16 places in a drawn order, and whose they are: sequence s has lengths[s] places. */
template <typename T> struct Pool {
    Ints lengths, first = {0}, last, listed;
    Array<T> keys, values;
    Array<int> listed_on, first_on, last_on;
    paged_kv_t<T, int> kv;

    int pages()
    {
        for (int n : lengths)
            first.push_back(first.back() + (n + 15) / 16), last.push_back((n - 1) % 16 + 1);
        for (int i = 0; i < first.back() + 3; i++)
            listed.push_back(i);
        std::shuffle(listed.begin(), listed.end(), random_bits);
        return listed.size();
    }
    Pool(const Ints &lengths, int heads, int dim, QKVLayout layout)
        : lengths(lengths), keys(size_t(pages()) * 16 * heads * dim), values(keys.host.size()),
          listed_on(listed), first_on(first), last_on(last),
          kv(heads, 16, dim, lengths.size(), layout, keys, values, listed_on, first_on, last_on)
    {
    }
    size_t place(int s, int at, int h) const
    {
        return kv.get_elem_offset(listed[first[s] + at / 16], h, at % 16, 0);
    }
};

template <typename T> static void append(QKVLayout layout, u32 dim)
{
    Pool<T> pool({5, 64, 1, 130, 17}, 4, dim, layout);
    u32 head = dim + 8, row = 5 * head;
    Ints owner, at;
    for (int s = 0; s < 5; s++)
        for (int i = pool.lengths[s] / 2; i < pool.lengths[s]; i++)
            owner.push_back(s), at.push_back(i);
    u32 tokens = owner.size();
    Array<T> key(tokens * row), value(tokens * row), one(5 * 4 * dim), other(5 * 4 * dim);
    Array<int> owner_on(owner), at_on(at);
    std::vector<T> want = pool.keys.host;
    for (u32 i = 0, t = 0; i < tokens * 4 * dim; i++, t = i / dim / 4)
        want[pool.place(owner[t], at[t], i / dim % 4) + i % dim] =
            key.host[t * row + i / dim % 4 * head + i % dim];
    CHECK(AppendPagedKVCache<T, int>(pool.kv, key, value, owner_on, at_on, tokens, row, head, row,
                                     head));
    auto wanted = [&](size_t i) { return float(want[i]); };
    expect("append", want.size(), 1, result(pool.keys), wanted, 0);
    CHECK(AppendPagedKVCacheDecode<T, int>(pool.kv, one, other));
    Array<T> ckv(20 * 16 * 512), kpe(20 * 16 * 64), new_ckv(tokens * 512), new_kpe(tokens * 64);
    paged_kv_mla_t<T, int> mla(16, 512, 64, 5, ckv, kpe, pool.listed_on, pool.first_on,
                               pool.last_on);
    CHECK(AppendPagedKVMlaCache<T, int>(mla, new_ckv, new_kpe, owner_on, at_on, tokens, 512, 64));
}

template <typename T> static void merges(u32 n, u32 sets, u32 heads, u32 dim)
{
    u32 row = heads * dim;
    Array<T> a(n * row), b(n * row), y(n * row), many(n * row * sets);
    Array<float> la(n * heads, 4), lb(n * heads, 4), all(n * heads), lse(n * heads * sets, 4);
    CHECK(MergeState<T, T>(a, la, b, lb, y, all, n, heads, dim));
    expect("MergeState", n * row, 1, result(y), [&](size_t i) {
        double share = 1 / (1 + exp2(lb.at(i / dim) - la.at(i / dim)));
        return a.at(i) * share + b.at(i) * (1 - share);
    });
    CHECK(MergeStateInPlace<T>(a, la, b, lb, n, heads, dim));
    CHECK(MergeStates<T, T>(many, lse, y, all, sets, n, heads, dim));
    CHECK(AttentionSum<T, T>(many, y, sets, n, heads, dim));
}

static void softmaxes()
{
    Array<float> space(1 << 16);
    for (u32 d : {1021u, 4096u, 32000u, 128256u}) {
        u32 rows = d == 32000 ? 160 : 9;
        Array<float> x(rows * d, 3), y(rows * d);
        CHECK(sampling::OnlineSoftmax<float>(x, y, rows, d, nullptr, 0.7f, space, 1 << 18, false));
        double total = 0;
        for (u32 c = 0; c < d; c++)
            total += exp(x.at(c) / 0.7);
        auto share = [&](size_t i) { return exp(x.at(i) / 0.7) / total; };
        expect("softmax", d, 1, result(y), share, 1e-5);
    }
}

/* An element of the attention of a query over places whose rows begin at row(j). */
template <typename T, typename Row>
static double attended(const Array<T> &q, size_t e, const Array<T> &k, const Array<T> &v, int keys,
                       Row row)
{
    double sum = 0, total = 0;
    for (int j = 0; j < keys; j++) {
        double dot = 0;
        for (int l = 0; l < 128; l++)
            dot += q.at(e / 128 * 128 + l) * k.at(row(j) + l);
        total += exp(dot / sqrt(128)), sum += exp(dot / sqrt(128)) * v.at(row(j) + e % 128);
    }
    return sum / total;
}

template <typename T, bool Window, bool Cap>
static void decode_one(u32 heads, u32 kv, int keys, QKVLayout layout)
{
    typedef DefaultAttention<false, Window, Cap, false> Variant;
    Array<T> q(heads * 128), k(keys * kv * 128), v(keys * kv * 128), y(heads * 128);
    Array<T> parts((keys / 256 + 2) * heads * 132);
    SingleDecodeParams<T, T, T> p(q, k, v, y, nullptr, keys, heads, kv, layout, 128, 100, 30.f,
                                  1 / sqrtf(128), 1.f, 1e4f);
    CHECK(SingleDecodeWithKVCacheDispatched<128, PosEncodingMode::kNone, Variant>(p, parts, 0));
    if (!Window && !Cap)
        expect("single decode", heads * 128, 61, result(y), [&](size_t e) {
            size_t head = e / 128 / (heads / kv) * p.kv_stride_h;
            return attended(q, e, k, v, keys, [&](int j) { return head + j * p.kv_stride_n; });
        });
}

/* In parts of `chunk` places, or of a sequence each. */
template <typename T> static void decode_batch(u32 heads, u32 kv, QKVLayout layout, int chunk)
{
    typedef DefaultAttention<false, false, false, false> Variant;
    Pool<T> pool({5, 64, 1, 1300, 333}, kv, 128, layout);
    Ints request, tile, starts = {0};
    for (int s = 0; s < 5; s++) {
        for (int i = 0; i < (chunk ? (pool.lengths[s] + chunk - 1) / chunk : 1); i++)
            request.push_back(s), tile.push_back(i);
        starts.push_back(request.size());
    }
    Array<int> request_on(request), tile_on(tile), starts_on(starts), chunk_on(Ints{chunk});
    Array<T> q(5 * heads * 128), y(5 * heads * 128), parts(request.size() * heads * 128);
    Array<float> lse(5 * heads), part_lse(request.size() * heads);
    BatchDecodeParams<T, T, T, int> p(q, nullptr, pool.kv, y, lse, nullptr, heads, heads * 128, 128,
                                      -1, 0.f, 1 / sqrtf(128), 1.f, 1e4f);
    p.padded_batch_size = request.size();
    p.request_indices = request_on, p.kv_tile_indices = tile_on;
    p.o_indptr = starts_on, p.kv_chunk_size_ptr = chunk_on;
    CHECK(BatchDecodeWithPagedKVCacheDispatched<128, PosEncodingMode::kNone, Variant>(
        p, chunk ? parts.device : nullptr, part_lse, false, 0));
    expect("batch decode", 5 * heads * 128, 509, result(y), [&](size_t e) {
        int s = e / 128 / heads, h = e / 128 % heads / (heads / kv);
        return attended(q, e, pool.keys, pool.values, pool.lengths[s],
                        [&](int j) { return pool.place(s, j, h); });
    });
}

template <typename T> static void all()
{
    for (u32 d : {64u, 111u, 1000u, 4096u, 8192u})
        norms<T>(d == 111 ? 7 : 65, d, d == 111 ? 2 : d == 1000 ? 8 : 0);
    activate<T, silu>("silu", [](double x) { return x / (1 + exp(-x)); });
    activate<T, gelu>("gelu", [](double x) { return 0.5 * x * erfc(-x * M_SQRT1_2); });
    activate<T, gelu_tanh>("gelu_tanh", [](double x) {
        return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    });
    rope<T, int>(37, 5, 128, 128);
    rope<T, int64_t>(150, 8, 64, 32);
    rope<T, int>(40, 3, 192, 128);
    rope<T, int>(36000, 1, 128, 64);
    for (QKVLayout layout : {QKVLayout::kNHD, QKVLayout::kHND}) {
        append<T>(layout, 64);
        append<T>(layout, 128);
        for (int keys : {1, 200, 3001}) {
            decode_one<T, false, false>(32, 8, keys, layout);
            decode_one<T, false, true>(32, 8, keys, layout);
            decode_one<T, true, false>(8, 4, keys, layout);
            decode_one<T, true, true>(8, 4, keys, layout);
        }
        decode_batch<T>(8, 8, layout, 0);
        decode_batch<T>(32, 8, layout, 0);
        decode_batch<T>(32, 8, layout, 256);
    }
    merges<T>(50, 3, 7, 128);
    merges<T>(3, 40, 4, 64);
}

int main()
{
    all<half>();
    all<__nv_bfloat16>();
    softmaxes();
    printf("%d wrong\n", wrong);
    return wrong > 0;
}
