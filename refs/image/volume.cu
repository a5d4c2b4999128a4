/*
 * volume.cu - windows of images as columns, padding, pooling of volumes, and images sampled at
 * given places. Macros and the weights of taps are those of spatial.cu and resize.cu.
 */
#include "ref.h"

// y(c, t, p, q) = the pixel of channel c under tap t of the window at (p, q), 0 where that is
// padding: torch.nn.functional.unfold. A sample of 65536 elements.
REFERENCE_ONCE(im2col, "in x[channels][height][width], out y[channels][taps][out_h][out_w], "
                       "int window_w = 1, int stride_h = 1, int stride_w = 1, int pad_h = 0, "
                       "int pad_w = 0, int dilation_h = 1, int dilation_w = 1, each channels")
{
    const long long window_h = taps / (window_w > 0 ? window_w : 1);
    SAMPLE(i, channels * taps * out_h * out_w, POOL_BUDGET)
    {
        ref_pixel at(i, taps, out_h, out_w);
        WINDOW_TERMS(at.row * stride_h - pad_h, at.column * stride_w - pad_w);
        const long long t = at.plane;
        y(at.n, t, at.row, at.column) = inside(t) ? real(x(at.n, at_h(t), at_w(t))) : real(0.0);
    }
}

// the gradient of `im2col`: dx = the sum of dy over the windows and taps that have the pixel:
// torch.nn.functional.fold
REFERENCE_ONCE(col2im, "in dy[channels][taps][out_h][out_w], out dx[channels][height][width], "
                       "int window_w = 1, int stride_h = 1, int stride_w = 1, int pad_h = 0, "
                       "int pad_w = 0, int dilation_h = 1, int dilation_w = 1, each channels")
{
    const long long window_h = taps / (window_w > 0 ? window_w : 1);
    SAMPLE(i, channels * height * width, POOL_BUDGET)
    {
        ref_pixel at(i, channels, height, width);
        COVER_TERMS(at);
        const long long there = dy.has(at.plane, taps - 1, 0, 0) ? taps : 0;
        dx(at.plane, at.row, at.column) =
            SUM_IF(t, there, covered(t), dy(at.plane, t, by_h(t), by_w(t)));
    }
}

/* The element that padding repeats at place `at` of a row of `size`: the end, or with edge = 0 what
 * lies as far inside of it. */
REF_FN long long ref_padded(long long at, long long size, long long edge)
{
    if (edge)
        return at < 0 ? 0 : at < size ? at : size - 1;
    return at < 0 ? -at : at < size ? at : 2 * (size - 1) - at;
}

/* Where the places of the result come from. */
#define PAD_TERMS                                                                                  \
    TERM(from_d, t, ref_padded(t / out_w / out_h - before_d, depth, edge));                        \
    TERM(from_h, t, ref_padded(t / out_w % out_h - before_h, height, edge));                       \
    TERM(from_w, t, ref_padded(t % out_w - before_w, width, edge))

// y = x with elements before and behind it along its last three dims, mirrored at its ends, or with
// edge = 1 its ends: torch.nn.functional.pad with mode reflect or replicate. A sample of 65536.
REFERENCE_ONCE(pad, "in x[planes][depth][height][width], out y[planes][out_d][out_h][out_w], "
                    "int before_d = 0, int before_h = 0, int before_w = 0, int edge = 0, "
                    "each planes")
{
    const long long volume = out_d * out_h * out_w;
    PAD_TERMS;
    SAMPLE(i, planes * volume, POOL_BUDGET)
    {
        const long long p = i / volume, t = i % volume;
        y(p, t / out_w / out_h, t / out_w % out_h, t % out_w) =
            x(p, from_d(t), from_h(t), from_w(t));
    }
}

// the gradient of `pad`: dx = the sum of dy over the places that repeat the element. A sample of
// elements, about 2^22 places.
REFERENCE_ONCE(pad_backward,
               "in dy[planes][out_d][out_h][out_w], out dx[planes][depth][height][width], "
               "int before_d = 0, int before_h = 0, int before_w = 0, int edge = 0, each planes")
{
    const long long volume = out_d * out_h * out_w;
    PAD_TERMS;
    SAMPLE(i, planes * depth * height * width, SELECT_BUDGET(volume))
    {
        ref_pixel at(i, depth, height, width);
        TERM(here, t, from_d(t) == at.plane && from_h(t) == at.row && from_w(t) == at.column);
        const long long there = dy.has(at.n, out_d - 1, out_h - 1, out_w - 1) ? volume : 0;
        dx(at.n, at.plane, at.row, at.column) =
            SUM_IF(t, there, here(t), dy(at.n, t / out_w / out_h, t / out_w % out_h, t % out_w));
    }
}

/* The pixel under tap t of the window at place `to` of a volume. */
#define POOL_TERMS(to)                                                                             \
    TERM(at_d, t,                                                                                  \
         (to) / out_w / out_h * step.frames - before.frames +                                      \
             t / size.width / size.height * gap.frames);                                           \
    TERM(at_h, t,                                                                                  \
         (to) / out_w % out_h * step.height - before.height +                                      \
             t / size.width % size.height * gap.height);                                           \
    TERM(at_w, t, (to) % out_w * step.width - before.width + t % size.width * gap.width);          \
    TERM(inside, t,                                                                                \
         at_d(t) >= 0 && at_d(t) < depth && at_h(t) >= 0 && at_h(t) < height && at_w(t) >= 0 &&    \
             at_w(t) < width)

// `max_pool` of volumes. window, stride, pad and dilation are those of the three axes in one
// number, as conv3d has them: torch.nn.functional.max_pool3d. A sample of 65536 elements.
REFERENCE_ONCE(max_pool3d,
               "in x[planes][depth][height][width], out y?[planes][out_d][out_h][out_w], "
               "out places?[planes][out_d][out_h][out_w], int window = 4295032833, "
               "int stride = 4295032833, int pad = 0, int dilation = 4295032833, each planes")
{
    const ref_axes size(window), step(stride), before(pad), gap(dilation);
    const long long taps = size.frames * size.height * size.width, volume = out_d * out_h * out_w;
    SAMPLE(i, planes * volume, POOL_BUDGET)
    {
        const long long p = i / volume, to = i % volume;
        const long long d = to / out_w / out_h, h = to / out_w % out_h, w = to % out_w;
        POOL_TERMS(to);
        TERM(place, t, (at_d(t) * height + at_h(t)) * width + at_w(t));
        real most = MAX_IF(t, taps, inside(t), x(p, at_d(t), at_h(t), at_w(t)));
        TERM(best, t, inside(t) && equals(x(p, at_d(t), at_h(t), at_w(t)), most).yes[0]);
        real first = -MAX_IF(t, taps, best(t), -NUMBER(place(t)));
        long long got = INDEX(places.after(p, d, h, w));
        real hits = SUM_IF(t, taps, best(t) && place(t) == got, NUMBER(1));
        if (y.given)
            y(p, d, h, w) = most;
        if (places.given)
            places(p, d, h, w) = hits.value(0) > 0 ? real(NUMBER(got)) : first;
    }
}

/* Elements that the mean of the window at place `to` is taken over. */
#define POOL_COUNT(to)                                                                             \
    (divisor ? divisor                                                                             \
             : ref_window_count((to) / out_w / out_h * step.frames - before.frames, size.frames,   \
                                depth, before.frames, include_pad) *                               \
                   ref_window_count((to) / out_w % out_h * step.height - before.height,            \
                                    size.height, height, before.height, include_pad) *             \
                   ref_window_count((to) % out_w * step.width - before.width, size.width, width,   \
                                    before.width, include_pad))

// `avg_pool` of volumes, packed as in max_pool3d: torch.nn.functional.avg_pool3d
REFERENCE_ONCE(avg_pool3d,
               "in x[planes][depth][height][width], out y[planes][out_d][out_h][out_w], "
               "int window = 4295032833, int stride = 4295032833, int pad = 0, "
               "int include_pad = 1, int divisor = 0, each planes")
{
    const ref_axes size(window), step(stride), before(pad), gap(4295032833);
    const long long taps = size.frames * size.height * size.width, volume = out_d * out_h * out_w;
    SAMPLE(i, planes * volume, POOL_BUDGET)
    {
        const long long p = i / volume, to = i % volume;
        POOL_TERMS(to);
        auto sum = SUM_IF(t, taps, inside(t), x(p, at_d(t), at_h(t), at_w(t)));
        y(p, to / out_w / out_h, to / out_w % out_h, to % out_w) = sum / POOL_COUNT(to);
    }
}

// the gradient of `avg_pool3d`
REFERENCE_ONCE(avg_pool3d_backward,
               "in dy[planes][out_d][out_h][out_w], out dx[planes][depth][height][width], "
               "int window = 4295032833, int stride = 4295032833, int pad = 0, "
               "int include_pad = 1, int divisor = 0, each planes")
{
    const ref_axes size(window), step(stride), before(pad);
    const long long taps = size.frames * size.height * size.width;
    SAMPLE(i, planes * depth * height * width, POOL_BUDGET)
    {
        ref_pixel at(i, depth, height, width);
        TERM(by_d, t,
             ref_window_at(at.plane + before.frames - t / size.width / size.height, step.frames,
                           out_d));
        TERM(by_h, t,
             ref_window_at(at.row + before.height - t / size.width % size.height, step.height,
                           out_h));
        TERM(by_w, t, ref_window_at(at.column + before.width - t % size.width, step.width, out_w));
        TERM(covered, t, by_d(t) >= 0 && by_h(t) >= 0 && by_w(t) >= 0);
        TERM(to, t, (by_d(t) * out_h + by_h(t)) * out_w + by_w(t));
        dx(at.n, at.plane, at.row, at.column) =
            SUM_IF(t, taps, covered(t),
                   dy(at.n, by_d(t), by_h(t), by_w(t)) / (long long)POOL_COUNT(to(t)));
    }
}

/* A place from -1 to 1 in elements of a row: -1 and 1 are its ends, or with `corners` the middles
 * of its first and last element. With `border` it stays within these. */
template <class R> REF_FN R ref_grid_place(const R &at, long long size, bool corners, bool border)
{
    const double count = (double)size;
    R place = corners ? R((at + 1.0) / 2.0 * (count - 1)) : R(((at + 1.0) * count - 1.0) / 2.0);
    return border ? R(min(max(place, 0.0), count - 1)) : place;
}

/* The element that a number falls into; none that there is where it is no number, or too large. */
REF_FN long long ref_grid_cell(double at)
{
    return at > -1e9 && at < 1e9 ? (long long)floor(at) : -1000;
}

// y(p, q) = x at the place spot(p, q), columns first, each from -1 to 1: the sum over the four
// elements about it of their weights times x, or with nearest = 1 the nearest. What lies outside is
// 0, or with border = 1 the nearest element: torch.nn.functional.grid_sample. A place within a
// rounding of two elements may take either. A sample of 65536 elements.
REFERENCE_ONCE(grid_sample,
               "in x[batch][channels][height][width], in spot[batch][out_h][out_w][2], "
               "out y[batch][channels][out_h][out_w], int nearest = 0, int border = 0, "
               "int corners = 0, each batch, each channels")
{
    SAMPLE(i, batch * channels * out_h * out_w, POOL_BUDGET)
    {
        ref_pixel at(i, channels, out_h, out_w);
        const long long n = at.n, k = at.plane;
        real across = ref_grid_place<real>(real(spot(n, at.row, at.column, 0)), width, corners != 0,
                                           border != 0);
        real down = ref_grid_place<real>(real(spot(n, at.row, at.column, 1)), height, corners != 0,
                                         border != 0);
        const double v = down.value(0), e = down.error(0), u = across.value(0), f = across.error(0);
        const long long top = nearest ? ref_grid_cell(v - e + 0.5) : ref_grid_cell(v) - 1;
        const long long left = nearest ? ref_grid_cell(u - f + 0.5) : ref_grid_cell(u) - 1;
        const long long wide = nearest ? 2 : 4;
        const long long low = ref_grid_cell(v + e + 0.5), right = ref_grid_cell(u + f + 0.5);
        TERM(h, t, top + t / wide);
        TERM(w, t, left + t % wide);
        TERM(inside, t, h(t) >= 0 && h(t) < height && w(t) >= 0 && w(t) < width);
        if (nearest) {
            auto got = y.after(n, k, at.row, at.column);
            TERM(near, t, h(t) <= low && w(t) <= right);
            TERM(value, t, inside(t) ? real(x(n, k, h(t), w(t))) : real(0.0));
            real hits = SUM_IF(t, 4, near(t) && equals(value(t), got).yes[0], NUMBER(1));
            y(n, k, at.row, at.column) = hits.value(0) > 0 ? real(got) : value(0);
        } else {
            y(n, k, at.row, at.column) = SUM_IF(
                t, 16, inside(t),
                ref_tap_weight<real>(down - NUMBER(h(t)), false) *
                    ref_tap_weight<real>(across - NUMBER(w(t)), false) * x(n, k, h(t), w(t)));
        }
    }
}
