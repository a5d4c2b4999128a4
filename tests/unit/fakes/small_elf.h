/* small_elf.h - the least cubin, for tests of what becomes of module images. */
#ifndef TESTS_UNIT_SMALL_ELF_H
#define TESTS_UNIT_SMALL_ELF_H

#include <elf.h>
#include <stddef.h>
#include <string.h>

struct small_elf {
    Elf64_Ehdr header;
    Elf64_Shdr section[2];
    char names[64];
    char mark; /* distinguishes those of one kernel */
};

/* With a code section for `kernel`. */
static inline struct small_elf small_elf(const char *kernel)
{
    struct small_elf elf;
    memset(&elf, 0, sizeof(elf));
    memcpy(elf.header.e_ident, ELFMAG, SELFMAG);
    elf.header.e_ident[EI_CLASS] = ELFCLASS64;
    elf.header.e_shentsize = sizeof(Elf64_Shdr);
    elf.header.e_shoff = offsetof(struct small_elf, section);
    elf.header.e_shnum = 2;
    elf.header.e_shstrndx = 1;
    strcpy(elf.names + 1, ".text.");
    strcat(elf.names + 1, kernel);
    elf.section[0].sh_name = 1;
    elf.section[1].sh_offset = offsetof(struct small_elf, names);
    elf.section[1].sh_size = sizeof(elf.names);
    return elf;
}

#endif
