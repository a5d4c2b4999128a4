#include "tools/compile/precompile.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cuvet.h"
#include "tools/progress.h"

extern char **environ;

enum { NAP_MS = 2, STOP_MS = 2000 };

struct watch {
    struct precompiled *out;
    struct error *err; /* why nothing can be compiled */
};

/* On the compiler's thread. */
static void complain(void *user, enum status status, const char *sentence)
{
    struct watch *watch = user;

    if (status == STATUS_NOT_FOUND) {
        error_set(watch->err, status, "%s", sentence);
        return;
    }
    watch->out->wrong += status == STATUS_INVALID;
    progress_clear();
    fprintf(stderr, "%s\n", sentence);
}

static void request_all(struct compiler *compiler, const struct user_references *users,
                        const struct device_archs *archs)
{
    for (int a = 0; a < archs->count; a++) {
        for (unsigned t = 0; t < users->texts; t++)
            compiler_request(compiler, t, archs->arch[a]);
    }
}

enum status precompile(struct precompiled *out, const struct user_references *users,
                       const struct device_archs *archs, const char *cache, const char *who,
                       struct error *err)
{
    const struct timespec nap = {.tv_nsec = NAP_MS * 1000000};
    unsigned total = users->texts * (unsigned)archs->count, done;
    char tool[PATH_MAX] = "";
    struct options options;
    struct watch watch = {.out = out, .err = err};
    struct compiler *compiler;

    *out = (struct precompiled){0};
    options_read(&options, environ, NULL, NULL);
    if (readlink("/proc/self/exe", tool, sizeof tool - 1) < 0)
        return error_set(err, STATUS_IO, "the program cuvet does not find itself");
    struct compiler_settings settings = {.users = users,
                                         .tool = tool,
                                         .version = cuvet_version(),
                                         .cache = cache,
                                         .nvrtc = {.path = options.nvrtc, .major = archs->major},
                                         .env = environ,
                                         .complain = complain,
                                         .user = &watch};
    find_homes(&settings.nvrtc);
    enum status status = compiler_create(&compiler, &settings, err);
    if (status)
        return status;
    request_all(compiler, users, archs);
    while ((done = compiler_results(compiler)) < total) {
        progress("%s: compiling the registry's references: %u of %u", who, done, total);
        nanosleep(&nap, NULL);
    }
    out->counts = compiler_count(compiler);
    if (compiler_stop(compiler, STOP_MS))
        compiler_destroy(compiler);
    progress_clear();
    return err->text[0] ? STATUS_NOT_FOUND : STATUS_OK;
}
