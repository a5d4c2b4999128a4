#include "tests/unit/ref_host/ref_quick.h"
#include "refs/dialect/ref_function.h"

double quick_exp(double x)
{
    return ref_exp_function::quick(0.0f, x);
}

double quick_sigmoid(double x)
{
    return ref_sigmoid_function::quick(0.0f, x);
}

double quick_one_plus_erf(double x)
{
    return ref_one_plus_erf_function::quick(0.0f, x);
}

double quick_one_plus_tanh(double x)
{
    return ref_one_plus_tanh_function::quick(0.0f, x);
}
