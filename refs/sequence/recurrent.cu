/*
 * recurrent.cu - the cells of recurrent networks behind their two products: x and h are those of
 * the input and of the state with the gates' weights, a row for each sequence.
 */
#include "ref.h"

// gates i, f, o = sigmoid(x + h + both biases), g = tanh of the same, next = f cell + i g,
// y = o tanh(next); `gates` are i, f, g, o (Hochreiter and Schmidhuber 1997): torch.nn.LSTMCell
REFERENCE_ONCE(lstm_cell,
               "in x[rows][4][width], in h[rows][4][width], in bias[4][width] = 0, "
               "in hidden_bias[4][width] = 0, in cell[rows][width], out y?[rows][width], "
               "out next?[rows][width], out gates?[rows][4][width], each rows, each width")
{
    ELEMENT(r, rows, c, width)
    {
        auto i = sigmoid(x(r, 0, c) + h(r, 0, c) + bias(0, c) + hidden_bias(0, c));
        auto f = sigmoid(x(r, 1, c) + h(r, 1, c) + bias(1, c) + hidden_bias(1, c));
        auto g = tanh(x(r, 2, c) + h(r, 2, c) + bias(2, c) + hidden_bias(2, c));
        auto o = sigmoid(x(r, 3, c) + h(r, 3, c) + bias(3, c) + hidden_bias(3, c));
        auto all = f * cell(r, c) + i * g;
        if (next.given)
            next(r, c) = all;
        if (y.given)
            y(r, c) = o * tanh(all);
        if (gates.given) {
            gates(r, 0, c) = i;
            gates(r, 1, c) = f;
            gates(r, 2, c) = g;
            gates(r, 3, c) = o;
        }
    }
}

// the gradient of `lstm_cell` by x (and by h, which is the same) and by the old cell, from the
// gates and cells that it stored; dy or dnext may be missing
REFERENCE_ONCE(lstm_cell_backward,
               "in gates[rows][4][width], in cell[rows][width], in next[rows][width], "
               "in dy[rows][width] = 0, in dnext[rows][width] = 0, out dx[rows][4][width], "
               "out dcell?[rows][width], each rows, each width")
{
    ELEMENT(r, rows, c, width)
    {
        auto i = gates(r, 0, c);
        auto f = gates(r, 1, c);
        auto g = gates(r, 2, c);
        auto o = gates(r, 3, c);
        auto t = tanh(next(r, c));
        auto d = dy(r, c) * o * (1 - t * t) + dnext(r, c);
        dx(r, 0, c) = d * g * (1 - i) * i;
        dx(r, 1, c) = d * cell(r, c) * (1 - f) * f;
        dx(r, 2, c) = d * i * (1 - g * g);
        dx(r, 3, c) = dy(r, c) * t * (1 - o) * o;
        if (dcell.given)
            dcell(r, c) = d * f;
    }
}

// gates r, z = sigmoid(x + h + both biases), n = tanh(x + bias + r (h + hidden_bias)),
// y = n + z (state - n); `saved` are r, z, n, the state and h + hidden_bias of n (Cho et al. 2014):
// torch.nn.GRUCell
REFERENCE_ONCE(gru_cell,
               "in x[rows][3][width], in h[rows][3][width], in bias[3][width] = 0, "
               "in hidden_bias[3][width] = 0, in state[rows][width], out y?[rows][width], "
               "out saved?[rows][5][width], each rows, each width")
{
    ELEMENT(r, rows, c, width)
    {
        auto reset = sigmoid(x(r, 0, c) + h(r, 0, c) + bias(0, c) + hidden_bias(0, c));
        auto z = sigmoid(x(r, 1, c) + h(r, 1, c) + bias(1, c) + hidden_bias(1, c));
        auto hidden = h(r, 2, c) + hidden_bias(2, c);
        auto fresh = tanh(x(r, 2, c) + bias(2, c) + reset * hidden);
        if (y.given)
            y(r, c) = fresh + z * (state(r, c) - fresh);
        if (saved.given) {
            saved(r, 0, c) = reset;
            saved(r, 1, c) = z;
            saved(r, 2, c) = fresh;
            saved(r, 3, c) = state(r, c);
            saved(r, 4, c) = hidden;
        }
    }
}

// the gradient of `gru_cell` by x, h and the state, from what it saved
REFERENCE_ONCE(gru_cell_backward,
               "in saved[rows][5][width], in dy[rows][width], out dx[rows][3][width], "
               "out dh[rows][3][width], out dstate?[rows][width], each rows, each width")
{
    ELEMENT(r, rows, c, width)
    {
        auto reset = saved(r, 0, c);
        auto z = saved(r, 1, c);
        auto fresh = saved(r, 2, c);
        auto dz = dy(r, c) * (saved(r, 3, c) - fresh) * (1 - z) * z;
        auto dn = dy(r, c) * (1 - z) * (1 - fresh * fresh);
        auto dreset = dn * saved(r, 4, c) * (1 - reset) * reset;
        dx(r, 0, c) = dreset;
        dx(r, 1, c) = dz;
        dx(r, 2, c) = dn;
        dh(r, 0, c) = dreset;
        dh(r, 1, c) = dz;
        dh(r, 2, c) = dn * reset;
        if (dstate.given)
            dstate(r, c) = dy(r, c) * z;
    }
}
