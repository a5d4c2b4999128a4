/*
 * activations.cu - what two kernels of kernels.cu should compute, in the dialect of refs/ref.h.
 */

// y = (x + sqrt(x^2 + c)) / 2
REFERENCE(squareplus, "in v[n], out y[n], real c")
{
    ELEMENT(r, 1, i, n)
    {
        auto x = v(i);
        y(i) = (x + sqrt(square(x) + c)) * 0.5;
    }
}

// y = c (sqrt(x^2 + 1) - 1) + x
REFERENCE_ONCE(bent, "in v[n],"
                     " out y[n], real c")
{
    ELEMENT(r, 1, i, n)
    {
        auto x = v(i);
        y(i) = (sqrt(square(x) + 1) - 1) * c + x;
    }
}
