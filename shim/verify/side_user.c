#include "verify/side_user.h"

#include <stdlib.h>
#include "verify/side.h"

enum status side_users_open(struct side *side, struct compiler *compiler, struct error *err)
{
    struct side_users *users = &side->users;
    int major = 0, minor = 0;
    if (!compiler)
        return STATUS_OK;
    users->ready = calloc(compiler_users(compiler)->references, sizeof *users->ready);
    if (!users->ready)
        return error_set(err, STATUS_NO_MEMORY, "no memory for references");
    enum status status =
        cuda_check(err,
                   cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                             side->device),
                   "cuDeviceGetAttribute");
    if (!status)
        status = cuda_check(err,
                            cuda.cuDeviceGetAttribute(
                                &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, side->device),
                            "cuDeviceGetAttribute");
    if (status)
        return status;
    users->arch = 10 * major + minor;
    users->compiler = compiler;
    compiler_want(compiler, users->arch);
    return STATUS_OK;
}

void side_users_release(struct side_users *users)
{
    free(users->ready);
}

bool side_users_ready(const struct side *side, const struct ref_builtin *reference)
{
    return !reference->user ||
           (side->users.ready && atomic_load_explicit(&side->users.ready[reference->user->number],
                                                      memory_order_acquire));
}

bool side_users_due(const struct side *side)
{
    const struct side_users *users = &side->users;
    return users->compiler &&
           __atomic_load_n(&users->seen, __ATOMIC_RELAXED) != compiler_results(users->compiler);
}

/* Machine code; where the driver refuses it (it is older than NVRTC, or runs none), the PTX. */
static enum status load_module(CUmodule *out, const struct ref_image *image, struct error *err)
{
    struct error refused = {{0}};
    if (image->cubin &&
        !cuda_check(&refused, cuda.cuModuleLoadData(out, image->cubin), "loading the machine code"))
        return STATUS_OK;
    if (!image->ptx)
        return error_set(err, STATUS_DRIVER, "%s", refused.text);
    return cuda_check(err, cuda.cuModuleLoadData(out, image->ptx), "loading the PTX");
}

static enum status load_references(struct side *side, const struct user_text *text,
                                   struct error *err)
{
    const struct user_references *users = compiler_users(side->users.compiler);
    for (unsigned i = 0; i < users->references; i++) {
        const struct user_reference *user = users->reference[i];
        if (user->text != text)
            continue;
        if (!side_reference(side, &user->as_builtin, REF_ANY, err) ||
            !side_reference(side, &user->as_builtin, REF_WIDE, err))
            return STATUS_DRIVER;
        atomic_store_explicit(&side->users.ready[user->number], true, memory_order_release);
    }
    return STATUS_OK;
}

static void load_text(struct side *side, unsigned number)
{
    struct side_users *users = &side->users;
    const struct user_text *text = compiler_users(users->compiler)->text[number];
    const struct ref_image *image;
    struct error err = {{0}}, whole = {{0}};
    enum compiler_state state = compiler_look(users->compiler, number, users->arch, &image);
    users->settled[number] = state != COMPILER_WAITING;
    if (state != COMPILER_DONE)
        return;
    enum status status = load_module(&users->module[number], image, &err);
    if (!status)
        status = load_references(side, text, &err);
    if (status) {
        error_set(&whole, status, "%.300s: the reference is unchecked on device %d: %s",
                  text->where, side->device, err.text);
        compiler_complain(users->compiler, number, whole.text);
    }
}

void side_users_load(struct side *side)
{
    struct side_users *users = &side->users;
    unsigned results = compiler_results(users->compiler);
    for (unsigned t = 0; t < compiler_users(users->compiler)->texts; t++) {
        if (!users->settled[t])
            load_text(side, t);
    }
    __atomic_store_n(&users->seen, results, __ATOMIC_RELAXED);
}
