/*
 * cmd_xla.c - `cuvet xla FOLDER`: a registry for the fusions of the modules that XLA dumped there.
 *
 * Exit status: 0; 1 for a failure of ours; 2 for a wrong command line or a folder without a module.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text/printable.h"
#include "tools/cmd.h"
#include "tools/xla/draft.h"

static const char usage[] =
    "usage: cuvet xla [-o FILE] FOLDER\n"
    "  FOLDER     that XLA_FLAGS=\"--xla_dump_to=FOLDER --xla_dump_hlo_as_text\" filled\n"
    "  -o FILE    the registry that is written (xla.yaml); its references stand beside it\n";

static const char ending[] = "_after_optimizations.txt", beside[] = "-buffer-assignment.txt";

/* The whole file, terminated; NULL with errno. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t length = 0, room = 1 << 16;
    char *out = file ? malloc(room) : NULL;
    while (out) {
        length += fread(out + length, 1, room - length - 1, file);
        if (length + 1 < room)
            break;
        char *more = realloc(out, room *= 2);
        if (!more)
            free(out);
        out = more;
    }
    if (out)
        out[length] = '\0';
    if (file)
        fclose(file);
    return out;
}

/* 0, or an exit status. */
static int add(struct xla_draft *draft, const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct error err = {{0}};
    size_t stem = strlen(name) - strlen(".txt");
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *module = read_file(path);
    if (!module) {
        fprintf(stderr, "cuvet xla: %s: %s\n", PRINTABLE(path), strerror(errno));
        return 1;
    }
    snprintf(path, sizeof path, "%s/%.*s%s", folder, (int)stem, name, beside);
    char *buffers = read_file(path);
    enum status status = xla_draft_add(draft, module, buffers, &err);
    if (status)
        fprintf(stderr, "cuvet xla: %s: %s\n", PRINTABLE(name), err.text);
    free(module);
    free(buffers);
    return status == STATUS_NO_MEMORY ? 1 : 0;
}

static int is_module(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name), tail = strlen(ending);
    return length > tail && strcmp(entry->d_name + length - tail, ending) == 0;
}

/* 0, or an exit status. */
static int read_folder(struct xla_draft *draft, const char *folder)
{
    struct dirent **found = NULL;
    int count = scandir(folder, &found, is_module, alphasort), result = 0;
    if (count <= 0)
        fprintf(stderr, "cuvet xla: %s: %s\n", PRINTABLE(folder),
                count < 0 ? strerror(errno)
                          : "no file whose name ends with _after_optimizations.txt");
    for (int i = 0; i < count; i++) {
        result = result ? result : add(draft, folder, found[i]->d_name);
        free(found[i]);
    }
    free(found);
    return count <= 0 ? 2 : result;
}

int cmd_xla(int argc, char **argv)
{
    const char *output = "xla.yaml", *folder = NULL;
    struct xla_draft *draft = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
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
    int result = xla_draft_create(&draft, "xla") ? 1 : read_folder(draft, folder);
    if (!result)
        result = xla_write(draft, output);
    xla_draft_destroy(draft);
    return result;
}
