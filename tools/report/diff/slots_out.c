#include "tools/report/diff/slots_out.h"

#include <inttypes.h>
#include <stdio.h>
#include "text/json_out.h"
#include "text/printable.h"

void slots_text(const struct cache_slots_diff *result)
{
    printf("cuvet diff: %" PRIu64 " rows of caches in both runs, %" PRIu64 " in the first alone, "
           "%" PRIu64 " in the second alone; %" PRIu64 " differ.\n",
           result->both, result->first_only, result->second_only, result->differ);
    if (result->first)
        printf("\n  The first row that differs: row %" PRId64 " of cache %" PRIu64
               " of process %u\n"
               "    %016" PRIx64 "  by launch %" PRIu64 " of %s\n"
               "    %016" PRIx64 "  by launch %" PRIu64 " of %s\n",
               result->first->row, result->first->cache, result->first->process,
               result->first->hash, result->first->launch, PRINTABLE(result->first->kernel),
               result->second->hash, result->second->launch, PRINTABLE(result->second->kernel));
}

static void put_json_slot(struct json_out *json, const char *key, const struct cache_slot *slot)
{
    char text[24];
    json_put_object(json, key);
    json_put_string(json, "kernel", slot->kernel);
    json_put_uint(json, "launch", slot->launch);
    snprintf(text, sizeof text, "%016" PRIx64, slot->hash);
    json_put_string(json, "hash", text);
    json_end(json);
}

void slots_json(const struct cache_slots_diff *result)
{
    struct json_out json;
    json_out_init(&json);
    json.lines = 2;
    json_begin_object(&json);
    json_put_int(&json, "version", 1);
    json_put_uint(&json, "both", result->both);
    json_put_uint(&json, "first_only", result->first_only);
    json_put_uint(&json, "second_only", result->second_only);
    json_put_uint(&json, "differ", result->differ);
    if (result->first) {
        json_put_object(&json, "first_other_row");
        json_put_int(&json, "row", result->first->row);
        json_put_uint(&json, "cache", result->first->cache);
        json_put_uint(&json, "process", result->first->process);
        put_json_slot(&json, "first", result->first);
        put_json_slot(&json, "second", result->second);
        json_end(&json);
    }
    json_end(&json);
    if (json_out_ok(&json))
        printf("%s\n", json.text.data);
    json_out_release(&json);
}
