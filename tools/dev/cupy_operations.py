"""cupy_operations.py - CuPy's ufuncs by name: types and formulas, for cupy-table.

A name as the driver sees it is the ufunc's, two underscores, and a word for each argument: the dtype of an array, the kind of a
scalar. T is the output's type, in which it computes; a scalar is passed in it.
"""

REAL = "bool|u?int(?:8|16|32|64)|b?float16|float32|float64"
FLOAT = "b?float16|float32|float64"
WIDE = "float32|float64"
KIND = "(?:float|u?int|bool|bfloat)"


class Operation:
    """`out`: the output's type as a regex, T in the entry; `inputs`: letter -> types of an array there, or None where it is as
    the output; `masks`: which inputs may be scalars, a set of letters each; `scalar`: the word and the type of a scalar."""

    def __init__(self, name, formula, out=FLOAT, inputs="a", masks=("",), types=REAL, scalar=(KIND, "T"), dims=5, extra=()):
        self.name, self.formula, self.out, self.masks, self.scalar, self.dims = name, formula, out, masks, scalar, dims
        self.inputs = inputs if isinstance(inputs, dict) else {letter: types for letter in inputs}
        self.extra = list(extra)


EACH = ("", "a", "b")


def two(name, formula, out=FLOAT, **more):
    return Operation("cupy_" + name, formula, out, "ab", EACH, **more)


def truth(name, formula, inputs="ab"):
    """A comparison: exact in any type. A scalar has the array's type, or f64 where its kind is a wider one."""
    masks = EACH[1:] if inputs == "ab" else ()
    yield Operation("cupy_" + name, formula, "bool", inputs)
    for mask in masks:
        array = "b" if mask == "a" else "a"
        for types, kind, scalar in ((FLOAT, "(?:float|u?int|bool)", array.upper()),
                                    ("u?int(?:8|16|32|64)", "(?:u?int|bool)", "i64"), ("u?int(?:8|16|32|64)", "float", "f64")):
            yield Operation("cupy_" + name, formula, "bool", {letter: types for letter in inputs}, (mask,), scalar=(kind, scalar))


def one(name, formula, out=FLOAT, **more):
    return Operation("cupy_" + name, formula, out, "a", **more)


WHOLE = "int32|int64"
FLOOR = "round((a - (b == 0 ? 0 : fmod(a, b))) / b - (fmod(a, b) != 0 && (b < 0) != (fmod(a, b) < 0)))"

ARITHMETIC = [
    two("add", "y = a + b", FLOAT + "|" + WHOLE),
    two("subtract", "y = a - b", FLOAT + "|" + WHOLE),
    two("multiply", "y = a * b", FLOAT + "|" + WHOLE),
    two("true_divide", "y = a / b"),
    two("true_divide", "y = a / b", "float64", types="u?int(?:8|16|32|64)", scalar=("u?int", "i64")),
    two("floor_divide", "y = " + FLOOR, WIDE),
    two("power", "y = pow(a, b)"),
    two("maximum", "y = max(a, b)", FLOAT + "|u?int(?:8|16|32|64)"),
    two("minimum", "y = min(a, b)", FLOAT + "|u?int(?:8|16|32|64)"),
    two("fmax", "y = isnan(a) ? b : isnan(b) ? a : max(a, b)"),
    two("fmin", "y = isnan(a) ? b : isnan(b) ? a : min(a, b)"),
    two("fmod", "y = fmod(a, b)", WIDE),
    two("arctan2", "y = atan2(a, b)"),
    two("hypot", "y = sqrt(a * a + b * b)", WIDE),
]

TRUTH = [
    *truth("equal", "y = a == b"), *truth("not_equal", "y = a != b"),
    *truth("less", "y = a < b"), *truth("less_equal", "y = a <= b"),
    *truth("greater", "y = a > b"), *truth("greater_equal", "y = a >= b"),
    *truth("logical_and", "y = a && b"), *truth("logical_or", "y = a || b"), *truth("logical_not", "y = !a", "a"),
    *truth("isnan", "y = isnan(a)", "a"), *truth("isinf", "y = isinf(a)", "a"),
    *truth("isfinite", "y = !(isnan(a) || isinf(a))", "a"),
] + [two("bitwise_" + name, formula, "bool", types="bool")
     for name, formula in (("and", "y = a && b"), ("or", "y = a || b"), ("xor", "y = a != b"))] + [
         one("invert", "y = !a", "bool", types="bool")]

SAME = {"rint": "round", "fix": "trunc", "absolute": "abs", "arcsin": "asin", "arctan": "atan", "expit": "sigmoid"}
SPELLED = "sqrt exp exp2 expm1 log log2 log1p sin cos tan arcsin arctan sinh cosh tanh floor ceil trunc rint fix sign absolute"
ONE = [
    one("negative", "y = -a", FLOAT + "|" + WHOLE),
    one("positive", "y = a"),
    one("square", "y = a * a", FLOAT + "|" + WHOLE),
    one("reciprocal", "y = 1 / a", WIDE),
    one("log10", "y = log(a) * 0.4342944819032518", WIDE),
    one("absolute", "y = abs(a)", WHOLE),
    Operation("cupyx_scipy_special_erf", "y = erf(a)", WIDE),
] + [one(name, "y = %s(a)" % SAME.get(name, name)) for name in SPELLED.split()]

COPIES = [
    one("copy", "y = a"),
    one("copy", "y = a", "int32", types="bool|u?int(?:8|16)|int32"),
    one("copy", "y = a", "int64", types="bool|u?int(?:8|16|32)"),
    one("copy", "y = a", "u?int(?:8|16)|uint(?:32|64)", types="bool"),
    one("copy", "y = a", "(?P=A)", types="bool|u?int(?:8|16)|uint32"),
    one("copy", "y = trunc(a)", WHOLE, types=FLOAT),
    one("copy", "y = a", "int64", types="int64"),
    one("copy", "y = a != 0", "bool", types=FLOAT + "|int64|uint64"),
    Operation("cupy_where", "y = c ? a : b", FLOAT + "|" + WHOLE + "|bool", {"c": "bool", "a": REAL, "b": REAL}, ("", "a", "b", "ab"), dims=4),
    Operation("cupy_clip", "y = min(max(a, b), c)", FLOAT + "|" + WHOLE, "abc", ("", "bc"), dims=4),
]

OPERATIONS = ARITHMETIC + TRUTH + ONE + COPIES
