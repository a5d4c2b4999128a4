#include "tools/lift/verb/lift_device.h"

#include <inttypes.h>
#include <stdio.h>
#include "text/printable.h"

static const char *const names[WHOLE_PLACES] = {"worst", "first"};

static void print_place(const struct whole_place *place, const char *name)
{
    printf("             %s ", name);
    if (place->array)
        printf("%s[%" PRId64 "]", PRINTABLE(place->array->name), place->index);
    else
        printf("at %#" PRIx64, place->address);
    printf(": %.9g for %.9g, bound %.3g\n", place->got, place->y, place->bound);
}

void device_print(const struct lift_whole *whole)
{
    if (!whole)
        return;
    const struct ref_verdict *v = &whole->verdict;
    printf("  whole      ");
    if (*whole->why) {
        printf("not held on %s: %s\n", PRINTABLE(whole->device), PRINTABLE(whole->why));
        return;
    }
    printf("%" PRIu64 " of %" PRIu64 " stored elements outside on %s", v->violations, v->checked,
           PRINTABLE(whole->device));
    if (v->wide)
        printf("; of %" PRIu64 " the bound is too wide", v->wide);
    if (v->refused)
        printf("; %" PRIu64 " accesses are not in the bundle's arrays", v->refused);
    printf("; %.3g ms, %.3g ms without shadows\n", whole->ms, whole->own_ms);
    for (int i = 0; i < whole->places; i++)
        print_place(&whole->place[i], names[i]);
}

static void put_places(struct json_out *json, const struct lift_whole *whole)
{
    json_put_array(json, "places");
    for (int i = 0; i < whole->places; i++) {
        const struct whole_place *place = &whole->place[i];
        json_begin_object(json);
        json_put_string(json, "place", names[i]);
        json_put_string(json, "array", place->array ? place->array->name : NULL);
        json_put_int(json, "index", place->index);
        json_put_double(json, "got", place->got);
        json_put_double(json, "shadow", place->y);
        json_put_double(json, "bound", place->bound);
        json_end(json);
    }
    json_end(json);
}

void device_put_json(struct json_out *json, const struct lift_whole *whole)
{
    if (!whole)
        return;
    const struct ref_verdict *v = &whole->verdict;
    json_put_object(json, "whole");
    json_put_string(json, "device", whole->device);
    json_put_string(json, "not_held", *whole->why ? whole->why : NULL);
    json_put_uint(json, "checked", v->checked);
    json_put_uint(json, "outside", v->violations);
    json_put_uint(json, "wide", v->wide);
    json_put_uint(json, "refused", v->refused);
    json_put_double(json, "ms", whole->ms);
    json_put_double(json, "own_ms", whole->own_ms);
    put_places(json, whole);
    json_end(json);
}
