#include "session/session_lifts.h"

#include <limits.h>
#include "cuvet.h"
#include "driver/cuda_api.h"
#include "system/log.h"
#include "system/tool.h"

struct ptx_compiler *session_lifts_compiler(const struct options *options, char *const *env)
{
    int version = 0;
    char tool[PATH_MAX];
    struct error err = {{0}};
    struct ptx_compiler_settings settings = {
        .tool = tool, .version = cuvet_version(), .cache = options->cache, .env = env};
    cuda.cuDriverGetVersion(&version);
    settings.hints.major = version / 1000;
    find_homes(&settings.hints);
    if (tool_find(options->tool, tool_own_path(), "compiles lifted PTX", tool, &err)) {
        log_line(LOG_INFO, "kernels are not held against their own PTX: %s", err.text);
        settings.tool = NULL;
    }
    return ptx_compiler_create(&settings);
}
