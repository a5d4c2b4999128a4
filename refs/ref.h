/*
 * ref.h - the dialect in which references are written. README.md explains it; in short:
 *
 *   REFERENCE(rmsnorm, "in x[rows][cols], in w[cols] = 1, out y[rows][cols], real eps")
 *   {
 *       ROW(r, rows) {
 *           real ms = SUM(c, cols, x(r, c) * x(r, c)) / cols;
 *           real inv = rsqrt(ms + eps);
 *           EACH(c, cols) y(r, c) = x(r, c) * inv * w(c);
 *       }
 *   }
 *
 * Who does what: tools/dev/refgen reads the REFERENCE lines and writes a macro FORMALS_name each
 * (ref_formals.h), which declares a struct with the formals as members, the kernels, and ends in
 * the head of its member run(), so that the braces which follow are run's body. The macros deal
 * indices to the grid (ref_frame.h), reading a tensor gives an exact pack (ref_tensor.h),
 * arithmetic carries error bounds (ref_value.h), reductions are in ref_reduce.h, assigning to an
 * output judges it (ref_judge.h).
 *
 * E is the precision of the error bounds; D the one dtype that a special kernel is made for, or
 * DTYPE_NONE (the kernels are listed in ref_list.h).
 *
 * The text compiles with nvcc, with NVRTC (no standard header is needed on the device) and with
 * the host's C++17 compiler, where a pack is one element, a group one lane, the grid one thread,
 * and there are no special kernels.
 */
#ifndef REFS_REF_H
#define REFS_REF_H

#include "ref_reduce.h"
#include "ref_index.h"
#include "ref_point.h"
#include "ref_power.h"
#include "ref_mix.h"

/* --------------------------------------------------------------------------- formals */

/* The base of what refgen declares. It holds no address of its own parts: the compiler keeps an
 * object in registers only while nothing points into it, and so the frame stands apart. */
template <class E> struct ref_body {
    ref_frame<E> &frame;

    REF_FN ref_body(ref_frame<E> &frame_, int dims) : frame(frame_)
    {
        frame.expect_dims(dims);
    }
};

/* Indices of any mix of integers and one pack. */
template <class... I> REF_FN ref_place ref_place_of(const I &...index)
{
    ref_place place = {{(long long)ref_index<I>::first(index)...}};
    return place;
}

template <class... I> REF_FN int ref_count_of(const I &...index)
{
    int count = 1;
    ((count = ref_index<I>::lanes > 0 ? ref_index<I>::count(index) : count), ...);
    return count;
}

/* std::conditional, which NVRTC has no header for. */
template <bool YES, class A, class B> struct ref_choose {
    typedef A type;
};
template <class A, class B> struct ref_choose<false, A, B> {
    typedef B type;
};

/* Whether a tensor goes the hot path of a kernel for dtype D. */
template <class E, int D, int RANK>
REF_FN bool ref_hot_tensor(const ref_tensor &t, const void *base)
{
    bool ready = ref_ready(&t, base, RANK, sizeof(E) == 8);
    if constexpr (D != DTYPE_NONE)
        return ready && t.dtype == D && ref_dense(&t, base, RANK);
    return ready;
}

/* An input. A special kernel (D) reads packs only of an input that is ready for it, and refuses
 * every element of another. */
template <class E, int D, int RANK, bool OPTIONAL> struct ref_in {
    ref_frame<E> &frame;
    const ref_tensor &t;
    const void *base;
    bool given, ready;
    E absent;

    REF_FN ref_in(ref_frame<E> &frame_, const ref_tensor &t_)
        : ref_in(frame_, t_, t_.in, ref_hot_tensor<E, D, RANK>(t_, t_.in))
    {
    }
    REF_FN ref_in(ref_frame<E> &frame_, const ref_tensor &t_, const void *base_, bool ready_)
        : frame(frame_), t(t_), base(base_), given(base_ != nullptr), ready(ready_),
          absent((E)t_.absent)
    {
    }

    template <class... I> REF_FN auto operator()(I... index) const
    {
        static_assert(sizeof...(I) == RANK, "as many indices as the formal has dims");
        if constexpr ((ref_by<I>::grouped || ...)) {
            return this->template part<false>(REF_VALUE, index...);
        } else {
            constexpr int axis = ref_axis<I...>(), width = ref_width<I...>();
            constexpr bool dense = D != DTYPE_NONE && axis == RANK - 1;
            typename ref_choose<dense, ref_narrow<E, width>, ref_exact<E, width>>::type x;
            double v[width];
            x.k = frame.k;
            frame.hot.refused += (uint32_t)ref_load<D, RANK, axis, OPTIONAL>(
                t, base, ready, absent, ref_place_of(index...), ref_count_of(index...),
                frame.cached ? 0 : frame.ahead, v, x.f);
            ref_keep_values(x, v, t.dtype);
            return x;
        }
    }

    /* Whether it has the element, else refused: for a sum that reads few of its terms. */
    template <class... I> REF_FN bool has(I... index) const
    {
        bool there = ref_within<RANK, -1, 1>(t, ref_place_of(index...));
        frame.hot.refused += !there;
        return there;
    }

    template <bool CODED, class... I> REF_FN auto part(int which, I... index) const
    {
        constexpr int width = ref_width<I...>();
        ref_exact<E, width> x;
        ref_place place = ref_place_of(index...);
        long long by = 1;
        ((by = ref_by<I>::grouped ? ref_by<I>::size(index) : by), ...);
        x.k = frame.k;
        frame.hot.refused +=
            (uint32_t)ref_gather_part<CODED>(&t, base, &place, RANK, ref_axis<I...>(),
                                             ref_count_of(index...), width, which, by, x.v);
        REF_UNROLL
        for (int j = 0; j < width; j++)
            x.f[j] = (E)x.v[j];
        return x;
    }
};

/* An input that may be in a block format (ref_blocks.h). Kernels multiply the parts of an element
 * apart: value = step + low. */
template <class E, int D, int RANK, bool OPTIONAL>
struct ref_coded : private ref_in<E, D, RANK, OPTIONAL> {
    typedef ref_in<E, D, RANK, OPTIONAL> plain;
    using plain::given;
    using ref_in<E, D, RANK, OPTIONAL>::ref_in;

    template <class... I> REF_FN auto operator()(I... index) const
    {
        return plain::template part<true>(REF_VALUE, index...);
    }
#define REF_PART_OF(name, part_)                                                                   \
    template <class... I> REF_FN auto name(I... index) const                                       \
    {                                                                                              \
        return plain::template part<true>(part_, index...);                                        \
    }
    REF_PART_OF(step, REF_STEP)
    REF_PART_OF(low, REF_LOW)
    REF_PART_OF(scale, REF_FACTOR)
    REF_PART_OF(code, REF_CODE)
    REF_PART_OF(share, REF_SHARE)
#undef REF_PART_OF
    /* Whether its `low` goes with a block's sum, as that of llama.cpp's formats of 32 elements. */
    REF_FN bool low_by_sum() const
    {
        return ref_block_elements(plain::t.dtype) == 32;
    }
};

template <class E, int D, int RANK> struct ref_out;

/* An element or a pack of an output, to be assigned to. Only a group's first lane assigns where
 * all indices are scalars, for then all its lanes stand at the same element. */
template <class E, int D, int RANK, int AXIS, int W, class READ> struct ref_spot {
    const ref_out<E, D, RANK> &out;
    ref_place place;
    int count;
    bool mine;
    READ read;

    template <class A, class R = ref_same<A>> REF_FN void operator=(const A &value) const
    {
        static_assert(R::width == 1 || R::width == W, "a pack is assigned to one element");
        if (mine && !out.surely(read, value))
            out.template judge<AXIS>(place, count, read, ref_total<E, W>(value));
    }
    REF_FN void operator=(double value) const
    {
        *this = ref_scale<E>(value, out.frame.k);
    }
};

/* Where a pack stands, and what is known of its row. */
struct ref_site {
    const ref_call &call;
    const ref_tensor &t;
    ref_verdict *cold;
    const ref_place &place;
    long long terms;
    int count;
    bool masked;
};

/* Judges element by element what the hot path did not, where there is something to judge by. */
template <int RANK, int AXIS, class E, int W>
REF_FN void ref_judge_rest(ref_hot<E> &hot, const ref_site &site, const ref_total<E, W> &y)
{
    ref_case slow;
    slow.call = &site.call;
    slow.t = &site.t;
    slow.cold = site.cold;
    slow.place = site.place;
    slow.rank = RANK;
    slow.axis = AXIS;
    slow.masked = site.masked;
    slow.terms = (double)site.terms;
    slow.count = site.count;
    REF_UNROLL
    for (int j = 0; j < W; j++) {
        slow.y[j] = y.v[j];
        slow.e[j] = ref_finite(y.f[j]) ? (double)y.e[j] : ref_infinity();
        slow.size[j] = (double)y.size[j];
    }
    if (hot.slow++ == 0)
        ref_verdict_clear(site.cold);
    uint64_t refused = site.cold->refused;
    ref_judge_slowly(&slow);
    hot.refused += (uint32_t)(site.cold->refused - refused);
    site.cold->refused = refused;
}

/* All of it for bounds in f64, once in the code for each kind of place. */
template <int RANK, int AXIS, int W>
REF_SHARED void ref_judge_wide(ref_hot<double> *hot, const ref_site *site,
                               const ref_judge<double> *judge, const ref_total<double, W> *y)
{
    if ((AXIS < 0 || site->count == W) &&
        ref_judge_pack<RANK, AXIS>(*hot, site->t, *judge, site->place, ref_unread(), *y))
        return;
    if (site->t.got || site->call.store)
        ref_judge_rest<RANK, AXIS>(*hot, *site, *y);
}

template <class E, int D>
REF_FN ref_judge<E> ref_judging(const ref_call &call, const ref_tensor &t, bool ready)
{
    if constexpr (sizeof(E) == 8)
        return ref_judge_make_wide(&call, &t, ready);
    else
        return ref_judge_make<E, D>(call, t, ready);
}

/* An output; reading it as an input, before(...) gives the values before the launch and after(...)
 * those that the kernel wrote, for what it computed from them again. */
template <class E, int D, int RANK> struct ref_out {
    ref_frame<E> &frame;
    const ref_tensor &t;
    bool given, scalars; /* `scalars`: single elements may be read without further checks */
    ref_judge<E> judging;
    ref_in<E, D, RANK, true> before, after;

    REF_FN ref_out(ref_frame<E> &frame_, const ref_tensor &t_)
        : ref_out(frame_, t_, ref_hot_tensor<E, D, RANK>(t_, t_.got))
    {
    }
    REF_FN ref_out(ref_frame<E> &frame_, const ref_tensor &t_, bool hot)
        : frame(frame_), t(t_), given(t_.got != nullptr),
          scalars(ref_ready(&t_, t_.got, RANK, sizeof(E) == 8)),
          judging(ref_judging<E, D>(frame_.call, t_, hot)), before(frame_, t_),
          after(frame_, t_, t_.got, hot)
    {
        /* Sums in f32 are too coarse for a result a row, which may be f32 itself, and useless under
         * a rule without an error bound. */
        if (given && (RANK == 1 || t.rule == RULE_CLOSE))
            frame.rounds.exact_only = true;
    }

    template <class... I> REF_FN auto operator()(I... index) const
    {
        static_assert(sizeof...(I) == RANK, "as many indices as the formal has dims");
        constexpr int axis = ref_axis<I...>(), width = ref_width<I...>();
        const ref_place place = ref_place_of(index...);
        const int count = ref_count_of(index...);
        const auto read =
            ref_read_early<E, D, RANK, axis, width>(t, judging, place, count, frame.ahead);
        return ref_spot<E, D, RANK, axis, width, decltype(read)>{
            *this, place, count, axis >= 0 || frame.lane == 0, read};
    }

    /* The numbers that its dtype has, for kernels that saturate. */
    REF_FN double largest() const
    {
        return ref_dtype_largest(t.dtype);
    }
    REF_FN double lowest() const
    {
        return ref_dtype_lowest(t.dtype);
    }

    /* Whether a pack is right by its values alone, as a kernel in f32 may have them. */
    template <class READ, class A>
    REF_FN bool surely([[maybe_unused]] const READ &read, [[maybe_unused]] const A &value) const
    {
        if constexpr (ref_coarse(READ::dtype)) {
            E y[READ::width];
            REF_UNROLL
            for (int j = 0; j < READ::width; j++)
                y[j] = value.near(j);
            return ref_judge_surely(frame.hot, judging, read, y);
        }
        return false;
    }

    template <int AXIS, int W, class READ>
    REF_FN void judge(const ref_place &place, int count, const READ &read,
                      const ref_total<E, W> &y) const
    {
        if constexpr (sizeof(E) == 8) {
            ref_judge<E> facts = judging;
            ref_place copy = place;
            ref_total<E, W> value = y;
            if constexpr (AXIS < 0)
                facts.plain = plain_scalar();
            ref_site site = {frame.call, t, frame.cold, copy, frame.terms, count, frame.masked};
            ref_judge_wide<RANK, AXIS, W>(&frame.hot, &site, &facts, &value);
            return;
        } else if constexpr (AXIS >= 0) {
            if ((READ::read || count == W) &&
                ref_judge_pack<RANK, AXIS>(frame.hot, t, judging, place, read, y))
                return;
        } else if (ref_judge_pack<RANK, AXIS>(frame.hot, t, judging_scalar(), place, ref_unread(),
                                              y)) {
            return;
        }
        if (!t.got && !frame.call.store)
            return;
        if (frame.rounds.near) {
            frame.rounds.doubt = true;
            return;
        }
        ref_judge_rest<RANK, AXIS>(
            frame.hot, {frame.call, t, frame.cold, place, frame.terms, count, frame.masked}, y);
    }

  private:
    /* One number of a row may have another dtype than the rows. */
    REF_FN bool plain_scalar() const
    {
        return scalars && !frame.call.store && !t.accumulates;
    }
    REF_FN ref_judge<E> judging_scalar() const
    {
        if constexpr (D != DTYPE_NONE)
            return ref_judge_make_scalar(&frame.call, &t, scalars);
        ref_judge<E> any = judging;
        any.plain = plain_scalar();
        return any;
    }
};

/* ------------------------------------------------------------------- the macros of README */

/* All are the same text to the compiler; refgen reads from the name which kernels are made. */
#define REFERENCE(name, text)         FORMALS_##name
#define REFERENCE_SAMPLED(name, text) FORMALS_##name
#define REFERENCE_ONCE(name, text)    FORMALS_##name

/* Named in full, so that a formal may have the name of one of its members. */
#define REF_FRAME ref_body<E>::frame

#define ROW(r, n)                                                                                  \
    for (ref_items ref_it = REF_FRAME.template rows<D>(n);                                         \
         ref_it.at < ref_it.end && REF_FRAME.group_goes_on() && REF_FRAME.begin();                 \
         ref_it.at += REF_FRAME.ended() ? ref_it.step : 0)                                         \
        if (const long long r = ref_it.at; true)                                                   \
            if ([[maybe_unused]] const ref_group_scope ref_scope = {}; true)

#define EACH(c, n)                                                                                 \
    for (ref_packs<E> ref_it = REF_FRAME.packs(n); ref_it.more() & !REF_FRAME.lost();              \
         ref_it.next())                                                                            \
        if (const auto c = ref_it.at; true)                                                        \
            if ([[maybe_unused]] const ref_lane_scope ref_scope = {}; true)

#define LOOP(c, n)                                                                                 \
    for (long long c = 0, ref_end = REF_FRAME.space(n); c < ref_end && !REF_FRAME.lost(); c++)

/* All lanes leave it together, so that SUM may stand in it. */
#define REPEAT(c, n)                                                                               \
    for (long long c = 0, ref_end = REF_FRAME.space(n); c < ref_end && REF_FRAME.group_goes_on();  \
         c++)

#define ELEMENT(r, rows, c, cols)                                                                  \
    for (ref_cells<E> ref_it = REF_FRAME.cells(rows, cols);                                        \
         ref_it.more() & !REF_FRAME.lost() && REF_FRAME.begin(); ref_it.next())                    \
        if (const long long r = ref_it.row; true)                                                  \
            if (const auto c = ref_it.pack(); true)                                                \
                if ([[maybe_unused]] const ref_lane_scope ref_scope = {}; true)

#define SAMPLE(i, total, budget)                                                                   \
    for (ref_items ref_it = REF_FRAME.items(REF_FRAME.sampled(total, budget));                     \
         ref_it.at < ref_it.end && REF_FRAME.group_goes_on() && REF_FRAME.begin();                 \
         ref_it.at += ref_it.step)                                                                 \
        if (const long long i =                                                                    \
                ref_draw(REF_FRAME.call.seed, ref_it.at, total, REF_FRAME.sampled(total, budget)); \
            true)                                                                                  \
            if ([[maybe_unused]] const ref_group_scope ref_scope = {}; true)

#define SAMPLE_TILES(s, r, j, batch, m, n, budget)                                                 \
    for (ref_items ref_it = REF_FRAME.items(REF_FRAME.sampled((batch) * (m) * (n), budget));       \
         ref_it.at < ref_it.end && REF_FRAME.group_goes_on() && REF_FRAME.begin();                 \
         ref_it.at += ref_it.step)                                                                 \
        if (const ref_drawn ref_at = REF_FRAME.drawn(ref_it.at, batch, m, n, budget); true)        \
            if ([[maybe_unused]] const long long s = ref_at.matrix, r = ref_at.row,                \
                j = ref_at.col;                                                                    \
                true)                                                                              \
                if ([[maybe_unused]] const ref_group_scope ref_scope = {}; true)

#define SUM(c, n, ...)                                                                             \
    REF_FRAME.sum(ref_scope, n, [&](auto c, [[maybe_unused]] ref_lane_scope ref_scope) {           \
        return (__VA_ARGS__);                                                                      \
    })
#define MAX(c, n, ...)                                                                             \
    REF_FRAME.most(ref_scope, n, [&](auto c, [[maybe_unused]] ref_lane_scope ref_scope) {          \
        return (__VA_ARGS__);                                                                      \
    })
#define MIN(c, n, ...) (-MAX(c, n, -(__VA_ARGS__)))
#define PRODUCT(c, n, ...)                                                                         \
    ref_together(REF_FRAME, ref_scope)                                                             \
        .product(ref_group_scope(), n,                                                             \
                 [&](auto c, [[maybe_unused]] ref_lane_scope ref_scope) { return (__VA_ARGS__); })

/* Elements of the output may be judged more than once. refgen notes it (REF_REPEATS). */
#define REPEATED(output) ((void)(output))

/* Whether the row is masked as a whole, by its largest logit: then the call's masked_rows hold. */
#define MASKED(most) (REF_FRAME.masked = (most).value(0) == -ref_infinity())

/* SUM_IF and its like, over numbers and not packs: ref_mix.h. */
#define TERM(name, j, ...)                                                                         \
    [[maybe_unused]] const auto name = [&]([[maybe_unused]] long long j) REF_TERM(__VA_ARGS__)

/* The formula with `name` for a part of it, which is computed once. */
#define WITH(name, part, ...) [&](const auto &name) REF_TERM(__VA_ARGS__)(part)

/* A number read from an array as an index, an index or a condition as a number: ref_index.h. */
#define INDEX(...)  ref_as_index(__VA_ARGS__)
#define NUMBER(...) ref_as_number<E>(__VA_ARGS__)

/* -------------------------------------------------------------------------------- entry */

template <template <class, int> class Reference, class E, int D>
REF_FN void ref_run(const ref_call &call)
{
    ref_verdict cold;
    ref_hot<E> figures;
    if constexpr (sizeof(E) == 8)
        ref_begin_wide(&figures);
    else
        ref_begin<E>();
    ref_frame<E> frame(call, &cold, &figures);
    Reference<E, D> self(frame);
    self.run();
    if constexpr (sizeof(E) == 8)
        ref_close_wide(&call, &cold, &figures);
    else
        ref_close(&call, &cold, frame.hot);
}

/* Blocks on a multiprocessor: more of them hide more latency, and leave each fewer registers. */
#ifndef REF_BLOCKS
#define REF_BLOCKS 2
#endif
#ifndef REF_SPECIAL_BLOCKS
#define REF_SPECIAL_BLOCKS 2
#endif

/* The references become two modules, which compile beside each other and each its own way: the wide
 * kernels, where time is spent in f64, and all others. REF_PART 0 is both in one. */
#ifndef REF_PART
#define REF_PART 0
#endif
#define REF_PART_HOT  1
#define REF_PART_WIDE 2

#ifdef __CUDACC__
/* The call that this block works on. */
REF_FN const ref_call *ref_own_call(const ref_batch &batch)
{
    uint32_t own = 0;
    if (!batch.call)
        return &batch.own;
    REF_UNROLL
    for (uint32_t i = 1; i < REF_BATCH; i++)
        own += i < batch.calls && blockIdx.x >= batch.first[i];
    return &batch.call[own];
}

/* The same in shared memory: elsewhere each of its facts would be waited for in turn. */
REF_FN const ref_call &ref_shared_call(const ref_batch &batch)
{
    __shared__ ref_call own;
    static_assert(sizeof own % 8 == 0 && sizeof own / 8 <= REF_THREADS, "a word for each thread");
    const uint64_t *from;
    asm("mov.u64 %0, %1;" : "=l"(from) : "l"(ref_own_call(batch)));
    if (threadIdx.x < sizeof own / 8)
        ((uint64_t *)&own)[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    return own;
}

/* With bounds in f64 once in the code, as all that is long there. */
REF_SLOW const ref_call *ref_shared_call_slowly(const ref_batch *batch)
{
    return &ref_shared_call(*batch);
}

template <class E> REF_FN const ref_call &ref_call_of(const ref_batch &batch)
{
    if constexpr (sizeof(E) == 8)
        return *ref_shared_call_slowly(&batch);
    else
        return ref_shared_call(batch);
}

#define REF_KERNEL(name, suffix, E, D, blocks)                                                     \
    extern "C" __global__ void __launch_bounds__(REF_THREADS, blocks)                              \
        cuvet_ref_##name##suffix(const __grid_constant__ ref_batch batch)                          \
    {                                                                                              \
        ref_run<reference_##name, E, D>(ref_call_of<E>(batch));                                    \
    }
#if REF_PART == REF_PART_HOT
#define REF_ENTRY_ONCE(name)
#else
#define REF_ENTRY_ONCE(name) REF_KERNEL(name, _wide, double, DTYPE_NONE, REF_BLOCKS)
#endif
#if REF_PART == REF_PART_WIDE
#define REF_ENTRY(name) REF_ENTRY_ONCE(name)
#define REF_SPECIAL_ENTRIES(name)
#else
#define REF_ENTRY(name)                                                                            \
    REF_KERNEL(name, , float, DTYPE_NONE, REF_BLOCKS)                                              \
    REF_ENTRY_ONCE(name)
#define REF_SPECIAL_ENTRIES(name)                                                                  \
    REF_KERNEL(name, _bf16, float, DTYPE_BF16, REF_SPECIAL_BLOCKS)                                 \
    REF_KERNEL(name, _f16, float, DTYPE_F16, REF_SPECIAL_BLOCKS)                                   \
    REF_KERNEL(name, _f32, float, DTYPE_F32, REF_SPECIAL_BLOCKS)
#endif
#else
#define REF_ENTRY(name)                                                                            \
    static void ref_host_##name(const ref_call *call, int wide)                                    \
    {                                                                                              \
        wide ? ref_run<reference_##name, double, DTYPE_NONE>(*call)                                \
             : ref_run<reference_##name, float, DTYPE_NONE>(*call);                                \
    }
#define REF_ENTRY_ONCE(name)                                                                       \
    static void ref_host_##name(const ref_call *call, int)                                         \
    {                                                                                              \
        ref_run<reference_##name, double, DTYPE_NONE>(*call);                                      \
    }
#define REF_SPECIAL_ENTRIES(name)
#endif

#include "ref_formals.h"

#endif
