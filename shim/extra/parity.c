#include "extra/parity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "extra/digest.h"
#include "extra/fetch.h"
#include "extra/items.h"
#include "lang/dtype.h"
#include "plan/plan.h"

bool parity_wanted(const struct check *check)
{
    const struct kernel_spec *spec = check_spec(check);
    return spec->contract && spec->plan->formals && !check->binding.picks &&
           digest_unseen(check) == 0;
}

/* ---- values, for contracts with a margin ---- */

/* The outputs of all items that are hashed, each of them `each` dense bytes. */
struct values {
    uint8_t *bytes;
    size_t each;
    struct part {
        enum dtype dtype;
        uint64_t elements;
        size_t at; /* in an item's bytes */
    } part[REF_MAX_TENSORS];
    int parts;
};

/* One item of a tensor whose snapshot is in `from`, row major. */
static void gather_items(const struct digest_items_call *call, uint64_t elements,
                         const uint8_t *from, uint8_t *to)
{
    const struct digest_call *one = &call->one;
    for (uint64_t i = 0; i < elements; i++) {
        uint64_t offset = 0, rest = i;
        for (int k = (int)one->ndim - 1; k >= 0; k--) {
            offset += rest % one->dim[k] * one->stride[k];
            rest /= one->dim[k];
        }
        memcpy(to + i * one->element, from + offset * one->element, one->element);
    }
}

static void measure(const struct ref_call *call, const struct items *items, int tensors,
                    struct values *out)
{
    struct digest_items_call lie;
    uint64_t elements;
    *out = (struct values){0};
    for (int t = 0; t < tensors; t++) {
        if (!items_output(call, items, t, &lie, &elements))
            continue;
        enum dtype dtype = (enum dtype)call->tensor[t].dtype;
        out->part[out->parts++] = (struct part){dtype, elements, out->each};
        out->each += (size_t)elements * dtype_bytes(dtype);
    }
}

/* False: no memory, or a tensor is larger than what is fetched at once. */
static bool load_items(struct side *side, const struct ref_call *call, const struct items *items,
                       int tensors, struct values *out)
{
    struct digest_items_call lie;
    uint64_t elements;
    int part = 0;
    measure(call, items, tensors, out);
    if (!out->each || !(out->bytes = malloc(out->each * items->count)))
        return false;
    for (int t = 0; t < tensors; t++) {
        const struct ref_tensor *tensor = &call->tensor[t];
        if (!items_output(call, items, t, &lie, &elements))
            continue;
        if (tensor->bytes > STAGING_BYTES ||
            fetch(side, (CUdeviceptr)(uintptr_t)tensor->got, (size_t)tensor->bytes))
            return false;
        for (uint32_t i = 0; i < items->count; i++)
            gather_items(&lie, elements,
                         (const uint8_t *)side->staging_host +
                             (uint64_t)items_place(items, i) * lie.stride,
                         out->bytes + i * out->each + out->part[part].at);
        part++;
    }
    return true;
}

static bool is_near(const struct contract *contract, double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= contract->atol + contract->rtol * fmax(fabs(a), fabs(b));
}

/* Whether two items are equal; writes the first element that differs to the report. */
static bool compare_values(const struct contract *contract, const struct values *values,
                           const uint8_t *got, const uint8_t *other, struct parity_report *report)
{
    for (int p = 0; p < values->parts; p++) {
        const struct part *part = &values->part[p];
        unsigned size = dtype_bytes(part->dtype);
        for (uint64_t e = 0; e < part->elements; e++) {
            double a = dtype_load(part->dtype, got + part->at + e * size);
            double b = dtype_load(part->dtype, other + part->at + e * size);
            if (is_near(contract, a, b))
                continue;
            if (!report->differ) {
                report->element = (int64_t)e;
                report->got = a;
                report->other_got = b;
            }
            return false;
        }
    }
    return true;
}

/* ---- items ---- */

static uint64_t check_variant(const struct check *check, const struct configuration *how)
{
    uint64_t hash = digest_mix(digest_mix(0, check_spec(check)->number), how->function);
    for (int i = 0; i < 3; i++)
        hash = digest_mix(digest_mix(hash, how->grid[i]), how->block[i]);
    return digest_mix(hash, how->shared_bytes);
}

/* Records the first item that differs, or else the first that shows which launch is the odd one. */
static void note_difference(struct parity_report *report, const struct meeting_news *news,
                            int64_t item)
{
    bool first = news->differs ? report->differ == 0 : news->reveals && !report->reveals;
    if (first && (news->differs || !report->differ)) {
        report->item = item;
        report->other = news->other.spec;
        report->other_launch = news->other.launch;
        report->other_item = news->other.item;
        report->other_place = news->other.place;
        report->other_how = news->other.how;
        report->single = news->single;
        report->with = news->with;
        report->others = news->others;
    }
    report->met += news->met;
    report->differ += news->differs;
    report->reveals |= news->reveals;
}

static void add_met_item(struct meetings *meetings, const struct lane *lane,
                         const struct items *items, const struct values *values, uint32_t i,
                         bool wrong, struct parity_report *report)
{
    const struct check *check = lane->check;
    const struct digest_sums *sums = lane->digest_host;
    struct meeting *meeting = meetings_find(meetings, items_key(check, items, sums, i));
    const struct meeting_source source = {
        .spec = check->kernel->spec,
        .variant = check_variant(check, &report->how),
        .how = report->how,
        .launch = check->launch,
        .item = items_place(items, i),
        .place = check->place,
    };
    const uint8_t *bytes = values->bytes ? values->bytes + i * values->each : NULL;
    bool near = bytes && meeting->outputs && meeting->output[0].digest != sums->item_out[i] &&
                meeting->kept_bytes == values->each &&
                compare_values(report->contract, values, bytes, meeting->kept, report);
    if (bytes && meeting->outputs && !meeting->kept)
        return; /* there was no room for the first: unknown */
    struct meeting_news news = meeting_add(meeting, sums->item_out[i], near, wrong, &source);
    if (report->contract->single_bits && items->total == 1)
        meeting_add_single(meeting, sums->item_out[i], wrong, &source, &news);
    if (bytes && !news.met && !wrong)
        meetings_keep(meetings, meeting, bytes, values->each);
    note_difference(report, &news, source.item);
}

void parity_compare(struct meetings **meetings, struct side *side, const struct lane *lane,
                    const struct ref_call *call, struct check_report *report)
{
    struct parity_report *out = &report->parity;
    const struct check *check = lane->check;
    struct items items;
    struct values values = {0};
    out->contract = check_spec(check)->contract;
    if (!out->contract || !lane->items)
        return;
    if (!*meetings)
        *meetings = meetings_create();
    items_find(check, &items);
    out->how = check->how;
    bool good = *meetings && (out->contract->bits ||
                              load_items(side, call, &items, check->binding.tensors, &values));
    bool wrong = verdict_of_launch(report) == VERDICT_MISMATCH;
    for (uint32_t i = 0; good && i < lane->items; i++)
        add_met_item(*meetings, lane, &items, &values, i, wrong, out);
    out->items = good ? lane->items : 0;
    free(values.bytes);
}
