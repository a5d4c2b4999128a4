/*
 * signature.c - the signature against the driver's list of parameters.
 *
 * Sizes must agree, and offsets by C's rules: each parameter at the next multiple of its alignment
 * after the one before. Where the signature leaves the offset open (skipped parameters, structs,
 * whose alignment may come from a field that is not declared) the real offset is taken and the walk
 * goes on from there, so that a wrong entry still fails at the next scalar.
 */
#include "lang/signature.h"

#include <stdio.h>
#include <string.h>

enum { LIST = 240 };

/* Whether `name` is what follows the struct's name in "s.name"; of a parameter of the earlier
 * kernel, with "after." before it or without. */
static bool is_field(const struct signature_item *item, const char *name)
{
    const char *own = item->name;
    size_t stem = strlen(SIGNATURE_AFTER);
    if (item->earlier) {
        own += stem;
        name += strncmp(name, SIGNATURE_AFTER, stem) == 0 ? stem : 0;
    }
    const char *dot = strchr(own, '.');
    return (dot && strcmp(dot + 1, name) == 0) || (item->earlier && strcmp(own, name) == 0);
}

const struct signature_item *signature_find(const struct signature *signature, const char *name)
{
    const struct signature_item *field = NULL;
    unsigned fields = 0;
    for (unsigned i = 0; i < signature->items; i++) {
        const struct signature_item *item = &signature->item[i];
        if (strcmp(item->name, name) == 0)
            return item;
        if (is_field(item, name)) {
            field = item;
            fields++;
        }
    }
    return fields == 1 ? field : NULL;
}

/* Appends "8@16 " and marks a cut list with "...". */
static void append_listed(char list[LIST], size_t *used, const char *text)
{
    size_t length = strlen(text);
    if (*used + length + 5 > LIST) {
        if (*used && list[*used - 1] != '.') {
            memcpy(list + *used, " ...", 5);
            *used += 4;
        }
        return;
    }
    if (*used)
        list[(*used)++] = ' ';
    memcpy(list + *used, text, length + 1);
    *used += length;
}

static void list_layout(const struct param_layout *layout, char list[LIST])
{
    size_t used = 0;
    list[0] = '\0';
    for (unsigned i = 0; i < layout->count && i < LAYOUT_MAX; i++) {
        char one[40];
        snprintf(one, sizeof one, "%u@%u", layout->param[i].size, layout->param[i].offset);
        append_listed(list, &used, one);
    }
}

static uint32_t align_up(uint32_t offset, uint32_t align)
{
    return align > 1 ? (offset + align - 1) / align * align : offset;
}

static void list_signature(const struct signature *signature, char list[LIST])
{
    size_t used = 0;
    uint32_t offset = 0;
    bool known = true; /* false from the first parameter whose size or place is open */
    list[0] = '\0';
    for (unsigned i = 0; i < signature->params; i++) {
        const struct signature_param *param = &signature->param[i];
        char one[40];
        known &= param->kind == PARAM_VALUE && param->size != 0;
        offset = align_up(offset, param->align);
        if (known)
            snprintf(one, sizeof one, "%u@%u", param->size, offset);
        else if (param->most > param->size)
            snprintf(one, sizeof one, "%u..%u", param->size, param->most);
        else if (param->size)
            snprintf(one, sizeof one, "%u", param->size);
        else
            snprintf(one, sizeof one, "_");
        append_listed(list, &used, one);
        offset += param->size;
    }
    if (signature->open_end)
        append_listed(list, &used, "...");
}

static enum status layout_disagrees(const struct signature *signature,
                                    const struct param_layout *layout, const char *sentence,
                                    struct error *err)
{
    char ours[LIST], theirs[LIST];
    list_signature(signature, ours);
    list_layout(layout, theirs);
    return error_set(err, STATUS_INVALID,
                     "%s; bytes@offset by the signature: %s; by the kernel: %s", sentence, ours,
                     theirs);
}

static enum status fits_one(const struct signature *signature, const struct param_layout *layout,
                            unsigned index, uint32_t end, struct error *err)
{
    const struct signature_param *param = &signature->param[index];
    uint32_t size = layout->param[index].size, offset = layout->param[index].offset;
    uint32_t expected = align_up(end, param->align);
    const char *name = param->name ? param->name : "";
    char sentence[200];
    if (param->size && (size < param->size || size > param->most)) {
        char most[24] = "";
        if (param->most > param->size)
            snprintf(most, sizeof most, " to %u", param->most);
        snprintf(sentence, sizeof sentence,
                 "parameter %u%s%.40s has %u bytes, the signature has %u%s", index,
                 *name ? " " : "", name, size, param->size, most);
        return layout_disagrees(signature, layout, sentence, err);
    }
    if (param->kind == PARAM_VALUE && param->size && offset != expected) {
        snprintf(sentence, sizeof sentence,
                 "parameter %u%s%.40s lies at byte %u, the signature has %u", index,
                 *name ? " " : "", name, offset, expected);
        return layout_disagrees(signature, layout, sentence, err);
    }
    return STATUS_OK;
}

enum status signature_fits(const struct signature *signature, const struct param_layout *layout,
                           struct error *err)
{
    bool few = layout->count < signature->params;
    bool many = layout->count > signature->params && !signature->open_end;
    if (few || many) {
        char sentence[128];
        snprintf(sentence, sizeof sentence, "the kernel has %u parameters, the signature %u%s",
                 layout->count, signature->params, signature->open_end ? " or more" : "");
        return layout_disagrees(signature, layout, sentence, err);
    }
    uint32_t end = 0;
    for (unsigned i = 0; i < signature->params; i++) {
        enum status status = fits_one(signature, layout, i, end, err);
        if (status)
            return status;
        end = layout->param[i].offset + layout->param[i].size;
    }
    return STATUS_OK;
}

bool signature_present(const struct signature *signature, const struct signature_item *item,
                       const struct param_layout *layout, const uint8_t *packed, size_t bytes)
{
    const struct signature_item *guard = item->guard ? &signature->item[item->guard - 1] : NULL;
    uint32_t value = 0;
    if (!guard || guard->earlier || guard->param >= layout->count || guard->param >= LAYOUT_MAX)
        return true;
    size_t at = layout->param[guard->param].offset + (size_t)guard->offset;
    if (at + sizeof value > bytes)
        return true;
    memcpy(&value, packed + at, sizeof value);
    return (int32_t)value > (int32_t)item->above;
}
