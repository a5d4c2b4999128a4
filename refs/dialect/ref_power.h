/* ref_power.h - powers of scalars with whole exponents. */
#ifndef REFS_REF_POWER_H
#define REFS_REF_POWER_H

#include "ref_value.h"

/* By squaring; NaN where n is no whole number of 0 or more, below 2^53. */
REF_SLOW double ref_whole_power(double x, double n)
{
    if (!(n >= 0 && n < 0x1p53) || n != (double)(long long)n)
        return ref_nan();
    double y = 1;
    for (long long left = (long long)n; left > 0; left >>= 1) {
        y *= left & 1 ? x : 1.0;
        x *= x;
    }
    return y;
}

/* x^n. The pow of CUDA's library is good to 4 ulp, and what x was rounded by counts n times. */
template <class E> REF_FN ref_real<E, 1> power(const ref_scale<E> &x, const ref_scale<E> &n)
{
    ref_real<E, 1> y;
    y.k = x.k;
    y.v[0] = ref_whole_power(x.v, n.v);
    y.f[0] = ref_shadow((E)y.v[0], y.k);
    double own = x.v != 0 ? n.v * (double)x.e / ref_abs(x.v) : 0.0;
    y.e[0] = (E)(ref_abs(y.v[0]) * (8 * (double)y.k.u + own)) + y.k.tiny;
    return y;
}

#endif
