/* The PTX text of what a device runs of a fatbin, and the part of it that one kernel needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "image/image_text.h"
#include "tests/unit/fakes/packed_fatbin.h"
#include "tests/unit/fakes/small_elf.h"

static const char ptx75[] = ".version 6.4\n.target sm_75\n",
                  ptx90[] = ".version 8.0\n.target sm_90\n",
                  ptx120[] = ".version 8.7\n.target sm_120\n";

static void add_ptx(struct packed_fatbin *fatbin, uint32_t arch, unsigned packing, const char *text)
{
    packed_fatbin_add(fatbin, SMALL_PTX, arch, 0, packing, text, strlen(text) + 1);
}

/* Machine code; `text` NULL: it carries none. */
static void add_code(struct packed_fatbin *fatbin, uint32_t arch, unsigned packing,
                     const char *text)
{
    struct small_elf elf = small_elf("k");
    uint8_t image[sizeof elf + 256] = {0};
    if (text) {
        strcpy(elf.names + 1, ".nv_debug_ptx_txt");
        elf.section[0].sh_type = SHT_PROGBITS;
        elf.section[0].sh_offset = sizeof elf;
        elf.section[0].sh_size = strlen(text);
        memcpy(image + sizeof elf, text, strlen(text));
    }
    memcpy(image, &elf, sizeof elf);
    packed_fatbin_add(fatbin, SMALL_CUBIN, arch, 0, packing, image, sizeof image);
}

static enum lift_refusal read_text(const struct packed_fatbin *fatbin, unsigned arch, char **text)
{
    struct packed_text packed;
    size_t length = 0;
    *text = NULL;
    enum lift_refusal refusal =
        packed_text_copy(fatbin, fatbin->header_bytes + fatbin->bytes, arch, &packed);
    if (refusal)
        return refusal;
    refusal = packed_text_read(&packed, text, &length);
    packed_text_free(&packed);
    if (!refusal)
        assert_int_equal(length, strlen(*text));
    return refusal;
}

/* NULL: none, for the reason. */
static void expect(const struct packed_fatbin *fatbin, unsigned arch, const char *wanted,
                   enum lift_refusal why)
{
    char *text;
    assert_int_equal(read_text(fatbin, arch, &text), why);
    if (wanted)
        assert_string_equal(text, wanted);
    else
        assert_null(text);
    free(text);
}

static void ptx_is_that_which_the_device_compiles(void **state)
{
    static const unsigned packing[] = {PACKED_PLAIN, PACKED_LZ4, PACKED_ZSTD};
    (void)state;
    for (size_t i = 0; i < sizeof packing / sizeof *packing; i++) {
        struct packed_fatbin fatbin = {0};
        add_ptx(&fatbin, 120, packing[i], ptx120);
        add_ptx(&fatbin, 75, packing[i], ptx75);
        add_ptx(&fatbin, 90, packing[i], ptx90);
        expect(&fatbin, 90, ptx90, LIFT_OK);
        expect(&fatbin, 89, ptx75, LIFT_OK);
        expect(&fatbin, 120, ptx120, LIFT_OK);
        expect(&fatbin, 70, NULL, LIFT_NEWER_PTX);
    }
}

static void ptx_of_the_machine_code_is_taken(void **state)
{
    struct packed_fatbin fatbin = {0};
    (void)state;
    add_code(&fatbin, 90, PACKED_ZSTD, NULL);
    add_ptx(&fatbin, 90, PACKED_ZSTD, ptx90);
    expect(&fatbin, 90, ptx90, LIFT_OK);
    expect(&fatbin, 100, ptx90, LIFT_OK);
}

static void machine_code_of_other_ptx_is_left(void **state)
{
    struct packed_fatbin fatbin = {0};
    (void)state;
    add_ptx(&fatbin, 75, PACKED_PLAIN, ptx75);
    add_code(&fatbin, 90, PACKED_PLAIN, NULL);
    expect(&fatbin, 90, NULL, LIFT_OTHER_PTX);
    expect(&fatbin, 80, ptx75, LIFT_OK);
}

static void machine_code_carries_its_text(void **state)
{
    static const unsigned packing[] = {PACKED_PLAIN, PACKED_LZ4, PACKED_ZSTD};
    (void)state;
    for (size_t i = 0; i < sizeof packing / sizeof *packing; i++) {
        struct packed_fatbin fatbin = {0};
        add_ptx(&fatbin, 75, PACKED_PLAIN, ptx75);
        add_code(&fatbin, 90, packing[i], ptx90);
        expect(&fatbin, 90, ptx90, LIFT_OK);
    }
}

static void without_ptx_for_the_device_there_is_a_reason(void **state)
{
    struct packed_fatbin fatbin = {0};
    (void)state;
    add_code(&fatbin, 90, PACKED_PLAIN, NULL);
    expect(&fatbin, 90, NULL, LIFT_NO_PTX);
    add_ptx(&fatbin, 120, PACKED_PLAIN, ptx120);
    expect(&fatbin, 90, NULL, LIFT_NEWER_PTX);
}

static void a_broken_entry_is_refused(void **state)
{
    struct packed_fatbin fatbin = {0};
    const size_t head = offsetof(struct small_entry, payload);
    struct small_entry entry;
    (void)state;
    add_ptx(&fatbin, 75, PACKED_ZSTD, ptx75);
    struct packed_fatbin other = fatbin;
    memset(other.entries + head, 0xff, 8);
    expect(&other, 90, NULL, LIFT_PTX);
    memcpy(&entry, fatbin.entries, head);
    entry.plain_bytes = (uint64_t)IMAGE_TEXT_BYTES + 1;
    memcpy(fatbin.entries, &entry, head);
    expect(&fatbin, 90, NULL, LIFT_LONG_PTX);
}

static void long_code_is_refused_as_code(void **state)
{
    struct packed_fatbin fatbin = {0};
    const size_t head = offsetof(struct small_entry, payload);
    struct small_entry entry;
    (void)state;
    add_code(&fatbin, 90, PACKED_ZSTD, NULL);
    memcpy(&entry, fatbin.entries, head);
    entry.plain_bytes = (uint64_t)IMAGE_TEXT_BYTES + 1;
    memcpy(fatbin.entries, &entry, head);
    expect(&fatbin, 90, NULL, LIFT_LONG_CODE);
}

/* There is no machine code beside it that could be of another source. */
static void an_entry_that_is_no_text_is_refused_as_ptx(void **state)
{
    struct packed_fatbin fatbin = {0};
    (void)state;
    add_ptx(&fatbin, 90, PACKED_PLAIN, "no PTX");
    expect(&fatbin, 90, NULL, LIFT_PTX);
}

/* ---- one kernel of a text ---- */

#define HEAD   ".version 8.0\n.target sm_90\n.global .align 4 .b8 table[4] = {1, 2, 3, 4};\n"
#define HELPER ".func (.reg .b32 r) helper(.reg .b32 a)\n{\n\tmov.b32 r, a; // }\n}\n"
#define FIRST                                                                                      \
    ".visible .entry first(\n\t.param .u64 a\n)\n{\n\t{ .reg .b32 %r; }\n\tret; /* } */\n}\n"
#define SECOND ".weak .entry second()\n.maxntid 128\n{\n\t.file 1 \"}.cu\"\n\tret;\n}\n"
#define THIRD                                                                                      \
    ".visible .entry third()\n.pragma \"nounroll\", \"a;\";\n.minnctapersm 1\n{\n\tret;\n}\n"
#define DEBUG   ".section .debug_str\n{\ninfo: .b8 1\n}\n"
#define FORWARD ".visible .entry first(\n\t.param .u64 a\n);\n"

static void expect_kernel(const char *text, const char *symbol, const char *wanted)
{
    size_t length = 0;
    char *got = text_of_kernel(text, strlen(text), symbol, &length);
    assert_non_null(got);
    assert_string_equal(got, wanted);
    assert_int_equal(length, strlen(wanted));
    free(got);
}

static void a_kernel_is_cut_out_of_a_text(void **state)
{
    static const char all[] = HEAD HELPER FIRST SECOND DEBUG;
    (void)state;
    expect_kernel(all, "first", HEAD HELPER FIRST "\n" DEBUG);
    expect_kernel(all, "second", HEAD HELPER "\n" SECOND DEBUG);
    expect_kernel(all, "secon", HEAD HELPER "\n\n" DEBUG);
    expect_kernel(HEAD FORWARD SECOND, "second", HEAD "\n" SECOND);
    expect_kernel("", "first", "");
}

static void a_pragma_before_a_body_does_not_end_the_kernel(void **state)
{
    (void)state;
    expect_kernel(HEAD THIRD SECOND, "second", HEAD "\n" SECOND);
    expect_kernel(HEAD THIRD SECOND, "third", HEAD THIRD "\n");
    expect_kernel(HEAD FORWARD THIRD SECOND, "second", HEAD "\n\n" SECOND);
}

static void a_text_that_is_cut_off_is_read_to_its_end(void **state)
{
    static const char all[] = HEAD HELPER FIRST THIRD SECOND DEBUG;
    (void)state;
    for (size_t n = 0; n < sizeof all; n++) {
        char text[sizeof all];
        size_t length = 0;
        memcpy(text, all, n);
        text[n] = '\0';
        char *got = text_of_kernel(text, n, "second", &length);
        assert_non_null(got);
        assert_true(length <= n);
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ptx_is_that_which_the_device_compiles),
        cmocka_unit_test(ptx_of_the_machine_code_is_taken),
        cmocka_unit_test(machine_code_of_other_ptx_is_left),
        cmocka_unit_test(machine_code_carries_its_text),
        cmocka_unit_test(without_ptx_for_the_device_there_is_a_reason),
        cmocka_unit_test(a_broken_entry_is_refused),
        cmocka_unit_test(long_code_is_refused_as_code),
        cmocka_unit_test(an_entry_that_is_no_text_is_refused_as_ptx),
        cmocka_unit_test(a_kernel_is_cut_out_of_a_text),
        cmocka_unit_test(a_pragma_before_a_body_does_not_end_the_kernel),
        cmocka_unit_test(a_text_that_is_cut_off_is_read_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
