#include "tools/report/diff/aligned.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "tools/progress.h"
#include "tools/report/diff/align.h"

/* ---- a run ---- */

static int by_text(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* The run's copy of a text, which NULL has none of. False: no memory. */
static bool keep_text(struct aligned_run *run, const char **text)
{
    if (!*text)
        return true;
    char *const *found = tfind(*text, &run->texts, by_text);
    char *copy = found ? NULL : strdup(*text);
    if (!found && copy)
        found = tsearch(copy, &run->texts, by_text);
    if (!found) {
        free(copy);
        return false;
    }
    *text = *found;
    return true;
}

static bool make_room(struct aligned_run *run)
{
    size_t capacity = run->capacity * 2 + 1024;
    if (run->count < run->capacity)
        return true;
    struct digest_line *line = realloc(run->line, capacity * sizeof *line);
    if (!line)
        return false;
    run->line = line;
    run->capacity = capacity;
    return true;
}

enum status aligned_add(struct aligned_run *run, const struct digest_line *line, struct error *err)
{
    struct digest_line own = *line;
    own.slot = NULL;
    own.slots = 0;
    if (!make_room(run) || !keep_text(run, &own.kernel) || !keep_text(run, &own.label) ||
        !keep_text(run, &own.range))
        return error_set(err, STATUS_NO_MEMORY, "no memory for %zu launches", run->count + 1);
    run->line[run->count++] = own;
    return STATUS_OK;
}

void aligned_release(struct aligned_run *run)
{
    free(run->line);
    tdestroy(run->texts, free);
    *run = (struct aligned_run){0};
}

static int by_order(const void *left, const void *right)
{
    const struct digest_line *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static void sort_run(struct aligned_run *run)
{
    if (run->count)
        qsort(run->line, run->count, sizeof *run->line, by_order);
}

/* ---- one process ---- */

/* Launches of one process in both runs, and what they are paired by. */
struct part {
    const struct digest_line *line[2];
    size_t count[2];
    uint64_t *element[2];
    size_t *partner;
};

static uint64_t element_of(const struct digest_line *line, bool inputs)
{
    uint64_t hash = XXH64(line->kernel, strlen(line->kernel), 0);
    hash = XXH64(line->grid, sizeof line->grid, hash);
    hash = XXH64(line->block, sizeof line->block, hash);
    return inputs ? XXH64(&line->input, sizeof line->input, hash) : hash;
}

static void make_elements(struct part *part, bool inputs)
{
    for (int run = 0; run < 2; run++) {
        for (size_t i = 0; i < part->count[run]; i++)
            part->element[run][i] = element_of(&part->line[run][i], inputs);
    }
}

/* Launches from..to of the first run against those of the second. */
static enum status align_between(struct part *part, const size_t from[2], const size_t to[2],
                                 struct error *err)
{
    const struct align_sequence first = {part->element[0] + from[0], to[0] - from[0]};
    const struct align_sequence second = {part->element[1] + from[1], to[1] - from[1]};
    size_t *partner = part->partner + from[0];
    if (first.count == 0 || second.count == 0)
        return STATUS_OK;
    enum status status = align_make(&first, &second, partner, err);
    for (size_t i = 0; !status && i < first.count; i++)
        partner[i] += partner[i] == ALIGN_NONE ? 0 : from[1];
    return status;
}

/* The second turn: what lies between pairs of the first. */
static enum status align_gaps(struct part *part, struct error *err)
{
    size_t from[2] = {0, 0};
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i <= part->count[0]; i++) {
        bool end = i == part->count[0];
        if (!end && part->partner[i] == ALIGN_NONE)
            continue;
        const size_t to[2] = {i, end ? part->count[1] : part->partner[i]};
        status = align_between(part, from, to, err);
        from[0] = to[0] + 1;
        from[1] = to[1] + 1;
    }
    return status;
}

static enum status align_part(struct part *part, struct error *err)
{
    const size_t none[2] = {0, 0};
    for (size_t i = 0; i < part->count[0]; i++)
        part->partner[i] = ALIGN_NONE;
    make_elements(part, true);
    progress_tick("launches are paired");
    enum status status = align_between(part, none, part->count, err);
    make_elements(part, false);
    status = status ? status : align_gaps(part, err);
    progress_clear();
    return status;
}

static void visit_part(const struct part *part, aligned_fn each, void *user)
{
    size_t next = 0; /* of the second run */
    for (size_t i = 0; i < part->count[0]; i++) {
        size_t partner = part->partner[i];
        for (; partner != ALIGN_NONE && next < partner; next++)
            each(user, NULL, &part->line[1][next]);
        each(user, &part->line[0][i], partner == ALIGN_NONE ? NULL : &part->line[1][next++]);
    }
    for (; next < part->count[1]; next++)
        each(user, NULL, &part->line[1][next]);
}

static enum status run_part(struct part *part, aligned_fn each, void *user, struct error *err)
{
    for (int run = 0; run < 2; run++)
        part->element[run] = calloc(part->count[run] + 1, sizeof *part->element[run]);
    part->partner = calloc(part->count[0] + 1, sizeof *part->partner);
    enum status status =
        part->element[0] && part->element[1] && part->partner
            ? align_part(part, err)
            : error_set(err, STATUS_NO_MEMORY, "no memory to align %zu launches", part->count[0]);
    if (!status)
        visit_part(part, each, user);
    free(part->element[0]);
    free(part->element[1]);
    free(part->partner);
    return status;
}

/* How many launches from `from` on are of the process. */
static size_t count_of(const struct aligned_run *run, size_t from, uint32_t process)
{
    size_t end = from;
    while (end < run->count && run->line[end].process == process)
        end++;
    return end - from;
}

enum status aligned_visit(struct aligned_run *first, struct aligned_run *second, aligned_fn each,
                          void *user, struct error *err)
{
    const struct aligned_run *run[2] = {first, second};
    size_t at[2] = {0, 0};
    enum status status = STATUS_OK;
    sort_run(first);
    sort_run(second);
    while (!status && (at[0] < first->count || at[1] < second->count)) {
        struct part part = {0};
        uint32_t process = UINT32_MAX;
        for (int i = 0; i < 2; i++) {
            if (at[i] < run[i]->count && run[i]->line[at[i]].process < process)
                process = run[i]->line[at[i]].process;
        }
        for (int i = 0; i < 2; i++) {
            part.line[i] = run[i]->line + at[i];
            part.count[i] = count_of(run[i], at[i], process);
            at[i] += part.count[i];
        }
        status = run_part(&part, each, user, err);
    }
    return status;
}
