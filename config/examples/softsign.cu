/* softsign.cu - references for full.yaml, in the dialect that refs/README.md explains. */

// y = x / (|x| + c)
REFERENCE(softsign, "in x[rows][cols], out y[rows][cols], real c = 1")
{
    ELEMENT(r, rows, i, cols) {
        auto t = x(r, i);
        y(r, i) = t / (abs(t) + c);
    }
}

// dx = dy c / (|x| + c)^2
REFERENCE(softsign_backward, "in dy[rows][cols], in x[rows][cols], out dx[rows][cols], real c = 1")
{
    ELEMENT(r, rows, i, cols)
        dx(r, i) = dy(r, i) * c / square(abs(x(r, i)) + c);
}
