#include "tools/fuzz/image.h"

#include <errno.h>
#include <fts.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "tools/bundle/bundle_file.h"

enum { MOST_BYTES = 1 << 30, MOST_FILES = 1 << 20 };

/* The newest of the folder's files of that name. */
static enum status find_file(struct fuzz_image *out, const char *folder, const char *name,
                             struct error *err)
{
    char *roots[] = {(char *)folder, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    time_t newest = 0;
    int files = 0;
    if (!tree)
        return error_set(err, STATUS_IO, "%s cannot be read: %s", folder, strerror(errno));
    for (FTSENT *at; (at = fts_read(tree)) && files < MOST_FILES; files++) {
        if (at->fts_info != FTS_F || strcmp(at->fts_name, name) != 0 ||
            at->fts_statp->st_mtime < newest)
            continue;
        newest = at->fts_statp->st_mtime;
        snprintf(out->path, sizeof out->path, "%s", at->fts_path);
    }
    fts_close(tree);
    return out->path[0] ? STATUS_OK
                        : error_set(err, STATUS_NOT_FOUND, "%s holds no file %s", folder, name);
}

static enum status read_file(struct fuzz_image *out, struct error *err)
{
    uint8_t *bytes;
    enum status status = bundle_read_file(NULL, out->path, MOST_BYTES, &bytes, &out->count, err);
    if (!status && !out->count) {
        free(bytes);
        return error_set(err, STATUS_INVALID, "%s is empty", out->path);
    }
    out->bytes = bytes;
    return status;
}

/* What Triton wrote beside the image: launches need it, and no image holds it. */
static void read_metadata(struct fuzz_image *image)
{
    static const char *const keys[][2] = {{"triton.num_warps", "num_warps"},
                                          {"triton.num_ctas", "num_ctas"},
                                          {"triton.shared", "shared"}};
    char path[sizeof image->path + 8];
    const char *dot = strrchr(image->path, '.');
    size_t count = 0;
    if (!dot)
        return;
    snprintf(path, sizeof path, "%.*s.json", (int)(dot - image->path), image->path);
    json_t *root = json_load_file(path, 0, NULL);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *value = json_object_get(root, keys[i][1]);
        if (json_is_integer(value))
            image->known[count++] = (struct fuzz_known){keys[i][0], json_integer_value(value)};
    }
    json_decref(root);
}

enum status fuzz_image_read(struct fuzz_image *out, const char *path, struct error *err)
{
    *out = (struct fuzz_image){0};
    if ((size_t)snprintf(out->path, sizeof out->path, "%s", path) >= sizeof out->path)
        return error_set(err, STATUS_INVALID, "the path of the image is too long");
    read_metadata(out);
    return read_file(out, err);
}

bool fuzz_image_is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

enum status fuzz_image_find(struct fuzz_image *out, const char *folder, const char *kernel,
                            bool text, struct error *err)
{
    char name[512];
    *out = (struct fuzz_image){0};
    snprintf(name, sizeof name, "%.500s.%s", kernel, text ? "ptx" : "cubin");
    enum status status = find_file(out, folder, name, err);
    if (status == STATUS_NOT_FOUND) {
        snprintf(name, sizeof name, "%.500s.%s", kernel, text ? "cubin" : "ptx");
        status = find_file(out, folder, name, NULL);
    }
    if (!status)
        read_metadata(out);
    return status ? status : read_file(out, err);
}

void fuzz_image_release(struct fuzz_image *image)
{
    free(image->bytes);
    image->bytes = NULL;
}
