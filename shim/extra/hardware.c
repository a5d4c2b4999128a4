#include "extra/hardware.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "driver/nvml_api.h"

enum {
    SIGNATURES = 4096,
    ALONE = 100, /* so many matches for each mismatch: then it does not repeat */
};

struct hardware {
    struct hardware_row {
        uint64_t signature; /* 0: free */
        uint64_t matches, mismatches;
    } row[SIGNATURES];
};

struct hardware *hardware_create(void)
{
    return calloc(1, sizeof(struct hardware));
}

void hardware_destroy(struct hardware *hardware)
{
    free(hardware);
}

/* A new signature takes the place of an old one where both fall on it. */
static struct hardware_row *signature_row(struct hardware *hardware, uint64_t signature)
{
    signature = signature ? signature : 1;
    struct hardware_row *row = &hardware->row[signature % SIGNATURES];
    if (row->signature != signature)
        *row = (struct hardware_row){.signature = signature};
    return row;
}

/* The tensor of the reference that the worst element is in; -1: none. */
static int worst_tensor(const struct check_report *report)
{
    const struct binding *binding = report->binding;
    for (int t = 0; binding && t < binding->tensors; t++) {
        if (binding->tensor_array[t] >= 0 &&
            binding->call.tensor[t].id == report->numbers.worst_tensor)
            return t;
    }
    return -1;
}

/* The reference runs again, on the same copies. */
static void run_again(struct hardware_report *out, const struct check_report *report,
                      const struct bundle_source *source)
{
    const struct ref_verdict *n = &report->numbers;
    int tensor = n->violations ? worst_tensor(report) : -1;
    double value;
    if (tensor < 0 || !source->has_reference || !source->has_reference(source->user, tensor) ||
        source->read_reference(source->user, tensor, (int64_t)n->worst_index, 1, &value))
        return;
    out->again = true;
    out->repeats = !(fabs(n->worst_got - value) <= n->worst_bound);
}

static void fill_report(struct hardware_report *out, const struct hardware_row *row,
                        const struct check_report *report, const struct bundle_source *source)
{
    struct nvml_facts facts;
    out->enabled = true;
    out->matches = row->matches;
    out->mismatches = row->mismatches;
    run_again(out, report, source);
    out->suspected = (out->again && !out->repeats) || row->matches >= ALONE * (row->mismatches + 1);
    nvml_facts(report->device, &facts);
    memcpy(out->uuid, facts.uuid, sizeof(out->uuid));
    out->clock = facts.clock;
    out->celsius = facts.celsius;
    out->ecc = facts.ecc;
}

void hardware_judge(struct hardware *hardware, uint64_t signature, struct check_report *report,
                    const struct bundle_source *source)
{
    if (!hardware)
        return;
    struct hardware_row *row = signature_row(hardware, signature);
    if (report->verdict == VERDICT_MISMATCH)
        fill_report(&report->hardware, row, report, source);
    row->mismatches += report->verdict == VERDICT_MISMATCH;
    row->matches += report->verdict == VERDICT_MATCH;
}
