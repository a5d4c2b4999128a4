/* What `cuvet discover` makes of a record before anything is tried: parameters from code, values
 * and memory, dims, entries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/common/tmp_folder.h"
#include "tools/discover/search/candidates.h"
#include "tools/discover/search/extents.h"
#include "tools/discover/facts/ptx_facts.h"
#include "tools/discover/search/words.h"

/* ---- code ---- */

/* As compilers of today write it: loads and parameters without a type. p is read as bf16 and
 * written as packed bf16, q is read as f32, r is added to, s is never used. */
static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry f(.param .u64 p, .param .u64 q, .param .u64 r, .param .u64 s,\n"
    ".param .b32 n, .param .b32 a)\n{\n"
    ".reg .pred %p<2>;\n.reg .b16 %h<4>;\n.reg .b32 %r<12>;\n.reg .b64 %d<12>;\n.reg .f32 %f<8>;\n"
    "ld.param.b64 %d1, [p];\nld.param.b64 %d2, [q];\nld.param.b64 %d3, [r];\n"
    "ld.param.b32 %r1, [n];\nld.param.b32 %r2, [a];\n"
    "cvta.to.global.u64 %d4, %d1;\nmov.u32 %r3, %tid.x;\nsetp.ge.s32 %p1, %r3, %r1;\n"
    "@%p1 bra DONE;\nmul.wide.u32 %d5, %r3, 4;\nadd.s64 %d6, %d4, %d5;\nadd.s64 %d7, %d2, %d5;\n"
    "ld.global.b32 %r4, [%d6];\nmov.b32 {%h1, %h2}, %r4;\ncvt.f32.bf16 %f1, %h1;\n"
    "ld.global.b32 %r5, [%d7];\nmul.f32 %f2, %f1, %r2;\nfma.rn.f32 %f3, %f2, %r5, %f1;\n"
    "cvt.rn.bf16x2.f32 %r6, %f3, %f2;\nst.global.b32 [%d6], %r6;\n"
    "red.global.add.f32 [%d3], %f3;\nDONE:\nret;\n}\n";

static struct seen_kernel kernel_of(const void *image, size_t bytes)
{
    return (struct seen_kernel){.names = {"f", "f", "f"}, .image = image, .image_bytes = bytes};
}

static void assert_read(const struct param_fact *param, unsigned params)
{
    assert_int_equal(params, 6);
    assert_int_equal(param[0].dtype, DTYPE_BF16);
    assert_true(param[0].reads && param[0].writes && !param[0].adds);
    assert_int_equal(param[1].dtype, DTYPE_F32);
    assert_true(param[1].reads && !param[1].writes && !param[1].adds);
    assert_int_equal(param[2].dtype, DTYPE_F32);
    assert_true(!param[2].writes && param[2].adds);
    assert_true(!param[3].reads && !param[3].writes && !param[3].adds);
    assert_int_equal(param[4].dtype, DTYPE_I32);
    assert_int_equal(param[5].dtype, DTYPE_F32);
}

static void code_has_types_and_roles(void **state)
{
    struct seen_kernel kernel = kernel_of(ptx, sizeof ptx);
    struct param_fact param[LAYOUT_MAX];
    unsigned params = 0;
    (void)state;
    assert_true(ptx_facts_read(&kernel, param, &params));
    assert_read(param, params);
    kernel.names.mangled = "g";
    assert_false(ptx_facts_read(&kernel, param, &params));
}

/* A cubin's own PTX: lines end with NUL. */
static void a_cubin_may_carry_its_code(void **state)
{
    static struct {
        Elf64_Ehdr header;
        Elf64_Shdr section[2];
        char names[64];
        char text[sizeof ptx];
    } elf;
    struct param_fact param[LAYOUT_MAX];
    unsigned params = 0;
    (void)state;
    memcpy(elf.header.e_ident, ELFMAG, SELFMAG);
    elf.header.e_ident[EI_CLASS] = ELFCLASS64;
    elf.header.e_machine = 190; /* EM_CUDA */
    elf.header.e_flags = 90 << 16 | 90;
    elf.header.e_shentsize = sizeof(Elf64_Shdr);
    elf.header.e_shoff = offsetof(__typeof__(elf), section);
    elf.header.e_shnum = 2;
    strcpy(elf.names + 1, ".nv_debug_ptx_txt");
    elf.section[0].sh_offset = offsetof(__typeof__(elf), names);
    elf.section[0].sh_size = sizeof elf.names;
    elf.section[1].sh_name = 1;
    elf.section[1].sh_offset = offsetof(__typeof__(elf), text);
    elf.section[1].sh_size = sizeof ptx - 1;
    for (size_t i = 0; i < sizeof ptx; i++)
        elf.text[i] = ptx[i] == '\n' ? '\0' : ptx[i];
    struct seen_kernel kernel = kernel_of(&elf, sizeof elf);
    assert_true(ptx_facts_read(&kernel, param, &params));
    assert_read(param, params);
    elf.section[1].sh_size = sizeof elf; /* beyond the end */
    assert_false(ptx_facts_read(&kernel, param, &params));
}

/* ---- values and memory ---- */

enum { ROWS = 3, COLS = 40 };

static float before[ROWS * COLS], after[ROWS * COLS];

/* k(const float *, float *, int cols, float): two launches of 3 and 4 rows. */
static struct seen_sample make_sample(uint32_t rows, uint8_t params[24])
{
    uint64_t x = 0x10000, y = 0x20000;
    int cols = COLS;
    float factor = 0.5f;
    memcpy(params, &x, 8);
    memcpy(params + 8, &y, 8);
    memcpy(params + 16, &cols, 4);
    memcpy(params + 20, &factor, 4);
    struct seen_sample sample = {
        .grid = {rows, 1, 1},
        .block = {64, 1, 1},
        .params = params,
        .params_bytes = 24,
        .layout = {4, {{0, 8}, {8, 8}, {16, 4}, {20, 4}}},
        .pointer = {{0, x, x, 4096}, {8, y, y, 4096}},
        .pointers = 2,
    };
    return sample;
}

static struct record_world {
    struct seen_kernel kernel;
    struct seen_sample sample[2];
    uint8_t params[2][24];
    struct facts facts;
} world;

static int make_world(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    for (int i = 0; i < ROWS * COLS; i++)
        after[i] = 1 + (float)i;
    world.kernel.names = (struct symbol_names){"k", "k", "k"};
    for (uint32_t i = 0; i < 2; i++) {
        world.sample[i] = make_sample(ROWS + i, world.params[i]);
        world.kernel.sample[i] = &world.sample[i];
    }
    world.sample[0].region[0] = (struct seen_region){
        0x20000, sizeof before, (const uint8_t *)before, (const uint8_t *)after};
    world.sample[0].region[1] =
        (struct seen_region){0x10000, sizeof after, (const uint8_t *)after, (const uint8_t *)after};
    world.sample[0].regions = 2;
    world.kernel.samples = 2;
    facts_make(&world.facts, &world.kernel);
    return 0;
}

static void parameters_are_known_by_values_and_memory(void **state)
{
    const struct fact *fact = world.facts.fact;
    (void)state;
    assert_int_equal(world.facts.count, 4);
    assert_int_equal(fact[0].kind, FACT_ARRAY);
    assert_true(fact[0].reads && !fact[0].writes);
    assert_true(fact[1].writes);
    assert_int_equal(fact[0].dtype, DTYPE_F32);
    assert_int_equal(fact[1].dtype, DTYPE_F32);
    assert_int_equal(fact[1].changed[0], sizeof after);
    assert_int_equal(fact[1].changed[1], 0);
    assert_int_equal(fact[1].room, 4096);
    assert_int_equal(fact[2].kind, FACT_INTEGER);
    assert_int_equal(facts_integer(&fact[2], &world.sample[0]), COLS);
    assert_int_equal(fact[3].kind, FACT_REAL);
    assert_true(facts_real(&fact[3], &world.sample[1]) == 0.5);
}

/* Without code or a name that has them. */
static void types_may_be_known_by_the_bytes(void **state)
{
    static uint16_t halves[512];
    static int32_t numbers[512];
    static uint8_t noise[1024];
    const struct seen_region *region = &world.sample[0].region[1];
    uint32_t random = 1;
    (void)state;
    for (uint32_t i = 0; i < 512; i++) {
        random = random * 1664525u + 1013904223u;
        halves[i] = (uint16_t)(0x3f00 + (random >> 25) + (random >> 24 << 15));
        numbers[i] = (int32_t)(random >> 20);
        noise[i] = (uint8_t)(random >> 24);
        noise[1023 - i] = (uint8_t)(random >> 16);
    }
    const struct {
        const void *bytes;
        enum dtype dtype;
    } cases[] = {{halves, DTYPE_BF16}, {numbers, DTYPE_I32}, {noise, DTYPE_NONE}};
    for (int i = 0; i < 3; i++) {
        world.sample[0].region[1] =
            (struct seen_region){region->address, 1024, cases[i].bytes, cases[i].bytes};
        facts_make(&world.facts, &world.kernel);
        assert_int_equal(world.facts.fact[0].dtype, cases[i].dtype);
    }
}

/* A null pointer at the end is what a compiler appends; one between others is not. */
static void words_that_are_always_zero_end_the_list(void **state)
{
    (void)state;
    assert_false(world.facts.fact[3].zero);
    for (int i = 0; i < 2; i++) {
        memset(world.params[i] + 8, 0, 8);
        world.sample[i].layout.count = 2;
        world.sample[i].pointers = 1;
        world.sample[i].regions = 0;
    }
    facts_make(&world.facts, &world.kernel);
    assert_true(world.facts.fact[1].zero);
    assert_false(world.facts.fact[0].zero);
}

static bool has(const struct extents *extents, int64_t first, int64_t second)
{
    for (unsigned i = 0; i < extents->count; i++) {
        if (extents->value[i][0] == first && extents->value[i][1] == second)
            return true;
    }
    return false;
}

static void dims_have_values_in_every_launch(void **state)
{
    static struct extents extents;
    (void)state;
    extents_find(&extents, &world.facts);
    assert_int_equal(extents.extent[0].part[0].atom, ATOM_FACT); /* a parameter comes first */
    assert_true(has(&extents, COLS, COLS));
    assert_true(has(&extents, 3, 4));               /* the grid */
    assert_true(has(&extents, 3 * COLS, 4 * COLS)); /* a product */
    assert_false(has(&extents, 3 * COLS, 3 * COLS) && has(&extents, 1, 2));
    for (unsigned i = 0; i < extents.count; i++) {
        for (unsigned j = i + 1; j < extents.count; j++)
            assert_memory_not_equal(extents.value[i], extents.value[j], sizeof extents.value[i]);
    }
}

struct visited {
    char text[4096];
    unsigned entries, scale;
};

static bool visit(void *user, const struct entry *entry, unsigned hint)
{
    struct visited *visited = user;
    struct textbuf text;
    (void)hint;
    visited->entries++;
    if (strcmp(entry->reference->name, "scale") != 0)
        return true;
    textbuf_init(&text);
    entry_print(entry, "", &text);
    size_t used = strlen(visited->text);
    snprintf(visited->text + used, sizeof visited->text - used, "%s", text.data);
    textbuf_release(&text);
    return ++visited->scale < 4;
}

static void entries_go_with_what_was_written(void **state)
{
    static struct visited visited;
    (void)state;
    memset(&visited, 0, sizeof visited);
    candidates_each(&world.facts, false, INT64_MAX, visit, &visited);
    assert_non_null(strstr(visited.text,
                           "const f32 x[grid.x][cols], f32 y[grid.x][cols], i32 cols, "
                           "f32 alpha\n    reference: scale\n"));
    assert_null(strstr(visited.text, "y[cols]")); /* one row is not all that changed */
}

static void no_entry_is_larger_than_its_memory(void **state)
{
    static struct visited visited;
    (void)state;
    memset(&visited, 0, sizeof visited);
    for (int i = 0; i < 2; i++)
        world.sample[i].pointer[0].bytes = 16;
    facts_make(&world.facts, &world.kernel);
    candidates_each(&world.facts, false, INT64_MAX, visit, &visited);
    assert_int_equal(visited.scale, 0);
}

/* How many entries of `scale` there are where runs show that much of x read and of y written. */
static unsigned entries_with(uint64_t read, uint64_t written)
{
    static struct visited visited;
    memset(&visited, 0, sizeof visited);
    world.facts.fact[0].probed[0] =
        (struct probed){.known = true, .reads = true, .edges = true, .read = {0, 4 * read, 0}};
    world.facts.fact[1].probed[0] =
        (struct probed){.known = true, .writes = true, .written = {0, 4 * written, written}};
    candidates_each(&world.facts, false, INT64_MAX, visit, &visited);
    return visited.scale;
}

static void dims_go_with_what_runs_read_and_write(void **state)
{
    (void)state;
    assert_int_not_equal(entries_with(ROWS * COLS, ROWS * COLS), 0);
    assert_int_not_equal(entries_with(ROWS * COLS - 1, ROWS * COLS),
                         0); /* the last may not matter */
    assert_int_equal(entries_with(ROWS * COLS + 1, ROWS * COLS), 0);
    assert_int_equal(entries_with(ROWS * COLS / 2, ROWS * COLS), 0);
    assert_int_equal(entries_with(ROWS * COLS, ROWS * COLS - 1), 0);
}

/* ---- structs ---- */

/* p of the struct is read, q is written; two loads are one of a vector. */
static const char struct_ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry f(.param .align 8 .b8 s[40])\n{\n"
    ".reg .b64 %d<8>;\n.reg .b32 %r<4>;\n.reg .f32 %f<8>;\n"
    "ld.param.v2.u64 {%d1, %d2}, [s];\nld.param.u32 %r1, [s+16];\nld.param.f32 %f1, [s+20];\n"
    "ld.param.u64 %d3, [s+24];\nadd.s64 %d4, %d1, %d3;\nld.global.f32 %f2, [%d4];\n"
    "mul.f32 %f3, %f2, %f1;\nst.global.v2.f32 [%d2], {%f3, %f3};\nret;\n}\n";

static void make_struct(bool code, bool pointers)
{
    const uint64_t x = 0x10000, y = 0x20000, offset = 64;
    const int32_t n = 7;
    const float factor = 0.5f;
    static uint8_t params[40];
    memset(params, 0, sizeof params);
    memcpy(params, &x, 8);
    memcpy(params + 8, &y, 8);
    memcpy(params + 16, &n, 4);
    memcpy(params + 20, &factor, 4);
    memcpy(params + 24, &offset, 8);
    memset(&world, 0, sizeof world);
    world.kernel = kernel_of(code ? struct_ptx : NULL, code ? sizeof struct_ptx : 0);
    world.sample[0] = (struct seen_sample){.params = params,
                                           .params_bytes = 40,
                                           .layout = {1, {{0, 40}}},
                                           .pointer = {{0, x, x, 4096}, {8, y, y, 4096}},
                                           .pointers = pointers ? 2 : 0};
    world.kernel.sample[0] = &world.sample[0];
    world.kernel.samples = 1;
    facts_make(&world.facts, &world.kernel);
}

static void has_parameters(const char *list)
{
    struct textbuf text;
    textbuf_init(&text);
    entry_print_unknown(&world.facts, "", &text);
    if (!strstr(text.data, list))
        print_error("%s", text.data);
    assert_non_null(strstr(text.data, list));
    textbuf_release(&text);
}

static void a_struct_with_pointers_has_fields(void **state)
{
    (void)state;
    make_struct(true, true);
    has_parameters("\n      struct 40 { const f32 p0[SIZE] @0, f32 p1[SIZE] @8, i32 a2 @16, "
                   "f32 a3 @20, i64 a4 @24 }\n");
    assert_int_equal(world.facts.fact[1].lanes, 2);
    make_struct(false, true); /* by words that are not zero */
    has_parameters(
        "\n      struct 40 { const TYPE p0[SIZE] @0, const TYPE p1[SIZE] @8, i32 a2 @16, "
        "f32 a3 @20, i32 a4 @24 }\n");
}

static void a_struct_without_pointers_is_one_parameter(void **state)
{
    (void)state;
    make_struct(true, false);
    has_parameters("\n      _\n");
    assert_int_equal(world.facts.count, 1);
}

/* Counts of pairs are counts of elements where the code has pairs. */
static void vectors_are_elements(void **state)
{
    static struct extents extents;
    (void)state;
    make_struct(true, true);
    extents_find(&extents, &world.facts);
    assert_true(has(&extents, 14, 0));
    make_struct(false, true);
    extents_find(&extents, &world.facts);
    assert_false(has(&extents, 14, 0));
}

/* Of an array that is added to all of the allocation may be dims; of another what is written. */
static void bins_without_a_count_are_elements(void **state)
{
    static struct extents extents;
    (void)state;
    world.facts.fact[1].adds = true;
    extents_find(&extents, &world.facts);
    assert_true(has(&extents, 1024, 1024));
    world.facts.fact[1].adds = false;
    extents_find(&extents, &world.facts);
    assert_false(has(&extents, 1024, 1024));
}

/* ---- names ---- */

static const char ttir[] =
    "#loc = loc(\"k.py\":1:0)\nmodule {\n"
    "  tt.func private @helper(%no: i32) {}\n"
    "  tt.func public @f(%X: !tt.ptr<bf16> {tt.divisibility = 16 : i32} loc(\"a,b)\"(#loc)), "
    "%0: i32, %stride_of_x: i32 loc(\"stride_of_x\"(#loc))) attributes {noinline = false} {\n";

static void a_triton_cache_has_names_and_types(void **state)
{
    static struct triton_argument argument[LAYOUT_MAX];
    struct tmp_folder folder;
    struct seen_kernel kernel = kernel_of("machine", 7);
    char path[2200];
    (void)state;
    assert_int_equal(triton_names_read(ttir, "f", argument), 3);
    assert_string_equal(argument[0].name, "X");
    assert_int_equal(argument[0].dtype, DTYPE_BF16);
    assert_string_equal(argument[1].name, "");
    assert_int_equal(argument[1].dtype, DTYPE_I32);
    assert_string_equal(argument[2].name, "stride_of_x");
    assert_int_equal(triton_names_read(ttir, "g", argument), 0);
    assert_int_equal(triton_names_read("@f(%x: loc(\"", "f", argument), 1); /* cut off */
    assert_int_equal(argument[0].dtype, DTYPE_NONE);
    assert_int_equal(
        triton_names_read("@f(%x: !tt.ptr<i1>, %y: !tt.ptr<!tt.ptr<f32>>)", "f", argument), 2);
    assert_int_equal(argument[0].dtype, DTYPE_U8);
    assert_int_equal(argument[1].dtype, DTYPE_NONE);
    tmp_folder_make(&folder);
    setenv("TRITON_CACHE_DIR", folder.path, 1);
    snprintf(path, sizeof path, "mkdir %s/one %s/two %s/zero; mkfifo %s/zero/f.cubin", folder.path,
             folder.path, folder.path, folder.path); /* no FIFO is waited for */
    assert_int_equal(system(path), 0);
    snprintf(path, sizeof path, "%s/one/f.cubin", folder.path);
    file_write(path, "another");
    snprintf(path, sizeof path, "%s/one/f.ttir", folder.path);
    file_write(path, "@f(%wrong: i32)");
    assert_int_equal(triton_names_find(&kernel, argument), 0);
    snprintf(path, sizeof path, "%s/two/f.cubin", folder.path);
    file_write(path, "machine");
    snprintf(path, sizeof path, "%s/two/f.ttir", folder.path);
    file_write(path, ttir);
    assert_int_equal(triton_names_find(&kernel, argument), 3);
    assert_string_equal(argument[0].name, "X");
    unsetenv("TRITON_CACHE_DIR");
    tmp_folder_remove(&folder);
}

static void names_mean_dims(void **state)
{
    (void)state;
    assert_true(words_mean("n_cols", "cols"));
    assert_true(words_mean("N", "cols"));
    assert_true(words_mean("X_ptr", "x"));
    assert_true(words_mean("eps", "eps"));
    assert_false(words_mean("rows", "cols"));
    assert_false(words_mean("ol", "cols"));
    assert_false(words_mean("", ""));
    assert_true(words_distance("x_stride"));
    assert_true(words_distance("ldb"));
    assert_false(words_distance("lda_old"));
    assert_false(words_distance("cols"));
}

/* Of two integers that are equal in every launch the one with the name of a distance comes last. */
static void a_stride_is_no_dim(void **state)
{
    static struct extents extents;
    const int32_t cols = COLS;
    (void)state;
    for (int i = 0; i < 2; i++)
        memcpy(world.params[i] + world.facts.fact[3].offset, &cols, sizeof cols);
    world.facts.fact[3].kind = FACT_INTEGER;
    snprintf(world.facts.fact[2].name, TRITON_NAME, "stride");
    extents_find(&extents, &world.facts);
    assert_int_equal(extents.extent[0].part[0].number, 3);
    assert_int_equal(extents.extent[1].part[0].number, 2);
}

/* ---- the record ---- */

static void a_damaged_record_is_read_as_far_as_it_goes(void **state)
{
    struct tmp_folder folder;
    struct record record;
    struct error err = {{0}};
    char path[600];
    (void)state;
    tmp_folder_make(&folder);
    assert_int_equal(record_read(&record, folder.path, &err), STATUS_NOT_FOUND);
    record_release(&record);
    snprintf(path, sizeof path, "%s/discover-h-1.jsonl", folder.path);
    file_write(
        path,
        "{\"v\":1,\"event\":\"begin\"}\nnothing\n{\"v\":2,\"event\":\"kernel\",\"kernel\":\"no\"}\n"
        "{\"v\":1,\"event\":\"sample\",\"kernel\":\"f\",\"params\":\"0102030405060708\","
        "\"layout\":[[0,8],[8,4]],\"pointers\":[{\"at\":0,\"address\":5,\"base\":9,\"bytes\":1}],"
        "\"regions\":[{\"address\":1,\"bytes\":99,\"before\":0}]}\n"
        "{\"v\":1,\"event\":\"kernel\",\"kernel\":\"f\",\"launches\":4,\"timed\":2,\"ns\":10}\n"
        "{\"v\":1,\"event\":\"image\",\"kernel\":\"f\",\"at\":0,\"bytes\":7}\n{\"v\":1,\"eve");
    assert_int_equal(record_read(&record, folder.path, &err), STATUS_OK);
    assert_int_equal(record.kernels, 1);
    const struct seen_kernel *kernel = &record.kernel[0];
    assert_int_equal(kernel->launches, 4);
    assert_true(kernel->ns == 20);
    assert_null(kernel->image);
    assert_int_equal(kernel->samples, 1);
    assert_int_equal(kernel->sample[0]->layout.count, 1); /* the second lies beyond the bytes */
    assert_int_equal(kernel->sample[0]->pointers, 0);
    assert_int_equal(kernel->sample[0]->regions, 0);
    record_release(&record);
    tmp_folder_remove(&folder);
}

/* One file a process, however many ranks there are. */
static void all_processes_are_read(void **state)
{
    struct tmp_folder folder;
    struct record record;
    struct error err = {{0}};
    char path[600];
    (void)state;
    tmp_folder_make(&folder);
    for (int i = 0; i < 130; i++) {
        snprintf(path, sizeof path, "%s/discover-h-%d.jsonl", folder.path, i);
        file_write(path, "{\"v\":1,\"event\":\"begin\"}\n"
                         "{\"v\":1,\"event\":\"kernel\",\"kernel\":\"f\",\"launches\":2}\n");
    }
    assert_int_equal(record_read(&record, folder.path, &err), STATUS_OK);
    assert_int_equal(record.processes, 130);
    assert_int_equal(record.launches, 260);
    record_release(&record);
    tmp_folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_has_types_and_roles),
        cmocka_unit_test(a_cubin_may_carry_its_code),
        cmocka_unit_test_setup(parameters_are_known_by_values_and_memory, make_world),
        cmocka_unit_test_setup(types_may_be_known_by_the_bytes, make_world),
        cmocka_unit_test_setup(words_that_are_always_zero_end_the_list, make_world),
        cmocka_unit_test_setup(dims_have_values_in_every_launch, make_world),
        cmocka_unit_test_setup(entries_go_with_what_was_written, make_world),
        cmocka_unit_test_setup(no_entry_is_larger_than_its_memory, make_world),
        cmocka_unit_test_setup(dims_go_with_what_runs_read_and_write, make_world),
        cmocka_unit_test(a_struct_with_pointers_has_fields),
        cmocka_unit_test(a_struct_without_pointers_is_one_parameter),
        cmocka_unit_test(vectors_are_elements),
        cmocka_unit_test_setup(bins_without_a_count_are_elements, make_world),
        cmocka_unit_test(a_triton_cache_has_names_and_types),
        cmocka_unit_test(names_mean_dims),
        cmocka_unit_test_setup(a_stride_is_no_dim, make_world),
        cmocka_unit_test(a_damaged_record_is_read_as_far_as_it_goes),
        cmocka_unit_test(all_processes_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
