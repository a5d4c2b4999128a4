#include "driver/find.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* RTLD_LOCAL: our copy must not answer the program's own symbol lookups. */
static void *open_library(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *open_under(const struct find_library *what, const char *folder, const char *below,
                        int major)
{
    char path[PATH_MAX];
    if (!folder || !*folder)
        return NULL;
    int length = snprintf(path, sizeof(path), "%s%s/%s.%d", folder, below, what->name, major);
    return length > 0 && (size_t)length < sizeof(path) ? open_library(path) : NULL;
}

static void *open_in_toolkit(const struct find_library *what, const char *home, int major)
{
    for (const char *const *below = what->toolkit; *below; below++) {
        void *library = open_under(what, home, *below, major);
        if (library)
            return library;
    }
    return NULL;
}

struct wheel_search {
    const struct find_library *what;
    int major;
    void *library;
};

static void *open_in_wheels(const struct find_library *what, const char *wheels, int major)
{
    char folder[PATH_MAX], cu[32];
    int length = snprintf(folder, sizeof(folder), "%s/nvidia", wheels);
    if (length < 0 || (size_t)length >= sizeof(folder))
        return NULL;
    snprintf(cu, sizeof(cu), "/cu%d/lib", major);
    void *library = open_under(what, folder, cu, major);
    return library ? library : open_under(what, folder, what->wheel, major);
}

/* The site-packages folder of a path, or false. */
static bool wheels_of(const char *path, char out[PATH_MAX])
{
    static const char name[] = "/site-packages";
    const char *found = path ? strstr(path, "/site-packages/") : NULL;
    size_t length = found ? (size_t)(found - path) + sizeof(name) - 1 : PATH_MAX;
    if (length >= PATH_MAX)
        return false;
    memcpy(out, path, length);
    out[length] = '\0';
    return true;
}

/* Python wheels keep theirs under site-packages/nvidia: found through any mapped library that lies
 * under the same site-packages. */
static int search_wheels(struct dl_phdr_info *info, size_t size, void *user)
{
    struct wheel_search *search = user;
    char wheels[PATH_MAX];
    (void)size;
    if (wheels_of(info->dlpi_name, wheels))
        search->library = open_in_wheels(search->what, wheels, search->major);
    return search->library != NULL;
}

static void *find_major(const struct find_library *what, const struct find_hints *hints, int major)
{
    char name[64];
    snprintf(name, sizeof(name), "%s.%d", what->name, major);
    void *library = open_library(name);
    if (!library)
        library = open_in_toolkit(what, hints->homes[0], major);
    if (!library)
        library = open_in_toolkit(what, hints->homes[1], major);
    if (!library)
        library = open_in_toolkit(what, "/usr/local/cuda", major);
    if (!library) {
        struct wheel_search search = {.what = what, .major = major};
        dl_iterate_phdr(search_wheels, &search);
        library = search.library;
    }
    if (!library && hints->wheels)
        library = open_in_wheels(what, hints->wheels, major);
    return library;
}

/* A copy that the process has mapped comes first: two versions in one process break the program
 * that brought the other one. */
static void *find_mapped(const struct find_library *what)
{
    for (int major = FIND_NEWEST_MAJOR; major >= FIND_OLDEST_MAJOR; major--) {
        char name[64];
        snprintf(name, sizeof(name), "%s.%d", what->name, major);
        void *library = dlopen(name, RTLD_NOLOAD | RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    return NULL;
}

/* The loader would wait for a writer of a FIFO. */
static bool is_no_file(const char *path)
{
    struct stat info;
    return strchr(path, '/') && stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

void find_homes(struct find_hints *hints)
{
    hints->homes[0] = getenv("CUDA_HOME");
    hints->homes[1] = getenv("CUDA_PATH");
}

struct trace_search {
    const char *name;
    struct find_traces *out;
};

static int search_traces(struct dl_phdr_info *info, size_t size, void *user)
{
    struct trace_search *search = user;
    const char *path = info->dlpi_name ? info->dlpi_name : "", *slash = strrchr(path, '/');
    size_t length = strlen(search->name);
    (void)size;
    if (!search->out->wheels[0])
        wheels_of(path, search->out->wheels);
    if (slash && strncmp(slash + 1, search->name, length) == 0 && slash[1 + length] == '.')
        snprintf(search->out->mapped, sizeof(search->out->mapped), "%s", path);
    return 0;
}

void find_traces(const char *name, struct find_traces *out)
{
    struct trace_search search = {name, out};
    *out = (struct find_traces){0};
    dl_iterate_phdr(search_traces, &search);
}

void *find_library(const struct find_library *what, const struct find_hints *hints,
                   struct error *err)
{
    void *library;
    if (hints->path && *hints->path) {
        if (is_no_file(hints->path)) {
            error_set(err, STATUS_NOT_FOUND, "%s: %s is not a regular file", what->option,
                      hints->path);
            return NULL;
        }
        library = open_library(hints->path);
        if (!library)
            error_set(err, STATUS_NOT_FOUND, "%s: %s", what->option, dlerror());
        return library;
    }
    library = find_mapped(what);
    /* An older one works on a newer driver, not the other way round. */
    int newest = hints->major ? hints->major : FIND_NEWEST_MAJOR;
    for (int major = newest; !library && major >= FIND_OLDEST_MAJOR; major--)
        library = find_major(what, hints, major);
    if (!library && hints->last)
        library = open_library(hints->last);
    if (!library && hints->major)
        error_set(err, STATUS_NOT_FOUND, "%s.%d was not found; set %s to its path", what->name,
                  hints->major, what->option);
    else if (!library)
        error_set(err, STATUS_NOT_FOUND, "%s was not found; set %s to its path", what->name,
                  what->option);
    return library;
}
