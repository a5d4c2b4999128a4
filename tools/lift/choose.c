/* choose.c - which blocks are followed: those of a list, or of a large grid those that write what
 * the settings or the program's verdict name, and others spread over the grid. */
#include <ctype.h>
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

/* ---- a list ---- */

static bool read_number(const char **at, uint64_t *out)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    *out = strtoull(*at, &end, 10);
    *at = end;
    return true;
}

bool lift_read_ranges(const char *text, struct lift_settings *settings)
{
    settings->ranges = 0;
    for (;; text++) {
        struct lift_range range;
        if (settings->ranges == LIFT_RANGES || !read_number(&text, &range.first))
            return false;
        range.last = range.first;
        if (*text == '-' && (text++, !read_number(&text, &range.last)))
            return false;
        if (range.last < range.first || (*text && *text != ','))
            return false;
        settings->range[settings->ranges++] = range;
        if (!*text)
            return true;
    }
}

static enum status take_ranges(struct search *search, const struct lift_settings *settings,
                               uint64_t blocks, struct error *err)
{
    for (unsigned i = 0; i < settings->ranges; i++) {
        const struct lift_range *range = &settings->range[i];
        if (range->last >= blocks)
            return error_set(err, STATUS_INVALID,
                             "--blocks: there is no block %llu in a grid of %llu",
                             (unsigned long long)range->last, (unsigned long long)blocks);
        for (uint64_t block = range->first; block <= range->last; block++)
            take(search, block);
    }
    return STATUS_OK;
}

uint64_t *lift_numbers(const uint8_t *chosen, uint64_t blocks, uint64_t count)
{
    uint64_t *numbers = malloc(count * sizeof *numbers), used = 0;
    for (uint64_t block = 0; numbers && block < blocks; block++)
        if (chosen[block / 8] >> block % 8 & 1)
            numbers[used++] = block;
    return numbers;
}

/* ---- all ---- */

/* Blocks by the settings' number: writers first. */
static enum status take_some(struct stage *stage, const struct lift_settings *settings,
                             struct search *search, uint64_t blocks, struct error *err)
{
    search->most = settings->blocks;
    const enum status status = find_writers(stage, settings, search, err);
    const uint64_t missing = search->most - search->count;
    for (uint64_t i = 0; !status && i < missing; i++)
        take(search, blocks * i / missing);
    return status;
}

enum status lift_choose(struct stage *stage, const struct lift_settings *settings, uint8_t **chosen,
                        uint64_t *count, struct error *err)
{
    const struct bundle *bundle = stage->scene->bundle;
    const uint64_t blocks = lift_grid(bundle);
    struct search search = {.most = blocks};
    *chosen = NULL;
    *count = blocks;
    if (!settings->ranges && blocks <= settings->blocks)
        return STATUS_OK;
    if (settings->ranges && bundle->cooperative)
        return error_set(err, STATUS_UNSUPPORTED,
                         "--blocks: the blocks of a cooperative launch wait for each other, so all "
                         "have to run");
    search.chosen = calloc(blocks / 8 + 1, 1);
    if (!search.chosen)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a list of blocks");
    const enum status status = settings->ranges ? take_ranges(&search, settings, blocks, err)
                                                : take_some(stage, settings, &search, blocks, err);
    if (status) {
        free(search.chosen);
        return status;
    }
    *chosen = search.chosen;
    *count = search.count;
    return STATUS_OK;
}
