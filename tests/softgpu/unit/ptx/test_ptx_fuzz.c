/*
 * test_ptx_fuzz.c - PTX that means harm: cut, changed and grown texts are refused with a sentence
 * or read, never more. With SOFTGPU_TEST_PTX=FILE a whole file of PTX must be read, body by body.
 */
#include "ptx_text.h"

enum { ROUNDS = 4000 };

/* One of each construct. */
static const char sample[] = HEAD
    ".file 1 \"/a/b.cu\"\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    ".global .align 4 .b8 numbers[2][3] = {{1, 2}, {0xff, -1, 010}};\n"
    ".const .f32 reals[] = {0f3F800000, 1.5, -2e3};\n"
    ".global .v2 .u64 addresses[2] = {{numbers, generic(numbers)+4}, {0xFFFFFFFFFFFFFFFF(reals), "
    "0}};\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
    ".func (.param .align 8 .b8 r[16]) f(.param .b32 a) .noreturn { st.param.b32 [r+4], 1; ret; }\n"
    ".func g(.param .b32 a);\n.alias g, h;\n.func h(.param .b32 a) { ret; }\n"
    ".visible .entry k(.param .u64 .ptr .global .align 4 p, .param .align 8 .b8 q[24])\n"
    ".maxntid 256, 1, 1 .minnctapersm 2 .pragma \"x\";\n{\n"
    ".reg .pred %p<4>; .reg .b32 %r<8>, one; .reg .f32 %f<8>; .reg .b64 %rd<4>;\n"
    ".local .align 8 .b8 depot[(4+4)*2]; .shared .v4 .f32 tile[32];\n"
    ".loc 1 7 3\nld.param.u64 %rd1, [p]; /* } */ // {\n"
    "cvta.to.global.u64 %rd2, %rd1; mov.u32 %r1, %ctaid.x;\n"
    "$again: setp.lt.and.s32 %p1|%p2, %r1, 0x10U, !%p3; @!%p1 bra $done;\n"
    ".loc 1 8 3, function_name $name, inlined_at 1 7 3\n"
    "ld.global.v4.f32 {%f1, %f2, %f3, _}, [%rd2+-16]; vadd.s32.u32.u32 %r2, %r1.b0, %r1.h1;\n"
    "shfl.sync.bfly.b32 %r2|%p1, %r1, 1 ? 16 : 8, 31, -1; mov.u64 %rd3, tile+16;\n"
    "{ .param .b32 param0; .param .align 8 .b8 retval0[16]; st.param.b32 [param0+0], %r1;\n"
    "call.uni (retval0), f, (param0); ld.param.b32 %r3, [retval0+4]; }\n"
    "{ .reg .pred q; W: @q bra D; bra W; D: }\n"
    "proto: .callprototype (.param .b32 _) _ (.param .b64 _); call (%r3), %rd1, (%rd2), proto;\n"
    "targets: .branchtargets $again, $done; brx.idx %r1, targets;\n"
    "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1, %f2}]; .pragma \"nounroll\";\n"
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2}, {%r3}, "
    "{%f0};\n"
    "bra.uni $again;\n$done: ret;\n}\n"
    ".section .debug_str { $name: .b8 102,111,111,0 }\n.section .debug_loc { .b8 0 }\n";

static uint64_t seed = 0x9e3779b97f4a7c15u;

static uint32_t draw(uint32_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 16) % limit);
}

/* The text stands in memory of its own size, so that a look past its end is found. */
static bool survives(const char *text, size_t length)
{
    struct error err = {0};
    forget(NULL);
    char *copy = malloc(length + !length);
    assert_non_null(copy);
    memcpy(copy, text, length);
    enum status status = ptx_read(copy, length, "m.ptx", &loaded, &err);
    free(copy);
    bool fine = status == STATUS_OK;
    for (unsigned i = 0; fine && i < loaded->function_count; i++) {
        if (loaded->functions[i].has_body)
            fine = ptx_read_body(loaded, &loaded->functions[i], &err) == STATUS_OK;
    }
    if (!fine && strncmp(err.text, "m.ptx:", 6) != 0)
        fail_msg("'%s' does not say where", err.text);
    if (!fine && !strstr(err.text, "expected") && !strstr(err.text, "no memory"))
        fail_msg("'%s' does not say what was expected", err.text);
    forget(NULL);
    return fine;
}

static void the_sample_is_read(void **state)
{
    (void)state;
    assert_string_equal(complaint(sample), "");
    assert_true(survives(sample, sizeof sample - 1));
}

static void cut_texts_are_survived(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof sample; length++)
        survives(sample, length);
}

static size_t change(char *text, size_t length, size_t room)
{
    static const char spice[] = "{}()[]<>;:,.\"/*@!%$_+-|&?=~0x9fU\n \\\xff\x80";
    size_t at = draw((uint32_t)length), from = draw((uint32_t)length);
    size_t count = 1 + draw(24);
    switch (draw(5)) {
    case 0:
        text[at] = (char)(text[at] ^ (1 << draw(8)));
        break;
    case 1:
        text[at] = spice[draw(sizeof spice - 1)];
        break;
    case 2: /* out */
        count = count < length - at ? count : length - at;
        memmove(text + at, text + at + count, length - at - count);
        return length - count;
    case 3: /* over */
        count = count < length - (at > from ? at : from) ? count : 0;
        memmove(text + at, text + from, count);
        break;
    default: /* in once more */
        if (length + count > room || from + count > length)
            break;
        memmove(text + at + count, text + at, length - at);
        memmove(text + at, text + from, count);
        return length + count;
    }
    return length;
}

static void changed_texts_are_survived(void **state)
{
    (void)state;
    char text[2 * sizeof sample];
    unsigned fine = 0;
    for (int round = 0; round < ROUNDS; round++) {
        size_t length = sizeof sample - 1;
        memcpy(text, sample, length);
        for (uint32_t changes = 1 + draw(6); changes && length > 1; changes--)
            length = change(text, length, sizeof text);
        fine += survives(text, length);
    }
    assert_true(fine > 0);
    assert_true(fine < ROUNDS);
}

/* `count` times `piece` between two texts. */
static bool survives_many(const char *before, const char *piece, size_t count, const char *after)
{
    size_t length = strlen(piece), begin = strlen(before), end = strlen(after);
    char *text = malloc(begin + length * count + end);
    assert_non_null(text);
    memcpy(text, before, begin);
    for (size_t i = 0; i < count; i++)
        memcpy(text + begin + i * length, piece, length);
    memcpy(text + begin + length * count, after, end);
    bool fine = survives(text, begin + length * count + end);
    free(text);
    return fine;
}

static void what_grows_without_end_is_refused(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    assert_false(survives_many(HEAD ".entry k {", "{", MANY, ""));
    assert_false(survives_many(HEAD ".entry k { x ", "(", MANY, ""));
    assert_false(survives_many(HEAD ".entry k { x ", "-", MANY, "1; }"));
    assert_false(survives_many(HEAD ".entry k { x ", "1 ? ", MANY, "}"));
    assert_false(survives_many(HEAD ".entry k { x ", "[", MANY, "}"));
    assert_false(survives_many(HEAD ".entry k { x {1", ",1", MANY, "}; }"));
    assert_false(survives_many(HEAD ".entry k { x", ".y", MANY, "; }"));
    assert_false(survives_many(HEAD ".entry k { .reg .b32 ", "%%r", MANY, "<9>; }"));
    assert_false(survives_many(HEAD ".entry k(.param .b32 a", ", .param .b32 a", MANY, ") { }"));
    assert_false(survives_many(HEAD ".global .b8 x", "[2]", MANY, ";"));
    assert_false(survives_many(HEAD ".global .b8 x[] = ", "{", MANY, ";"));
    assert_false(survives_many(HEAD ".global .b64 x = ", "generic(", MANY, ";"));
    assert_false(survives_many(HEAD "/*", "/*", MANY, ""));
    assert_true(survives_many(HEAD ".entry k {", ";", MANY, "}"));
    assert_true(survives_many(HEAD ".entry k { x 1", "+1", MANY, "; }"));
    assert_true(survives_many(HEAD ".entry k { L: ", "bra L;", MANY, "}"));
    assert_true(survives_many(HEAD ".entry k { ", "{ L: bra L; }", MANY, "}"));
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    refuse(HEAD ".global .b64 x[0x10000000000];",
           "m.ptx:4: found 'x' with more than 2^40 bytes, expected a smaller array");
    refuse(HEAD ".global .b64 x[][0x8000000000][0x8000000000][0x8000000000] = {{{{1}}}};",
           "m.ptx:4: found 'x' with more than 2^40 bytes, expected a smaller array");
    refuse(HEAD ".global .b8 x[0x8000000000] = {1};",
           "m.ptx:4: found initial values of more than 512 MiB, expected less");
    refuse(HEAD ".global .b8 x[][0x8000000000] = {{1}, {2}, {3}};",
           "m.ptx:4: found initial values of more than 512 MiB, expected less");
    refuse(HEAD ".file 4294967295 \"x\"",
           "m.ptx:4: found '4294967295', expected the number of a file of at most 1048576");
    assert_string_equal(complaint(HEAD ".global .b8 x[0x8000000000];"), "");
}

static char *whole_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *text = NULL;
    if (fseek(file, 0, SEEK_END) == 0 && ftell(file) >= 0) {
        *length = (size_t)ftell(file);
        rewind(file);
        text = malloc(*length + 1);
        if (text && fread(text, 1, *length, file) != *length) {
            free(text);
            text = NULL;
        }
    }
    fclose(file);
    return text;
}

static void a_given_file_is_read_whole(void **state)
{
    (void)state;
    const char *path = getenv("SOFTGPU_TEST_PTX");
    if (!path || !*path) {
        print_message("SOFTGPU_TEST_PTX names no file of PTX: nothing to read\n");
        skip();
    }
    size_t length = 0, instructions = 0;
    char *text = whole_file(path, &length);
    if (!text)
        fail_msg("cannot read SOFTGPU_TEST_PTX=%s", path);
    struct error err = {0};
    forget(NULL);
    enum status status = ptx_read(text, length, path, &loaded, &err);
    free(text);
    for (unsigned i = 0; !status && i < loaded->function_count; i++) {
        if (!loaded->functions[i].has_body)
            continue;
        status = ptx_read_body(loaded, &loaded->functions[i], &err);
        instructions += loaded->functions[i].instruction_count;
    }
    if (status)
        fail_msg("%s", err.text);
    print_message("%s: %u functions, %zu instructions\n", path, loaded->function_count,
                  instructions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sample_is_read),
        cmocka_unit_test(cut_texts_are_survived),
        cmocka_unit_test(changed_texts_are_survived),
        cmocka_unit_test(what_grows_without_end_is_refused),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(a_given_file_is_read_whole),
    };
    return cmocka_run_group_tests(tests, NULL, forget);
}
