/*
 * ref_point.h - rounding points: where a kernel may, or must, round an intermediate value.
 *
 * A reference names its points among the formals ("point xhat") and passes values through them,
 * xhat(x(r, c) * inv) * w(c). Nothing happens there until a tolerance row declares a dtype:
 *
 *   xhat: bf16    the kernel rounds there. Its value before that lies in [v - e, v + e], so the
 *                 rounded one lies between those two's: nearly always they are the same number,
 *                 which is then known without error, and else the distance is the new bound. So a
 *                 kernel that leaves the rounding out is off by up to an ulp, and is caught.
 *   xhat: bf16?   the kernel may round there: v stays, u |v| and half a subnormal join the bound.
 *
 * Where the value may overflow in that dtype the bound is infinite.
 * Special kernels have no points: a launch with a point declared takes REF_ANY.
 */
#ifndef REFS_REF_POINT_H
#define REFS_REF_POINT_H

#include "ref_frame.h"

/* x on the grid whose spacing is `ulp` of a binade, from the binade `least` downwards the same; to
 * nearest even. */
REF_FN double ref_nearest(double x, double least, double ulp)
{
    double step = ref_binade(x, least) * ulp;
    return rint(x * ref_flip(step)) * step;
}

struct ref_rounded {
    double v, e;
};

/* A value and its bound on the way through a point that is declared as `code`. */
REF_SLOW ref_rounded ref_pass_point(int code, double v, double e)
{
    int dtype = code & ~REF_POINT_MAY;
    double least = ref_power2(ref_dtype_exponent(dtype));
    double ulp = ref_power2(-ref_dtype_fraction(dtype));
    ref_rounded r = {v, e};
    double reach = e * REF_SLACK, most = ref_abs(v) + reach;
    if (!(most <= ref_dtype_max(dtype))) {
        r.e = ref_finite(v) ? ref_infinity() : e;
    } else if (code & REF_POINT_MAY) {
        r.e = e + 0.5 * ulp * ref_more(most, least);
    } else {
        r.v = ref_nearest(v, least, ulp);
        r.e = ref_more(ref_nearest(v + reach, least, ulp) - r.v,
                       r.v - ref_nearest(v - reach, least, ulp));
    }
    return r;
}

/* A point of a general kernel. */
template <class E, int D> struct ref_point {
    int code; /* ref_call.point */

    REF_FN ref_point(const ref_frame<E> &frame, int slot) : code(frame.call.point[slot])
    {
    }
    template <class A, class R = ref_same<A>> REF_FN R operator()(const A &a) const
    {
        return passed(R(a));
    }
    template <class F, int W> REF_FN ref_total<F, W> operator()(const ref_total<F, W> &a) const
    {
        return passed(a);
    }
    template <class R> REF_FN R passed(R r) const
    {
        if (code == DTYPE_NONE)
            return r;
        REF_UNROLL
        for (int j = 0; j < R::width; j++) {
            ref_rounded one = ref_pass_point(code, r.v[j], (double)r.e[j]);
            r.v[j] = one.v;
            r.f[j] = (E)one.v;
            r.e[j] = (E)one.e;
        }
        return r;
    }
};

/* Of a special kernel. */
#define REF_NO_POINT(dtype)                                                                        \
    template <class E> struct ref_point<E, dtype> {                                                \
        REF_FN ref_point(const ref_frame<E> &, int)                                                \
        {                                                                                          \
        }                                                                                          \
        template <class A> REF_FN const A &operator()(const A &a) const                            \
        {                                                                                          \
            return a;                                                                              \
        }                                                                                          \
    };
REF_NO_POINT(DTYPE_BF16)
REF_NO_POINT(DTYPE_F16)
REF_NO_POINT(DTYPE_F32)
#undef REF_NO_POINT

#endif
