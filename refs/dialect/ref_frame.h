/* ref_frame.h - what the macros of ref.h stand on: the frame that a call runs in. */
#ifndef REFS_REF_FRAME_H
#define REFS_REF_FRAME_H

#include "ref_answer.h"
#include "ref_depth.h"
#include "ref_function.h"
#include "ref_space.h"

enum {
    REF_GIVE_UP = 1024, /* refused accesses of one thread after which it stops */
};

/* SUM inside ROW and SAMPLE is taken over the group's lanes; inside EACH, ELEMENT or another
 * SUM, where lanes stand at different places, each lane takes its own whole sum. */
struct ref_group_scope {
    static constexpr bool shared = true;
};
struct ref_lane_scope {
    static constexpr bool shared = false;
};

/* Sums of values, magnitudes and errors. */
template <class E> struct ref_sums {
    double v;
    E size, e;
};

/*
 * A row may be judged in two rounds, in special kernels for f16 and bf16. In the first its sums are
 * taken in f32 (ref_frame::near_sum). If all elements are right by those, that is the verdict. Else
 * the figures of the round are put back, and the row is judged again with its sums in f64.
 */
template <class E> struct ref_rounds {
    bool exact_only;   /* an output needs its sums in f64 at once: there are no first rounds */
    bool wanted;       /* the next row begins with a first round */
    bool near;         /* this is a first round, and a sum was taken in f32 */
    bool doubt;        /* an element of this thread is not right by that sum */
    ref_hot<E> before; /* the figures when the row began */
};

/* --------------------------------------------------------------------- one reference */

/* What all references share: the call, this thread's place in it, and its figures. */
template <class E> struct ref_frame : ref_dealer<E> {
    using ref_dealer<E>::call;
    using ref_dealer<E>::hot;
    using ref_dealer<E>::space;
    ref_verdict *cold;
    ref_rules<E> k;
    E sum_unit;      /* lambda u */
    long long ahead; /* elements from a lane's pack to the next that it has not sent for */
    bool cached;     /* the item's inputs, for they were read before */
    int lane, lanes;
    int steps;       /* log2 of the subject's lanes that share a row of this ROW (ref_depth.h) */
    int dims;        /* how many of call.size are dims of arrays */
    long long terms; /* of the longest sum since the item began */
    bool masked;     /* this row is, by the last MASKED */
    bool sane;       /* dims are such as arrays can have */
    ref_rounds<E> rounds;

    /* `figures` are its own where bounds are in f64. */
    REF_FN ref_frame(const ref_call &call_, ref_verdict *cold_, ref_hot<E> *figures)
        : ref_dealer<E>(call_, figures), cold(cold_), ahead(0), cached(false), steps(0), dims(0),
          terms(0), masked(false), sane(true)
    {
        rounds.exact_only = rounds.wanted = rounds.near = rounds.doubt = false;
        double u = call.unit_roundoff + 1.1102230246251565e-16, rho = call.input_roundoff;
        k.u = (E)u;
        k.u1 = (E)(u + rho);
        k.u2 = (E)(u + 2 * rho);
        k.rho = (E)rho;
        k.tiny = (E)call.underflow;
        k.edge = sizeof(E) == 8 && call.unit_roundoff > 0x1p-40 ? (E)2.9387358770557188e-39 : (E)0;
        /* There are no approximate functions of f64. */
        bool approximate = call.functions == REF_FUNCTIONS_APPROX && call.unit_roundoff > 0x1p-40;
        k.reach = approximate ? ref_more(k.u, (E)REF_APPROX_REACH) : k.u;
        k.tangent = approximate ? (E)REF_APPROX_TANGENT : (E)0;
        sum_unit = (E)(call.lambda * u);
#ifdef __CUDACC__
        lanes = call.group == REF_THREADS ? REF_THREADS : 32;
        lane = (int)threadIdx.x & (lanes - 1);
#else
        lanes = 1;
        lane = 0;
#endif
    }

    REF_FN void expect_dims(int count)
    {
        dims = count;
        if constexpr (sizeof(E) == 8)
            sane = ref_sane_dims_wide(&call, count);
        else
            sane = ref_sane_dims(call, count);
        hot.refused += !sane;
    }

    REF_FN long long size(int i) const
    {
        return sane || i >= dims ? call.size[i] : 0;
    }

    REF_FN bool lost() const
    {
        return hot.refused > REF_GIVE_UP;
    }

    /* The same for all lanes of a group: they go on together, since SUM needs them all. */
    REF_FN bool group_goes_on() const
    {
#ifdef __CUDACC__
        return lanes == 32 ? !__any_sync(0xffffffffu, lost()) : !__syncthreads_or(lost());
#else
        return !lost();
#endif
    }

    /* An item of ROW, SAMPLE or ELEMENT, or a round of it: true. */
    REF_FN bool begin()
    {
        terms = 0;
        cached = false;
        if (rounds.wanted)
            rounds.before = hot;
        return true;
    }

    /* Whether an item of ROW has had its last round. Behind one that needed two there are no more
     * first rounds: where one row is wrong or full of NaN, others will be. */
    REF_FN bool ended()
    {
        if (!rounds.near)
            return true;
        rounds.near = false;
#ifdef __CUDACC__
        if (!(lanes == 32 ? __any_sync(0xffffffffu, rounds.doubt) : __syncthreads_or(rounds.doubt)))
            return true;
#endif
        /* The largest errors stay: the block's (ref_block_peaks) hold them already, so the second
         * round would not raise them again. */
        rounds.before.max_abs = hot.max_abs;
        rounds.before.max_rel = hot.max_rel;
        rounds.before.max_ratio = hot.max_ratio;
        hot = rounds.before;
        rounds.wanted = rounds.doubt = false;
        return false;
    }

    REF_FN void note_terms(long long n)
    {
        terms = n > terms ? n : terms;
    }

    /* The items of ROW, in a kernel of dtype D. */
    template <int D> REF_FN ref_items rows(long long n)
    {
        rounds.wanted = sizeof(E) == 4 && ref_coarse(D) && !rounds.exact_only && !call.store;
        const ref_items it = items(n);
        steps = ref_lane_steps(&call, n);
        return it;
    }

    REF_FN ref_items items(long long n)
    {
        ahead = 2 * lanes * ref_packs<E>::width; /* reductions take two packs at a time */
        steps = 0;
        if constexpr (sizeof(E) == 8)
            return ref_deal_items_wide(&call, &hot, n, lanes);
        else
            return this->deal_items(n, lanes);
    }

    REF_FN ref_packs<E> packs(long long n)
    {
        return ref_packs<E>(space(n), lane, lanes);
    }

    REF_FN ref_cells<E> cells(long long rows, long long cols)
    {
        ahead = (long long)call.blocks * REF_THREADS * ref_packs<E>::width;
        if constexpr (sizeof(E) == 8)
            return ref_deal_cells_wide(&call, &hot, rows, cols);
        else
            return this->deal_cells(rows, cols);
    }

    REF_FN long long sampled(long long total, long long budget)
    {
        total = space(total);
        budget = budget > 1 ? budget : 1;
        return total < budget ? total : budget;
    }

    REF_FN ref_drawn drawn(long long k, long long batch, long long m, long long n, long long budget)
    {
        return ref_draw_tiled(this->call.seed, k, batch, m, n, sampled(batch * m * n, budget));
    }

    template <class F> REF_FN ref_total<E, 1> sum(ref_group_scope, long long n, const F &term);
    template <class F> REF_FN ref_real<E, 1> most(ref_group_scope, long long n, const F &term);
    template <class F> REF_FN ref_real<E, 1> product(ref_group_scope, long long n, const F &term);
    template <class F> REF_FN auto sum(ref_lane_scope, long long n, const F &term);
    template <class F> REF_FN auto most(ref_lane_scope, long long n, const F &term);
    template <class F> REF_FN bool near_sum(long long n, const F &term, ref_real<E, 1> &y);
    REF_FN E sum_share(double n, double depth) const;
    REF_FN ref_total<E, 1> summed(const ref_sums<E> &s, double n, double depth) const;
    REF_FN ref_real<E, 1> largest(double v, E e) const;
};

/* The frame for reductions that need all lanes of the group, where these stand at one place. */
template <class E, class S> REF_FN ref_frame<E> &ref_together(ref_frame<E> &frame, S)
{
    static_assert(S::shared, "SUM_IF, MAX_IF, NEXT_IF, FRESH, MIX and PRODUCT take all lanes "
                             "together, so they cannot stand in EACH, ELEMENT, TERM or the term "
                             "of a sum");
    return frame;
}

#endif
