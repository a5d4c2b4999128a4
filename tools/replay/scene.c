#include "tools/replay/scene.h"

#include <stdlib.h>
#include <string.h>
#include "lang/dtype.h"
#include "text/printable.h"

enum { ALIGN = 4096 };
#define UNKNOWN_MOST ((uint64_t)256 << 20) /* bytes of a region that no array covers */
#define REGION_MOST  ((uint64_t)64 << 30)

/* ---- regions ---- */

int scene_region_of(const struct scene *scene, uint64_t address, uint64_t *offset)
{
    for (int i = 0; i < scene->regions; i++) {
        *offset = address - scene->region[i].begin;
        if (address >= scene->region[i].begin && *offset < scene->region[i].bytes)
            return i;
    }
    return -1;
}

/* Adds a span, joined with the regions that it overlaps. */
static void scene_add(struct scene *scene, uint64_t begin, uint64_t end, bool unknown)
{
    for (int i = 0; i < scene->regions; i++) {
        const struct scene_region *region = &scene->region[i];
        uint64_t last = region->begin + region->bytes;
        if (begin >= last || region->begin >= end)
            continue;
        begin = region->begin < begin ? region->begin : begin;
        end = last > end ? last : end;
        unknown = unknown && region->unknown;
        scene->region[i--] = scene->region[--scene->regions];
    }
    if (scene->regions < SCENE_REGIONS && end > begin)
        scene->region[scene->regions++] =
            (struct scene_region){.begin = begin, .bytes = end - begin, .unknown = unknown};
}

/* Bytes from the array's address to the end of its last element in the program. */
static uint64_t scene_span(const struct bundle *bundle, const struct bundle_array *array)
{
    uint64_t span = array->bytes, size = dtype_bytes(array->dtype);
    int64_t rows = array->by_rows ? array->seen[0] : 0;
    int64_t each = rows ? array->elements / rows : 0;
    for (int64_t row = 0; row < rows && each; row++) {
        uint64_t end = (uint64_t)bundle_offset(bundle, array, (row + 1) * each - 1) + size;
        span = end > span ? end : span;
    }
    return span;
}

/* Regions for pointers that no array covers. */
static void scene_plan_pointers(struct scene *scene)
{
    const struct bundle *bundle = scene->bundle;
    uint64_t offset;
    for (int i = 0; i < bundle->pointers; i++) {
        const struct bundle_pointer *pointer = &bundle->pointer[i];
        uint64_t room = pointer->base + pointer->bytes - pointer->address;
        if (scene_region_of(scene, pointer->address, &offset) < 0)
            scene_add(scene, pointer->address,
                      pointer->address + (room < UNKNOWN_MOST ? room : UNKNOWN_MOST), true);
    }
    for (int i = 0; i < bundle->pointers; i++) {
        int number = scene_region_of(scene, bundle->pointer[i].address, &offset);
        if (number >= 0 && scene->region[number].unknown && bundle->pointer[i].workspace)
            scene->region[number].workspace = true;
    }
}

static enum status scene_plan(struct scene *scene, struct error *err)
{
    const struct bundle *bundle = scene->bundle;
    uint64_t all = 0;
    if (scene->around)
        scene_add(scene, bundle->around_address, bundle->around_address + bundle->around_bytes,
                  false);
    for (int i = 0; i < bundle->arrays; i++) {
        const struct bundle_array *array = &bundle->array[i];
        if (array->listed && !array->placed)
            return error_set(err, STATUS_UNSUPPORTED,
                             "the rows of %s lie at addresses in device memory, not all of which "
                             "the bundle holds",
                             array->name);
        uint64_t span = scene_span(bundle, array);
        if (span > REGION_MOST)
            return error_set(err, STATUS_INVALID, "%s spans %llu bytes, more than is placed",
                             array->name, (unsigned long long)span);
        scene_add(scene, array->address, array->address + span, false);
    }
    scene_plan_pointers(scene);
    for (int i = 0; i < scene->regions; i++)
        all += scene->region[i].bytes;
    return all <= REGION_MOST
               ? STATUS_OK
               : error_set(err, STATUS_INVALID,
                           "the arrays together span %llu bytes, more than are placed",
                           (unsigned long long)all);
}

/* ---- elements ---- */

/* Elements from `linear` on that lie one behind the other, in the program as in the dense form. */
static int64_t scene_stretch(const struct bundle_array *array, int64_t linear)
{
    int last = array->ndim - 1;
    int64_t inner = array->seen[last];
    if (array->by_rows) {
        int64_t row = array->elements / array->seen[0];
        int64_t within = linear % row % array->run, left = row - linear % row;
        return array->run - within < left ? array->run - within : left;
    }
    return array->stride[last] == 1 && array->axis != last ? inner - linear % inner : 1;
}

/* Copies elements [first, first + count): to the dense form, or from it. */
static void scene_move(const struct scene *scene, const struct bundle_array *array, uint8_t *region,
                       uint64_t region_offset, uint64_t room, uint8_t *dense, int64_t first,
                       int64_t count, bool gathers)
{
    int64_t size = (int64_t)dtype_bytes(array->dtype);
    for (int64_t at = first; at < first + count;) {
        int64_t run = scene_stretch(array, at), left = first + count - at;
        run = run < left ? run : left;
        uint64_t offset = region_offset + (uint64_t)bundle_offset(scene->bundle, array, at);
        uint64_t bytes = (uint64_t)(run * size);
        uint8_t *to = dense + (at - first) * size;
        if (offset <= room && bytes <= room - offset)
            memcpy(gathers ? to : region + offset, gathers ? region + offset : to, bytes);
        at += run;
    }
}

uint8_t *scene_gather(const struct scene *scene, int index, uint8_t *const *after)
{
    const struct bundle_array *array = &scene->bundle->array[index];
    uint64_t offset;
    int number = scene_region_of(scene, array->address, &offset);
    uint8_t *dense = calloc((size_t)array->elements + 8, dtype_bytes(array->dtype));
    if (!dense || number < 0)
        return dense;
    const struct scene_region *region = &scene->region[number];
    scene_move(scene, array, after ? after[number] : region->content, offset, region->bytes, dense,
               0, array->elements, true);
    return dense;
}

static void scene_put(struct scene *scene, const struct bundle_array *array,
                      const struct bundle_part *part, uint8_t *const *after)
{
    uint64_t offset;
    int number = scene_region_of(scene, array->address, &offset);
    if (number < 0 || !part->count)
        return;
    struct scene_region *region = &scene->region[number];
    scene_move(scene, array, after ? after[number] : region->content, offset, region->bytes,
               (uint8_t *)(uintptr_t)part->bytes, part->first, part->count, false);
}

void scene_scatter(struct scene *scene, int index, const uint8_t *dense, uint8_t *const *after)
{
    const struct bundle_array *array = &scene->bundle->array[index];
    const struct bundle_part all = {dense, 0, array->elements};
    scene_put(scene, array, &all, after);
}

/* ---- life ---- */

static void scene_put_around(struct scene *scene)
{
    const struct bundle *bundle = scene->bundle;
    uint64_t offset;
    int number = scene_region_of(scene, bundle->around_address, &offset);
    if (number >= 0)
        memcpy(scene->region[number].content + offset, bundle->around, bundle->around_bytes);
}

static enum status scene_fill(struct scene *scene, struct error *err)
{
    for (int i = 0; i < scene->regions; i++) {
        scene->region[i].content = calloc(1, scene->region[i].bytes);
        if (!scene->region[i].content)
            return error_set(err, STATUS_NO_MEMORY,
                             "no memory for %llu bytes of the program's arrays",
                             (unsigned long long)scene->region[i].bytes);
    }
    if (scene->around)
        scene_put_around(scene);
    for (int i = 0; i < scene->bundle->arrays; i++) {
        const struct bundle_array *array = &scene->bundle->array[i];
        for (int p = 0; p < BUNDLE_PARTS; p++)
            scene_put(scene, array, &array->part[BUNDLE_BEFORE][p], NULL);
    }
    return STATUS_OK;
}

enum status scene_create(struct scene **out, const struct bundle *bundle, bool around,
                         struct error *err)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    *out = NULL;
    if (!scene)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a launch");
    scene->bundle = bundle;
    scene->around = around && bundle->around;
    scene->kernel = bundle->kernel;
    scene->image = bundle->image;
    scene->image_bytes = bundle->image_bytes;
    enum status status = STATUS_OK;
    if (!bundle->params_bytes)
        status =
            error_set(err, STATUS_UNSUPPORTED,
                      "the bundle does not hold the launch's parameters: they are more than 4 KiB, "
                      "and other such launches were under way");
    if (!status)
        status = scene_plan(scene, err);
    if (!status)
        status = scene_fill(scene, err);
    if (status)
        scene_destroy(scene);
    else
        *out = scene;
    return status;
}

void scene_destroy(struct scene *scene)
{
    for (int i = 0; scene && i < scene->regions; i++)
        free(scene->region[i].content);
    free(scene);
}

enum status scene_choose(struct scene *scene, const char *file, const char *kernel, uint8_t **bytes,
                         struct error *err)
{
    scene->kernel = kernel ? kernel : scene->bundle->kernel;
    if (file) {
        enum status status =
            bundle_read_file(NULL, file, (size_t)1 << 32, bytes, &scene->image_bytes, err);
        scene->image = *bytes;
        scene->image_file = file;
        return status;
    }
    scene->call = symbol_is_call(scene->kernel);
    if (!scene->image && !scene->call && *scene->bundle->library)
        return error_set(err, STATUS_INVALID,
                         "the bundle has no image of the kernel: %s. To run the library's own: "
                         "cuvet replay --against %s %s",
                         PRINTABLE(scene->bundle->no_image), PRINTABLE(scene->bundle->library),
                         PRINTABLE(scene->bundle->folder));
    if (!scene->image && !scene->call)
        return error_set(
            err, STATUS_INVALID,
            "the bundle has no image of the kernel: %s. Name a file that has it with "
            "--against (replay) or --image (probe); `cuvet replay --stored` needs none",
            PRINTABLE(scene->bundle->no_image));
    return STATUS_OK;
}

void scene_blame_image(const struct scene *scene, struct error *err)
{
    const struct bundle *bundle = scene->bundle;
    if (scene->image_file)
        error_prefix(err, "%s", PRINTABLE(scene->image_file));
    else if (*bundle->image_file)
        error_prefix(err, "%s/%s", PRINTABLE(bundle->folder), PRINTABLE(bundle->image_file));
}

enum status scene_stored(struct scene *scene, struct scene_run *out, struct error *err)
{
    memset(out, 0, sizeof(*out));
    for (int i = 0; i < scene->regions; i++) {
        out->after[i] = malloc(scene->region[i].bytes);
        if (!out->after[i]) {
            scene_run_release(out);
            return error_set(err, STATUS_NO_MEMORY, "no memory for an array");
        }
        memcpy(out->after[i], scene->region[i].content, scene->region[i].bytes);
    }
    for (int i = 0; i < scene->bundle->arrays; i++) {
        const struct bundle_array *array = &scene->bundle->array[i];
        if (!role_writes(array->role))
            continue;
        if (!bundle_whole(array, BUNDLE_AFTER)) {
            scene_run_release(out);
            return error_set(err, STATUS_INVALID, "the bundle %s holds only a part of %s",
                             PRINTABLE(scene->bundle->folder), array->name);
        }
        scene_put(scene, array, &array->part[BUNDLE_AFTER][0], out->after);
    }
    return STATUS_OK;
}

void scene_run_release(struct scene_run *run)
{
    for (int i = 0; i < SCENE_REGIONS; i++)
        free(run->after[i]);
    memset(run, 0, sizeof(*run));
}

/* ---- a run ---- */

static enum status scene_load(struct scene *scene, struct error *err)
{
    uint32_t module;
    if (worker_lost(scene->worker)) {
        enum status status = worker_restart(scene->worker, err);
        if (status)
            return status;
        scene->loaded = scene->placed = false;
    }
    if (scene->loaded && !(scene->initial && scene->written))
        return STATUS_OK;
    scene->written = false;
    enum status status =
        scene->call
            ? worker_library(scene->worker, scene->kernel, scene->library, &scene->found, err)
            : worker_load(scene->worker, scene->image, scene->image_bytes, &module, err);
    if (!status && !scene->call)
        status = worker_kernel(scene->worker, module, scene->kernel, &scene->found, err);
    if (!status && scene->found.param_bytes != scene->bundle->params_bytes)
        status = error_set(err, STATUS_INVALID,
                           "the image's kernel has %u bytes of parameters, the launch has %u",
                           scene->found.param_bytes, scene->bundle->params_bytes);
    bool image =
        status == STATUS_INVALID || status == STATUS_NOT_FOUND || status == STATUS_UNSUPPORTED;
    if (image && !scene->call) {
        scene_blame_image(scene, err);
        status = STATUS_INVALID;
    }
    scene->loaded = !status;
    return status;
}

bool scene_holds(const uint8_t *element, size_t size, uint8_t poison)
{
    for (size_t i = 0; i < size; i++) {
        if (element[i] != poison)
            return false;
    }
    return true;
}

bool scene_poisons(const struct bundle *bundle, const struct bundle_array *array)
{
    for (int i = 0; i < bundle->arrays; i++) {
        const struct bundle_array *other = &bundle->array[i];
        if (role_reads(other->role) && other->address < array->address + array->bytes &&
            array->address < other->address + other->bytes)
            return false;
    }
    return array->role == ROLE_WRITE;
}

static const struct scene_spread *scene_spread(const struct scene_change *change, int number)
{
    return change->spread && change->spread[number].pitch ? &change->spread[number] : NULL;
}

/* Bytes that the region takes on the device. */
static uint64_t scene_extent(const struct scene *scene, const struct scene_change *change,
                             int number)
{
    const struct scene_spread *spread = scene_spread(change, number);
    uint64_t bytes = scene->region[number].bytes;
    return spread ? (bytes - 1) / spread->pitch * spread->far + spread->pitch : bytes;
}

/* The region's bytes to the device, or from it, row by row where it is spread. */
static enum status scene_transfer(struct scene *scene, int number,
                                  const struct scene_change *change, uint8_t *bytes, bool reads,
                                  struct error *err)
{
    const struct scene_spread *spread = scene_spread(change, number);
    uint64_t all = scene->region[number].bytes, pitch = spread ? spread->pitch : all;
    uint64_t address = scene->address[number];
    enum status status = STATUS_OK;
    for (uint64_t at = 0; at < all && !status; at += pitch) {
        uint64_t to = spread ? address + at / pitch * spread->far : address;
        uint64_t count = all - at < pitch ? all - at : pitch;
        status = reads ? worker_read(scene->worker, to, bytes + at, count, err)
                       : worker_write(scene->worker, to, bytes + at, count, err);
    }
    return status;
}

void scene_patch_words(const struct scene *scene, uint8_t *bytes, uint64_t count)
{
    for (uint64_t at = 0; at + 8 <= count; at += 8) {
        uint64_t word, offset;
        memcpy(&word, bytes + at, sizeof(word));
        int number = scene_region_of(scene, word, &offset);
        if (number < 0)
            continue;
        word = scene->address[number] + offset;
        memcpy(bytes + at, &word, sizeof(word));
    }
}

/* Lists of addresses in the region lead to where their rows are now. */
static bool scene_patch_lists(const struct scene *scene, int number, uint8_t *content)
{
    uint64_t offset;
    bool found = false;
    for (int i = 0; i < scene->bundle->arrays; i++) {
        const struct bundle_array *array = &scene->bundle->array[i];
        if (!array->lists || scene_region_of(scene, array->address, &offset) != number)
            continue;
        if (content)
            scene_patch_words(scene, content + offset, array->bytes);
        found = true;
    }
    return found;
}

static enum status scene_write(struct scene *scene, int number, const struct scene_change *change,
                               struct error *err)
{
    const struct scene_region *region = &scene->region[number];
    uint8_t *content = region->content;
    uint64_t offset;
    if (!change->poisons && !scene_patch_lists(scene, number, NULL))
        return scene_transfer(scene, number, change, content, false, err);
    content = malloc(region->bytes);
    if (!content)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a copy of an array");
    memcpy(content, region->content, region->bytes);
    scene_patch_lists(scene, number, content);
    if (change->poisons && region->workspace)
        memset(content, change->poison, region->bytes);
    for (int i = 0; change->poisons && i < scene->bundle->arrays; i++) {
        const struct bundle_array *array = &scene->bundle->array[i];
        size_t bytes = (size_t)array->elements * dtype_bytes(array->dtype);
        uint8_t *dense = NULL;
        if (!scene_poisons(scene->bundle, array) ||
            scene_region_of(scene, array->address, &offset) != number)
            continue;
        dense = malloc(bytes + 1);
        if (!dense)
            continue;
        memset(dense, change->poison, bytes);
        scene_move(scene, array, content, offset, region->bytes, dense, 0, array->elements, false);
        free(dense);
    }
    enum status status = scene_transfer(scene, number, change, content, false, err);
    free(content);
    return status;
}

/* The same addresses in every run of one skew. */
static enum status scene_allocate(struct scene *scene, const struct scene_change *change,
                                  struct error *err)
{
    enum status status = STATUS_OK;
    if (scene->placed && scene->skew == change->skew && !change->spread)
        return STATUS_OK;
    status = worker_free_all(scene->worker, err);
    for (int i = 0; i < scene->regions && !status; i++) {
        const struct scene_spread *spread = scene_spread(change, i);
        const struct worker_array array = {.bytes = scene_extent(scene, change, i),
                                           .align = ALIGN,
                                           .skew = (scene->region[i].begin + change->skew) % ALIGN,
                                           .guard = SCENE_GUARD,
                                           .fill = spread ? spread->fill : 0,
                                           .sparse = spread && !spread->fill};
        status = worker_allocate(scene->worker, &array, &scene->address[i], err);
    }
    scene->placed = !status && !change->spread;
    scene->skew = change->skew;
    return status;
}

static enum status scene_place(struct scene *scene, const struct scene_change *change,
                               struct error *err)
{
    enum status status = scene_allocate(scene, change, err);
    for (int i = 0; i < scene->regions && !status; i++)
        status = scene_write(scene, i, change, err);
    return status;
}

static void scene_patch(const struct scene *scene, const struct scene_change *change,
                        uint8_t *params)
{
    memcpy(params, change->params ? change->params : scene->bundle->params,
           scene->bundle->params_bytes);
    scene_patch_words(scene, params, scene->bundle->params_bytes);
}

void scene_params(const struct scene *scene, uint8_t *params)
{
    const struct scene_change none = {0};
    scene_patch(scene, &none, params);
}

/* Counts what has changed between the rows of a region. */
static enum status scene_gaps(struct scene *scene, int number, const struct scene_spread *spread,
                              uint64_t bytes, uint64_t *gaps, struct error *err)
{
    uint8_t *all = malloc(bytes);
    enum status status = all ? worker_read(scene->worker, scene->address[number], all, bytes, err)
                             : error_set(err, STATUS_NO_MEMORY, "no memory for an array");
    for (uint64_t at = 0; !status && at < bytes; at++)
        *gaps += at % spread->far >= spread->pitch && all[at] != spread->fill;
    free(all);
    return status;
}

static enum status scene_collect(struct scene *scene, const struct scene_change *change,
                                 struct scene_run *out, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < scene->regions && !status; i++) {
        out->after[i] = malloc(scene->region[i].bytes);
        status = out->after[i] ? scene_transfer(scene, i, change, out->after[i], true, err)
                               : error_set(err, STATUS_NO_MEMORY, "no memory for an array");
        if (!status)
            status = worker_guards(scene->worker, scene->address[i], &out->guard[i], err);
        const struct scene_spread *spread = scene_spread(change, i);
        if (!status && spread && spread->fill)
            status = scene_gaps(scene, i, spread, scene_extent(scene, change, i), &out->gaps, err);
    }
    return status;
}

/* Three copies of a region may be there at once. */
static enum status scene_fits(const struct scene *scene, struct error *err)
{
    uint64_t all = 0, room = worker_about(scene->worker)->memory;
    for (int i = 0; i < scene->regions; i++)
        all += scene->region[i].bytes;
    return !room || all <= room / 3
               ? STATUS_OK
               : error_set(
                     err, STATUS_UNSUPPORTED,
                     "the launch's arrays span %llu MiB, and %s has room for %llu MiB of them",
                     (unsigned long long)(all >> 20), worker_about(scene->worker)->name,
                     (unsigned long long)(room / 3 >> 20));
}

enum status scene_run(struct scene *scene, const struct scene_change *change, struct scene_run *out,
                      struct error *err)
{
    const struct bundle *bundle = scene->bundle;
    uint8_t params[BUNDLE_PARAMS];
    memset(out, 0, sizeof(*out));
    enum status status = scene_load(scene, err);
    if (!status)
        status = scene_fits(scene, err);
    if (!status)
        status = scene_place(scene, change, err);
    if (!status)
        status = scene_write_values(scene, err);
    if (status)
        return status;
    scene_patch(scene, change, params);
    struct worker_launch launch = {.kernel = scene->found.id,
                                   .shared_bytes = bundle->shared_bytes,
                                   .cooperative = bundle->cooperative,
                                   .params = params,
                                   .param_bytes = bundle->params_bytes,
                                   .seed = change->seed,
                                   .noise = change->noise,
                                   .one_sm = change->one_sm,
                                   .sm = change->sm};
    memcpy(launch.grid, change->grid ? change->grid : bundle->grid, sizeof(launch.grid));
    memcpy(launch.block, bundle->block, sizeof(launch.block));
    memcpy(launch.cluster, bundle->cluster, sizeof(launch.cluster));
    status = worker_launch(scene->worker, &launch, &out->result, err);
    if (!status && out->result.outcome == WORKER_RAN)
        status = scene_collect(scene, change, out, err);
    if (status)
        scene_run_release(out);
    return status;
}
