/*
 * gated.cu - root mean square norms with a gate, silu(z) = z sigmoid(z), and their gradients.
 *
 * Mamba-2's RMSNormGated has both orders: norm_before_gate is rmsnorm_gated, its default is
 * gated_rmsnorm. FLA's fused norm and gate is rmsnorm_gated. A row is one group of the norm.
 * dw[blocks][cols] holds partial sums by block of rows, as in backward.cu; dw[cols] is one block.
 */
#include "ref.h"

// y = x / rms(x) * w * silu(z), rstd = 1 / rms(x), rms(x) = sqrt(mean(x^2) + eps)
REFERENCE_ONCE(rmsnorm_gated, "in x[rows][cols], in z[rows][cols], in w[cols] = 1, "
                              "out y[rows][cols], out rstd?[rows], real eps, each rows")
{
    ROW(r, rows)
    {
        real ms = SUM(c, cols, square(x(r, c))) / cols;
        real inv = rsqrt(ms + eps);
        EACH(c, cols)
        {
            auto gate = z(r, c) * sigmoid(z(r, c));
            y(r, c) = x(r, c) * inv * w(c) * gate;
        }
        if (rstd.given)
            rstd(r) = inv;
    }
}

// y = u / rms(u) * w, u = x silu(z), rstd = 1 / rms(u)
REFERENCE_ONCE(gated_rmsnorm, "in x[rows][cols], in z[rows][cols], in w[cols] = 1, "
                              "out y[rows][cols], out rstd?[rows], real eps, each rows")
{
    ROW(r, rows)
    {
        real ms = SUM(c, cols, square(x(r, c) * z(r, c) * sigmoid(z(r, c)))) / cols;
        real inv = rsqrt(ms + eps);
        EACH(c, cols)
        {
            auto u = x(r, c) * z(r, c) * sigmoid(z(r, c));
            y(r, c) = u * inv * w(c);
        }
        if (rstd.given)
            rstd(r) = inv;
    }
}

/* How far apart they are: two NaN are the same, and one alone is as far as it can be. */
REF_FN double ref_distance(double a, double b)
{
    if (a != a || b != b)
        return (a != a) == (b != b) ? 0 : 1e308;
    return a == b ? 0 : ref_abs(a - b);
}

// either of the two: the one whose rstd is nearer to the kernel's own, for kernels where a constant
// that no parameter shows chooses between them (Mamba-2's _layer_norm_fwd_1pass_kernel)
REFERENCE_ONCE(rmsnorm_gated_any, "in x[rows][cols], in z[rows][cols], in w[cols] = 1, "
                                  "out y[rows][cols], out rstd[rows], real eps, each rows")
{
    ROW(r, rows)
    {
        real ms = SUM(c, cols, square(x(r, c))) / cols;
        real gated = SUM(c, cols, square(x(r, c) * z(r, c) * sigmoid(z(r, c)))) / cols;
        real inv = rsqrt(ms + eps), other = rsqrt(gated + eps);
        double got = rstd.after(r).value(0);
        bool after = ref_distance(got, inv.value(0)) <= ref_distance(got, other.value(0));
        EACH(c, cols)
        {
            auto gate = z(r, c) * sigmoid(z(r, c));
            if (after)
                y(r, c) = x(r, c) * inv * w(c) * gate;
            else
                y(r, c) = x(r, c) * gate * other * w(c);
        }
        rstd(r) = after ? inv : other;
    }
}

// y = h w g, h = x rstd, g = silu(z): dx = rstd (k - h mean(k h)), k = dy w g;
// dz = dy h w s (1 + z (1 - s)), s = sigmoid(z); dw = sum over rows of dy g h
REFERENCE_ONCE(rmsnorm_gated_backward,
               "in dy[rows][cols], in x[rows][cols], in z[rows][cols], in w[cols] = 1, "
               "in rstd[rows], out dx?[rows][cols], out dz?[rows][cols], out dw?[blocks][cols], "
               "int rows_per_block = 0, each rows")
{
    ROW(r, dx.given || dz.given ? rows : 0)
    {
        real inv = rstd(r);
        real mean =
            SUM(c, cols, dy(r, c) * w(c) * (z(r, c) * sigmoid(z(r, c))) * (x(r, c) * inv)) / cols;
        EACH(c, cols)
        {
            auto t = z(r, c);
            auto s = sigmoid(t);
            auto h = x(r, c) * inv;
            auto g = dy(r, c) * w(c);
            if (dx.given)
                dx(r, c) = inv * (g * (t * s) - h * mean);
            if (dz.given)
                dz(r, c) = g * h * s * (1 + t * (1 - s));
        }
    }
    ROW(i, dw.given ? blocks * cols : 0)
    {
        long long b = i / cols, c = i % cols;
        ref_share own(b, blocks, rows, rows_per_block);
        TERM(h, r, x(r, c) * rstd(r));
        TERM(gate, r, z(r, c) * sigmoid(z(r, c)));
        dw(b, c) = SUM_IF(k, own.count, true, dy(own.row(k), c) * gate(own.row(k)) * h(own.row(k)));
    }
}

// y = h w, h = u rstd, u = x g, g = silu(z): du = rstd (k - h mean(k h)), k = dy w; dx = du g,
// dz = du x s (1 + z (1 - s)), s = sigmoid(z); dw = sum over rows of dy h
REFERENCE_ONCE(gated_rmsnorm_backward,
               "in dy[rows][cols], in x[rows][cols], in z[rows][cols], in w[cols] = 1, "
               "in rstd[rows], out dx?[rows][cols], out dz?[rows][cols], out dw?[blocks][cols], "
               "int rows_per_block = 0, each rows")
{
    ROW(r, dx.given || dz.given ? rows : 0)
    {
        real inv = rstd(r);
        real mean =
            SUM(c, cols, dy(r, c) * w(c) * (x(r, c) * (z(r, c) * sigmoid(z(r, c))) * inv)) / cols;
        EACH(c, cols)
        {
            auto t = z(r, c);
            auto s = sigmoid(t);
            auto h = x(r, c) * (t * s) * inv;
            auto du = inv * (dy(r, c) * w(c) - h * mean);
            if (dx.given)
                dx(r, c) = du * (t * s);
            if (dz.given)
                dz(r, c) = du * x(r, c) * s * (1 + t * (1 - s));
        }
    }
    ROW(i, dw.given ? blocks * cols : 0)
    {
        long long b = i / cols, c = i % cols;
        ref_share own(b, blocks, rows, rows_per_block);
        TERM(h, r, x(r, c) * (z(r, c) * sigmoid(z(r, c))) * rstd(r));
        dw(b, c) = SUM_IF(k, own.count, true, dy(own.row(k), c) * h(own.row(k)));
    }
}
