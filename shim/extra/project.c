#include "extra/project.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include "lang/dtype.h"
#include "context/enqueue.h"

enum {
    ALIGN = 256,
    LEAST = 8192, /* elements of c: a reference checks so many in any case */
    BLOCKS = 256, /* that a pass should have at least, to fill a GPU */
    SECTOR = 32,  /* bytes that memory gives at once */
    PART = 4,     /* of the arrays' bytes, that the vectors may take */
};

static const double UNIT = 0x1p-53;     /* of our own sums */
static const double SHARE = 0.125;      /* of the largest number, which no sum may exceed */
static const double MOST = 0x1p500;     /* squares of margins of such terms do not overflow */
static const double F16 = 0x1p-11;      /* unit roundoff */
static const double FALSE_ALARM = 1e-9; /* share of right launches that may be called */

/* ---- the arrays ---- */

/* The last element lies inside the array that stands behind the tensor. */
static bool tensor_fits(const struct ref_tensor *tensor, const struct bound_array *array)
{
    uint64_t last = 0;
    for (int i = 0; i < tensor->ndim; i++)
        last += (uint64_t)(tensor->dim[i] - 1) * (uint64_t)tensor->stride[i];
    return (last + 1) * dtype_bytes(array->dtype) <= array->bytes;
}

/* Dim `size` of the formal, as the stride of one index; 0 where it has not got it. */
static int64_t stride_of(const struct formal *formal, const struct ref_tensor *tensor, int size)
{
    int axis = size < 0 ? -1 : formals_axis(formal, size);
    return axis < 0 ? 0 : tensor->stride[axis];
}

/* The array behind `slot`, where it lies as the call describes it; NULL: absent, or it does not. */
static const struct bound_array *plain_array(const struct binding *binding, int slot)
{
    int index = binding->tensor_array[slot];
    const struct bound_array *array = index < 0 ? NULL : &binding->array[index];
    bool plain = array && array->blocks == DTYPE_NONE && bound_ids(array) < 0 &&
                 tensor_fits(&binding->call.tensor[slot], array);
    return plain ? array : NULL;
}

/* Whether the launch overwrites what it reads there. */
static bool overwritten(const struct snapshot_plan *whole, const struct binding *binding,
                        const struct bound_array *array)
{
    return array->role != ROLE_WRITE &&
           whole->placement[array - binding->array].before != NOT_COPIED;
}

/* The array in `slot` as a matrix of `size[1]` by `size[2]`, `size[0]` times. False where it is
 * absent, or where the launch overwrites it. */
static bool projected_matrix(const struct binding *binding, const struct formals *formals,
                             const struct snapshot_plan *whole, int slot, const int size[3],
                             struct ref_matrix *out)
{
    const struct bound_array *array = plain_array(binding, slot);
    const struct formal *formal = formals_array(formals, slot);
    if (!array)
        return false;
    *out =
        (struct ref_matrix){.data = (const void *)(uintptr_t)array->address, .dtype = array->dtype};
    for (int i = 0; i < 3; i++)
        out->stride[i] = stride_of(formal, &binding->call.tensor[slot], size[i]);
    return formal->kind != FORMAL_IN || !overwritten(whole, binding, array);
}

/* Every `part` columns become one matrix of a batch. */
static void split_matrix(struct ref_matrix *matrix, int64_t part)
{
    matrix->stride[0] = part * matrix->stride[2];
}

static void split_columns(struct ref_product *p, int64_t part)
{
    p->batch = p->n / part;
    p->part = part;
    p->n = part;
    p->a.stride[0] = 0;
    split_matrix(&p->b, part);
    split_matrix(&p->c, part);
    for (uint32_t i = 0; i < p->addends; i++)
        split_matrix(&p->added[i], part);
}

/* Whether an input that is not there stands for factors of 1. */
static bool absent_as_one(const struct binding *binding, int slot)
{
    return binding->tensor_array[slot] < 0 && binding->call.tensor[slot].absent == 1;
}

/* The f32 elements of the array in `slot`; NULL: it has others, or cannot be read. */
static const float *factors_at(const struct binding *binding, const struct snapshot_plan *whole,
                               int slot)
{
    const struct bound_array *array = plain_array(binding, slot);
    if (!array || array->dtype != DTYPE_F32 || overwritten(whole, binding, array))
        return NULL;
    return (const float *)(uintptr_t)array->address;
}

/* The factors in `slot` of a matrix of size[0] by size[1]. */
static bool factor_scales(const struct binding *binding, const struct snapshot_plan *whole,
                          int slot, const int64_t size[2], int64_t group, struct ref_scales *out)
{
    const struct ref_tensor *tensor = &binding->call.tensor[slot];
    if (absent_as_one(binding, slot))
        return true;
    int64_t of[2];
    for (int i = 0; i < 2; i++) {
        of[i] = REF_SCALE_GROUP(size[i], tensor->dim[i], group);
        bool each_has_one = size[i] > 0 && (size[i] - 1) / of[i] < tensor->dim[i];
        if (!each_has_one || of[i] > UINT32_MAX || size[i] > UINT32_MAX)
            return false;
    }
    *out = (struct ref_scales){
        .data = factors_at(binding, whole, slot),
        .stride = {tensor->stride[0], tensor->stride[1]},
        .rows = (uint32_t)of[0],
        .cols = (uint32_t)of[1],
    };
    return out->data != NULL;
}

/* The factors that lie in memory. */
static bool describe_factors(struct ref_product *product, const struct binding *binding,
                             const struct formals *formals, const struct snapshot_plan *whole)
{
    const struct formal_product *promise = &formals->product;
    int64_t group =
        promise->group < 0 ? 0 : binding->call.size[formals->formal[promise->group].slot];
    if (promise->scaled &&
        (!factor_scales(binding, whole, promise->a_scale, (int64_t[]){product->m, product->k},
                        group, &product->a_scales) ||
         !factor_scales(binding, whole, promise->b_scale, (int64_t[]){product->k, product->n},
                        group, &product->b_scales)))
        return false;
    if (!promise->timed || absent_as_one(binding, promise->times))
        return true;
    product->times = factors_at(binding, whole, promise->times);
    return product->times && binding->call.tensor[promise->times].dim[0] > 0;
}

static double scale_of(const struct binding *binding, int slot)
{
    return slot < 0 ? 1 : binding->call.scalar[slot];
}

/* Whether the array of `slot` is the output, as it was before the launch. */
static bool slot_is_output(const struct binding *binding, int slot, int out)
{
    const struct ref_tensor *added = &binding->call.tensor[slot],
                            *output = &binding->call.tensor[out];
    return slot == out ||
           (binding->tensor_array[slot] == binding->tensor_array[out] &&
            added->ndim == output->ndim &&
            memcmp(added->stride, output->stride, output->ndim * sizeof *output->stride) == 0);
}

/* What is added to the product. A factor of 0 means that the array is not read (BLAS). */
static bool add_tensors(struct ref_product *product, const struct binding *binding,
                        const struct formals *formals, const struct snapshot_plan *whole,
                        const int size[3])
{
    const struct formal_product *promise = &formals->product;
    for (int i = 0; i < promise->addends; i++) {
        int slot = promise->added[i].array;
        double scale = scale_of(binding, promise->added[i].scale);
        bool absent = binding->tensor_array[slot] < 0 && binding->call.tensor[slot].absent == 0;
        if (scale == 0 || absent)
            continue;
        if (slot_is_output(binding, slot, promise->out)) {
            product->before += scale;
            continue;
        }
        if (formals_array(formals, slot)->kind != FORMAL_IN ||
            !projected_matrix(binding, formals, whole, slot, size,
                              &product->added[product->addends]))
            return false;
        product->scale[product->addends++] = scale;
    }
    return true;
}

static bool describe_product(struct ref_product *product, const struct binding *binding,
                             const struct formals *formals, const struct snapshot_plan *whole)
{
    const struct formal_product *promise = &formals->product;
    const struct ref_call *call = &binding->call;
    const int of_a[] = {promise->batch, promise->rows, promise->sum};
    const int of_b[] = {promise->batch, promise->sum, promise->cols};
    const int of_c[] = {promise->batch, promise->rows, promise->cols};
    *product = (struct ref_product){
        .alpha = scale_of(binding, promise->alpha),
        .batch = promise->batch < 0 ? 1 : call->size[promise->batch],
        .m = call->size[promise->rows],
        .n = call->size[promise->cols],
        .k = call->size[promise->sum],
    };
    if (call->tensor[promise->out].accumulates)
        product->before = 1;
    return projected_matrix(binding, formals, whole, promise->a, of_a, &product->a) &&
           projected_matrix(binding, formals, whole, promise->b, of_b, &product->b) &&
           projected_matrix(binding, formals, whole, promise->out, of_c, &product->c) &&
           add_tensors(product, binding, formals, whole, of_c) &&
           describe_factors(product, binding, formals, whole);
}

/* ---- the margin, see refs/abi/ref_product.h ---- */

/* Bits of the fraction, smallest normal and largest number of a real type. */
static bool format_of(enum dtype dtype, int *fraction, double *least, double *largest)
{
    static const struct {
        int fraction;
        double least, largest;
    } formats[DTYPE_COUNT] = {
        [DTYPE_F64] = {52, DBL_MIN, DBL_MAX}, [DTYPE_F32] = {23, FLT_MIN, FLT_MAX},
        [DTYPE_F16] = {10, 0x1p-14, 65504},   [DTYPE_BF16] = {7, FLT_MIN, 0x1.fep127},
        [DTYPE_F8E4M3] = {3, 0x1p-6, 448},    [DTYPE_F8E5M2] = {2, 0x1p-14, 57344},
    };
    *fraction = formats[dtype].fraction;
    *least = formats[dtype].least;
    *largest = formats[dtype].largest;
    return *largest > 0;
}

/*
 * The margin where the kernel may round the product before something is added: half an ulp of it,
 * which is no more than half an ulp of |c| and of what is added, of the sum's own errors, and, in
 * f16, of a subnormal. False: a point of another kind, at which the product is not known.
 */
static bool add_point(struct ref_product *product, const struct ref_call *call,
                      const struct ref_tensor *output)
{
    if (!binding_has_points(call))
        return true;
    for (int i = 1; i < REF_MAX_POINTS; i++) {
        if (call->point[i] != DTYPE_NONE)
            return false;
    }
    if (call->point[0] != (output->dtype | REF_POINT_MAY))
        return false;
    double u = 1.01 * product->half_ulp;
    product->relative += u;
    product->of_added += u;
    product->of_sum *= 1 + u;
    product->of_times += u * product->least;
    return true;
}

/* Where all that is added up stays below this, no right kernel overflows: neither its sums nor the
 * output. Inputs that are rounded to f16 may overflow by themselves, so then there is none. */
static double limit_of(const struct ref_call *call, double largest)
{
    if (call->input_roundoff == F16)
        return 0;
    double sums = call->unit_roundoff == F16       ? 65504
                  : call->unit_roundoff >= 0x1p-24 ? FLT_MAX
                                                   : DBL_MAX;
    return fmin(SHARE * fmin(sums, largest), MOST);
}

static bool bound(struct ref_product *product, const struct ref_call *call,
                  const struct ref_tensor *output)
{
    double n = (double)product->n, k = (double)product->k, alpha = fabs(product->alpha);
    double u = call->unit_roundoff + UNIT, rho = call->input_roundoff;
    double rows = (double)product->batch * (double)product->m;
    int fraction;
    if (!format_of(output->dtype, &fraction, &product->least, &product->largest) ||
        !isfinite(alpha))
        return false;
    product->half_ulp = ldexp(output->rule == RULE_STOCHASTIC ? 1 : 0.5, -fraction);
    product->limit = limit_of(call, product->largest);
    product->floor = sqrt(n) * 0x1p-511;
    product->absolute = product->floor;
    product->odds = sqrt(2 * log(2 * rows / FALSE_ALARM));
    product->own = (n + 8) * sqrt(n) * UNIT;
    product->own_sum = 1.01 * alpha * (n + k + 8) * sqrt(n) * UNIT;
    if (output->rule == RULE_CLOSE) {
        /* |c| <= |got| + its margin, so the margin is over what is left of 1. */
        product->half_ulp = 0;
        product->absolute += output->atol / (1 - output->rtol);
        product->relative = output->rtol / (1 - output->rtol);
        return output->rtol < 1;
    }
    if (output->rule == RULE_BITWISE)
        return true;
    /* The sum's error, the roundings of the inputs and some roundings besides; 1.001 for what
     * ref_value.h leaves out as being of second order. */
    double chain = call->chain > 0 && k > (double)call->chain ? (double)call->chain : k;
    double sum = call->lambda * sqrt(k) * u + 8 * u + call->chain_roundoff * chain;
    product->of_sum = 1.001 * alpha * ((1 + rho) * (1 + rho) * sum + rho * (2 + rho));
    /* What is accumulated to may have been in the sum from its beginning (ref_judge.h). */
    product->of_added = 1.001 * (rho + 8 * u + (output->accumulates ? sum : 0));
    product->relative = 1.001 * output->rtol;
    product->of_times = (k + 8) * call->underflow * fmax(alpha, 1);
    if (product->least == FLT_MIN) /* bf16 too: what is below it may be flushed */
        product->absolute += FLT_MIN;
    return add_point(product, call, output);
}

/* ---- the plan ---- */

/* How a pass is dealt out that adds up for `values` values, `batch` times, over elements `over`
 * apart, the values' own being `step` apart. Fewer values a block make more blocks, down to what
 * memory gives at once. */
static struct project_pass deal_passes(int64_t batch, int64_t values, int64_t over, int64_t step,
                                       const struct ref_matrix *matrix)
{
    struct project_pass pass = {.tile = PROJECT_TILE, .along = over <= step || values == 1};
    uint32_t sector = SECTOR / dtype_bytes(matrix->dtype), least = pass.along ? 1 : sector;
    while (pass.tile > least && batch * ((values + pass.tile - 1) / pass.tile) < BLOCKS)
        pass.tile /= 2;
    int64_t blocks = batch * ((values + pass.tile - 1) / pass.tile);
    pass.blocks = blocks < INT32_MAX / 2 ? (uint32_t)blocks : 0;
    return pass;
}

/* Whether the vectors are few bytes beside the arrays, and nothing overflows. */
static bool worth(const struct ref_product *p, uint64_t *bytes)
{
    double rows = (double)p->batch * (double)p->m, inner = (double)p->batch * (double)p->k;
    double vectors = 2 * (rows + inner + (p->before != 0 ? rows : 0)) * sizeof(double);
    double arrays = inner * (double)p->n * dtype_bytes(p->b.dtype) +
                    rows * (double)p->k * dtype_bytes(p->a.dtype) +
                    rows * (double)p->n * dtype_bytes(p->c.dtype);
    *bytes = (uint64_t)fmin(vectors, 0x1p40) + PROJECT_ANSWER;
    return p->k > 0 && rows * (double)p->n >= LEAST && rows < UINT32_MAX &&
           p->n <= REF_PRODUCT_COLUMNS && vectors * PART <= arrays;
}

/* In parts of the columns, where there are any and their vectors are few bytes as well. */
static bool worth_in_parts(struct project_plan *plan)
{
    struct ref_product *p = &plan->call.product, whole = *p;
    const int64_t part = p->batch == 1 ? project_part(p->n) : p->n;
    plan->columns = 0;
    if (part < p->n) {
        split_columns(p, part);
        plan->columns = part;
        if (worth(p, &plan->bytes))
            return true;
        *p = whole;
        plan->columns = 0;
    }
    return worth(p, &plan->bytes);
}

void project_plan_make(struct project_plan *plan, const struct binding *binding,
                       const struct formals *formals, const struct snapshot_plan *whole,
                       uint64_t seed)
{
    struct project_call *call = &plan->call;
    struct ref_product *p = &call->product;
    plan->output = formals->product.out;
    /* Values read from memory are not available when the projection is enqueued. */
    plan->wanted = formals->has_product && !binding->values &&
                   describe_product(p, binding, formals, whole) && worth_in_parts(plan) &&
                   bound(p, &binding->call, &binding->call.tensor[plan->output]);
    if (!plan->wanted)
        return;
    p->seed = seed;
    call->factors = deal_passes(p->batch, p->k, p->b.stride[2], p->b.stride[1], &p->b);
    call->outputs = deal_passes(p->batch, p->m, p->c.stride[2], p->c.stride[1], &p->c);
    call->rows = deal_passes(p->batch, p->m, p->a.stride[2], p->a.stride[1], &p->a);
    plan->wanted = call->factors.blocks && call->outputs.blocks && call->rows.blocks;
}

void project_take_room(struct project_plan *plan, struct snapshot_plan *snapshot, uint64_t most)
{
    uint64_t offset = (snapshot->bytes + ALIGN - 1) / ALIGN * ALIGN;
    uint64_t bytes = offset + (plan->bytes + ALIGN - 1) / ALIGN * ALIGN;
    plan->wanted = plan->wanted && bytes <= most;
    if (!plan->wanted)
        return;
    plan->call.offset = offset;
    snapshot->bytes = bytes;
    snapshot->projected = true;
}

/* ---- the launches ---- */

static enum status launch_kernel(const struct side *side, CUfunction function,
                                 struct project_call *call, uint32_t blocks,
                                 const struct launch *launch, struct error *err)
{
    const struct own_kernel kernel = {.function = function,
                                      .waits = side->kernel.waits,
                                      .blocks = blocks,
                                      .threads = PROJECT_THREADS,
                                      .doing = "launching a projection"};
    return enqueue_kernel(&kernel, call, launch, err);
}

enum status project_before(struct side *side, const struct check *check, struct project_plan *plan,
                           const struct launch *launch, struct error *err)
{
    struct project_call *call = &plan->call;
    if (call->product.before == 0)
        return STATUS_OK;
    snapshot_header_of(side, check, &call->header);
    call->header.seals = 0;
    return launch_kernel(side, side->kernel.project_before, call, call->outputs.blocks, launch,
                         err);
}

enum status project_enqueue(struct side *side, struct check *check, struct project_plan *plan,
                            const struct launch *launch, bool *taken, struct error *err)
{
    struct project_call *call = &plan->call;
    snapshot_header_of(side, check, &call->header);
    call->header.seals = 0;
    enum status status = launch_kernel(side, side->kernel.project_factors, call,
                                       call->factors.blocks + call->outputs.blocks, launch, err);
    if (status)
        return status;
    *taken = true;
    status = launch_kernel(side, side->kernel.project_rows, call, call->rows.blocks, launch, err);
    if (status)
        return status;
    check->projection = (struct check_projection){
        .made = true,
        .output = plan->output,
        .offset = call->offset,
        .rows = call->product.batch > 1 ? call->product.m : 0,
        .columns = plan->columns,
    };
    return STATUS_OK;
}

enum status project_fetch(struct side *side, struct lane *lane, struct error *err)
{
    const struct check *check = lane->check;
    if (!check->projection.made)
        return STATUS_OK;
    return cuda_check(err,
                      cuda.cuMemcpyDtoHAsync(lane->projection,
                                             check->room.at + check->projection.offset,
                                             sizeof(*lane->projection), side->stream),
                      "cuMemcpyDtoHAsync");
}

/* The ratio is the upper half of the word, the row the lower one. */
static double ratio_of(uint64_t worst)
{
    uint32_t bits = (uint32_t)(worst >> 32);
    float ratio;
    memcpy(&ratio, &bits, sizeof(ratio));
    return (double)ratio;
}

void project_report(const struct lane *lane, struct check_report *report)
{
    const struct check_projection *made = &lane->check->projection;
    const struct ref_product_answer *answer = lane->projection;
    if (!made->made)
        return;
    int array = lane->check->binding.tensor_array[made->output];
    report->projection = (struct projection_report){
        .array = lane->check->binding.array[array].name,
        .rows = answer->done - answer->left,
        .left = answer->left,
        .violations = answer->violations,
        .of = made->rows,
        .columns = made->columns,
    };
    if (!answer->violations)
        return;
    report->projection.first = (int64_t)answer->first;
    report->projection.last = (int64_t)answer->last;
    report->projection.worst = (int64_t)(uint32_t)answer->worst;
    report->projection.ratio = ratio_of(answer->worst);
}
