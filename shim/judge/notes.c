#include "judge/notes.h"

#include "refs/abi/ref_list.h"

static bool narrow_float(enum dtype dtype)
{
    return dtype == DTYPE_F16 || dtype == DTYPE_BF16 || dtype == DTYPE_F8E4M3 ||
           dtype == DTYPE_F8E5M2;
}

/* The rule of all outputs, if they have one rule, are so narrow that their rounding outweighs the
 * accumulator's, and the formula's roundings are known; -1: the statistics are not meaningful. */
static int common_rule(const struct binding *binding)
{
    int rule = -1;

    for (int i = 0; i < REF_MAX_POINTS; i++) {
        if (binding->call.point[i] & REF_POINT_MAY)
            return -1;
    }
    for (int i = 0; i < binding->tensors; i++) {
        int index = binding->tensor_array[i], other = binding->call.tensor[i].rule;

        if (index < 0 || !role_writes(binding->array[index].role))
            continue;
        if (!narrow_float(binding->array[index].dtype) || (rule >= 0 && rule != other))
            return -1;
        rule = other;
    }
    return rule == RULE_BOUND || rule == RULE_STOCHASTIC ? rule : -1;
}

/* Errors of elements that were counted more than once are not independent of each other. */
static bool counts_once(const struct kernel_spec *spec)
{
    return !spec || !spec->reference || !(spec->reference->uses & REF_REPEATS);
}

void notes_fill(struct check_report *report)
{
    bool known = report->binding && counts_once(report->spec);
    int rule = known ? common_rule(report->binding) : -1;

    report->statistics = report->verdict == VERDICT_MATCH && rule >= 0;
    report->notes =
        report->statistics ? verdict_notes(&report->numbers, rule == RULE_STOCHASTIC) : 0;
}
