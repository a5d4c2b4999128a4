/*
 * spatial.cu - convolutions and pooling of images.
 *
 * Images are [batch][channels][height][width] whatever their order in memory, which their strides
 * give: channels may lie last. A 1-d one has a height of 1. What a window covers outside the image
 * is padding and takes no part. Convolutions are checked on a sample of some 2^22 products, the
 * others on 65536 elements.
 */
#include "ref.h"

#define CONV_BUDGET(terms) ((terms) > 65536 ? 64 : (terms) < 512 ? 8192 : 4194304 / (terms))
enum { POOL_BUDGET = 65536 };
#define POOL_SAMPLE(taps) ((taps) < 1024 ? (long long)POOL_BUDGET : 1 + 67108864 / (taps))

/* Filters of one group, of which each takes `depth` channels. */
REF_FN long long ref_group_filters(long long filters, long long channels, long long depth)
{
    long long groups = depth > 0 && channels > depth ? channels / depth : 1;
    return filters > groups ? filters / groups : 1;
}

/* `n` terms of a sum, one an element of `array`; none, and the launch is refused, where so many
 * cannot lie in its memory: a term whose tap is padding reads nothing, and would not be refused. */
template <class F, class A> REF_FN long long ref_terms_within(F &frame, const A &array, long long n)
{
    if (n <= (long long)array.t.bytes)
        return n;
    frame.hot.refused += REF_GIVE_UP + 1;
    return 0;
}

/* Taps of a window, whose number no array bounds: none, and the launch is refused, where no image
 * has so many pixels. */
template <class F> REF_FN long long ref_taps_within(F &frame, long long high, long long wide)
{
    const long long most = 1 << 24;
    if (high <= 0 || wide <= 0)
        return 0;
    if (high <= most && wide <= most / high)
        return high * wide;
    frame.hot.refused += REF_GIVE_UP + 1;
    return 0;
}

/* Quotient and rest by a number that a launch may give as 0. */
REF_FN long long ref_quotient(long long a, long long b)
{
    return b > 0 ? a / b : 0;
}

REF_FN long long ref_rest(long long a, long long b)
{
    return b > 0 ? a % b : 0;
}

/* The place in the image under tap t of a window whose first tap is at (top, left). */
#define WINDOW_TERMS(top, left)                                                                    \
    TERM(at_h, t, (top) + ref_rest(ref_quotient(t, window_w), window_h) * dilation_h);             \
    TERM(at_w, t, (left) + ref_rest(t, window_w) * dilation_w);                                    \
    TERM(inside, t, at_h(t) >= 0 && at_h(t) < height && at_w(t) >= 0 && at_w(t) < width)

/* The window that has pixel `at` of the image under its tap t. */
#define COVER_TERMS(at)                                                                            \
    TERM(down, t, (at).row + pad_h - ref_rest(ref_quotient(t, window_w), window_h) * dilation_h);  \
    TERM(across, t, (at).column + pad_w - ref_rest(t, window_w) * dilation_w);                     \
    TERM(by_h, t, ref_quotient(down(t), stride_h));                                                \
    TERM(by_w, t, ref_quotient(across(t), stride_w));                                              \
    TERM(covered, t,                                                                               \
         down(t) >= 0 && across(t) >= 0 && by_h(t) * stride_h == down(t) &&                        \
             by_w(t) * stride_w == across(t) && by_h(t) < out_h && by_w(t) < out_w)

// y(f) = alpha times the sum over the channels of f's group and the taps of the window of x w, plus
// added_scale added, plus bias: torch.nn.functional.conv2d, cuDNN's cross-correlation. Groups are
// channels / depth. y is `low` at least and `high` at most: 0 and inf for a relu behind it.
REFERENCE_ONCE(
    conv, "in x[batch][channels][height][width], "
          "in w[filters][depth][window_h][window_w], in bias[filters] = 0, "
          "in added?[batch][filters][out_h][out_w], "
          "out y[batch][filters][out_h][out_w], real alpha = 1, real added_scale = 1, "
          "real low = -inf, real high = inf, "
          "int stride_h = 1, int stride_w = 1, int pad_h = 0, int pad_w = 0, int dilation_h = 1, "
          "int dilation_w = 1, each batch, sums y = x w over depth window_h window_w")
{
    long long taps = window_h * window_w, share = ref_group_filters(filters, channels, depth);
    const long long terms = ref_terms_within(REF_FRAME, w, depth * taps);
    SAMPLE(i, batch * filters * out_h * out_w, CONV_BUDGET(terms))
    {
        ref_pixel at(i, filters, out_h, out_w);
        long long n = at.n, f = at.plane, first = f / share * depth;
        WINDOW_TERMS(at.row * stride_h - pad_h, at.column * stride_w - pad_w);
        auto sum = SUM_IF(t, terms, inside(t),
                          x(n, first + t / taps, at_h(t), at_w(t)) *
                              w(f, t / taps, t / window_w % window_h, t % window_w));
        real more = added.given ? added(n, f, at.row, at.column) * added_scale : real(0.0);
        auto whole = sum * alpha + more + bias(f);
        real held = low.v < -1e300 ? real(whole) : max(whole, low);
        if (low.v < -1e300 && high.v > 1e300)
            y(n, f, at.row, at.column) = whole;
        else
            y(n, f, at.row, at.column) = high.v > 1e300 ? held : min(held, high);
    }
}

// the gradient of `conv` by x: dx(c) = alpha times the sum over the filters of c's group and the
// windows that cover the pixel of dy w. With a bias it is torch.nn.functional.conv_transpose2d.
REFERENCE_ONCE(conv_backward_data,
               "in dy[batch][filters][out_h][out_w], in w[filters][depth][window_h][window_w], "
               "in bias[channels] = 0, out dx[batch][channels][height][width], real alpha = 1, "
               "int stride_h = 1, int stride_w = 1, int pad_h = 0, int pad_w = 0, "
               "int dilation_h = 1, int dilation_w = 1, each batch, "
               "sums dx = dy w over filters window_h window_w")
{
    long long taps = window_h * window_w, share = ref_group_filters(filters, channels, depth);
    const long long terms = ref_terms_within(REF_FRAME, w, share * taps);
    SAMPLE(i, batch * channels * height * width, CONV_BUDGET(terms))
    {
        ref_pixel at(i, channels, height, width);
        long long n = at.n, first = at.plane / depth * share, d = at.plane % depth;
        COVER_TERMS(at);
        auto sum = SUM_IF(t, terms, covered(t),
                          dy(n, first + t / taps, by_h(t), by_w(t)) *
                              w(first + t / taps, d, t / window_w % window_h, t % window_w));
        dx(n, at.plane, at.row, at.column) = sum * alpha + bias(at.plane);
    }
}

// the gradient of `conv` by w: dw(f) at a tap = alpha times the sum over all images and windows of
// dy x, x being the pixel under the tap; dbias(f) = the sum of dy
REFERENCE_ONCE(conv_backward_weight,
               "in x[batch][channels][height][width], in dy[batch][filters][out_h][out_w], "
               "out dw?[filters][depth][window_h][window_w], out dbias?[filters], real alpha = 1, "
               "int stride_h = 1, int stride_w = 1, int pad_h = 0, int pad_w = 0, "
               "int dilation_h = 1, int dilation_w = 1, sums dw = x dy over batch out_h out_w")
{
    long long area = out_h * out_w, share = ref_group_filters(filters, channels, depth);
    const long long terms = ref_terms_within(REF_FRAME, dy, batch * area);
    SAMPLE(i, dw.given ? filters * depth * window_h * window_w : 0, CONV_BUDGET(terms))
    {
        ref_pixel at(i, depth, window_h, window_w);
        long long f = at.n, c = f / share * depth + at.plane;
        TERM(p, t, t / out_w % out_h);
        TERM(at_h, t, p(t) * stride_h - pad_h + at.row * dilation_h);
        TERM(at_w, t, t % out_w * stride_w - pad_w + at.column * dilation_w);
        TERM(inside, t, at_h(t) >= 0 && at_h(t) < height && at_w(t) >= 0 && at_w(t) < width);
        auto sum = SUM_IF(t, terms, inside(t),
                          dy(t / area, f, p(t), t % out_w) * x(t / area, c, at_h(t), at_w(t)));
        dw(f, at.plane, at.row, at.column) = sum * alpha;
    }
    SAMPLE(f, dbias.given ? filters : 0, CONV_BUDGET(terms))
    {
        dbias(f) = SUM_IF(t, terms, true, dy(t / area, f, t / out_w % out_h, t % out_w));
    }
}

/* Three numbers below 65536 in one, for an axis each: width + 65536 height + 65536^2 frames. */
struct ref_axes {
    long long frames, height, width;

    REF_FN ref_axes(long long packed)
        : frames(packed >> 32 & 65535), height(packed >> 16 & 65535), width(packed & 65535)
    {
    }
};

/* Frames, rows and columns of a volume whose elements lie row by row, `all` of them. */
struct ref_volume {
    long long height, width, frames;

    REF_FN ref_volume(long long all, long long high, long long wide)
        : height(high > 0 ? high : 1), width(wide > 0 ? wide : 1), frames(all / height / width)
    {
    }
    REF_FN long long size() const
    {
        return frames * height * width;
    }
    REF_FN long long frame(long long at) const
    {
        return at / width / height;
    }
    REF_FN long long row(long long at) const
    {
        return at / width % height;
    }
    REF_FN long long column(long long at) const
    {
        return at % width;
    }
    REF_FN bool has(long long d, long long h, long long w) const
    {
        return d >= 0 && d < frames && h >= 0 && h < height && w >= 0 && w < width;
    }
    REF_FN long long at(long long d, long long h, long long w) const
    {
        return (d * height + h) * width + w;
    }
};

/* The pixel of `image` under tap t of the window at place `to` of `out`. */
#define VOLUME_TERMS(to, tap)                                                                      \
    TERM(at_d, t, out.frame(to) * step.frames - before.frames + window.frame(tap) * gap.frames);   \
    TERM(at_h, t, out.row(to) * step.height - before.height + window.row(tap) * gap.height);       \
    TERM(at_w, t, out.column(to) * step.width - before.width + window.column(tap) * gap.width);    \
    TERM(inside, t, image.has(at_d(t), at_h(t), at_w(t)));                                         \
    TERM(pixel, t, image.at(at_d(t), at_h(t), at_w(t)))

/* The sizes of a 3-d convolution, from its formals. */
#define VOLUMES                                                                                    \
    const ref_volume image(pixels, height, width), window(taps, window_h, window_w);               \
    const ref_volume out(places, out_h, out_w);                                                    \
    const ref_axes step(stride), before(pad), gap(dilation);                                       \
    const long long share = ref_group_filters(filters, channels, depth)

/* A place along one axis from which the window reaches `down` under a tap; -1: there is none. */
REF_FN long long ref_window_at(long long down, long long step, long long count)
{
    long long by = step > 0 ? down / step : 0;
    return down >= 0 && by * step == down && by < count ? by : -1;
}

// `conv` of volumes: the pixels of a plane lie frame by frame, row by row. torch's conv3d. stride,
// pad and dilation are those of the three axes in one number: width + 65536 height + 65536^2
// frames.
REFERENCE_ONCE(conv3d, "in x[batch][channels][pixels], in w[filters][depth][taps], "
                       "in bias[filters] = 0, out y[batch][filters][places], real alpha = 1, "
                       "real low = -inf, int height, int width, int window_h, int window_w, "
                       "int out_h, int out_w, int stride = 4295032833, int pad = 0, "
                       "int dilation = 4295032833, each batch, sums y = x w over depth taps")
{
    VOLUMES;
    const long long terms = ref_terms_within(REF_FRAME, w, depth * window.size());
    SAMPLE(i, batch * filters * out.size(), CONV_BUDGET(terms))
    {
        long long to = i % out.size(), f = i / out.size() % filters, n = i / out.size() / filters;
        long long first = f / share * depth;
        VOLUME_TERMS(to, t % window.size());
        auto sum = SUM_IF(t, terms, inside(t),
                          x(n, first + t / window.size(), pixel(t)) *
                              w(f, t / window.size(), t % window.size()));
        auto whole = sum * alpha + bias(f);
        if (low.v < -1e300)
            y(n, f, to) = whole;
        else
            y(n, f, to) = max(whole, low);
    }
}

// the gradient of `conv3d` by x; with a bias it is torch's conv_transpose3d
REFERENCE_ONCE(conv3d_backward_data,
               "in dy[batch][filters][places], in w[filters][depth][taps], in bias[channels] = 0, "
               "out dx[batch][channels][pixels], real alpha = 1, int height, int width, "
               "int window_h, int window_w, int out_h, int out_w, int stride = 4295032833, "
               "int pad = 0, int dilation = 4295032833, each batch, "
               "sums dx = dy w over filters taps")
{
    VOLUMES;
    const long long terms = ref_terms_within(REF_FRAME, w, share * window.size());
    SAMPLE(i, batch * channels * image.size(), CONV_BUDGET(terms))
    {
        long long to = i % image.size(), c = i / image.size() % channels;
        long long n = i / image.size() / channels, first = c / depth * share;
        TERM(tap, t, t % window.size());
        TERM(by_d, t,
             ref_window_at(image.frame(to) + before.frames - window.frame(tap(t)) * gap.frames,
                           step.frames, out.frames));
        TERM(by_h, t,
             ref_window_at(image.row(to) + before.height - window.row(tap(t)) * gap.height,
                           step.height, out.height));
        TERM(by_w, t,
             ref_window_at(image.column(to) + before.width - window.column(tap(t)) * gap.width,
                           step.width, out.width));
        TERM(covered, t, by_d(t) >= 0 && by_h(t) >= 0 && by_w(t) >= 0);
        auto sum = SUM_IF(t, terms, covered(t),
                          dy(n, first + t / window.size(), out.at(by_d(t), by_h(t), by_w(t))) *
                              w(first + t / window.size(), c % depth, tap(t)));
        dx(n, c, to) = sum * alpha + bias(c);
    }
}

// the gradient of `conv3d` by w
REFERENCE_ONCE(conv3d_backward_weight,
               "in x[batch][channels][pixels], in dy[batch][filters][places], "
               "out dw[filters][depth][taps], real alpha = 1, int height, int width, "
               "int window_h, int window_w, int out_h, int out_w, int stride = 4295032833, "
               "int pad = 0, int dilation = 4295032833, sums dw = x dy over batch places")
{
    VOLUMES;
    const long long terms = ref_terms_within(REF_FRAME, dy, batch * out.size());
    SAMPLE(i, filters * depth * window.size(), CONV_BUDGET(terms))
    {
        long long to = i % window.size(), d = i / window.size() % depth;
        long long f = i / window.size() / depth, c = f / share * depth + d;
        VOLUME_TERMS(t % out.size(), to);
        auto sum = SUM_IF(t, terms, inside(t),
                          dy(t / out.size(), f, t % out.size()) * x(t / out.size(), c, pixel(t)));
        dw(f, d, to) = sum * alpha;
    }
}

// y = the largest of each window, NaN if one is NaN; `places` is where it lies in its plane, row by
// row, any place where several are largest: torch.nn.functional.max_pool2d
REFERENCE_ONCE(max_pool, "in x[batch][channels][height][width], "
                         "out y?[batch][channels][out_h][out_w], "
                         "out places?[batch][channels][out_h][out_w], int window_h, int window_w, "
                         "int stride_h, int stride_w, int pad_h = 0, int pad_w = 0, "
                         "int dilation_h = 1, int dilation_w = 1, each batch, each channels")
{
    const long long taps = ref_taps_within(REF_FRAME, window_h, window_w);
    SAMPLE(i, batch * channels * out_h * out_w, POOL_SAMPLE(taps))
    {
        ref_pixel at(i, channels, out_h, out_w);
        long long n = at.n, k = at.plane;
        WINDOW_TERMS(at.row * stride_h - pad_h, at.column * stride_w - pad_w);
        TERM(place, t, at_h(t) * width + at_w(t));
        real most = MAX_IF(t, taps, inside(t), x(n, k, at_h(t), at_w(t)));
        TERM(best, t, inside(t) && equals(x(n, k, at_h(t), at_w(t)), most).yes[0]);
        real first = -MAX_IF(t, taps, best(t), -NUMBER(place(t)));
        long long got = INDEX(places.after(n, k, at.row, at.column));
        real hits = SUM_IF(t, taps, best(t) && place(t) == got, NUMBER(1));
        if (y.given)
            y(n, k, at.row, at.column) = most;
        if (places.given)
            places(n, k, at.row, at.column) = hits.value(0) > 0 ? real(NUMBER(got)) : first;
    }
}

// the gradient of `max_pool`: dx = the sum of dy over the windows that cover the pixel and name it
// by `places`
REFERENCE_ONCE(max_pool_backward,
               "in dy[batch][channels][out_h][out_w], in places[batch][channels][out_h][out_w], "
               "out dx[batch][channels][height][width], int window_h, int window_w, int stride_h, "
               "int stride_w, int pad_h = 0, int pad_w = 0, int dilation_h = 1, "
               "int dilation_w = 1, each batch, each channels")
{
    const long long taps = ref_taps_within(REF_FRAME, window_h, window_w);
    SAMPLE(i, batch * channels * height * width, POOL_SAMPLE(taps))
    {
        ref_pixel at(i, channels, height, width);
        long long n = at.n, k = at.plane, here = at.row * width + at.column;
        COVER_TERMS(at);
        TERM(named, t, covered(t) && INDEX(places(n, k, by_h(t), by_w(t))) == here);
        dx(n, k, at.row, at.column) = SUM_IF(t, taps, named(t), dy(n, k, by_h(t), by_w(t)));
    }
}

/* Elements that the mean of a window from `from` on is taken over: those inside the image, or with
 * include_pad those of the padding, too. */
REF_FN long long ref_window_count(long long from, long long window, long long size, long long pad,
                                  long long include_pad)
{
    long long start = from < 0 && !include_pad ? 0 : from, end = from + window;
    long long last = include_pad ? size + pad : size;
    return (end < last ? end : last) - start;
}

// y = the sum of each window over its number of elements, those of the padding too unless
// include_pad is 0, or over `divisor` where that is given: torch.nn.functional.avg_pool2d
REFERENCE_ONCE(avg_pool, "in x[batch][channels][height][width], "
                         "out y[batch][channels][out_h][out_w], int window_h, int window_w, "
                         "int stride_h, int stride_w, int pad_h = 0, int pad_w = 0, "
                         "int include_pad = 1, int divisor = 0, each batch, each channels")
{
    const long long dilation_h = 1, dilation_w = 1;
    const long long taps = ref_taps_within(REF_FRAME, window_h, window_w);
    SAMPLE(i, batch * channels * out_h * out_w, POOL_SAMPLE(taps))
    {
        ref_pixel at(i, channels, out_h, out_w);
        long long n = at.n, k = at.plane;
        long long top = at.row * stride_h - pad_h, left = at.column * stride_w - pad_w;
        WINDOW_TERMS(top, left);
        long long count = ref_window_count(top, window_h, height, pad_h, include_pad) *
                          ref_window_count(left, window_w, width, pad_w, include_pad);
        auto sum = SUM_IF(t, taps, inside(t), x(n, k, at_h(t), at_w(t)));
        y(n, k, at.row, at.column) = sum / (divisor ? divisor : count);
    }
}

// the gradient of `avg_pool`: dx = the sum over the windows that cover the pixel of dy over the
// window's divisor
REFERENCE_ONCE(avg_pool_backward,
               "in dy[batch][channels][out_h][out_w], out dx[batch][channels][height][width], "
               "int window_h, int window_w, int stride_h, int stride_w, int pad_h = 0, "
               "int pad_w = 0, int include_pad = 1, int divisor = 0, each batch, each channels")
{
    const long long dilation_h = 1, dilation_w = 1;
    const long long taps = ref_taps_within(REF_FRAME, window_h, window_w);
    SAMPLE(i, batch * channels * height * width, POOL_SAMPLE(taps))
    {
        ref_pixel at(i, channels, height, width);
        long long n = at.n, k = at.plane;
        COVER_TERMS(at);
        TERM(high, t,
             ref_window_count(by_h(t) * stride_h - pad_h, window_h, height, pad_h, include_pad));
        TERM(wide, t,
             ref_window_count(by_w(t) * stride_w - pad_w, window_w, width, pad_w, include_pad));
        TERM(count, t, divisor ? divisor : high(t) * wide(t));
        dx(n, k, at.row, at.column) =
            SUM_IF(t, taps, covered(t), dy(n, k, by_h(t), by_w(t)) / count(t));
    }
}

/* Of `size` pixels dealt to `parts` windows that may overlap: the first pixel of window p, and the
 * first pixel behind it. The windows that have pixel i are those from the first pixel to the end of
 * i of as many windows dealt to pixels. */
REF_FN long long ref_adaptive_first(long long p, long long size, long long parts)
{
    return p * size / parts;
}
REF_FN long long ref_adaptive_end(long long p, long long size, long long parts)
{
    return ((p + 1) * size + parts - 1) / parts;
}
REF_FN long long ref_adaptive_count(long long p, long long size, long long parts)
{
    return ref_adaptive_end(p, size, parts) - ref_adaptive_first(p, size, parts);
}

// y = the mean of each of out_h by out_w windows that divide the image as evenly as may be:
// torch.nn.functional.adaptive_avg_pool2d
REFERENCE_ONCE(adaptive_avg_pool, "in x[batch][channels][height][width], "
                                  "out y[batch][channels][out_h][out_w], each batch, "
                                  "each channels")
{
    SAMPLE(i, batch * channels * out_h * out_w, POOL_BUDGET)
    {
        ref_pixel at(i, channels, out_h, out_w);
        long long n = at.n, k = at.plane;
        long long top = ref_adaptive_first(at.row, height, out_h);
        long long left = ref_adaptive_first(at.column, width, out_w);
        long long high = ref_adaptive_count(at.row, height, out_h);
        long long wide = ref_adaptive_count(at.column, width, out_w);
        auto sum = SUM_IF(t, high * wide, true, x(n, k, top + t / wide, left + t % wide));
        y(n, k, at.row, at.column) = sum / high / wide;
    }
}

// the gradient of `adaptive_avg_pool`: dx = the sum over the windows that have the pixel of dy over
// the window's size
REFERENCE_ONCE(adaptive_avg_pool_backward, "in dy[batch][channels][out_h][out_w], "
                                           "out dx[batch][channels][height][width], each batch, "
                                           "each channels")
{
    SAMPLE(i, batch * channels * height * width, POOL_BUDGET)
    {
        ref_pixel at(i, channels, height, width);
        long long n = at.n, k = at.plane;
        long long top = ref_adaptive_first(at.row, out_h, height);
        long long left = ref_adaptive_first(at.column, out_w, width);
        long long high = ref_adaptive_count(at.row, out_h, height);
        long long wide = ref_adaptive_count(at.column, out_w, width);
        TERM(p, t, top + t / wide);
        TERM(q, t, left + t % wide);
        TERM(size, t,
             ref_adaptive_count(p(t), height, out_h) * ref_adaptive_count(q(t), width, out_w));
        dx(n, k, at.row, at.column) = SUM_IF(t, high * wide, true, dy(n, k, p(t), q(t)) / size(t));
    }
}

// y = the largest of each window of adaptive_avg_pool, `places` where it lies, as max_pool has it:
// torch.nn.functional.adaptive_max_pool2d
REFERENCE_ONCE(adaptive_max_pool, "in x[batch][channels][height][width], "
                                  "out y?[batch][channels][out_h][out_w], "
                                  "out places?[batch][channels][out_h][out_w], each batch, "
                                  "each channels")
{
    SAMPLE(i, batch * channels * out_h * out_w, POOL_BUDGET)
    {
        ref_pixel at(i, channels, out_h, out_w);
        long long n = at.n, k = at.plane;
        long long top = ref_adaptive_first(at.row, height, out_h);
        long long left = ref_adaptive_first(at.column, width, out_w);
        long long high = ref_adaptive_count(at.row, height, out_h);
        long long wide = ref_adaptive_count(at.column, width, out_w);
        TERM(place, t, (top + t / wide) * width + left + t % wide);
        real most = MAX_IF(t, high * wide, true, x(n, k, top + t / wide, left + t % wide));
        TERM(best, t, equals(x(n, k, top + t / wide, left + t % wide), most).yes[0]);
        real first = -MAX_IF(t, high * wide, best(t), -NUMBER(place(t)));
        long long got = INDEX(places.after(n, k, at.row, at.column));
        real hits = SUM_IF(t, high * wide, best(t) && place(t) == got, NUMBER(1));
        if (y.given)
            y(n, k, at.row, at.column) = most;
        if (places.given)
            places(n, k, at.row, at.column) = hits.value(0) > 0 ? real(NUMBER(got)) : first;
    }
}

// the gradient of `adaptive_max_pool`: dx = the sum of dy over the windows that have the pixel and
// name it by `places`
REFERENCE_ONCE(adaptive_max_pool_backward,
               "in dy[batch][channels][out_h][out_w], in places[batch][channels][out_h][out_w], "
               "out dx[batch][channels][height][width], each batch, each channels")
{
    SAMPLE(i, batch * channels * height * width, POOL_BUDGET)
    {
        ref_pixel at(i, channels, height, width);
        long long n = at.n, k = at.plane, here = at.row * width + at.column;
        long long top = ref_adaptive_first(at.row, out_h, height);
        long long left = ref_adaptive_first(at.column, out_w, width);
        long long high = ref_adaptive_count(at.row, out_h, height);
        long long wide = ref_adaptive_count(at.column, out_w, width);
        dx(n, k, at.row, at.column) =
            SUM_IF(t, high * wide, INDEX(places(n, k, top + t / wide, left + t % wide)) == here,
                   dy(n, k, top + t / wide, left + t % wide));
    }
}
