/* rules_launch.c - the kernel against the launches that its entry describes, or that were seen. */
#include <stdlib.h>
#include "system/yaml_doc.h"
#include "tools/lint/rules/rules.h"

/* -- threads of a block -- */

/* `fuzz: {block: 256}` of the entry, and the block of a launch, against .maxntid and .reqntid. */
static int64_t entry_block(const struct lint_kernel *k)
{
    const struct yaml_node *node = k->bench.fuzz ? yaml_get(k->bench.fuzz, "block") : NULL;
    return node && node->text ? strtoll(node->text, NULL, 10) : 0;
}

static int64_t launch_block(const struct lint_kernel *k)
{
    const struct lint_launch *launch = k->report->settings.launch;
    return launch ? (int64_t)launch->block[0] * launch->block[1] * launch->block[2] : 0;
}

static void check_block(struct lint_kernel *k, const char *who, int64_t block, int64_t most,
                        int64_t exact)
{
    if (block && exact && block != exact)
        lint_add(k, FLOW_NONE, "%s has %lld threads a block, the kernel requires %lld", who,
                 (long long)block, (long long)exact);
    else if (block && most && block > most)
        lint_add(k, FLOW_NONE, "%s has %lld threads a block, the kernel allows %lld", who,
                 (long long)block, (long long)most);
}

void rule_launch_bounds(struct lint_kernel *k)
{
    const struct ptx_function *f = k->flow->function;
    int64_t most = 0, exact = 0;
    for (unsigned i = 0; i < 3; i++) {
        most = f->maxntid[i] ? (most ? most : 1) * f->maxntid[i] : most;
        exact = f->reqntid[i] ? (exact ? exact : 1) * f->reqntid[i] : exact;
    }
    check_block(k, "the entry", entry_block(k), most, exact);
    check_block(k, "a launch", launch_block(k), most, exact);
}

/* -- dynamic shared memory -- */

enum { STEPS = 16 };

/* The constant distance of an address from the variable that it counts from, through sums of
 * constants. False: it is not known. */
static bool distance(const struct flow *flow, uint32_t address, int64_t *out)
{
    for (int step = 0; step < STEPS; step++) {
        const struct flow_value *v = &flow->value[address];
        uint64_t bits;
        if (v->kind == FLOW_ADDRESS) {
            *out += v->operand->offset;
            return true;
        }
        uint32_t first = flow_arg(flow, address, 0);
        if (flow_is(flow, address, "add") && flow_constant(flow, flow_arg(flow, address, 1), &bits))
            *out += (int64_t)(int32_t)bits;
        else if (!flow_is(flow, address, "mov") && !flow_is(flow, address, "cvt"))
            return false;
        address = first;
    }
    return false;
}

static bool is_dynamic(const struct lint_access *a)
{
    const struct ptx_variable *variable = a->base.variable;
    return a->base.kind == FLOW_BASE_VARIABLE && variable->space == PTX_SHARED &&
           variable->is_extern && !variable->bytes;
}

void rule_shared_launch(struct lint_kernel *k)
{
    const struct lint_launch *launch = k->report->settings.launch;
    struct lint_access a;
    for (uint32_t at = 0; launch && at < k->flow->function->instruction_count; at++) {
        if (!lint_access(k->flow, at, &a) || !is_dynamic(&a))
            continue;
        int64_t end = a.offset + a.bytes;
        bool known = distance(k->flow, a.address, &end);
        if (!launch->shared)
            lint_add(k, at, "accesses dynamic shared memory, of which a launch has none");
        else if (known && end > (int64_t)launch->shared)
            lint_add(k, at,
                     "accesses dynamic shared memory up to byte %lld, of which a launch has %u",
                     (long long)end, launch->shared);
    }
}
