/* The PTX text of module images: PTX itself, and machine code that carries it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "image/carried_text.h"

struct cubin {
    Elf64_Ehdr head;
    Elf64_Shdr section[3];
    char names[40], text[40];
};

/* A cubin with a section of names and one of debug text, whose lines end with NUL. */
static struct cubin make_cubin(void)
{
    static const char names[] = "\0.shstrtab\0.nv_debug_ptx_txt",
                      text[] = ".version 8.0\0.target sm_90";
    struct cubin c = {.head = {.e_shoff = offsetof(struct cubin, section),
                               .e_shentsize = sizeof(Elf64_Shdr),
                               .e_shnum = 3,
                               .e_shstrndx = 1}};
    memcpy(c.head.e_ident, ELFMAG, SELFMAG);
    c.head.e_ident[EI_CLASS] = ELFCLASS64;
    c.section[1] = (Elf64_Shdr){.sh_name = 1,
                                .sh_type = SHT_STRTAB,
                                .sh_offset = offsetof(struct cubin, names),
                                .sh_size = sizeof names};
    c.section[2] = (Elf64_Shdr){.sh_name = 11,
                                .sh_type = SHT_PROGBITS,
                                .sh_offset = offsetof(struct cubin, text),
                                .sh_size = sizeof text - 1};
    memcpy(c.names, names, sizeof names);
    memcpy(c.text, text, sizeof text);
    return c;
}

static void ptx_is_found_in_images(void **state)
{
    static const char plain[] = "// PTX\n.version 8.0\n";
    struct cubin cubin = make_cubin();
    size_t bytes = 0;
    (void)state;
    char *text = carried_text_of(&cubin, sizeof cubin, &bytes);
    assert_string_equal(text, ".version 8.0\n.target sm_90");
    assert_int_equal(bytes, strlen(text));
    free(text);
    text = carried_text_of(plain, sizeof plain, &bytes);
    assert_string_equal(text, plain);
    free(text);
    assert_true(carries_text(plain, sizeof plain));
    assert_false(carries_text(NULL, 0));
    assert_false(carries_text("\177ELF", 4));
    cubin.section[2].sh_offset = sizeof cubin; /* beyond the end */
    assert_null(carried_text_of(&cubin, sizeof cubin, &bytes));
    cubin = make_cubin();
    cubin.names[12] = 'x'; /* a section of another name */
    assert_null(carried_text_of(&cubin, sizeof cubin, &bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ptx_is_found_in_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
