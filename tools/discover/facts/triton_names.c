#include "tools/discover/facts/triton_names.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "system/files.h"

enum { PATH = 1024, MOST_TEXT = 16 << 20 };

/* A whole file and a NUL, for free(); NULL: it cannot be read, or has more than `most` bytes. */
static char *read_file(const char *path, size_t most, size_t *count)
{
    struct error err = {{0}};
    struct stat info;
    int fd = -1;
    FILE *file = files_open_read(path, &fd, &err) ? NULL : fdopen(fd, "r");
    if (!file) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    bool fits = fstat(fd, &info) == 0 && (uint64_t)info.st_size <= most;
    char *text = fits ? malloc((size_t)info.st_size + 1) : NULL;
    *count = text ? fread(text, 1, (size_t)info.st_size, file) : 0;
    if (text)
        text[*count] = '\0';
    fclose(file);
    return text;
}

/* ---- the text ---- */

/* Behind the argument at `at`: the ',' or ')' that ends it. */
static const char *end_of_argument(const char *at)
{
    int depth = 0;
    for (; *at; at++) {
        if (*at == '"') {
            for (at++; *at && *at != '"'; at++)
                at += *at == '\\' && at[1];
            if (!*at)
                break;
        }
        if (depth == 0 && (*at == ',' || *at == ')'))
            break;
        depth += *at == '(' || *at == '{' || *at == '<' || *at == '[';
        depth -= *at == ')' || *at == '}' || *at == '>' || *at == ']';
    }
    return at;
}

/* Of "%x: !tt.ptr<f16> ..." or "%n: i32 ...", from the colon on. */
static enum dtype read_type(const char *at)
{
    static const struct {
        const char *spelled;
        enum dtype dtype;
    } types[] = {
        {"f16", DTYPE_F16},
        {"bf16", DTYPE_BF16},
        {"f32", DTYPE_F32},
        {"f64", DTYPE_F64},
        {"i8", DTYPE_I8},
        {"i16", DTYPE_I16},
        {"i32", DTYPE_I32},
        {"i64", DTYPE_I64},
        {"i1", DTYPE_U8} /* a byte in memory */,
        {"f8E4M3FN", DTYPE_F8E4M3},
        {"f8E5M2", DTYPE_F8E5M2},
    };
    static const char pointer[] = "!tt.ptr<";
    size_t length = 0;
    at += strspn(at, ": ");
    if (!strncmp(at, pointer, sizeof pointer - 1))
        at += sizeof pointer - 1;
    while (isalnum((unsigned char)at[length]))
        length++;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strlen(types[i].spelled) == length && !strncmp(types[i].spelled, at, length))
            return types[i].dtype;
    }
    return DTYPE_NONE;
}

unsigned triton_names_read(const char *ttir, const char *symbol,
                           struct triton_argument out[LAYOUT_MAX])
{
    char head[PATH];
    unsigned count = 0;
    snprintf(head, sizeof head, "@%s(", symbol);
    const char *at = strstr(ttir, head);
    for (at = at ? at + strlen(head) : ""; *at && *at != ')' && count < LAYOUT_MAX; count++) {
        size_t length = 0;
        at += strspn(at, " %");
        while (isalnum((unsigned char)at[length]) || at[length] == '_')
            length++;
        bool usable = length && length < TRITON_NAME && !isdigit((unsigned char)*at);
        snprintf(out[count].name, TRITON_NAME, "%.*s", usable ? (int)length : 0, at);
        out[count].dtype = read_type(at + length);
        at = end_of_argument(at);
        at += *at == ',';
    }
    return count;
}

/* ---- the cache ---- */

static bool is_image(const char *path, const struct seen_kernel *kernel)
{
    size_t count = 0;
    char *bytes = read_file(path, kernel->image_bytes, &count);
    bool same = bytes && count == kernel->image_bytes &&
                memcmp(bytes, kernel->image, kernel->image_bytes) == 0;
    free(bytes);
    return same;
}

/* One folder of the cache for each version of a kernel. */
static unsigned search(const char *root, const struct seen_kernel *kernel,
                       struct triton_argument out[LAYOUT_MAX])
{
    char path[PATH];
    struct dirent *entry;
    unsigned found = 0;
    size_t count;
    DIR *list = opendir(root);
    while (list && !found && (entry = readdir(list))) {
        const char *symbol = kernel->names.mangled;
        int length = snprintf(path, sizeof path, "%s/%s/%s.cubin", root, entry->d_name, symbol);
        if (*entry->d_name == '.' || length >= (int)sizeof path || !is_image(path, kernel))
            continue;
        snprintf(path, sizeof path, "%s/%s/%s.ttir", root, entry->d_name, symbol);
        char *text = read_file(path, MOST_TEXT, &count);
        found = text ? triton_names_read(text, symbol, out) : 0;
        free(text);
    }
    if (list)
        closedir(list);
    return found;
}

unsigned triton_names_find(const struct seen_kernel *kernel, struct triton_argument out[LAYOUT_MAX])
{
    const char *own = getenv("TRITON_CACHE_DIR"), *home = getenv("HOME"), *user = getenv("USER");
    char root[PATH];
    unsigned found = 0;
    if (!kernel->image || strchr(kernel->names.mangled, '/'))
        return 0;
    if (own && *own)
        found = search(own, kernel, out);
    snprintf(root, sizeof root, "%s/.triton/cache", home ? home : "");
    if (!found)
        found = search(root, kernel, out);
    snprintf(root, sizeof root, "/tmp/torchinductor_%s/triton/0", user ? user : "root");
    return found ? found : search(root, kernel, out);
}
