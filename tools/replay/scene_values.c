#include "tools/replay/scene.h"

#include <stdlib.h>
#include <string.h>

static enum status write_value(struct scene *scene, const struct bundle_value *value,
                               struct error *err)
{
    struct error why = {{0}};
    uint8_t *bytes = malloc(value->count);
    if (!bytes)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a variable");
    memcpy(bytes, value->bytes, value->count);
    scene_patch_words(scene, bytes, value->count);
    enum status status =
        worker_variable(scene->worker, scene->found.id, value->name, bytes, value->count, &why);
    free(bytes);
    if (status != STATUS_NOT_FOUND && status != STATUS_INVALID)
        return status ? error_set(err, status, "%s", why.text) : STATUS_OK;
    scene->absent++;
    scene->absent_name = value->name;
    return STATUS_OK;
}

enum status scene_write_values(struct scene *scene, struct error *err)
{
    enum status status = STATUS_OK;
    scene->absent = 0;
    for (int i = 0; !scene->initial && !status && i < scene->bundle->values; i++) {
        if (!scene->bundle->value[i].bytes)
            continue;
        scene->written = true;
        status = write_value(scene, &scene->bundle->value[i], err);
    }
    return status;
}
