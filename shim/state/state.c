#include "state/state.h"

#include "state/history.h"

bool state_wanted(const struct check *check)
{
    return check_spec(check)->plan->state != NULL;
}

bool state_judge(struct history **history, const struct lane *lane, struct state_report *report)
{
    struct state_view view;
    struct state_case of;
    report->rule = NULL;
    report->slots = NULL;
    report->live = (struct state_live){0};
    if (!lane->fetched)
        return false;
    if (!*history)
        *history = history_create();
    state_view(lane, &view);
    state_case_open(&of, lane->check, &view);
    report->slots = history_slots(*history, &of);
    state_live(&of, &report->live);
    bool found = state_rules(&of, report);
    struct state_report other = {0};
    if (history_rules(*history, &of, found ? &other : report))
        found = true;
    return found;
}
