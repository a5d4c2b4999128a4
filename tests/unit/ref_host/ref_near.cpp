#include "tests/unit/ref_host/ref_near.h"
#include "refs/dialect/ref_reduce.h"

typedef ref_narrow<float, 1> loaded;
typedef ref_number<float> number;

static ref_rules<float> rules()
{
    ref_rules<float> k;
    k.u = k.u1 = k.u2 = 0x1p-24f;
    k.rho = k.edge = 0;
    k.tiny = 0x1p-126f;
    k.reach = k.u;
    k.tangent = 0;
    return k;
}

static loaded load(float x)
{
    loaded y;
    y.k = rules();
    y.f[0] = x;
    return y;
}

/* As a sum leaves it: rounded once. */
static number row_number(double v)
{
    number y(v);
    y.k = rules();
    y.e[0] = y.k.u * fabsf(y.f[0]);
    return y;
}

template <class A> static near_result result(const A &y)
{
    return {y.near(0), y.value(0), y.error(0)};
}

#define FORMULA(name, ...)                                                                         \
    static near_result name(const near_input *in)                                                  \
    {                                                                                              \
        [[maybe_unused]] const loaded x = load(in->x), w = load(in->w);                            \
        [[maybe_unused]] const number m = row_number(in->m), n = row_number(in->n);                \
        [[maybe_unused]] const ref_scale<float> s(in->s, rules());                                 \
        return result(__VA_ARGS__);                                                                \
    }

FORMULA(x_itself, x)
FORMULA(sum_of_two, (x + w))
FORMULA(difference_of_two, (x - w))
FORMULA(product_of_two, (x * w))
FORMULA(scaled, (x * s))
FORMULA(x_less_m, (x - m))
FORMULA(m_less_x, (m - x))
FORMULA(x_plus_m, (x + m))
FORMULA(log_softmax, (x - m - n))
FORMULA(scaled_line, (x * s - m))
FORMULA(line_of_line, ((x * s - m) * s + n))
FORMULA(exp_x, exp(x))
FORMULA(exp_scaled, (exp(x * s)))
FORMULA(exp_less_m, (exp(x - m)))
FORMULA(softmax, (exp(x * s - m) * n))
FORMULA(exp_times_x, (exp(x - m) * x))
FORMULA(exp_of_product, (exp(x * w)))
FORMULA(sigmoid_x, sigmoid(x))
FORMULA(silu, (x * sigmoid(x)))
FORMULA(swiglu, (x * sigmoid(x) * w))
FORMULA(sigmoid_of_sum, (sigmoid(x * s + m)))
FORMULA(rmsnorm, (x * m * w))
FORMULA(normalised, ((x - m) * n))
FORMULA(layernorm, ((x - m) * n * w + w))
FORMULA(gelu, (x * 0.5 * one_plus_erf(x * 0.70710678118654752)))
FORMULA(gelu_tanh, (x * 0.5 * one_plus_tanh((x + 0.044715 * x * x * x) * 0.79788456080286536)))
FORMULA(quotient, (x / w))

#define ROW(name)                                                                                  \
    {                                                                                              \
#name, name                                                                                \
    }
const near_formula near_formulas[] = {
    ROW(x_itself),       ROW(sum_of_two),     ROW(difference_of_two),
    ROW(product_of_two), ROW(scaled),         ROW(x_less_m),
    ROW(m_less_x),       ROW(x_plus_m),       ROW(log_softmax),
    ROW(scaled_line),    ROW(line_of_line),   ROW(exp_x),
    ROW(exp_scaled),     ROW(exp_less_m),     ROW(softmax),
    ROW(exp_times_x),    ROW(exp_of_product), ROW(sigmoid_x),
    ROW(silu),           ROW(swiglu),         ROW(sigmoid_of_sum),
    ROW(rmsnorm),        ROW(normalised),     ROW(layernorm),
    ROW(gelu),           ROW(gelu_tanh),      ROW(quotient)};
const unsigned near_formula_count = sizeof(near_formulas) / sizeof(near_formulas[0]);

static ref_call call_with(double lambda)
{
    ref_call call = {};
    call.lambda = lambda;
    call.unit_roundoff = 0x1p-24;
    call.underflow = 0x1p-126;
    call.pieces = 1;
    return call;
}

/* Lane by lane, as a warp's. */
void sums_of_powers(struct near_sums *out, const float *x, unsigned count, double m, double lambda,
                    unsigned lanes)
{
    ref_call call = call_with(lambda);
    call.lanes = lanes;
    ref_verdict cold;
    ref_hot<float> hot;
    ref_frame<float> frame(call, &cold, &hot);
    frame.steps = ref_lane_steps(&call, 1);
    const number most = row_number(m);
    auto term = [&](auto c, ref_lane_scope) { return exp(load(x[c.i]) - most); };
    ref_real<float, 1> all = frame.sum(ref_group_scope(), count, term);
    *out = {1, 0, 0, all.v[0], all.e[0]};
    frame.lanes = 32;
    for (frame.lane = 0; frame.lane < frame.lanes; frame.lane++) {
        ref_real<float, 1> part(0.0);
        out->near &= frame.near_sum(count, term, part);
        out->sum += part.v[0];
        out->error += part.e[0];
    }
}

double exp_as_term(double x)
{
    return ref_exponential_term(x);
}
