/* test_formals.c - the parser of a reference's declared arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "lang/formals.h"

static void parses(struct formals *formals, const char *text)
{
    struct error err = {{0}};
    enum status status = formals_parse(formals, text, &err);
    if (status)
        print_error("%s\n", err.text);
    assert_int_equal(status, STATUS_OK);
}

/* The text is refused, and the error has `column` and `what`. */
static void refuses(const char *text, int column, const char *what)
{
    struct formals formals;
    struct error err = {{0}};
    char where[32];
    snprintf(where, sizeof where, "column %d:", column);
    assert_int_equal(formals_parse(&formals, text, &err), STATUS_INVALID);
    if (!strstr(err.text, where) || !strstr(err.text, what))
        print_error("got: %s\nwanted: %s ... %s\n", err.text, where, what);
    assert_non_null(strstr(err.text, where));
    assert_non_null(strstr(err.text, what));
}

static void test_whole_declaration(void **state)
{
    (void)state;
    struct formals f;
    parses(&f, "in x[rows][cols], in w[cols] = 1,\n  out y[rows][cols], out rstd?[rows], real eps");
    assert_int_equal(f.count, 5);
    assert_int_equal(f.tensors, 4);
    assert_int_equal(f.scalars, 1);
    assert_int_equal(f.sizes, 2);
    assert_string_equal(f.size_name[0], "rows");
    assert_string_equal(f.size_name[1], "cols");

    const struct formal *w = formals_find(&f, "w");
    assert_int_equal(w->kind, FORMAL_IN);
    assert_true(w->optional);
    assert_true(w->fallback == 1);
    assert_int_equal(w->ndim, 1);
    assert_int_equal(w->dim[0].size, 1);
    assert_int_equal(w->slot, 1);

    const struct formal *rstd = formals_find(&f, "rstd");
    assert_int_equal(rstd->kind, FORMAL_OUT);
    assert_true(rstd->optional);
    assert_int_equal(rstd->dim[0].size, 0);

    const struct formal *x = formals_find(&f, "x");
    assert_false(x->optional);
    assert_int_equal(formals_find(&f, "eps")->slot, 0);
    assert_null(formals_find(&f, "rows"));
}

static void test_coded_inputs(void **state)
{
    (void)state;
    struct formals f;
    parses(&f, "coded w[n][k], in x[k] = 1, out y[n]");
    assert_int_equal(f.formal[0].kind, FORMAL_IN);
    assert_true(f.formal[0].coded && !f.formal[0].optional);
    assert_false(f.formal[1].coded || f.formal[2].coded);
    refuses("in coded[n]", 4, "a keyword cannot be a name");
}

static void test_ints_follow_dims(void **state)
{
    (void)state;
    struct formals f;
    parses(&f,
           "int k, in x[rows][2][cols], int window = 128, inout y[rows], real a, real b = -2.5e-3");
    assert_int_equal(f.sizes, 4);
    assert_int_equal(formals_find(&f, "k")->slot, 2);
    assert_int_equal(formals_find(&f, "window")->slot, 3);
    assert_string_equal(f.size_name[2], "k");
    assert_true(formals_find(&f, "window")->fallback == 128);
    assert_int_equal(formals_find(&f, "x")->dim[1].size, -1);
    assert_int_equal(formals_find(&f, "x")->dim[1].literal, 2);
    assert_int_equal(formals_find(&f, "y")->kind, FORMAL_INOUT);
    assert_int_equal(formals_find(&f, "b")->slot, 1);
    assert_true(formals_find(&f, "b")->fallback == -2.5e-3);
}

static void test_points(void **state)
{
    (void)state;
    struct formals f;
    parses(&f, "in x[n], point first, out y[n], real a, point second");
    assert_int_equal(f.points, 2);
    assert_int_equal(formals_find(&f, "second")->kind, FORMAL_POINT);
    assert_int_equal(formals_find(&f, "second")->slot, 1);
    assert_false(formal_is_array(formals_find(&f, "first")));
    assert_true(formal_is_array(formals_find(&f, "y")));
    refuses("point p = 1", 11, "only an input");
    refuses("point p[n]", 8, "expected ,");
    refuses("point a, point b, point c, point d, point e", 37, "more than 4 points");
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"real a = 1e-05", 1e-05},
                 {"real a = 0.01", 0.01},
                 {"real a = .5", .5},
                 {"real a = 1000000", 1e6},
                 {"real a = 6.0221e23", 6.0221e23},
                 {"real a=-1", -1},
                 {"real a = 0.70710678118654752440", 0.70710678118654752440}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct formals f;
        parses(&f, cases[i].text);
        assert_true(fabs(f.formal[0].fallback - cases[i].value) <= 1e-15 * fabs(cases[i].value));
    }
    struct formals f;
    parses(&f, "in mask[n] = -inf, real inflation = 2");
    assert_true(isinf(f.formal[0].fallback) && f.formal[0].fallback < 0);
}

static void test_refusals(void **state)
{
    (void)state;
    refuses("", 1, "expected in, coded, out");
    refuses("in x[n],", 9, "expected in, coded, out");
    refuses("input x[n]", 1, "expected in, coded, out");
    refuses("in [n]", 4, "expected a name");
    refuses("in out[n]", 4, "keyword");
    refuses("in x[n", 7, "expected ]");
    refuses("in x[]", 6, "expected a dim");
    refuses("in x[0]", 6, "positive");
    refuses("in x[99999999999999999999]", 6, "range");
    refuses("in x[a][b][c][d][e]", 18, "more than 4 dims");
    refuses("in x[n] out y[n]", 9, "expected ,");
    refuses("in x[n], out x[n]", 14, "twice");
    refuses("in x[n], real n", 15, "twice");
    refuses("in x[x]", 1, "one name");
    refuses("in x[n], in y[x]", 15, "name of a formal");
    refuses("out y[n] = 3", 12, "only an input");
    refuses("real a = ", 10, "expected a number");
    refuses("real a = 1e", 12, "exponent");
    refuses("real a = 1e999", 10, "range");
    refuses("real a = 1x", 11, "letter");
    refuses("int k = 1.5", 9, "integer");
    refuses("real abcdefghijklmnopqrstuvwxyz_01234", 6, "longer");
}

static void test_limits(void **state)
{
    (void)state;
    struct formals f;
    parses(&f, "in a, in b, in c, in d, in e, in f, in g, in h, in i, in j, in k, in l");
    assert_int_equal(f.tensors, REF_MAX_TENSORS);
    refuses("in a, in b, in c, in d, in e, in f, in g, in h, in i, in j, "
            "in k, in l, in m",
            77, "more than 12");
    refuses("real a, real b, real c, real d, real e, real f, real g, real h, real i", 65,
            "more than 8 real");
    refuses("in a[b][c][d][e], in f[g][h][i][j], in k[l][m][n][o], in p[q][r][s][t], out u[v]", 79,
            "more than 16 named");
    refuses("in a[b][c][d][e], in f[g][h][i][j], in k[l][m][n][o], in p[q][r][s][t], int u", 78,
            "more than 16 named");
}

static void test_null_error(void **state)
{
    (void)state;
    struct formals f;
    assert_int_equal(formals_parse(&f, "in", NULL), STATUS_INVALID);
}

static void test_each(void **state)
{
    (void)state;
    struct formals f;
    parses(&f, "in x[rows][cols], in at?[rows], out y[rows][cols], out sum?[cols], int k, "
               "each rows given at, each cols");
    assert_int_equal(f.eaches, 2);
    assert_int_equal(f.each[0].size, 0);
    assert_int_equal(f.each[0].given, 1);
    assert_int_equal(f.each[1].size, 1);
    assert_int_equal(f.each[1].given, -1);
    assert_int_equal(f.each[1].with, -1);
    assert_int_equal(f.sizes, 3);
    assert_int_equal(formals_axis(formals_find(&f, "y"), 1), 1);
    assert_int_equal(formals_axis(formals_find(&f, "sum"), 0), -1);
    parses(&f, "in x[rows], out y[rows]");
    assert_int_equal(f.eaches, 0);
    parses(&f, "in x[each_one], out eachs[each_one], each each_one");
    assert_int_equal(f.eaches, 1);
}

static void test_each_with_another_dim(void **state)
{
    (void)state;
    struct formals f;
    parses(&f, "in q[t][heads][d], in k[t][kv][d], in s?[one], out y[t][heads][d], out z?[4], "
               "each kv with heads, each kv with heads given s, each t like one");
    assert_int_equal(f.eaches, 3);
    assert_int_equal(f.each[0].size, 3);
    assert_int_equal(f.each[0].with, 1);
    assert_false(f.each[0].like);
    assert_int_equal(f.each[0].given, -1);
    assert_int_equal(f.each[1].given, 2);
    assert_int_equal(f.each[2].with, 4);
    assert_true(f.each[2].like);
    assert_int_equal(formals_each_axis(formals_find(&f, "q"), &f.each[0]), 1);
    assert_int_equal(formals_each_axis(formals_find(&f, "k"), &f.each[0]), 1);
    assert_int_equal(formals_each_axis(formals_find(&f, "s"), &f.each[0]), -1);
    assert_int_equal(formals_each_axis(formals_find(&f, "s"), &f.each[2]), 0);
    assert_int_equal(formals_each_axis(formals_find(&f, "z"), &f.each[1]), -1); /* literal dims */
    parses(&f, "in with[like], out like_x[like], each like"); /* words elsewhere */
    assert_int_equal(f.each[0].with, -1);
    refuses("in x[n], out y[m], each n with", 31, "expected another named dim");
    refuses("in x[n], out y[m], each n with x", 32, "expected another named dim");
    refuses("in x[n], out y[m], each n like k", 32, "expected another named dim");
    refuses("in x[n], out y[n], each n with n", 32, "expected another named dim");
    refuses("in x[n], out y[m], each n and m", 27, "expected with, like, given, by");
    refuses("in x[n], out y[m], each n with m like n", 34, "expected with, like, given, by");
    refuses("in x[n], out y[4], in z[m], each n with m", 34, "an output has not the dim");
    refuses("in x[n][m], out y[m], each n with m", 28, "the dim of each twice");
    refuses("in x[e][m], in i[n], out y[m], touch e by i, each n with m by i", 51, "one dim alone");
}

static void test_each_is_checked(void **state)
{
    (void)state;
    refuses("in x[rows], out y[rows], each cols", 31, "expected a named dim");
    refuses("in x[rows], out y[rows], each", 30, "expected a named dim");
    refuses("in x[rows], out y[rows], int k, each k", 38, "expected a named dim");
    refuses("in x[rows], out y[4], each rows", 28, "an output has not the dim");
    refuses("in x[n][n], out y[n], each n", 28, "the dim of each twice");
    refuses("in x[n], out y[n], each n, in z[n]", 28, "nothing else follows");
    refuses("in x[n], out y[n], each n if x", 27, "expected with, like, given, by");
    refuses("in x[n], out y[n], each n given x", 33, "an input that may stay unbound");
    refuses("in x[n], out y?[n], each n given y", 34, "an input that may stay unbound");
    refuses("in x[n], out each[n]", 14, "a keyword");
    refuses("each n", 1, "expected in, coded, out");
    refuses("in x[a][b][c][d], out y[a][b][c][d], each a, each b, each c, each d, each a", 75,
            "more than 4");
}

static void test_product(void **state)
{
    (void)state;
    struct formals f;
    parses(&f, "in a[m][k], in b[k][n], in bias[n] = 0, out c[m][n], real alpha = 1, each m, "
               "product c = alpha a b + bias");
    assert_true(f.has_product && f.eaches == 1);
    assert_int_equal(f.product.out, 3);
    assert_int_equal(f.product.a, 0);
    assert_int_equal(f.product.b, 1);
    assert_int_equal(f.product.alpha, 0);
    assert_int_equal(f.product.batch, -1);
    assert_int_equal(f.product.rows, 0);
    assert_int_equal(f.product.sum, 1);
    assert_int_equal(f.product.cols, 2);
    assert_int_equal(f.product.addends, 1);
    assert_int_equal(f.product.added[0].array, 2);
    assert_int_equal(f.product.added[0].scale, -1);
    parses(&f, "in x[s][k][m], in w[s][n][k], inout y[s][m][n], real beta, product y=x w+beta y");
    assert_int_equal(f.product.alpha, -1);
    assert_int_equal(f.product.batch, 0);
    assert_int_equal(f.product.sum, 1);
    assert_int_equal(f.product.rows, 2);
    assert_int_equal(f.product.cols, 3);
    assert_int_equal(f.product.added[0].array, 2);
    assert_int_equal(f.product.added[0].scale, 0);
    parses(&f,
           "in a[m][k], in b[k][n], in sa[h][w], in sb[g][v], in sd[1], out c[m][n], int group, "
           "product c = a b by sa sb group times sd");
    assert_true(f.product.scaled && f.product.timed);
    assert_int_equal(f.product.a_scale, 2);
    assert_int_equal(f.product.b_scale, 3);
    assert_int_equal(f.product.times, 4);
    assert_string_equal(f.formal[f.product.group].name, "group");
    parses(&f, "in a[m][k], in b[k][n], in sa[h][w], in sb[g][v], out c[m][n], "
               "product c = a b by sa sb");
    assert_true(f.product.scaled && !f.product.timed);
    assert_int_equal(f.product.group, -1);
    parses(&f, "in product_of[m][k], in b[k][n], out c[m][n]");
    assert_false(f.has_product);
}

#define MATRICES "in a[m][k], in b[k][n], out c[m][n], real s, "

static void test_product_is_checked(void **state)
{
    (void)state;
    refuses(MATRICES "product d = a b", 54, "expected an output");
    refuses(MATRICES "product a = c b", 54, "expected an output");
    refuses(MATRICES "product c a b", 56, "expected =");
    refuses(MATRICES "product c = s", 59, "expected a real or an array");
    refuses(MATRICES "product c = a", 59, "expected an array");
    refuses(MATRICES "product c = a s", 60, "expected an array");
    refuses(MATRICES "product c = a b +", 63, "expected a real or an array");
    refuses(MATRICES "product c = a b + c + c + c", 71, "more than 2");
    refuses(MATRICES "product c = b a", 54, "not those of a product");
    refuses(MATRICES "product c = a b + a", 54, "not those of a product");
    refuses(MATRICES "product c = a b, product c = a b", 71, "a second product");
    refuses(MATRICES "product c = a b by a s", 67, "expected an array");
    refuses(MATRICES "product c = a b times s", 68, "expected an array");
    refuses(MATRICES "product c = a b times a", 54, "not those of a product");
    refuses("in a[s][m][k], in b[s][k][n], in t[h][w], out c[s][m][n], product c = a b by t t", 67,
            "not those of a product");
    refuses("in a[k][m], in b[k][n], in t[h][w], out c[m][n], product c = a b by t t", 58,
            "not those of a product");
    refuses(MATRICES "product c = a b, real t", 63, "nothing else follows");
    refuses("in a[k], in b[k], out c[k], product c = a b", 37, "of two matrices");
    refuses("in a[m][4], in b[4][n], out c[m][n], product c = a b", 46, "not those of a product");
    refuses("in product[n], out y[n]", 4, "a keyword");
}

static void test_sums(void **state)
{
    (void)state;
    struct formals f;
    parses(&f, "in x[b][c][p], in w[f][c], out y[b][f][p], each b, sums y = x w over c p");
    assert_true(f.eaches == 1 && !f.has_product);
    assert_int_equal(f.sums.out, 2);
    assert_int_equal(f.sums.a, 0);
    assert_int_equal(f.sums.b, 1);
    assert_int_equal(f.sums.dims, 2);
    assert_int_equal(f.sums.size[0], 1);
    assert_int_equal(f.sums.size[1], 2);
    parses(&f, MATRICES "product c = a b");
    assert_int_equal(f.sums.dims, 0);
    refuses(MATRICES "sums a = c b over k", 51, "expected an output");
    refuses(MATRICES "sums c = s b over k", 55, "expected an array");
    refuses(MATRICES "sums c = a b", 58, "expected over");
    refuses(MATRICES "sums c = a b over", 63, "expected a named dim");
    refuses(MATRICES "sums c = a b over s", 64, "expected a named dim");
    refuses(MATRICES "sums c = a b over k k k k k", 72, "more than 4");
    refuses(MATRICES "sums c = a b over k, sums c = a b over k", 71, "a second sums");
    refuses(MATRICES "sums c = a b over k, real t", 67, "nothing else follows");
    refuses("in sums[n], out y[n]", 4, "a keyword");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_declaration),
        cmocka_unit_test(test_ints_follow_dims),
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_coded_inputs),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_null_error),
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_each_with_another_dim),
        cmocka_unit_test(test_each_is_checked),
        cmocka_unit_test(test_product),
        cmocka_unit_test(test_product_is_checked),
        cmocka_unit_test(test_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
