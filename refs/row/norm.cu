/* norm.cu - normalisation of rows. */
#include "ref.h"

// y = x / rms(x) * w, rstd = 1 / rms(x), rms(x) = sqrt(mean(x^2) + eps) (Zhang and Sennrich 2019);
// xhat = x / rms(x) is rounded to the dtype of x before the weight in Llama of Hugging Face and in
// vLLM
REFERENCE(rmsnorm, "in x[rows][cols], in w[cols] = 1, out y[rows][cols], out rstd?[rows], "
                   "real eps, point xhat, each rows")
{
    ROW(r, rows)
    {
        real ms = SUM(c, cols, square(x(r, c))) / cols;
        real inv = rsqrt(ms + eps);
        EACH(c, cols) y(r, c) = xhat(x(r, c) * inv) * w(c);
        if (rstd.given)
            rstd(r) = inv;
    }
}

// y = (x - mean(x)) / sqrt(var(x) + eps) * w + b, var with 1 / n (Ba, Kiros and Hinton 2016)
REFERENCE(layernorm, "in x[rows][cols], in w[cols] = 1, in b[cols] = 0, out y[rows][cols], "
                     "out mean?[rows], out rstd?[rows], real eps, point xhat, each rows")
{
    ROW(r, rows)
    {
        real mu = SUM(c, cols, x(r, c)) / cols;
        real var = SUM(c, cols, square(x(r, c) - mu)) / cols;
        real inv = rsqrt(var + eps);
        EACH(c, cols) y(r, c) = xhat((x(r, c) - mu) * inv) * w(c) + b(c);
        if (mean.given)
            mean(r) = mu;
        if (rstd.given)
            rstd(r) = inv;
    }
}

// y = x / rms(x) * (offset + w): rmsnorm with weights about 0, as in Gemma and in Liger; times
// out_scale where y is in f8
REFERENCE_ONCE(rmsnorm_offset,
               "in x[rows][cols], in w[cols] = 0, out y[rows][cols], out rstd?[rows], "
               "real eps, real offset = 1, real out_scale = 1, point xhat, "
               "each rows")
{
    ROW(r, rows)
    {
        real ms = SUM(c, cols, square(x(r, c))) / cols;
        real inv = rsqrt(ms + eps);
        EACH(c, cols) y(r, c) = xhat(x(r, c) * inv) * (w(c) + offset) * out_scale;
        if (rstd.given)
            rstd(r) = inv;
    }
}

// y = ((x - mean(x)) / sqrt(var(x) + eps) (offset + w) + b) out_scale: layernorm with weights about
// 0 or into f8, as in Transformer Engine. Apex rounds the first factor and the product (`scaled`).
REFERENCE_ONCE(layernorm_offset,
               "in x[rows][cols], in w[cols] = 1, in b[cols] = 0, out y[rows][cols], "
               "out mean?[rows], out rstd?[rows], real eps, real offset = 0, real out_scale = 1, "
               "point xhat, point scaled, each rows")
{
    ROW(r, rows)
    {
        real mu = SUM(c, cols, x(r, c)) / cols;
        real var = SUM(c, cols, square(x(r, c) - mu)) / cols;
        real inv = rsqrt(var + eps);
        EACH(c, cols)
        y(r, c) = (scaled(xhat((x(r, c) - mu) * inv) * (w(c) + offset)) + b(c)) * out_scale;
        if (mean.given)
            mean(r) = mu;
        if (rstd.given)
            rstd(r) = inv;
    }
}

// y = x / rms(x) w + added
REFERENCE_ONCE(rmsnorm_add, "in x[rows][cols], in w[cols] = 1, in added[rows][cols], "
                            "out y[rows][cols], real eps, each rows")
{
    ROW(r, rows)
    {
        real ms = SUM(c, cols, square(x(r, c))) / cols;
        real inv = rsqrt(ms + eps);
        EACH(c, cols) y(r, c) = x(r, c) * inv * w(c) + added(r, c);
    }
}

// z = x + residual, y = rmsnorm(z) with z as it was stored: vLLM's fused_add_rms_norm
REFERENCE_ONCE(add_rmsnorm,
               "in x[rows][cols], in residual[rows][cols], in w[cols] = 1, "
               "out z[rows][cols], out y[rows][cols], out rstd?[rows], real eps, point xhat, "
               "each rows")
{
    ROW(r, rows)
    {
        EACH(c, cols) z(r, c) = x(r, c) + residual(r, c);
        real ms = SUM(c, cols, square(z.after(r, c))) / cols;
        real inv = rsqrt(ms + eps);
        EACH(c, cols) y(r, c) = xhat(z.after(r, c) * inv) * w(c);
        if (rstd.given)
            rstd(r) = inv;
    }
}

// the same with z as it was before it was rounded and stored: FlashInfer's fused_add_rmsnorm
REFERENCE_ONCE(add_rmsnorm_unrounded,
               "in x[rows][cols], in residual[rows][cols], in w[cols] = 1, "
               "out z?[rows][cols], out y[rows][cols], out rstd?[rows], real eps, "
               "real offset = 0, point xhat, each rows")
{
    ROW(r, rows)
    {
        real ms = SUM(c, cols, square(x(r, c) + residual(r, c))) / cols;
        real inv = rsqrt(ms + eps);
        EACH(c, cols)
        {
            auto sum = x(r, c) + residual(r, c);
            if (z.given)
                z(r, c) = sum;
            y(r, c) = sum * inv * (w(c) + offset);
        }
        if (rstd.given)
            rstd(r) = inv;
    }
}

// z = x + residual, y = layernorm(z) with z as it was stored: llm.c's fused_residual_forward
REFERENCE_ONCE(add_layernorm, "in x[rows][cols], in residual[rows][cols], in w[cols] = 1, "
                              "in b[cols] = 0, out z[rows][cols], out y[rows][cols], "
                              "out mean?[rows], out rstd?[rows], real eps, each rows")
{
    ROW(r, rows)
    {
        EACH(c, cols) z(r, c) = x(r, c) + residual(r, c);
        real mu = SUM(c, cols, z.after(r, c)) / cols;
        real var = SUM(c, cols, square(z.after(r, c) - mu)) / cols;
        real inv = rsqrt(var + eps);
        EACH(c, cols) y(r, c) = (z.after(r, c) - mu) * inv * w(c) + b(c);
        if (mean.given)
            mean(r) = mu;
        if (rstd.given)
            rstd(r) = inv;
    }
}

// y = x / max(|x|, eps), |x| the Euclidean length: torch.nn.functional.normalize
REFERENCE_ONCE(l2norm, "in x[rows][cols], out y[rows][cols], real eps = 1e-12, each rows")
{
    ROW(r, rows)
    {
        real length = sqrt(SUM(c, cols, square(x(r, c))));
        EACH(c, cols) y(r, c) = x(r, c) / max(length, eps);
    }
}

// layernorm over the channels of a group and their places alike, weights a channel each (Wu and He
// 2018)
REFERENCE_ONCE(groupnorm, "in x[batch][groups][channels][size], in w[groups][channels] = 1, "
                          "in b[groups][channels] = 0, "
                          "out y?[batch][groups][channels][size], out mean?[batch][groups], "
                          "out rstd?[batch][groups], real eps, each batch, each groups")
{
    ROW(i, batch * groups)
    {
        long long n = i / groups, g = i % groups, count = channels * size;
        real mu = SUM(s, size, SUM(k, channels, x(n, g, k, s))) / count;
        real var = SUM(s, size, SUM(k, channels, square(x(n, g, k, s) - mu))) / count;
        real inv = rsqrt(var + eps);
        LOOP(k, y.given ? channels : 0)
        EACH(s, size) y(n, g, k, s) = (x(n, g, k, s) - mu) * inv * w(g, k) + b(g, k);
        if (mean.given)
            mean(n, g) = mu;
        if (rstd.given)
            rstd(n, g) = inv;
    }
}

// scale = rstd w and shift = b - scale mean of each channel: PyTorch's group norm, whose output is
// x scale + shift
REFERENCE_ONCE(groupnorm_fold, "in mean[batch][groups], in rstd[batch][groups], "
                               "in w[groups][channels] = 1, in b[groups][channels] = 0, "
                               "out scale[batch][groups][channels], "
                               "out shift[batch][groups][channels], each batch, each groups")
{
    ROW(i, batch * groups)
    {
        long long n = i / groups, g = i % groups;
        EACH(k, channels)
        {
            auto folded = rstd(n, g) * w(g, k);
            scale(n, g, k) = folded;
            shift(n, g, k) = b(g, k) - folded * mean(n, g);
        }
    }
}

// y = (x - mean) / sqrt(var + eps) * w + b, mean and var of each channel as they were learned:
// torch.nn.functional.batch_norm outside training (Ioffe and Szegedy 2015)
REFERENCE_ONCE(batchnorm, "in x[batch][channels][size], in mean[channels], in var[channels], "
                          "in w[channels] = 1, in b[channels] = 0, "
                          "out y[batch][channels][size], real eps, each batch, "
                          "each channels, each size")
{
    ELEMENT(i, batch * channels, s, size)
    {
        long long n = i / channels, k = i % channels;
        real scale = rsqrt(var(k) + eps) * w(k);
        y(n, k, s) = x(n, k, s) * scale + (b(k) - mean(k) * scale);
    }
}

// the same with mean and rstd = 1 / sqrt(var + eps) of the batch, as they were computed before
REFERENCE_ONCE(batchnorm_apply,
               "in x[batch][channels][size], in mean[channels], in rstd[channels], "
               "in w[channels] = 1, in b[channels] = 0, "
               "out y[batch][channels][size], each batch, each channels, "
               "each size")
{
    ELEMENT(i, batch * channels, s, size)
    {
        long long n = i / channels, k = i % channels;
        y(n, k, s) = (x(n, k, s) - mean(k)) * rstd(k) * w(k) + b(k);
    }
}

// rstd = 1 / sqrt(var + eps), and running values that move by `momentum` towards mean and var
// correction, where correction = count / (count - 1): what torch.nn.functional.batch_norm does with
// the statistics of a batch in training
REFERENCE_ONCE(batchnorm_running,
               "in mean[channels], in var[channels], in running_mean[channels], "
               "in running_var[channels], out new_mean[channels], out new_var[channels], "
               "out rstd[channels], real eps, real momentum, real correction, each channels")
{
    ROW(k, channels)
    {
        new_mean(k) = mean(k) * momentum + running_mean(k) * (1 - momentum);
        new_var(k) = var(k) * correction * momentum + running_var(k) * (1 - momentum);
        rstd(k) = rsqrt(var(k) + eps);
    }
}

// y = (x - mean) rstd w + b, mean and var = mean((x - mean)^2) of each channel over the batch and
// the places, rstd = 1 / sqrt(var + eps); running values move by `momentum` towards mean and
// var count / (count - 1): torch.nn.functional.batch_norm in training (Ioffe and Szegedy 2015)
REFERENCE_ONCE(batchnorm_training,
               "in x[batch][channels][size], in w[channels] = 1, in b[channels] = 0, "
               "out y?[batch][channels][size], out mean?[channels], out rstd?[channels], "
               "out var?[channels], inout running_mean?[channels], inout running_var?[channels], "
               "real eps, real momentum = 0.1, each channels")
{
    ROW(k, channels)
    {
        long long count = batch * size;
        real mu = SUM(s, size, SUM(n, batch, x(n, k, s))) / count;
        real spread = SUM(s, size, SUM(n, batch, square(x(n, k, s) - mu))) / count;
        real inv = rsqrt(spread + eps);
        LOOP(n, y.given ? batch : 0)
        EACH(s, size) y(n, k, s) = (x(n, k, s) - mu) * inv * w(k) + b(k);
        if (mean.given)
            mean(k) = mu;
        if (rstd.given)
            rstd(k) = inv;
        if (var.given)
            var(k) = spread;
        if (running_mean.given)
            running_mean(k) = running_mean.before(k) * (1 - momentum) + mu * momentum;
        if (running_var.given)
            running_var(k) = running_var.before(k) * (1 - momentum) +
                             spread * count / (count > 1 ? count - 1 : 1) * momentum;
    }
}

// y = v g / |v|, of each row: torch.nn.utils.weight_norm (Salimans and Kingma 2016)
REFERENCE_ONCE(weight_norm, "in v[rows][cols], in g[rows], out y[rows][cols], out norm?[rows], "
                            "each rows")
{
    ROW(r, rows)
    {
        real length = sqrt(SUM(c, cols, square(v(r, c))));
        real rate = g(r) / length;
        EACH(c, cols) y(r, c) = v(r, c) * rate;
        if (norm.given)
            norm(r) = length;
    }
}

// the gradient of `weight_norm`, s = sum(dy v): dg = s / norm, dv = g (dy / norm - v s / norm^3)
REFERENCE_ONCE(weight_norm_backward,
               "in dy[rows][cols], in v[rows][cols], in g[rows], in norm[rows], "
               "out dv[rows][cols], out dg?[rows], each rows")
{
    ROW(r, rows)
    {
        real inverse = 1 / real(norm(r));
        real s = SUM(c, cols, dy(r, c) * v(r, c));
        real slope = s * inverse * inverse * inverse;
        EACH(c, cols) dv(r, c) = (dy(r, c) * inverse - v(r, c) * slope) * g(r);
        if (dg.given)
            dg(r) = s * inverse;
    }
}
