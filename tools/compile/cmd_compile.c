/*
 * cmd_compile.c - `cuvet compile FILES...`: compiles the references of registry files into the
 * cache folder; `cuvet compile --serve ...`: for a program (compile/compile_client.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "system/cache.h"
#include "text/json_out.h"
#include "text/number.h"
#include "base/options.h"
#include "text/textbuf.h"
#include "tools/cmd.h"
#include "tools/serve/compile_serve.h"
#include "tools/compile/precompile.h"
#include "registry/registry.h"

extern char **environ;

static const char usage[] =
    "usage: cuvet compile [--json] [--arch N] FILES...\n"
    "  --arch N   for compute capability N (90 for 9.0) instead of the GPUs "
    "of this machine\n"
    "  --json     prints one JSON object\n";

static void complain(void *user, const char *sentence)
{
    ++*(size_t *)user;
    fprintf(stderr, "%s\n", sentence);
}

/* 0, or the exit status. */
static int find_folder(struct cache *cache)
{
    struct options options;
    struct error err = {0};

    options_read(&options, environ, NULL, NULL);
    cache_place(cache, options.cache);
    if (cache_prepare(cache, &err) == STATUS_OK)
        return 0;
    fprintf(stderr, "cuvet compile: %s\n", err.text);
    return 1;
}

static void put_json(const struct precompiled *made, const struct device_archs *archs,
                     const char *folder)
{
    struct json_out json;
    json_out_init(&json);
    json_begin_object(&json);
    json_put_int(&json, "version", 1);
    json_put_uint(&json, "compiled", made->counts.compiled);
    json_put_uint(&json, "cached", made->counts.cached);
    json_put_uint(&json, "failed", made->counts.failed);
    json_put_array(&json, "archs");
    for (int i = 0; i < archs->count; i++)
        json_int(&json, archs->arch[i]);
    json_end(&json);
    json_put_string(&json, "cache", folder);
    json_end(&json);
    if (json_out_ok(&json))
        printf("%s\n", json.text.data);
    json_out_release(&json);
}

/* `archs`: of the GPUs of this machine where it holds none. */
static int compile(const struct registry *registry, struct device_archs *archs, bool json)
{
    const struct user_references *users = registry_user_references(registry);
    struct precompiled made = {0};
    struct error err = {0};
    struct cache cache;

    if (!archs->count)
        device_archs_read(archs);
    if (!archs->count) {
        fprintf(stderr, "cuvet compile: no GPU here; --arch N names one\n");
        return 1;
    }
    int result = find_folder(&cache);
    if (result)
        return result;
    if (precompile(&made, users, archs, cache.folder, "cuvet compile", &err)) {
        fprintf(stderr, "cuvet compile: %s\n", err.text);
        return 1;
    }
    if (json)
        put_json(&made, archs, cache.folder);
    else
        printf("%u compiled, %u in the cache, %u failed: %s\n", made.counts.compiled,
               made.counts.cached, made.counts.failed, cache.folder);
    return made.counts.failed ? 2 : 0;
}

static int compile_files(const char *files, struct device_archs *archs, bool json)
{
    const struct registry_source source = {.files = files};
    struct registry *registry = NULL;
    size_t problems = 0;
    enum status status = registry_load(&registry, &source, complain, &problems);
    int result = status == STATUS_NO_MEMORY ? 1 : status || problems ? 2 : 0;

    if (registry && !result)
        result = compile(registry, archs, json);
    registry_destroy(registry);
    return result;
}

int cmd_compile(int argc, char **argv)
{
    struct device_archs archs = {0};
    struct textbuf files;
    uint64_t arch = 0;
    int first = 1;

    if (argc == 2 + COMPILE_SERVE_ARGUMENTS && strcmp(argv[1], "--serve") == 0)
        return compile_serve(argv + 2);
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    argc -= json;
    argv += json;
    if (argc > 2 && strcmp(argv[1], "--arch") == 0 && number_unsigned(argv[2], &arch) &&
        arch >= 50 && arch < 1000) {
        archs = (struct device_archs){.count = 1, .arch = {(int)arch}};
        first = 3;
    }
    bool help = argc > 1 && strcmp(argv[1], "--help") == 0;
    if (help || first >= argc || argv[first][0] == '-') {
        fputs(usage, help ? stdout : stderr);
        return help ? 0 : 2;
    }
    textbuf_init(&files);
    for (int i = first; i < argc; i++)
        textbuf_printf(&files, "%s%s", i > first ? ":" : "", argv[i]);
    int result = files.failed ? 1 : compile_files(files.data, &archs, json);
    textbuf_release(&files);
    return result;
}
