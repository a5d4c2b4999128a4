"""torch_reductions.py - PyTorch's reduce_kernel by functor, for torch-table: sums, norms, extremes, variances.

ReduceOp holds the functor, the neutral element, a configuration of 64 bytes, a calculator of offsets for what is reduced and
one for what is kept, then the addresses. Entries take up to two dims of each; sizes beyond a calculator's dims are garbage.
"""

NARROW = {"float": "f32", "c10::Half": "f16", "c10::BFloat16": "bf16"}
OUT = r"(?<O>float|c10::Half|c10::BFloat16)"
ANY = r"(?<T>%s)" % "|".join(NARROW)


def dims(size, strides, scale="%s"):
    return "".join("[max(1, %s%d):%s bytes]" % (size, d, scale % ("%s%d" % (strides, d))) for d in (1, 0))


class Struct:
    """Where functor and neutral element end at byte `element`."""

    def __init__(self, element):
        self.inner = element + 64
        self.outer = self.inner + 404
        self.source = (self.outer + 504 + 7) // 8 * 8

    def text(self, out, fields, second):
        inner, outer, source = self.inner, self.outer, self.source
        parts = ["i32 inner @%d" % inner, "i32 outer @%d" % outer]
        for d in range(2):
            fields_of = [("n", "inner", "i32", inner + 4 + 12 * d), ("s", "inner", "u32", inner + 304 + 4 * d),
                         ("m", "outer", "i32", outer + 4 + 12 * d), ("y", "outer", "u32", outer + 304 + 8 * d),
                         ("x", "outer", "u32", outer + 308 + 8 * d)]
            parts += ["%s %s%d @%d if %s > %d" % (kind, name, d, at, count, d) for name, count, kind, at in fields_of]
        parts += ["const T x%s%s @%d" % (dims("m", "x"), dims("n", "s"), source),
                  "%s%s @%d" % (out, dims("m", "y"), source + 8), "bool more @%d" % (source + 56),
                  "bool last @%d" % (source + 57)]
        if second:
            name, kind, scale = second
            parts += ["%s %s%s @%d" % (kind, name, dims("m", "y", scale), source + 16), "i32 outputs @%d" % (source + 60)]
        return "struct %d { %s }" % (source + 64, ", ".join(parts + fields))


def entry(title, types, functor, out, reference, element, bind="", fields=(), y="O y", second=None, index=2):
    """`out`: the output's type in the name; `second`: name, type and stride of a second output, absent where there is one."""
    lines = ["  # " + title, "  - kernel: '/^void at::native::reduce_kernel<\\d+, \\d+, at::native::ReduceOp<%s, at::native::%s, "
             "unsigned int, %s, \\d+/'" % (types, functor, out), "    signature: >",
             "      " + Struct(element).text(y, list(fields), second)]
    when = "inner <= %d && outer <= 2 && !more && last" % index
    lines += ["    when:", "      - " + when, '      - %s: outputs == 2' % second[0]] if second else ["    when: " + when]
    lines += ["    reference: " + reference] + ["    bind: " + bind] * bool(bind)
    return "\n".join(lines)


def sum_of(kind):
    return r"func_wrapper_t<[\w:]+, at::native::sum_functor<.*>::operator\(\)\(at::TensorIterator&\)::\{lambda\(%s, %s\)#1\}>" % (kind, kind)


def extreme(functor, kind):
    return r"func_wrapper_t<%s, at::native::%sNanFunctor<%s> ?>" % (kind, functor, kind)


SIZES = {"float": 8, "double": 16, "long": 16, "int": 8, "c10::Half": 4, "c10::BFloat16": 4}


def sums():
    yield entry("sum", ANY, sum_of("float"), OUT, "sum_over", 8)
    for kind, name in (("long", "i64"), ("double", "f64")):
        yield entry("sum", "(?<T>%s)" % kind, sum_of(kind), "(?<O>%s)" % kind, "sum_over", 16)
    yield entry("mean", ANY, r"MeanOps<[\w:]+, float, float, [\w:]+>", OUT, "sum_over", 8, fields=["f32 factor @0"])
    yield entry("mean", "(?<T>double)", r"MeanOps<double, double, double, double>", "(?<O>double)", "sum_over", 16,
                fields=["f64 factor @0"])
    yield entry("norm", ANY, r"NormTwoOps<[\w:]+, float(?:, [\w:]+)*>", OUT, "norm_over", 8)
    yield entry("sum without NaN", ANY, r"NanSumOps<float, [\w:]+>", OUT, "sum_over", 8, "{skip_nan: 1}")
    yield entry("sum without NaN", "(?<T>double)", r"NanSumOps<double, double>", "(?<O>double)", "sum_over", 16, "{skip_nan: 1}")
    yield entry("norm of any power", ANY, r"NormOps<[\w:]+, float(?:, [\w:]+)*>", OUT, "norm_over", 8,
                "{power: 0, exponent: power}", ["f32 power @0"])
    yield entry("norm of any power", "(?<T>double)", r"NormOps<double, double(?:, [\w:]+)*>", "(?<O>double)", "norm_over", 16,
                "{power: 0, exponent: power}", ["f64 power @0"])
    yield entry("sum of magnitudes", ANY, r"NormOneOps<[\w:]+, float(?:, [\w:]+)*>", OUT, "norm_over", 8, "{power: 1, root: 0}")


def extremes():
    for word, sign in (("Max", "1"), ("Min", "-1")):
        for kind, element in SIZES.items():
            yield entry(word.lower(), "(?<T>%s)" % kind, extreme(word, kind), "(?<O>%s)" % kind, "max_over", element, "{sign: %s}" % sign)
        yield entry("arg" + word.lower(), ANY, "Arg%sOps<float>" % word, "(?<O>long)", "extreme_over", 24,
                    "{y: none, places: y, sign: %s}" % sign, index=1)
        for kind, name in NARROW.items():
            size = {"f32": 4}.get(name, 2)
            yield entry(word.lower() + " and its place", "(?<T>%s)" % kind, "%sOps<(?P=T)>" % word, "(?<O>(?P=T))", "extreme_over", 24,
                        "{sign: %s}" % sign, second=("places", "i64", "%%s / %d * 8" % size), index=1)
    for word, sign in (("or", "1"), ("and", "-1")):
        yield entry({"or": "any", "and": "all"}[word], "(?<T>bool)", r"func_wrapper_t<bool, at::native::%s_kernel_cuda\(.*\)#1\}>" % word,
                    "(?<O>bool)", "max_over", 4, "{sign: %s}" % sign)
        for kind, element in dict(SIZES, **{"short": 4, "unsigned char": 4, "signed char": 4}).items():
            yield entry({"or": "any", "and": "all"}[word], "(?<T>%s)" % kind,
                        r"func_wrapper_t<bool, at::native::%s_kernel_cuda\(.*\{lambda\(%s, %s\)#1\}>" % (word, kind, kind), "(?<O>bool)",
                        "max_over", element, "{sign: %s, truth: 1}" % sign)


def variances():
    yield entry("variance, deviation", ANY, r"WelfordOps<[\w:]+, float, int, .*pair<[\w:]+, [\w:]+> ?>", OUT, "variance_over", 24,
                "{root: take_root}", ["f32 correction @0", "bool take_root @4"], second=("mean", "O", "%s"))


def reductions():
    yield from sums()
    yield from extremes()
    yield from variances()
