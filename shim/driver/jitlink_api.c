#include "driver/jitlink_api.h"

#include <dlfcn.h>
#include <link.h>
#include "driver/load.h"

struct jitlink_api jitlink;

static const struct load_entry jitlink_entries[] = {
    {"nvJitLinkCreate", offsetof(struct jitlink_api, create), true},
    {"nvJitLinkDestroy", offsetof(struct jitlink_api, destroy), true},
    {"nvJitLinkAddData", offsetof(struct jitlink_api, add), true},
    {"nvJitLinkComplete", offsetof(struct jitlink_api, complete), true},
    {"nvJitLinkGetLinkedCubinSize", offsetof(struct jitlink_api, cubin_size), true},
    {"nvJitLinkGetLinkedCubin", offsetof(struct jitlink_api, cubin), true},
    {"nvJitLinkGetErrorLogSize", offsetof(struct jitlink_api, log_size), true},
    {"nvJitLinkGetErrorLog", offsetof(struct jitlink_api, log), true},
};

static const char *const jitlink_folders[] = {"/lib64", "/targets/x86_64-linux/lib",
                                              "/targets/sbsa-linux/lib", NULL};
static const struct find_library jitlink_library = {"libnvJitLink.so", "", jitlink_folders,
                                                    "/nvjitlink/lib"};

enum status jitlink_api_load(const struct find_hints *hints, struct nvrtc_file *file,
                             struct error *err)
{
    struct find_hints own = *hints;
    struct error unused = {{0}};
    struct link_map *map = NULL;
    own.path = NULL; /* an option's, of another library */
    /* The program's own first: a toolkit of the machine may be older than the program's PTX. */
    void *library = own.last ? dlopen(own.last, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        library = find_library(&jitlink_library, &own, &unused);
    if (!library)
        return error_set(err, STATUS_NOT_FOUND,
                         "libnvJitLink.so was not found by the loader, in CUDA_HOME or in the "
                         "Python packages in use; it is in the CUDA toolkit (package libnvjitlink) "
                         "and in the Python package nvidia-nvjitlink");
    *file = (struct nvrtc_file){0};
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map)
        nvrtc_file_read(map->l_name, file);
    return load_entries(&jitlink, library, jitlink_entries,
                        sizeof(jitlink_entries) / sizeof(*jitlink_entries), err);
}
