/* lint.c - a text's kernels, one by one, through all rules. */
#include "tools/lint/lint.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "system/yaml_doc.h"
#include "plan/plan.h"
#include "tools/facts/facts.h"
#include "tools/fuzz/symbols.h"
#include "tools/ptx/lines.h"
#include "tools/lint/kernel.h"

const struct lint_rule *lint_find_rule(const char *id)
{
    for (const struct lint_rule *rule = lint_rules; rule->id; rule++) {
        if (strcmp(rule->id, id) == 0)
            return rule;
    }
    return NULL;
}

const char *lint_severity_text(enum lint_severity severity)
{
    static const char *const texts[] = {"hint", "note", "warning"};
    return texts[severity];
}

/* -- findings -- */

static struct lint_finding *new_finding(struct lint_report *r)
{
    if (r->findings == r->room) {
        size_t room = 2 * r->room + 16;
        struct lint_finding *more = realloc(r->finding, room * sizeof *more);
        if (!more)
            return NULL;
        r->finding = more;
        r->room = room;
    }
    r->finding[r->findings] = (struct lint_finding){0};
    return &r->finding[r->findings++];
}

/* A cubin's text lacks .loc, and tables of the cubin have the lines. */
static void find_lines(struct lint_kernel *k, const struct ptx_function *function)
{
    if (k->lines_read || !k->text->code)
        return;
    k->lines_read = true;
    k->lines = ptx_lines_read(k->text->code, k->text->code_bytes, function->name);
    if (k->lines)
        ptx_lines_apply(k->lines, function);
}

static const struct ptx_location *location_near(const struct ptx_function *function, uint32_t from,
                                                int step)
{
    enum { MOST_AWAY = 64 };
    uint32_t at = from;
    for (int n = 0; n < MOST_AWAY && at < function->instruction_count; n++, at += (uint32_t)step) {
        if (function->instructions[at].location)
            return function->instructions[at].location;
    }
    return NULL;
}

/* Of an instruction that the tables lack, that of the ones before and behind it where they agree.
 */
static const struct ptx_location *location_of(const struct ptx_function *function, uint32_t at)
{
    const struct ptx_location *before = location_near(function, at, -1),
                              *behind = location_near(function, at, 1);
    bool agree = before && behind && before->line == behind->line && before->file && behind->file &&
                 strcmp(before->file, behind->file) == 0;
    return agree ? before : function->instructions[at].location;
}

static void place(struct lint_kernel *k, struct lint_finding *f, uint32_t instruction)
{
    const struct ptx_function *function = k->flow ? k->flow->function : NULL;
    struct arena *arena = &k->report->arena;
    f->line = function ? function->line : 1;
    if (!function || instruction >= function->instruction_count)
        return;
    const struct ptx_instruction *i = &function->instructions[instruction];
    f->line = i->line;
    find_lines(k, function);
    const struct ptx_location *location = location_of(function, instruction);
    if (!location || !location->file)
        return;
    f->source = arena_text(arena, location->file, strlen(location->file));
    f->source_line = location->line;
}

static void add(struct lint_kernel *k, enum lint_severity severity, uint32_t instruction,
                const char *format, va_list list)
{
    struct lint_report *r = k->report;
    struct lint_finding here = {0}, *last = NULL;
    unsigned count = 0;
    char text[512];
    if (severity < r->settings.least)
        return;
    place(k, &here, instruction);
    for (size_t i = k->first; i < r->findings; i++) {
        struct lint_finding *old = &r->finding[i];
        if (old->rule != k->rule)
            continue;
        if (old->line == here.line || (here.source_line && old->source_line == here.source_line))
            return;
        last = old;
        count++;
    }
    if (count >= LINT_EACH) {
        last->more++;
        return;
    }
    vsnprintf(text, sizeof text, format, list);
    struct lint_finding *f = new_finding(r);
    if (!f)
        return;
    *f = here;
    f->rule = k->rule;
    f->severity = severity;
    f->image = k->image;
    const char *name = k->flow->function->name;
    f->kernel = arena_text(&r->arena, name, strlen(name));
    f->text = arena_text(&r->arena, text, strlen(text));
    if (!f->kernel || !f->text)
        r->findings--;
    else
        r->severity[severity]++;
}

void lint_add(struct lint_kernel *k, uint32_t instruction, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add(k, k->rule->severity, instruction, format, list);
    va_end(list);
}

void lint_add_as(struct lint_kernel *k, enum lint_severity severity, uint32_t instruction,
                 const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add(k, severity, instruction, format, list);
    va_end(list);
}

/* -- the registry -- */

static void layout_of(const struct ptx_function *f, struct param_layout *layout)
{
    uint32_t offset = 0;
    *layout = (struct param_layout){.count = f->param_count};
    for (unsigned i = 0; i < f->param_count && i < LAYOUT_MAX; i++) {
        uint32_t align = f->params[i].align ? (uint32_t)f->params[i].align : 1;
        offset = (offset + align - 1) / align * align;
        layout->param[i].offset = offset;
        layout->param[i].size = (uint32_t)f->params[i].bytes;
        offset += layout->param[i].size;
    }
}

/* lint: {ignore: [ID, ...]} of the entry. */
static bool entry_ignores(struct lint_kernel *k, const char *id)
{
    const struct yaml_node *list = k->bench.lint ? yaml_get(k->bench.lint, "ignore") : NULL;
    for (size_t i = 0; list && i < list->count; i++) {
        if (list->item[i]->text && strcmp(list->item[i]->text, id) == 0)
            return true;
    }
    return false;
}

static void check_ignores(struct lint_kernel *k)
{
    const struct yaml_node *list = k->bench.lint ? yaml_get(k->bench.lint, "ignore") : NULL;
    for (size_t i = 0; list && i < list->count; i++) {
        const struct yaml_node *n = list->item[i];
        if (!k->report->wrong && n->text && !lint_find_rule(n->text))
            k->report->wrong =
                arena_format(&k->report->arena,
                             "%s:%u:%u: unknown rule '%.60s'; `cuvet lint --rules` lists them",
                             n->file, n->line, n->column, n->text);
    }
}

static void find_entry(struct lint_kernel *k)
{
    struct registry *registry = k->report->settings.registry;
    const struct ptx_function *f = k->flow->function;
    struct param_layout layout;
    struct error err = {0};
    enum skip skip;
    if (!registry)
        return;
    layout_of(f, &layout);
    k->spec = registry_resolve(registry, f->name, &layout, &skip, &err);
    if (!k->spec) { /* an entry whose types are those of the code */
        facts_layout_of(f, &layout);
        k->spec = registry_resolve(registry, f->name, &layout, &skip, &err);
    }
    if (!k->spec && skip == SKIP_LAYOUT)
        k->misfit = arena_text(&k->report->arena, err.text, strlen(err.text));
    if (!k->spec || registry_bench(registry, k->spec, &layout, &k->bench, NULL))
        return;
    k->layout = layout;
    k->plan = k->spec->plan;
    k->plan_points = k->plan->tolerance.points > 0;
    k->report->rows++;
    check_ignores(k);
}

/* -- the whole -- */

static const bool *find_sums(struct flow *flow, const uint32_t *cycle)
{
    bool *adds = arena_alloc(&flow->arena, flow->values);
    for (uint32_t v = 0; adds && v < flow->values; v++) {
        bool product =
            flow_is(flow, v, "mma") || flow_is(flow, v, "wgmma") || flow_is(flow, v, "wmma");
        if (cycle[v] != FLOW_NONE && (lint_is_sum(flow, v) || product))
            adds[cycle[v]] = true;
    }
    return adds;
}

static void lint_kernel(struct lint_report *report, struct flow *flow, const char *image,
                        const struct lint_text *text)
{
    struct lint_kernel k = {.report = report, .image = image, .text = text, .flow = flow};
    k.first = report->findings;
    k.cycle = flow_cycles(flow);
    k.adds = k.cycle ? find_sums(flow, k.cycle) : NULL;
    if (!k.adds)
        return;
    find_entry(&k);
    report->kernels++;
    for (const struct lint_rule *rule = lint_rules; rule->id; rule++) {
        const bool *ignored = report->settings.ignored;
        if ((ignored && ignored[rule - lint_rules]) || entry_ignores(&k, rule->id))
            continue;
        k.rule = rule;
        rule->check(&k);
    }
    ptx_lines_free(k.lines);
}

static bool is_wanted(const struct lint_report *report, const char *symbol)
{
    bool wanted = !report->settings.symbol || !strcmp(report->settings.symbol, symbol);
    if (wanted && report->settings.kernel)
        fuzz_symbol_matches(report->settings.kernel, symbol, &wanted, NULL);
    return wanted;
}

static void skip_kernel(struct lint_report *report, const char *why)
{
    report->skipped++;
    if (!report->first_skip)
        report->first_skip = arena_text(&report->arena, why, strlen(why));
}

enum status lint_text(struct lint_report *report, const struct lint_text *text, struct error *err)
{
    struct ptx_module *module = NULL;
    enum status status = ptx_read(text->text, text->length, text->image, &module, err);
    const char *name = arena_text(&report->arena, text->image, strlen(text->image));
    if (status || !name) {
        ptx_free(module);
        return status ? status : STATUS_NO_MEMORY;
    }
    report->texts++;
    for (unsigned i = 0; i < module->function_count; i++) {
        struct ptx_function *function = &module->functions[i];
        struct flow *flow = NULL;
        struct error why = {0};
        if (!function->is_entry || !function->has_body || !is_wanted(report, function->name))
            continue;
        if (ptx_read_body(module, function, &why) || flow_make(&flow, module, function, &why))
            skip_kernel(report, why.text);
        else
            lint_kernel(report, flow, name, text);
        flow_free(flow);
    }
    ptx_free(module);
    return STATUS_OK;
}

void lint_release(struct lint_report *report)
{
    free(report->finding);
    arena_release(&report->arena);
}
