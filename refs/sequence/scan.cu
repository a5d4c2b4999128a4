/*
 * scan.cu - state spaces: causal convolutions, selective scans (Gu and Dao 2023) and the parts of
 * a scan in chunks (Dao and Gu 2024), as mamba_ssm and causal_conv1d compute them.
 *
 * A state decays by exp(a dt) a step and takes up b dt x; y = c state + d x, times silu(z) where z
 * is given. Of a scan in chunks of `steps`, the last of which may be shorter, `decay` is the sum of
 * a dt from its chunk's beginning on. States of a head lie as [dim][states] in `area`, the products
 * of a chunk's rows as [steps][steps] in `square`. Head h reads group h groups / heads. Samples of
 * elements: about 2^22 terms, but 256 elements at least.
 */
#include "ref.h"

#define SCAN_BUDGET(terms) ((terms) > 16384 ? 256 : 4194304 / ((terms) + 1))

/* ln(1 + e^x), which kernels replace by x above 20. */
template <class R> REF_FN R ref_softplus(const R &x)
{
    return where(x > 20, x, log(exp(min(x, 20)) + 1));
}

/* The smaller of it and 0, and 0 for NaN, as kernels have it. */
template <class R> REF_FN R ref_fallen(const R &x)
{
    return where(x < 0, x, 0);
}

/* Numbers beyond the range of f32 are the first one there. */
REF_FN double ref_in_f32(double x)
{
    return x > 3.5e38 ? 3.5e38 : x < -3.5e38 ? -3.5e38 : x;
}

/* A sum that a scan makes in any order: `most`, the same of magnitudes, has the larger error. */
template <class R> REF_FN R ref_any_order(const R &sum, const R &most)
{
    return sum + (most - exactly(most));
}

// y(t) = the sum over the taps j of w(j) x(t - taps + 1 + j), plus bias, then silu where silu is 1.
// In front of x lie the last columns of `before`, or zeros; `after` is the end of both.
REFERENCE_ONCE(causal_conv1d,
               "in x[batch][channels][size], in w[channels][taps], in bias[channels] = 0, "
               "in before?[batch][channels][kept], out y[batch][channels][size], "
               "out after?[batch][channels][kept], int silu = 0, each batch, each channels")
{
    SAMPLE(i, batch * channels * size, SCAN_BUDGET(taps * 32))
    {
        long long n = i / size / channels, k = i / size % channels, t = i % size;
        TERM(at, j, t - taps + 1 + j);
        TERM(there, j, at(j) >= 0 || (before.given && at(j) + kept >= 0));
        TERM(value, j, at(j) >= 0 ? real(x(n, k, at(j))) : real(before(n, k, kept + at(j))));
        TERM(product, j, j < taps ? value(j) * w(k, j) : real(bias(k)));
        const long long terms = w.has(k, taps - 1) ? taps + 1 : 0;
        real whole = SUM_IF(j, terms, j == taps || there(j), product(j));
        y(n, k, t) = silu ? whole * sigmoid(whole) : whole;
    }
    SAMPLE(i, after.given ? batch * channels * kept : 0, SCAN_BUDGET(32))
    {
        long long n = i / kept / channels, k = i / kept % channels, t = size + i % kept;
        if (t >= kept)
            after(n, k, i % kept) = real(x(n, k, t - kept));
        else
            after(n, k, i % kept) = before.given ? real(before(n, k, t)) : real(0.0);
    }
}

// y(t) = the sum over the states of c(t) h(t), plus d u(t), h(t) = h(t - 1) exp(dt a) + b(t) dt
// u(t), dt = delta(t) + bias, or softplus of that where softplus is 1; gated = y silu(z)
REFERENCE_ONCE(selective_scan,
               "in u[batch][dim][size], in delta[batch][dim][size], in a[dim][states], "
               "in b[batch][groups][states][size], in c[batch][groups][states][size], "
               "in d[dim] = 0, in bias[dim] = 0, in z?[batch][dim][size], "
               "out y?[batch][dim][size], out gated?[batch][dim][size], int softplus = 0, "
               "each batch")
{
    SAMPLE(i, batch * dim * size, SCAN_BUDGET(size))
    {
        long long n = i / size / dim, k = i / size % dim, t = i % size, g = k * groups / dim;
        auto step = [&](long long j) {
            real raw = delta(n, k, j) + bias(k);
            return softplus ? ref_softplus(raw) : raw;
        };
        auto state = [&](long long s) {
            real h = 0.0, most = 0.0;
            LOOP(j, t + 1)
            {
                real dt = step(j), decay = exp(dt * a(k, s)),
                     more = b(n, g, s, j) * (dt * u(n, k, j));
                h = h * decay + more;
                most = most * decay + abs(more);
            }
            return ref_any_order(h, most);
        };
        TERM(part, s, s < states ? state(s) * c(n, g, s, t) : u(n, k, t) * d(k));
        real whole = SUM_IF(s, states + 1, true, part(s));
        if (y.given)
            y(n, k, t) = whole;
        if (gated.given)
            gated(n, k, t) = whole * (z(n, k, t) * sigmoid(z(n, k, t)));
    }
}

// one step of it, for heads: next = state exp(p a) + b p x, y = c next + d x, times silu(z); p = dt
// + bias, softplus of that with softplus = 1, or with -1 the one of both that `next` is nearer to
REFERENCE_ONCE(selective_state_update,
               "in state[batch][heads][dim][states], in x[batch][heads][dim], "
               "in dt[batch][heads][dim], in bias[heads][dim] = 0, in a[heads][dim][states], "
               "in b[batch][groups][states], in c[batch][groups][states], in d[heads][dim] = 0, "
               "in z?[batch][heads][dim], out next[batch][heads][dim][states], "
               "out y[batch][heads][dim], int softplus = -1, each batch")
{
    ROW(i, batch * heads * dim)
    {
        long long n = i / dim / heads, h = i / dim % heads, k = i % dim, g = h * groups / heads;
        real raw = dt(n, h, k) + bias(h, k), smooth = ref_softplus(raw);
        auto next_of = [&](const real &p, long long s) {
            return real(state(n, h, k, s) * exp(p * a(h, k, s)) + b(n, g, s) * p * x(n, h, k));
        };
        bool is_smooth = softplus != 0;
        double most = 0; /* how far apart the two are at the state that decided, of their size */
        LOOP(s, softplus < 0 ? states : 0)
        {
            double one = next_of(smooth, s).value(0), other = next_of(raw, s).value(0);
            double got = next.after(n, h, k, s).value(0);
            double apart = ref_abs(one - other) / (ref_abs(one) + ref_abs(other));
            if (apart > most && got == got) { /* beyond f32's range all are the same */
                one = ref_in_f32(one), other = ref_in_f32(other), got = ref_in_f32(got);
                is_smooth = ref_abs(got - one) <= ref_abs(got - other);
                most = one == other ? most : apart;
            }
            if (most >= 0.01)
                break;
        }
        real p = is_smooth ? smooth : raw;
        EACH(s, states)
        next(n, h, k, s) = state(n, h, k, s) * exp(a(h, k, s) * p) + b(n, g, s) * p * x(n, h, k);
        real sum = SUM(s, states,
                       (state(n, h, k, s) * exp(a(h, k, s) * p) + b(n, g, s) * p * x(n, h, k)) *
                           c(n, g, s));
        real whole = sum + x(n, h, k) * d(h, k);
        if (z.given)
            y(n, h, k) = whole * (z(n, h, k) * sigmoid(z(n, h, k)));
        else
            y(n, h, k) = whole;
    }
}

// what each chunk adds to the state: y = the sum over its steps t of x(t) b(t) dt(t) times the
// exponential of decay(last) - decay(t). Kernels round all but x to the dtype of x.
REFERENCE_ONCE(ssd_chunk_state,
               "in x[batch][length][heads][dim], in b[batch][length][groups][states], "
               "in dt[batch][heads][chunks][steps], in decay[batch][heads][chunks][steps], "
               "out y[batch][chunks][heads][area], point scaled, each batch")
{
    SAMPLE(i, batch * chunks * heads * dim * states, SCAN_BUDGET(steps))
    {
        long long s = i % states, k = i / states % dim, row = i / states / dim;
        long long h = row % heads, m = row / heads % chunks, n = row / heads / chunks;
        long long g = h * groups / heads, left = length - m * steps;
        real end = decay(n, h, m, steps - 1);
        TERM(scale, t, exp(ref_fallen<real>(end - decay(n, h, m, t))) * dt(n, h, m, t));
        y(n, m, h, k * states + s) =
            SUM_IF(t, left < steps ? left : steps, true,
                   x(n, m * steps + t, h, k) * scaled(b(n, m * steps + t, g, s) * scale(t)));
    }
}

// the state in front of each chunk: y(0) = first or 0, y(i + 1) = y(i) exp(decay(i)) + x(i); `last`
// is the one behind all
REFERENCE_ONCE(ssd_state_passing,
               "in x[batch][chunks][heads][area], in decay[batch][heads][chunks], "
               "in first?[batch][heads][area], out y[batch][chunks][heads][area], "
               "out last?[batch][heads][area], each batch, each heads, each area")
{
    auto behind = [&](long long count, long long n, long long h, long long k) {
        real state = first.given ? real(first(n, h, k)) : real(0.0);
        LOOP(m, count)
        state = state * exp(decay(n, h, m)) + x(n, m, h, k);
        return state;
    };
    SAMPLE(i, batch * chunks * heads * area, SCAN_BUDGET(chunks * 32))
    {
        long long k = i % area, h = i / area % heads, m = i / area / heads % chunks;
        long long n = i / area / heads / chunks;
        y(n, m, h, k) = behind(m, n, h, k);
    }
    SAMPLE(i, last.given ? batch * heads * area : 0, SCAN_BUDGET(chunks * 32))
    {
        long long k = i % area, h = i / area % heads, n = i / area / heads;
        last(n, h, k) = behind(chunks, n, h, k);
    }
}

// y(t) of a chunk = exp(decay(t)) c(t) before, plus the sum over its steps k <= t of cb(t, k)
// exp(decay(t) - decay(k)) dt(k) x(k), plus d x(t); with z, `plain` is that and y = plain silu(z).
// Kernels round `before` and cb exp(..) dt to the dtype of their other factor. d may be one number
// a head.
REFERENCE_ONCE(ssd_chunk_scan,
               "in cb[batch][chunks][groups][square], in x[batch][length][heads][dim], "
               "in dt[batch][heads][chunks][steps], in decay[batch][heads][chunks][steps], "
               "in c[batch][length][groups][states], in before[batch][chunks][heads][area], "
               "in d[heads][wide] = 0, in z?[batch][length][heads][dim], "
               "out y[batch][length][heads][dim], out plain?[batch][length][heads][dim], "
               "point state, point scaled, each batch")
{
    SAMPLE(i, batch * length * heads * dim, SCAN_BUDGET(steps + states))
    {
        long long k = i % dim, h = i / dim % heads, t = i / dim / heads % length;
        long long n = i / dim / heads / length, g = h * groups / heads;
        long long m = steps > 0 ? t / steps : 0, r = t - m * steps;
        real here = decay(n, h, m, r);
        TERM(weight, j, exp(ref_fallen<real>(here - decay(n, h, m, j))));
        real carried =
            SUM_IF(s, states, true, c(n, t, g, s) * state(real(before(n, m, h, k * states + s))));
        TERM(factor, j, scaled(cb(n, m, g, r * steps + j) * weight(j) * dt(n, h, m, j)));
        TERM(part, j,
             j <= r ? factor(j) * x(n, m * steps + j, h, k)
                    : carried * exp(here)); /* added first */
        real whole =
            SUM_IF(j, r + 2, true, part(j)) + x(n, t, h, k) * d(h, wide > 0 ? k % wide : 0);
        if (plain.given)
            plain(n, t, h, k) = whole;
        if (z.given)
            y(n, t, h, k) = whole * (z(n, t, h, k) * sigmoid(z(n, t, h, k)));
        else
            y(n, t, h, k) = whole;
    }
}
