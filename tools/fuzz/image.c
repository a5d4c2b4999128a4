#include "tools/fuzz/image.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "tools/bundle/bundle_file.h"
#include "tools/bundle/json_in.h"

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

enum status fuzz_known_read(struct fuzz_known known[FUZZ_KNOWN], const char *text, size_t bytes,
                            const char *path, struct error *err)
{
    static const char *const keys[FUZZ_KNOWN - 1][2] = {{"triton.num_warps", "num_warps"},
                                                        {"triton.num_ctas", "num_ctas"},
                                                        {"triton.shared", "shared"}};
    struct json_in in = {.file = path, .err = err};
    json_t *root = json_in_load(&in, text, bytes);
    size_t count = 0;
    for (size_t i = 0; root && i < sizeof keys / sizeof keys[0]; i++) {
        if (json_in_has(root, keys[i][1]))
            known[count++] =
                (struct fuzz_known){keys[i][0], json_in_int(&in, root, keys[i][1], 0, INT32_MAX)};
    }
    json_decref(root);
    return in.failed ? STATUS_INVALID : STATUS_OK;
}

enum status fuzz_image_known(struct fuzz_image *image, struct error *err)
{
    char path[sizeof image->path + 8];
    const char *dot = strrchr(image->path, '.');
    struct error why = {{0}};
    uint8_t *text;
    size_t bytes;
    if (!dot || strchr(dot, '/'))
        return STATUS_OK;
    snprintf(path, sizeof path, "%.*s.json", (int)(dot - image->path), image->path);
    enum status status = bundle_read_file(NULL, path, BUNDLE_TEXT_MOST, &text, &bytes, &why);
    if (status)
        return status == STATUS_NOT_FOUND ? STATUS_OK : error_set(err, status, "%s", why.text);
    status = fuzz_known_read(image->known, (const char *)text, bytes, path, err);
    free(text);
    return status;
}

enum status fuzz_image_read(struct fuzz_image *out, const char *path, struct error *err)
{
    *out = (struct fuzz_image){0};
    if ((size_t)snprintf(out->path, sizeof out->path, "%s", path) >= sizeof out->path)
        return error_set(err, STATUS_INVALID, "the path of the image is too long");
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
    return status ? status : read_file(out, err);
}

void fuzz_image_release(struct fuzz_image *image)
{
    free(image->bytes);
    image->bytes = NULL;
}
