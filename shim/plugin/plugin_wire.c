#include "plugin/plugin_wire.h"

#include <stddef.h>
#include <string.h>

/* The strings of a finding, in the order in which they follow it. */
static const size_t strings[] = {
    offsetof(struct cuvet_mismatch, kernel),      offsetof(struct cuvet_mismatch, label),
    offsetof(struct cuvet_mismatch, reference),   offsetof(struct cuvet_mismatch, where),
    offsetof(struct cuvet_mismatch, bundle),      offsetof(struct cuvet_mismatch, host),
    offsetof(struct cuvet_mismatch, run),         offsetof(struct cuvet_mismatch, worst.array),
    offsetof(struct cuvet_mismatch, first.array), offsetof(struct cuvet_mismatch, subset),
    offsetof(struct cuvet_mismatch, contract),
};
enum { STRINGS = sizeof strings / sizeof strings[0] };

struct message {
    struct cuvet_mismatch finding; /* its pointers mean nothing */
    uint32_t length[STRINGS];      /* with the NUL; 0: NULL */
};

static const char **string_at(struct cuvet_mismatch *finding, int i)
{
    return (const char **)((char *)finding + strings[i]);
}

size_t plugin_wire_put(const struct cuvet_mismatch *finding, char *out, size_t size)
{
    struct message message = {.finding = *finding};
    size_t used = sizeof message;

    for (int i = 0; i < STRINGS; i++) {
        const char **string = string_at(&message.finding, i);
        size_t length = *string ? strlen(*string) + 1 : 0;

        if (used > size || length > size - used)
            return 0;
        if (length > 0)
            memcpy(out + used, *string, length);
        message.length[i] = (uint32_t)length;
        used += length;
        *string = NULL;
    }
    memcpy(out, &message, sizeof message);
    return used;
}

enum status plugin_wire_get(struct cuvet_mismatch *finding, const char *message, size_t size)
{
    struct message head;
    size_t used = sizeof head;

    if (size < sizeof head)
        return STATUS_INVALID;
    memcpy(&head, message, sizeof head);
    if (head.finding.size != sizeof head.finding)
        return STATUS_INVALID;
    for (int i = 0; i < STRINGS; i++) {
        const char **string = string_at(&head.finding, i);
        size_t length = head.length[i];

        *string = NULL;
        if (length > size - used)
            return STATUS_INVALID;
        if (length > 0 && memchr(message + used, '\0', length) != message + used + length - 1)
            return STATUS_INVALID;
        if (length > 0)
            *string = message + used;
        used += length;
    }
    if (used != size)
        return STATUS_INVALID;
    *finding = head.finding;
    return STATUS_OK;
}
