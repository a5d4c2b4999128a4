#include "tools/report/model/lines.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "system/files.h"
#include "text/printable.h"
#include "tools/progress.h"
#include "tools/report/model/fields.h"

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no memory for the list of files");
}

static enum status grow(struct lines_files *files, struct error *err)
{
    size_t capacity = files->capacity * 2 + 16;
    char **path = realloc(files->path, capacity * sizeof *path);
    if (!path)
        return no_memory(err);
    files->path = path;
    struct lines_id *id = realloc(files->id, capacity * sizeof *id);
    if (!id)
        return no_memory(err);
    files->id = id;
    files->capacity = capacity;
    return STATUS_OK;
}

static bool is_there(const struct lines_files *files, const struct stat *info)
{
    for (size_t i = 0; i < files->count; i++) {
        if (files->id[i].device == info->st_dev && files->id[i].number == info->st_ino)
            return true;
    }
    return false;
}

static enum status add_file(struct lines_files *files, const char *path, const struct stat *info,
                            struct error *err)
{
    if (is_there(files, info))
        return STATUS_OK;
    if (files->count == files->capacity) {
        enum status status = grow(files, err);
        if (status)
            return status;
    }
    files->id[files->count] = (struct lines_id){info->st_dev, info->st_ino};
    files->path[files->count] = strdup(path);
    return files->path[files->count++] ? STATUS_OK : no_memory(err);
}

static bool is_named(const char *name, const char *prefix)
{
    static const char end[] = ".jsonl";
    size_t length = strlen(name);
    return strncmp(name, prefix, strlen(prefix)) == 0 && length > sizeof end - 1 &&
           strcmp(name + length - (sizeof end - 1), end) == 0;
}

static enum status add_folder(struct lines_files *files, const char *folder, const char *prefix,
                              int depth, struct error *err);

static enum status add_entry(struct lines_files *files, const char *folder, const char *name,
                             const char *prefix, int depth, struct error *err)
{
    char path[PATH_MAX];
    struct stat info;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path ||
        lstat(path, &info) != 0)
        return STATUS_OK;
    if (S_ISDIR(info.st_mode) && depth > 0)
        return add_folder(files, path, prefix, depth - 1, err);
    if (!is_named(name, prefix))
        return STATUS_OK;
    if (S_ISREG(info.st_mode))
        return add_file(files, path, &info, err);
    files->refused++;
    return STATUS_OK;
}

static enum status add_folder(struct lines_files *files, const char *folder, const char *prefix,
                              int depth, struct error *err)
{
    DIR *entries = opendir(folder);
    enum status status = STATUS_OK;
    if (!entries)
        return error_set(err, STATUS_INVALID, "%s: %s", folder, strerror(errno));
    for (struct dirent *entry; !status && (entry = readdir(entries));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = add_entry(files, folder, entry->d_name, prefix, depth, err);
    }
    closedir(entries);
    return status;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum status lines_add(struct lines_files *files, const char *path, const char *prefix,
                      struct error *err)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return error_set(err, STATUS_INVALID, "%s: %s", path, strerror(errno));
    enum status status = S_ISDIR(info.st_mode) ? add_folder(files, path, prefix, LINES_DEPTH, err)
                                               : add_file(files, path, &info, err);
    if (files->count > 0)
        qsort(files->path, files->count, sizeof *files->path, compare);
    return status;
}

void lines_release(struct lines_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->path[i]);
    free(files->path);
    free(files->id);
    *files = (struct lines_files){0};
}

/* Reads up to a line's end into `line`. Its length, 0 at the end of the file; more than LINE_BYTES:
 * the line is too long. */
static size_t read_line(FILE *file, char *line)
{
    size_t length = 0;
    for (int c; length <= LINE_BYTES && (c = getc_unlocked(file)) != EOF;) {
        line[length++] = (char)c;
        if (c == '\n')
            break;
    }
    return length;
}

static enum status parse(const char *text, size_t length, int version, json_t **out,
                         struct error *err)
{
    json_error_t trouble;
    int64_t found = -1;
    *out = json_loadb(text, length, FIELDS_DECODING, &trouble);
    if (!*out) /* an integer beyond 2^63 is read as a real */
        *out = json_loadb(text, length, FIELDS_DECODING | JSON_DECODE_INT_AS_REAL, &trouble);
    if (!*out)
        return error_set(err, STATUS_INVALID, "not JSON at column %d: %s", trouble.column,
                         trouble.text);
    if (!json_is_object(*out))
        return error_set(err, STATUS_INVALID, "expected a JSON object");
    enum status status = field_int(*out, "v", &found, err);
    if (!status && found != version)
        status = error_set(err, STATUS_INVALID,
                           "format version %lld, expected %d: another cuvet wrote it",
                           (long long)found, version);
    return status;
}

/* One line, of which `length` bytes are there. */
static enum status pass_on(const char *line, size_t length, uint64_t number, int version,
                           lines_fn each, void *user, struct error *err)
{
    json_t *json = NULL;
    if (length > LINE_BYTES)
        return error_set(err, STATUS_INVALID, "the line is longer than %d bytes", LINE_BYTES);
    enum status status = parse(line, length, version, &json, err);
    if (!status)
        status = each(user, json, number, err);
    json_decref(json);
    return status;
}

/* ---- progress ---- */

enum { PROGRESS_LINES = 1024 };

/* How much of the file is read. */
static void show_progress(FILE *file, const char *path)
{
    char name[48];
    struct stat info;
    if (progress_due() && fstat(fileno(file), &info) == 0 && info.st_size > 0)
        progress("%s: %.0f %%", printable_copy(name, sizeof name, path),
                 100 * (double)ftello(file) / (double)info.st_size);
}

static enum status read_all(FILE *file, char *line, const char *path, int version, lines_fn each,
                            void *user, uint64_t *cut, struct error *err)
{
    uint64_t number = 0;
    size_t length;
    while ((length = read_line(file, line)) > 0) {
        if (number++ % PROGRESS_LINES == 0)
            show_progress(file, path);
        if (length <= LINE_BYTES && line[length - 1] != '\n') {
            ++*cut;
            break;
        }
        enum status status = pass_on(line, length, number, version, each, user, err);
        if (status) {
            error_prefix(err, "%s:%llu", path, (unsigned long long)number);
            return status;
        }
    }
    return ferror(file) ? error_set(err, STATUS_INVALID, "%s: %s", path, strerror(errno))
                        : STATUS_OK;
}

enum status lines_read_stream(FILE *file, const char *path, int version, lines_fn each, void *user,
                              uint64_t *cut, struct error *err)
{
    char *line = malloc(LINE_BYTES + 1);
    if (!line)
        return error_set(err, STATUS_NO_MEMORY, "no memory to read %s", path);
    enum status status = read_all(file, line, path, version, each, user, cut, err);
    progress_clear();
    free(line);
    return status;
}

enum status lines_read(const char *path, int version, lines_fn each, void *user, uint64_t *cut,
                       struct error *err)
{
    int fd;
    if (files_open_read(path, &fd, err)) {
        error_prefix(err, "%s", path);
        return STATUS_INVALID;
    }
    FILE *file = fdopen(fd, "r");
    if (!file) {
        close(fd);
        return error_set(err, STATUS_NO_MEMORY, "no memory to read %s", path);
    }
    enum status status = lines_read_stream(file, path, version, each, user, cut, err);
    fclose(file);
    return status;
}

enum status lines_time(const char *text, int64_t *out, struct error *err)
{
    struct tm utc = {0};
    int ms = 0;
    if (!text || sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &utc.tm_year, &utc.tm_mon,
                        &utc.tm_mday, &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &ms) != 7)
        return error_set(err, STATUS_INVALID, "'time' is no time such as 2026-01-31T23:59:59.000Z");
    utc.tm_year -= 1900;
    utc.tm_mon -= 1;
    *out = (int64_t)timegm(&utc) * 1000 + ms;
    return STATUS_OK;
}
