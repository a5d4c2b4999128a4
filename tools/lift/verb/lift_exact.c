/* lift_exact.c - what `cuvet lift --exact` prints. */
#include <stdio.h>
#include "text/json_out.h"
#include "text/printable.h"
#include "tools/lift/verb/lift_exact.h"

/* What the verdict means. */
static const char limits_equal[] =
    "equal: the same computation on these inputs, up to order and rounding; decisions follow the "
    "kernels' own numbers";
static const char limits_different[] =
    "different: beyond order and rounding; decisions follow the kernels' own numbers, and one that "
    "falls otherwise changes what is computed";

bool exact_differs(const struct exact_report *report)
{
    for (int i = 0; i < report->outputs; i++)
        if (report->output[i].different)
            return true;
    return false;
}

void exact_print(const struct exact_names *names, const struct exact_report *report)
{
    const bool second = names->image || names->kernel;
    printf("%s against %s%s%s: %s\n", names->folder,
           names->kernel ? names->kernel
           : second      ? names->image
                         : names->other,
           names->kernel && names->image ? " of " : "",
           names->kernel && names->image ? names->image : "",
           *report->stopped        ? "stopped"
           : exact_differs(report) ? "different"
                                   : "equal");
    if (*report->stopped)
        printf("  stopped    %s\n", PRINTABLE(report->stopped));
    for (int i = 0; i < report->outputs; i++) {
        const struct exact_output *out = &report->output[i];
        printf("  %-10s %lld of %lld elements are another computation", out->name,
               (long long)out->different, (long long)out->elements);
        if (out->different)
            printf("; the first is element %lld, %.9g and %.9g", (long long)out->first, out->got[0],
                   out->got[1]);
        printf("\n");
    }
    if (!*report->stopped)
        printf("  limits     %s\n", exact_differs(report) ? limits_different : limits_equal);
}

bool exact_print_json(const struct exact_names *names, const struct exact_report *report)
{
    struct json_out json;
    json_out_init(&json);
    json_begin_object(&json);
    json_put_int(&json, "version", 1);
    json_put_string(&json, "bundle", names->folder);
    json_put_string(&json, "against", names->other);
    json_put_string(&json, "image", names->image);
    json_put_string(&json, "kernel", names->kernel);
    json_put_bool(&json, "equal", !exact_differs(report) && !*report->stopped);
    json_put_string(&json, "stopped", *report->stopped ? report->stopped : NULL);
    json_put_array(&json, "outputs");
    for (int i = 0; i < report->outputs; i++) {
        const struct exact_output *out = &report->output[i];
        json_begin_object(&json);
        json_put_string(&json, "array", out->name);
        json_put_int(&json, "elements", out->elements);
        json_put_int(&json, "different", out->different);
        json_put_int(&json, "first", out->first);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    const bool good = json_out_ok(&json);
    if (good)
        printf("%.*s\n", (int)json.text.length, json.text.data);
    json_out_release(&json);
    return good;
}
