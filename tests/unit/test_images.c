/* Module images: kept when they hold a registered kernel, whatever the bytes are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verify/images.h"

static const char registry_text[] = "version: 1\n"
                                    "kernels:\n"
                                    "  - kernel: wanted\n"
                                    "    signature: const f32 x[n], f32 y[n], i32 n\n"
                                    "    reference: relu\n";

static void complain(void *user, const char *sentence)
{
    (void)user;
    fail_msg("%s", sentence);
}

static struct registry *load(void)
{
    char file[] = "/tmp/cuvet-images-XXXXXX";
    struct registry *registry = NULL;
    int fd = mkstemp(file);
    assert_int_equal(write(fd, registry_text, sizeof(registry_text) - 1),
                     sizeof(registry_text) - 1);
    close(fd);
    struct registry_source source = {file, NULL};
    assert_int_equal(registry_load(&registry, &source, complain, NULL), STATUS_OK);
    unlink(file);
    return registry;
}

/* The least ELF that has a code section for `kernel`. */
struct small_elf {
    Elf64_Ehdr header;
    Elf64_Shdr section[2];
    char names[64];
};

static struct small_elf make_elf(const char *kernel)
{
    struct small_elf elf = {0};
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

static void only_registered_kernels_are_kept(void **state)
{
    struct registry *registry = load();
    struct images *images = images_create(registry);
    struct small_elf wanted = make_elf("wanted"), other = make_elf("other");
    const char *reason = NULL;
    size_t bytes = 0;
    (void)state;
    images_add(images, &wanted, sizeof(wanted));
    images_add(images, &other, sizeof(other));
    const void *found = images_find(images, "wanted", &bytes, &reason);
    assert_int_equal(bytes, sizeof(wanted));
    assert_memory_equal(found, &wanted, sizeof(wanted));
    assert_null(images_find(images, "other", &bytes, &reason));
    assert_non_null(reason);
    images_destroy(images);
    registry_destroy(registry);
}

/* Every byte of the headers set to something else, and every shorter length: nothing is read
 * outside (the sanitizers watch) and nothing crashes. */
static void broken_images_are_passed_over(void **state)
{
    struct registry *registry = load();
    struct images *images = images_create(registry);
    (void)state;
    images_add(images, NULL, 0);
    for (size_t i = 0; i < sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Shdr); i++) {
        struct small_elf *elf = malloc(sizeof(*elf)), *cut = malloc(i + 1);
        *elf = make_elf("wanted");
        memcpy(cut, elf, i);
        ((unsigned char *)elf)[i] ^= 0xff;
        images_add(images, elf, sizeof(*elf));
        images_add(images, cut, i);
        free(elf);
        free(cut);
    }
    images_destroy(images);
    registry_destroy(registry);
}

static void too_large_an_image_is_refused_with_a_reason(void **state)
{
    struct registry *registry = load();
    struct images *images = images_create(registry);
    size_t large = (32u << 20) + 1, bytes = 1;
    struct small_elf *elf = calloc(1, large);
    const char *reason = NULL;
    (void)state;
    *elf = make_elf("wanted");
    images_add(images, elf, large);
    assert_null(images_find(images, "wanted", &bytes, &reason));
    assert_int_equal(bytes, 0);
    assert_non_null(strstr(reason, "32 MiB"));
    free(elf);
    images_destroy(images);
    registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_registered_kernels_are_kept),
        cmocka_unit_test(broken_images_are_passed_over),
        cmocka_unit_test(too_large_an_image_is_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
