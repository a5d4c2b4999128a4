/*
 * backward.cu - gradients of activations, norms and softmax; those of losses are in loss.cu.
 *
 * A gradient of weights may be left as partial sums, dw[blocks][cols], a row of them for each block
 * of the kernel: with rows_per_block = 0 block b adds up the rows b, b + blocks, b + 2 blocks and
 * so on, else the neighbours from b rows_per_block on. dw[cols] is one block, with all rows.
 */
#include "ref.h"

#ifndef REFS_BACKWARD_SHARE
#define REFS_BACKWARD_SHARE
/* The rows of one block: how many, and which is the k-th. */
struct ref_share {
    long long first, step, count;

    REF_FN ref_share(long long b, long long blocks, long long rows, long long each)
        : first(each > 0 ? b * each : b), step(each > 0 ? 1 : blocks), count(0)
    {
        if (first < rows)
            count = (rows - first + step - 1) / step;
        if (each > 0 && count > each)
            count = each;
    }
    REF_FN long long row(long long k) const
    {
        return first + k * step;
    }
};
#endif

// dx = dy s (1 + x (1 - s)), s = sigmoid(x)
REFERENCE_ONCE(silu_backward,
               "in dy[rows][cols], in x[rows][cols], out dx[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = x(r, c);
        auto s = sigmoid(t);
        dx(r, c) = dy(r, c) * s * (1 + t * (1 - s));
    }
}

// y = silu(gate) up: dgate = dy up s (1 + gate (1 - s)), dup = dy gate s, s = sigmoid(gate)
REFERENCE_ONCE(swiglu_backward, "in dy[rows][cols], in gate[rows][cols], in up[rows][cols], "
                                "out dgate[rows][cols], out dup[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = gate(r, c);
        auto s = sigmoid(t);
        dgate(r, c) = dy(r, c) * up(r, c) * s * (1 + t * (1 - s));
        dup(r, c) = dy(r, c) * t * s;
    }
}

// dx = dy (Phi(x) + x phi(x)), Phi and phi the normal distribution and its density
REFERENCE_ONCE(gelu_backward,
               "in dy[rows][cols], in x[rows][cols], out dx[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = x(r, c);
        auto distribution = 0.5 * one_plus_erf(t * 0.7071067811865476);
        auto density = exp(t * t * -0.5) * 0.3989422804014327;
        dx(r, c) = dy(r, c) * (distribution + t * density);
    }
}

// y = x (1 + tanh(u)) / 2, u = sqrt(2 / pi) (x + 0.044715 x^3):
// dx = dy ((1 + tanh(u)) / 2 + x (1 - tanh(u)^2) u' / 2), u' = sqrt(2 / pi) (1 + 3 * 0.044715 x^2)
REFERENCE_ONCE(gelu_tanh_backward,
               "in dy[rows][cols], in x[rows][cols], out dx[rows][cols], each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto t = x(r, c);
        auto h = tanh((t + t * t * t * 0.044715) * 0.7978845608028654);
        auto slope = (1 + t * t * 0.134145) * 0.7978845608028654;
        dx(r, c) = dy(r, c) * (0.5 * (1 + h) + 0.5 * t * (1 - h * h) * slope);
    }
}

// y = max(x, 0): dx = dy where x > 0, else 0; y may be bound as x
REFERENCE_ONCE(relu_backward, "in dy[rows][cols], in x[rows][cols], out dx[rows][cols], "
                              "each rows, each cols")
{
    ELEMENT(r, rows, c, cols) dx(r, c) = where(x(r, c) > 0, dy(r, c), 0);
}

// dx = dy where x > 0, else alpha dy
REFERENCE_ONCE(leaky_relu_backward, "in dy[rows][cols], in x[rows][cols], out dx[rows][cols], "
                                    "real alpha = 0.01, each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto g = dy(r, c);
        dx(r, c) = where(x(r, c) > 0, g, g * alpha);
    }
}

// dx = dy y (1 - y), y = sigmoid(x) as it was stored
REFERENCE_ONCE(sigmoid_backward, "in dy[rows][cols], in y[rows][cols], out dx[rows][cols], "
                                 "each rows, each cols")
{
    ELEMENT(r, rows, c, cols)
    {
        auto s = y(r, c);
        dx(r, c) = dy(r, c) * s * (1 - s);
    }
}

// dx = dy (1 - y^2), y = tanh(x) as it was stored
REFERENCE_ONCE(tanh_backward, "in dy[rows][cols], in y[rows][cols], out dx[rows][cols], "
                              "each rows, each cols")
{
    ELEMENT(r, rows, c, cols) dx(r, c) = dy(r, c) * (1 - square(y(r, c)));
}

// y = softmax(s x): dx = s y (dy - sum(y dy)), s = scale
REFERENCE_ONCE(softmax_backward, "in dy[rows][cols], in y[rows][cols], out dx[rows][cols], "
                                 "real scale = 1, each rows")
{
    ROW(r, rows)
    {
        real dot = SUM(c, cols, y(r, c) * dy(r, c));
        EACH(c, cols) dx(r, c) = y(r, c) * (dy(r, c) - dot) * scale;
    }
}

// dx = g - y sum(g), g = dy y as it was stored before: the second half of torch's gradient of
// softmax
REFERENCE_ONCE(softmax_backward_product,
               "in g[rows][cols], in y[rows][cols], out dx[rows][cols], each rows")
{
    ROW(r, rows)
    {
        real sum = SUM(c, cols, g(r, c));
        EACH(c, cols) dx(r, c) = g(r, c) - y(r, c) * sum;
    }
}

// the same over the columns c <= r + diagonal alone; the others as in softmax_causal
REFERENCE_ONCE(softmax_causal_backward,
               "in dy[batch][rows][cols], in y[batch][rows][cols], out dx[batch][rows][cols], "
               "real scale = 1, int diagonal = 0, int zeros = 1, each batch")
{
    ROW(i, batch * rows)
    {
        long long n = i / rows, r = i % rows, last = diagonal < cols ? r + diagonal : cols;
        long long seen = last < 0 ? 0 : last < cols ? last + 1 : cols;
        real dot = SUM(c, seen, y(n, r, c) * dy(n, r, c));
        EACH(c, seen) dx(n, r, c) = y(n, r, c) * (dy(n, r, c) - dot) * scale;
        EACH(c, zeros ? cols - seen : 0) dx(n, r, c + seen) = 0.0;
    }
}

// y = log_softmax(x): dx = dy - exp(y) sum(dy)
REFERENCE_ONCE(log_softmax_backward,
               "in dy[rows][cols], in y[rows][cols], out dx[rows][cols], each rows")
{
    ROW(r, rows)
    {
        real total = SUM(c, cols, dy(r, c));
        EACH(c, cols) dx(r, c) = dy(r, c) - exp(y(r, c)) * total;
    }
}

// y = x rstd (offset + w), h = x rstd: dx = rstd (g - h mean(g h)), g = dy (offset + w), and
// dw = sum over rows of dy h (Zhang and Sennrich 2019)
REFERENCE_ONCE(rmsnorm_backward,
               "in dy[rows][cols], in x[rows][cols], in w[cols] = 1, in rstd[rows], "
               "out dx?[rows][cols], out dw?[blocks][cols], real offset = 0, "
               "int rows_per_block = 0, each rows")
{
    ROW(r, dx.given ? rows : 0)
    {
        real inv = rstd(r);
        real mean = SUM(c, cols, dy(r, c) * (w(c) + offset) * (x(r, c) * inv)) / cols;
        EACH(c, cols) dx(r, c) = inv * (dy(r, c) * (w(c) + offset) - x(r, c) * inv * mean);
    }
    ROW(i, dw.given ? blocks * cols : 0)
    {
        long long b = i / cols, c = i % cols;
        ref_share own(b, blocks, rows, rows_per_block);
        TERM(h, r, x(r, c) * rstd(r));
        dw(b, c) = SUM_IF(k, own.count, true, dy(own.row(k), c) * h(own.row(k)));
    }
}

// y = h w + b, h = (x - mean) rstd: dx = rstd (g - mean(g) - h mean(g h)), g = dy w,
// dw = sum over rows of dy h, db = sum over rows of dy (Ba, Kiros and Hinton 2016)
REFERENCE_ONCE(layernorm_backward,
               "in dy[rows][cols], in x[rows][cols], in w[cols] = 1, in mean[rows], in rstd[rows], "
               "out dx?[rows][cols], out dw?[blocks][cols], out db?[blocks][cols], "
               "int rows_per_block = 0, each rows")
{
    ROW(r, dx.given ? rows : 0)
    {
        real mu = mean(r), inv = rstd(r);
        real mean_g = SUM(c, cols, dy(r, c) * w(c)) / cols;
        real mean_gh = SUM(c, cols, dy(r, c) * w(c) * ((x(r, c) - mu) * inv)) / cols;
        EACH(c, cols)
        dx(r, c) = inv * (dy(r, c) * w(c) - mean_g - (x(r, c) - mu) * inv * mean_gh);
    }
    ROW(i, dw.given || db.given ? blocks * cols : 0)
    {
        long long b = i / cols, c = i % cols;
        ref_share own(b, blocks, rows, rows_per_block);
        TERM(h, r, (x(r, c) - mean(r)) * rstd(r));
        if (dw.given)
            dw(b, c) = SUM_IF(k, own.count, true, dy(own.row(k), c) * h(own.row(k)));
        if (db.given)
            db(b, c) = SUM_IF(k, own.count, true, dy(own.row(k), c));
    }
}

// y = x / length, length = max(|x|, eps): dx = (dy - h sum(dy h)) / |x|, h = x / |x|, and dy / eps
// where eps is the larger: torch.nn.functional.normalize
REFERENCE_ONCE(l2norm_backward, "in dy[rows][cols], in x[rows][cols], out dx[rows][cols], "
                                "real eps = 1e-12, each rows")
{
    ROW(r, rows)
    {
        real length = sqrt(SUM(c, cols, square(x(r, c))));
        real inv = 1 / max(length, eps);
        real dot = where(length > eps, SUM(c, cols, dy(r, c) * x(r, c)) * inv * inv, 0);
        EACH(c, cols) dx(r, c) = (dy(r, c) - x(r, c) * dot) * inv;
    }
}

// layernorm's over the channels of a group and their places alike, w a channel each: dx as there
// with means over the group, dw and db sums over batch and places (Wu and He 2018)
REFERENCE_ONCE(groupnorm_backward,
               "in dy[batch][groups][channels][size], in x[batch][groups][channels][size], "
               "in w[groups][channels] = 1, in mean[batch][groups], in rstd[batch][groups], "
               "out dx?[batch][groups][channels][size], out dw?[groups][channels], "
               "out db?[groups][channels], each batch, each groups")
{
    ROW(i, dx.given ? batch * groups : 0)
    {
        long long n = i / groups, g = i % groups, count = channels * size;
        real mu = mean(n, g), inv = rstd(n, g);
        real mean_g = SUM(s, size, SUM(k, channels, dy(n, g, k, s) * w(g, k))) / count;
        real mean_gh =
            SUM(s, size,
                SUM(k, channels, dy(n, g, k, s) * w(g, k) * ((x(n, g, k, s) - mu) * inv))) /
            count;
        LOOP(k, channels)
        EACH(s, size)
        dx(n, g, k, s) =
            inv * (dy(n, g, k, s) * w(g, k) - mean_g - (x(n, g, k, s) - mu) * inv * mean_gh);
    }
    ROW(i, dw.given ? groups * channels : 0)
    {
        long long g = i / channels, k = i % channels;
        dw(g, k) = SUM(s, size,
                       SUM(n, batch, dy(n, g, k, s) * ((x(n, g, k, s) - mean(n, g)) * rstd(n, g))));
    }
    ROW(i, db.given ? groups * channels : 0)
    {
        long long g = i / channels, k = i % channels;
        db(g, k) = SUM(s, size, SUM(n, batch, dy(n, g, k, s)));
    }
}

// the gradients of batchnorm_training, h = (x - mean) rstd: dx = w rstd (dy - mean(dy) - h
// mean(dy h)), means over the batch and the places of a channel, or w rstd dy with training = 0;
// dw = sum(dy h), db = sum(dy), and sum_dy_xmu = sum(dy (x - mean)), as torch has it
REFERENCE_ONCE(batchnorm_backward,
               "in dy[batch][channels][size], in x[batch][channels][size], in w[channels] = 1, "
               "in mean[channels], in rstd[channels], out dx?[batch][channels][size], "
               "out dw?[channels], out db?[channels], out sum_dy?[channels], "
               "out sum_dy_xmu?[channels], int training = 1, point part, each channels")
{
    ROW(k, channels)
    {
        real mu = mean(k), inv = rstd(k), rate = w(k) * inv;
        real sum = SUM(s, size, SUM(n, batch, dy(n, k, s)));
        real dot = SUM(s, size, SUM(n, batch, part(dy(n, k, s) * (x(n, k, s) - mu))));
        real shift = training ? sum / (batch * size) : real(0.0);
        real lean = training ? dot * square(inv) / (batch * size) : real(0.0);
        LOOP(n, dx.given ? batch : 0)
        EACH(s, size) dx(n, k, s) = (dy(n, k, s) - shift - (x(n, k, s) - mu) * lean) * rate;
        if (dw.given)
            dw(k) = dot * inv;
        if (db.given)
            db(k) = sum;
        if (sum_dy.given)
            sum_dy(k) = sum;
        if (sum_dy_xmu.given)
            sum_dy_xmu(k) = dot;
    }
}

// dx = w rstd (dy - sum_dy / count - (x - mean) rstd^2 sum_dy_xmu / count), the sums as
// batchnorm_backward has them, of `count` elements of a channel
REFERENCE_ONCE(batchnorm_backward_apply,
               "in dy[batch][channels][size], in x[batch][channels][size], in w[channels] = 1, "
               "in mean[channels], in rstd[channels], in sum_dy[channels], "
               "in sum_dy_xmu[channels], out dx[batch][channels][size], real count, each batch, "
               "each channels, each size")
{
    ELEMENT(i, batch * channels, s, size)
    {
        long long n = i / channels, k = i % channels;
        auto lean = square(rstd(k)) * sum_dy_xmu(k) / count;
        auto shift = sum_dy(k) / count;
        dx(n, k, s) = (dy(n, k, s) - shift - (x(n, k, s) - mean(k)) * lean) * (w(k) * rstd(k));
    }
}

// ds = the sum of dy x of each row, db = that of dy: the sums of group norm's gradients
REFERENCE_ONCE(product_sums, "in dy[rows][cols], in x[rows][cols], out ds[rows], out db[rows], "
                             "each rows")
{
    ROW(r, rows)
    {
        ds(r) = SUM(c, cols, dy(r, c) * x(r, c));
        db(r) = SUM(c, cols, dy(r, c));
    }
}

// group norm's dx is dy rstd w + x slope + offset; these are slope and offset of each group, from
// the sums of dy x and dy of each channel over `size` places
REFERENCE_ONCE(groupnorm_backward_fold,
               "in mean[batch][groups], in rstd[batch][groups], in w[groups][channels] = 1, "
               "in ds[batch][groups][channels], in db[batch][groups][channels], "
               "out slope[batch][groups], out offset[batch][groups], int size, each batch, "
               "each groups")
{
    ROW(i, batch * groups)
    {
        long long n = i / groups, g = i % groups, count = channels * size;
        real products = SUM(k, channels, ds(n, g, k) * w(g, k));
        real sum = SUM(k, channels, db(n, g, k) * w(g, k));
        real inv = rstd(n, g);
        real by_x = (sum * mean(n, g) - products) * inv * inv * inv / count;
        slope(n, g) = by_x;
        offset(n, g) = -by_x * mean(n, g) - sum * inv / count;
    }
}

// the gradients of group norm's weights and biases, from the same sums: dw = the sum over the batch
// of (ds - db mean) rstd, dbias = that of db
REFERENCE_ONCE(groupnorm_backward_weights,
               "in mean[batch][groups], in rstd[batch][groups], in ds[batch][groups][channels], "
               "in db[batch][groups][channels], out dw?[groups][channels], "
               "out dbias?[groups][channels], each groups")
{
    ROW(i, groups * channels)
    {
        long long g = i / channels, k = i % channels;
        if (dw.given)
            dw(g, k) = SUM(n, batch, (ds(n, g, k) - db(n, g, k) * mean(n, g)) * rstd(n, g));
        if (dbias.given)
            dbias(g, k) = SUM(n, batch, db(n, g, k));
    }
}

// y = a slope + b other + offset, element by element: group norm's dx
REFERENCE_ONCE(two_products, "in a[planes][rows][cols], in slope[planes][rows][cols], "
                             "in b[planes][rows][cols], in other[planes][rows][cols], "
                             "in offset[planes][rows][cols], out y[planes][rows][cols], "
                             "each planes, each rows")
{
    ELEMENT(i, planes * rows, c, cols)
    {
        long long p = i / rows, r = i % rows;
        y(p, r, c) = a(p, r, c) * slope(p, r, c) + b(p, r, c) * other(p, r, c) + offset(p, r, c);
    }
}
