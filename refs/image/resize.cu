/*
 * resize.cu - images made larger or smaller, as torch.nn.functional.interpolate does.
 *
 * Images are as in spatial.cu; a 1-d one has a height of 1. Checked on samples of 65536 elements.
 */
#include "ref.h"

enum { RESIZE_BUDGET = 65536 };

/* The element that an output at p is taken from: p size / parts, or p scale in f32 where a scale is
 * given, rounded down. */
REF_FN long long ref_nearest(long long p, long long size, long long parts, double scale)
{
    long long at = scale > 0 ? (long long)((float)p * (float)scale) : p * size / parts;
    return at < size ? at : size - 1;
}

// y(p, q) = x(p height / out_h, q width / out_w), rounded down: torch.nn.functional.interpolate
// with mode nearest. Its kernels multiply by scale_h and scale_w in f32, 0 where they do not.
REFERENCE_ONCE(upsample_nearest, "in x[batch][channels][height][width], "
                                 "out y[batch][channels][out_h][out_w], real scale_h = 0, "
                                 "real scale_w = 0, each batch, each channels")
{
    SAMPLE(i, batch * channels * out_h * out_w, RESIZE_BUDGET)
    {
        ref_pixel at(i, channels, out_h, out_w);
        y(at.n, at.plane, at.row, at.column) =
            x(at.n, at.plane, ref_nearest(at.row, height, out_h, scale_h.v),
              ref_nearest(at.column, width, out_w, scale_w.v));
    }
}

/* The first p whose p size / parts, rounded down, is i or more; i scale in f32, rounded up, where a
 * scale is given: the inverse of the one above. */
REF_FN long long ref_nearest_first(long long i, long long size, long long parts, double scale)
{
    float at = (float)i * (float)scale;
    long long up = (long long)at + ((float)(long long)at < at);
    up = scale > 0 ? up : (i * parts + size - 1) / size;
    return up < parts ? up : parts;
}

// the gradient of `upsample_nearest`: dx = the sum of dy over the elements that were taken from it
REFERENCE_ONCE(upsample_nearest_backward,
               "in dy[batch][channels][out_h][out_w], out dx[batch][channels][height][width], "
               "real scale_h = 0, real scale_w = 0, each batch, each channels")
{
    SAMPLE(i, batch * channels * height * width, RESIZE_BUDGET)
    {
        ref_pixel at(i, channels, height, width);
        long long top = ref_nearest_first(at.row, height, out_h, scale_h.v);
        long long left = ref_nearest_first(at.column, width, out_w, scale_w.v);
        long long high = ref_nearest_first(at.row + 1, height, out_h, scale_h.v) - top;
        long long wide = ref_nearest_first(at.column + 1, width, out_w, scale_w.v) - left;
        dx(at.n, at.plane, at.row, at.column) =
            SUM_IF(t, high * wide, true, dy(at.n, at.plane, top + t / wide, left + t % wide));
    }
}

/* Where an output at p lies in its row of the image, in elements: 2.5 is half way between the third
 * and the fourth. With `corners` the first lies exactly on the first. */
template <class R, class S>
REF_FN R ref_between(long long p, const S &scale, bool corners, bool cubic)
{
    typedef typename R::element E;
    if (corners)
        return p ? R(ref_as_number<E>(p) * scale) : R(0.0);
    R at = (ref_as_number<E>(p) + 0.5) * scale - 0.5;
    return cubic ? at : R(max(at, 0.0));
}

/* The weight of an element at a distance `far` from the place: 1 - |far|, or the cubic convolution
 * with -3/4 (Keys 1981), which is exactly 0 at an exact distance of 1 or 2. */
template <class R> REF_FN R ref_tap_weight(const R &far, bool cubic)
{
    R x = abs(far);
    if (!cubic)
        return max(1 - x, 0.0);
    if (x.error(0) == 0 && (x.value(0) == 1 || x.value(0) == 2))
        return 0.0;
    if (x.value(0) <= 1)
        return (x * 1.25 - 2.25) * x * x + 1;
    return ((x * -0.75 + 3.75) * x - 6) * x + 3;
}

/* The tap's element: those beyond the row's ends are its ends. */
REF_FN long long ref_inside(long long at, long long size)
{
    return at < 0 ? 0 : at < size ? at : size - 1;
}

// y(p, q) = the sum over the elements about its place in x, 2 or 4 a dim, of their weights times x:
// torch.nn.functional.interpolate with mode linear, bilinear or bicubic. Places are p scale_h where
// `corners` is 1, else (p + 1/2) scale_h - 1/2.
REFERENCE_ONCE(interpolate, "in x[batch][channels][height][width], "
                            "out y[batch][channels][out_h][out_w], real scale_h, real scale_w, "
                            "int corners = 0, int cubic = 0, each batch, each channels")
{
    const long long taps = cubic ? 4 : 2;
    SAMPLE(i, batch * channels * out_h * out_w, RESIZE_BUDGET)
    {
        ref_pixel at(i, channels, out_h, out_w);
        real down = ref_between<real>(at.row, scale_h, corners, cubic);
        real across = ref_between<real>(at.column, scale_w, corners, cubic);
        TERM(h, t, (long long)floor(down.value(0)) - cubic + t / taps);
        TERM(w, t, (long long)floor(across.value(0)) - cubic + t % taps);
        y(at.n, at.plane, at.row, at.column) =
            SUM_IF(t, taps * taps, true,
                   ref_tap_weight<real>(down - NUMBER(h(t)), cubic) *
                       ref_tap_weight<real>(across - NUMBER(w(t)), cubic) *
                       x(at.n, at.plane, ref_inside(h(t), height), ref_inside(w(t), width)));
    }
}

/* The outputs that may have element i of a row among their taps: a few more than do. */
struct ref_outputs {
    long long first, count;

    REF_FN ref_outputs(long long i, long long size, long long parts, double scale, bool cubic)
        : first(0), count(parts)
    {
        if (!(scale > 0))
            return;
        double low = floor((i - 2.0 - cubic) / scale) - 1,
               high = floor((i + 3.0 + cubic) / scale) + 2;
        long long end = i == size - 1 || !(high < parts) ? parts : (long long)high;
        first = i == 0 || !(low > 0) ? 0 : low < parts ? (long long)low : parts;
        count = end > first ? end - first : 0;
    }
};

/* The first of four elements about a place. Two of them have no weight where it is linear. */
template <class R> REF_FN long long ref_first_tap(const R &at)
{
    return (long long)floor(at.value(0)) - 1;
}

/* Element i's part of an output at `at`: the weights of all taps that are i. */
template <class R> REF_FN R ref_part_of(const R &at, long long i, long long size, bool cubic)
{
    typedef typename R::element E;
    R sum = 0.0;
    for (long long tap = ref_first_tap(at), t = tap; t < tap + 4; t++)
        if (ref_inside(t, size) == i)
            sum = sum + ref_tap_weight<R>(at - ref_as_number<E>(t), cubic);
    return sum;
}

/* Whether it has a part. Where it is linear, parts of about 0 count as well: a kernel's place may
 * be off by a rounding, and its part then is not 0. */
template <class R> REF_FN bool ref_has_part(const R &at, long long i, long long size, bool cubic)
{
    long long tap = ref_first_tap(at);
    if (cubic)
        return i >= ref_inside(tap, size) && i <= ref_inside(tap + 3, size);
    double place = at.value(0) < size - 1 ? at.value(0) : size - 1;
    return ref_abs(place - i) < 1 + 0x1p-10;
}

// the gradient of `interpolate`: dx = the sum over the outputs that have the element among their
// taps of its weight times dy
REFERENCE_ONCE(interpolate_backward,
               "in dy[batch][channels][out_h][out_w], out dx[batch][channels][height][width], "
               "real scale_h, real scale_w, int corners = 0, int cubic = 0, each batch, "
               "each channels")
{
    SAMPLE(i, batch * channels * height * width, RESIZE_BUDGET)
    {
        ref_pixel at(i, channels, height, width);
        ref_outputs rows(at.row, height, out_h, scale_h.v, cubic);
        ref_outputs columns(at.column, width, out_w, scale_w.v, cubic);
        TERM(p, t, rows.first + t / columns.count);
        TERM(q, t, columns.first + t % columns.count);
        TERM(down, t, ref_between<real>(p(t), scale_h, corners, cubic));
        TERM(across, t, ref_between<real>(q(t), scale_w, corners, cubic));
        TERM(has, t,
             ref_has_part(down(t), at.row, height, cubic) &&
                 ref_has_part(across(t), at.column, width, cubic));
        dx(at.n, at.plane, at.row, at.column) =
            SUM_IF(t, rows.count * columns.count, has(t),
                   ref_part_of<real>(down(t), at.row, height, cubic) *
                       ref_part_of<real>(across(t), at.column, width, cubic) *
                       dy(at.n, at.plane, p(t), q(t)));
    }
}
