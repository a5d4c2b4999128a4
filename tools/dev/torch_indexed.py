"""torch_indexed.py - PyTorch's kernels that take and put elements by index, by a mask or by their place, for torch-table.

Elements are distinguished by their width alone; f64 stands for 8 bytes. `calculator` and `strided_dims` are those of torch-table.
"""

WIDTHS = {1: "u8", 2: "u16", 4: "u32", 8: "f64"}
NAMES = {1: "bool|signed char|unsigned char", 2: "short|c10::Half|c10::BFloat16", 4: "int|float", 8: "long|double"}
COPIED = "tolerance: {rule: bitwise, reason: elements are copied}"
DIMS = 3


def entry(title, kernel, signature, lines):
    head = ["  # " + title] if title else []
    return "\n".join(head + ["  - kernel: '/%s/'" % kernel, "    signature: >", "      " + signature] + ["    " + line for line in lines])


def several(count):
    """Fields of up to `count` further indices: address, size, and distance in bytes."""
    fields = []
    for k, name in list(enumerate(("2", "3"), 1))[:count]:
        fields += ["const i64 index%s?{dims} @%d" % (name, 632 + 8 * k), "i64 entries%s @%d" % (name, 832 + 8 * k),
                   "i64 stride%s @%d" % (name, 1032 + 8 * k)]
    return fields


def reach(width):
    """What the indices reach: entries of the first, or elements."""
    return ["one: indices == 1, two: indices > 1, three: indices > 2",
            'reach: "one * entries + two * (1 + ((entries - 1) * stride + (entries2 - 1) * stride2 * two + '
            '(entries3 - 1) * stride3 * three) / %d)"' % width,
            "unit: one * stride + two * %d" % width]


def bind(width):
    """What the reference gets of several indices."""
    return ('bind: {second: index2, third: index3, wrap: 1, size: entries, step: "one + two * (stride / %d)", second_size: "max(1, entries2 * two)", '
            'second_step: two * stride2 / %d, third_size: "max(1, entries3 * three)", third_step: three * stride3 / %d}' % (width, width, width))


def present(condition):
    return ["when:", "  - " + condition, "  - index2: two", "  - index3: three"]


def by_index(calculator, strided_dims):
    """x[i], x[i, j] and x[i, j, k]."""
    y, x, index = (strided_dims(i, DIMS) for i in range(3))
    for width, kind in WIDTHS.items():
        further = ", ".join(several(2)).format(dims=index)
        signature = ("i64 total, struct 1240..1256 { %s, %s y%s @608, const %s x%s[reach:unit bytes] @616, i64 indices @624, "
                     "const i64 index%s @632, i64 entries @832, i64 stride @1032, %s }" % (
                         ", ".join(calculator(3, DIMS)), kind, y, kind, x, index, further))
        yield entry("x[i, j] of %d bytes" % width, r"index_elementwise_kernel<\d+, \d+, at::native::gpu_index_kernel<"
                    r"at::native::index_kernel_impl<at::native::OpaqueType<%d> >" % width, signature,
                    ["let: {%s}" % ", ".join(reach(width))] + present("dims <= %d && indices <= 3" % DIMS) +
                    ["reference: gather_each", bind(width), COPIED])


def flipped(calculator):
    """The output begins at its other end along the dims whose strides are negative."""
    shape = ", ".join(calculator(2, DIMS)).replace("u32 t", "i32 t")
    size = ["max(1, n%d)" % d for d in range(DIMS)]
    y = "".join("[%s from (t%d0 < 0) * (1 - %s): max(t%d0, 0 - t%d0) bytes]" % (size[d], d, size[d], d, d)
                for d in reversed(range(DIMS)))
    x = "".join("[%s:t%d1 bytes]" % (size[d], d) for d in reversed(range(DIMS)))
    for width, kind in WIDTHS.items():
        yield entry("flip of %d bytes" % width, r"index_elementwise_kernel<\d+, \d+, at::native::flip_kernel_impl<"
                    r"at::native::OpaqueType<%d> >" % width,
                    "i64 total, struct 520..536 { %s, %s y%s @504, const %s x%s @512 }" % (shape, kind, y, kind, x),
                    ["when: dims <= %d" % DIMS, "reference: flip",
                     "bind: {plane_back: t20 < 0, row_back: t10 < 0, column_back: t00 < 0}", COPIED])


def taken(calculator, strided_dims):
    """take and put_ by places in a contiguous array: closures over a calculator of values and index, and one of the array."""
    values, index = (strided_dims(i, DIMS) for i in range(2))
    for index_type, at, number in (("int", 936, 944), ("long", 944, 952)):
        head = ("i64 total, struct %d..%d { %s, %%s values%s @504, const i64 index%s @512, i64 numel @520, bool dense @528, %%s @%d }" % (
            number, number + 16, ", ".join(calculator(2, DIMS)), values, index, at))
        zeros = "".join("[max(1, n%d):0]" % d for d in reversed(range(DIMS)))
        kernel = r"index_elementwise_kernel<\d+, \d+, at::native::cuda_take_put_kernel<(?:%%s), %s, at::native::%%s_kernel\(%%s" % index_type
        for width, kind in WIDTHS.items():
            yield entry("take of %d bytes" % width, kernel % (NAMES[width], "take", ""),
                        head % (kind, "const %s x%s[numel]" % (kind, zeros)),
                        ["when: dense && dims <= %d" % DIMS, "reference: gather_each", "bind: {y: values, wrap: 1}", COPIED])
            # The second lambda of each type writes, the first adds.
            yield entry("put_ of %d bytes" % width, kernel % (NAMES[width], "put", r".*\{lambda\((?:%s)&, \w+\)#2\}" % NAMES[width]),
                        head % ("const " + kind, "inout %s y[1][1][numel]" % kind),
                        ["when: dense && dims == 1", "reference: scatter_each", "bind: {x: values, wrap: 1}", COPIED])


def masked():
    """masked_scatter: the source is reached by the number of elements that the mask holds before each."""
    fields = "struct 8..16 { const T source[@prefix][1] @0 }, struct 32 { T y[n] @0, const T x[n] @8, const bool mask[n] @16, const i64 prefix[n] @24 }"
    types = "float|double|c10::Half|c10::BFloat16|int|short|signed char|unsigned char|bool|long"
    for kernel, more in ((r"^void at::native::vectorized_elementwise_kernel<\d+, at::native::launch_masked_scatter_kernel\(.*\{lambda\((?<T>%s), bool, long\)" % types, ""),
                         (r"^void at::native::unrolled_elementwise_kernel<at::native::launch_masked_scatter_kernel\(.*\{lambda\((?<T>%s), bool, long\)"
                          r".*memory::LoadWithoutCast" % types, ", _, _, _, _")):
        yield entry("masked_scatter", kernel, "i32 n, %s%s" % (fields, more), ["reference: masked_scatter", COPIED])


def triangles():
    """tril, triu of up to four dims: sizes and strides of each array lie behind its address, the last dim last."""
    def info(array, letter, index, size):
        fields = ["%s[outer:%s_o][planes:%s_p][rows:%s_r][cols:%s_c] @0" % (array, letter, letter, letter, letter)]
        if letter == "x":
            fields += ["%s dims @%d" % ("i32", 8 + 50 * size)] + ["%s s%d @8[max(0, dims - %d)]" % (index, d, d) for d in (1, 2, 3, 4)]
        fields += ["%s %s%d @%d[max(0, dims - %d)]" % (index, letter, d, 8 + 25 * size, d) for d in (1, 2, 3, 4)]
        return "struct %d { %s }" % (16 + 50 * size, ", ".join(fields))

    def lets():
        values = {"cols": "s1", "rows": "s2", "planes": '"max(1, (dims > 2) * s3)"', "outer": '"max(1, (dims > 3) * s4)"'}
        for letter in "yx":
            values.update({letter + "_c": letter + "1", letter + "_r": letter + "2", letter + "_p": "(dims > 2) * %s3" % letter,
                           letter + "_o": "(dims > 3) * %s4" % letter})
        return "let: {%s}" % ", ".join("%s: %s" % pair for pair in values.items())

    for upper, word in ((0, "false"), (1, "true")):
        for index, name, size in (("i32", "int", 4), ("i64", "long", 8)):
            for width, kind in WIDTHS.items():
                yield entry("%s of %d bytes" % ("triu" if upper else "tril", width),
                            r"triu_tril_kernel<(?:%s), %s, %s, \d+, \w+>" % (NAMES[width], name, word),
                            "%s, %s, i64 diagonal, i64 padded, %s width" % (info(kind + " y", "y", index, size), info("const %s x" % kind, "x", index, size), index),
                            [lets(), "when: dims >= 2 && dims <= 4", "reference: triangle", "bind: {upper: %d}" % upper, COPIED])


def indexed(calculator, strided_dims):
    yield from by_index(calculator, strided_dims)
    yield from flipped(calculator)
    yield from taken(calculator, strided_dims)
    yield from masked()
    yield from triangles()
