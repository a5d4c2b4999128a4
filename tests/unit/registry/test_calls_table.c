/* test_calls_table.c - the table of cuBLAS's calls (config/calls/cublas*.yaml): each name that the
 * wrappers make of what the library documents has an entry, but for those that are listed as left
 * out, and f8 products are held to the sums of tensor cores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "call/product.h"
#include "hook/calls/blas_types.h"
#include "lang/dtype.h"
#include "plan/plan.h"
#include "text/textbuf.h"
#include "tests/unit/common/registry_fixture.h"

/* Types and accumulations that the library takes together. */
static const struct kind {
    enum dtype a, b, c;
    enum accumulation accumulation;
} kinds[] = {
    {DTYPE_F16, DTYPE_F16, DTYPE_F16, ACCUMULATION_F32},
    {DTYPE_F16, DTYPE_F16, DTYPE_F32, ACCUMULATION_F32},
    {DTYPE_F16, DTYPE_F16, DTYPE_F16, ACCUMULATION_F16},
    {DTYPE_BF16, DTYPE_BF16, DTYPE_BF16, ACCUMULATION_F32},
    {DTYPE_BF16, DTYPE_BF16, DTYPE_F32, ACCUMULATION_F32},
    {DTYPE_F32, DTYPE_F32, DTYPE_F32, ACCUMULATION_F32},
    {DTYPE_F32, DTYPE_F32, DTYPE_F32, ACCUMULATION_TF32},
    {DTYPE_F32, DTYPE_F32, DTYPE_F32, ACCUMULATION_FAST_F16},
    {DTYPE_F32, DTYPE_F32, DTYPE_F32, ACCUMULATION_FAST_BF16},
    {DTYPE_F64, DTYPE_F64, DTYPE_F64, ACCUMULATION_F64},
    {DTYPE_I8, DTYPE_I8, DTYPE_I32, ACCUMULATION_I32},
    {DTYPE_I8, DTYPE_I8, DTYPE_F32, ACCUMULATION_F32},
    {DTYPE_F8E4M3, DTYPE_F8E4M3, DTYPE_F32, ACCUMULATION_F32},
    {DTYPE_F8E4M3, DTYPE_F8E5M2, DTYPE_F16, ACCUMULATION_F32},
    {DTYPE_F8E5M2, DTYPE_F8E4M3, DTYPE_BF16, ACCUMULATION_F32},
    {DTYPE_F8E4M3, DTYPE_F8E4M3, DTYPE_F8E4M3, ACCUMULATION_F32},
};

/* The epilogues that cublasLtEpilogue_t names, in its bits. */
static const uint32_t epilogues[] = {
    0,
    LT_EPILOGUE_RELU,
    LT_EPILOGUE_RELU | LT_EPILOGUE_AUX,
    LT_EPILOGUE_BIAS,
    LT_EPILOGUE_RELU | LT_EPILOGUE_BIAS,
    LT_EPILOGUE_RELU | LT_EPILOGUE_AUX | LT_EPILOGUE_BIAS,
    LT_EPILOGUE_DRELU | LT_EPILOGUE_AUX,
    LT_EPILOGUE_DRELU | LT_EPILOGUE_AUX | LT_EPILOGUE_BGRAD,
    LT_EPILOGUE_GELU,
    LT_EPILOGUE_GELU | LT_EPILOGUE_AUX,
    LT_EPILOGUE_GELU | LT_EPILOGUE_BIAS,
    LT_EPILOGUE_GELU | LT_EPILOGUE_AUX | LT_EPILOGUE_BIAS,
    LT_EPILOGUE_DGELU | LT_EPILOGUE_AUX,
    LT_EPILOGUE_DGELU | LT_EPILOGUE_AUX | LT_EPILOGUE_BGRAD,
    LT_EPILOGUE_BGRADA,
    LT_EPILOGUE_BGRADB,
};

enum {
    ADDING = PRODUCT_BETA | PRODUCT_ADDED,
    FORWARD = PRODUCT_RELU | PRODUCT_GELU,
    BACKWARD = PRODUCT_DRELU | PRODUCT_DGELU | PRODUCT_BGRAD | PRODUCT_BGRADA | PRODUCT_BGRADB,
    NO_ENTRY = PRODUCT_TILED | PRODUCT_SCALED | PRODUCT_AMAX | PRODUCT_OTHER,
};

static bool is_f8(enum dtype dtype)
{
    return dtype == DTYPE_F8E4M3 || dtype == DTYPE_F8E5M2;
}

static bool is_half(enum dtype dtype)
{
    return dtype == DTYPE_F16 || dtype == DTYPE_BF16;
}

/* What the table has no entry for, and why. */
static const char *left_out(const struct product *p)
{
    bool f8 = is_f8((enum dtype)p->a_type);
    uint32_t epilogue = p->words & (FORWARD | BACKWARD);
    if (p->words & NO_ENTRY)
        return "not computed by a reference";
    if (p->words & PRODUCT_DEVICE && (epilogue || f8))
        return "factors in device memory, with an epilogue or f8";
    if (is_f8((enum dtype)p->c_type) && (p->words & PRODUCT_REDUCED))
        return "an output in f8 of parts in 16 bits";
    if (f8 && (p->words & BACKWARD))
        return "not supported by the library for f8";
    if (p->words & PRODUCT_SCALES && (epilogue || p->words & PRODUCT_BATCH))
        return "scales of rows or blocks, with an activation";
    if (p->accumulation == ACCUMULATION_I32 && (epilogue || p->words & PRODUCT_BIAS))
        return "not supported by the library for sums in i32";
    if (p->words & PRODUCT_BIAS && p->bias_type != p->c_type && !f8)
        return "a bias of another type";
    return NULL;
}

static uint32_t words_of_epilogue(uint32_t epilogue)
{
    uint32_t words = 0;
#define EPILOGUE(name) words |= epilogue & LT_EPILOGUE_##name ? (uint32_t)PRODUCT_##name : 0;
    LT_EPILOGUE_LIST(EPILOGUE)
#undef EPILOGUE
    return words;
}

/* The name, as product_name makes it, which keeps no more than a process needs. */
static const char *name_of(const struct product *p)
{
    static const char *const words[] = {
#define WORD(name, text) text,
        PRODUCT_WORD_LIST(WORD)
#undef WORD
    };
    static const char *const accumulations[] = {
#define ACCUMULATION(name, text) text,
        ACCUMULATION_LIST(ACCUMULATION)
#undef ACCUMULATION
    };
    static struct textbuf text;
    textbuf_release(&text);
    textbuf_init(&text);
    textbuf_printf(&text, "%s<%s, %s, %s, %s", p->function, dtype_text((enum dtype)p->a_type),
                   dtype_text((enum dtype)p->b_type), dtype_text((enum dtype)p->c_type),
                   accumulations[p->accumulation]);
    for (int i = 0; i < PRODUCT_WORDS; i++) {
        if (!(p->words >> i & 1))
            continue;
        textbuf_printf(&text, ", %s", words[i]);
        if (1u << i == PRODUCT_BIAS && p->bias_type != p->c_type)
            textbuf_printf(&text, " %s", dtype_text((enum dtype)p->bias_type));
    }
    textbuf_printf(&text, ">");
    return text.data;
}

static struct {
    struct registry *registry;
    uint64_t found, left_out;
} table;

static const struct kernel_spec *entry_of(const struct product *p)
{
    struct error err = {{0}};
    enum skip skip;
    return registry_resolve(table.registry, name_of(p), &product_layout, &skip, &err);
}

static void hold(const struct product *p)
{
    const struct kernel_spec *spec = entry_of(p);
    const char *why = left_out(p);
    if (why && spec)
        fail_msg("%s has the entry %s, and is listed as left out: %s", name_of(p), spec->where,
                 why);
    if (!why && !spec)
        fail_msg("%s has no entry", name_of(p));
    if (!why && (spec->plan->tolerance.chain.roundoff > 0) !=
                    (is_f8((enum dtype)p->a_type) || (p->words & PRODUCT_REDUCED) != 0))
        fail_msg("%s: the wrong accumulation, %s", name_of(p), spec->where);
    table.found += !why;
    table.left_out += why != NULL;
}

/* A product with and without parts of sums in 16 bits. */
static void hold_both(struct product p)
{
    hold(&p);
    p.words |= PRODUCT_REDUCED;
    if (p.accumulation == ACCUMULATION_F32 &&
        (is_half((enum dtype)p.c_type) || is_f8((enum dtype)p.c_type)))
        hold(&p);
}

static struct product product_of(const char *function, const struct kind *kind, uint32_t words)
{
    return (struct product){.function = function,
                            .a_type = (uint8_t)kind->a,
                            .b_type = (uint8_t)kind->b,
                            .c_type = (uint8_t)kind->c,
                            .bias_type = (uint8_t)kind->c,
                            .accumulation = (uint8_t)kind->accumulation,
                            .words = words};
}

static int table_load(void **state)
{
    struct registry_source source = {.files =
                                         "config/calls/cublas.yaml:config/calls/cublas_f8.yaml"};
    struct complaints complaints = {0};
    (void)state;
    memset(&table, 0, sizeof table);
    registry_load(&table.registry, &source, complain_to, &complaints);
    return complaints.count;
}

static int table_end(void **state)
{
    (void)state;
    registry_destroy(table.registry);
    return 0;
}

static void products_of_cublas_have_entries(void **state)
{
    static const uint32_t several[] = {0, PRODUCT_BATCH, PRODUCT_LIST};
    static const uint32_t adding[] = {0, PRODUCT_BETA, PRODUCT_BETA | PRODUCT_DEVICE};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (is_f8(kinds[i].a))
            continue; /* of cublasLtMatmul alone */
        for (int s = 0; s < 3; s++)
            for (int a = 0; a < 3; a++)
                hold_both(product_of("cublasGemmEx", &kinds[i], several[s] | adding[a]));
    }
    assert_true(table.found > 100 && table.left_out == 0);
}

static void lt_products(const struct kind *kind, uint32_t more)
{
    static const uint32_t adding[] = {0, PRODUCT_BETA, PRODUCT_ADDED, PRODUCT_BETA | PRODUCT_DEVICE,
                                      PRODUCT_ADDED | PRODUCT_DEVICE};
    for (size_t e = 0; e < sizeof epilogues / sizeof *epilogues; e++)
        for (size_t a = 0; a < sizeof adding / sizeof *adding; a++)
            for (uint32_t batch = 0; batch <= PRODUCT_BATCH; batch += PRODUCT_BATCH) {
                struct product p =
                    product_of("cublasLtMatmul", kind,
                               more | adding[a] | batch | words_of_epilogue(epilogues[e]));
                hold_both(p);
                p.bias_type = DTYPE_BF16;
                if (p.words & PRODUCT_BIAS)
                    hold_both(p);
            }
}

static void products_of_cublaslt_have_entries(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!is_f8(kinds[i].a))
            lt_products(&kinds[i], 0);
    assert_true(table.found > 500);
}

static void f8_products_have_entries(void **state)
{
    static const uint32_t scales[] = {0, PRODUCT_SCALE, PRODUCT_SCALES};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int s = 0; s < 3 && is_f8(kinds[i].a); s++)
            for (uint32_t fast = 0; fast <= PRODUCT_FAST; fast += PRODUCT_FAST)
                lt_products(&kinds[i], scales[s] | fast);
    assert_true(table.found > 500);
}

static void others_have_none(void **state)
{
    static const uint32_t words[] = {PRODUCT_TILED | PRODUCT_SCALES, PRODUCT_SCALED, PRODUCT_AMAX,
                                     PRODUCT_OTHER};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const struct product p =
            product_of("cublasLtMatmul", &kinds[sizeof kinds / sizeof *kinds - 1], words[i]);
        hold(&p);
    }
    assert_int_equal(table.left_out, 4);
}

/* The names of this file are those of the library. */
static void names_are_the_library_s(void **state)
{
    struct product p = product_of("cublasLtMatmul", &kinds[0],
                                  PRODUCT_BATCH | PRODUCT_RELU | PRODUCT_BIAS | PRODUCT_AUX);
    (void)state;
    p.bias_type = DTYPE_BF16;
    assert_string_equal(name_of(&p), product_name(&p));
}

int main(void)
{
#define TABLE_TEST(test) cmocka_unit_test_setup_teardown(test, table_load, table_end)
    const struct CMUnitTest tests[] = {
        TABLE_TEST(products_of_cublas_have_entries), TABLE_TEST(products_of_cublaslt_have_entries),
        TABLE_TEST(f8_products_have_entries),        TABLE_TEST(others_have_none),
        TABLE_TEST(names_are_the_library_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
