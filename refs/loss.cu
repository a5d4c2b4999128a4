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
