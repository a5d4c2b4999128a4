/* References that a registry brings along: their declarations, their places, NVRTC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "driver/nvrtc_api.h"
#include "tests/unit/common/registry_fixture.h"
#include "tests/unit/common/says.h"
#include "tests/unit/common/tmp_folder.h"
#include "compile/ref_compile.h"
#include "compile/ref_hint.h"
#include "lang/ref_text.h"
#include "plan/tolerance.h"
#include "registry/user_ref.h"

#define HALF                                                                                       \
    "REFERENCE(half, \"in x[n], out y[n]\")\n{\n    ELEMENT(r, 1, i, n) y(i) = x(i) * 0.5;\n}\n"
#define TWICE                                                                                      \
    "REFERENCE_ONCE(twice, \"in x[n],\"\n    \" out y[n], real k = 2\")\n"                         \
    "{\n    ELEMENT(r, 1, i, n) y(i) = x(i) * k;\n}\n"

/* ---- declarations ---- */

static void texts_are_scanned(void **state)
{
    static const char text[] = "// REFERENCE(no, \"in x[n]\")\n  REFERENCE(no, \"\")\n" HALF TWICE;
    static struct ref_declaration d;
    const char *at = text;
    struct error err = {{0}};
    (void)state;
    assert_int_equal(ref_text_next(text, &at, &d, &err), STATUS_OK);
    assert_string_equal(d.name, "half");
    assert_int_equal(d.line, 3);
    assert_int_equal(d.form, REF_FORM_FULL);
    assert_string_equal(d.text, "in x[n], out y[n]");
    assert_int_equal(ref_text_next(text, &at, &d, &err), STATUS_OK);
    assert_string_equal(d.name, "twice");
    assert_int_equal(d.line, 7);
    assert_int_equal(d.form, REF_FORM_ONCE);
    assert_string_equal(d.text, "in x[n], out y[n], real k = 2");
    assert_int_equal(d.formals.tensors, 2);
    assert_int_equal(d.formals.scalars, 1);
    assert_int_equal(ref_text_next(text, &at, &d, &err), STATUS_NOT_FOUND);
}

/* What the contracts of a tolerance are about: in the body, or in what it may stand on. */
static void texts_tell_what_they_use(void **state)
{
    static const struct {
        const char *text;
        unsigned uses[2];
    } rows[] = {
        {HALF TWICE, {0, 0}},
        {"REFERENCE(a, \"in x[n]\")\n{ ROW(r, n) { MASKED (m); } }\n" HALF,
         {REF_USES_MASKED | REF_USES_ROW, 0}},
        {HALF "REFERENCE(a, \"in x[n]\")\n{ SAMPLE(i, n, 8) { REPEATED(y); } }\n",
         {0, REF_REPEATS}},
        {HALF "REFERENCE(a, \"in x[n]\")\n{ auto m = MIX(8, j, n, 1, c, n, 1); }\n",
         {0, REF_USES_MIX}},
        {"REFERENCE(a, \"in x[n]\")\n{ // MIX(\n /* MASKED(m) */ f(\"MIX(\"); UNMASKED(m); MIX; "
         "MIXED(1); }\n" HALF,
         {0, 0}},
        {"#define SOME \\\n  MIX(8, j)\n" HALF TWICE, {REF_USES_MIX, REF_USES_MIX}},
        {HALF "#define SOME(m) \\\n  MASKED(m)\nint MIX(int);\n" TWICE,
         {REF_USES_MASKED | REF_USES_MIX, REF_USES_MASKED}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static struct ref_declaration d;
        const char *at = rows[i].text;
        for (int k = 0; k < 2; k++) {
            assert_int_equal(ref_text_next(rows[i].text, &at, &d, NULL), STATUS_OK);
            if (d.uses != rows[i].uses[k])
                fail_msg("text %zu, reference %d uses %u", i, k, d.uses);
        }
    }
}

/* Those of the build, as refgen found them. */
static void built_in_references_tell_it_too(void **state)
{
    static const struct {
        const char *name;
        unsigned uses;
    } rows[] = {{"softmax", REF_USES_MASKED | REF_USES_ROW},
                {"relu", 0},
                {"attention", REF_USES_MIX},
                {"attention_varlen_backward", REF_USES_MIX},
                {"softmax_backward", REF_USES_ROW},
                {"matmul", 0},
                {"index_add", REF_REPEATS},
                {"index_copy", REF_REPEATS},
                {"scatter", REF_REPEATS},
                {"embedding_backward_padding", REF_REPEATS}};
    (void)state;
    size_t found = 0;
    for (size_t i = 0; i < ref_builtin_count; i++) {
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            if (strcmp(ref_builtins[i].name, rows[k].name) != 0)
                continue;
            assert_int_equal(ref_builtins[i].uses, rows[k].uses);
            found++;
        }
    }
    assert_int_equal(found, sizeof rows / sizeof *rows);
}

static void refuses(const char *text, int line, const char *what)
{
    static struct ref_declaration d;
    const char *at = text;
    struct error err = {{0}};
    assert_int_equal(ref_text_next(text, &at, &d, &err), STATUS_INVALID);
    assert_int_equal(d.line, line);
    expect_says(err.text, what);
}

static void bad_declarations_have_a_line(void **state)
{
    (void)state;
    refuses("\nREFERENCE(, \"in x[n]\")", 2, "expected a name");
    refuses("\n\nREFERENCE(f)", 3, "expected REFERENCE(name, \"formals\")");
    refuses("REFERENCE(f, \"\")", 1, "expected REFERENCE(name, \"formals\")");
    refuses("REFERENCE(f, \"in x[n\")", 1, "column ");
    refuses("REFERENCE(f, \"in x[n]\"", 1, "expected REFERENCE(name, \"formals\")");
}

/* ---- registries ---- */

static struct complaints complaints;

#define HEAD      "version: 1\nkernels:\n"
#define SIGNATURE "  signature: const f32 x[n], f32 y[n], i32 n\n"

/* A registry with the text as `half.cu` beside it. The folder stays until `gone`. */
static struct tmp_folder folder;

static struct registry *load(const char *registry, const char *source)
{
    char path[600];
    tmp_folder_make(&folder);
    snprintf(path, sizeof path, "%s/half.cu", folder.path);
    file_write(path, source);
    snprintf(path, sizeof path, "%s/k.yaml", folder.path);
    file_write(path, registry);
    memset(&complaints, 0, sizeof complaints);
    struct registry *loaded = NULL;
    registry_load(&loaded, &(struct registry_source){.files = path}, complain_to, &complaints);
    assert_non_null(loaded);
    return loaded;
}

static void gone(struct registry *registry)
{
    registry_destroy(registry);
    tmp_folder_remove(&folder);
}

static void expect(const char *entry, const char *source, const char *part)
{
    char text[4096];
    snprintf(text, sizeof text, HEAD "- kernel: k\n" SIGNATURE "%s", entry);
    struct registry *registry = load(text, source);
    if (!part && complaints.count)
        fail_msg("%s", complaints.text[0]);
    if (part && (complaints.count != 1 || !strstr(complaints.text[0], part)))
        fail_msg("%d complaints, the first '%s' is not '%s'", complaints.count, complaints.text[0],
                 part);
    assert_int_equal(registry_entries(registry), part ? 0 : 1);
    gone(registry);
}

static void bad_mappings_are_told(void **state)
{
    (void)state;
    expect("  reference: {source: half.cu}\n", HALF, NULL);
    expect("  reference: {}\n", HALF, "k.yaml:5:14: 'reference' needs either 'inline' or 'source'");
    expect("  reference: {source: half.cu, inline: x}\n", HALF,
           "needs either 'inline' or 'source'");
    expect("  reference: {sauce: half.cu}\n", HALF,
           "unknown key 'sauce'; expected one of inline, source, name; did you mean 'source'?");
    expect("  reference: {source: absent.cu}\n", HALF, "absent.cu: cannot be read: No such file");
    expect("  reference: {source: .}\n", HALF, "cannot be read");
    expect("  reference: {source: half.cu}\n", "int x;\n", "k.yaml:5:14: the text declares no ref");
    expect("  reference: {inline: 'int x;'}\n", HALF, "k.yaml:5:14: the text declares no ref");
    expect("  reference: {source: half.cu}\n", HALF TWICE,
           "the text declares 2 references (half, twice); expected 'name' with one of them");
    expect("  reference: {source: half.cu, name: twice}\n", HALF TWICE, NULL);
    expect("  reference: {source: half.cu, name: hlaf}\n", HALF TWICE,
           "k.yaml:5:38: the text has no reference 'hlaf' (it has: half, twice); did you mean "
           "'half'?");
    expect("  reference: {source: half.cu}\n", HALF HALF,
           "half.cu:5: the text has two references 'half'");
}

static void declarations_are_told_at_their_line(void **state)
{
    static const char bad[] = "\nREFERENCE(half, \"in x[n\")\n{}\n";
    (void)state;
    expect("  reference: {source: half.cu}\n", bad, "/half.cu:2: ");
    expect(
        "  reference:\n    inline: |\n      // a\n\n      REFERENCE(half, \"in x[n\")\n      {}\n",
        "", "/k.yaml:9: ");
    expect("  reference:\n    inline: \"// a\\nREFERENCE(half, 7)\"\n", "",
           "/k.yaml:6: line 2 of the text: expected REFERENCE(name,");
}

/* Faults of binding need no compiler: they are reported when the registry is read. */
static void formals_are_bound(void **state)
{
    (void)state;
    expect("  reference: {source: half.cu}\n", "REFERENCE(half, \"in a[n], out y[n]\")\n{\n}\n",
           "reference 'half (source half.cu)' needs ");
    expect("  reference: {source: half.cu}\n  bind: {z: x}\n", HALF, "has no formal 'z'");
    expect("  reference: {source: half.cu}\n  bind: {a: x}\n",
           "REFERENCE(half, \"in a[n], out y[n]\")\n{\n}\n", NULL);
}

/* As of built-in references: what their text does not have, a tolerance cannot be about. */
static void contracts_fit_the_text(void **state)
{
    (void)state;
    expect("  reference: {source: half.cu}\n  tolerance: {inner: bf16}\n", HALF,
           "k.yaml:5:14: inner: reference 'half (source half.cu)' multiplies nothing that it "
           "computed with an input (no MIX); leave it out");
    expect("  reference: {source: half.cu}\n  tolerance: {inner: bf16}\n",
           "#define SUMS(j, n) MIX(8, j, n, x(j), c, 1, x(j))\n" HALF, NULL);
    expect("  reference: {source: half.cu}\n  tolerance: {masked_rows: any}\n", HALF,
           "k.yaml:5:14: masked_rows: ");
}

static void sources_are_shared(void **state)
{
#define ENTRY(rest) "- kernel: k\n" SIGNATURE "  reference: " rest "\n"
    struct registry *registry =
        load(HEAD ENTRY("{source: half.cu, name: half}") ENTRY("{source: ./half.cu, name: half}")
                 ENTRY("{source: half.cu, name: twice}") ENTRY("gelu"),
             HALF TWICE);
#undef ENTRY
    (void)state;
    assert_int_equal(complaints.count, 0);
    assert_int_equal(registry_entries(registry), 4);
    const struct user_references *users = registry_user_references(registry);
    assert_int_equal(users->texts, 1);
    assert_int_equal(users->references, 2);
    const struct ref_builtin *twice = &users->reference[1]->as_builtin;
    assert_string_equal(twice->name, "twice (source half.cu)");
    assert_string_equal(twice->formals, "in x[n], out y[n], real k = 2");
    assert_string_equal(twice->symbol[REF_ANY], "cuvet_ref_twice_wide");
    assert_string_equal(twice->symbol[REF_WIDE], "cuvet_ref_twice_wide");
    assert_null(twice->symbol[REF_F32]);
    gone(registry);
}

/* A name of a built-in reference does not bring its tolerances along. */
static void names_are_not_those_of_built_in_ones(void **state)
{
    struct resolved made =
        resolve_entry("kernel: k\n  signature: const f32 x[n], f32 y[n], i32 n\n"
                      "  reference:\n    inline: |\n"
                      "      REFERENCE(gelu, \"in x[n], out y[n]\")\n      {\n      }\n",
                      (unsigned[]){8, 8, 4, 0});
    (void)state;
    assert_non_null(made.spec->reference->user);
    assert_non_null(strstr(made.spec->reference->name, "gelu (inline /"));
    assert_non_null(strstr(made.spec->reference->name, "/k.yaml:6)"));
    registry_destroy(made.registry);
}

/* ---- NVRTC ---- */

static bool have_nvrtc(void)
{
    struct error err = {{0}};
    struct find_hints hints = {0};
    find_homes(&hints);
    if (!nvrtc_api_load(&hints, &err))
        return true;
    print_message("skipped: %s\n", err.text);
    return false;
}

static void compiles(const char *source, int arch, const char *part)
{
    struct registry *registry =
        load(HEAD "- kernel: k\n" SIGNATURE "  reference: {source: half.cu, name: half}\n", source);
    struct ref_image image;
    struct error err = {{0}};
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    enum status status =
        ref_compile(registry_user_references(registry)->text[0], arch, &image, &err);
    if (!part && status)
        fail_msg("%s", err.text);
    if (part)
        expect_says(err.text, part);
    if (!part)
        assert_non_null(strstr(image.ptx, "cuvet_ref_half_wide"));
    assert_int_equal(!part && arch, image.cubin != NULL);
    ref_image_release(&image);
    gone(registry);
}

static void texts_become_code(void **state)
{
    (void)state;
    if (!have_nvrtc())
        skip();
    int newest = nvrtc_nearest_arch(999);
    assert_true(newest >= 90);
    assert_int_equal(nvrtc_nearest_arch(newest + 1), newest);
    assert_int_equal(nvrtc_nearest_arch(10), 0);
    assert_in_range(nvrtc_nearest_arch(0), 75, newest);
    compiles(HALF TWICE, newest, NULL);
    compiles(HALF TWICE, 0, NULL);
    compiles(HALF, 10, "compiles for no GPU of compute capability 1.0; set CUVET_NVRTC");
}

static void compile_errors_have_a_line(void **state)
{
    (void)state;
    if (!have_nvrtc())
        skip();
    compiles("\n" HALF "\nint x = nothing;\n", 0,
             "/half.cu:7: the reference does not compile: identifier \"nothing\" is undefined, in "
             "'int x = nothing;'");
    compiles("REFERENCE(half, \"in x[n], out y[n]\")\n{\n    ELEMENT(r, 1, i, n)\n"
             "        y(i) = x(r, i);\n}\n",
             0, "/half.cu:4: the reference does not compile: static assertion failed");
    compiles("REFERENCE(half, \"in x[n], out y[n]\")\n{\n", 0, "/half.cu:");
}

#define ROWS(body)                                                                                 \
    "REFERENCE(half, \"in x[n], out y[n]\")\n{\n    ROW(i, n)\n    {\n        " body "\n    "      \
    "}\n}\n"

/* Mistakes of people used to C++ and not to the dialect. */
static void compile_errors_have_a_hint(void **state)
{
    (void)state;
    if (!have_nvrtc())
        skip();
    compiles(ROWS("y(i) = SUM(c, n, c < i ? x(c) : 0);"), 0, "SUM_IF(j, n, condition, term)");
    compiles(ROWS("y(i) = SUM(c, n, SUM(k, c, x(k)));"), 0, "SUM_IF(j, n, condition, term)");
    compiles(ROWS("y(i) = SUM(c, n, SUM_IF(k, n, true, x(k)));"), 0,
             "or the term of a sum\", in 'y(i) = SUM(c, n, SUM_IF(k, n, true, x(k)));'; compute it "
             "before as a real");
    compiles(ROWS("EACH(c, n) y(i) = PRODUCT(k, n, x(k));"), 0, "compute it before as a real");
    compiles(ROWS("ref_ranked all(REF_RISING);\n"
                  "y(i) = SUM(c, n, NUMBER(NEXT_IF(all, k, n, true, x(k)).place));"),
             0, "compute it before as a real");
    compiles(ROWS("y(i) = x(i); y(i) = y(i) * 2;"), 0, "an output is only assigned to");
    /* What each lane takes alone may stand there. */
    compiles(ROWS("y(i) = SUM(c, n, MAX(k, n, x(k)) - x(c)) + PRODUCT(c, n, x(c));\n"
                  "real s = SUM_IF(k, n, k != i, x(k)); EACH(c, 1) y(i) = s;"),
             0, NULL);
    compiles(ROWS("ref_ranked next(REF_FALLING);\n"
                  "TERM(got, k, INDEX(x(k)));\n"
                  "REPEAT(k, i + 1) next = NEXT_IF(next, c, n, got(c) != k, x(c));\n"
                  "y(i) = FRESH(got, i, n) ? real(x(next.place)) : real(0.0);"),
             0, NULL);
}

/* Lines as NVRTC 13.0 writes them. */
static void messages_have_the_hint_of_their_mistake(void **state)
{
    static const struct {
        const char *line, *part;
    } lines[] = {
        {"no operator \"*\" matches these operands\n"
         "            operand types are: ref_exact<double, 4> * ref_pack<4>\n",
         "is a pack of neighbours"},
        {"no operator \"[]\" matches these operands\n            operand types are: "
         "ref_out<double, 0, 1> [ const long long ]\n",
         "called with their indices"},
        {"no operator \"+=\" matches these operands\n", "write s = s + x"},
        {"no operator \"=\" matches these operands\n"
         "            operand types are: ref_exact<double, 1> = double\n",
         "only outputs are assigned to"},
        {"no suitable user-defined conversion from \"ref_spot<double, 0, 1, -1, 1, const "
         "ref_unread>\" to \"reference_t<double, 0>::real\" (aka \"ref_real<double, 1>\") exists\n",
         "an output is only assigned to"},
        {"expression must have bool type (or be convertible to bool)\n", "where(condition, a, b)"},
        {"no suitable conversion function from \"ref_mask<1>\" to \"__nv_bool\" exists\n",
         "where(condition, a, b)"},
        {"no suitable conversion function from \"ref_choose<false, ref_narrow<double, 1>, "
         "ref_exact<double, 1>>::type\" (aka \"ref_exact<double, 1>\") to \"int\" exists\n",
         "INDEX(x(r, c)) makes an index"},
        {"static assertion failed with \"an index is one number, not a pack of them\"\n",
         "inside SUM_IF(j, n, condition, term) and TERM"},
        {"no suitable conversion function from \"ref_real<double, 1>\" to \"float\" exists\n",
         "are of type real"},
        {"no instance of overloaded function \"fabs\" matches the argument list\n"
         "            argument types are: (ref_exact<double, 4>)\n",
         "functions are square max min abs"},
        {"static assertion failed with \"SUM_IF, MAX_IF, NEXT_IF, FRESH, MIX and PRODUCT take all "
         "lanes together, so they cannot stand in EACH\"\n",
         "compute it before as a real"},
        {"identifier \"ref_scope\" is undefined\n", "stand inside ROW, SAMPLE or ELEMENT"},
        {"template parameter \"E\" may not be redeclared in this scope\n", "names of the dialect"},
        {"\"run\" has already been declared in the current scope\n", "names of the dialect"},
        {"identifier \"w\" is undefined\n", "names are formals, dims"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[400];
        snprintf(text, sizeof text, "cuvet_text(4): error: %s", lines[i].line);
        const char *hint = ref_hint(text);
        expect_says(hint ? hint : "nothing", lines[i].part);
    }
}

static void other_messages_have_none(void **state)
{
    (void)state;
    assert_null(ref_hint("cuvet_text(4): error: expected a \";\"\n  }\n  ^\n"));
    assert_null(ref_hint(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_scanned),
        cmocka_unit_test(texts_tell_what_they_use),
        cmocka_unit_test(built_in_references_tell_it_too),
        cmocka_unit_test(bad_declarations_have_a_line),
        cmocka_unit_test(bad_mappings_are_told),
        cmocka_unit_test(declarations_are_told_at_their_line),
        cmocka_unit_test(formals_are_bound),
        cmocka_unit_test(contracts_fit_the_text),
        cmocka_unit_test(sources_are_shared),
        cmocka_unit_test(names_are_not_those_of_built_in_ones),
        cmocka_unit_test(texts_become_code),
        cmocka_unit_test(compile_errors_have_a_line),
        cmocka_unit_test(compile_errors_have_a_hint),
        cmocka_unit_test(messages_have_the_hint_of_their_mistake),
        cmocka_unit_test(other_messages_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
