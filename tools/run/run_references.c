#include "tools/run/run_references.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "system/cache.h"
#include "system/files.h"
#include "base/options.h"
#include "tools/compile/precompile.h"

extern char **environ;

/* False: there is no place for files. */
static bool find_folder(struct run_references *out)
{
    const char *temporary = getenv("TMPDIR");
    struct options options;
    struct cache cache;
    struct error err = {0};
    enum status status;

    options_read(&options, environ, NULL, NULL);
    cache_place(&cache, options.cache);
    status = cache_prepare(&cache, &err);
    if (!status) {
        textbuf_printf(&out->folder, "%s", cache.folder);
        return true;
    }
    if (status != STATUS_NOT_FOUND)
        fprintf(stderr, "cuvet run: %s\n", err.text);
    textbuf_printf(&out->folder, "%s/cuvet-references-XXXXXX",
                   temporary && *temporary == '/' ? temporary : "/tmp");
    out->private_folder = !out->folder.failed && mkdtemp(out->folder.data);
    if (!out->private_folder)
        textbuf_clear(&out->folder);
    return out->private_folder;
}

void run_references_compile(struct run_references *out, const struct registry *registry)
{
    const struct user_references *users = registry_user_references(registry);
    struct device_archs archs;
    struct precompiled made;
    struct error err = {0};

    *out = (struct run_references){0};
    if (!users->texts)
        return;
    device_archs_read(&archs);
    if (!archs.count || !find_folder(out))
        return;
    /* NVRTC may be found by the program alone, which then reports a missing one. */
    precompile(&made, users, &archs, out->folder.data, "cuvet run", &err);
    out->wrong = made.wrong;
}

void run_references_release(struct run_references *references)
{
    if (references->private_folder)
        files_remove_folder(references->folder.data);
    textbuf_release(&references->folder);
}
