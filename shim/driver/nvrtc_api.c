#include "driver/nvrtc_api.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <sys/stat.h>
#include "driver/load.h"

struct nvrtc_api nvrtc;

static const struct load_entry nvrtc_entries[] = {
    {"nvrtcVersion", offsetof(struct nvrtc_api, version), true},
    {"nvrtcGetNumSupportedArchs", offsetof(struct nvrtc_api, arch_count), true},
    {"nvrtcGetSupportedArchs", offsetof(struct nvrtc_api, archs), true},
    {"nvrtcCreateProgram", offsetof(struct nvrtc_api, create), true},
    {"nvrtcDestroyProgram", offsetof(struct nvrtc_api, destroy), true},
    {"nvrtcCompileProgram", offsetof(struct nvrtc_api, compile), true},
    {"nvrtcGetProgramLogSize", offsetof(struct nvrtc_api, log_size), true},
    {"nvrtcGetProgramLog", offsetof(struct nvrtc_api, log), true},
    {"nvrtcGetCUBINSize", offsetof(struct nvrtc_api, cubin_size), true},
    {"nvrtcGetCUBIN", offsetof(struct nvrtc_api, cubin), true},
    {"nvrtcGetPTXSize", offsetof(struct nvrtc_api, ptx_size), true},
    {"nvrtcGetPTX", offsetof(struct nvrtc_api, ptx), true},
    {"nvrtcGetErrorString", offsetof(struct nvrtc_api, error_text), true},
};

static const char *const nvrtc_folders[] = {"/lib64", "/targets/x86_64-linux/lib",
                                            "/targets/sbsa-linux/lib", NULL};
static const struct find_library library_of = {"libnvrtc.so", "CUVET_NVRTC", nvrtc_folders,
                                               "/cuda_nvrtc/lib"};

static struct nvrtc_file file;

bool nvrtc_file_read(const char *path, struct nvrtc_file *out)
{
    struct stat facts;
    *out = (struct nvrtc_file){0};
    if (stat(path, &facts))
        return false;
    snprintf(out->path, sizeof out->path, "%s", path);
    out->bytes = (uint64_t)facts.st_size;
    out->changed_ns = (int64_t)facts.st_mtim.tv_sec * 1000000000 + facts.st_mtim.tv_nsec;
    return true;
}

static void read_file_facts(void *library)
{
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map)
        nvrtc_file_read(map->l_name, &file);
}

const struct nvrtc_file *nvrtc_api_file(void)
{
    return file.path[0] ? &file : NULL;
}

enum status nvrtc_api_load(const struct find_hints *hints, struct error *err)
{
    struct error why = {{0}};
    void *library = find_library(&library_of, hints, &why);
    if (!library)
        return error_set(err, STATUS_NOT_FOUND,
                         "%.300s; NVRTC is in the CUDA toolkit (package cuda-nvrtc), and "
                         "in the Python package nvidia-cuda-nvrtc",
                         why.text);
    read_file_facts(library);
    return load_entries(&nvrtc, library, nvrtc_entries,
                        sizeof(nvrtc_entries) / sizeof(*nvrtc_entries), err);
}

int nvrtc_nearest_arch(int arch)
{
    enum { OLDEST = 75 }; /* of the library's own device code */
    int known[128] = {0}, count = 0, nearest = 0;
    if (nvrtc.arch_count(&count) || count < 1 || count > 128 || nvrtc.archs(known))
        return 0;
    for (int i = 0; i < count; i++) {
        bool older = known[i] >= OLDEST && (!nearest || known[i] < nearest);
        if (arch ? known[i] <= arch && known[i] > nearest : older)
            nearest = known[i];
    }
    return nearest;
}
