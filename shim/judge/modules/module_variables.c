#include "judge/modules/module_variables.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "extra/fetch.h"
#include "image/image_variables.h"

_Static_assert((int)MODULE_VARIABLES_BYTES <= (int)STAGING_BYTES,
               "all are copied before the first is used");

enum { ALIGN = 16 };

static const char unloaded[] = "a module was unloaded after the launch",
                  linked[] = "it begins with addresses that the driver fills in",
                  managed[] = "it is managed memory",
                  too_long[] = "more bytes than are read of the variables of a module",
                  not_found[] = "the driver does not find it", failed[] = "it could not be copied";

static struct {
    pthread_mutex_t lock; /* held while modules are looked into */
    atomic_uint_fast64_t count;
} unloads = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct module_variables {
    struct image_variables image;
    uint8_t *value; /* of all that were read */
    struct bundle_variables all;
    struct bundle_variable variable[MODULE_VARIABLES];
};

/* What was found of one variable. */
struct lookup {
    const struct image_variable *variable;
    const char *why; /* NULL: its copy is under way to `at` of the staging buffer */
    size_t at;
};

void module_unload_begins(void)
{
    pthread_mutex_lock(&unloads.lock);
    atomic_fetch_add(&unloads.count, 1);
    pthread_mutex_unlock(&unloads.lock);
}

void module_unload_seen(void)
{
    atomic_fetch_add(&unloads.count, 1);
}

uint64_t module_unloads(void)
{
    return atomic_load_explicit(&unloads.count, memory_order_relaxed);
}

static CUresult look_up_variable(const struct kernel_home *home, const char *name,
                                 CUdeviceptr *address, size_t *bytes)
{
    if (home->module && cuda.cuModuleGetGlobal)
        return cuda.cuModuleGetGlobal(address, bytes, (CUmodule)(uintptr_t)home->module, name);
    if (home->library && cuda.cuLibraryGetGlobal)
        return cuda.cuLibraryGetGlobal(address, bytes, (CUlibrary)(uintptr_t)home->library, name);
    return CUDA_ERROR_NOT_FOUND;
}

/* A copy of managed memory may move its pages. */
static bool is_managed(CUdeviceptr address)
{
    unsigned is = 0;
    return !cuda.cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) && is;
}

/* Begins the copy. The reason why there is none, or NULL. Lock held. */
static const char *begin_copy(struct side *side, const struct check *check, struct lookup *lookup)
{
    const struct image_variable *variable = lookup->variable;
    CUdeviceptr address = 0;
    size_t bytes = 0;
    if (variable->linked)
        return linked;
    if (lookup->at + variable->bytes > MODULE_VARIABLES_BYTES)
        return too_long;
    if (look_up_variable(&check->module.home, variable->name, &address, &bytes) ||
        bytes != variable->bytes)
        return not_found;
    if (is_managed(address))
        return managed;
    return fetch_begin(side, address, bytes, lookup->at) ? failed : NULL;
}

/* Fills in `lookup`; their copies take `bytes` of the staging buffer. False: a module was unloaded
 * since the launch. */
static bool look_up(struct side *side, const struct check *check, struct lookup *lookup,
                    size_t count, size_t *bytes)
{
    size_t at = 0;
    pthread_mutex_lock(&unloads.lock);
    bool there = atomic_load(&unloads.count) == check->module.unloads;
    for (size_t i = 0; there && i < count; i++) {
        lookup[i].at = at;
        lookup[i].why = begin_copy(side, check, &lookup[i]);
        if (!lookup[i].why)
            at += (lookup[i].variable->bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    pthread_mutex_unlock(&unloads.lock);
    *bytes = at;
    return there;
}

static void take_variable(struct module_variables *out, const struct lookup *lookup)
{
    const struct image_variable *variable = lookup->variable;
    const uint8_t *value = lookup->why ? NULL : out->value + lookup->at;
    if (value && image_variable_is_initial(variable, value)) {
        out->all.unchanged++;
        return;
    }
    out->variable[out->all.count++] =
        (struct bundle_variable){variable->name, variable->bytes, value, lookup->why};
}

static void copy_variables(struct module_variables *out, struct side *side,
                           const struct check *check)
{
    struct lookup lookup[MODULE_VARIABLES];
    size_t bytes;
    size_t count = out->image.count < MODULE_VARIABLES ? out->image.count : MODULE_VARIABLES;
    for (size_t i = 0; i < count; i++)
        lookup[i] = (struct lookup){.variable = &out->image.list[i], .why = unloaded};
    out->all.unread = out->image.count - count;
    bool there = look_up(side, check, lookup, count, &bytes);
    bool copied = there && !fetch_end(side);
    if (copied)
        memcpy(out->value, side->staging_host, bytes);
    for (size_t i = 0; i < count; i++) {
        if (there && !copied && !lookup[i].why)
            lookup[i].why = failed;
        take_variable(out, &lookup[i]);
    }
}

struct module_variables *module_variables_read(struct side *side, const struct check *check,
                                               const void *image, size_t bytes, unsigned arch)
{
    struct module_variables *out = calloc(1, sizeof(*out));
    struct error err = {{0}};
    if (!out)
        return NULL;
    if (!image_variables_read(&out->image, image, bytes, arch)) {
        free(out);
        return NULL;
    }
    out->all.list = out->variable;
    if (!out->image.count)
        return out;
    out->value = malloc(MODULE_VARIABLES_BYTES);
    if (!out->value || side_staging_host(side, &err)) {
        module_variables_free(out);
        return NULL;
    }
    copy_variables(out, side, check);
    return out;
}

void module_variables_list(const struct module_variables *variables, struct bundle_variables *out)
{
    *out = variables->all;
}

void module_variables_free(struct module_variables *variables)
{
    if (!variables)
        return;
    image_variables_release(&variables->image);
    free(variables->value);
    free(variables);
}
