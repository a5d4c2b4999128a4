"""torch_lists.py - PyTorch's kernels over lists of tensors (torch._foreach_*, fused optimisers), for torch-table.

One launch works on up to 110 tensors in chunks of 65536 elements, a block each; a check sees the chunk of one block.
"""

TENSORS, LISTED = {1: 110, 2: 64, 3: 48, 4: 36, 5: 30}, {1: 96, 2: 64, 3: 48, 4: 36, 5: 30}
BLOCKS, CHUNK = 320, 65536
TYPES = r"(?<T>float|c10::Half|c10::BFloat16)"
CAPTURE = "float|c10::Half|c10::BFloat16"


class Meta:
    """The struct of addresses, lengths, and what each block works on; `extra`: fields between them, so many bytes a tensor."""

    def __init__(self, depth, kind="TensorListMetadata"):
        self.kind, self.depth = kind, depth
        self.most = (LISTED if kind == "TensorListScalarListMetadata" else TENSORS)[depth]
        self.numel = 8 * depth * self.most
        self.extra = self.numel + 8 * self.most
        each = {"TensorListMetadata": 0, "TensorListScalarListMetadata": 4 * self.most,
                "FusedOptimizerTensorListMetadata": 8 * LISTED[depth]}[kind]
        self.tensor = self.extra + each
        self.chunk = self.tensor + BLOCKS
        self.start = self.chunk + 4 * BLOCKS
        self.size = (self.start + (0 if kind == "TensorListScalarListMetadata" else 4) + 7) // 8 * 8

    def name(self):
        scalar = "float, " if self.kind == "TensorListScalarListMetadata" else ""
        return r"%s<%s%d>" % (self.kind, scalar, self.depth)

    def struct(self, roles, more=()):
        fields = [("%s T %s[count from first] @%d[tensor]" % (role, array, 8 * self.most * i)).strip()
                  for i, (role, array) in enumerate(roles)]
        fields += ["i64 numel @%d[tensor]" % self.numel, "u8 tensor @%d[block]" % self.tensor,
                   "i32 chunk @%d[block]" % self.chunk]
        return "struct %d { %s }" % (self.size, ", ".join(fields + list(more)))


def listed(title, meta, functor, parameters, judge):
    """`parameters`: those behind the struct; `judge`: what follows the lets."""
    lines = ["  # " + title, "  - kernel: '/^void at::native::\\(anonymous namespace\\)::multi_tensor_apply_kernel<.*%s, .*%s/'" %
             (meta.name(), functor), "    signature: >", "      " + parameters, "    pick: {block: grid.x}",
             '    let: {first: chunk * %d, count: "min(numel - first, %d)"}' % (CHUNK, CHUNK)]
    return "\n".join(lines + ["    " + line for line in judge])


def formula(text):
    return ["formula: " + ("'%s'" % text if ": " in text else text)]


INPUTS = "abc"


def roles(inputs, fresh):
    """In place into the first list, or to a list of its own."""
    arrays = [("const", INPUTS[i]) for i in range(inputs)]
    return arrays + [("", "y")] if fresh else [("inout", "a")] + arrays[1:]


def family(title, functor, op, inputs, text, rest="", kind="TensorListMetadata", own="", skipped=2):
    """Both forms of an operation. `own`: fields of the struct that it reads; `skipped`: functor and operator."""
    for fresh in (False, True):
        depth = inputs + fresh
        meta = Meta(depth, kind)
        name = r"%s<%s, %d, %d, %d>%s" % (functor, TYPES, depth, inputs, depth - 1 if fresh else 0, op)
        more = [own % meta.extra] if own else []
        yield listed(title + ("" if fresh else ", in place"), meta, name,
                     meta.struct(roles(inputs, fresh), more) + ", _" * skipped + rest,
                     formula(("y = " if fresh else "a = ") + text))


OPERATORS = [("std::plus", "a + %s"), ("std::minus", "a - %s"), ("std::multiplies", "a * %s"), ("std::divides", "a / %s"),
             (r"at::native::maximum", "max(a, %s)"), (r"at::native::minimum", "min(a, %s)"),
             (r".*::power_functor", "pow(a, %s)")]


def binaries():
    for word, text in OPERATORS:
        op = r", %s<float> ?" % word
        title = word.split(":")[-1]
        yield from family(title + ": a number", "BinaryOpScalarFunctor", op, 1, text % "s", ", f32 s")
        yield from family(title + ": a number for each", "BinaryOpScalarListFunctor", op, 1, text % "s", "",
                          "TensorListScalarListMetadata", "f32 s @%d[tensor]")
        yield from family(title + ": two lists", "BinaryOpListAlphaFunctor", op, 2, text % "(alpha * b)", ", f32 alpha")
        if word in ("std::plus", "std::multiplies", "std::divides"):
            yield from family(title + ": a number in memory", "BinaryOpScalarTensorFunctor", op, 1, text % "(alpha * s[0])",
                              ", const T s[1], f32 alpha")
    op = r", .*::reverse_power_functor<float> ?"
    yield from family("a number's powers", "BinaryOpScalarFunctor", op, 1, "pow(s, a)", ", f32 s")


def others():
    for word, sign in (("multiplies", "*"), ("divides", "/")):
        op = r", std::%s<float> ?" % word
        yield from family("addcmul, addcdiv: " + word, "PointwiseOpScalarFunctor", op, 3, "a + s * (b %s c)" % sign, ", f32 s")
        yield from family("addcmul, addcdiv, a number for each: " + word, "PointwiseOpScalarListFunctor", op, 3,
                          "a + s * (b %s c)" % sign, "", "TensorListScalarListMetadata", "f32 s @%d[tensor]")
    for word, text in (("Sqrt", "sqrt(a)"), ("Reciprocal", "1 / a"), ("Rsqrt", "rsqrt(a)"), ("Exp", "exp(a)"), ("Abs", "abs(a)"),
                       ("Sign", "sign(a)"), ("negate", "-a")):
        yield from family(word.lower(), "UnaryOpFunctor", r", (?:std|.*)::%s<" % word, 1, text)
    yield from family("scaled back", "UnaryOpFunctor", r", at::native::_amp_foreach_non_finite_check_and_unscale_cuda_\(", 1,
                      "inv[0] == 1 ? a : a * inv[0]", ", struct 16..24 { const f32 inv[1] @8 } scales", skipped=1)
    yield from family("lerp", "TernaryOpScalarFunctor", r", at::native::LerpFunctor<float> ?", 2,
                      "abs(w) < 0.5 ? a + w * (b - a) : b - (b - a) * (1 - w)", ", f32 w")
    meta = Meta(1)
    yield listed("zeros", meta, r"ZeroFunctor<%s, 1, 1, 0>" % TYPES, meta.struct([("", "y")]) + ", _", formula("y = 0"))
    meta = Meta(2)
    copies = meta.struct([("const", "a"), ("", "y")]).replace("T a", "I a")
    yield listed("copies of another type", meta, r"CopyFunctor<%s, (?<I>%s), 2, 1, 1>" % (TYPES, CAPTURE), copies + ", _, _",
                 formula("y = a"))


def optimisers():
    """Fused steps. With a scale of gradients, a step that may be left out, or ascent, launches go unchecked."""
    when = "when: lr_at == 0 && scale == 0 && found == 0 && !maximize"
    for depth, mode, most in ((4, 1, ""), (4, 0, ""), (5, 1, "most"), (5, 0, "most")):
        meta = Meta(depth, "FusedOptimizerTensorListMetadata")
        lists = [("inout", "p"), ("const", "g"), ("inout", "m"), ("inout", "v")] + [("inout", "most")] * bool(most)
        parameters = meta.struct(lists, ["const f32 step[1] @%d[tensor]" % meta.extra]) + (
            ", _, u64 lr_at, f64 lr, f64 beta1, f64 beta2, f64 decay, f64 eps, bool maximize, u64 scale, u64 found")
        reference = "adamw_step" if mode and not most else "adam_step"
        bind = "bind: {step: 'step[0]'%s}" % (", coupled: 0" if mode and most else "")
        yield listed("Adam%s%s" % ("W" * mode, ", AMSGrad" * bool(most)), meta,
                     r"FusedAdamMathFunctor<%s, %d, \(at::native::ADAM_MODE\)%d, %s>" % (TYPES, depth, mode, str(bool(most)).lower()),
                     parameters, [when, "reference: " + reference, bind])
    for depth in (2, 3):
        meta = Meta(depth)
        parameters = meta.struct([("inout", "p"), ("const", "g"), ("inout", "m")][:depth]) + (
            ", _, f64 decay, f64 momentum, u64 lr_at, f64 lr, f64 dampening, bool nesterov, bool maximize, bool first, "
            "u64 scale, u64 found")
        yield listed("SGD" + ", momentum" * (depth == 3), meta, r"FusedSgdMathFunctor<%s, %d>" % (TYPES, depth), parameters.replace(
            "bool first,", "bool fresh,"), [when, "reference: sgd", "bind: {first: fresh}"])


def norms():
    """Partial sums, one a chunk, then their sum for each tensor."""
    meta = Meta(1)
    for word, power in (("0", 1), ("1", 2)):
        head = meta.struct([("const", "x")], ["i32 earlier @%d" % meta.start])
        yield listed("norm %d: a chunk" % power, meta, r"LpNormFunctor<%s, \(at::native::NormType\)%s, (?:%s), 1, 1, 0>" %
                     (TYPES, word, CAPTURE), head + ", _, f32 y[1 from (earlier + tensor) * most + chunk], i32 most",
                     ["reference: norm_over", "bind: {power: %d, root: 0}" % power])
        for root in ("true", "false"):
            yield "\n".join([
                "  # norm %d: a tensor" % power,
                "  - kernel: '/lpnorm_cleanup<[\\w:]+, \\(at::native::NormType\\)%s, (?<O>%s), %s, float>/'" % (word, CAPTURE, root),
                "    signature: >", "      const f32 x[most from tensor * most], struct 3200 { O y[1] @0[tensor] }, i32 most",
                "    pick: {tensor: grid.x}", "    reference: norm_over",
                "    bind: {power: 1, root: %d}" % (power == 2 and root == "true")])


def lists():
    yield from norms()
    yield from binaries()
    yield from others()
    yield from optimisers()


# ---- torch.cat ----

# Bytes of an element: its type where each is a number that formulas hold exactly, and how many of these it is.
ELEMENTS = {1: ("u8", 1), 2: ("u16", 1), 4: ("u32", 1), 8: ("u32", 2), 16: ("u32", 4)}


def cat_struct(inputs, strides, array, array_dims, lens):
    """Addresses, places, lengths and counts of the inputs; whether each lies densely; their strides."""
    at = 8 * inputs + 12 * inputs
    fields = ["const %s x%s @0[i]" % (array, array_dims), "u32 start @%d[i]" % (8 * inputs), "u32 len @%d[i]" % (12 * inputs)]
    if strides > 1:
        fields += ["bool dense @%d[i]" % at] + ["u32 t%d @%d[i: 32]" % (d, at + inputs + 16 + 4 * d) for d in range(lens)]
    return "struct %d { %s }" % (at + inputs + 32 * strides, ", ".join(fields))


def cat_form(size, dims, inputs, strides):
    """CatArrayBatchedCopy and its forms for dense inputs: a check copies one input and its part of the output."""
    kind, lanes = ELEMENTS[size]
    last = "" if lanes == 1 else "[%d]" % lanes
    tail = " * %d" % lanes if lanes > 1 else ""
    dense = [" * ".join(["s%d" % e for e in range(d + 1, dims)]) or "1" for d in range(dims)]
    ours = ["(%s) * dense + t%d * !dense" % (step, d) if strides > 1 else step for d, step in enumerate(dense)]
    x = "".join("[s%d: (%s)%s]" % (d, ours[d], tail) for d in range(dims)) + last
    y = "".join("[s%d from f%d: o%d%s]" % (d, d, d, tail) for d in range(dims)) + last
    order = "struct 32 { %s }" % ", ".join(["u32 n%d @%d" % (d, 4 * d) for d in range(dims)] +
                                         ["u32 o%d @%d" % (d, 16 + 4 * d) for d in range(dims)])
    lets = ['s%d: n%d + (dim == %d) * (len - n%d), f%d: (dim == %d) * start' % (d, d, d, d, d, d) for d in range(dims)]
    name = r"CatArrayBatchedCopy(?:_contig|_alignedK_contig)?<.*OpaqueType<%du>, unsigned int, %d, %d, %d(?:, \d+)?>" % (
        size, dims, inputs, strides)
    return "\n".join(["  - kernel: '/%s/'" % name, "    signature: >", "      %s y%s, %s, %s, i32 dim, _" % (
        kind, y, cat_struct(inputs, strides, kind, x, dims), order), "    pick: {i: grid.y}", "    let: {%s}" % ", ".join(lets),
        "    formula: y = x"])


def cat_vectors(size, dims):
    """The form that copies 16 or 8 bytes at once: the output's sizes and strides are in these, and `tail` elements follow the dim."""
    kind, lanes = ELEMENTS[size]
    last = dims - 1
    order = "struct 32 { %s }" % ", ".join(["u32 n%d @%d" % (d, 4 * d) for d in range(dims)] +
                                         ["u32 o%d @%d" % (d, 16 + 4 * d) for d in range(dims)])
    sizes = ["n%d" % d for d in range(last)] + ["len * tail * %d" % lanes]
    x = "".join("[%s]" % s for s in sizes)
    y = "".join("[n%d: o%d * E * %d]" % (d, d, lanes) for d in range(last)) + "[%s from start * tail * %d]" % (sizes[-1], lanes)
    name = r"CatArrayBatchedCopy_vectorized<.*OpaqueType<%du>, unsigned int, %d, 128, 1, \d+, (?<E>\d+)>" % (size, dims)
    return "\n".join(["  - kernel: '/%s/'" % name, "    signature: >", "      %s y%s, %s, %s, i32 dim, u32 tail" % (
        kind, y, cat_struct(128, 1, kind, x, dims), order), "    when: dim == %d" % last, "    pick: {i: grid.y}",
        "    formula: y = x"])


def cats():
    for size in sorted(ELEMENTS):
        for dims in range(1, 5 if ELEMENTS[size][1] == 1 else 4):
            for inputs, strides in ((128, 1), (64, 64)):
                yield cat_form(size, dims, inputs, strides)
            if size < 16:
                yield cat_vectors(size, dims)
