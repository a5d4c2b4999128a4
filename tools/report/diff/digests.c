#include "tools/report/diff/digests.h"

#include <stdlib.h>
#include <string.h>
#include "report/journal.h"
#include "tools/report/model/fields.h"
#include "tools/report/model/lines.h"

struct reading {
    digest_line_fn each;
    void *user;
    uint32_t journals; /* with digests, so far */
    bool any;          /* in this one */
    uint64_t lines;
    struct digest_slot slot[DIGESTS_SLOTS];
};

static enum status read_hash(json_t *line, const char *key, uint64_t *out, struct error *err)
{
    const char *text = NULL;
    char *end = NULL;
    enum status status = field_text(line, key, &text, err);
    if (status)
        return status;
    if (text && strlen(text) == 16)
        *out = strtoull(text, &end, 16);
    return end && *end == '\0'
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "'%s' is no hash of 16 hexadecimal digits", key);
}

static enum status read_process(struct reading *reading, json_t *line, struct digest_line *out,
                                struct error *err)
{
    int64_t rank = -1;
    enum status status = field_int(line, "rank", &rank, err);
    if (!reading->any)
        reading->journals++;
    reading->any = true;
    out->process = rank >= 0 ? (uint32_t)rank : reading->journals - 1;
    return status;
}

static enum status read_numbers(json_t *line, struct digest_line *out, struct error *err)
{
    enum status status = field_count(line, "launch", &out->launch, err);
    out->number = out->launch;
    if (!status)
        status = field_count(line, "executed", &out->number, err);
    if (!status)
        status = field_count(line, "sequence", &out->sequence, err);
    if (!status)
        status = field_count(line, "unseen", &out->unseen, err);
    if (!status)
        status = field_dim3(line, "grid", out->grid, err);
    if (!status)
        status = field_dim3(line, "block", out->block, err);
    if (!status)
        status = read_hash(line, "input", &out->input, err);
    return status ? status : read_hash(line, "output", &out->output, err);
}

/* "rows": [..], "hashes": [..] of an append. */
static enum status read_slots(struct reading *reading, json_t *line, struct digest_line *out,
                              struct error *err)
{
    json_t *rows = NULL, *hashes = NULL;
    enum status status = field_array(line, "rows", &rows, err);
    if (!status)
        status = field_array(line, "hashes", &hashes, err);
    if (!status)
        status = field_count(line, "cache", &out->cache, err);
    size_t count = rows && hashes ? json_array_size(rows) : 0;
    if (!status && count && (count > DIGESTS_SLOTS || json_array_size(hashes) != count))
        status = error_set(err, STATUS_INVALID, "'rows' and 'hashes' are not of one length");
    for (size_t i = 0; !status && i < count; i++) {
        const char *text = json_string_value(json_array_get(hashes, i));
        if (!field_element(rows, i, &reading->slot[i].row) || !text)
            return error_set(err, STATUS_INVALID, "'rows' and 'hashes' hold no numbers");
        reading->slot[i].hash = strtoull(text, NULL, 16);
    }
    out->slots = status ? 0 : (uint32_t)count;
    out->slot = reading->slot;
    return status;
}

static enum status read_digest(struct reading *reading, json_t *line, struct error *err)
{
    struct digest_line out = {0};
    const char *time = NULL;
    enum status status = field_text(line, "kernel", &out.kernel, err);
    if (!status && !out.kernel)
        status = error_set(err, STATUS_INVALID, "expected a member 'kernel'");
    if (!status)
        status = field_text(line, "label", &out.label, err);
    if (!status)
        status = field_text(line, "range", &out.range, err);
    if (!status)
        status = field_text(line, "time", &time, err);
    if (!status)
        status = lines_time(time, &out.time_ms, err);
    if (!status)
        status = read_process(reading, line, &out, err);
    if (!status)
        status = read_numbers(line, &out, err);
    if (!status)
        status = read_slots(reading, line, &out, err);
    if (status)
        return status;
    reading->lines++;
    return reading->each(reading->user, &out, err);
}

static enum status read_line(void *user, json_t *line, uint64_t number, struct error *err)
{
    const char *event = "";
    (void)number;
    enum status status = field_text(line, "event", &event, err);
    if (status || strcmp(event, "digest") != 0)
        return status;
    return read_digest(user, line, err);
}

enum status digests_read(const char *path, digest_line_fn each, void *user, struct error *err)
{
    struct lines_files files = {0};
    struct reading reading = {.each = each, .user = user};
    uint64_t cut = 0;
    enum status status = lines_add(&files, path, "journal-", err);
    for (size_t i = 0; !status && i < files.count; i++) {
        reading.any = false;
        status = lines_read(files.path[i], JOURNAL_VERSION, read_line, &reading, &cut, err);
    }
    if (!status && reading.lines == 0)
        status = error_set(err, STATUS_INVALID,
                           "%s holds no digests: expected journals of a run with CUVET_DIGEST=1 "
                           "and launches that were checked whole",
                           path);
    lines_release(&files);
    return status;
}

enum status digests_read_stream(FILE *file, const char *path, digest_line_fn each, void *user,
                                struct error *err)
{
    struct reading reading = {.each = each, .user = user};
    uint64_t cut = 0;
    return lines_read_stream(file, path, JOURNAL_VERSION, read_line, &reading, &cut, err);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static void make_key(const struct digest_line *line, uint64_t key[2])
{
    key[0] = mix(1, line->process);
    key[1] = mix(2, line->number);
    for (const char *at = line->kernel; *at; at++) {
        key[0] = mix(key[0], (unsigned char)*at);
        key[1] = mix(key[1], (unsigned char)*at);
    }
    key[0] = mix(key[0], line->number) | 1;
    key[1] = mix(key[1], line->process);
}

static struct digest_entry *slot_of(const struct digests *digests, const uint64_t key[2])
{
    uint64_t at = key[0] % digests->capacity;
    while (digests->entry[at].key[0] &&
           (digests->entry[at].key[0] != key[0] || digests->entry[at].key[1] != key[1]))
        at = (at + 1) % digests->capacity;
    return &digests->entry[at];
}

static enum status grow(struct digests *digests, struct error *err)
{
    struct digests larger = {.capacity = digests->capacity * 2 + 1024, .count = digests->count};
    larger.entry = calloc(larger.capacity, sizeof *larger.entry);
    if (!larger.entry)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %llu launches",
                         (unsigned long long)digests->count);
    for (uint64_t i = 0; i < digests->capacity; i++) {
        if (digests->entry[i].key[0])
            *slot_of(&larger, digests->entry[i].key) = digests->entry[i];
    }
    free(digests->entry);
    *digests = larger;
    return STATUS_OK;
}

enum status digests_add(struct digests *digests, const struct digest_line *line, struct error *err)
{
    uint64_t key[2];
    if (digests->count + 1 > digests->capacity / 4 * 3) {
        enum status status = grow(digests, err);
        if (status)
            return status;
    }
    make_key(line, key);
    struct digest_entry *entry = slot_of(digests, key);
    digests->count += !entry->key[0];
    *entry = (struct digest_entry){{key[0], key[1]}, line->input, line->output, false};
    return STATUS_OK;
}

struct digest_entry *digests_find(const struct digests *digests, const struct digest_line *line)
{
    uint64_t key[2];
    if (digests->capacity == 0)
        return NULL;
    make_key(line, key);
    struct digest_entry *entry = slot_of(digests, key);
    return entry->key[0] ? entry : NULL;
}

void digests_release(struct digests *digests)
{
    free(digests->entry);
    *digests = (struct digests){0};
}
