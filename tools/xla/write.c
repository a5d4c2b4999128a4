/* write.c - a draft as files: a registry, and its references beside it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "text/json_out.h"
#include "text/printable.h"
#include "tools/xla/draft.h"

static FILE *create(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        fprintf(stderr, "cuvet: %s: %s\n", PRINTABLE(path), strerror(errno));
    return file;
}

static int close_file(FILE *file, const char *path)
{
    bool failed = ferror(file) != 0;
    failed |= fclose(file) != 0;
    if (failed)
        fprintf(stderr, "cuvet: %s: %s\n", PRINTABLE(path), strerror(errno));
    return failed;
}

static int write_files(struct xla_draft *draft, const struct xla_counts *counts, const char *output)
{
    const char *slash = strrchr(output, '/'), *dot = strrchr(output, '.');
    int length = (int)(dot && (!slash || dot > slash) ? (size_t)(dot - output) : strlen(output));
    int folder = slash ? (int)(slash + 1 - output) : 0;
    char path[PATH_MAX], stem[PATH_MAX];
    FILE *file = create(output);
    if (!file)
        return 1;
    snprintf(stem, sizeof stem, "%.*s", length - folder, output + folder);
    xla_draft_registry(draft, file, stem);
    int result = close_file(file, output);
    for (unsigned i = 0; i < counts->texts && !result; i++) {
        snprintf(path, sizeof path, "%.*s_%u.cu", length, output, i);
        file = create(path);
        if (!file)
            return 1;
        xla_draft_text(draft, file, i);
        result = close_file(file, path);
    }
    return result;
}

static int write_json(const struct xla_counts *counts, const char *output, unsigned unread)
{
    struct json_out json;
    json_out_init(&json);
    json_begin_object(&json);
    json_put_int(&json, "version", 1);
    json_put_string(&json, "registry", output);
    json_put_uint(&json, "entries", counts->entries);
    json_put_uint(&json, "without_entry", counts->refused);
    json_put_uint(&json, "reference_files", counts->texts);
    json_put_uint(&json, "unread", unread);
    json_end(&json);
    bool good = json_out_ok(&json);
    if (good)
        printf("%s\n", json.text.data);
    json_out_release(&json);
    return good ? 0 : 1;
}

int xla_write(struct xla_draft *draft, const char *output, bool json, unsigned unread)
{
    struct xla_counts counts = xla_draft_count(draft);
    int result = write_files(draft, &counts, output);
    if (result)
        return result;
    if (json)
        return write_json(&counts, output, unread);
    printf("%s: %u entries; kernels without one: %u\n", PRINTABLE(output), counts.entries,
           counts.refused);
    return 0;
}
