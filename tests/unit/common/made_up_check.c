#include "tests/unit/common/made_up_check.h"

#include "refs/abi/ref_merge.h"

static struct bound_array bf16_array(const char *name, enum role role, uint64_t address)
{
    return (struct bound_array){.name = name,
                                .role = role,
                                .dtype = DTYPE_BF16,
                                .address = address,
                                .ndim = 2,
                                .dim = {4, 8},
                                .stride = {8, 1},
                                .bytes = 2 * MADE_UP_ELEMENTS};
}

void made_up_match(struct made_up_check *check)
{
    static const struct ref_tensor tensor = {
        .dim = {4, 8}, .stride = {8, 1}, .dtype = DTYPE_BF16, .ndim = 2, .rule = RULE_BOUND};

    *check = (struct made_up_check){0};
    check->reference =
        (struct ref_builtin){.name = "double", .formals = "in x[rows][cols], out y[rows][cols]"};
    check->spec = (struct kernel_spec){.symbol = "_Z6doublePK13__nv_bfloat16PS_",
                                       .label = "double",
                                       .where = "kernels.yaml:12",
                                       .reference = &check->reference};
    check->binding.arrays = 2;
    check->binding.array[0] = bf16_array("x", ROLE_READ, 0x7f0000001000);
    check->binding.array[1] = bf16_array("y", ROLE_WRITE, 0x7f0000002000);
    check->binding.tensors = 2;
    check->binding.tensor_array[1] = 1;
    check->binding.call.tensor[0] = check->binding.call.tensor[1] = tensor;
    check->binding.call.tensor[1].id = 1;
    check->binding.call.lambda = 8;
    check->report = (struct check_report){.spec = &check->spec,
                                          .binding = &check->binding,
                                          .gate = "first",
                                          .launch = 17,
                                          .grid = {128, 1, 1},
                                          .block = {256, 1, 1},
                                          .shared_bytes = 48};
    ref_verdict_clear(&check->report.numbers);
    check->report.numbers.checked = check->report.numbers.measured = MADE_UP_ELEMENTS;
    check->report.numbers.max_ratio = 0.5;
    check->report.numbers.sum_square = MADE_UP_ELEMENTS / 12.0;
}

void made_up_mismatch(struct made_up_check *check)
{
    struct ref_verdict *numbers;

    made_up_match(check);
    numbers = &check->report.numbers;
    check->report.verdict = VERDICT_MISMATCH;
    numbers->violations = 2;
    numbers->max_ratio = 31.5;
    numbers->first_tensor = numbers->worst_tensor = 1;
    numbers->first_index = 1 * 8 + 2;
    numbers->worst_index = 3 * 8 + 5;
    numbers->first_got = 1.5;
    numbers->first_ref = 1.25;
    numbers->first_bound = 0.0625;
    numbers->worst_got = 3;
    numbers->worst_ref = 1.03125;
    numbers->worst_bound = 0.0625;
}

void made_up_subset(struct made_up_check *check)
{
    struct binding *binding = &check->binding;

    binding->subset = (struct subset){.dim = "rows", .total = 100, .count = 4, .judged = 4};
    binding->subset.select =
        (struct snapshot_select){.length = 2, .blocks = 2, .unit = 2, .start = {0, 49}};
    for (int i = 0; i < 2; i++) {
        binding->subset.axis[i] = 0;
        binding->array[i].axis = 0;
        binding->array[i].dim[0] = 100;
        binding->array[i].bytes = 1600;
    }
}
