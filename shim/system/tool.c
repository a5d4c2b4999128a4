#include "system/tool.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum status tool_find(const char *given, const char *library, const char *what_for,
                      char out[PATH_MAX], struct error *err)
{
    static const char *const places[] = {"cuvet", "../bin/cuvet"};
    const char *slash = strrchr(library, '/');
    int folder = slash ? (int)(slash - library) : 0;

    if (given && *given) {
        if (realpath(given, out) && access(out, X_OK) == 0)
            return STATUS_OK;
        return error_set(err, STATUS_NOT_FOUND, "CUVET_TOOL names %s, which cannot be run", given);
    }
    for (size_t i = 0; slash && i < sizeof places / sizeof places[0]; i++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%.*s/%s", folder, library, places[i]);

        if (length > 0 && (size_t)length < sizeof path && realpath(path, out) &&
            access(out, X_OK) == 0)
            return STATUS_OK;
    }
    return error_set(err, STATUS_NOT_FOUND,
                     "the program cuvet, which %s, is neither beside %s nor in ../bin; "
                     "CUVET_TOOL may name it",
                     what_for, library);
}

const char *tool_own_path(void)
{
    static const char here;
    Dl_info self;

    return dladdr(&here, &self) && self.dli_fname ? self.dli_fname : "";
}
