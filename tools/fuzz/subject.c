#include "tools/fuzz/subject.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "image/carried_text.h"
#include "refs/abi/ref_merge.h"
#include "report/place.h"
#include "tools/facts/facts.h"
#include "tools/fuzz/case/block.h"
#include "tools/fuzz/case/dense.h"
#include "tools/fuzz/case/element.h"
#include "tools/fuzz/case/lists.h"
#include "tools/fuzz/suggest.h"

enum { LEAST_ROOM = 1 << 20, DRAWS = 64 * FUZZ_PARTS, LOST_MOST = 3 };

const char *fuzz_outcome_text(enum fuzz_outcome outcome)
{
    static const char *const texts[FUZZ_OUTCOMES] = {
        "match",         "inconclusive",  "not run", "lost", "mismatch", "unwritten",
        "input changed", "write outside", "fault",   "hang", "probe"};
    return texts[outcome];
}

/* ---- life ---- */

static enum status load(struct fuzz_subject *s, struct error *err)
{
    struct fuzz_module *module = s->module;
    enum status status = STATUS_OK;
    if (!module->loaded)
        status = worker_load(s->worker, module->image, module->bytes, &module->id, err);
    module->loaded = !status;
    return status ? status : worker_kernel(s->worker, module->id, s->symbol, &s->kernel, err);
}

static enum status without_rule(const struct registry_bench *bench, struct error *err)
{
    char room[384] = "";
    struct textbuf text;
    textbuf_init_fixed(&text, room, sizeof room);
    bool good = fuzz_suggest(bench, &text);
    return error_set(err, STATUS_NOT_FOUND,
                     "%s: the entry has no 'fuzz', the rule by which launches are drawn%s%s%s",
                     bench->where, good ? "; expected one such as `fuzz: " : "", room,
                     good ? "`, with the block, grid and ranges that callers pass" : "");
}

static enum status resolve(struct fuzz_subject *s, struct registry *registry,
                           const struct fuzz_known *known, struct error *err)
{
    struct registry_bench bench;
    enum skip skip;
    size_t bytes = 0;
    char *text = carried_text_of(s->module->image, s->module->bytes, &bytes);
    if (text)
        facts_layout(text, bytes, s->symbol, &s->kernel.layout);
    free(text);
    s->spec = registry_resolve(registry, s->symbol, &s->kernel.layout, &skip, err);
    if (!s->spec && skip == SKIP_UNREGISTERED)
        return error_set(err, STATUS_NOT_FOUND,
                         "the entries of the tables for '%s' have other parameter lists",
                         s->symbol);
    if (!s->spec)
        return STATUS_INVALID;
    enum status status = registry_bench(registry, s->spec, &s->kernel.layout, &bench, err);
    if (!status && !bench.fuzz)
        return without_rule(&bench, err);
    return status ? status : fuzz_rule_make(&s->rule, &s->arena, &bench, known, err);
}

enum status fuzz_subject_open(struct fuzz_subject *s, const struct fuzz_subject_source *source,
                              struct error *err)
{
    *s = (struct fuzz_subject){
        .worker = source->worker, .module = source->module, .oracle = source->oracle};
    if ((size_t)snprintf(s->symbol, sizeof s->symbol, "%s", source->symbol) >= sizeof s->symbol)
        return error_set(err, STATUS_INVALID, "the kernel's name is longer than %zu bytes",
                         sizeof s->symbol - 1);
    if (!registry_names(source->registry, source->symbol))
        return error_set(err, STATUS_NOT_FOUND, "no entry of the registry names the kernel '%s'",
                         s->symbol);
    enum status status = load(s, err);
    return status ? status : resolve(s, source->registry, source->known, err);
}

void fuzz_subject_close(struct fuzz_subject *s)
{
    if (s->room)
        worker_free_all(s->worker, NULL);
    arena_release(&s->arena);
    arena_release(&s->dense);
    free(s->was);
    free(s->is);
    free(s->may);
    s->was = s->is = s->may = NULL;
}

/* ---- memory ---- */

static enum status make_host_room(struct fuzz_subject *s, uint64_t bytes, struct error *err)
{
    if (bytes <= s->host_room)
        return STATUS_OK;
    free(s->was);
    free(s->is);
    free(s->may);
    s->was = malloc((size_t)bytes);
    s->is = malloc((size_t)bytes);
    s->may = malloc((size_t)bytes);
    s->host_room = s->was && s->is && s->may ? bytes : 0;
    return s->host_room ? STATUS_OK
                        : error_set(err, STATUS_NO_MEMORY, "no memory for a case of %llu bytes",
                                    (unsigned long long)bytes);
}

static enum status make_room(struct fuzz_subject *s, uint64_t bytes, struct error *err)
{
    struct worker_array array = {.bytes = LEAST_ROOM, .align = FUZZ_ALIGN};
    while (array.bytes < bytes)
        array.bytes *= 2;
    if (bytes <= s->room)
        return STATUS_OK;
    enum status status = worker_free_all(s->worker, err);
    if (!status)
        status = worker_allocate(s->worker, &array, &s->pool, err);
    if (!status)
        status = worker_allocate(s->worker, &array, &s->before, err);
    s->room = status ? 0 : array.bytes;
    return status;
}

static enum status upload(struct fuzz_subject *s, const struct fuzz_case *c, struct error *err)
{
    enum status status = make_host_room(s, c->pool_bytes, err);
    if (!status)
        status = make_room(s, c->pool_bytes, err);
    if (status)
        return status;
    fuzz_case_fill(c, s->was);
    fuzz_case_mark(c, s->was, s->may);
    status = worker_write(s->worker, s->pool, s->was, (size_t)c->pool_bytes, err);
    return status ? status : worker_copy(s->worker, s->before, s->pool, (size_t)c->pool_bytes, err);
}

/* ---- what the kernel changed ---- */

/* The array in whose span the byte lies, or the nearest one. */
static const struct fuzz_extent *nearest(const struct fuzz_case *c, uint64_t at, int64_t *offset)
{
    const struct fuzz_extent *best = NULL;
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < c->rule->arrays; i++) {
        const struct fuzz_extent *array = &c->array[i];
        uint64_t end = array->at + array->bytes;
        uint64_t gap = at < array->at ? array->at - at : at >= end ? at - end + 1 : 0;
        if (array->there && gap < least) {
            best = array;
            least = gap;
        }
    }
    *offset = best ? (int64_t)(at - best->at) : 0;
    return best;
}

/* Behind what was found in the outputs, where something was. */
static void describe_change(const struct fuzz_case *c, uint64_t at, uint64_t changed,
                            struct fuzz_result *out)
{
    int64_t offset;
    const struct fuzz_extent *array = nearest(c, at, &offset);
    const char *name = array ? array->item->name : "?";
    long long bytes = (long long)(array ? array->bytes : 0);
    bool inside = array && offset >= 0 && offset < bytes;
    bool input = inside && array->item->role == ROLE_READ;
    size_t used = strlen(out->sentence), room = sizeof out->sentence - used;
    if (!fuzz_is_finding(out->outcome))
        out->outcome = input ? FUZZ_INPUT : FUZZ_OUTSIDE;
    if (input)
        snprintf(out->sentence + used, room,
                 "%s%llu bytes of const arrays changed, the first at byte %lld of '%s'",
                 used ? "; " : "", (unsigned long long)changed, (long long)offset, name);
    else
        snprintf(out->sentence + used, room,
                 "%s%llu byte%s changed outside the arrays, the first %lld bytes %s '%s'",
                 used ? "; " : "", (unsigned long long)changed, changed == 1 ? "" : "s",
                 inside       ? (long long)offset
                 : offset < 0 ? (long long)-offset
                              : (long long)offset - bytes + 1,
                 inside       ? "into, between rows of,"
                 : offset < 0 ? "before"
                              : "behind the end of",
                 name);
}

static void find_changes(const struct fuzz_subject *s, const struct fuzz_case *c,
                         struct fuzz_result *out)
{
    uint64_t first = UINT64_MAX, changed = 0;
    if (memcmp(s->was, s->is, (size_t)c->pool_bytes) == 0)
        return;
    for (uint64_t at = 0; at < c->pool_bytes; at++) {
        if (s->was[at] == s->is[at] || s->may[at])
            continue;
        first = at < first ? at : first;
        changed++;
    }
    if (changed)
        describe_change(c, first, changed, out);
}

/* ---- the reference ---- */

/* Numbers that the entry reads from memory: what they held before the launch. */
static enum skip read_values(struct fuzz_subject *s, const struct kernel_spec *spec,
                             struct error *why)
{
    uint64_t raw[SNAPSHOT_VALUES] = {0};
    for (unsigned i = 0; i < s->binding.values; i++) {
        int array = s->binding.value_array[i];
        if (array >= 0)
            memcpy(&raw[i], s->was + (s->binding.array[array].address - s->pool),
                   (size_t)s->binding.array[array].bytes);
    }
    return s->binding.values ? binding_read(spec, raw, &s->binding, why) : SKIP_NONE;
}

/* A part of a list may reach beyond its case, where `parts` does not go with the entry's lets. */
static enum skip check_inside(const struct fuzz_subject *s, const struct fuzz_case *c,
                              struct error *why)
{
    for (int i = 0; i < s->binding.arrays; i++) {
        const struct bound_array *array = &s->binding.array[i];
        uint64_t at = array->address - s->pool;
        if (at <= c->pool_bytes && array->bytes <= c->pool_bytes - at)
            continue;
        error_set(why, STATUS_INVALID, "'%s' reaches beyond the arrays of the case", array->name);
        return SKIP_SHAPE;
    }
    return SKIP_NONE;
}

/* The reference's view of the case. Where indices name rows, a spec of whole arrays takes the
 * entry's place. */
static enum skip bind_case(struct fuzz_subject *s, const struct fuzz_case *c,
                           const struct launch *launch, struct error *why)
{
    const size_t head = offsetof(struct kernel_spec, shape_param);
    const struct kernel_spec *spec = s->spec;
    int64_t rows[SPEC_MAX_ARRAYS] = {0};
    arena_release(&s->dense);
    if (c->rule->sparse) {
        struct kernel_spec *whole = arena_alloc(&s->dense, sizeof *whole);
        for (unsigned i = 0; i < c->rule->arrays; i++)
            rows[i] = c->array[i].rows;
        if (!whole ||
            fuzz_dense_plan(c->rule, spec->reference, rows, &c->layout, &s->dense, &s->whole, why))
            return SKIP_SHAPE;
        memcpy(whole, spec, head);
        whole->shape_params = 0;
        whole->plan = s->whole;
        whole->signature = s->whole->signature;
        spec = whole;
    }
    enum skip skip = binding_make(spec, launch, &s->binding, why);
    if (!skip)
        skip = check_inside(s, c, why);
    return skip ? skip : read_values(s, spec, why);
}

/* False: the launch cannot be judged, which is the outcome. */
static bool bind_or_explain(struct fuzz_subject *s, const struct fuzz_case *c,
                            const struct launch *launch, struct fuzz_result *out)
{
    struct error why = {{0}};
    enum skip skip = bind_case(s, c, launch, &why);
    if (!skip)
        return true;
    out->outcome = FUZZ_NOT_RUN;
    snprintf(out->sentence, sizeof out->sentence, "the reference cannot judge it (%s): %s",
             skip_text(skip), why.text);
    return false;
}

static enum status judge_bound(struct fuzz_subject *s, struct fuzz_result *out, struct error *err)
{
    struct worker_view views[SPEC_MAX_ARRAYS];
    for (int i = 0; i < s->binding.arrays; i++) {
        uint64_t address = s->binding.array[i].address;
        views[i] = (struct worker_view){s->before + (address - s->pool), address};
    }
    enum status status = worker_judge(s->worker, s->spec->reference, &s->binding, views, s->oracle,
                                      &out->numbers, &out->verdict, err);
    out->judged = out->bound = !status;
    return status;
}

/* A NaN's sign means nothing. */
static double unsigned_nan(double value)
{
    return isnan(value) ? fabs(value) : value;
}

/* The number of the drawn part among all that the picks may draw; *of: how many these are. */
static int64_t part_of(const struct binding *binding, int64_t *of)
{
    int64_t number = 0;
    *of = 1;
    for (int i = 0; i < (int)binding->picks; i++) {
        number = number * binding->pick[i].count + binding->pick[i].value;
        *of *= binding->pick[i].count;
    }
    return number;
}

/* Every part that the entry's picks may draw, until one is outside the bound. The numbers that are
 * drawn follow from the launch's seed. */
static enum status judge_parts(struct fuzz_subject *s, const struct fuzz_case *c,
                               const struct launch *of, struct fuzz_result *out, struct error *err)
{
    bool seen[FUZZ_PARTS] = {false}, inconclusive = false;
    struct launch launch = *of;
    int64_t left = 1;
    for (launch.seed = 0; left > 0 && launch.seed < DRAWS; launch.seed++) {
        if (!bind_or_explain(s, c, &launch, out))
            return STATUS_OK;
        int64_t parts, part = part_of(&s->binding, &parts);
        if (launch.seed == 0)
            left = parts < FUZZ_PARTS ? parts : FUZZ_PARTS;
        if (part >= FUZZ_PARTS || seen[part])
            continue;
        seen[part] = true;
        left--;
        enum status status = judge_bound(s, out, err);
        if (status || out->verdict == VERDICT_MISMATCH)
            return status;
        inconclusive |= out->verdict == VERDICT_INCONCLUSIVE;
    }
    out->verdict = inconclusive ? VERDICT_INCONCLUSIVE : out->verdict;
    return STATUS_OK;
}

static enum status judge(struct fuzz_subject *s, const struct fuzz_case *c,
                         const struct launch *launch, struct fuzz_result *out, struct error *err)
{
    if (c->rule->plan->picks)
        return judge_parts(s, c, launch, out, err);
    return bind_or_explain(s, c, launch, out) ? judge_bound(s, out, err) : STATUS_OK;
}

static void describe_verdict(const struct fuzz_subject *s, struct fuzz_result *out)
{
    const struct ref_verdict *n = &out->numbers;
    struct place place;
    char where[160] = "?";
    if (place_of(&s->binding, n->first_tensor, n->first_index, &place))
        place_text(&place, where, sizeof where);
    int used =
        snprintf(out->sentence, sizeof out->sentence,
                 "%llu of %llu elements outside the bound, up to %.3g times; first %s: got "
                 "%.9g, expected %.9g",
                 (unsigned long long)n->violations, (unsigned long long)n->checked, n->max_ratio,
                 where, unsigned_nan(n->first_got), unsigned_nan(n->first_ref));
    if (isfinite(n->first_ref) && isfinite(n->first_bound))
        used += snprintf(out->sentence + used, sizeof out->sentence - (size_t)used, " +- %.3g",
                         n->first_bound);
    for (int i = 0; i < (int)s->binding.picks; i++)
        used += snprintf(out->sentence + used, sizeof out->sentence - (size_t)used,
                         "%s%s %lld of %lld", i ? ", " : "; ", s->binding.pick[i].name,
                         (long long)s->binding.pick[i].value, (long long)s->binding.pick[i].count);
}

/* ---- elements that nothing was written to ---- */

static int64_t count_poison(const struct fuzz_subject *s, const struct fuzz_case *c,
                            const struct fuzz_extent *array, int64_t *first)
{
    int64_t count = 0;
    for (int64_t e = 0; e < array->count; e++) {
        if (!fuzz_lists_has(c, array, e) ||
            !fuzz_is_poison(array->dtype, c->choices.poison,
                            s->is + array->at + fuzz_element_at(array, e)))
            continue;
        *first = count++ ? *first : e;
    }
    return count;
}

/* Whether the first element outside the bound holds the poison: then it is what was found. */
static bool is_first(const struct fuzz_case *c, const struct fuzz_extent *array,
                     const struct ref_verdict *numbers)
{
    uint8_t poison[FUZZ_BLOCK_BYTES];
    fuzz_poison(array->dtype, c->choices.poison, poison);
    double value = fuzz_decode(array->dtype, poison), got = numbers->first_got;
    return numbers->first_tensor == array->item->number &&
           (got == value || (isnan(got) && isnan(value)));
}

static void find_unwritten(const struct fuzz_subject *s, const struct fuzz_case *c,
                           struct fuzz_result *out)
{
    for (unsigned i = 0; i < c->rule->arrays && out->outcome == FUZZ_MISMATCH; i++) {
        const struct fuzz_extent *array = &c->array[i];
        int64_t first = 0, count = 0;
        if (!array->there || array->item->role != ROLE_WRITE || c->choices.recipe[i].aliased)
            continue;
        if (is_first(c, array, &out->numbers))
            count = count_poison(s, c, array, &first);
        if (count == 0)
            continue;
        size_t used = strlen(out->sentence);
        out->outcome = FUZZ_UNWRITTEN;
        snprintf(out->sentence + used, sizeof out->sentence - used,
                 "; %lld of %lld elements of '%s' were never written, the first is number %lld",
                 (long long)count, (long long)array->count, array->item->name, (long long)first);
    }
}

/* ---- the whole ---- */

static enum status launch_case(struct fuzz_subject *s, const struct fuzz_case *c,
                               struct fuzz_result *out, struct error *err)
{
    struct worker_launch launch = {.kernel = s->kernel.id,
                                   .shared_bytes = c->shared,
                                   .param_bytes = c->param_bytes,
                                   .params = c->params};
    struct worker_result result = {0};
    memcpy(launch.grid, c->grid, sizeof c->grid);
    memcpy(launch.block, c->block, sizeof c->block);
    memcpy(launch.cluster, c->cluster, sizeof c->cluster);
    enum status status = worker_launch(s->worker, &launch, &result, err);
    if (status)
        return status;
    snprintf(out->sentence, sizeof out->sentence, "%.500s", result.sentence);
    switch (result.outcome) {
    case WORKER_RAN:
        out->sentence[0] = '\0';
        break;
    case WORKER_REFUSED:
        out->outcome = FUZZ_NOT_RUN;
        break;
    case WORKER_FAULTED:
        out->outcome = FUZZ_FAULT;
        break;
    case WORKER_HUNG:
        out->outcome = FUZZ_HANG;
    }
    return STATUS_OK;
}

static enum status run_case(struct fuzz_subject *s, struct fuzz_case *c, struct fuzz_result *out,
                            struct error *err)
{
    struct launch launch;
    struct error why = {{0}};
    memset(out, 0, sizeof *out);
    ref_verdict_clear(&out->numbers);
    enum status status = upload(s, c, err);
    fuzz_case_place(c, s->pool, &launch);
    if (!status)
        status = launch_case(s, c, out, err);
    if (!status && (out->outcome == FUZZ_FAULT || out->outcome == FUZZ_HANG))
        out->bound = !bind_case(s, c, &launch, &why);
    if (status || out->outcome != FUZZ_MATCH)
        return status;
    status = worker_read(s->worker, s->pool, s->is, (size_t)c->pool_bytes, err);
    if (!status)
        status = judge(s, c, &launch, out, err);
    if (status || out->outcome != FUZZ_MATCH)
        return status;
    if (out->verdict == VERDICT_MISMATCH) {
        out->outcome = FUZZ_MISMATCH;
        describe_verdict(s, out);
    } else if (out->verdict == VERDICT_INCONCLUSIVE) {
        out->outcome = FUZZ_INCONCLUSIVE;
    }
    find_unwritten(s, c, out);
    find_changes(s, c, out);
    return STATUS_OK;
}

static enum status start_again(struct fuzz_subject *s, struct error *err)
{
    s->module->loaded = false;
    s->room = 0;
    enum status status = worker_restart(s->worker, err);
    return status ? status : load(s, err);
}

enum status fuzz_subject_run(struct fuzz_subject *s, struct fuzz_case *c, struct fuzz_result *out,
                             struct error *err)
{
    struct error why = {{0}};
    enum status status = run_case(s, c, out, &why);
    bool lost = worker_lost(s->worker), killed = lost && worker_killed(s->worker);
    s->lost = killed ? s->lost + 1 : 0;
    if (status && (!killed || s->lost == LOST_MOST))
        return error_set(err, status, "%s%s", why.text,
                         killed ? ", in several cases in a row" : "");
    if (killed)
        *out = (struct fuzz_result){.outcome = FUZZ_LOST};
    return lost ? start_again(s, err) : STATUS_OK;
}

struct check_report fuzz_report_of(const struct fuzz_subject *subject, const struct fuzz_case *c,
                                   uint64_t number, const struct fuzz_result *result)
{
    struct check_report report = {.spec = subject->spec,
                                  .binding = result->bound ? &subject->binding : NULL,
                                  .numbers = result->numbers,
                                  .verdict = result->verdict,
                                  .gate = "fuzz",
                                  .launch = number,
                                  .shared_bytes = c->shared};
    if (fuzz_is_finding(result->outcome)) {
        report.verdict = VERDICT_MISMATCH;
        report.drawn = (struct case_report){.outcome = fuzz_outcome_text(result->outcome),
                                            .sentence = result->sentence,
                                            .seed = c->choices.seed};
    }
    memcpy(report.grid, c->grid, sizeof c->grid);
    memcpy(report.block, c->block, sizeof c->block);
    memcpy(report.cluster, c->cluster, sizeof c->cluster);
    return report;
}
