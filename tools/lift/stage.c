#include "tools/lift/stage.h"

#include <cuda.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "text/printable.h"
#include "tools/worker/image.h"
#include "tools/progress.h"

enum { ALIGN = 256 };

/* ---- memory ---- */

static const struct stage_region *region_of(const struct stage *stage, uint64_t address)
{
    for (int i = 0; i < stage->regions; i++)
        if (address - stage->region[i].begin < stage->region[i].bytes)
            return &stage->region[i];
    return NULL;
}

uint8_t *stage_at(const struct stage *stage, uint64_t address)
{
    const struct stage_region *region = region_of(stage, address);
    return region ? region->host + (address - region->begin) : NULL;
}

static bool stage_find(void *user, uint64_t address, struct exec_range *range)
{
    const struct stage_region *region = region_of(user, address);
    if (region)
        *range = (struct exec_range){region->begin, region->bytes, region->host, true};
    return region != NULL;
}

static bool add_region(struct stage *stage, uint64_t begin, uint64_t bytes, const void *content)
{
    struct stage_region region = {.begin = begin, .bytes = bytes};
    const size_t skew = begin % ALIGN, whole = (bytes + skew + ALIGN) / ALIGN * ALIGN;
    if (stage->regions == SCENE_REGIONS + STAGE_VARIABLES)
        return false;
    region.room = aligned_alloc(ALIGN, whole);
    if (!region.room)
        return false;
    region.host = region.room + skew;
    if (content)
        memcpy(region.host, content, bytes);
    else
        memset(region.host, 0, bytes);
    stage->region[stage->regions++] = region;
    return true;
}

/* Behind everything that is placed. */
static bool stage_place(void *user, const struct ptx_variable *variable, uint64_t *address)
{
    struct stage *stage = user;
    const uint64_t align = variable->align > ALIGN ? variable->align : ALIGN;
    uint64_t end = 1 << 20;
    for (int i = 0; i < stage->regions; i++) {
        const uint64_t last = stage->region[i].begin + stage->region[i].bytes;
        end = last > end ? last : end;
    }
    *address = (end + 2 * align) / align * align;
    return *address + variable->bytes < EXEC_WINDOWS &&
           add_region(stage, *address, variable->bytes ? variable->bytes : 1, NULL);
}

static void clear(struct stage *stage)
{
    exec_module_free(stage->module);
    stage->module = NULL;
    for (int i = 0; i < stage->regions; i++)
        free(stage->region[i].room);
    stage->regions = 0;
}

/* ---- the PTX of an image ---- */

/* The source lines of a kernel whose machine code carries its PTX. */
static struct ptx_lines *read_lines(const struct image_piece *piece, const struct image_text *text,
                                    const char *kernel)
{
    if (text->code)
        return ptx_lines_read(text->code, text->code_bytes, kernel);
    return piece->kind == IMAGE_CUBIN ? ptx_lines_read(piece->bytes, piece->count, kernel) : NULL;
}

/* Whether it has the kernel: then `stage` has the text. */
static bool take_piece(struct stage *stage, const struct image_piece *piece, struct error *why)
{
    struct image_text text;
    bool has = false;
    image_text_read(&text, piece, why);
    if (text.text && !ptx_read(text.text, text.length, "PTX", &stage->ptx, why)) {
        const struct ptx_function *fn = ptx_find_function(stage->ptx, stage->scene->kernel);
        has = fn && fn->is_entry && fn->has_body;
        if (!has) {
            error_set(why, STATUS_NOT_FOUND, "the image has no PTX of the kernel %s",
                      PRINTABLE(stage->scene->kernel));
            ptx_free(stage->ptx);
        }
    }
    if (!has) {
        stage->ptx = NULL;
    } else {
        stage->lines = read_lines(piece, &text, stage->scene->kernel);
        stage->text = text.text;
        stage->length = text.length;
        stage->code = text.code;
        text = (struct image_text){NULL};
    }
    image_text_release(&text);
    return has;
}

/* Of several pieces the first that has the kernel. */
static enum status read_text(struct stage *stage, struct error *err)
{
    struct image_piece *pieces;
    struct error why = {{0}};
    const size_t count = image_split(stage->scene->image, stage->scene->image_bytes, &pieces, err);
    for (size_t i = 0; i < count && !take_piece(stage, &pieces[i], &why); i++)
        ;
    free(pieces);
    if (stage->ptx)
        return STATUS_OK;
    if (count)
        error_set(err, STATUS_UNSUPPORTED, "%s", *why.text ? why.text : "the image holds no PTX");
    scene_blame_image(stage->scene, err);
    return count ? STATUS_UNSUPPORTED : STATUS_INVALID;
}

/* ---- life ---- */

enum status stage_open(struct stage **out, const struct scene *scene, struct error *err)
{
    struct stage *stage = calloc(1, sizeof(*stage));
    *out = NULL;
    if (!stage)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a launch");
    stage->scene = scene;
    stage->host = (struct exec_host){stage, stage_find, stage_place};
    const enum status status = read_text(stage, err);
    if (status)
        stage_close(stage);
    else
        *out = stage;
    return status;
}

void stage_close(struct stage *stage)
{
    if (!stage)
        return;
    clear(stage);
    ptx_free(stage->ptx);
    ptx_lines_free(stage->lines);
    free(stage->text);
    free(stage->code);
    free(stage);
}

/* What module variables held in the program; those that the image lacks are left out. */
static void put_values(struct stage *stage)
{
    const struct bundle *bundle = stage->scene->bundle;
    for (int i = 0; i < bundle->values; i++) {
        const struct bundle_value *value = &bundle->value[i];
        uint64_t address, bytes;
        if (!value->bytes || !exec_find_variable(stage->module, value->name, &address, &bytes) ||
            bytes != value->count)
            continue;
        uint8_t *to = stage_at(stage, address);
        if (to)
            memcpy(to, value->bytes, bytes);
    }
}

enum status stage_set(struct stage *stage, struct error *err)
{
    const struct scene *scene = stage->scene;
    clear(stage);
    for (int i = 0; i < scene->regions; i++)
        if (!add_region(stage, scene->region[i].begin, scene->region[i].bytes,
                        scene->region[i].content))
            return error_set(err, STATUS_NO_MEMORY, "no memory for the program's arrays");
    enum status status = exec_module_create(stage->ptx, &stage->host, &stage->module, err);
    stage->kernel = status ? NULL : exec_find_kernel(stage->module, scene->kernel);
    if (!status && !stage->kernel)
        status = error_set(err, STATUS_NOT_FOUND, "no kernel %s", PRINTABLE(scene->kernel));
    if (!status)
        status = exec_prepare(stage->kernel, err);
    if (status) {
        scene_blame_image(scene, err);
        return status;
    }
    put_values(stage);
    if (stage->lines)
        ptx_lines_apply(stage->lines, ptx_find_function(stage->ptx, scene->kernel));
    const struct exec_info *info = exec_describe(stage->kernel);
    if (info->param_bytes != scene->bundle->params_bytes)
        status = error_set(err, STATUS_INVALID,
                           "the image's kernel has %zu bytes of parameters, the launch has %u",
                           info->param_bytes, scene->bundle->params_bytes);
    return status;
}

/* ---- a run ---- */

static atomic_bool too_long;

static void on_alarm(int signal)
{
    (void)signal;
    atomic_store(&too_long, true);
}

enum exec_outcome stage_run(struct stage *stage, void *watch, unsigned seconds,
                            struct exec_fault *fault)
{
    const struct bundle *bundle = stage->scene->bundle;
    struct exec_launch launch = {.kernel = stage->kernel,
                                 .dynamic_shared = bundle->shared_bytes,
                                 .params = bundle->params,
                                 .cooperative = bundle->cooperative,
                                 .blocks = stage->blocks,
                                 .block_count = stage->block_count,
                                 .stop = &too_long,
                                 .watch = watch};
    memcpy(launch.grid, bundle->grid, sizeof(launch.grid));
    memcpy(launch.block, bundle->block, sizeof(launch.block));
    atomic_store(&too_long, false);
    signal(SIGALRM, on_alarm);
    alarm(seconds);
    progress_tick("the launch is interpreted");
    const enum exec_outcome outcome = exec_run(&launch, fault);
    progress_clear();
    alarm(0);
    return outcome;
}
