/* The registry: files, entries, every complaint, and kernels meeting entries. */
#include "tests/unit/registry/registry_says.h"

static void bad_files_are_told(void **state)
{
    (void)state;
    expect("", 0, "k.yaml: empty; expected 'version: 1'");
    expect("kernels: []\n", 0, "'version' is missing");
    expect("version: 2\n", 0, "'version' is '2'; expected a whole number from 1 to 1");
    expect("[1, 2]\n", 0, "expected a mapping");
    expect("version: 1\nkernels: [\n", 0, "k.yaml:");
    expect("version: 1\nkernel: []\n", 0,
           "unknown key 'kernel'; expected one of version, include, "
           "tolerances, kernels, parity; did you mean 'kernels'?");
    expect("version: 1\nkernels: {a: b}\n", 0, "'kernels' is a mapping; expected a list");
    expect("version: 1\ninclude: nowhere.yaml\n", 0, "k.yaml:2:10: ");
    expect("version: 1\ninclude: k.yaml\n" HEAD + 0, 0, "appears twice");
    expect("version: 1\ninclude: [k.yaml]\nkernels:\n" GELU, 1, "includes itself");
    quiet("version: 1\n");
    quiet(HEAD GELU);
    quiet(HEAD "- {kernel: k, reference: gelu, freivalds: 0, "
               "signature: 'const f32 x[n], f32 y[n], i32 n'}\n");
    quiet(HEAD "- {kernel: k, reference: matmul, freivalds: 0.5, "
               "signature: 'const f32 a[4][5], const f32 b[5][6], f32 c[4][6]'}\n");
    quiet(HEAD "- {kernel: k, reference: gelu, deterministic: yes, "
               "signature: 'const f32 x[n], f32 y[n], f32 z[n], ws f32 s[n], i32 n'}\n");
    quiet(HEAD "- {kernel: k, reference: gelu, deterministic: no, "
               "signature: 'const f32 x[n], const f32 w[n], f32 y[n], i32 n'}\n");
}

static void bad_entries_are_left_out(void **state)
{
    (void)state;
    expect(HEAD "- 7\n" GELU, 1, "expected a mapping");
    expect(ENTRY("refrence: gelu, " F), 1, "unknown key 'refrence'; expected one of kernel,");
    expect(ENTRY("refrence: gelu, " F), 1, "did you mean 'reference'?");
    expect(ENTRY(F), 1, "the entry has no 'reference', and no 'formula' instead");
    expect(ENTRY("reference: gelu, formula: y = x, " F), 1, "a 'reference' and a 'formula'");
    expect(ENTRY("formula: y = x, bind: {y: x}, " F), 1, "'bind' does not go with 'formula'");
    expect(ENTRY("formula: y = x +, " F), 1, "formula 'y = x +': at the end");
    expect(ENTRY("formula: y = x + z, " F), 1, "unknown name 'z'");
    expect(ENTRY("formula: x = y, " F), 1,
           "'formula' needs an argument that is const, inout or acc, but 'y' is written");
    expect(ENTRY("reference: gelu"), 1, "the entry has no 'signature'");
    expect(HEAD "- {reference: gelu, " F "}\n" GELU, 1, "has no 'kernel' and no 'call'");
    expect(ENTRY("call: library<*>, reference: gelu, " F), 1, "'call' and 'kernel' in one entry");
    expect(HEAD "- {call: library<*>, after: {kernel: k, signature: _}, reference: gelu, " F
                "}\n" GELU,
           1, "'call' with 'after'");
    expect(ENTRY("reference: gleu, " F), 1, "unknown reference 'gleu'; did you mean 'gelu'?");
    expect(
        ENTRY("reference: matmul_nt, " F), 1,
        "unknown reference 'matmul_nt'; did you mean 'linear'? `cuvet help references` lists all");
    expect(ENTRY("reference: zzzzzzzz, " F), 1,
           "unknown reference 'zzzzzzzz'; `cuvet help references` lists all");
    expect(ENTRY("reference: {source: my.cu}, " F), 1, "my.cu: cannot be read");
    expect(ENTRY("reference: {image: my.cubin}, " F), 1, "unknown key 'image'");
    expect(ENTRY("reference: gelu, deterministic: maybe, " F), 1,
           "'deterministic' is 'maybe'; expected yes or no");
    expect(ENTRY("reference: gelu, deterministic: yes, signature: 'const f32 x[n], const f32 w[n], "
                 "f32 y[n], i32 n'"),
           1, "the kernel reads 'w', which no formal is bound to");
    expect(ENTRY("reference: gelu, budget: much, " F), 1,
           "'budget' is 'much'; expected a share such as 5%, or off");
    expect(ENTRY("reference: gelu, subset: 0, " F), 1,
           "'subset' is '0'; expected bytes such as 4M, or off");
    expect(ENTRY("reference: gelu, subset: some, " F), 1, "'subset' is 'some'; expected bytes");
    expect(ENTRY("reference: gelu, freivalds: yes, " F), 1,
           "'freivalds' is 'yes'; expected a number from 0 to 1");
    expect(ENTRY("reference: gelu, freivalds: 1, " F), 1,
           "k.yaml:3:43: freivalds: the reference 'gelu' promises no product; leave it out");
    expect(ENTRY("reference: gelu, sample: often, " F), 1,
           "'sample' is 'often'; expected a number from 0 to 1");
    expect(ENTRY("reference: gelu, first: -1, " F), 1, "expected a whole number from 0");
    expect(ENTRY("reference: gelu, label: [a], " F), 1, "'label' is a list; expected a text");
    expect(ENTRY("reference: gelu, tolerance: {rule: near}, " F), 1, "expected bound, close");
    expect(ENTRY("reference: gelu, tolerance: {rounding: {xhat: bf16}}, " F), 1,
           "rounding: reference 'gelu' has no point 'xhat' (it has: in x");
    expect(ENTRY("reference: gelu, tolerance: {masked_rows: zero}, " F), 1,
           "masked_rows: reference 'gelu' has no rows that are masked as a whole (no MASKED)");
    expect(ENTRY("reference: swiglu, bind: {gate: x, up: x, act: x}, " F), 1,
           "bind: 'act' of 'swiglu' is a rounding point; 'tolerance: {rounding: {act: bf16}}'");
    expect(HEAD "- {kernel: '/(/', reference: gelu, " F "}\n" GELU, 1, "missing closing");
    expect(ENTRY("reference: gelu, signature: 'bf61 x[n], i32 n'"), 1,
           "k.yaml:3:43: signature: at 'bf61': unknown type; did you mean 'bf16'?");
}

static void bad_names_in_expressions_are_told(void **state)
{
    (void)state;
    expect(ENTRY("reference: gelu, signature: 'const f32 x[cosl], f32 y[1], i32 cols'"), 1,
           "signature: array 'x': expression 'cosl': unknown name 'cosl'; did you mean 'cols'?");
    expect(ENTRY("reference: gelu, signature: 'const f32 x[n], f32 y[n], f32 n'"), 1,
           "'n' is f32; expressions use integers");
    expect(ENTRY("reference: gelu, signature: 'const f32 x[y], f32 y[n], i32 n'"), 1,
           "'y' is an array; expressions use integers");
    expect(
        ENTRY(
            "reference: gelu, signature: \"const f32 x[rows][cols], f32 y[rows][cols], i32 cols\""),
        1,
        "unknown name 'rows'; did you mean 'cols'? A size that is no parameter needs a 'let', such "
        "as rows: grid.x");
    expect(
        ENTRY("reference: gelu, signature: \"const f32 x[tokens], f32 y[tokens], i32 n\""), 1,
        "unknown name 'tokens'; a size that is no parameter needs a 'let', such as tokens: grid.x");
    expect(ENTRY("reference: gelu, let: {rows: gird.x}, " F), 1,
           "let 'rows': expression 'gird.x': unknown name 'gird.x'; did you mean 'grid.x'?");
    expect(ENTRY("reference: gelu, let: {n: 3}, " F), 1, "let 'n': the name is taken");
    expect(ENTRY("reference: gelu, let: {a: b, b: a + 1}, " F), 1, "depends on itself");
    expect(ENTRY("reference: gelu, when: {z: n}, " F), 1, "when: no array is called 'z'");
    expect(ENTRY("reference: gelu, when: n +, " F), 1, "when 'entry'");
    expect(ENTRY("reference: gelu, when: [n, n > 1], " F), 1, "when: a second guard of the entry");
    expect(ENTRY("reference: gelu, when: [[n]], " F), 1, "when: a list within a list");
    expect(ENTRY("reference: gelu, when: {x: 1 +}, " F), 1, "when 'x': expression '1 +'");
    expect(ENTRY("reference: gelu, signature: 'const f32 x[0 - 1], f32 y[n], i32 n'"), 1,
           "extent 0 - 1 is negative");
    quiet(ENTRY("reference: gelu, let: {c: b, b: a, a: grid.x * n}, when: {x: c > 0}, " F));
}

static void formals_without_arguments_are_told(void **state)
{
    (void)state;
    expect(ENTRY("reference: rmsnorm, " F), 1,
           "reference 'rmsnorm' needs 'eps', which no argument or bind gives");
    expect(ENTRY("reference: swiglu, " F), 1, "needs 'gate', 'up', which");
    expect(ENTRY("reference: gelu, bind: {z: x}, " F), 1, "reference 'gelu' has no formal 'z'");
    expect(ENTRY("reference: gelu, bind: {x: z}, " F), 1,
           "formal 'x' of 'gelu' is an array, but 'z' is no argument");
    expect(ENTRY("reference: gelu, bind: {x: n}, " F), 1, "but 'n' is a scalar");
    expect(ENTRY("reference: rmsnorm, bind: {eps: x}, " F), 1,
           "formal 'eps' of 'rmsnorm' is a number, but 'x' is an array");
    expect(ENTRY("reference: rmsnorm, bind: {eps: ep}, " F), 1, "unknown name 'ep'");
    expect(ENTRY("reference: gelu, bind: {x: none}, " F), 1,
           "formal 'x' of 'gelu' cannot be left out (bind: none)");
    expect(
        ENTRY("reference: gelu, signature: 'const f32 x[height], f32 y[height], i32 q'"), 1,
        "unknown name 'height'; a size that is no parameter needs a 'let', such as height: grid.x");
    expect(ENTRY("reference: embedding, signature: 'const f32 ids[n], const f32 table[m][c], "
                 "f32 y[n][c], i32 n, i32 m, i32 c'"),
           1,
           "formal 'ids' of 'embedding' is an array of indices, but 'ids' is f32; expected an "
           "integer type");
    quiet(ENTRY("reference: embedding, signature: 'const i64 ids[n], const f32 table[m][c], "
                "f32 y[n][c], i32 n, i32 m, i32 c'"));
    quiet(ENTRY("reference: rmsnorm, bind: {eps: 1e-5}, " F));
    quiet(ENTRY("reference: rmsnorm, bind: {eps: 0}, " F));
    quiet(ENTRY("reference: scale, bind: {alpha: n * 2}, " F));
    quiet(ENTRY("reference: gelu, bind: {cols: n}, " F));
}

static void roles_that_contradict_are_told(void **state)
{
    (void)state;
    expect(
        ENTRY("reference: gelu, signature: 'const f32 x[n], const f32 y[n], i32 n'"), 1,
        "formal 'y' of 'gelu' needs an argument that is written, inout or acc, but 'y' is const");
    expect(ENTRY("reference: gelu, signature: 'f32 x[n], f32 y[n], i32 n'"), 1,
           "formal 'x' of 'gelu' needs an argument that is const, inout or acc, but 'x' is "
           "written only");
    expect(ENTRY("reference: gelu, signature: 'ws f32 x[n], f32 y[n], i32 n'"), 1, "'x' is ws");
    expect(ENTRY("reference: layernorm, bind: {mean: y, eps: 0}, " F), 1,
           "outputs 'y' and 'mean' are both bound to 'y'");
    quiet(ENTRY("reference: gelu, bind: {x: y}, signature: 'inout f32 y[n], i32 n'"));
    quiet(ENTRY("reference: gelu, signature: 'const f32 x[n], acc f32 y[n], i32 n'"));
}

static void unregistered_kernels_are_passed_over(void **state)
{
    (void)state;
    struct registry *registry = registry_of(HEAD GELU, &complaints);
    enum skip skip;
    struct error err;
    assert_true(registry_names(registry, "k"));
    assert_false(registry_names(registry, "other"));
    assert_null(find(registry, "other", gelu_sizes, &skip, &err));
    assert_int_equal(skip, SKIP_UNREGISTERED);
    assert_string_equal(err.text, "");
    for (int i = 0; i < 2000; i++) { /* the table grows */
        char name[32];
        snprintf(name, sizeof name, "kernel_%d", i);
        assert_false(registry_names(registry, name));
    }
    assert_true(registry_names(registry, "k"));
    registry_destroy(registry);
}

/* An entry of kernels names no call, whatever its pattern, and the other way round. */
static void calls_and_kernels_are_apart(void **state)
{
    struct registry *registry =
        registry_of(HEAD "- {kernel: '*', label: of_kernels, reference: gelu, " F
                         "}\n- {call: '*', label: of_calls, reference: gelu, " F "}\n",
                    &complaints);
    enum skip skip;
    struct error err;
    (void)state;
    assert_string_equal(find(registry, "some_kernel", gelu_sizes, &skip, &err)->label,
                        "of_kernels");
    assert_string_equal(find(registry, "call<f32>", gelu_sizes, &skip, &err)->label, "of_calls");
    assert_true(registry_has_calls(registry));
    registry_destroy(registry);
    registry = registry_of(HEAD "- {kernel: '*', reference: gelu, " F "}\n", &complaints);
    assert_null(find(registry, "call<f32>", gelu_sizes, &skip, &err));
    assert_int_equal(skip, SKIP_UNREGISTERED);
    assert_false(registry_has_calls(registry));
    registry_destroy(registry);
}

static void a_kernel_is_resolved_once(void **state)
{
    (void)state;
    struct registry *registry =
        registry_of(HEAD "- {kernel: k*, signature: 'const f32 x[n], f32 y[n], i32 n, i32 unused', "
                         "reference: gelu, sample: 0.25, first: 7, budget: 0.5%, subset: 1M, "
                         "freivalds: 0, label: mine}\n",
                    &complaints);
    enum skip skip;
    struct error err;
    const struct kernel_spec *spec =
        find(registry, "k", (const unsigned[]){8, 8, 4, 4, 0}, &skip, &err);
    assert_non_null(spec);
    assert_int_equal(skip, SKIP_NONE);
    assert_string_equal(spec->symbol, "k");
    assert_string_equal(spec->label, "mine");
    assert_string_equal(spec->reference->name, "gelu");
    assert_true(spec->sample == 0.25 && spec->first == 7 && spec->budget == 0.005 &&
                !spec->needs_before);
    assert_int_equal(spec->subset, 1 << 20);
    assert_true(spec->freivalds == 0);
    assert_int_equal(strcmp(spec->where + strlen(spec->where) - 8, "k.yaml:3"), 0);
    assert_ptr_equal(spec, find(registry, "k", (const unsigned[]){8, 8, 4, 4, 0}, &skip, &err));
    const struct kernel_spec *other =
        find(registry, "k2", (const unsigned[]){8, 8, 4, 4, 0}, &skip, &err);
    assert_int_equal(spec->number, 0);
    assert_int_equal(other->number, 1);
    assert_int_equal(spec->shape_params, 3); /* n and two pointers; not `unused` */
    assert_int_equal(spec->shape_param[0].start, 16);
    assert_int_equal(spec->shape_param[0].size, 4);
    assert_false(spec->shape_param[0].pointer);
    assert_true(spec->shape_param[1].pointer && spec->shape_param[2].pointer);
    registry_destroy(registry);
}

static void a_layout_that_does_not_fit_is_told_with_both_lists(void **state)
{
    (void)state;
    struct registry *registry = registry_of(HEAD GELU, &complaints);
    enum skip skip;
    struct error err;
    for (int i = 0; i < 2; i++) { /* the second answer is the kept one */
        assert_null(find(registry, "k", (const unsigned[]){8, 8, 8, 0}, &skip, &err));
        assert_int_equal(skip, SKIP_LAYOUT);
        assert_non_null(strstr(err.text, "by the signature: 8@0 8@8 4@16; by the kernel: 8@0 8@8 "
                                         "8@16"));
    }
    registry_destroy(registry);
}

static void the_last_entry_that_fits_wins(void **state)
{
    (void)state;
    struct registry *registry = registry_of(
        HEAD "- {kernel: k, signature: 'const f32 x[n], f32 y[n], i32 n', reference: gelu}\n"
             "- {kernel: k, signature: 'const f32 x[n], f32 y[n], i32 n', reference: relu}\n"
             "- {kernel: k, signature: 'const f32 x[n], f32 y[n], i64 n', reference: silu}\n",
        &complaints);
    enum skip skip;
    struct error err;
    assert_string_equal(find(registry, "k", gelu_sizes, &skip, &err)->reference->name, "relu");
    assert_string_equal(
        find(registry, "k", (const unsigned[]){8, 8, 8, 0}, &skip, &err)->reference->name, "silu");
    registry_destroy(registry);
}

static void groups_bind_types_and_numbers(void **state)
{
    (void)state;
    struct registry *registry =
        registry_of(HEAD "- kernel: '/^f<(?<T>\\w+), (?<W>\\w+)>$/'\n"
                         "  signature: const T x[n * W], T y[n * W], i32 n, T scale\n"
                         "  reference: scale\n"
                         "  bind: {alpha: scale}\n",
                    &complaints);
    enum skip skip;
    struct error err;
    assert_int_equal(complaints.count, 0);
    assert_non_null(
        find(registry, "_Z1fIfLi4EEvv", (const unsigned[]){8, 8, 4, 4, 0}, &skip, &err));
    assert_non_null(
        find(registry, "_Z1fIdLj4EEvv", (const unsigned[]){8, 8, 4, 8, 0}, &skip, &err));
    assert_null(find(registry, "_Z1fIdLi4EEvv", (const unsigned[]){8, 8, 4, 4, 0}, &skip, &err));
    assert_int_equal(skip, SKIP_LAYOUT);
    assert_null(find(registry, "_Z1fI3FooLi4EEvv", (const unsigned[]){8, 8, 4, 4, 0}, &skip, &err));
    assert_non_null(strstr(err.text, "the template argument T is 'Foo', which is no known type"));
    assert_null(find(registry, "_Z1fIf3FooEvv", (const unsigned[]){8, 8, 4, 4, 0}, &skip, &err));
    assert_non_null(strstr(err.text, "the template argument W is 'Foo', not a whole number"));
    registry_destroy(registry);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Whether such an entry names the kernel is unknown: neither "unregistered" nor an entry further
 * up is the answer. It is printed once for an entry. */
static void a_regex_without_an_end_is_told(void **state)
{
    (void)state;
    static const char a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab";
    static const char b[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac";
    struct registry *registry = registry_of(HEAD "- {kernel: '/a+b/', reference: gelu, " F "}\n"
                                                 "- {kernel: '/^(a+)+$/', reference: gelu, " F "}\n"
                                                 "- {kernel: '/c$/', reference: gelu, " F "}\n",
                                            &complaints);
    struct error err;
    enum skip skip = SKIP_NONE;
    assert_int_equal(complaints.count, 0);
    assert_null(find(registry, a, SIZES(8, 8, 4), &skip, &err));
    assert_int_equal(skip, SKIP_PATTERN);
    assert_non_null(strstr(err.text, "k.yaml:4: a regex of this entry takes too many steps"));
    assert_null(find(registry, a + 1, SIZES(8, 8, 4), &skip, &err));
    assert_int_equal(skip, SKIP_PATTERN);
    assert_string_equal(err.text, "");
    assert_non_null(find(registry, b, SIZES(8, 8, 4), &skip, &err)); /* a later entry fits */
    assert_int_equal(skip, SKIP_NONE);
    assert_null(find(registry, "d", SIZES(8, 8, 4), &skip, &err));
    assert_int_equal(skip, SKIP_UNREGISTERED);
    registry_destroy(registry);
}

static void later_files_win_over_includes(void **state)
{
    (void)state;
    char folder[] = "/tmp/cuvet-registry-XXXXXX", files[128], tolerances[64];
    assert_non_null(mkdtemp(folder));
    write_file(folder, "a.yaml", "version: 1\ninclude: b.yaml\nkernels:\n" GELU);
    write_file(folder, "b.yaml",
               HEAD "- {kernel: 'k*', signature: 'const f32 x[n], f32 y[n], "
                    "i32 n', reference: relu}\n");
    write_file(folder, "t.yaml", "version: 1\ntolerances: {gelu: {f32: {rule: bitwise}}}\n");
    snprintf(files, sizeof files, "%s/a.yaml::%s/none.yaml", folder, folder);
    snprintf(tolerances, sizeof tolerances, "%s/t.yaml", folder);
    struct registry *registry;
    struct registry_source source = {.files = files, .tolerances = tolerances};
    memset(&complaints, 0, sizeof complaints);
    assert_int_equal(registry_load(&registry, &source, complain_to, &complaints), STATUS_INVALID);
    assert_int_equal(complaints.count, 1);
    assert_non_null(strstr(complaints.text[0], "none.yaml: cannot be opened"));
    assert_int_equal(registry_entries(registry), 2);
    enum skip skip;
    struct error err;
    assert_string_equal(find(registry, "k", gelu_sizes, &skip, &err)->reference->name, "gelu");
    assert_string_equal(find(registry, "k2", gelu_sizes, &skip, &err)->reference->name, "relu");
    char text[4096] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    registry_print(registry, out);
    fclose(out);
    assert_non_null(strstr(text, "a.yaml:4: k\n    reference gelu\n"));
    assert_non_null(strstr(text, "2 entries, 1 tolerance rows"));
    registry_destroy(registry);
    snprintf(files, sizeof files, "rm -r %s", folder);
    assert_int_equal(system(files), 0);
}

static void the_table_shows_what_was_understood(void **state)
{
    (void)state;
    char folder[] = "/tmp/cuvet-registry-XXXXXX", file[64], text[4096] = "";
    assert_non_null(mkdtemp(folder));
    write_file(
        folder, "a.yaml",
        HEAD
        "- kernel: k\n  signature: const f32 x[rows:pitch][cols], f32 out[rows][cols], "
        "i32 pitch, i32 cols, f32 eps\n  let: {rows: grid.x}\n  when: [cols > 0]\n"
        "  bind: {y: out}\n  sample: 0.5\n  label: norm\n  deterministic: no\n"
        "  tolerance: {rule: close, rtol: 0.001, atol: 0}\n  reference: rmsnorm\n"
        "- {kernel: l, signature: 'const f32 x[n], const f32 w[a][b][n], f32 y[n], i32 a, "
        "i32 b, i32 n', reference: mul, bind: {a: x, b: w}}\n"
        "- {kernel: m, signature: 'const f32 a[m][k], const f32 b[k][n], f32 c[m][n], i32 m, "
        "i32 n, i32 k', reference: matmul, tolerance: {accumulate: bf16_lanes, functions: approx, "
        "inputs: tf32, lambda: 4}}\n"
        "- {kernel: o, signature: 'const f32 x[r][n], f32 y[r][n], i32 r, i32 n', reference: "
        "softmax, tolerance: {accumulate: f64, lanes: 32, false_alarm: 0.001}}\n");
    snprintf(file, sizeof file, "%s/a.yaml", folder);
    struct registry *registry;
    struct registry_source source = {.files = file};
    memset(&complaints, 0, sizeof complaints);
    assert_int_equal(registry_load(&registry, &source, complain_to, &complaints), STATUS_OK);
    FILE *out = fmemopen(text, sizeof text, "w");
    registry_print(registry, out);
    fclose(out);
    static const char *const lines[] = {
        "    reference rmsnorm, sample 0.5, label norm\n",
        "    let rows: grid.x\n    when cols > 0\n    bind y: out\n",
        "        x[rows][cols] is f32 x[rows:pitch][cols], by its name\n",
        "        w[cols] is absent: 1\n",
        "        y[rows][cols] is f32 out[rows][cols], by bind\n",
        "        rstd[rows] is not compared\n",
        "        eps is eps, by its name\n",
        "    tolerance y (f32): close, rtol 0.001, atol 0; of the entry\n",
        "        a[rows][cols] is f32 x[n], by bind; so rows is 1, cols is n\n",
        "        b[rows][cols] is f32 w[a][b][n], by bind; its first 2 dims together are rows\n",
        "    tolerance y (f32): bound, accumulate f32; of the table\n",
        "    tolerance c (f32): bound, accumulate bf16_lanes, functions approx, inputs tf32, "
        "lambda 4; of "
        "the entry\n",
        "    tolerance y (f32): bound, accumulate f64, lanes 32, false_alarm 0.001; of the entry\n",
        "4 entries, ",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(text, lines[i]))
            fail_msg("no line '%s' in\n%s", lines[i], text);
    registry_destroy(registry);
    snprintf(file, sizeof file, "rm -r %s", folder);
    assert_int_equal(system(file), 0);
}

/* A table's keys belong to its file, and those of files come after. */
static void the_tables_come_first(void **state)
{
    (void)state;
    char folder[] = "/tmp/cuvet-registry-XXXXXX", file[64];
    struct registry *tables, *both;
    assert_non_null(mkdtemp(folder));
    write_file(folder, "a.yaml",
               HEAD "- {kernel: '/gelu_forward_kernel/', "
                    "signature: 'f32 y[n], const f32 x[n], i32 n', "
                    "formula: y = 2 * x}\n");
    snprintf(file, sizeof file, "%s/a.yaml", folder);
    struct registry_source source = {.tables = true};
    memset(&complaints, 0, sizeof complaints);
    assert_int_equal(registry_load(&tables, &source, complain_to, &complaints), STATUS_OK);
    source.files = file;
    assert_int_equal(registry_load(&both, &source, complain_to, &complaints), STATUS_OK);
    assert_int_equal(complaints.count, 0);
    assert_int_equal(registry_entries(both), registry_entries(tables) + 1);
    enum skip skip;
    struct error err;
    const char *symbol = "_Z19gelu_forward_kernelPfPKfi";
    const struct kernel_spec *shipped = find(tables, symbol, gelu_sizes, &skip, &err);
    assert_non_null(shipped);
    assert_non_null(strstr(shipped->where, "tables/llmc.yaml:"));
    assert_string_equal(find(both, symbol, gelu_sizes, &skip, &err)->reference->name, "formula");
    /* A kernel of another version is one without an entry; an entry of the user's is refused. */
    static const unsigned other_sizes[] = {8, 8, 8, 8, 0};
    memset(&err, 0, sizeof err);
    assert_null(find(tables, symbol, other_sizes, &skip, &err));
    assert_int_equal(skip, SKIP_UNREGISTERED);
    assert_string_equal(err.text, "");
    assert_null(find(both, symbol, other_sizes, &skip, &err));
    assert_int_equal(skip, SKIP_LAYOUT);
    assert_non_null(strstr(err.text, "a.yaml:"));
    registry_destroy(tables);
    registry_destroy(both);
    snprintf(file, sizeof file, "rm -r %s", folder);
    assert_int_equal(system(file), 0);
}

static void examples_and_shipped_entries_are_good(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        size_t entries;
    } files[] = {
        {"config/examples/minimal.yaml", 1},       {"config/examples/full.yaml", 12},
        {"config/kernels/llmc.yaml", 38},          {"config/kernels/vllm.yaml", 49},
        {"config/kernels/pytorch.yaml", 5},        {"config/kernels/triton.yaml", 36},
        {"config/kernels/flashinfer.yaml", 31},    {"config/kernels/llamacpp.yaml", 108},
        {"config/kernels/flashattention.yaml", 2}, {"config/calls/cublas.yaml", 185},
        {"config/calls/cublas_f8.yaml", 64},       {"config/kernels/bitsandbytes.yaml", 8},
        {"config/kernels/pytorch_rows.yaml", 75},  {"config/examples/caches.yaml", 12},
        {"config/examples/training.yaml", 5},      {"config/untried/flashinfer_older.yaml", 4},
        {"config/kernels/mamba.yaml", 28},         {"config/kernels/sglang.yaml", 15},
        {"config/kernels/xformers.yaml", 5},       {"config/kernels/transformer_engine.yaml", 86},
        {"config/kernels/apex.yaml", 36},          {"config/kernels/llamacpp_quantised.yaml", 13},
        {"config/kernels/pytorch_random.yaml", 64}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct registry *registry;
        struct registry_source source = {.files = files[i].path};
        memset(&complaints, 0, sizeof complaints);
        registry_load(&registry, &source, complain_to, &complaints);
        if (complaints.count)
            fail_msg("%s", complaints.text[0]);
        assert_int_equal(registry_entries(registry), files[i].entries);
        registry_destroy(registry);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_files_are_told),
        cmocka_unit_test(bad_entries_are_left_out),
        cmocka_unit_test(bad_names_in_expressions_are_told),
        cmocka_unit_test(formals_without_arguments_are_told),
        cmocka_unit_test(roles_that_contradict_are_told),
        cmocka_unit_test(unregistered_kernels_are_passed_over),
        cmocka_unit_test(calls_and_kernels_are_apart),
        cmocka_unit_test(a_kernel_is_resolved_once),
        cmocka_unit_test(a_layout_that_does_not_fit_is_told_with_both_lists),
        cmocka_unit_test(the_last_entry_that_fits_wins),
        cmocka_unit_test(groups_bind_types_and_numbers),
        cmocka_unit_test(a_regex_without_an_end_is_told),
        cmocka_unit_test(later_files_win_over_includes),
        cmocka_unit_test(the_table_shows_what_was_understood),
        cmocka_unit_test(the_tables_come_first),
        cmocka_unit_test(examples_and_shipped_entries_are_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
