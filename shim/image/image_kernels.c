#include "image/image_kernels.h"

#include <string.h>
#include "image/elf_sections.h"

/* Text that begins with a directive or a comment. */
static bool is_ptx(const char *image, size_t bytes)
{
    size_t at = 0;
    while (image && at < bytes && strchr(" \t\r\n", image[at]) && image[at])
        at++;
    return image && at + 1 < bytes && (image[at] == '.' || !memcmp(image + at, "//", 2));
}

/* The names behind `.entry`. */
static bool ptx_has(const char *text, size_t bytes, image_kernel_fn accepts, const void *user)
{
    static const char entry[] = ".entry";
    const char *end = text + bytes, *at = text;
    while ((at = memmem(at, (size_t)(end - at), entry, sizeof(entry) - 1))) {
        char name[1024];
        size_t length = 0;
        at += sizeof(entry) - 1;
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
            at++;
        while (at < end && length + 1 < sizeof(name) && *at && !strchr(" \t\r\n({", *at))
            name[length++] = *at++;
        name[length] = '\0';
        if (length && accepts(user, name))
            return true;
    }
    return false;
}

/* Each kernel's code is a section of its own, ".text.SYMBOL". */
static bool code_has(const void *image, size_t bytes, image_kernel_fn accepts, const void *user)
{
    static const char prefix[] = ".text.";
    struct elf_sections elf;
    Elf64_Shdr section;
    unsigned count = elf_sections_open(&elf, image, bytes) ? elf.count : 0;
    for (unsigned i = 0; i < count; i++) {
        const char *name =
            elf_section_at(&elf, i, &section) ? elf_section_name(&elf, &section) : "";
        if (!strncmp(name, prefix, sizeof(prefix) - 1) && accepts(user, name + sizeof(prefix) - 1))
            return true;
    }
    return false;
}

bool image_has_kernel(const void *image, size_t bytes, image_kernel_fn accepts, const void *user)
{
    return is_ptx(image, bytes) ? ptx_has(image, bytes, accepts, user)
                                : code_has(image, bytes, accepts, user);
}
