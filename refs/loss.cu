/* loss.cu - losses of rows of logits, and their gradients. */
#include "ref.h"

// loss = ln(sum(exp(x))) - x(target), 0 where the target is `ignore`; lse = ln(sum(exp(x))):
// torch.nn.functional.cross_entropy with reduction none
REFERENCE_ONCE(cross_entropy, "in x[rows][classes], in target[rows], out loss[rows], "
                              "out lse?[rows], int ignore = -100, each rows")
{
    ROW(r, rows)
    {
        long long t = INDEX(target(r));
        real m = MAX(c, classes, x(r, c));
        real all = m + log(SUM(c, classes, exp(x(r, c) - m)));
        if (t == ignore)
            loss(r) = 0.0;
        else
            loss(r) = all - x(r, t);
        if (lse.given)
            lse(r) = all;
    }
}

// dx(c) = (softmax(x)(c) - [c = target]) dloss scale, 0 where the target is `ignore`; scale is 1 /
// n where the loss is a mean
REFERENCE_ONCE(cross_entropy_backward,
               "in x[rows][classes], in target[rows], in dloss[rows] = 1, out dx[rows][classes], "
               "real scale = 1, int ignore = -100, each rows")
{
    ROW(r, rows)
    {
        long long t = INDEX(target(r));
        real m = exactly(MAX(c, classes, x(r, c)));
        real inv = 1 / SUM(c, classes, exp(x(r, c) - m));
        EACH(c, classes)
        {
            auto share = exp(x(r, c) - m) * inv;
            if (t == ignore)
                dx(r, c) = 0.0;
            else
                dx(r, c) = (share - NUMBER(equals(NUMBER(c), t))) * dloss(r) * scale;
        }
    }
}
