/* The variables of a module: which there are, what they begin with, and which the driver fills in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <string.h>
#include "image/image_variables.h"
#include "tests/unit/fakes/packed_fatbin.h"

enum { NAMES = 1, STRINGS, SYMBOLS, CONSTANT, GLOBAL, INITIAL, LINKS, TEXT, SECTIONS, OBJECTS = 8 };

/* A cubin with constants, variables that begin with zeros, and others. */
struct cubin {
    Elf64_Ehdr header;
    Elf64_Shdr section[SECTIONS];
    char names[128], strings[64];
    Elf64_Sym symbol[OBJECTS];
    Elf64_Rela link;
    uint8_t constant[8], initial[24];
    unsigned named, texts, symbols;
};

static void place(struct cubin *cubin, unsigned index, const char *name, unsigned type,
                  size_t offset, size_t bytes)
{
    Elf64_Shdr *section = &cubin->section[index];
    section->sh_name = cubin->named + 1;
    section->sh_type = type;
    section->sh_offset = offset;
    section->sh_size = bytes;
    strcpy(cubin->names + cubin->named + 1, name);
    cubin->named += (unsigned)strlen(name) + 1;
}

static void add(struct cubin *cubin, const char *name, unsigned section, uint64_t value,
                uint64_t bytes)
{
    Elf64_Sym *symbol = &cubin->symbol[cubin->symbols++];
    symbol->st_name = cubin->texts + 1;
    symbol->st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT);
    symbol->st_shndx = (uint16_t)section;
    symbol->st_value = value;
    symbol->st_size = bytes;
    strcpy(cubin->strings + cubin->texts + 1, name);
    cubin->texts += (unsigned)strlen(name) + 1;
}

#define PLACE(index, name, type, member)                                                           \
    place(&cubin, index, name, type, offsetof(struct cubin, member), sizeof(cubin.member))

static struct cubin whole(void)
{
    struct cubin cubin = {.header = {.e_ident = ELFMAG,
                                     .e_shentsize = sizeof(Elf64_Shdr),
                                     .e_shoff = offsetof(struct cubin, section),
                                     .e_shnum = SECTIONS,
                                     .e_shstrndx = NAMES},
                          .link = {.r_offset = 8},
                          .constant = {1, 2, 3, 4, 5, 6, 7, 8},
                          .initial = {9}};
    cubin.header.e_ident[EI_CLASS] = ELFCLASS64;
    PLACE(NAMES, ".shstrtab", SHT_STRTAB, names);
    PLACE(STRINGS, ".strtab", SHT_STRTAB, strings);
    PLACE(SYMBOLS, ".symtab", SHT_SYMTAB, symbol);
    PLACE(CONSTANT, ".nv.constant3", SHT_PROGBITS, constant);
    place(&cubin, GLOBAL, ".nv.global", SHT_NOBITS, 1 << 20, 64);
    PLACE(INITIAL, ".nv.global.init", SHT_PROGBITS, initial);
    PLACE(LINKS, ".rela.nv.global.init", SHT_RELA, link);
    place(&cubin, TEXT, ".text.k", SHT_PROGBITS, 0, 64);
    cubin.section[SYMBOLS].sh_link = STRINGS;
    cubin.section[LINKS].sh_info = INITIAL;
    add(&cubin, "scale", CONSTANT, 4, 4);
    add(&cubin, "zeros", GLOBAL, 16, 8);
    add(&cubin, "nine", INITIAL, 0, 4);
    add(&cubin, "leads", INITIAL, 8, 8);
    add(&cubin, "$str", INITIAL, 16, 4);
    add(&cubin, "code", TEXT, 0, 8);
    add(&cubin, "beyond", CONSTANT, 4, 8);
    return cubin;
}

static void expect_cubin(const struct image_variables *found)
{
    static const struct {
        const char *name;
        uint64_t bytes;
        int first; /* byte, or -1: zeros */
        bool linked;
    } wanted[] = {{"scale", 4, 5, false},
                  {"zeros", 8, -1, false},
                  {"nine", 4, 9, false},
                  {"leads", 8, 0, true}};
    assert_int_equal(found->count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct image_variable *is = &found->list[i];
        assert_string_equal(is->name, wanted[i].name);
        assert_int_equal(is->bytes, wanted[i].bytes);
        assert_int_equal(is->initial ? is->initial[0] : -1, wanted[i].first);
        assert_int_equal(is->linked, wanted[i].linked);
    }
}

static void those_of_machine_code(void **state)
{
    struct cubin cubin = whole();
    struct image_variables found;
    (void)state;
    assert_true(image_variables_read(&found, &cubin, sizeof(cubin), 90));
    expect_cubin(&found);
    image_variables_release(&found);
}

static void those_of_a_fatbin_are_of_what_the_device_runs(void **state)
{
    static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n.global .u32 text;\n";
    struct cubin cubin = whole();
    struct image_variables found;
    struct packed_fatbin fatbin = {0};
    (void)state;
    packed_fatbin_add(&fatbin, SMALL_CUBIN, 90, 0, 0, &cubin, sizeof(cubin));
    packed_fatbin_add(&fatbin, SMALL_PTX, 75, 0, 0, ptx, sizeof(ptx));
    assert_true(image_variables_read(&found, &fatbin, sizeof(fatbin), 90));
    expect_cubin(&found);
    image_variables_release(&found);
    assert_true(image_variables_read(&found, &fatbin, sizeof(fatbin), 80));
    assert_int_equal(found.count, 1);
    assert_string_equal(found.list[0].name, "text");
    image_variables_release(&found);
}

static void those_of_ptx(void **state)
{
    static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                              ".const .align 4 .u32 scale = 5;\n"
                              ".global .align 8 .u64 zeros[2];\n"
                              ".global .align 8 .u64 leads = generic(zeros);\n"
                              ".extern .global .align 4 .u32 elsewhere;\n"
                              ".global .align 1 .b8 $str[2] = {104, 105};\n";
    struct image_variables found;
    (void)state;
    assert_true(image_variables_read(&found, ptx, strlen(ptx), 90));
    assert_int_equal(found.count, 3);
    assert_string_equal(found.list[0].name, "scale");
    assert_int_equal(found.list[0].initial[0], 5);
    assert_int_equal(found.list[1].bytes, 16);
    assert_null(found.list[1].initial);
    assert_false(found.list[1].linked);
    assert_true(found.list[2].linked);
    image_variables_release(&found);
}

static void an_initial_value_is_known(void **state)
{
    const uint8_t five[4] = {5}, zeros[4] = {0};
    const struct image_variable set = {.bytes = 4, .initial = five}, unset = {.bytes = 4};
    (void)state;
    assert_true(image_variable_is_initial(&set, five));
    assert_false(image_variable_is_initial(&set, zeros));
    assert_true(image_variable_is_initial(&unset, zeros));
    assert_false(image_variable_is_initial(&unset, five));
}

/* Each byte of the tables, changed, and each length: nothing is read beyond the image. */
static void a_damaged_image_is_read_within_its_bytes(void **state)
{
    struct image_variables found;
    (void)state;
    for (size_t at = 0; at < offsetof(struct cubin, constant); at++) {
        struct cubin cubin = whole();
        ((uint8_t *)&cubin)[at] ^= 0xff;
        if (at >= 4 && image_variables_read(&found, &cubin, sizeof(cubin), 90))
            image_variables_release(&found);
    }
    for (size_t bytes = 0; bytes < sizeof(struct cubin); bytes++) {
        struct cubin cubin = whole();
        if (image_variables_read(&found, &cubin, bytes, 90))
            image_variables_release(&found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_of_machine_code),
        cmocka_unit_test(those_of_a_fatbin_are_of_what_the_device_runs),
        cmocka_unit_test(those_of_ptx),
        cmocka_unit_test(an_initial_value_is_known),
        cmocka_unit_test(a_damaged_image_is_read_within_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
