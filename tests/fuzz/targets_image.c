/* targets_image.c - machine code and PTX. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ptx/ptx.h"
#include "tests/fuzz/targets.h"
#include "tests/softgpu/driver/module/fatbin.h"
#include "judge/modules/images.h"
#include "tools/lint/input.h"

void target_ptx(const uint8_t *data, size_t size)
{
    struct ptx_module *module = NULL;
    struct error err = {{0}};
    char *text = malloc(size + !size);
    if (!text)
        abort();
    memcpy(text, data, size);
    if (!ptx_read(text, size, "m.ptx", &module, &err)) {
        for (unsigned i = 0; i < module->function_count; i++)
            if (module->functions[i].has_body)
                ptx_read_body(module, &module->functions[i], &err);
    }
    ptx_free(module);
    free(text);
}

/* All rules on what can be read, with an entry that names every kernel. */
void target_lint(const uint8_t *data, size_t size)
{
    static struct registry *registry;
    static unsigned runs;
    struct registry_source source = {.files = "tests/fuzz/lint.yaml"};
    if (runs++ % 1024 == 0) { /* it keeps what it made for each kernel */
        registry_destroy(registry);
        registry_load(&registry, &source, NULL, NULL);
    }
    struct lint_report report = {.settings.registry = registry};
    struct error err = {{0}};
    uint8_t *copy = malloc(size + !size);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    if (size)
        lint_image(&report, copy, size, "m", &err);
    lint_release(&report);
    free(copy);
}

void target_fatbin(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + !size);
    uint64_t whole;
    char *text = NULL;
    size_t length;
    struct error err = {{0}};
    if (!bytes)
        abort();
    memcpy(bytes, data, size);
    fatbin_elf_arch(bytes, size);
    if (fatbin_measure(bytes, size, &whole) && whole <= size &&
        fatbin_choose(bytes, size, 90, &text, &length, &err) == CUDA_SUCCESS)
        free(text);
    free(bytes);
}

void target_image(const uint8_t *data, size_t size)
{
    static struct registry *registry;
    size_t bytes;
    const char *reason;
    struct registry_source source = {.files = "tests/demo/demo.yaml"};
    uint8_t *copy = malloc(size + !size);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    if (!registry)
        registry_load(&registry, &source, NULL, NULL);
    struct images *images = registry ? images_create(registry) : NULL;
    if (images) {
        struct image_query query = {"demo_rmsnorm", &registry, {NULL, NULL}, 0, 0};
        images_loaded(images, &registry, 1, NULL, copy, size);
        const struct image *image = images_hold(images, &query, &reason);
        if (image)
            image_data(image, &bytes);
        images_release(images, image);
        images_unloading(images, &registry, 1);
        images_destroy(images);
    }
    free(copy);
}

/* The library's own device code, the first bytes of it. */
void seed_image(const char *folder)
{
    static uint8_t bytes[64 << 10];
    const char *from = getenv("FUZZ_IMAGE");
    char path[4096];
    snprintf(path, sizeof(path), "%s/image", folder);
    FILE *in = from ? fopen(from, "rb") : NULL, *out = fopen(path, "wb");
    size_t length = in ? fread(bytes, 1, sizeof(bytes), in) : 0;
    if (!out || !length || fwrite(bytes, 1, length, out) != length || fclose(out) || fclose(in))
        abort();
}
