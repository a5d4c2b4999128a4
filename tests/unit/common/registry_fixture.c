#include "tests/unit/common/registry_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/common/says.h"

void complain_to(void *user, const char *sentence)
{
    struct complaints *complaints = user;
    if (complaints->count < 8)
        snprintf(complaints->text[complaints->count], sizeof complaints->text[0], "%s", sentence);
    complaints->count++;
}

struct registry *registry_of(const char *text, struct complaints *complaints)
{
    char folder[] = "/tmp/cuvet-registry-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/k.yaml", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    memset(complaints, 0, sizeof *complaints);
    struct registry *registry;
    struct registry_source source = {.files = path};
    enum status status = registry_load(&registry, &source, complain_to, complaints);
    assert_int_equal(status, complaints->count ? STATUS_INVALID : STATUS_OK);
    unlink(path);
    rmdir(folder);
    return registry;
}

void entry_refused(const char *entry, const char *part)
{
    struct complaints complaints;
    char text[2048];
    snprintf(text, sizeof text, "version: 1\nkernels:\n- kernel: k\n  %s", entry);
    registry_destroy(registry_of(text, &complaints));
    expect_refused(entry, !complaints.count, complaints.text[0], part);
}

static struct arena signatures;

const struct signature *signature_of(const char *text, const struct captures *captures)
{
    const struct signature *signature = NULL;
    struct error err = {0};
    if (signature_parse(&signature, &signatures, text, captures, &err))
        fail_msg("%s", err.text);
    return signature;
}

void signature_refused(const char *text, const struct captures *captures, const char *part)
{
    const struct signature *signature;
    struct error err = {0};
    bool accepted = !signature_parse(&signature, &signatures, text, captures, &err);
    expect_refused(text, accepted, err.text, part);
}

struct param_layout layout_of(const unsigned *sizes)
{
    struct param_layout layout = {.count = 0};
    uint32_t end = 0;
    for (; *sizes; sizes++) {
        uint32_t align = *sizes == 4 || *sizes == 2 || *sizes == 1 ? *sizes : 8;
        end = (end + align - 1) / align * align;
        layout.param[layout.count].offset = end;
        layout.param[layout.count++].size = *sizes;
        end += *sizes;
    }
    return layout;
}

struct resolved resolve_entry(const char *entry, const unsigned *sizes)
{
    struct complaints complaints;
    char text[4096];
    snprintf(text, sizeof text, "version: 1\nkernels:\n- %s", entry);
    struct resolved result = {registry_of(text, &complaints), NULL};
    if (complaints.count)
        fail_msg("%s", complaints.text[0]);
    struct param_layout layout = layout_of(sizes);
    struct error err = {0};
    enum skip skip;
    result.spec = registry_resolve(result.registry, "k", &layout, &skip, &err);
    if (!result.spec)
        fail_msg("%s", err.text);
    return result;
}
