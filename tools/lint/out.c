#include "tools/lint/out.h"

#include <string.h>
#include "text/json_out.h"
#include "text/printable.h"
#include "cuvet.h"

void lint_out_text(FILE *file, const struct lint_report *r)
{
    const char *kernel = NULL, *image = NULL;
    for (size_t i = 0; i < r->findings; i++) {
        const struct lint_finding *f = &r->finding[i];
        if (!kernel || strcmp(kernel, f->kernel) != 0 || strcmp(image, f->image) != 0)
            fprintf(file, "%s: kernel %s\n", PRINTABLE(f->image), PRINTABLE(f->kernel));
        kernel = f->kernel;
        image = f->image;
        fprintf(file, "  %s:%u", PRINTABLE(f->image), f->line);
        if (f->source)
            fprintf(file, " (%s:%u)", PRINTABLE(f->source), f->source_line);
        fprintf(file, ": %s: %s [%s]\n", lint_severity_text(f->severity), PRINTABLE(f->text),
                f->rule->id);
        if (f->more)
            fprintf(file, "  and %u more of [%s]\n", f->more, f->rule->id);
    }
    fprintf(file, "%zu kernel%s of %zu text%s", r->kernels, r->kernels == 1 ? "" : "s", r->texts,
            r->texts == 1 ? "" : "s");
    if (r->settings.registry)
        fprintf(file, ", %zu with an entry", r->rows);
    fprintf(file, ": %zu warning%s, %zu note%s", r->severity[LINT_WARNING],
            r->severity[LINT_WARNING] == 1 ? "" : "s", r->severity[LINT_NOTE],
            r->severity[LINT_NOTE] == 1 ? "" : "s");
    if (r->settings.least == LINT_HINT)
        fprintf(file, ", %zu hint%s", r->severity[LINT_HINT],
                r->severity[LINT_HINT] == 1 ? "" : "s");
    fprintf(file, "\n");
    if (r->skipped)
        fprintf(file, "%zu not analysed, the first: %s\n", r->skipped, PRINTABLE(r->first_skip));
}

static void write_out(FILE *file, struct json_out *json)
{
    if (json_out_ok(json)) {
        fwrite(json->text.data, 1, json->text.length, file);
        fputc('\n', file);
    }
    json_out_release(json);
}

static void put_finding(struct json_out *json, const struct lint_finding *f)
{
    json_begin_object(json);
    json_put_string(json, "rule", f->rule->id);
    json_put_string(json, "severity", lint_severity_text(f->severity));
    json_put_string(json, "image", f->image);
    json_put_string(json, "kernel", f->kernel);
    json_put_uint(json, "line", f->line);
    if (f->source) {
        json_put_string(json, "source", f->source);
        json_put_uint(json, "source_line", f->source_line);
    }
    json_put_string(json, "text", f->text);
    if (f->more)
        json_put_uint(json, "more", f->more);
    json_end(json);
}

void lint_out_json(FILE *file, const struct lint_report *r)
{
    struct json_out json;
    json_out_init(&json);
    json.lines = 2;
    json_begin_object(&json);
    json_put_int(&json, "version", 1);
    json_put_string(&json, "cuvet", cuvet_version());
    json_put_uint(&json, "texts", r->texts);
    json_put_uint(&json, "kernels", r->kernels);
    json_put_uint(&json, "with_entry", r->rows);
    json_put_uint(&json, "not_analysed", r->skipped);
    json_put_uint(&json, "warnings", r->severity[LINT_WARNING]);
    json_put_uint(&json, "notes", r->severity[LINT_NOTE]);
    json_put_array(&json, "findings");
    for (size_t i = 0; i < r->findings; i++)
        put_finding(&json, &r->finding[i]);
    json_end(&json);
    json_end(&json);
    write_out(file, &json);
}

/* -- SARIF -- */

static void put_text(struct json_out *json, const char *key, const char *text)
{
    json_put_object(json, key);
    json_put_string(json, "text", text);
    json_end(json);
}

static const char *level_of(enum lint_severity severity)
{
    return severity == LINT_WARNING ? "warning" : "note";
}

static void put_rule(struct json_out *json, const struct lint_rule *rule)
{
    json_begin_object(json);
    json_put_string(json, "id", rule->id);
    put_text(json, "shortDescription", rule->sentence);
    put_text(json, "fullDescription", rule->explain);
    json_put_object(json, "defaultConfiguration");
    json_put_string(json, "level", level_of(rule->severity));
    json_end(json);
    json_end(json);
}

static void put_place(struct json_out *json, const char *file, unsigned line)
{
    json_put_object(json, "physicalLocation");
    json_put_object(json, "artifactLocation");
    json_put_string(json, "uri", file);
    json_end(json);
    json_put_object(json, "region");
    json_put_uint(json, "startLine", line ? line : 1);
    json_end(json);
    json_end(json);
}

/* The source line where there is one, and the PTX as a related place. */
static void put_result(struct json_out *json, const struct lint_finding *f)
{
    json_begin_object(json);
    json_put_string(json, "ruleId", f->rule->id);
    json_put_string(json, "level", level_of(f->severity));
    put_text(json, "message", f->text);
    json_put_array(json, "locations");
    json_begin_object(json);
    put_place(json, f->source ? f->source : f->image, f->source ? f->source_line : f->line);
    json_put_array(json, "logicalLocations");
    json_begin_object(json);
    json_put_string(json, "name", f->kernel);
    json_put_string(json, "kind", "function");
    json_end(json);
    json_end(json);
    json_end(json);
    json_end(json);
    if (f->source) {
        json_put_array(json, "relatedLocations");
        json_begin_object(json);
        put_place(json, f->image, f->line);
        json_end(json);
        json_end(json);
    }
    json_end(json);
}

void lint_out_sarif(FILE *file, const struct lint_report *r)
{
    struct json_out json;
    json_out_init(&json);
    json.lines = 4;
    json_begin_object(&json);
    json_put_string(&json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json_put_string(&json, "version", "2.1.0");
    json_put_array(&json, "runs");
    json_begin_object(&json);
    json_put_object(&json, "tool");
    json_put_object(&json, "driver");
    json_put_string(&json, "name", "cuvet lint");
    json_put_string(&json, "version", cuvet_version());
    json_put_array(&json, "rules");
    for (const struct lint_rule *rule = lint_rules; rule->id; rule++)
        put_rule(&json, rule);
    json_end(&json);
    json_end(&json);
    json_end(&json);
    json_put_array(&json, "results");
    for (size_t i = 0; i < r->findings; i++)
        put_result(&json, &r->finding[i]);
    json_end(&json);
    json_end(&json);
    json_end(&json);
    json_end(&json);
    write_out(file, &json);
}

/* -- rules -- */

void lint_out_rules(FILE *file)
{
    for (const struct lint_rule *rule = lint_rules; rule->id; rule++)
        fprintf(file, "%-22s %-8s %s\n", rule->id, lint_severity_text(rule->severity),
                rule->sentence);
}

void lint_out_explain(FILE *file, const struct lint_rule *rule)
{
    fprintf(file, "%s (%s)\n\n%s.\n\n%s\n", rule->id, lint_severity_text(rule->severity),
            rule->sentence, rule->explain);
}
