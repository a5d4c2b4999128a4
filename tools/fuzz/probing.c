#include "tools/fuzz/probing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bundle/bundle.h"
#include "system/files.h"
#include "tools/fuzz/store.h"
#include "tools/probe/probe.h"

enum {
    TIMES = 5,       /* runs of `steady` */
    MOST_ALIGN = 16, /* what an array keeps when `alignment` moves it */
    /* What a case shows by itself (writes, outside, inputs) is left out. */
    OFFERED = PROBE_BIT(PROBE_STEADY) | PROBE_BIT(PROBE_NOISE) | PROBE_BIT(PROBE_READS) |
              PROBE_BIT(PROBE_ALIGN) | PROBE_BIT(PROBE_FAR) | PROBE_BIT(PROBE_STATE) |
              PROBE_BIT(PROBE_PERMUTE) | PROBE_BIT(PROBE_NEIGHBOURS) | PROBE_BIT(PROBE_SPLIT) |
              PROBE_BIT(PROBE_SCALE),
    USUAL = OFFERED & ~PROBE_BIT(PROBE_FAR)
};

/* ---- which checks ---- */

static enum status refuse(const char *word, size_t length, struct error *err)
{
    char names[160] = "";
    for (int i = 0; i < PROBE_CHECKS; i++) {
        size_t used = strlen(names);
        if (OFFERED & PROBE_BIT(i))
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                     probe_name((enum probe_check)i));
    }
    return error_set(err, STATUS_INVALID, "--probe has '%.*s'; expected some of %s",
                     (int)(length < 40 ? length : 40), word, names);
}

enum status fuzz_probing_checks(const char *text, unsigned *out, struct error *err)
{
    *out = text ? 0 : USUAL;
    for (const char *word = text; word;) {
        enum probe_check check;
        size_t length = strcspn(word, ",");
        if (!probe_check_of(word, length, &check) || !(OFFERED & PROBE_BIT(check)))
            return refuse(word, length, err);
        *out |= PROBE_BIT(check);
        word = word[length] ? word + length + 1 : NULL;
    }
    return STATUS_OK;
}

/* ---- a case ---- */

/* Reads the case back as a bundle, with which the folder goes. */
static enum status make_bundle(struct fuzz_subject *subject, const struct fuzz_case *c,
                               const struct fuzz_result *result, uint64_t number,
                               struct bundle **out, struct error *err)
{
    static char path[BUNDLE_PATH];
    char folder[1024];
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/cuvet-fuzz-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(folder))
        return error_set(err, STATUS_IO, "%s cannot be made", folder);
    enum status status = fuzz_store(subject, c, result, number, folder, path, err);
    if (!status)
        status = bundle_open(out, path, err);
    files_remove_folder(folder);
    return status;
}

/* An array that has to lie at multiples of more than 16 bytes cannot be moved by these. */
static bool moves(const struct fuzz_rule *rule)
{
    for (unsigned i = 0; i < rule->arrays; i++) {
        if (rule->array[i].item && rule->array[i].align > MOST_ALIGN)
            return false;
    }
    return true;
}

static void describe(const struct probe_report *report, struct fuzz_result *result)
{
    size_t used = 0;
    for (int i = 0; i < PROBE_CHECKS; i++) {
        if (report->result[i].outcome != PROBE_FINDING || used >= sizeof result->sentence)
            continue;
        used += (size_t)snprintf(result->sentence + used, sizeof result->sentence - used,
                                 "%s%s: %s", used ? "; " : "", probe_name((enum probe_check)i),
                                 report->result[i].sentence);
        result->outcome = FUZZ_PROBE;
    }
}

static enum status probe(const struct fuzz_probing *probing, const struct fuzz_subject *subject,
                         const struct fuzz_rule *rule, const struct bundle *bundle,
                         struct probe_report *report, struct error *err)
{
    unsigned checks = moves(rule) ? probing->checks : probing->checks & ~PROBE_BIT(PROBE_ALIGN);
    struct probe_settings settings = {.times = TIMES,
                                      .checks = checks,
                                      .declared = true,
                                      .scale = rule->scale,
                                      .scaled = rule->scaled};
    struct scene *scene = NULL;
    for (unsigned i = 0; i < rule->relations; i++) {
        enum probe_check check;
        if (probe_check_of(rule->relation[i], strlen(rule->relation[i]), &check))
            settings.held |= PROBE_BIT(check);
    }
    enum status status = scene_create(&scene, bundle, false, err);
    if (status)
        return status;
    scene->image = subject->module->image; /* the bundle's may have been too large */
    scene->image_bytes = subject->module->bytes;
    status = worker_start(&scene->worker, probing->worker, err);
    if (!status)
        status = probe_bundle(scene, &settings, report, err);
    if (status && scene->worker && worker_killed(scene->worker))
        status = STATUS_UNSUPPORTED;
    worker_end(scene->worker);
    scene_destroy(scene);
    return status;
}

enum status fuzz_probing_run(const struct fuzz_probing *probing, struct fuzz_subject *subject,
                             const struct fuzz_case *c, struct fuzz_result *result, uint64_t number,
                             struct fuzz_probed *out, struct error *err)
{
    struct bundle *bundle = NULL;
    struct probe_report report = {0};
    struct error why = {{0}};
    *out = (struct fuzz_probed){0};
    enum status status = make_bundle(subject, c, result, number, &bundle, &why);
    if (!status)
        status = probe(probing, subject, c->rule, bundle, &report, &why);
    bundle_close(bundle);
    out->runs = (uint64_t)report.runs;
    if (status == STATUS_UNSUPPORTED || status == STATUS_INVALID || status == STATUS_FULL) {
        snprintf(out->not_run, sizeof out->not_run, "%s", why.text);
        return STATUS_OK;
    }
    if (status)
        return error_set(err, status, "%s", why.text);
    describe(&report, result);
    return STATUS_OK;
}
