/*
 * lift.cu - the functions that a lifted kernel calls (shim/lift): approximate instructions over a
 * number and its bound, the comparison of what was written, and the sum of the figures.
 *
 * It becomes PTX text, which is put in front of each rewritten kernel, so nothing here may be newer
 * than compute capability 8.0. A number is its value in f64 and a bound on the error that a correct
 * kernel may have made in it.
 */
#include "lift/lift_abi.h"
#include "refs/abi/ref_merge.h"

/* The figures of one thread. `index`, which comes first, is written by the kernel's text: the
 * number from memory that names the place of a store. */
struct lift_state {
    int64_t index;
    uint32_t checked, violations, class_mismatch, wide;
    float max_abs, max_rel, max_ratio;
    uint32_t reached; /* bytes behind an address of a table, at most */
    uint64_t began;
    lift_slot *slot; /* that the thread's block has taken; NULL: none */
};

#define LIFT_FN extern "C" __device__ __noinline__

/* A bound that is no number is infinite. */
static __device__ lift_number settle(double v, double e)
{
    return {v, e == e ? e : __longlong_as_double(0x7ff0000000000000ll)};
}

/* ---- functions; `u` is the relative error of the instruction ---- */

LIFT_FN lift_number cuvet_lift_div(double a, double ea, double b, double eb, double u)
{
    double v = a / b, least = fabs(b) - eb;
    if (ea == 0 && eb == 0)
        return {v, fabs(v) * u};
    return settle(v, least > 0 ? (ea + fabs(v) * eb) / least + fabs(v) * u
                               : __longlong_as_double(0x7ff0000000000000ll));
}

LIFT_FN lift_number cuvet_lift_rcp(double a, double ea, double u)
{
    return cuvet_lift_div(1, 0, a, ea, u);
}

LIFT_FN lift_number cuvet_lift_sqrt(double a, double ea, double u)
{
    double v = sqrt(a), least = a - ea;
    double e = ea == 0 ? 0 : least > 0 ? ea / (sqrt(least) + v) : sqrt(fabs(a) + ea);
    return settle(v, e + v * u);
}

LIFT_FN lift_number cuvet_lift_rsqrt(double a, double ea, double u)
{
    double v = 1 / sqrt(a), least = a - ea;
    if (ea == 0)
        return {v, v * u};
    return settle(v, least > 0 ? 1 / sqrt(least) - v + v * u
                               : __longlong_as_double(0x7ff0000000000000ll));
}

LIFT_FN lift_number cuvet_lift_ex2(double a, double ea, double u)
{
    double v = exp2(a);
    if (a == __longlong_as_double((long long)0xfff0000000000000ull))
        return {0, 0};
    return settle(v, v * (ea < 0x1p-10 ? ea : exp2(ea) - 1) + v * u + 0x1p-126);
}

/* lg2.approx has an absolute error near 1. */
LIFT_FN lift_number cuvet_lift_lg2(double a, double ea, double u)
{
    double v = log2(a), least = a - ea;
    if (ea == 0)
        return {v, fabs(v) * u + 0x1p-22};
    return settle(v, least > 0 ? v - log2(least) + fabs(v) * u + 0x1p-22
                               : __longlong_as_double(0x7ff0000000000000ll));
}

/* Their absolute error grows with the argument. */
LIFT_FN lift_number cuvet_lift_sin(double a, double ea, double u)
{
    return settle(sin(a), ea + 0x1p-20 + fabs(a) * 0x1p-21 + u);
}

LIFT_FN lift_number cuvet_lift_cos(double a, double ea, double u)
{
    return settle(cos(a), ea + 0x1p-20 + fabs(a) * 0x1p-21 + u);
}

LIFT_FN lift_number cuvet_lift_tanh(double a, double ea, double u)
{
    double v = tanh(a);
    return settle(v, ea + fabs(v) * u);
}

/* ---- threads and formats ---- */

static __device__ uint32_t thread_of()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

static __device__ uint32_t lane_of()
{
    return thread_of() % 32;
}

static __device__ uint32_t block_threads()
{
    return blockDim.x * blockDim.y * blockDim.z;
}

static __device__ double widen(uint32_t bits, uint32_t format)
{
    if (format == LIFT_F32)
        return __uint_as_float(bits);
    if (format == LIFT_BF16)
        return __uint_as_float(bits << 16);
    double v;
    asm("{ .reg .b16 h; cvt.u16.u32 h, %1; cvt.f64.f16 %0, h; }" : "=d"(v) : "r"(bits));
    return v;
}

#include "lift/lift_product.cuh"

/* ---- shadows of shared memory ---- */

/* A place for the block's shadows, where shared memory has no room for them. A block waits for
 * those that have one, which end without it. */
static __device__ uint64_t take_place(lift_state *s, const lift_call *call, uint32_t at,
                                      uint64_t bytes)
{
    const uint64_t most = call->slot_bytes / bytes;
    const uint32_t count = most < LIFT_SLOTS ? (uint32_t)most : LIFT_SLOTS;
    uint32_t slot = (blockIdx.x + blockIdx.y + blockIdx.z) % count;
    if (thread_of() == 0) {
        while (atomicCAS(&call->slots[slot].taken, 0u, 1u))
            slot = slot + 1 < count ? slot + 1 : 0;
        __threadfence();
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(slot) : "memory");
    }
    __syncthreads();
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(slot) : "r"(at) : "memory");
    s->slot = &call->slots[slot];
    return (uint64_t)(call->slots + LIFT_SLOTS) + slot * bytes;
}

/* Where the block's shadows lie, as a generic address: none is there yet. `at`: the first byte of
 * shared memory behind the kernel's own. */
LIFT_FN uint64_t cuvet_lift_cells(lift_state *s, const lift_call *call, uint32_t at, uint64_t bytes)
{
    uint64_t cells;
    asm("{ .reg .u64 a; cvt.u64.u32 a, %1; cvta.shared.u64 %0, a; }" : "=l"(cells) : "r"(at));
    if (call->slots)
        cells = take_place(s, call, at, bytes);
    for (uint64_t i = thread_of(); i < bytes / sizeof(lift_number); i += block_threads())
        ((lift_number *)cells)[i].e = -1;
    __syncthreads();
    return cells;
}

/* The last thread of the block gives the place back. */
static __device__ void leave_place(lift_slot *slot, uint32_t threads)
{
    __threadfence();
    if (atomicAdd(&slot->ended, threads) + threads < block_threads())
        return;
    slot->ended = 0;
    __threadfence();
    atomicExch(&slot->taken, 0u);
}

/* ---- comparison ---- */

/* Bits behind the first of a significand, and the exponent of the least normal number. */
static __device__ int fraction(uint32_t format)
{
    return format == LIFT_F32    ? 23
           : format == LIFT_BF16 ? 7
           : format == LIFT_E4M3 ? 3
           : format == LIFT_E5M2 ? 2
                                 : 10;
}

static __device__ double half_ulp(double size, uint32_t format)
{
    int least = format == LIFT_E4M3 ? -6 : format == LIFT_F16 || format == LIFT_E5M2 ? -14 : -126;
    long long bits = __double_as_longlong(size) & 0x7ff0000000000000ll;
    int exponent = (int)(bits >> 52) - 1023;
    if (exponent < least)
        exponent = least;
    return __longlong_as_double((long long)(exponent - fraction(format) - 1 + 1023) << 52);
}

static __device__ double largest(uint32_t format)
{
    return format == LIFT_F16 ? 65504.0 : 0x1.fep127;
}

static __device__ bool finite_number(double x)
{
    return fabs(x) < __longlong_as_double(0x7ff0000000000000ll);
}

/* Keys of neighbours differ in few bits. */
static __device__ uint32_t slot_of(uint64_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) % LIFT_PLACES;
}

/* `there` has everything but the key. */
static __device__ void note_place(lift_place *places, uint64_t key, const lift_place *there)
{
    lift_place *place = &places[slot_of(key)];
    place->tensor = there->tensor;
    place->index = there->index;
    place->got = there->got;
    place->ref = there->ref;
    place->bound = there->bound;
    __threadfence();
    place->key = key;
}

static __device__ __noinline__ void violate(const lift_call *call, uint32_t tensor, uint64_t index,
                                            double got, double v, double bound, float ratio)
{
    uint64_t worst = (uint64_t)__float_as_uint(ratio) << 32 | (uint32_t) ~(uint32_t)index;
    uint64_t first = ~((uint64_t)tensor << 48 | index);
    unsigned long long *worsts = (unsigned long long *)&call->figures->worst;
    unsigned long long *firsts = (unsigned long long *)&call->figures->first;
    const lift_place there = {0, tensor, index, got, v, bound};
    if (atomicMax(worsts, worst) < worst)
        note_place(call->figures->worst_place, worst, &there);
    if (atomicMax(firsts, first) < first)
        note_place(call->figures->first_place, first, &there);
}

/* A number that is not finite on either side. `own`: what the lifted kernel itself has there:
 * where that is not finite either, a step on the way was too large for f32, and no bound is known.
 */
static __device__ void judge_class(lift_state *s, const lift_call *call, uint32_t tensor,
                                   uint64_t index, double got, double v, double e, double own,
                                   uint32_t format)
{
    bool same = got == v || (got != got && v != v);
    bool over = fabs(v) + e >= largest(format) && !finite_number(got) && got == got;
    if (same || over)
        return;
    if (!finite_number(own) || !finite_number(e)) {
        s->wide++;
        return;
    }
    s->violations++;
    s->class_mismatch++;
    violate(call, tensor, index, got, v, e, __int_as_float(0x7f800000));
}

/* The least number of several, or with `sign` -1 the largest; NaN is none. */
static __device__ void keep_extreme(double *to, double value, double sign)
{
    unsigned long long *place = (unsigned long long *)to, seen = *place;
    const unsigned long long bits = (unsigned long long)__double_as_longlong(value);
    while (true) {
        const double there = __longlong_as_double((long long)seen);
        if (there == there && !(sign * value < sign * there))
            return;
        const unsigned long long before = atomicCAS(place, seen, bits);
        if (before == seen)
            return;
        seen = before;
    }
}

/* A NaN is as far from a number as infinity is. */
static __device__ void store_extremes(const lift_state *s, const lift_call *call, double value)
{
    keep_extreme(&call->store[LIFT_LEAST], value, 1);
    keep_extreme(&call->store[LIFT_MOST],
                 value == value ? value : __longlong_as_double(0x7ff0000000000000ll), -1);
    call->store[LIFT_INDEX] = (double)s->index;
}

static __device__ void store(const lift_state *s, const lift_call *call, uint32_t tensor,
                             uint64_t index, double value)
{
    int64_t at = (int64_t)index - call->store_first;
    if (call->array[tensor].id != (uint64_t)call->store_tensor || at < 0 || at >= call->store_count)
        return;
    if (call->extremes)
        store_extremes(s, call, value);
    else
        call->store[at] = value;
}

/* Element `index` of the tensor: what was written, and what ought to be. */
LIFT_FN void cuvet_lift_judge(lift_state *s, const lift_call *call, uint32_t tensor, uint64_t index,
                              double v, double e, uint32_t got_bits, uint32_t own_bits,
                              uint32_t format)
{
    if (call->store) {
        store(s, call, tensor, index, v);
        return;
    }
    s->checked++;
    if (got_bits == own_bits && e == 0)
        return;
    double got = widen(got_bits, format);
    if (!finite_number(got) || !finite_number(v) || !finite_number(e)) {
        judge_class(s, call, tensor, index, got, v, e, widen(own_bits, format), format);
        return;
    }
    double miss = fabs(got - v), size = fabs(v) > fabs(got) ? fabs(v) : fabs(got);
    double half = half_ulp(size, format);
    /* The last step to a number of f32 is in its bound. */
    double bound = (format == LIFT_F32 ? 0 : half) + e * (1 + 0x1p-20) + 0x1p-126;
    if (miss > s->max_abs)
        s->max_abs = (float)miss;
    if (v != 0 && miss > s->max_rel * fabs(v))
        s->max_rel = (float)(miss / fabs(v));
    float ratio = (float)(miss / bound);
    if (ratio > s->max_ratio)
        s->max_ratio = ratio;
    if (miss > bound) {
        s->violations++;
        violate(call, tensor, index, got, v, bound, ratio);
    } else if (miss > half && e > 2 * half && e > 0.1 * fabs(v) && e > 0x1p-116) {
        s->wide++;
    }
}

/* An element that no floating-point arithmetic is behind: its bits are to be the same. */
LIFT_FN void cuvet_lift_same(lift_state *s, const lift_call *call, uint32_t tensor, uint64_t index,
                             uint64_t got, uint64_t own)
{
    if (call->store) {
        store(s, call, tensor, index, (double)(int64_t)own);
        return;
    }
    s->checked++;
    if (got == own)
        return;
    s->violations++;
    s->class_mismatch++;
    violate(call, tensor, index, (double)(int64_t)got, (double)(int64_t)own, 0,
            __int_as_float(0x7f800000));
}

#include "lift/loaded/lift_table.cuh"
#include "lift/rounded/lift_between.cuh"

#include "lift/bulk/lift_bulk.cuh"

/* ---- figures ---- */

static __device__ uint64_t now()
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}

LIFT_FN void cuvet_lift_begin(lift_state *s)
{
    *s = {};
    s->began = now();
}

static __device__ void add(uint64_t *to, uint32_t mask, bool leader, uint32_t count)
{
    uint32_t all = __reduce_add_sync(mask, count);
    if (leader && all)
        atomicAdd((unsigned long long *)to, (unsigned long long)all);
}

static __device__ void raise(uint64_t *to, uint32_t mask, bool leader, float value)
{
    uint32_t most = __reduce_max_sync(mask, __float_as_uint(value));
    if (leader && most)
        atomicMax((unsigned long long *)to,
                  (unsigned long long)__double_as_longlong(__uint_as_float(most)));
}

static __device__ const lift_place *find_place(const lift_place *places, uint64_t key)
{
    const lift_place *place = &places[slot_of(key)];
    return place->key == key ? place : nullptr;
}

static __device__ void fill_places(ref_verdict *out, const lift_call *call)
{
    const lift_figures *f = call->figures;
    const double unknown = __longlong_as_double(0x7ff8000000000000ll);
    uint64_t first = ~f->first;
    const lift_place *at = find_place(f->first_place, f->first);
    out->first_tensor = (uint32_t)call->array[first >> 48].id;
    out->first_index = first & 0xffffffffffffull;
    out->first_got = at ? at->got : unknown;
    out->first_ref = at ? at->ref : unknown;
    out->first_bound = at ? at->bound : unknown;
    at = find_place(f->worst_place, f->worst);
    out->max_ratio = __uint_as_float((uint32_t)(f->worst >> 32));
    out->worst_tensor = at ? (uint32_t)call->array[at->tensor].id : out->first_tensor;
    out->worst_index = at ? at->index : (uint32_t) ~(uint32_t)f->worst;
    out->worst_got = at ? at->got : unknown;
    out->worst_ref = at ? at->ref : unknown;
    out->worst_bound = at ? at->bound : unknown;
}

static __device__ __noinline__ void answer(const lift_call *call)
{
    const lift_figures *f = call->figures;
    ref_verdict out;
    ref_verdict_clear(&out);
    __threadfence();
    out.checked = f->checked;
    out.violations = f->violations;
    out.class_mismatch = f->class_mismatch;
    out.wide = f->wide;
    out.refused = f->refused;
    out.measured = f->reached;
    out.max_abs = __longlong_as_double((long long)f->max_abs);
    out.max_rel = __longlong_as_double((long long)f->max_rel);
    out.max_ratio = __longlong_as_double((long long)f->max_ratio);
    if (f->violations)
        fill_places(&out, call);
    out.busy = now() - ~f->began;
    *call->answer = out;
    __threadfence_system();
    *(volatile uint64_t *)&call->answer->sequence = call->sequence;
}

/* Each thread once, when it ends; the last one of the launch writes the verdict. */
LIFT_FN void cuvet_lift_finish(lift_state *s, const lift_call *call, uint32_t refused)
{
    lift_figures *f = call->figures;
    uint32_t mask = __activemask();
    bool leader = lane_of() == (uint32_t)__ffs((int)mask) - 1;
    add(&f->checked, mask, leader, s->checked);
    add(&f->violations, mask, leader, s->violations);
    add(&f->class_mismatch, mask, leader, s->class_mismatch);
    add(&f->wide, mask, leader, s->wide);
    add(&f->refused, mask, leader, refused);
    raise(&f->max_abs, mask, leader, s->max_abs);
    raise(&f->max_rel, mask, leader, s->max_rel);
    raise(&f->max_ratio, mask, leader, s->max_ratio);
    const uint32_t reached = __reduce_max_sync(mask, s->reached);
    if (!leader)
        return;
    if (reached)
        atomicMax((unsigned long long *)&f->reached, (unsigned long long)reached);
    if (s->slot)
        leave_place(s->slot, (uint32_t)__popc(mask));
    atomicMax((unsigned long long *)&f->began, (unsigned long long)~s->began);
    __threadfence();
    unsigned long long threads = (unsigned long long)__popc(mask);
    if (atomicAdd((unsigned long long *)&f->done, threads) + threads == call->threads)
        answer(call);
}
