"""torch_random.py - PyTorch's kernels of random numbers, for torch-table.

What a launch was given is a PhiloxCudaState by value: seed and offset, or, in a CUDA graph, their addresses and what is added to the
offset. `calculator` and `strided_dims` are those of torch-table.
"""

DIMS = 4
PART = 262144  # elements of a check
LABEL = "at::native::templates::cuda::%s_kernel"
STATE = ("struct 32 { u32 seed_low @0, u32 seed_high @4, i64 offset @8, i64 within @16, bool captured @24, const u32 seed_at?[2] @0, "
         "const u32 offset_at?[2] @8 }")
GIVEN = ["  - seed_at: captured", "  - offset_at: captured"]
PICK = ['pick: {part: "max(1, ceil_div(numel, %d))"}' % PART, 'let: {first: part * %d, count: "min(numel - first, %d)"}' % (PART, PART)]

HALVES, NARROW = "c10::Half|c10::BFloat16", "float|c10::Half|c10::BFloat16"
SMALL = "unsigned char|signed char|short|int|long|float|c10::Half|c10::BFloat16"
WHOLE = "unsigned char|signed char|short|int|long|bool|unsigned short|unsigned int|unsigned long|float|double|c10::Half|c10::BFloat16"
BYTES = {"f64": 8, "i64": 8, "f32": 4, "T": 2}

# Those that transform a number in (0, 1] or a normal one: name, reference, and for groups of types what the lambda holds.
TRANSFORMED = [
    ("uniform", "random_uniform", [("float", "f32 range, f32 bottom, f32 top"), (HALVES, "f32 range, T bottom, T top"),
                                   ("double", "f64 range, f64 bottom, f64 top")], ""),
    ("normal", "random_normal", [(NARROW, "f32 mean, f32 std"), ("double", "f64 mean, f64 std")], ""),
    ("log_normal", "random_normal", [(NARROW, "f32 mean, f32 std"), ("double", "f64 mean, f64 std")], "lognormal: 1"),
    ("exponential", "random_exponential", [(NARROW, "f32 lambda"), ("double", "f64 lambda")], ""),
    ("cauchy", "random_cauchy", [(NARROW, "f32 median, f32 sigma"), ("double", "f64 median, f64 sigma")], ""),
    ("geometric", "random_geometric", [(SMALL, "f64 p"), ("double", "f64 p")], ""),
    ("bernoulli", "random_bernoulli", [(SMALL + "|bool", "f64 p"), ("double", "f64 p")], ""),
]
# random_() takes numbers up to the largest, or as many as are exact; by the words of a draw.
LIMITS = {"unsigned int": [("bool", 2), ("unsigned char", 256), ("signed char", 128), ("short", 32768), ("int", 2147483648),
                           ("float", 16777217), ("c10::Half", 2049), ("c10::BFloat16", 257)],
          "unsigned long": [("long", "-9223372036854775807 - 1"), ("double", 9007199254740993)]}


def laid_out(fields, at):
    """Fields of a lambda, from byte `at` on, with their offsets; and where it ends."""
    placed, align = [], 1
    pairs = [field.split() for field in filter(None, fields.split(", "))]
    for kind, _ in pairs:
        align = max(align, BYTES[kind])
    at = (at + align - 1) // align * align
    for kind, name in pairs:
        at = (at + BYTES[kind] - 1) // BYTES[kind] * BYTES[kind]
        placed.append("%s %s @%d" % (kind, name, at))
        at += BYTES[kind]
    return placed, (at + 7) // 8 * 8


def entry(kernel, signature, lines):
    return "\n".join(["  - kernel: '/%s/'" % kernel, "    signature: >", "      " + signature] + ["    " + line for line in lines])


def bound(reference, words, title):
    """The end of an entry. A label, since the names of all are the same for longer than reports print."""
    extra = ", ".join(filter(None, words + ["threads: grid.x * block.x"]))
    return ["reference: " + reference, "bind: {%s}" % extra, "label: " + title]


def forms(title, kernel, number, fields, reference, words, calculator, strided_dims):
    """An output of one dim, of which a part is checked, and one of up to four, or of none: a number."""
    name = (r"^void at::native::\(anonymous namespace\)::distribution_elementwise_grid_stride_kernel<" + kernel +
            r".*\{lambda\(int, (?:%s)\)#%%d\}>\(long, at::PhiloxCudaState" % number)
    placed, end = laid_out(fields, 12)
    line = ", ".join(["T y[count from first:stride bytes] @0", "i32 stride @8"] + placed)
    yield entry(name % 1, "i64 numel, %s, _, struct %d..%d { %s }" % (STATE, max(16, end), max(16, end) + 8, line),
                PICK + ["when:"] + GIVEN + bound(reference, words, LABEL % title))
    placed, end = laid_out(fields, 416)
    shape = [field if " if " in field or field.startswith("i32 dims") else field + " if dims > 0" for field in calculator(1, DIMS)]
    line = ", ".join(shape + ["T y%s @408" % strided_dims(0, DIMS).replace("[n0:", "[max(1, n0):")] + placed)
    yield entry(name % 2, "i64 numel, %s, _, struct %d..%d { %s }" % (STATE, max(424, end), max(424, end) + 8, line),
                ["when:", "  - dims <= %d" % DIMS] + GIVEN + bound(reference, words, LABEL % title))


def transformed(calculator, strided_dims):
    for title, reference, groups, word in TRANSFORMED:
        yield "  # " + title
        for types, fields in groups:
            wide = types == "double"
            kernel = (r"(?:float, 4|double, 2), at::native::templates::cuda::(?:uniform|normal)_and_transform<(?<T>%s), (?:float|double), "
                      r"at::CUDAGeneratorImpl ?\*, at::native::templates::cuda::%s_kernel<" % (types, title))
            yield from forms(title, kernel, "float|double", fields, reference, [word, "unroll: 2" if wide else ""], calculator, strided_dims)


def integers(calculator, strided_dims):
    def kernel(title, drawn, types):
        return (r"%s, \d, at::native::templates::cuda::%s_kernel<.*?distribution_nullary_kernel<(?<T>%s), %s," % (drawn, title, types, drawn))

    for drawn, count in (("unsigned int", ""), ("unsigned long", "unroll: 2")):
        yield "  # random_(from, to)"
        yield from forms("random_from_to", kernel("random_from_to", drawn, WHOLE), drawn, "i64 range, i64 base", "random_integers", [count], calculator,
                         strided_dims)
        yield "  # random_()"
        for types, limit in LIMITS[drawn]:
            yield from forms("random", kernel("random", drawn, types), drawn, "", "random_integers", [count, 'range: "%s"' % limit], calculator,
                             strided_dims)
    full = "random_full_64_bits_range"
    yield from forms(full, kernel(full, "unsigned long", "long|double|float|c10::BFloat16"), "unsigned long", "", "random_integers",
                     ["unroll: 2"], calculator, strided_dims)


def by_elements():
    """bernoulli_ with probabilities of elements, an array or one for each row or column."""
    kernel = (r"kernelPointwiseApply2<at::native::templates::cuda::bernoulli_tensor_cuda_kernel<(?<T>%s), (?<P>%s)>\(.*, "
              r"unsigned int, 1, %%d, 4, \d+, \d+>\(" )
    yield "  # bernoulli_(probabilities)"
    for types, chance in ((SMALL + "|bool", "float"), ("double", "double")):
        name = kernel % (types, chance)
        yield entry(name % 1, "struct 216 { T y[count from first:y_step] @0, u32 y_step @108 }, "
                    "struct 216 { const P chance[count from first:chance_step] @0, u32 chance_step @108 }, u32 numel, " + STATE,
                    PICK + ["when:"] + GIVEN + bound("random_bernoulli", [], LABEL % "bernoulli_tensor_cuda"))
        yield entry(name % 2, "struct 216 { T y[rows:cols * y_step][cols:y_step] @0, u32 y_step @108 }, struct 216 { "
                    "const P chance[rows:row_step][cols:col_step] @0, u32 rows @8, u32 cols @12, u32 row_step @108, u32 col_step @112 }, u32 numel, "
                    + STATE, ["when:"] + GIVEN + bound("random_bernoulli", [], LABEL % "bernoulli_tensor_cuda"))


def dropout():
    """The share `keep` of x, and the mask."""
    yield "  # dropout"
    for types, real in ((NARROW, "float"), ("double", "double")):
        shape = "%s, unsigned int, 1, %s, (?<M>bool|unsigned char)>"
        number = {"float": "f32", "double": "f64"}[real]
        words = ["p: keep", "side: side"]
        yield entry(r"fused_dropout_kernel_vec<(?<T>%s), " % types + shape % (real, r"(?<side>\d+)"),
                    "struct 216 { const T x[count from first] @0 }, struct 216 { T y[count from first] @0 }, "
                    "struct 216 { M mask[count from first] @0 }, u32 numel, %s keep, %s" % (number, STATE),
                    PICK + ["when:"] + GIVEN + bound("random_dropout", words, "at::native::fused_dropout_kernel_vec"))
        yield entry(r"fused_dropout_kernel<(?<T>%s), " % types + shape % (real, "1"),
                    "struct 216 { const T x[count from first:x_step] @0, u32 x_step @108 }, "
                    "struct 216 { T y[count from first:y_step] @0, u32 y_step @108 }, "
                    "struct 216 { M mask[count from first:m_step] @0, u32 m_step @108 }, u32 numel, %s keep, %s" % (number, STATE),
                    PICK + ["when:"] + GIVEN + bound("random_dropout", words[:1], "at::native::fused_dropout_kernel"))


def randoms(calculator, strided_dims):
    yield from transformed(calculator, strided_dims)
    yield from integers(calculator, strided_dims)
    yield from by_elements()
    yield from dropout()
