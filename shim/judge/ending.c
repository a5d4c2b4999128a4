#include "judge/ending.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "extra/digest.h"
#include "image/vendor.h"
#include "judge/listed.h"
#include "judge/modules/module_variables.h"
#include "judge/notes.h"
#include "judge/replay.h"
#include "judge/transform.h"
#include "lifted/lift_params.h"
#include "copy/touch.h"
#include "bind/param_pointers.h"

static void settle_check(struct ending *ending, struct check *check)
{
    ledger_settle(ending->sink, &check->account, check->kernel, check->room.bytes, clock_ns(),
                  &check->cost);
}

/* The arena's range is returned first: afterwards the slot may be another's. */
static void release_check(struct side *side, struct check *check)
{
    if (check->room.begin < check->room.end)
        side_reclaim(side, check);
    side_release(side, check);
}

void ending_skip(struct ending *ending, struct side *side, struct check *check, enum skip skip)
{
    settle_check(ending, check);
    ledger_skip(ending->sink, check_spec(check), skip);
    release_check(side, check);
}

void ending_warn(struct ending *ending, const struct check *check, enum skip skip,
                 const char *sentence)
{
    const struct sink *sink = ending->sink;
    const uint64_t bit = (uint64_t)1 << skip;
    if (!(atomic_fetch_or(&check->kernel->warned, bit) & bit))
        sink->warned(sink->user, check->kernel->symbol, skip, sentence);
}

/* What is known of the check without its judges. */
static struct check_report describe_check(const struct side *side, const struct lane *lane)
{
    struct check *check = lane->check;
    struct check_report report = {
        .spec = check_spec(check),
        .binding = &check->binding,
        .numbers = lane->numbers,
        .gate = gate_text(check->gate.result),
        .outlier = check->probe.found,
        .launch = check->launch,
        .device = side->device,
        .shared_bytes = check->how.shared_bytes,
        .cooperative = check->cooperative,
    };
    report.place = check->place;
    report.range = check->range;
    memcpy(report.cluster, check->cluster, sizeof(report.cluster));
    memcpy(report.grid, check->how.grid, sizeof(report.grid));
    memcpy(report.block, check->how.block, sizeof(report.block));
    return report;
}

/* The file that the image lay in when it was loaded, and what library of NVIDIA's it is of. */
static void name_vendor(struct bundle_source *source, const struct image *image, const char *symbol,
                        char path[PATH_MAX])
{
    const void *origin = image_origin(image);
    Dl_info info;
    bool known =
        origin && dladdr(origin, &info) && info.dli_fname && realpath(info.dli_fname, path);
    source->vendor = image ? vendor_library(known ? path : NULL, symbol) : NULL;
    source->vendor_file = source->vendor && known ? path : NULL;
}

/* The launch's parameters; in place of tensor maps, whose bytes are not public, what they describe.
 */
static const uint8_t *described_params(const struct check *check, uint8_t out[CHECK_PARAMS])
{
    const struct lift *lift = check_spec(check)->lift;
    if (!lift || !lift_has_maps(lift) || check->params.bytes > CHECK_PARAMS)
        return check->params.packed;
    lift_params_bundle(out, lift, check->params.packed, check->params.bytes,
                       &check->kernel->layout);
    return out;
}

/* The report goes out, with what a bundle would be made of. */
static void hand_out_report(struct ending *ending, struct side *side, struct lane *lane,
                            struct check_report *report)
{
    struct check *check = lane->check;
    struct replay_source replay = {.side = side, .lane = lane, .check = check};
    struct bundle_source source = {
        .user = &replay,
        .read_array = replay_read_array,
        .has_array = replay_has_array,
        .has_reference = replay_has_reference,
        .read_reference = replay_read_reference,
        .layout = &check->kernel->layout,
        .params = check->params.packed,
        .params_bytes = check->params.bytes,
    };
    const struct image *image = NULL;
    struct param_pointer pointer[PARAM_POINTERS];
    char path[PATH_MAX];
    uint8_t described[CHECK_PARAMS];
    if (report->verdict == VERDICT_MISMATCH) {
        source.params = described_params(check, described);
        source.machine = report_machine_of(side->device, side->multiprocessors);
        struct image_query query = {check->kernel->symbol, side->context, check->module.home,
                                    check->module.moment, (unsigned)source.machine.sm};
        image = images_hold(ending->images, &query, &source.no_image);
        source.image = image_data(image, &source.image_bytes);
        name_vendor(&source, image, check->kernel->symbol, path);
        replay.image = source.image;
        replay.image_bytes = source.image_bytes;
        replay.arch = query.arch;
        source.variables = source.image ? replay_read_variables : NULL;
        source.pointer = pointer;
        source.pointers = param_pointers_find(&check->kernel->layout, source.params,
                                              check->params.bytes, pointer);
    }
    hardware_judge(ending->hardware, check->gate.signature, report, &source);
    const struct sink *sink = ending->sink;
    sink->judged(sink->user, report, &source);
    module_variables_free(replay.variables);
    images_release(ending->images, image);
}

/* Notes how far behind an address a lifted kernel has reached (lift_figures.reached), farther than
 * any check of it before: the next copies cover that. */
static bool reached_farther(struct lane *lane)
{
    const struct lift *lift = check_spec(lane->check)->lift;
    const uint64_t reached = lane->numbers.measured;
    if (!lift)
        return false;
    lane->numbers.measured = 0;
    return lift_note_reached(lift, reached);
}

/* Why what the reference has found is no verdict; SKIP_NONE: it is one. */
static enum skip why_not(struct side *side, struct lane *lane, bool farther, struct error *why)
{
    if (lane->numbers.refused && farther) { /* at most as often as sizes double */
        gate_return(lane->check->gate.turn);
        return SKIP_NEW_MEMORY;
    }
    if (lane->numbers.refused) {
        error_set(why, STATUS_INVALID, "%s", touch_refusal(lane->check));
        return SKIP_REFUSED;
    }
    if (verdict_of(&lane->numbers) != VERDICT_MISMATCH)
        return SKIP_NONE;
    enum skip skip = listed_cut(side, lane->check, why);
    if (!skip)
        skip = listed_twice(side, lane->check, why);
    return skip ? skip : replay_written_again(side, lane, why);
}

void ending_judge(struct ending *ending, struct side *side, struct lane *lane)
{
    struct check *check = lane->check;
    check->cost.reference =
        lane->numbers.busy + (lane->digested || lane->items ? digest_busy(lane) : 0);
    struct error why = {{0}};
    transform_allow(side, lane);
    const bool farther = reached_farther(lane);
    struct check_report report = describe_check(side, lane);
    const struct judged of = {&ending->judges, side, lane};
    /* What breaks a rule is a finding, also where an index leads the reference nowhere. */
    judges_report(&of, JUDGE_RULES, &report);
    enum skip skip = report.state.rule ? SKIP_NONE : why_not(side, lane, farther, &why);
    if (skip) {
        if (skip != SKIP_NEW_MEMORY)
            ending_warn(ending, check, skip, why.text);
        lane->check = NULL;
        ending_skip(ending, side, check, skip);
        return;
    }
    settle_check(ending, check);
    judges_report(&of, JUDGE_RESULTS, &report);
    report.verdict = verdict_of_launch(&report);
    notes_fill(&report);
    hand_out_report(ending, side, lane, &report);
    lane->check = NULL;
    release_check(side, check);
}
