"""torch_operations.py - PyTorch's pointwise operations: names, states and formulas, for torch-table.

A row names a functor by a regex on demangled names, the state that it carries by value, its inputs and its formula. T is the
type of the arrays, caught from the name; A is the type that it is computed in: f64 for f64, else f32.
"""

TYPE = r"(?<T>float|double|c10::Half|c10::BFloat16)"
NARROW = r"(?<T>float|c10::Half|c10::BFloat16)"
HALVES = r"(?<T>c10::Half|c10::BFloat16)"
ANY = r"(?<T>[\w: ]+)"
PLAIN = r"(?<T>float|double|c10::Half|c10::BFloat16|long|int|short|signed char|unsigned char|bool)"
SAME = r"(?P=T)"
HOST = r"at::native::(?:\(anonymous namespace\)::|binary_internal::)?"


def of_lambda(function, *types, number=r"\d+", within=r".*"):
    """A device lambda of `function`, whose last closure takes arguments of the types."""
    return HOST + r"%s\(%s\{lambda\(%s\)#%s\}" % (function, within, ", ".join(types), number)


def one(function, types=TYPE, **more):
    return of_lambda(function, types, **more)


def two(function, types=TYPE, **more):
    return of_lambda(function, types, SAME, **more)


def three(function, types=TYPE, **more):
    return of_lambda(function, types, SAME, SAME, **more)


def template(name, types, rest=""):
    return HOST + r"%s<%s%s>" % (name, types, rest)


def binary(functor, types, out=SAME):
    return template("BinaryFunctor", types, r", %s, %s, %s" % (SAME, out, HOST + functor))


def binary_lambda(function, types, out=SAME):
    """BinaryFunctor over a device lambda of the types."""
    return template("BinaryFunctor", types, r", %s, %s, %s" % (SAME, out, of_lambda(function, SAME, SAME)))


def scalar(side, functor, types, out=SAME):
    return template(side + "UnaryFunctor", types, r", %s, %s, %s" % (SAME, out, HOST + functor))


def scalar_lambda(side, function, types, out=SAME):
    return template(side + "UnaryFunctor", types, r", %s, %s, %s" % (SAME, out, of_lambda(function, SAME, SAME)))


class Operation:
    """`state`: the functor's fields in order, such as "i32 op, T value"; `inputs`: how many, or their types; `out`: its
    type; `casts`: whether the casting forms have an entry; `rounds`: the functor's arithmetic rounds each step to T;
    `captures`: the functor is a lambda that captures by value, be it nothing."""

    def __init__(self, name, functor, formula, inputs=1, state="", out="T", casts=True, rounds=False, captures=False):
        self.name, self.functor, self.formula, self.state, self.out = name, functor, formula, state, out
        self.inputs = ["T"] * inputs if isinstance(inputs, int) else inputs
        self.casts, self.rounds = casts, rounds
        self.captures = captures or bool(state) and "lambda" in functor and not state.startswith("i8 f")


MUL, DIV = r"MulFunctor<(?:float|double)> ?", r"DivFunctor<(?:float|double)> ?"
ORDER = "op == 0 && a >= %s || op == 1 && a > %s || op == 2 && a <= %s || op == 3 && a < %s"
FLOOR_DIV = "round((a - (%s == 0 ? 0 : fmod(a, %s))) / %s - (fmod(a, %s) != 0 && (%s < 0) != (fmod(a, %s) < 0)))"
REMAINDER = "fmod(a, %s) + (fmod(a, %s) != 0 && (%s < 0) != (fmod(a, %s) < 0) ? %s : 0)"


def over(formula, name):
    return formula.replace("%s", name)


# BinaryOps: arithmetic, also with one number.
ARITHMETIC = [
    Operation("add", template("CUDAFunctor_add", NARROW), "y = a + alpha * b", 2, "A alpha"),
    Operation("add", template("CUDAFunctor_add", r"(?<T>double|long|int)"), "y = a + alpha * b", 2, "T alpha"),
    Operation("add scalar", template("CUDAFunctorOnSelf_add", NARROW), "y = a + alpha * other", 1, "A other, A alpha"),
    Operation("add scalar", template("CUDAFunctorOnSelf_add", r"(?<T>double|long|int)"), "y = a + alpha * other", 1,
              "T other, T alpha"),
    Operation("scalar add", template("CUDAFunctorOnOther_add", NARROW), "y = self + alpha * a", 1, "A self, A alpha"),
    Operation("scalar add", template("CUDAFunctorOnOther_add", r"(?<T>double|long|int)"), "y = self + alpha * a", 1,
              "T self, T alpha"),
    Operation("mul", binary(MUL, NARROW), "y = a * b", 2),
    Operation("mul", binary(r"MulFunctor<%s> ?" % SAME, r"(?<T>long|int|double)"), "y = a * b", 2),
    Operation("mul bool", binary(r"MulFunctor<bool> ?", r"(?<T>bool)"), "y = a && b", 2, casts=False),
    Operation("mul scalar", scalar("[AB]", MUL, NARROW), "y = a * s", 1, "i8 f, A s"),
    Operation("mul scalar", scalar("[AB]", r"MulFunctor<%s> ?" % SAME, r"(?<T>long|int|double)"), "y = a * s", 1, "i8 f, T s"),
    Operation("div", binary(DIV, NARROW), "y = a / b", 2),
    Operation("div", binary(r"DivFunctor<%s> ?" % SAME, r"(?<T>double|c10::Half|c10::BFloat16)"), "y = a / b", 2),
    Operation("scalar div", scalar("A", DIV, NARROW), "y = s / a", 1, "i8 f, A s"),
    Operation("div scalar", scalar("B", DIV, NARROW), "y = a / s", 1, "i8 f, A s"),
    Operation("floor div", binary_lambda("div_floor_kernel_cuda", NARROW), "y = " + over(FLOOR_DIV, "b"), 2),
    Operation("floor div scalar", scalar_lambda("B", "div_floor_kernel_cuda", NARROW), "y = " + over(FLOOR_DIV, "s"), 1,
              "i8 f, T s"),
    Operation("remainder", binary_lambda("remainder_kernel_cuda", NARROW), "y = " + over(REMAINDER, "b"), 2),
    Operation("remainder scalar", scalar_lambda("B", "remainder_kernel_cuda", NARROW), "y = " + over(REMAINDER, "s"), 1,
              "i8 f, T s"),
    Operation("remainder by a number", scalar_lambda("B", "remainder_kernel_cuda", r"(?<T>long|int)"),
              "y = " + over(REMAINDER, "s"), 1, "i8 f, T s", casts=False),
    Operation("floor div by a number", scalar_lambda("B", "div_floor_kernel_cuda", r"(?<T>long|int)"), "y = floor(a / s)", 1,
              "i8 f, T s", casts=False),
    Operation("truncated div by a number", scalar_lambda("B", "div_trunc_kernel_cuda", r"(?<T>long|int)"), "y = trunc(a / s)", 1,
              "i8 f, T s", casts=False),
    Operation("fmod", binary_lambda("fmod_kernel_cuda", NARROW), "y = fmod(a, b)", 2),
    Operation("fmod scalar", scalar_lambda("B", "fmod_kernel_cuda", NARROW), "y = fmod(a, s)", 1, "i8 f, T s"),
    Operation("atan2", binary_lambda("atan2_kernel_cuda", NARROW), "y = atan2(a, b)", 2),
    Operation("maximum", binary_lambda("maximum_kernel_cuda", TYPE), "y = max(a, b)", 2),
    Operation("minimum", binary_lambda("minimum_kernel_cuda", TYPE), "y = min(a, b)", 2),
    Operation("maximum", binary_lambda("maximum_kernel_cuda", r"(?<T>long|int)"), "y = max(a, b)", 2, casts=False),
    Operation("minimum", binary_lambda("minimum_kernel_cuda", r"(?<T>long|int)"), "y = min(a, b)", 2, casts=False),
    Operation("maximum scalar", scalar_lambda("[AB]", "maximum_kernel_cuda", NARROW), "y = max(a, s)", 1, "i8 f, T s"),
    Operation("minimum scalar", scalar_lambda("[AB]", "minimum_kernel_cuda", NARROW), "y = min(a, s)", 1, "i8 f, T s"),
    Operation("fmax", binary_lambda("fmax_kernel_cuda", NARROW), "y = isnan(a) ? b : isnan(b) ? a : max(a, b)", 2),
    Operation("fmin", binary_lambda("fmin_kernel_cuda", NARROW), "y = isnan(a) ? b : isnan(b) ? a : min(a, b)", 2),
    Operation("xlogy", binary_lambda("xlogy_kernel_cuda", NARROW), "y = isnan(b) ? b : a == 0 ? 0 : a * log(b)", 2),
    Operation("pow of two", two("pow_tensor_tensor_kernel", r"(?<T>float|double)"), "y = pow(a, b)", 2, captures=True),
]

# BinaryOps: comparison and logic.
COMPARISON = [
    Operation("equal", binary(r"CompareEqFunctor<%s> ?" % SAME, PLAIN, "bool"), "y = op == 0 ? a == b : a != b", 2, "i32 op",
              "bool", casts=False),
    Operation("compare", binary(r"CompareFunctor<%s> ?" % SAME, PLAIN, "bool"), "y = " + over(ORDER, "b"), 2, "i32 op", "bool",
              casts=False),
    Operation("compare", template("CompareFunctor", PLAIN), "y = " + over(ORDER, "b"), 2, "i32 op", "bool", casts=False),
    Operation("equal scalar", scalar("[AB]", r"CompareEqFunctor<%s> ?" % SAME, PLAIN, "bool"),
              "y = op == 0 ? a == s : a != s", 1, "i32 op, T s", "bool", casts=False),
    Operation("compare scalar", one("compare_scalar_kernel<%s>" % PLAIN, SAME, within=r"[^{]*\)::"), "y = " + over(ORDER, "s"),
              1, "i32 op, T s", "bool", casts=False),
    Operation("and", binary(r"BitwiseAndFunctor<bool> ?", "(?<T>bool)"), "y = a && b", 2, casts=False),
    Operation("or", binary(r"BitwiseOrFunctor<bool> ?", "(?<T>bool)"), "y = a || b", 2, casts=False),
    Operation("xor", binary(r"BitwiseXorFunctor<bool> ?", "(?<T>bool)"), "y = a != b", 2, casts=False),
    Operation("and scalar", scalar("[AB]", r"BitwiseAndFunctor<bool> ?", "(?<T>bool)"), "y = a && s", 1, "i8 f, T s", casts=False),
    Operation("or scalar", scalar("[AB]", r"BitwiseOrFunctor<bool> ?", "(?<T>bool)"), "y = a || s", 1, "i8 f, T s", casts=False),
    Operation("xor scalar", scalar("[AB]", r"BitwiseXorFunctor<bool> ?", "(?<T>bool)"), "y = a != s", 1, "i8 f, T s", casts=False),
    Operation("logical and", binary_lambda("logical_and_kernel_cuda", PLAIN, "bool"), "y = a && b", 2, out="bool", casts=False),
    Operation("logical or", binary_lambda("logical_or_kernel_cuda", PLAIN, "bool"), "y = a || b", 2, out="bool", casts=False),
    Operation("logical not", one("logical_not_kernel_cuda", PLAIN), "y = !a", out="bool", casts=False),
    Operation("not", one("bitwise_not_kernel_cuda", "(?<T>bool)"), "y = !a", casts=False),
]

MATHS = [
    Operation("neg", one("neg_kernel_cuda", TYPE), "y = -a"),
    Operation("neg", one("neg_kernel_cuda", "(?<T>long|int)"), "y = -a", casts=False),
    Operation("reciprocal", one("reciprocal_kernel_cuda"), "y = 1 / a"),
    Operation("abs", template("AbsFunctor", TYPE), "y = abs(a)"),
    Operation("abs", template("AbsFunctor", "(?<T>long|int)"), "y = abs(a)"),
    Operation("isneginf", one("isneginf_kernel_impl", NARROW), "y = isinf(a) && a < 0", out="bool", casts=False),
    Operation("isposinf", one("isposinf_kernel_impl", NARROW), "y = isinf(a) && a > 0", out="bool", casts=False),
    Operation("frac", one("frac_kernel_cuda"), "y = a - trunc(a)"),
    Operation("log10", one("log10_kernel_cuda"), "y = log(a) * 0.4342944819032518"),
] + [Operation(name, one(name + "_kernel_cuda"), "y = %s(a)" % name) for name in
     "rsqrt sqrt exp exp2 expm1 log log2 log1p sin cos tan tanh sinh cosh asin atan sigmoid erf floor ceil trunc round sign".split()]

POWER = r"pow_tensor_scalar_kernel_impl<[\w:]+, [\w:]+>"
POWERS = [
    Operation("pow 2", one(POWER, TYPE, number=1, within=r"[^{]*\)::"), "y = a * a", captures=True),
    Operation("pow 3", one(POWER, TYPE, number=2, within=r"[^{]*\)::"), "y = a * a * a", rounds=True, captures=True),
    Operation("pow -2", one(POWER, TYPE, number=3, within=r"[^{]*\)::"), "y = 1 / (a * a)", rounds=True, captures=True),
    Operation("pow", one(POWER, r"(?<T>float|c10::Half|c10::BFloat16)", number=4, within=r"[^{]*\)::"), "y = pow(a, s)", 1, "T s"),
    Operation("power of a number", one(r"pow_scalar_tensor_impl<float>", r"(?<T>float)"), "y = pow(s, a)", 1, "T s"),
]

# The middle closures of a gelu are its two approximations.
TANH_GELU, ERF_GELU = r"[^{]*\)::\{lambda\(\)#1\}.*", r"[^{]*\)::\{lambda\(\)#2\}.*"
INNER = "(b * b * b * 0.044715 + b) * 0.7978845608028654"
ACTIVATIONS = [
    Operation("gelu, tanh", one("GeluCUDAKernelImpl", within=TANH_GELU),
              "y = 0.5 * a * one_plus_tanh(0.7978845608028654 * (a + 0.044715 * (a * a * a)))"),
    Operation("gelu", one("GeluCUDAKernelImpl", within=ERF_GELU), "y = a * 0.5 * one_plus_erf(a * 0.7071067811865476)"),
    Operation("gelu backward, tanh", two("GeluBackwardCUDAKernelImpl", within=TANH_GELU),
              "y = ((tanh(%s) + 1) * 0.5 + (1 - square(tanh(%s))) * (b * 0.5) * ((b * b * 0.134145 + 1) * 0.7978845608028654)) * a"
              % (INNER, INNER), 2),
    Operation("gelu backward", two("GeluBackwardCUDAKernelImpl", within=ERF_GELU),
              "y = a * (0.5 * one_plus_erf(b * 0.7071067811865476) + b * (exp(-0.5 * b * b) * 0.3989422804014327))", 2),
    Operation("silu", one("silu_kernel"), "y = a * sigmoid(a)"),
    Operation("silu backward", two("silu_backward_kernel"), "y = a * sigmoid(b) * (1 + b * (1 - sigmoid(b)))", 2),
    Operation("tanh backward", two("tanh_backward_kernel_cuda"), "y = a * (1 - b * b)", 2, rounds=True),
    Operation("sigmoid backward", two("sigmoid_backward_kernel_cuda"), "y = a * ((1 - b) * b)", 2, rounds=True),
    Operation("threshold", binary_lambda("threshold_kernel_impl<[^>]*>", NARROW), "y = a <= threshold ? value : b", 2,
              "T threshold, T value", casts=False),
    Operation("clamp", one("launch_clamp_scalar", NARROW),
              "y = limits == 0 ? max(a, low) : min(limits == 1 ? a : max(a, low), high)", 1,
              "i32 limits, A low, A high"),
    Operation("clamp", one("launch_clamp_scalar", r"(?<T>long|int)"),
              "y = limits == 0 ? max(a, low) : min(limits == 1 ? a : max(a, low), high)", 1, "i32 limits, T low, T high",
              casts=False),
    Operation("clamp of arrays", three("clamp_kernel_impl", NARROW), "y = isnan(a) ? a : min(max(a, b), c)", 3, casts=False),
    Operation("leaky relu", one("leaky_relu_kernel", NARROW), "y = a > 0 ? a : a * slope", 1, "A slope"),
    Operation("leaky relu backward", two("leaky_relu_backward_kernel", NARROW), "y = a > 0 ? b : b * slope", 2, "A slope"),
    Operation("elu", one("elu_kernel", NARROW), "y = a > 0 ? a * right : expm1(a * inner) * left", 1, "A left, A right, A inner"),
    Operation("elu backward", two("elu_backward_kernel", NARROW),
              "y = b > 0 ? a * right : (result != 0 ? b + left : exp(b * inner) * left) * inner * a", 2,
              "A left, A right, A inner, i8 result"),
    Operation("hardtanh backward", two("hardtanh_backward_kernel", NARROW), "y = b <= low || b >= high ? 0 : a", 2, "A low, A high"),
    Operation("hardswish", one("hardswish_kernel", NARROW), "y = a * min(max(a + 3, 0), 6) * 0.16666666666666666", 1,
              "A zero, A sixth, A three, A six"),
    Operation("hardsigmoid", one("hardsigmoid_kernel", NARROW), "y = min(max(a + 3, 0), 6) * 0.16666666666666666", 1,
              "A zero, A sixth, A three, A six"),
    Operation("hardswish backward", two("hardswish_backward_kernel", NARROW), "y = b <= -3 ? 0 : b < 3 ? a * (b / 3 + 0.5) : a", 2,
              "A zero, A three, A minus, A half"),
    Operation("hardsigmoid backward", two("hardsigmoid_backward_kernel", NARROW), "y = b > -3 && b < 3 ? a * 0.16666666666666666 : 0", 2,
              "A zero, A three, A minus, A sixth"),
    Operation("softplus", one("softplus_kernel", NARROW), "y = a * beta > threshold ? a : log1p(exp(a * beta)) / beta", 1,
              "A beta, A threshold"),
    Operation("softplus backward", two("softplus_backward_kernel", NARROW),
              "y = b * beta > threshold ? a : a * sigmoid(b * beta)", 2, "A beta, A threshold"),
    Operation("mish", one("mish_kernel", NARROW), "y = a * tanh(log1p(exp(a)))"),
    Operation("mish backward", two("mish_backward_kernel", NARROW),
              "y = a * (tanh(log1p(exp(b))) + b * sigmoid(b) * (1 - square(tanh(log1p(exp(b))))))", 2),
    Operation("prelu", two("prelu_kernel", NARROW), "y = a > 0 ? a : b * a", 2, rounds=True),
    Operation("log sigmoid", one("launch_log_sigmoid_forward_kernel", NARROW), "y = min(0, a) - log1p(exp(-abs(a)))"),
    Operation("log sigmoid backward", two("log_sigmoid_backward_kernel", NARROW), "y = b * sigmoid(-a)", 2),
    Operation("glu", two("glu_kernel", NARROW), "y = a * sigmoid(b)", 2),
    Operation("nan to num", one("nan_to_num_kernel_cuda", NARROW), "y = isnan(a) ? nan : isinf(a) ? (a > 0 ? high : low) : a", 1,
              "T nan, T high, T low"),
]

# TernaryOps, fills, copies, dropout.
CHOICES = [
    Operation("where", of_lambda("where_kernel_impl", "bool", PLAIN, SAME), "y = a ? b : c", ["bool", "T", "T"], casts=False),
    Operation("masked fill", of_lambda("masked_fill_kernel", PLAIN, "bool"), "y = b ? value : a", ["T", "bool"], "T value",
              casts=False),
    Operation("masked scale", of_lambda("masked_scale_kernel<bool, .*>", NARROW, "bool"), "y = a * b * scale", ["T", "bool"], "A scale",
              casts=False),
    Operation("masked scale", of_lambda("masked_scale_kernel<unsigned char, .*>", NARROW, "unsigned char"), "y = a * b * scale",
              ["T", "u8"], "A scale", casts=False),
    Operation("addcmul", three("addcmul_cuda_kernel", NARROW), "y = a + s * (b * c)", 3, "A s"),
    Operation("addcdiv", three("addcdiv_cuda_kernel", NARROW), "y = a + s * (b / c)", 3, "A s"),
    Operation("lerp", two("lerp_scalar_kernel", NARROW), "y = abs(w) < 0.5 ? a + w * (b - a) : b - (b - a) * (1 - w)", 2, "A w"),
    Operation("lerp by an array", three("lerp_tensor_kernel", NARROW), "y = abs(c) < 0.5 ? a + c * (b - a) : b - (b - a) * (1 - c)", 3),
    Operation("fill", template("FillFunctor", PLAIN), "y = value", 0, "T value", casts=False),
    Operation("copy", one("direct_copy_kernel_cuda", TYPE), "y = a"),
    Operation("copy", one("direct_copy_kernel_cuda", "(?<T>long)"), "y = trunc(a)"),
    Operation("copy", one("direct_copy_kernel_cuda", "(?<T>int)"), "y = trunc(a)"),
    Operation("copy", one("direct_copy_kernel_cuda", "(?<T>short)"), "y = trunc(a)"),
    Operation("copy", one("direct_copy_kernel_cuda", "(?<T>signed char)"), "y = trunc(a)"),
    Operation("copy", one("direct_copy_kernel_cuda", "(?<T>unsigned char)"), "y = trunc(a)"),
    Operation("copy", one("direct_copy_kernel_cuda", "(?<T>bool)"), "y = a != 0"),
    # c10::Float8_e4m3fn makes a NaN of what would round beyond 448, c10::Float8_e5m2 an infinity of what is too large.
    Operation("copy to e4m3", one("float8_copy_kernel_cuda", NARROW, number="1"), "y = abs(a) > 464 ? log(-1) : a", out="f8e4m3",
              casts=False),
    Operation("copy to e5m2", one("float8_copy_kernel_cuda", NARROW, number="2"), "y = a", out="f8e5m2", casts=False),
    Operation("copy to bf16", one("bfloat16_copy_kernel_cuda", "(?<T>float)"), "y = a", out="bf16", casts=False),
    Operation("copy to bf16", one("bfloat16_copy_kernel_cuda", "(?<T>c10::Half)"), "y = a", out="bf16", casts=False),
    Operation("copy from bf16", one("bfloat16tofloat32_copy_kernel_cuda", "(?<T>c10::BFloat16)"), "y = a", out="f32", casts=False),
    Operation("copy to f16", one("float16_copy_kernel_cuda", "(?<T>float)"), "y = a", out="f16", casts=False),
    Operation("copy from f16", one("float16tofloat32_copy_kernel_cuda", "(?<T>c10::Half)"), "y = a", out="f32", casts=False),
]

LOSSES = [
    Operation("mse", two("mse_kernel_cuda"), "y = (a - b) * (a - b)", 2, rounds=True),
    Operation("mse backward", three("mse_backward_cuda_kernel", NARROW), "y = s * (a - b) * c", 3, "T s", rounds=True),
    Operation("smooth l1", two("smooth_l1_kernel_cuda", NARROW),
              "y = abs(a - b) < beta ? 0.5 * abs(a - b) * abs(a - b) / beta : abs(a - b) - 0.5 * beta", 2, "T beta", rounds=True),
    Operation("huber", two("huber_kernel_cuda", NARROW),
              "y = abs(a - b) < delta ? 0.5 * abs(a - b) * abs(a - b) : delta * (abs(a - b) - 0.5 * delta)", 2, "T delta", rounds=True),
    Operation("smooth l1 backward", three("smooth_l1_backward_cuda_kernel", NARROW),
              "y = max(min((a - b) / beta, 1), -1) * s * c", 3, "T s, T beta", rounds=True),
    Operation("huber backward", three("huber_backward_cuda_kernel", NARROW),
              "y = max(min(a - b, delta), -delta) * s * c", 3, "T s, T delta", rounds=True),
    Operation("binary cross entropy", two("binary_cross_entropy_out_cuda", "(?<T>float|double)"),
              "y = (b - 1) * max(log1p(-a), -100) - b * max(log(a), -100)", 2),
    Operation("binary cross entropy backward", three("binary_cross_entropy_backward_out_kernel", "(?<T>float|double)").replace(
              HOST, r"(?:at::native::)?(?:\(anonymous namespace\)::)*"), "y = a * (b - c) / max((1 - b) * b, 1e-12)", 3),
    Operation("inverse deviation", one("batch_norm_calc_invstd", NARROW), "y = rsqrt(a + eps)", 1, "A eps", out="A", casts=False),
]

# Group norm's multiply-adds. Of its lambdas of three floats the first has no weights.
GROUP = r"GroupNorm%sImplInternal<%s>"
WITHIN = r"[^{]*\)::"
GROUP_NORM = [
    Operation("group norm, no weights", of_lambda(GROUP % ("Kernel", HALVES), SAME, SAME, SAME, within=WITHIN), "y = (a - b) * c", 3, casts=False),
    Operation("group norm, no weights", of_lambda(GROUP % ("Kernel", "(?<T>float)"), *3 * [SAME], number=1, within=WITHIN), "y = (a - b) * c",
              3, casts=False),
    Operation("group norm", of_lambda(GROUP % ("Kernel", "(?<T>float)"), *3 * [SAME], number=2, within=WITHIN), "y = b * a + c", 3, casts=False),
    Operation("group norm", of_lambda(GROUP % ("Kernel", HALVES), SAME, "float", "float", within=WITHIN), "y = b * a + c", ["T", "f32", "f32"],
              casts=False),
    Operation("group norm backward, weights", of_lambda(GROUP % ("BackwardKernel", NARROW), SAME, SAME, within=WITHIN), "y = a * b", 2, out="f32",
              casts=False),
]

OPERATIONS = ARITHMETIC + COMPARISON + MATHS + POWERS + ACTIVATIONS + CHOICES + LOSSES + GROUP_NORM
