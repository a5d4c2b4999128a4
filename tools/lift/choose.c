/* choose.c - which blocks of a large grid are followed: those that write what the settings or the
 * program's verdict name, and others spread over the grid. */
#include <stdlib.h>
#include "tools/lift/lift.h"

struct search {
    const uint8_t *spot[2 + LIFT_SPOTS]; /* host addresses of elements */
    unsigned spots;
    uint8_t *chosen;
    uint64_t count, most;
};

static void take(struct search *search, uint64_t block)
{
    uint8_t *byte = &search->chosen[block / 8];
    const uint8_t bit = (uint8_t)(1u << block % 8);
    if (*byte & bit || search->count == search->most)
        return;
    *byte |= bit;
    search->count++;
}

static void on_store(void *user, uint64_t block, const uint8_t *host, unsigned bytes)
{
    struct search *search = user;
    for (unsigned i = 0; i < search->spots; i++)
        if ((uintptr_t)search->spot[i] - (uintptr_t)host < bytes)
            take(search, block);
}

static void add_spot(struct search *search, const struct stage *stage, uint64_t address)
{
    const uint8_t *host = stage_at(stage, address);
    if (host)
        search->spot[search->spots++] = host;
}

/* A run without shadows that records the stores alone. */
static enum status find_writers(struct stage *stage, const struct lift_settings *settings,
                                struct search *search, struct error *err)
{
    const struct bundle *bundle = stage->scene->bundle;
    struct shadow shadow = {
        .algebra = &algebra_real, .on_store = on_store, .user = search, .unit = 1};
    struct exec_fault fault;
    enum status status = stage_set(stage, err);
    if (status)
        return status;
    for (unsigned i = 0; i < settings->spots; i++)
        add_spot(search, stage, settings->spot[i]);
    for (int i = 0; i < bundle->spots; i++)
        add_spot(search, stage, bundle_spot_address(bundle, &bundle->spot[i]));
    if (!search->spots)
        return STATUS_OK;
    status = shadow_attach(&shadow, stage->kernel, err);
    if (!status)
        stage_run(stage, &shadow, settings->seconds, &fault);
    shadow_release(&shadow);
    return status;
}

enum status lift_choose(struct stage *stage, const struct lift_settings *settings, uint8_t **chosen,
                        uint64_t *count, struct error *err)
{
    const uint64_t blocks = lift_grid(stage->scene->bundle);
    struct search search = {.most = settings->blocks < blocks ? settings->blocks : blocks};
    *chosen = NULL;
    *count = blocks;
    if (blocks <= settings->blocks)
        return STATUS_OK;
    search.chosen = calloc(blocks / 8 + 1, 1);
    if (!search.chosen)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a list of blocks");
    const enum status status = find_writers(stage, settings, &search, err);
    if (status) {
        free(search.chosen);
        return status;
    }
    const uint64_t missing = search.most - search.count;
    for (uint64_t i = 0; i < missing; i++)
        take(&search, blocks * i / missing);
    *chosen = search.chosen;
    *count = search.count;
    return STATUS_OK;
}
