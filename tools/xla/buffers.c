#include "tools/xla/buffers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 32, NAME = 512 };

/* " value: <68 NAME @0> (size=32768,offset=0): SHAPE" */
static enum status read_value(char *line, long long allocation, struct arena *arena,
                              struct buffer **out)
{
    char *at = strchr(line, '<'), *name = at ? strchr(at, ' ') : NULL;
    char *end = name ? strstr(name + 1, " @") : NULL, *size = end ? strstr(end, "(size=") : NULL;
    char *offset = size ? strstr(size, "offset=") : NULL;
    struct buffer *made = offset ? arena_alloc(arena, sizeof *made) : NULL;
    if (!offset)
        return STATUS_OK;
    if (!made || !(made->value = arena_text(arena, name + 1, (size_t)(end - name - 1))))
        return STATUS_NO_MEMORY;
    made->allocation = allocation;
    made->size = strtoll(size + 6, NULL, 10);
    made->offset = strtoll(offset + 7, NULL, 10);
    made->next = *out;
    *out = made;
    return STATUS_OK;
}

enum status buffers_read(char *text, struct arena *arena, struct buffer **out)
{
    long long allocation = -1;
    *out = NULL;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (strncmp(line, "allocation ", 11) == 0)
            allocation = strtoll(line + 11, NULL, 10);
        else if (line[0] == '\0' && allocation >= 0)
            break;
        else if (strncmp(line, " value: ", 8) == 0 && read_value(line, allocation, arena, out))
            return STATUS_NO_MEMORY;
    }
    return STATUS_OK;
}

static const struct buffer *find(const struct buffer *all, const char *value, int part)
{
    char name[NAME];
    snprintf(name, sizeof name, part < 0 ? "%s" : "%s{%d}", value, part);
    while (all && strcmp(all->value, name) != 0)
        all = all->next;
    return all;
}

const struct buffer *buffer_of(const struct buffer *all, const struct hlo_computation *in,
                               const char *value, int part)
{
    for (int step = 0; step < STEPS; step++) {
        const struct buffer *found = find(all, value, part);
        const struct hlo_op *op = found ? NULL : hlo_find(in, value);
        if (found || !op || !op->opcode || !op->operands)
            return found;
        if (strcmp(op->opcode, "get-tuple-element") == 0) {
            const char *index = strstr(op->attributes, "index=");
            part = index ? atoi(index + 6) : part;
        } else if (strcmp(op->opcode, "bitcast") != 0) {
            return NULL;
        }
        value = op->operand[0];
    }
    return NULL;
}
