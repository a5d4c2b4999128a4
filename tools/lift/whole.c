#include "tools/lift/whole.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "tests/softgpu/exec/exec.h"
#include "lang/dtype.h"
#include "shim/lift/bulk/bundled_map.h"
#include "shim/lift/lift.h"
#include "shim/lift/lift_abi.h"
#include "tools/lift/stage.h"

/* Shared memory that every device has; a kernel whose shadows need more has them in device memory.
 */
enum { SHARED_MOST = 48 << 10 };

struct whole {
    struct scene *scene;
    const struct stage *stage;
    struct lift *lift;
    struct scene_run run;                                 /* of the kernel itself */
    uint64_t before[SCENE_REGIONS], after[SCENE_REGIONS]; /* copies of the regions */
    int region[REF_MAX_TENSORS];                          /* of each view; -1: none */
    uint64_t call, figures, answer;                       /* addresses on the device */
    bool apart;
    struct lift_whole *out;
};

/* ---- memory ---- */

/* In a unit of 16 bytes a copy lies as the region does: vectors keep their alignment. */
static enum status copy_region(struct whole *w, int number, const uint8_t *content,
                               uint64_t *address, struct error *err)
{
    const struct scene_region *region = &w->scene->region[number];
    const struct worker_array array = {
        .bytes = region->bytes, .align = 256, .skew = region->begin % 256};
    enum status status = worker_allocate(w->scene->worker, &array, address, err);
    return status ? status : worker_write(w->scene->worker, *address, content, region->bytes, err);
}

static enum status copy_regions(struct whole *w, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < w->scene->regions && !status; i++) {
        status = copy_region(w, i, w->scene->region[i].content, &w->before[i], err);
        if (!status)
            status = copy_region(w, i, w->run.after[i], &w->after[i], err);
    }
    return status;
}

static enum status zeroed(struct whole *w, uint64_t bytes, uint64_t *address, struct error *err)
{
    const struct worker_array array = {.bytes = bytes, .align = 256};
    return worker_allocate(w->scene->worker, &array, address, err);
}

/* Where the parameter of a view lies among the launch's. */
static uint64_t place_of_view(const struct whole *w, const struct lift_view *view)
{
    const struct ptx_function *fn = ptx_find_function(w->stage->ptx, w->scene->kernel);
    uint64_t at = 0;
    for (unsigned i = 0; i <= view->param && i < fn->param_count; i++) {
        at = (at + fn->params[i].align - 1) / fn->params[i].align * fn->params[i].align;
        if (i < view->param)
            at += fn->params[i].bytes;
    }
    return at;
}

/* What the launch has as a view's parameter, or in its map. */
static uint64_t pointer_of_view(const struct whole *w, const struct lift_view *view)
{
    const struct bundle *bundle = w->scene->bundle;
    uint64_t pointer = 0, at = place_of_view(w, view);
    if (view->dims)
        at += offsetof(struct exec_tensor_map, address);
    if (at + sizeof(pointer) <= bundle->params_bytes)
        memcpy(&pointer, bundle->params + at, sizeof(pointer));
    return pointer;
}

/* ---- tensor maps ---- */

#define SAME_PLACE(field)                                                                          \
    _Static_assert(offsetof(struct exec_tensor_map, field) == offsetof(struct bundled_map, field), \
                   "the interpreter reads what bundles have")
SAME_PLACE(address);
SAME_PLACE(size);
SAME_PLACE(box);
SAME_PLACE(last);
SAME_PLACE(swizzle);
_Static_assert(EXEC_TENSOR_MAP == BUNDLED_MAP, "the interpreter reads what bundles have");

static bool read_bundled(const struct whole *w, const struct lift_view *view, const uint8_t *params,
                         struct bundled_map *out)
{
    const uint64_t at = place_of_view(w, view);
    if (at + sizeof(struct lift_map) > w->scene->bundle->params_bytes)
        return false;
    memcpy(out, params + at, sizeof(*out));
    return out->kind == BUNDLED_MAP;
}

static bool has_foreign_maps(const struct whole *w)
{
    const struct lift_view *view;
    const unsigned views = lift_views(w->lift, &view);
    bool foreign = false;
    for (unsigned i = 0; i < views; i++) {
        struct bundled_map map;
        foreign |= view[i].dims && !read_bundled(w, &view[i], w->scene->bundle->params, &map);
    }
    return foreign;
}

/* Makes the maps among the parameters those of a lifted kernel. */
static void describe_maps(const struct whole *w, uint8_t *params)
{
    const struct lift_view *view;
    const unsigned views = lift_views(w->lift, &view);
    for (unsigned i = 0; i < views; i++) {
        struct bundled_map from;
        if (!view[i].dims || !read_bundled(w, &view[i], params, &from))
            continue;
        struct lift_map map = {.address = from.address,
                               .rank = from.last + 1u,
                               .element = exec_tensor_bytes(from.type),
                               .swizzle = from.swizzle};
        for (unsigned d = 0; d < LIFT_MAP_DIMS; d++) {
            map.size[d] = (uint32_t)from.size[d];
            map.box[d] = from.box[d];
            if (d)
                map.stride[d - 1] = from.stride[d - 1];
        }
        memcpy(params + place_of_view(w, &view[i]), &map, sizeof(map));
    }
}

/* Two views that are the same memory, and are both written, or one of them at places from memory;
 * false: there are none. */
static bool find_shared_views(const struct whole *w, const struct lift_view **first,
                              const struct lift_view **second)
{
    const struct lift_view *view;
    const unsigned views = lift_views(w->lift, &view);
    for (unsigned i = 0; i < views; i++) {
        const uint64_t pointer = pointer_of_view(w, &view[i]);
        for (unsigned j = 0; pointer && j < i; j++) {
            *first = &view[j];
            *second = &view[i];
            const bool both = role_writes(view[i].role) && role_writes(view[j].role);
            if ((both || view[i].scattered || view[j].scattered) &&
                pointer_of_view(w, &view[j]) == pointer)
                return true;
        }
    }
    return false;
}

static void fill_arrays(struct whole *w, struct lift_call *call)
{
    const struct lift_view *view;
    const unsigned views = lift_views(w->lift, &view);
    for (unsigned i = 0; i < views; i++) {
        uint64_t offset;
        const int number = w->region[i] =
            scene_region_of(w->scene, pointer_of_view(w, &view[i]), &offset); /* -1: null */
        if (number >= 0)
            call->array[i] = (struct lift_array){w->scene->address[number],
                                                 w->before[number],
                                                 w->after[number],
                                                 w->scene->region[number].bytes,
                                                 i,
                                                 0,
                                                 LIFT_WHOLE};
    }
}

/* Places for the shadows of shared memory, one for each block that runs at a time. */
static enum status make_places(struct whole *w, struct lift_call *call, struct error *err)
{
    const struct bundle *bundle = w->scene->bundle;
    const uint64_t cells = lift_cells(w->lift, bundle->shared_bytes);
    const uint64_t blocks = (uint64_t)bundle->grid[0] * bundle->grid[1] * bundle->grid[2];
    uint64_t address;
    w->apart = cells && lift_shared(w->lift, bundle->shared_bytes, false) > SHARED_MOST;
    if (!w->apart)
        return STATUS_OK;
    call->slot_bytes = (blocks < LIFT_SLOTS ? blocks : LIFT_SLOTS) * cells;
    enum status status =
        zeroed(w, LIFT_SLOTS * sizeof(struct lift_slot) + call->slot_bytes, &address, err);
    call->slots = status ? NULL : (struct lift_slot *)(uintptr_t)address;
    return status;
}

static enum status make_call(struct whole *w, struct error *err)
{
    const struct bundle *bundle = w->scene->bundle;
    const uint32_t *grid = bundle->grid, *block = bundle->block;
    struct lift_call call = {.shared_bytes = (bundle->shared_bytes + 15ull) / 16 * 16,
                             .blocks = grid[0],
                             .threads = (uint64_t)grid[0] * grid[1] * grid[2] * block[0] *
                                        block[1] * block[2],
                             .sequence = 1};
    fill_arrays(w, &call);
    enum status status = make_places(w, &call, err);
    if (!status)
        status = zeroed(w, sizeof(struct lift_figures), &w->figures, err);
    if (!status)
        status = zeroed(w, sizeof(struct ref_verdict), &w->answer, err);
    if (!status)
        status = zeroed(w, sizeof(call), &w->call, err);
    call.figures = (struct lift_figures *)(uintptr_t)w->figures;
    call.answer = (struct ref_verdict *)(uintptr_t)w->answer;
    return status ? status : worker_write(w->scene->worker, w->call, &call, sizeof(call), err);
}

/* ---- launches ---- */

/* Whether the launch ran to its end; else `why` has the reason. */
static bool ran(struct lift_whole *out, const struct worker_result *result, const char *which)
{
    if (result->outcome == WORKER_RAN)
        return true;
    snprintf(out->why, sizeof(out->why), "%s: %s", which,
             *result->sentence ? result->sentence : "it did not end in time");
    return false;
}

static enum status load_lifted(struct whole *w, struct worker_kernel *kernel, struct error *err)
{
    struct textbuf text;
    uint32_t module;
    textbuf_init(&text);
    enum status status = lift_write(w->lift, &text, err);
    if (!status)
        status = worker_load(w->scene->worker, text.data, text.length, &module, err);
    if (!status)
        status = worker_kernel(w->scene->worker, module, LIFT_ENTRY, kernel, err);
    textbuf_release(&text);
    return status;
}

/* The kernel's parameters, and the address of the call behind them. */
static enum status launch_lifted(struct whole *w, struct worker_result *result, struct error *err)
{
    const struct bundle *bundle = w->scene->bundle;
    uint8_t params[BUNDLE_PARAMS + 16] = {0};
    const uint32_t at = (bundle->params_bytes + 7) / 8 * 8;
    struct worker_kernel kernel;
    enum status status = load_lifted(w, &kernel, err);
    if (status)
        return status;
    scene_params(w->scene, params);
    describe_maps(w, params);
    memcpy(params + at, &w->call, sizeof(w->call));
    struct worker_launch launch = {
        .kernel = kernel.id,
        .shared_bytes = (uint32_t)lift_shared(w->lift, bundle->shared_bytes, w->apart),
        .cooperative = bundle->cooperative,
        .params = params,
        .param_bytes = at + 8};
    memcpy(launch.grid, bundle->grid, sizeof(launch.grid));
    memcpy(launch.block, bundle->block, sizeof(launch.block));
    memcpy(launch.cluster, bundle->cluster, sizeof(launch.cluster));
    return worker_launch(w->scene->worker, &launch, result, err);
}

/* ---- the verdict ---- */

static const struct bundle_array *array_at(const struct bundle *bundle, uint64_t address)
{
    for (int i = 0; i < bundle->arrays; i++)
        if (role_writes(bundle->array[i].role) &&
            address - bundle->array[i].address < bundle->array[i].bytes)
            return &bundle->array[i];
    return NULL;
}

/* Element `index` of a view counts from the beginning of its region. */
static void add_place(struct whole *w, unsigned tensor, uint64_t index, double got, double y,
                      double bound)
{
    const struct lift_view *view;
    const int number = tensor < lift_views(w->lift, &view) ? w->region[tensor] : -1;
    if (number < 0)
        return;
    const uint64_t size = dtype_bytes(view[tensor].dtype);
    struct whole_place place = {
        w->scene->region[number].begin + index * size, NULL, 0, got, y, bound};
    place.array = array_at(w->scene->bundle, place.address);
    if (place.array)
        place.index = (int64_t)((place.address - place.array->address) / size);
    w->out->place[w->out->places++] = place;
}

static enum status read_verdict(struct whole *w, struct error *err)
{
    struct ref_verdict *v = &w->out->verdict;
    enum status status = worker_read(w->scene->worker, w->answer, v, sizeof(*v), err);
    if (status)
        return status;
    if (v->sequence != 1) {
        snprintf(w->out->why, sizeof(w->out->why), "the rewritten kernel left no verdict");
        return STATUS_OK;
    }
    if (!v->violations)
        return STATUS_OK;
    add_place(w, v->worst_tensor, v->worst_index, v->worst_got, v->worst_ref, v->worst_bound);
    add_place(w, v->first_tensor, v->first_index, v->first_got, v->first_ref, v->first_bound);
    return STATUS_OK;
}

/* ---- all of it ---- */

static enum status hold(struct whole *w, struct error *err)
{
    const struct scene_change none = {0};
    struct worker_result result;
    enum status status = scene_run(w->scene, &none, &w->run, err);
    if (status || !ran(w->out, &w->run.result, "the kernel"))
        return status;
    w->out->own_ms = w->run.result.ms;
    status = copy_regions(w, err);
    if (!status)
        status = make_call(w, err);
    if (!status)
        status = launch_lifted(w, &result, err);
    if (status || !ran(w->out, &result, "the rewritten kernel"))
        return status;
    w->out->ms = result.ms;
    return read_verdict(w, err);
}

/* Whether the rewriting is right for what the entry declares: it holds kernels against f32. */
static bool fits(struct whole *w, double unit)
{
    const struct lift_view *first, *second;
    struct error why = {{0}};
    if (unit > 0x1p-24)
        error_set(
            &why, STATUS_UNSUPPORTED,
            "the declared accumulator is narrower than f32, which rewritten PTX is held against");
    else if (!lift_make(&w->lift, w->stage->text, w->stage->length, w->scene->kernel, 0, &why)) {
        if (lift_has_tables(w->lift))
            error_set(&why, STATUS_UNSUPPORTED, "it reads addresses from memory");
        else if (has_foreign_maps(w))
            error_set(&why, STATUS_UNSUPPORTED,
                      "its parameters are tensor maps, of which the bundle has a driver's bytes");
        else if (!find_shared_views(w, &first, &second))
            return true;
        else
            error_set(&why, STATUS_UNSUPPORTED, "p%u and p%u are %s, and are the same memory",
                      first->param, second->param,
                      role_writes(first->role) && role_writes(second->role)
                          ? "written"
                          : "written at places from memory, and read");
    }
    snprintf(w->out->why, sizeof(w->out->why), "%s", why.text);
    return false;
}

enum status lift_whole(struct scene *scene, const struct stage *stage,
                       const struct worker_settings *worker, double unit, struct lift_whole *out,
                       struct error *err)
{
    struct whole w = {.scene = scene, .stage = stage, .out = out};
    memset(out, 0, sizeof(*out));
    enum status status = worker_start(&scene->worker, worker, err);
    if (status)
        return status;
    snprintf(out->device, sizeof(out->device), "%s", worker_about(scene->worker)->name);
    if (fits(&w, unit))
        status = hold(&w, err);
    scene_run_release(&w.run);
    lift_free(w.lift);
    worker_end(scene->worker);
    scene->worker = NULL;
    return status;
}
