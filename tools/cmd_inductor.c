/*
 * cmd_inductor.c - `cuvet inductor FOLDER`: a registry for the kernels that Inductor generated, by
 * the graph fragments in the comments of its files.
 *
 * Exit status: 0; 1 for a failure of ours; 2 for a wrong command line or a folder without a
 * fragment.
 */
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "text/printable.h"
#include "tools/bundle/bundle_file.h"
#include "tools/cmd.h"
#include "tools/progress.h"
#include "tools/inductor/entry.h"
#include "tools/xla/draft.h"

enum { MOST_BYTES = 1 << 30 };

static const char usage[] =
    "usage: cuvet inductor [--json] [-o FILE] FOLDER...\n"
    "  FOLDER     that TORCHINDUCTOR_CACHE_DIR names, or a file that Inductor generated\n"
    "  -o FILE    the registry that is written (inductor.yaml); its references stand beside it\n"
    "  --json     prints one JSON object in place of the line with the counts\n";

/* 0, or an exit status. */
static int add(struct xla_draft *draft, const char *path, unsigned *kernels)
{
    struct source_kernel *first = NULL;
    struct arena *arena = xla_draft_arena(draft);
    struct error err = {{0}};
    uint8_t *bytes;
    size_t count;
    enum status status = bundle_read_file(NULL, path, MOST_BYTES, &bytes, &count, &err);
    char *text = status ? NULL : arena_text(arena, (char *)bytes, count);
    free(bytes);
    if (!status)
        status = text ? source_read(text, arena, &first) : STATUS_NO_MEMORY;
    for (struct source_kernel *k = first; k && !status; k = k->next, ++*kernels)
        status = entry_add(k, draft);
    if (status)
        fprintf(stderr, "cuvet inductor: %s\n", *err.text ? err.text : "out of memory");
    return !status ? 0 : *err.text ? 2 : 1;
}

static bool is_python(const FTSENT *entry)
{
    return entry->fts_info == FTS_F && entry->fts_namelen > 3 &&
           strcmp(entry->fts_name + entry->fts_namelen - 3, ".py") == 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int unreadable(const FTSENT *entry)
{
    fprintf(stderr, "cuvet inductor: %s: %s\n", PRINTABLE(entry->fts_path),
            strerror(entry->fts_errno));
    return 2;
}

/* 0, or an exit status. */
static int read_folders(struct xla_draft *draft, char **folders)
{
    FTS *tree = fts_open(folders, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    unsigned kernels = 0;
    int result = tree ? 0 : 1;
    for (FTSENT *entry; !result && (entry = fts_read(tree));) {
        if (entry->fts_info == FTS_NS || entry->fts_info == FTS_DNR)
            result = unreadable(entry);
        if (result || !is_python(entry))
            continue;
        progress_tick(entry->fts_path);
        result = add(draft, entry->fts_path, &kernels);
    }
    progress_clear();
    if (tree)
        fts_close(tree);
    if (!result && !kernels)
        fprintf(stderr, "cuvet inductor: %s: no file with a graph fragment\n",
                PRINTABLE(folders[0]));
    return result ? result : kernels ? 0 : 2;
}

int cmd_inductor(int argc, char **argv)
{
    const char *output = "inductor.yaml";
    char **folders = calloc((size_t)argc + 1, sizeof *folders);
    struct xla_draft *draft = NULL;
    bool json = false;
    int count = 0, result = folders ? 0 : 1;
    for (int i = 1; i < argc && !result; i++) {
        bool named = strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--output") == 0;
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            free(folders);
            return 0;
        }
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if ((named && ++i == argc) || (!named && argv[i][0] == '-'))
            result = 2;
        else if (named)
            output = argv[i];
        else
            folders[count++] = argv[i];
    }
    if (result == 2 || (!result && !count)) {
        fputs(usage, stderr);
        free(folders);
        return 2;
    }
    result = result || xla_draft_create(&draft, "inductor") ? 1 : read_folders(draft, folders);
    if (!result)
        result = xla_write(draft, output, json, 0);
    xla_draft_destroy(draft);
    free(folders);
    return result;
}
