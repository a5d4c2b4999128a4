/*
 * cmd_xla.c - `cuvet xla FOLDER`: a registry for the fusions of the modules that XLA dumped there.
 *
 * Exit status: 0; 1 for a failure of ours; 2 for a wrong command line or a folder without a
 * module that can be read.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text/printable.h"
#include "tools/bundle/bundle_file.h"
#include "tools/cmd.h"
#include "tools/progress.h"
#include "tools/xla/draft.h"

static const char usage[] =
    "usage: cuvet xla [--json] [-o FILE] FOLDER\n"
    "  FOLDER     that XLA_FLAGS=\"--xla_dump_to=FOLDER --xla_dump_hlo_as_text\" filled\n"
    "  -o FILE    the registry that is written (xla.yaml); its references stand beside it\n"
    "  --json     prints one JSON object in place of the line with the counts\n";

enum { MOST_BYTES = 1 << 30 };

static const char ending[] = "_after_optimizations.txt", beside[] = "-buffer-assignment.txt";

/* A file of the folder, terminated; NULL with a sentence, but for `absent` where it is not there.
 */
static char *read_file(const char *folder, const char *name, bool absent)
{
    struct error err = {{0}};
    uint8_t *bytes = NULL;
    size_t count;
    enum status status = bundle_read_file(folder, name, MOST_BYTES, &bytes, &count, &err);
    if (status && !(absent && status == STATUS_NOT_FOUND))
        fprintf(stderr, "cuvet xla: %s\n", err.text);
    return (char *)bytes;
}

/* STATUS_INVALID: a sentence is out. */
static enum status add(struct xla_draft *draft, const char *folder, const char *name)
{
    char other[PATH_MAX];
    struct error err = {{0}};
    size_t stem = strlen(name) - strlen(".txt");
    char *module = read_file(folder, name, false);
    if (!module)
        return STATUS_INVALID;
    snprintf(other, sizeof other, "%.*s%s", (int)stem, name, beside);
    char *buffers = read_file(folder, other, true);
    enum status status = xla_draft_add(draft, module, buffers, &err);
    if (status)
        fprintf(stderr, "cuvet xla: %s/%s: %s\n", PRINTABLE(folder), PRINTABLE(name), err.text);
    free(module);
    free(buffers);
    return status;
}

static int is_module(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name), tail = strlen(ending);
    return length > tail && strcmp(entry->d_name + length - tail, ending) == 0;
}

/* 0, or an exit status. A module that cannot be read is left out beside others. */
static int read_folder(struct xla_draft *draft, const char *folder, unsigned *unread)
{
    struct dirent **found = NULL;
    enum status status = STATUS_OK;
    int count = scandir(folder, &found, is_module, alphasort), good = 0;
    if (count <= 0)
        fprintf(stderr, "cuvet xla: %s: %s\n", PRINTABLE(folder),
                count < 0 ? strerror(errno)
                          : "no file whose name ends with _after_optimizations.txt");
    for (int i = 0; i < count; i++) {
        progress_tick(found[i]->d_name);
        if (status != STATUS_NO_MEMORY)
            status = add(draft, folder, found[i]->d_name);
        good += !status;
        *unread += status != STATUS_OK;
        free(found[i]);
    }
    free(found);
    progress_clear();
    return status == STATUS_NO_MEMORY ? 1 : good ? 0 : 2;
}

int cmd_xla(int argc, char **argv)
{
    const char *output = "xla.yaml", *folder = NULL;
    struct xla_draft *draft = NULL;
    unsigned unread = 0;
    bool json = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
            continue;
        }
        bool named = strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--output") == 0;
        if ((named && ++i == argc) || (!named && (argv[i][0] == '-' || folder))) {
            fputs(usage, stderr);
            return 2;
        }
        *(named ? &output : &folder) = argv[i];
    }
    if (!folder) {
        fputs(usage, stderr);
        return 2;
    }
    int result = xla_draft_create(&draft, "xla") ? 1 : read_folder(draft, folder, &unread);
    if (!result)
        result = xla_write(draft, output, json, unread);
    xla_draft_destroy(draft);
    return result;
}
