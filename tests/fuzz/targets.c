#include "tests/fuzz/targets.h"

#include <stdlib.h>
#include <string.h>

const struct target targets[] = {
    {"registry", target_registry, NULL},
    {"entry", target_entry, NULL},
    {"expression", target_expression, NULL},
    {"signature", target_signature, NULL},
    {"formals", target_formals, NULL},
    {"tolerance", target_tolerance, NULL},
    {"pattern", target_pattern, NULL},
    {"symbol", target_symbol, NULL},
    {"reference", target_reference, NULL},
    {"options", target_options, NULL},
    {"control", target_control, NULL},
    {"plugin_wire", target_plugin_wire, seed_plugin_wire},
    {"journal", target_journal, NULL},
    {"ptx", target_ptx, NULL},
    {"trace", target_trace, NULL},
    {"report", target_report, NULL},
    {"diff", target_diff, NULL},
    {"fatbin", target_fatbin, seed_image},
    {"image", target_image, seed_image},
    {"bundle", target_bundle, seed_bundle},
    {"bundle_files", target_bundle_files, seed_bundle_files},
    {"cases", target_cases, NULL},
    {"lint", target_lint, NULL},
    {"inductor", target_inductor, NULL},
    {"xla", target_xla, NULL},
    {"record", target_record, NULL},
    {"pieces", target_pieces, seed_image},
    {"lift", target_lift, NULL},
    {"status", target_status, NULL},
    {"triton", target_triton, NULL},
    {"metadata", target_metadata, NULL},
};
const size_t target_count = sizeof(targets) / sizeof(*targets);

const struct target *target_find(const char *name)
{
    for (size_t i = 0; i < target_count; i++)
        if (strcmp(targets[i].name, name) == 0)
            return &targets[i];
    return NULL;
}

char *target_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}
