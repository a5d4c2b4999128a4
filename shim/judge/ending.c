#include "judge/ending.h"

#include <string.h>
#include "base/clock.h"
#include "extra/digest.h"
#include "extra/parity.h"
#include "judge/listed.h"
#include "judge/notes.h"
#include "extra/project.h"
#include "judge/replay.h"
#include "state/state.h"
#include "copy/touch.h"
#include "judge/param_pointers.h"

static void settle(struct ending *ending, struct check *check)
{
    ledger_settle(ending->sink, &check->account, check->kernel, check->arena_bytes, clock_ns(),
                  &check->cost);
}

/* The arena's range is returned first: afterwards the slot may be another's. */
static void release(struct side *side, struct check *check)
{
    if (check->begin < check->end)
        side_reclaim(side, check);
    side_release(side, check);
}

void ending_skip(struct ending *ending, struct side *side, struct check *check, enum skip skip)
{
    settle(ending, check);
    ledger_skip(ending->sink, check_spec(check), skip);
    release(side, check);
}

void ending_warn(struct ending *ending, const struct check *check, enum skip skip,
                 const char *sentence)
{
    const struct sink *sink = ending->sink;
    if (!(atomic_fetch_or(&check->kernel->warned, 1u << skip) & 1u << skip))
        sink->warned(sink->user, check->kernel->symbol, skip, sentence);
}

/* A launch that gave another output than an earlier one for the same input is a finding, however
 * small the difference. */
static void compare_repeat(struct ending *ending, const struct lane *lane,
                           struct check_report *report)
{
    const struct digest_sums *sums = lane->digest_host;
    if (!lane->digested)
        return;
    report->digest = (struct digest_report){true,
                                            digest_input(lane->check, sums),
                                            sums->out,
                                            lane->check->sequence,
                                            lane->check->range,
                                            digest_unseen(lane->check)};
    if (!lane->check->kernel->spec->deterministic)
        return;
    if (!ending->repeats)
        ending->repeats = repeats_create();
    report->differs = repeats_differ(ending->repeats, digest_key(lane->check, sums), sums->out,
                                     lane->check->launch, &report->earlier);
    if (report->differs)
        report->verdict = VERDICT_MISMATCH;
}

/* The same of its items and a contract's other kernels. */
static void compare_items(struct ending *ending, struct side *side, const struct lane *lane,
                          struct check_report *report)
{
    struct ref_call call;
    if (!check_spec(lane->check)->contract)
        return;
    replay_call(lane->check, &call);
    parity_compare(&ending->meetings, side, lane, &call, report);
}

static void judge(struct ending *ending, struct side *side, struct lane *lane,
                  const struct state_report *state)
{
    struct check *check = lane->check;
    struct check_report report = {
        .spec = check_spec(check),
        .binding = &check->binding,
        .numbers = lane->numbers,
        .verdict = verdict_of(&lane->numbers),
        .gate = gate_text(check->gate),
        .outlier = check->outlier,
        .launch = check->launch,
        .device = side->device,
        .shared_bytes = check->shared_bytes,
        .cooperative = check->cooperative,
    };
    report.place = check->place;
    memcpy(report.cluster, check->cluster, sizeof(report.cluster));
    memcpy(report.grid, check->grid, sizeof(report.grid));
    memcpy(report.block, check->block, sizeof(report.block));
    if (state->rule) {
        report.state = *state;
        report.verdict = VERDICT_MISMATCH;
    }
    compare_repeat(ending, lane, &report);
    compare_items(ending, side, lane, &report);
    project_report(lane, &report);
    notes_fill(&report);
    struct replay_source replay = {side, lane, check};
    struct bundle_source source = {
        .user = &replay,
        .read_array = replay_read_array,
        .has_array = replay_has_array,
        .has_reference = replay_has_reference,
        .read_reference = replay_read_reference,
        .layout = &check->kernel->layout,
        .params = check->params,
        .params_bytes = check->params_bytes,
    };
    const struct image *image = NULL;
    struct param_pointer pointer[PARAM_POINTERS];
    if (report.verdict == VERDICT_MISMATCH) {
        source.machine = report_machine_of(side->device, side->multiprocessors);
        struct image_query query = {check->kernel->symbol, side->context, check->module,
                                    check->moment, (unsigned)source.machine.sm};
        image = images_hold(ending->images, &query, &source.no_image);
        source.image = image_data(image, &source.image_bytes);
        source.pointer = pointer;
        source.pointers = param_pointers_find(&check->kernel->layout, check->params,
                                              check->params_bytes, pointer);
    }
    hardware_judge(ending->hardware, check->signature, &report, &source);
    const struct sink *sink = ending->sink;
    sink->judged(sink->user, &report, &source);
    images_release(ending->images, image);
}

/* Why what the reference has found is no verdict; SKIP_NONE: it is one. */
static enum skip why_not(struct side *side, const struct lane *lane, struct error *why)
{
    if (lane->numbers.refused) {
        error_set(why, STATUS_INVALID, "%s", touch_refusal(lane->check));
        return SKIP_REFUSED;
    }
    return verdict_of(&lane->numbers) == VERDICT_MISMATCH ? listed_twice(side, lane->check, why)
                                                          : SKIP_NONE;
}

void ending_judge(struct ending *ending, struct side *side, struct lane *lane)
{
    struct check *check = lane->check;
    check->cost.reference =
        lane->numbers.busy + (lane->digested || lane->items ? digest_busy(lane) : 0);
    struct error why = {{0}};
    struct state_report state;
    /* What breaks a rule is a finding, also where an index leads the reference nowhere. */
    bool broken = state_judge(&ending->history, lane, &state);
    enum skip skip = broken ? SKIP_NONE : why_not(side, lane, &why);
    if (skip) {
        ending_warn(ending, check, skip, why.text);
        lane->check = NULL;
        ending_skip(ending, side, check, skip);
        return;
    }
    settle(ending, check);
    judge(ending, side, lane, &state);
    lane->check = NULL;
    release(side, check);
}
