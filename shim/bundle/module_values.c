#include "bundle/module_values.h"

#include <inttypes.h>
#include <stdio.h>
#include "bundle/bundle.h"
#include "system/files.h"

/* Bytes that a value takes of the file. */
static uint64_t room_of(const struct bundle_variable *variable)
{
    return variable->value ? (variable->bytes + BUNDLE_VALUE_ALIGN - 1) / BUNDLE_VALUE_ALIGN *
                                 BUNDLE_VALUE_ALIGN
                           : 0;
}

void module_values_plan(struct module_values *values, const struct bundle_source *source,
                        uint64_t most)
{
    *values = (struct module_values){0};
    values->known = source->variables && source->variables(source->user, &values->variables);
    if (!values->known)
        return;
    for (size_t i = 0; i < values->variables.count; i++)
        values->bytes += room_of(&values->variables.list[i]);
    if (values->bytes <= most)
        return;
    snprintf(values->no_room, sizeof values->no_room,
             "the %" PRIu64 " bytes of all are too many for this bundle", values->bytes);
    values->bytes = 0;
}

void module_values_json(struct json_out *json, const struct module_values *values)
{
    uint64_t at = 0;

    if (!values->known)
        return;
    json_put_array(json, "variables");
    for (size_t i = 0; i < values->variables.count; i++) {
        const struct bundle_variable *variable = &values->variables.list[i];

        json_begin_object(json);
        json_put_string(json, "name", variable->name);
        json_put_uint(json, "bytes", variable->bytes);
        if (variable->value && !*values->no_room)
            json_put_uint(json, "at", at);
        else
            json_put_string(json, "missing", variable->value ? values->no_room : variable->why);
        json_end(json);
        at += room_of(variable);
    }
    json_end(json);
    json_put_uint(json, "variables_unchanged", values->variables.unchanged);
    json_put_uint(json, "variables_unread", values->variables.unread);
    json_put_uint(json, "variables_bytes", values->bytes);
}

enum status module_values_write(const struct module_values *values, const struct own_fd *file,
                                struct error *err)
{
    static const uint8_t gap[BUNDLE_VALUE_ALIGN];
    enum status status = STATUS_OK;

    for (size_t i = 0; !status && i < values->variables.count; i++) {
        const struct bundle_variable *variable = &values->variables.list[i];

        if (!variable->value)
            continue;
        status = files_write_own(file, variable->value, variable->bytes, err);
        if (!status)
            status = files_write_own(file, gap, room_of(variable) - variable->bytes, err);
    }
    return status;
}
