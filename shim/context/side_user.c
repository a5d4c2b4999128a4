#include "context/side_user.h"

#include <stdlib.h>
#include <time.h>
#include "base/clock.h"
#include "context/side.h"

enum status side_users_open(struct side *side, struct compiler *compiler, struct error *err)
{
    struct side_users *users = &side->refs.users;
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
    return STATUS_OK;
}

void side_users_release(struct side_users *users)
{
    free(users->ready);
}

bool side_users_ready(const struct side *side, const struct ref_builtin *reference)
{
    return !reference->user ||
           (side->refs.users.ready &&
            atomic_load_explicit(&side->refs.users.ready[reference->user->number],
                                 memory_order_acquire));
}

bool side_users_request(struct side *side, const struct ref_builtin *reference)
{
    struct side_users *users = &side->refs.users;
    unsigned text = reference->user->text->number;
    if (!users->compiler || atomic_load_explicit(&users->wanted[text], memory_order_relaxed) ||
        atomic_exchange(&users->wanted[text], true))
        return false;
    atomic_fetch_add(&users->requested, 1);
    return true;
}

/* Whether something may come of waiting: all but a compilation takes milliseconds. */
static bool comes_soon(const struct side_users *users, unsigned text)
{
    const struct ref_image *image;
    if (atomic_load(&users->settled[text]) || atomic_load(&users->waived[text]))
        return false;
    enum compiler_state state = compiler_find(users->compiler, text, users->arch, &image);
    return state != COMPILER_COMPILING && state != COMPILER_FAILED;
}

bool side_users_await(struct side *side, const struct ref_builtin *reference, int timeout_ms)
{
    const struct timespec nap = {.tv_nsec = 100000};
    struct side_users *users = &side->refs.users;
    unsigned text = reference->user->text->number;
    if (!users->compiler)
        return false;
    int64_t until = clock_ns() + (int64_t)timeout_ms * 1000000;
    while (comes_soon(users, text) && !side_users_ready(side, reference)) {
        if (clock_ns() > until)
            atomic_store(&users->waived[text], true);
        nanosleep(&nap, NULL);
    }
    return side_users_ready(side, reference);
}

bool side_users_due(const struct side *side)
{
    struct side_users *users = &((struct side *)side)->refs.users;
    return users->compiler &&
           (atomic_load(&users->requested) != atomic_load(&users->forwarded) ||
            __atomic_load_n(&users->seen, __ATOMIC_RELAXED) != compiler_results(users->compiler));
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
    const struct user_references *users = compiler_users(side->refs.users.compiler);
    for (unsigned i = 0; i < users->references; i++) {
        const struct user_reference *user = users->reference[i];
        if (user->text != text)
            continue;
        if (!side_reference(side, &user->as_builtin, REF_ANY, err) ||
            !side_reference(side, &user->as_builtin, REF_WIDE, err))
            return STATUS_DRIVER;
        atomic_store_explicit(&side->refs.users.ready[user->number], true, memory_order_release);
    }
    return STATUS_OK;
}

static void load_text(struct side *side, unsigned number)
{
    struct side_users *users = &side->refs.users;
    const struct user_text *text = compiler_users(users->compiler)->text[number];
    const struct ref_image *image;
    struct error err = {{0}}, whole = {{0}};
    enum compiler_state state = compiler_find(users->compiler, number, users->arch, &image);
    if (state != COMPILER_DONE) {
        atomic_store(&users->settled[number], state == COMPILER_FAILED);
        return;
    }
    enum status status = load_module(&users->module[number], image, &err);
    if (!status)
        status = load_references(side, text, &err);
    if (status) {
        error_set(&whole, status, "%.300s: the reference is unchecked on device %d: %s",
                  text->where, side->device, err.text);
        compiler_complain(users->compiler, number, status, whole.text);
    }
    atomic_store(&users->settled[number], true);
}

void side_users_load(struct side *side)
{
    struct side_users *users = &side->refs.users;
    unsigned results = compiler_results(users->compiler),
             requested = atomic_load(&users->requested);
    for (unsigned t = 0; t < compiler_users(users->compiler)->texts; t++) {
        if (!atomic_load(&users->wanted[t]) || atomic_load(&users->settled[t]))
            continue;
        compiler_request(users->compiler, t, users->arch);
        load_text(side, t);
    }
    atomic_store(&users->forwarded, requested);
    __atomic_store_n(&users->seen, results, __ATOMIC_RELAXED);
}
