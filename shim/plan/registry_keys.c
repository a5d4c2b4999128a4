#include "plan/registry_keys.h"

#include <stdio.h>
#include <string.h>

static const struct key {
    enum keys_place place;
    const char *name;
} keys[] = {
#define KEY(place, name, sentence) {KEYS_##place, #name},
#include "plan/registry_keys.def"
#undef KEY
};

enum { KEYS = sizeof keys / sizeof keys[0] };

static bool allowed(enum keys_place place, const char *name)
{
    for (size_t i = 0; i < KEYS; i++) {
        if (keys[i].place == place && strcmp(keys[i].name, name) == 0)
            return true;
    }
    return false;
}

enum status keys_check(const struct yaml_node *mapping, enum keys_place place, struct error *err)
{
    for (size_t i = 0; i < mapping->count; i++) {
        const struct yaml_node *key = mapping->key[i];
        if (allowed(place, key->text))
            continue;
        char list[256] = "", question[96];
        size_t used = 0;
        struct nearest nearest = {.word = key->text};
        for (size_t j = 0; j < KEYS; j++) {
            if (keys[j].place != place)
                continue;
            nearest_offer(&nearest, keys[j].name);
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                                     keys[j].name);
        }
        return yaml_error(err, key, "unknown key '%.60s'; expected one of %s%s", key->text, list,
                          nearest_text(&nearest, question, sizeof question));
    }
    return STATUS_OK;
}
