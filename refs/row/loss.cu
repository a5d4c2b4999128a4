/* loss.cu - losses of rows of logits, and their gradients. */
#include "ref.h"

// loss = lse - x(target), lse = ln(sum(exp(x))); of which `smoothing` parts go to the mean over the
// classes of lse - x(c) (Szegedy et al. 2016); 0 where the target is `ignore`:
// torch.nn.functional.cross_entropy with reduction none
REFERENCE_ONCE(cross_entropy, "in x[rows][classes], in target[rows], out loss[rows], "
                              "out lse?[rows], real smoothing = 0, int ignore = -100, each rows")
{
    ROW(r, rows)
    {
        long long t = INDEX(target(r));
        real m = MAX(c, classes, x(r, c));
        real all = m + log(SUM(c, classes, exp(x(r, c) - m)));
        real spread = smoothing.v == 0 ? m : SUM(c, classes, x(r, c)) / classes;
        if (t == ignore)
            loss(r) = 0.0;
        else if (smoothing.v == 0)
            loss(r) = all - x(r, t);
        else
            loss(r) = all - x(r, t) * (1 - smoothing) - spread * smoothing;
        if (lse.given)
            lse(r) = all;
    }
}

// dx(c) = (softmax(x)(c) - (1 - smoothing) [c = target] - smoothing / classes) dloss scale / count,
// count the rows where the loss is their mean; 0 where the target is `ignore`. `loss` as in
// cross_entropy, for kernels that do both at once, in the place of the logits (llm.c, Liger)
REFERENCE_ONCE(cross_entropy_backward,
               "in x[rows][classes], in target[rows], in dloss[rows] = 1, out dx[rows][classes], "
               "out loss?[rows], real scale = 1, real smoothing = 0, int ignore = -100, "
               "int count = 1, each rows")
{
    ROW(r, rows)
    {
        long long t = INDEX(target(r));
        real m = exactly(MAX(c, classes, x(r, c)));
        real sum = SUM(c, classes, exp(x(r, c) - m));
        real inv = 1 / sum;
        real rate = count == 1 ? real(scale) : scale / count;
        EACH(c, classes)
        {
            auto share = exp(x(r, c) - m) * inv;
            auto hot = NUMBER(equals(NUMBER(c), t)) * (1 - smoothing) + smoothing / classes;
            if (t == ignore)
                dx(r, c) = 0.0;
            else
                dx(r, c) = (share - hot) * dloss(r) * rate;
        }
        real all = m + log(sum);
        if (loss.given && t == ignore)
            loss(r) = 0.0;
        else if (loss.given && smoothing.v == 0)
            loss(r) = all - x(r, t);
        else if (loss.given)
            loss(r) =
                all - x(r, t) * (1 - smoothing) - SUM(c, classes, x(r, c)) / classes * smoothing;
    }
}

/* More logits than one group of lanes can take without holding its multiprocessor for long. */
#define LOSS_LOGITS_MAX 67108864

// loss = scale times the sum of the rows' losses, as in cross_entropy, or with mean = 1 times their
// mean over the rows whose target is not `ignore`: torch's reductions sum and mean. One group of
// lanes computes it all, so more than 2^26 logits are not checked.
REFERENCE_ONCE(cross_entropy_total,
               "in x[rows][classes], in target[rows], out loss[1], real scale = 1, "
               "real smoothing = 0, int ignore = -100, int mean = 1")
{
    ROW(i, rows * classes > LOSS_LOGITS_MAX ? 0 : 1)
    {
        TERM(most, r, exactly(MAX(c, classes, x(r, c))));
        TERM(lse, r, WITH(m, most(r), m + log(SUM(c, classes, exp(x(r, c) - m)))));
        TERM(spread, r, smoothing.v == 0 ? real(0.0) : SUM(c, classes, x(r, c)) / classes);
        TERM(hit, r, x(r, INDEX(target(r))) * (1 - smoothing) + spread(r) * smoothing);
        real sum = SUM_IF(r, rows, INDEX(target(r)) != ignore, lse(r) - hit(r));
        real count = SUM_IF(r, rows, INDEX(target(r)) != ignore, NUMBER(1));
        loss(i) = sum * scale / (mean ? exactly(count) : real(1.0));
    }
}

// loss = the sum of -w(t) x(r, t), t = target(r), over the rows whose target is not `ignore`, x
// logarithms of probabilities; with mean = 1 divided by `weight`, the sum of their w(t):
// torch.nn.functional.nll_loss
REFERENCE_ONCE(nll_loss, "in x[rows][classes], in target[rows], in w[classes] = 1, out loss[1], "
                         "out weight?[1], int ignore = -100, int mean = 1")
{
    ROW(i, 1)
    {
        TERM(t, r, INDEX(target(r)));
        real sum = SUM_IF(r, rows, t(r) != ignore, x(r, t(r)) * w(t(r)));
        real all = SUM_IF(r, rows, t(r) != ignore, w(t(r)));
        loss(i) = mean ? -sum / all : -sum;
        if (weight.given)
            weight(i) = all;
    }
}

// dx(r, t) = -w(t) dloss / weight, t = target(r), with `weight` as nll_loss has it where the loss
// is a mean; 0 elsewhere, and in rows whose target is `ignore`
REFERENCE_ONCE(nll_loss_backward,
               "in target[rows], in w[classes] = 1, in dloss[1], in weight[1] = 1, "
               "out dx[rows][classes], int ignore = -100, each rows")
{
    ROW(r, rows)
    {
        long long t = INDEX(target(r));
        real rate = t == ignore ? real(0.0) : -(w(t) * dloss(0) / weight(0));
        EACH(c, classes) dx(r, c) = NUMBER(equals(NUMBER(c), t)) * rate;
    }
}

// loss = the sum of (x - target)^2, with mean = 1 over their number: torch.nn.functional.mse_loss.
// More than 2^26 elements are not checked.
REFERENCE_ONCE(mse_loss, "in x[rows][cols], in target[rows][cols], out loss[1], int mean = 1")
{
    ROW(i, rows * cols > LOSS_LOGITS_MAX ? 0 : 1)
    {
        real sum = SUM(c, cols, SUM(r, rows, square(x(r, c) - target(r, c))));
        loss(i) = mean ? sum / (rows * cols) : sum;
    }
}

// loss = the sum of -(t log(x) + (1 - t) log(1 - x)), t the target, logarithms -100 or more, with
// mean = 1 over their number: torch.nn.functional.binary_cross_entropy
REFERENCE_ONCE(bce_loss, "in x[rows][cols], in target[rows][cols], out loss[1], int mean = 1")
{
    ROW(i, rows * cols > LOSS_LOGITS_MAX ? 0 : 1)
    {
        real sum = SUM(c, cols,
                       SUM(r, rows,
                           target(r, c) * max(log(x(r, c)), -100) +
                               (1 - target(r, c)) * max(log(1 - x(r, c)), -100)));
        loss(i) = mean ? -sum / (rows * cols) : -sum;
    }
}

// `nll_loss` of images, the sum: -w(t) x(b, t, i), t the target of pixel i of image b
REFERENCE_ONCE(nll_loss_images,
               "in x[batch][classes][pixels], in target[batch][pixels], in w[classes] = 1, "
               "out loss[1], out weight?[1], int ignore = -100")
{
    const long long n = batch * pixels;
    ROW(i, 1)
    {
        TERM(t, j, INDEX(target(j / pixels, j % pixels)));
        real sum = SUM_IF(j, n, t(j) != ignore, x(j / pixels, t(j), j % pixels) * w(t(j)));
        loss(i) = -sum;
        if (weight.given)
            weight(i) = SUM_IF(j, n, t(j) != ignore, w(t(j)));
    }
}

// the gradient of `nll_loss_images`, and over `weight` that of the mean: 0 but at the targets
REFERENCE_ONCE(nll_loss_images_backward,
               "in target[batch][pixels], in w[classes] = 1, in dloss[1], in weight[1] = 1, "
               "out dx[batch][classes][pixels], int ignore = -100, each batch, each pixels")
{
    SAMPLE(i, batch * classes * pixels, 65536)
    {
        const long long b = i / pixels / classes, c = i / pixels % classes, j = i % pixels;
        const bool hit = c != ignore && INDEX(target(b, j)) == c;
        dx(b, c, j) = hit ? real(-(w(c) * dloss(0) / weight(0))) : real(0.0);
    }
}
