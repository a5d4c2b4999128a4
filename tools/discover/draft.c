#include "tools/discover/draft.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "lang/dtype.h"
#include "text/printable.h"
#include "tools/discover/search/candidates.h"
#include "tools/discover/trial/probing.h"
#include "tools/discover/probing_text.h"

enum { KEPT = 4, MOST_LOST = 3, SHOWN_SHAPES = 4, SHOWN_VALUES = 4 };

/* An entry that matched. */
struct match {
    struct textbuf text;
    const struct ref_builtin *reference;
    unsigned hint, oddities, combined, launches;
    char left[128]; /* outputs that no formal stands for */
};

struct hunt {
    const struct draft_settings *settings;
    struct trial *trial;
    const struct facts *facts;
    struct probing_report rerun;
    struct textbuf file; /* the trial's registry */
    struct match match[KEPT];
    unsigned matches, tried, beyond, lost;
    const struct ref_builtin *failed; /* the last reference that ended the worker */
    int64_t until;
};

/* ---- the references that match ---- */

static bool is_better(const struct match *a, const struct match *b)
{
    if (a->hint != b->hint)
        return a->hint > b->hint;
    if (candidates_lenient(a->reference) != candidates_lenient(b->reference))
        return candidates_lenient(b->reference);
    if (a->oddities != b->oddities)
        return a->oddities < b->oddities;
    return a->combined < b->combined;
}

/* The names of outputs that are not judged, between commas. */
static void list_left(const struct entry *entry, char *out, size_t size)
{
    size_t used = 0;
    *out = '\0';
    for (unsigned f = 0; f < entry->facts->count && used < size; f++) {
        const char *name = entry->facts->fact[f].name;
        if (!entry_leaves(entry, f))
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s", used ? ", " : "");
        if (used < size && *name)
            used += (size_t)snprintf(out + used, size - used, "%s", name);
        else if (used < size)
            used += (size_t)snprintf(out + used, size - used, "p%u", f);
    }
}

/* One of each reference is kept, the best first. */
static void keep(struct hunt *hunt, const struct entry *entry, unsigned hint,
                 const struct trial_result *result)
{
    struct match match = {.reference = entry->reference,
                          .hint = hint,
                          .oddities = entry_oddities(entry),
                          .combined = entry_combined(entry),
                          .launches = result->launches};
    unsigned at = 0;
    while (at < hunt->matches && hunt->match[at].reference != entry->reference)
        at++;
    if (at == KEPT || (at < hunt->matches && !is_better(&match, &hunt->match[at])))
        return;
    if (at < hunt->matches)
        textbuf_release(&hunt->match[at].text);
    hunt->matches += at == hunt->matches;
    textbuf_init(&match.text);
    entry_print(entry, "", &match.text);
    list_left(entry, match.left, sizeof match.left);
    for (; at > 0 && is_better(&match, &hunt->match[at - 1]); at--)
        hunt->match[at] = hunt->match[at - 1];
    hunt->match[at] = match;
}

/* True: go on. Once one matches that fits by name, the others are not tried. */
static bool try_entry(void *user, const struct entry *entry, unsigned hint)
{
    struct hunt *hunt = user;
    struct trial_result result;
    if (hunt->matches && hunt->match[0].hint > hint)
        return false;
    if (hunt->failed == entry->reference)
        return clock_ns() < hunt->until;
    textbuf_clear(&hunt->file);
    textbuf_printf(&hunt->file, "version: 1\nkernels:\n");
    entry_print(entry, "", &hunt->file);
    trial_run(hunt->trial, hunt->file.data, &result);
    hunt->beyond += result.answer == TRIAL_BEYOND;
    if (result.answer == TRIAL_LOST) {
        hunt->failed = entry->reference;
        hunt->lost++;
    }
    if (result.answer == TRIAL_MATCH)
        keep(hunt, entry, hint, &result);
    return ++hunt->tried < hunt->settings->tries && hunt->lost < MOST_LOST &&
           clock_ns() < hunt->until;
}

/* Whether an output holds more than one value: else many formulas would match. */
static bool is_informative(const struct facts *facts)
{
    for (unsigned f = 0; f < facts->count; f++) {
        const struct fact *fact = &facts->fact[f];
        for (unsigned i = 0; fact->writes && i < facts->kernel->samples; i++) {
            uint64_t bytes = fact->changed[i];
            const struct seen_pointer *pointer =
                seen_pointer_at(facts->kernel->sample[i], fact->offset);
            const struct seen_region *region =
                bytes ? seen_memory(facts->kernel->sample[i], pointer->address) : NULL;
            const uint8_t *at =
                region ? region->after + (pointer->address - region->address) : NULL;
            unsigned size = dtype_bytes(fact->dtype);
            if (at && size && bytes > size && memcmp(at, at + size, bytes - size) != 0)
                return true;
            if (at && bytes <= 8)
                return true; /* a sum */
        }
    }
    return false;
}

/* ---- what is written ---- */

static void put_values(const struct facts *facts, unsigned number, struct textbuf *out)
{
    const struct fact *fact = &facts->fact[number];
    unsigned shown = 0;
    double seen[SHOWN_VALUES];
    for (unsigned i = 0; i < facts->kernel->samples && shown < SHOWN_VALUES; i++) {
        const struct seen_sample *sample = facts->kernel->sample[i];
        double value = fact->kind == FACT_REAL ? facts_real(fact, sample)
                                               : (double)facts_integer(fact, sample);
        bool fresh = true;
        for (unsigned j = 0; j < shown; j++)
            fresh &= seen[j] != value;
        if (!fresh)
            continue;
        textbuf_printf(out, "%s%.9g", shown ? ", " : "", value);
        seen[shown++] = value;
    }
}

static void put_parameter(const struct facts *facts, unsigned number, struct textbuf *out)
{
    static const char *const sources[] = {"by its values", "by the code", "by the name"};
    const struct fact *fact = &facts->fact[number];
    textbuf_printf(out, "  #   %u%s%s: %u bytes at %u: ", number, *fact->name ? " " : "",
                   fact->name, fact->size, fact->offset);
    if (fact->kind == FACT_ARRAY) {
        textbuf_printf(out, "pointer to %s%s%s%s",
                       fact->dtype == DTYPE_NONE ? "an unknown type" : dtype_text(fact->dtype),
                       fact->reads ? ", read" : "", fact->writes ? ", written" : "",
                       fact->adds ? ", added to" : "");
        if (fact->room != UINT64_MAX)
            textbuf_printf(out, "; at least %" PRIu64 " bytes to the end of the allocation",
                           fact->room);
    } else if (fact->kind == FACT_OTHER) {
        textbuf_printf(out, fact->zero ? "0 in every launch" : "a struct");
    } else {
        textbuf_printf(out, "%s %s: ", dtype_text(fact->dtype), sources[fact->source]);
        put_values(facts, number, out);
    }
    textbuf_printf(out, "\n");
    probing_put(facts, number, out);
}

static void put_shapes(const struct seen_kernel *kernel, struct textbuf *out)
{
    unsigned shown = 0;
    for (unsigned i = 0; i < kernel->samples && shown < SHOWN_SHAPES; i++) {
        const struct seen_sample *s = kernel->sample[i];
        bool fresh = true;
        for (unsigned j = 0; j < i && fresh; j++)
            fresh = memcmp(s->grid, kernel->sample[j]->grid, sizeof s->grid) != 0 ||
                    memcmp(s->block, kernel->sample[j]->block, sizeof s->block) != 0;
        if (!fresh)
            continue;
        textbuf_printf(out, "%s grid %ux%ux%u block %ux%ux%u", shown ? ";" : "  #  ", s->grid[0],
                       s->grid[1], s->grid[2], s->block[0], s->block[1], s->block[2]);
        if (s->shared)
            textbuf_printf(out, " shared %u", s->shared);
        shown++;
    }
    textbuf_printf(out, shown ? "\n" : "");
}

static void put_head(const struct record *record, const struct facts *facts, struct textbuf *out)
{
    const struct seen_kernel *kernel = facts->kernel;
    textbuf_printf(out, "\n  # %s\n", PRINTABLE(kernel->names.demangled));
    textbuf_printf(out, "  #   %" PRIu64 " launch%s", kernel->launches,
                   kernel->launches == 1 ? "" : "es");
    if (kernel->replayed)
        textbuf_printf(out, ", %" PRIu64 " of them in graphs", kernel->replayed);
    if (kernel->ns > 0 && record->ns > 0)
        textbuf_printf(out, "; %.3g %% of the time on the GPU without an entry, %.4g us each",
                       100 * kernel->ns / record->ns, kernel->ns / 1e3 / (double)kernel->launches);
    textbuf_printf(out, "\n");
    put_shapes(kernel, out);
}

static size_t lines_of(const struct textbuf *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->length; i++)
        lines += text->data[i] == '\n';
    return lines;
}

/* What launches that were run again show of each array; the other parameters are in the entry. */
static void put_probed(const struct facts *facts, struct textbuf *out)
{
    for (unsigned f = 0; f < facts->count; f++) {
        if (facts->fact[f].kind == FACT_ARRAY && facts_probed(&facts->fact[f]).launches)
            put_parameter(facts, f, out);
    }
}

static void put_matches(const struct hunt *hunt, struct textbuf *out, struct draft_counts *counts)
{
    textbuf_printf(out, "  #   %s matches %u recorded launch%s", hunt->match[0].reference->name,
                   hunt->match[0].launches, hunt->match[0].launches == 1 ? "" : "es");
    for (unsigned i = 1; i < hunt->matches; i++)
        textbuf_printf(out, "%s%s", i == 1 ? "; so do " : ", ", hunt->match[i].reference->name);
    textbuf_printf(out, "\n");
    if (*hunt->match[0].left)
        textbuf_printf(out, "  #   %s %s not judged\n", hunt->match[0].left,
                       strchr(hunt->match[0].left, ',') ? "are" : "is");
    put_probed(hunt->facts, out);
    textbuf_printf(out, "%s", hunt->match[0].text.data);
    counts->lines += lines_of(&hunt->match[0].text);
}

static void put_unknown(const struct hunt *hunt, unsigned launches, struct textbuf *out,
                        struct draft_counts *counts)
{
    struct textbuf text;
    for (unsigned f = 0; f < hunt->facts->count; f++)
        put_parameter(hunt->facts, f, out);
    if (!hunt->settings->tries || !hunt->trial)
        textbuf_printf(out, "  #   no reference was tried\n");
    else if (!launches)
        textbuf_printf(out,
                       "  #   no reference was tried: no memory of its launches was recorded\n");
    else if (hunt->tried)
        textbuf_printf(out, "  #   no reference matched, of %u entries that were tried%s%s\n",
                       hunt->tried, hunt->beyond ? "; some need more memory than was recorded" : "",
                       hunt->lost ? "; some took too long or failed" : "");
    else if (!is_informative(hunt->facts))
        textbuf_printf(out, "  #   no reference was tried: its outputs hold one value in each "
                            "launch, and many formulas would match\n");
    else
        textbuf_printf(out, "  #   no reference goes with its parameters\n");
    textbuf_init(&text);
    entry_print_unknown(hunt->facts, "#", &text);
    textbuf_add(out, text.data, text.length);
    counts->comments += lines_of(&text);
    textbuf_release(&text);
}

/* In at most half of the kernel's time. */
static void rerun_launches(struct hunt *hunt, struct facts *facts, struct draft_counts *counts)
{
    int64_t now = clock_ns();
    const struct draft_settings *settings = hunt->settings;
    const struct probing_settings probing = {.until = now + (hunt->until - now) / 2,
                                             .progress = settings->rerunning,
                                             .user = settings->user};
    probing_run(settings->rerun, facts, &probing, &hunt->rerun);
    facts_settle(facts);
    counts->rerun += hunt->rerun.launches > 0;
    counts->same += hunt->rerun.same + hunt->rerun.rounded > 0;
}

/* In half of the time that is left: the second pass begins with the likeliest references again. */
static void search_first(struct hunt *hunt, const struct facts *facts)
{
    int64_t now = clock_ns(), until = hunt->until;
    hunt->until = now + (until - now) / 2;
    candidates_each(facts, false, hunt->until, try_entry, hunt);
    hunt->until = until;
}

static void write_kernel(const struct record *record, const struct seen_kernel *kernel,
                         struct trial *trial, const struct draft_settings *settings,
                         struct textbuf *out, struct draft_counts *counts)
{
    static struct facts facts;
    struct hunt hunt = {.settings = settings, .trial = trial, .facts = &facts};
    facts_make(&facts, kernel);
    hunt.until = clock_ns() + (int64_t)settings->seconds * 1000000000;
    if (settings->rerun)
        rerun_launches(&hunt, &facts, counts);
    textbuf_init(&hunt.file);
    unsigned launches = trial ? trial_take(trial, kernel) : 0;
    bool may = launches && settings->tries && is_informative(&facts);
    if (may)
        search_first(&hunt, &facts);
    if (may && !hunt.matches && hunt.tried < settings->tries && hunt.lost < MOST_LOST)
        candidates_each(&facts, true, hunt.until, try_entry, &hunt);
    put_head(record, &facts, out);
    if (settings->rerun)
        probing_put_report(&hunt.rerun, out);
    if (hunt.matches)
        put_matches(&hunt, out, counts);
    else
        put_unknown(&hunt, launches, out, counts);
    counts->found += hunt.matches > 0;
    counts->found_ns += hunt.matches ? kernel->ns : 0;
    counts->silent += !launches;
    for (unsigned i = 0; i < hunt.matches; i++)
        textbuf_release(&hunt.match[i].text);
    textbuf_release(&hunt.file);
}

enum status draft_write(const struct record *record, struct trial *trial,
                        const struct draft_settings *settings, FILE *file,
                        struct draft_counts *counts, struct error *err)
{
    size_t most = settings->kernels && settings->kernels < record->kernels ? settings->kernels
                                                                           : record->kernels;
    struct textbuf out;
    *counts = (struct draft_counts){.kernels = most};
    textbuf_init(&out);
    textbuf_printf(
        &out,
        "# Kernels without an entry of %s, those with the most time on the GPU first.\n"
        "# Written by cuvet discover. Entries whose reference matched recorded launches\n"
        "# are in force; the others are comments.\nversion: 1\nkernels:\n",
        PRINTABLE(settings->program));
    for (size_t i = 0; i < most; i++) {
        if (settings->progress)
            settings->progress(settings->user, i, most, record->kernel[i].names.plain,
                               counts->found);
        write_kernel(record, &record->kernel[i], trial, settings, &out, counts);
    }
    if (settings->progress)
        settings->progress(settings->user, most, most, "", counts->found);
    if (!counts->found)
        textbuf_printf(&out, "  []\n"); /* a list all the same */
    bool whole = !out.failed && fwrite(out.data, 1, out.length, file) == out.length;
    textbuf_release(&out);
    return whole ? STATUS_OK : error_set(err, STATUS_IO, "the draft cannot be written");
}
