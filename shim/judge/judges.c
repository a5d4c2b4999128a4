#include "judge/judges.h"

#include "copy/touch.h"
#include "extra/digest.h"
#include "extra/items.h"
#include "extra/parity.h"
#include "extra/project.h"
#include "extra/repeats.h"
#include "judge/replay.h"
#include "state/fetch.h"
#include "state/history.h"
#include "state/state.h"

void judges_close(struct judges *judges)
{
    history_destroy(judges->history);
    repeats_destroy(judges->repeats);
    meetings_destroy(judges->meetings);
}

/* ---- rules of caches and positions ---- */

static void report_rules(const struct judged *of, struct check_report *report)
{
    struct state_report state;
    if (state_judge(&of->judges->history, of->lane, &state))
        report->state = state;
    report->state.slots = state.slots;
}

/* ---- hashes of what the launch read and wrote, whole and by items ---- */

static bool hashes_wanted(const struct check *check)
{
    return digest_wanted(check) || parity_wanted(check);
}

static enum status hashes_fetch(struct side *side, struct lane *lane, struct error *err)
{
    struct ref_call call;
    bool items = parity_wanted(lane->check);
    lane->items = 0;
    lane->digested = digest_wanted(lane->check);
    if (!lane->digested && !items)
        return STATUS_OK;
    enum status status = digest_begin(side, lane, items, err);
    if (!status && lane->digested)
        status = digest_start(side, lane, err);
    if (!status && items) {
        replay_call(lane->check, &call);
        status = items_start(side, lane, &call, err);
    }
    return status ? status : digest_end(side, lane, items, err);
}

/* A launch that gave another output than an earlier one for the same input is a finding, however
 * small the difference. */
static void report_repeat(const struct judged *of, struct check_report *report)
{
    const struct check *check = of->lane->check;
    const struct digest_sums *sums = of->lane->digest_host;
    struct repeats **repeats = &of->judges->repeats;
    if (!of->lane->digested)
        return;
    report->digest = (struct digest_report){
        true,           digest_input(check, sums), sums->out, check->sequence, digest_unseen(check),
        check->executed};
    if (!check->kernel->spec->deterministic)
        return;
    if (!*repeats)
        *repeats = repeats_create();
    report->differs = repeats_differ(*repeats, digest_key(check, sums), sums->out, check->launch,
                                     &report->earlier);
}

/* The same of its items and a contract's other kernels. */
static void report_items(const struct judged *of, struct check_report *report)
{
    struct ref_call call;
    if (!check_spec(of->lane->check)->contract)
        return;
    replay_call(of->lane->check, &call);
    parity_compare(&of->judges->meetings, of->side, of->lane, &call, report);
}

/* ---- the list ---- */

static void report_projection(const struct judged *of, struct check_report *report)
{
    project_report(of->lane, report);
}

/* In this order: a row may use what rows above it have enqueued or reported. All but the phase may
 * be NULL. */
static const struct judge {
    enum judge_phase phase; /* JUDGE_RULES: findings stand even without the reference's verdict */
    /* Whether the check must run alone, in the order of launches. */
    bool (*wants_order)(const struct check *check);
    /* Enqueues work on the side stream, in front of the check's reference. */
    enum status (*enqueue)(struct side *side, struct lane *lane, struct error *err);
    /* Fills a field of the report; verdict_of_launch makes a mismatch of a finding. */
    void (*report)(const struct judged *of, struct check_report *report);
} judge_table[] = {
    {JUDGE_RULES, state_wanted, state_fetch, report_rules},
    {JUDGE_RESULTS, NULL, touch_start,
     NULL}, /* the judges below read what it makes of the copies */
    {JUDGE_RESULTS, hashes_wanted, hashes_fetch, report_repeat},
    {JUDGE_RESULTS, NULL, NULL, report_items}, /* by the hashes of items */
    {JUDGE_RESULTS, NULL, project_fetch, report_projection},
};

enum { JUDGES = sizeof(judge_table) / sizeof(*judge_table) };

bool judges_want_order(const struct check *check)
{
    bool wanted = false;
    for (int i = 0; i < JUDGES && !wanted; i++)
        wanted = judge_table[i].wants_order && judge_table[i].wants_order(check);
    return wanted;
}

enum status judges_enqueue(struct side *side, struct lane *lane, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < JUDGES && !status; i++) {
        if (judge_table[i].enqueue)
            status = judge_table[i].enqueue(side, lane, err);
    }
    return status;
}

void judges_report(const struct judged *of, enum judge_phase phase, struct check_report *report)
{
    for (int i = 0; i < JUDGES; i++) {
        if (judge_table[i].phase == phase && judge_table[i].report)
            judge_table[i].report(of, report);
    }
}
