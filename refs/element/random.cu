/*
 * random.cu - random numbers, from the seed and the offset that a launch was given: PyTorch's
 * distribution kernels, which draw from cuRAND's Philox4x32-10 (Salmon et al. 2011).
 *
 * Each thread has a sequence of 32-bit words, numbered by its place in the grid, and begins at word
 * `offset`. One turn takes 4 words, of which `unroll` elements are made: 4 of a word each, or 2 of
 * two words each, those of f64 and integers of 64 bits. Element i belongs to thread i mod
 * `threads`, and is number i / threads of what that thread makes. In a CUDA graph the seed and the
 * offset lie in memory, as low and high word, and `within` is added to the offset. `first` is the
 * number of y's first element, where only a part of a launch is checked. What differs from launch
 * to launch is a `real`: an `int` would be part of the launch signature.
 */
#include "ref.h"

/* 2 pi 2^-32, as cuRAND has it in f32. */
#define RANDOM_STEP ((double)(6.2831855f * 0x1p-32f))

struct ref_four {
    uint32_t w[4];

    /* Not w[i], which would put the words into memory. */
    REF_FN uint32_t word(int i) const
    {
        uint32_t word = w[0];
        REF_UNROLL
        for (int j = 1; j < 4; j++)
            word = i == j ? w[j] : word;
        return word;
    }
};

/* Block `number` of sequence `sequence` under `seed`, by Philox4x32-ROUNDS. */
template <int ROUNDS = 10>
REF_FN ref_four ref_philox(uint64_t seed, uint64_t sequence, uint64_t number)
{
    uint32_t c[4] = {(uint32_t)number, (uint32_t)(number >> 32), (uint32_t)sequence,
                     (uint32_t)(sequence >> 32)};
    uint32_t low = (uint32_t)seed, high = (uint32_t)(seed >> 32);
    REF_ROLLED
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p = (uint64_t)0xd2511f53u * c[0], q = (uint64_t)0xcd9e8d57u * c[2];
        c[0] = (uint32_t)(q >> 32) ^ c[1] ^ low;
        c[1] = (uint32_t)q;
        c[2] = (uint32_t)(p >> 32) ^ c[3] ^ high;
        c[3] = (uint32_t)p;
        low += 0x9e3779b9u;
        high += 0xbb67ae85u;
    }
    return {{c[0], c[1], c[2], c[3]}};
}

/* Words `at` to `at` + 3 of a sequence, which may lie in two blocks. */
REF_SHARED ref_four ref_four_words(uint64_t seed, uint64_t sequence, uint64_t at)
{
    ref_four four = ref_philox(seed, sequence, at >> 2);
    const int skip = (int)(at & 3);
    if (skip == 0)
        return four;
    ref_four next = ref_philox(seed, sequence, (at >> 2) + 1), both = four;
    REF_UNROLL
    for (int i = 0; i < 4; i++)
        both.w[i] = i + skip < 4 ? four.w[(i + skip) & 3] : next.w[(i + skip) & 3];
    return both;
}

/* A turn's words, and which of the elements that are made of them is meant. */
struct ref_turned {
    ref_four words;
    int slot;

    /* In (0, 1], of word i: exactly the number that the kernel has, for there is one rounding. */
    REF_FN double single(int i) const
    {
        return (double)((float)words.word(i) * 0x1p-32f + 0x1p-33f);
    }
    /* The same of 53 bits of two words. */
    REF_FN double pair(int i) const
    {
        return (double)(words.word(i) ^ (uint64_t)words.word(i + 1) << 21) * 0x1p-53 + 0x1p-54;
    }
};

/* What a launch was given, and how its elements are dealt. `side` > 0: that many neighbours are
 * made in one turn. */
struct ref_stream {
    uint64_t seed, offset;
    long long threads, first;
    int unroll, side;
    bool again; /* each turn takes the same words */

    REF_FN bool ready() const
    {
        return threads > 0 && first >= 0 && (unroll == 4 || unroll == 2);
    }
    REF_FN ref_turned at(long long i) const
    {
        uint64_t number = (uint64_t)(first + i), all = (uint64_t)threads, turn, thread;
        int slot;
        if (side > 0) {
            uint64_t group = number / (uint64_t)side;
            slot = (int)(number % (uint64_t)side);
            thread = group % all;
            turn = group / all * (uint64_t)((side + 3) / 4) + (uint64_t)(slot / 4);
            slot &= 3;
        } else {
            uint64_t made = number / all;
            thread = number % all;
            turn = made / (uint64_t)unroll;
            slot = (int)(made % (uint64_t)unroll);
        }
        return {ref_four_words(seed, thread, offset + (again ? 0 : 4 * turn)), slot};
    }
};

/* A number of 64 bits in two words of memory, else as it was given. */
template <class A> REF_FN uint64_t ref_given_words(const A &at, uint64_t given)
{
    if (!at.given)
        return given;
    return (uint64_t)ref_as_index(at(0)) | (uint64_t)ref_as_index(at(1)) << 32;
}

/* Seed and offset of the launch, as numbers of 64 bits. */
#define RANDOM_SEED   ref_given_words(seed_at, (uint64_t)seed_high.v << 32 | (uint64_t)seed_low.v)
#define RANDOM_OFFSET (ref_given_words(offset_at, (uint64_t)offset.v) + (uint64_t)within.v)

#define RANDOM_STREAM(side, again)                                                                 \
    const ref_stream stream = {RANDOM_SEED, RANDOM_OFFSET, threads, first,                         \
                               (int)unroll, (int)(side),   (again)}

/* All elements of y; `at` is the number of the first of row r. */
#define RANDOM_ELEMENT(r, at, c)                                                                   \
    ELEMENT(r, stream.ready() ? outer *planes *rows : -1, c, cols)                                 \
    if (const long long at = r * cols; true)

#define RANDOM_PLACE(r, c) r / rows / planes, r / rows % planes, r % rows, c

/* ------------------------------------------------------------- what is drawn, in packs */

struct ref_draw_uniform {
    REF_FN double operator()(const ref_stream &s, long long i) const
    {
        ref_turned t = s.at(i);
        return s.unroll == 4 ? t.single(t.slot) : t.pair(2 * t.slot);
    }
};

/* base plus the drawn word modulo range, all of it where range is 0; as an i64, or of y's type. */
struct ref_draw_integer {
    uint64_t range, base;
    int dtype;

    REF_FN double operator()(const ref_stream &s, long long i) const
    {
        ref_turned t = s.at(i);
        uint64_t drawn = t.words.word(s.unroll == 4 ? t.slot : 2 * t.slot);
        if (s.unroll == 2)
            drawn = drawn << 32 | t.words.word(2 * t.slot + 1);
        uint64_t number = (range ? drawn % range : drawn) + base;
        if (dtype == DTYPE_BOOL)
            return number != 0;
        return dtype == DTYPE_U64 ? (double)number : (double)(int64_t)number;
    }
};

template <class E, int W, class Draw>
REF_FN ref_exact<E, W> ref_each_drawn(const ref_stream &stream, const Draw &draw, long long at,
                                      const ref_pack<W> &c, const ref_rules<E> &k)
{
    ref_exact<E, W> x;
    x.k = k;
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        x.v[j] = draw(stream, at + c.i + j);
        x.f[j] = (E)x.v[j];
    }
    return x;
}

#define DRAWN(draw, at, c) ref_each_drawn<E>(stream, draw, at, c, REF_FRAME.k)

/* The two uniform numbers that normal ones are made of: one for the radius, and for the angle a
 * whole number of steps, which f32 has rounded, or a share of half a turn. */
template <class E, int W> struct ref_pairs {
    ref_exact<E, W> radius, angle;
    ref_mask<W> cosine;
};

template <class E, int W>
REF_FN ref_pairs<E, W> ref_drawn_pairs(const ref_stream &stream, long long at, const ref_pack<W> &c,
                                       const ref_rules<E> &k)
{
    ref_pairs<E, W> x;
    x.radius.k = x.angle.k = k;
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        ref_turned t = stream.at(at + c.i + j);
        int pair = stream.unroll == 4 ? t.slot & 2 : 0;
        x.radius.v[j] = stream.unroll == 4 ? t.single(pair) : t.pair(0);
        x.angle.v[j] = stream.unroll == 4 ? (double)(float)t.words.word(pair + 1) : 2 * t.pair(2);
        x.radius.f[j] = (E)x.radius.v[j];
        x.angle.f[j] = (E)x.angle.v[j];
        x.cosine.yes[j] = t.slot & 1;
        x.cosine.unsure[j] = false;
    }
    return x;
}

/* 1 where u < p, else 0; with limits of elements, where u <= limit. */
template <class E, int W, class Limit>
REF_FN ref_exact<E, W> ref_chosen(const ref_exact<E, W> &u, const Limit &limit, bool given,
                                  double p)
{
    ref_exact<E, W> x;
    x.k = u.k;
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        x.v[j] = given ? u.v[j] <= limit.value(j) : u.v[j] < p;
        x.f[j] = (E)x.v[j];
    }
    return x;
}

/* With a size, as sums have one: a number that is small beside the factors that it is made of
 * still gets a verdict. */
template <class A, class B, class E = typename A::element>
REF_FN ref_total<E, A::width> ref_judged_beside(const A &a, const B &size)
{
    ref_total<E, A::width> y(a);
    REF_UNROLL
    for (int j = 0; j < A::width; j++)
        y.size[j] = ref_abs(size.shadow(j));
    return y;
}

/* Lane by lane the number itself, or `low` where it becomes `top` as y is stored: kernels draw
 * from (low, top], and return low for top. Where either may be, the number that was written
 * decides. */
template <class E, int W, class Got>
REF_FN ref_real<E, W> ref_turned_round(ref_real<E, W> x, const Got &got, double low, double top,
                                       int dtype)
{
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        double reach = (double)x.e[j] * REF_SLACK;
        if (ref_abs(top - x.v[j]) > reach + 0x1p-7 * ref_abs(top) + 0x1p-24)
            continue;
        double least = ref_round(dtype, x.v[j] - reach), most = ref_round(dtype, x.v[j] + reach);
        bool surely = least == top && most == top, maybe = least <= top && most >= top;
        if (surely || (maybe && got.value(j) == low)) {
            x.v[j] = low;
            x.f[j] = (E)low;
            x.e[j] = 0;
        }
    }
    return x;
}

/* The whole number at or above it: where that depends on the error, either. */
template <class E, int W> REF_FN ref_real<E, W> ref_whole_above(ref_real<E, W> x)
{
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        double least = ceil(x.v[j] - (double)x.e[j]), most = ceil(x.v[j] + (double)x.e[j]);
        x.v[j] = ceil(x.v[j]);
        x.f[j] = (E)x.v[j];
        x.e[j] = (E)ref_more(most - x.v[j], x.v[j] - least);
    }
    return x;
}

/* Of integers that become f16 or bf16 by way of f32, the rounding on that way. */
template <class E, int W> REF_FN ref_real<E, W> ref_by_single(const ref_exact<E, W> &a, int dtype)
{
    ref_real<E, W> x(a);
    REF_UNROLL
    for (int j = 0; j < W; j++)
        if ((dtype == DTYPE_F16 || dtype == DTYPE_BF16) && ref_abs(x.v[j]) > 0x1p24)
            x.e[j] = (E)0x1p-24 * ref_abs(x.f[j]);
    return x;
}

/* ------------------------------------------------------------------------- references */

// y = u range + bottom, u uniform in (0, 1], and bottom where that is top: torch.rand, uniform_
REFERENCE_ONCE(random_uniform,
               "in seed_at?[2], in offset_at?[2], out y[outer][planes][rows][cols], "
               "real seed_low = 0, real seed_high = 0, real offset = 0, real within = 0, "
               "int threads, int unroll = 4, int first = 0, real bottom = 0, real top = 1, "
               "real range = 1")
{
    RANDOM_STREAM(0, false);
    RANDOM_ELEMENT(r, at, c)
    {
        auto got = y.after(RANDOM_PLACE(r, c));
        auto x = DRAWN(ref_draw_uniform(), at, c) * range + bottom;
        y(RANDOM_PLACE(r, c)) = ref_turned_round(x, got, bottom.v, top.v, y.t.dtype);
    }
}

// y = mean + std r sin(a) or r cos(a), r = sqrt(-2 ln u), u and a / 2 pi uniform (Box and Muller
// 1958); with lognormal = 1 e to that power: torch.randn, normal_, log_normal_
REFERENCE_ONCE(random_normal,
               "in seed_at?[2], in offset_at?[2], out y[outer][planes][rows][cols], "
               "real seed_low = 0, real seed_high = 0, real offset = 0, real within = 0, "
               "int threads, int unroll = 4, int first = 0, real mean = 0, real std = 1, "
               "int lognormal = 0")
{
    RANDOM_STREAM(0, false);
    RANDOM_ELEMENT(r, at, c)
    {
        auto drawn = ref_drawn_pairs<E>(stream, at, c, REF_FRAME.k);
        auto radius = sqrt(log(drawn.radius) * -2);
        auto angle = unroll == 4 ? drawn.angle * RANDOM_STEP + 0.5 * RANDOM_STEP
                                 : drawn.angle * 3.141592653589793 + 0;
        auto turn = where(drawn.cosine, cosine(angle), sine(angle));
        auto x = radius * turn * std + mean;
        if (lognormal)
            y(RANDOM_PLACE(r, c)) = exp(x);
        else
            y(RANDOM_PLACE(r, c)) = ref_judged_beside(x, radius * std);
    }
}

// y = base + w mod range, w a word, or two words where unroll is 2; w itself with range = 0:
// torch.randint, random_
REFERENCE_ONCE(random_integers,
               "in seed_at?[2], in offset_at?[2], out y[outer][planes][rows][cols], "
               "real seed_low = 0, real seed_high = 0, real offset = 0, real within = 0, "
               "int threads, int unroll = 4, int first = 0, int range = 0, int base = 0")
{
    RANDOM_STREAM(0, false);
    const ref_draw_integer draw = {(uint64_t)range, (uint64_t)base, y.t.dtype};
    RANDOM_ELEMENT(r, at, c)
    {
        y(RANDOM_PLACE(r, c)) = ref_by_single(DRAWN(draw, at, c), y.t.dtype);
    }
}

// y = 1 where u < p, else 0, u uniform in (0, 1]: torch.bernoulli_ with a number. With `chance`
// u <= chance(i), and a thread makes 4 neighbours of its first 4 words each turn.
REFERENCE_ONCE(random_bernoulli,
               "in seed_at?[2], in offset_at?[2], in chance?[outer][planes][rows][cols], "
               "out y[outer][planes][rows][cols], real seed_low = 0, real seed_high = 0, "
               "real offset = 0, real within = 0, int threads, int unroll = 4, int first = 0, "
               "real p = 0.5")
{
    RANDOM_STREAM(chance.given ? 4 : 0, chance.given);
    const double least = unroll == 4 ? (double)(float)p.v : p.v;
    RANDOM_ELEMENT(r, at, c)
    {
        auto u = DRAWN(ref_draw_uniform(), at, c);
        y(RANDOM_PLACE(r, c)) = ref_chosen(u, chance(RANDOM_PLACE(r, c)), chance.given, least);
    }
}

// y = -ln u / lambda, with u uniform in (0, 1], but at least half an epsilon for -ln u:
// torch.exponential_
REFERENCE_ONCE(random_exponential,
               "in seed_at?[2], in offset_at?[2], out y[outer][planes][rows][cols], "
               "real seed_low = 0, real seed_high = 0, real offset = 0, real within = 0, "
               "int threads, int unroll = 4, int first = 0, real lambda = 1")
{
    RANDOM_STREAM(0, false);
    const double half = unroll == 4 ? 0x1p-24 : 0x1p-53;
    RANDOM_ELEMENT(r, at, c)
    {
        auto u = DRAWN(ref_draw_uniform(), at, c);
        auto power = where(u < 1 - half, log(u), -half);
        y(RANDOM_PLACE(r, c)) = power * (-1 / lambda);
    }
}

// y = the whole number at or above ln u / ln(1 - p), u uniform in (0, 1]: torch.geometric_
REFERENCE_ONCE(random_geometric,
               "in seed_at?[2], in offset_at?[2], out y[outer][planes][rows][cols], "
               "real seed_low = 0, real seed_high = 0, real offset = 0, real within = 0, "
               "int threads, int unroll = 4, int first = 0, real p = 0.5")
{
    RANDOM_STREAM(0, false);
    RANDOM_ELEMENT(r, at, c)
    {
        auto u = DRAWN(ref_draw_uniform(), at, c);
        y(RANDOM_PLACE(r, c)) = ref_whole_above(log(u) / log(1 - p));
    }
}

// y = median + sigma tan(pi (u - 1/2)), u uniform in (0, 1], in f32 kept an epsilon away from 0
// and from 1: torch.cauchy_
REFERENCE_ONCE(random_cauchy,
               "in seed_at?[2], in offset_at?[2], out y[outer][planes][rows][cols], "
               "real seed_low = 0, real seed_high = 0, real offset = 0, real within = 0, "
               "int threads, int unroll = 4, int first = 0, real median = 0, real sigma = 1")
{
    RANDOM_STREAM(0, false);
    const double edge = unroll == 4 ? 0x1p-23 : 0;
    RANDOM_ELEMENT(r, at, c)
    {
        auto u = max(min(DRAWN(ref_draw_uniform(), at, c), 1 - edge), edge);
        auto angle = (u - 0.5) * 3.141592653589793;
        y(RANDOM_PLACE(r, c)) = sine(angle) / cosine(angle) * sigma + median;
    }
}

// mask = 1 where u < p, else 0, y = x mask / p: torch.nn.functional.dropout that keeps a share p in
// one kernel. With side > 0 a thread makes that many neighbours each turn.
REFERENCE_ONCE(random_dropout,
               "in seed_at?[2], in offset_at?[2], in x[outer][planes][rows][cols], "
               "out y?[outer][planes][rows][cols], out mask[outer][planes][rows][cols], "
               "real seed_low = 0, real seed_high = 0, real offset = 0, real within = 0, "
               "int threads, int unroll = 4, int first = 0, int side = 0, real p = 0.5")
{
    RANDOM_STREAM(side, false);
    RANDOM_ELEMENT(r, at, c)
    {
        auto u = DRAWN(ref_draw_uniform(), at, c);
        auto kept = ref_chosen(u, u, false, p.v);
        mask(RANDOM_PLACE(r, c)) = kept;
        y(RANDOM_PLACE(r, c)) = x(RANDOM_PLACE(r, c)) * kept * (1 / p);
    }
}
