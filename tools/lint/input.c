#include "tools/lint/input.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/fuzz/image.h"
#include "tools/worker/image.h"

/* -- images -- */

struct walk {
    input_text_fn take;
    void *user;
    size_t texts;
};

static enum status take_piece(struct walk *walk, const struct image_piece *piece, const char *name,
                              struct error *err)
{
    struct image_text text;
    enum status status = STATUS_NOT_FOUND;
    image_text_read(&text, piece, NULL);
    bool own = !text.code && piece->kind == IMAGE_CUBIN;
    struct lint_text lint = {.text = text.text,
                             .length = text.length,
                             .image = name,
                             .code = own ? piece->bytes : text.code,
                             .code_bytes = own ? piece->count : text.code_bytes};
    if (text.text) {
        walk->texts++;
        status = walk->take(walk->user, &lint, err);
    }
    image_text_release(&text);
    return status;
}

static enum status take_image(struct walk *walk, const void *bytes, size_t count, const char *name,
                              struct error *err)
{
    struct image_piece *pieces;
    const size_t texts = walk->texts;
    size_t n = image_split(bytes, count, &pieces, err);
    enum status status = n ? STATUS_OK : STATUS_INVALID;
    if (!n)
        error_prefix(err, "%s", name);
    for (size_t i = 0; i < n && !status; i++) {
        status = take_piece(walk, &pieces[i], name, err);
        status = status == STATUS_NOT_FOUND ? STATUS_OK : status;
    }
    if (n)
        free(pieces);
    if (!status && walk->texts == texts)
        status = error_set(err, STATUS_NOT_FOUND,
                           "%s holds no PTX, only machine code; compile it with -lineinfo or with "
                           "-gencode arch=compute_75,code=compute_75",
                           name);
    return status;
}

/* -- files and folders -- */

static enum status take_file(struct walk *walk, const char *path, struct error *err)
{
    struct fuzz_image image;
    enum status status = fuzz_image_read(&image, path, err);
    if (!status)
        status = take_image(walk, image.bytes, image.count, path, err);
    fuzz_image_release(&image);
    return status;
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), n = strlen(end);
    return length > n && strcmp(name + length - n, end) == 0;
}

/* libkernels.so, libkernels.so.4.8.5 */
static bool is_shared_object(const char *name)
{
    const char *end = strstr(name, ".so");
    while (end && strstr(end + 1, ".so"))
        end = strstr(end + 1, ".so");
    return end && end != name && strspn(end + 3, ".0123456789") == strlen(end + 3);
}

/* k.ptx beside k.cubin is the same with comments. */
static bool has_text_beside(const char *path)
{
    char other[4096];
    size_t stem = strlen(path) - strlen(".cubin");
    return (size_t)snprintf(other, sizeof other, "%.*s.ptx", (int)stem, path) < sizeof other &&
           access(other, R_OK) == 0;
}

static bool is_wanted(const FTSENT *at)
{
    if (at->fts_info != FTS_F)
        return false;
    if (ends_with(at->fts_name, ".cubin"))
        return !has_text_beside(at->fts_path);
    return ends_with(at->fts_name, ".ptx") || ends_with(at->fts_name, ".fatbin") ||
           is_shared_object(at->fts_name);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Of a file below a folder, one without PTX is passed over: a .so of Triton's launcher. */
static enum status take_folder(struct walk *walk, const char *folder, struct error *err)
{
    char *roots[] = {(char *)folder, NULL};
    const size_t texts = walk->texts;
    enum status status = STATUS_OK;
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    if (!tree)
        return error_set(err, STATUS_IO, "%s cannot be read: %s", folder, strerror(errno));
    for (FTSENT *at; !status && (at = fts_read(tree));) {
        struct error why = {0};
        if (!is_wanted(at))
            continue;
        status = take_file(walk, at->fts_path, &why);
        if (status == STATUS_NOT_FOUND ||
            (status == STATUS_INVALID && is_shared_object(at->fts_name)))
            status = STATUS_OK;
        else if (status)
            error_set(err, status, "%s", why.text);
    }
    fts_close(tree);
    if (!status && walk->texts == texts)
        status = error_set(err, STATUS_NOT_FOUND,
                           "%s holds no PTX; expected .ptx, .cubin, .fatbin or .so files below it",
                           folder);
    return status;
}

/* -- the calls -- */

enum status input_each(const char *path, input_text_fn take, void *user, struct error *err)
{
    struct walk walk = {take, user, 0};
    return fuzz_image_is_folder(path) ? take_folder(&walk, path, err) : take_file(&walk, path, err);
}

static enum status lint_one(void *user, const struct lint_text *text, struct error *err)
{
    return lint_text(user, text, err);
}

enum status lint_path(struct lint_report *report, const char *path, struct error *err)
{
    return input_each(path, lint_one, report, err);
}

enum status lint_image(struct lint_report *report, const void *bytes, size_t count,
                       const char *name, struct error *err)
{
    struct walk walk = {lint_one, report, 0};
    return take_image(&walk, bytes, count, name, err);
}
