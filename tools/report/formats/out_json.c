/* out_json.c - the report as one JSON object, and as SARIF 2.1.0. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "text/json_out.h"
#include "cuvet.h"
#include "tools/report/formats/out.h"

static void put_verdicts(struct json_out *json, const uint64_t verdict[VERDICT_COUNT])
{
    json_put_uint(json, "checked", model_checked(verdict));
    for (int v = 0; v < VERDICT_COUNT; v++)
        json_put_uint(json, verdict_text((enum verdict)v), verdict[v]);
}

static void put_reasons(struct json_out *json, const uint64_t skip[SKIP_COUNT], uint64_t others)
{
    json_put_object(json, "reasons");
    for (enum skip k = SKIP_NONE + 1; k < SKIP_COUNT; k++) {
        if (skip[k] > 0)
            json_put_uint(json, skip_text(k), skip[k]);
    }
    if (others > 0)
        json_put_uint(json, "other", others);
    json_end(json);
}

static void put_kernel(struct json_out *json, const struct model_kernel *kernel)
{
    json_begin_object(json);
    json_put_string(json, "kernel", kernel->symbol);
    json_put_string(json, "label", kernel->label);
    json_put_string(json, "reference", kernel->reference);
    json_put_string(json, "where", kernel->where);
    json_put_uint(json, "launches", kernel->counts.launches);
    put_verdicts(json, kernel->counts.verdict);
    put_reasons(json, kernel->counts.skip, 0);
    json_put_uint(json, "elements", kernel->counts.elements);
    json_put_uint(json, "violations", kernel->counts.violations);
    json_put_double(json, "max_ratio", kernel->counts.max_ratio);
    json_put_array(json, "ratios");
    for (int i = 0; i < COUNTERS_RATIOS; i++)
        json_uint(json, kernel->counts.ratios[i]);
    json_end(json);
    json_end(json);
}

static void put_process(struct json_out *json, const struct model_process *process)
{
    char time[32];
    json_begin_object(json);
    json_put_string(json, "host", process->host);
    json_put_int(json, "pid", process->pid);
    if (process->rank >= 0)
        json_put_int(json, "rank", process->rank);
    if (process->run)
        json_put_string(json, "run", process->run);
    json_put_string(json, "program", process->program);
    json_put_string(json, "journal", process->file);
    out_time(time, process->begin_ms);
    json_put_string(json, "began", time);
    json_put_double(json, "seconds", (double)(process->last_ms - process->begin_ms) / 1e3);
    json_put_bool(json, "ended", process->ended);
    if (!process->ended && process->interim_ms) {
        out_time(time, process->interim_ms);
        json_put_string(json, "counted", time);
    }
    json_put_uint(json, "seen", process->seen);
    put_verdicts(json, process->verdict);
    json_put_double(json, "cost_seconds", process->cost);
    json_put_uint(json, "lost_lines", process->lost_lines);
    json_end(json);
}

static void put_element(struct json_out *json, const char *key, const struct model_element *e)
{
    if (!e->place[0])
        return;
    json_put_object(json, key);
    json_put_string(json, "place", e->place);
    json_put_double(json, "got", e->got);
    json_put_double(json, "reference", e->reference);
    json_put_double(json, "bound", e->bound);
    json_end(json);
}

static void put_dim3(struct json_out *json, const char *key, const uint32_t value[3])
{
    json_put_array(json, key);
    for (int i = 0; i < 3; i++)
        json_uint(json, value[i]);
    json_end(json);
}

static void put_finding(struct json_out *json, const struct model *m, const struct model_finding *f)
{
    const struct model_process *process = f->process < m->processes ? m->process[f->process] : NULL;
    char time[32], again[OUT_AGAIN];
    json_begin_object(json);
    json_put_string(json, "kernel", f->kernel->symbol);
    json_put_string(json, "label", f->kernel->label);
    json_put_uint(json, "launch", f->launch);
    if (process) {
        json_put_string(json, "host", process->host);
        json_put_int(json, "pid", process->pid);
        if (process->rank >= 0)
            json_put_int(json, "rank", process->rank);
    }
    out_time(time, f->time_ms);
    json_put_string(json, "time", time);
    json_put_string(json, "gate", f->gate);
    put_dim3(json, "grid", f->grid);
    put_dim3(json, "block", f->block);
    json_put_uint(json, "elements", f->elements);
    json_put_uint(json, "violations", f->violations);
    if (f->of > 0)
        json_put_uint(json, "of", f->of);
    json_put_double(json, "max_ratio", f->max_ratio);
    put_element(json, "worst", &f->worst);
    put_element(json, "first", &f->first);
    json_put_string(json, "bundle", f->bundle);
    if (f->why)
        json_put_string(json, "why", f->why);
    if (f->outcome)
        json_put_string(json, "outcome", f->outcome);
    if (f->seed)
        json_put_string(json, "case", f->seed);
    out_again(again, sizeof again, f);
    if (*again)
        json_put_string(json, "again", again);
    json_put_bool(json, "bundle_found", f->bundle_found);
    json_end(json);
}

static void put_sentences(struct json_out *json, const char *key, const struct model_sentence *list,
                          uint32_t count)
{
    json_put_array(json, key);
    for (uint32_t i = 0; i < count; i++) {
        json_begin_object(json);
        json_put_string(json, "text", list[i].text);
        json_put_uint(json, "count", list[i].count);
        json_end(json);
    }
    json_end(json);
}

static void put_totals(struct json_out *json, const struct model *m)
{
    json_put_object(json, "totals");
    json_put_uint(json, "journals", m->files);
    json_put_uint(json, "lines", m->lines);
    json_put_uint(json, "processes", m->all_processes);
    json_put_uint(json, "unended", m->unended);
    json_put_uint(json, "unbalanced", m->unbalanced);
    json_put_uint(json, "lost_lines", m->lost_lines);
    json_put_uint(json, "seen", m->seen);
    put_verdicts(json, m->verdict);
    put_reasons(json, m->skip, m->other_skips);
    json_put_uint(json, "findings", m->all_findings);
    json_end(json);
}

static void write_out(FILE *file, struct json_out *json)
{
    if (json_out_ok(json)) {
        fwrite(json->text.data, 1, json->text.length, file);
        fputc('\n', file);
    }
    json_out_release(json);
}

void out_json(FILE *file, const struct model *m)
{
    struct json_out json;
    json_out_init(&json);
    json.lines = 2;
    json_begin_object(&json);
    json_put_int(&json, "version", 1);
    json_put_string(&json, "cuvet", cuvet_version());
    put_totals(&json, m);
    json_put_array(&json, "kernels");
    for (uint32_t i = 0; i < m->kernels; i++)
        put_kernel(&json, m->kernel[i]);
    json_end(&json);
    json_put_array(&json, "processes");
    for (uint32_t i = 0; i < m->processes; i++)
        put_process(&json, m->process[i]);
    json_end(&json);
    json_put_array(&json, "findings");
    for (uint32_t i = 0; i < m->findings; i++)
        put_finding(&json, m, &m->finding[i]);
    json_end(&json);
    put_sentences(&json, "warnings", m->warning, m->warnings);
    put_sentences(&json, "launch_errors", m->launch_error, m->launch_errors);
    put_sentences(&json, "lint", m->lint, m->lints);
    json_end(&json);
    write_out(file, &json);
}

/* ---- SARIF ---- */

/* "kernels.yaml:12": the registry entry, as a place in a file. */
static void put_place(struct json_out *json, const char *where)
{
    const char *colon = where ? strrchr(where, ':') : NULL;
    long line = colon ? strtol(colon + 1, NULL, 10) : 0;
    if (!colon || line <= 0)
        return;
    json_put_object(json, "physicalLocation");
    json_put_object(json, "artifactLocation");
    json_key(json, "uri");
    json_string_n(json, where, (size_t)(colon - where));
    json_end(json);
    json_put_object(json, "region");
    json_put_int(json, "startLine", line);
    json_end(json);
    json_end(json);
}

static void put_result(struct json_out *json, const struct model *m, const struct model_finding *f)
{
    char sentence[512], process[160] = "", text[1280], again[OUT_AGAIN];
    if (f->process < m->processes)
        model_process_text(m->process[f->process], process, sizeof process);
    out_finding_text(sentence, sizeof sentence, f);
    snprintf(text, sizeof text, "%.400s, launch %" PRIu64 " (%s): %s", model_kernel_name(f->kernel),
             f->launch, process, sentence);
    json_begin_object(json);
    json_put_string(json, "ruleId", out_rule_of(f)->id);
    json_put_string(json, "level", "error");
    json_put_object(json, "message");
    json_put_string(json, "text", text);
    json_end(json);
    json_put_array(json, "locations");
    json_begin_object(json);
    put_place(json, f->kernel->where);
    json_put_array(json, "logicalLocations");
    json_begin_object(json);
    json_put_string(json, "name", model_kernel_name(f->kernel));
    json_put_string(json, "fullyQualifiedName", f->kernel->symbol);
    json_put_string(json, "kind", "function");
    json_end(json);
    json_end(json);
    json_end(json);
    json_end(json);
    json_put_object(json, "properties");
    json_put_string(json, "bundle", f->bundle);
    out_again(again, sizeof again, f);
    if (*again)
        json_put_string(json, "again", again);
    json_put_double(json, "max_ratio", f->max_ratio);
    json_end(json);
    json_end(json);
}

static void put_tool(struct json_out *json)
{
    json_put_object(json, "tool");
    json_put_object(json, "driver");
    json_put_string(json, "name", "cuvet");
    json_put_string(json, "version", cuvet_version());
    json_put_array(json, "rules");
    for (int i = 0; i < OUT_RULES; i++) {
        json_begin_object(json);
        json_put_string(json, "id", out_rules[i].id);
        json_put_object(json, "shortDescription");
        json_put_string(json, "text", out_rules[i].sentence);
        json_end(json);
        json_end(json);
    }
    json_end(json);
    json_end(json);
    json_end(json);
}

void out_sarif(FILE *file, const struct model *m)
{
    struct json_out json;
    json_out_init(&json);
    json.lines = 4;
    json_begin_object(&json);
    json_put_string(&json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json_put_string(&json, "version", "2.1.0");
    json_put_array(&json, "runs");
    json_begin_object(&json);
    put_tool(&json);
    json_put_array(&json, "results");
    for (uint32_t i = 0; i < m->findings; i++)
        put_result(&json, m, &m->finding[i]);
    json_end(&json);
    json_end(&json);
    json_end(&json);
    json_end(&json);
    write_out(file, &json);
}
