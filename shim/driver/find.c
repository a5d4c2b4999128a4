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

/* Python wheels keep theirs under site-packages/nvidia: found through any mapped library that lies
 * under the same site-packages. */
static int search_wheels(struct dl_phdr_info *info, size_t size, void *user)
{
    struct wheel_search *search = user;
    const char *found = info->dlpi_name ? strstr(info->dlpi_name, "/site-packages/") : NULL;
    char folder[PATH_MAX], cu[32];
    (void)size;
    if (!found)
        return 0;
    snprintf(folder, sizeof(folder), "%.*s/site-packages/nvidia", (int)(found - info->dlpi_name),
             info->dlpi_name);
    snprintf(cu, sizeof(cu), "/cu%d/lib", search->major);
    search->library = open_under(search->what, folder, cu, search->major);
    if (!search->library)
        search->library = open_under(search->what, folder, search->what->wheel, search->major);
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
    if (!library && hints->major)
        error_set(err, STATUS_NOT_FOUND, "%s.%d was not found; set %s to its path", what->name,
                  hints->major, what->option);
    else if (!library)
        error_set(err, STATUS_NOT_FOUND, "%s was not found; set %s to its path", what->name,
                  what->option);
    return library;
}
