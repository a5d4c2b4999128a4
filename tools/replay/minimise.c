#include "tools/replay/minimise.h"

#include <stdlib.h>
#include <string.h>
#include "lang/dtype.h"
#include "tools/progress.h"

enum { RUNS_MOST = 1000, POISON = 0x7b };

struct minimising {
    struct scene *scene;
    enum worker_oracle oracle;
    struct minimal *out;
    struct ref_verdict numbers; /* of the last run that failed */
};

/* ---- inputs ---- */

/* Whether the launch over the scene's content is a mismatch. */
static enum status still_fails(struct minimising *m, bool *fails, struct error *err)
{
    const struct scene_change change = {0};
    struct ref_verdict numbers = {0};
    enum verdict verdict = VERDICT_MATCH;
    struct scene_run run;
    enum status status = scene_run(m->scene, &change, &run, err);
    m->out->runs++;
    progress("looking for the smallest launch, run %d", m->out->runs);
    *fails = false;
    if (!status && run.result.outcome == WORKER_RAN)
        status = scene_judge(m->scene, &run, m->oracle, &numbers, &verdict, err);
    *fails = !status && verdict == VERDICT_MISMATCH;
    if (*fails)
        m->numbers = numbers;
    scene_run_release(&run);
    return status;
}

/* Zeros elements [first, first + count) if the launch fails all the same. */
static enum status try_zeros(struct minimising *m, int input, uint8_t *dense, int64_t first,
                             int64_t count, struct error *err)
{
    size_t size = dtype_bytes(m->scene->bundle->array[input].dtype);
    size_t bytes = (size_t)count * size;
    uint8_t *at = dense + (size_t)first * size, *kept = malloc(bytes + 1);
    bool fails, zero = true;
    if (!kept)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a part of an input");
    memcpy(kept, at, bytes);
    for (size_t i = 0; i < bytes; i++)
        zero = zero && !kept[i];
    enum status status = STATUS_OK;
    if (!zero && m->out->runs < RUNS_MOST) {
        memset(at, 0, bytes);
        scene_scatter(m->scene, input, dense, NULL);
        status = still_fails(m, &fails, err);
        if (status || !fails) {
            memcpy(at, kept, bytes);
            scene_scatter(m->scene, input, dense, NULL);
        }
    }
    free(kept);
    return status;
}

static void count_needed(struct minimising *m, int input, const uint8_t *dense)
{
    const struct bundle_array *array = &m->scene->bundle->array[input];
    struct minimal_input *out = &m->out->input[m->out->inputs++];
    size_t size = dtype_bytes(array->dtype);
    *out = (struct minimal_input){.name = array->name, .elements = array->elements, .first = -1};
    for (int64_t e = 0; e < array->elements; e++) {
        bool zero = true;
        for (size_t b = 0; b < size; b++)
            zero = zero && !dense[(size_t)e * size + b];
        if (zero)
            continue;
        if (!out->needed++)
            out->first = e;
        out->last = e;
    }
}

/* All, halves, quarters, ... of the input, down to one element. The last piece goes first: where
 * any element would do, the first one stays, which a small grid reaches. */
static enum status shrink_input(struct minimising *m, int input, struct error *err)
{
    const struct bundle_array *array = &m->scene->bundle->array[input];
    uint8_t *dense = scene_gather(m->scene, input, NULL);
    enum status status = STATUS_OK;
    if (!dense)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %s", array->name);
    for (int64_t piece = array->elements; piece >= 1 && !status; piece = (piece + 1) / 2) {
        for (int64_t at = (array->elements - 1) / piece * piece; at >= 0 && !status; at -= piece) {
            int64_t left = array->elements - at;
            status = try_zeros(m, input, dense, at, left < piece ? left : piece, err);
        }
        if (piece == 1)
            break;
    }
    if (!status)
        count_needed(m, input, dense);
    free(dense);
    return status;
}

/* ---- the grid ---- */

/* The array and the dense element that the last verdict calls the worst. */
static int worst_element(const struct minimising *m, int64_t *element)
{
    const struct bundle *bundle = m->scene->bundle;
    for (int t = 0; t < bundle->tensors; t++) {
        const struct bundle_tensor *tensor = &bundle->tensor[t];
        uint64_t index = m->numbers.worst_index;
        if (tensor->array < 0 || bundle->call.tensor[t].id != m->numbers.worst_tensor)
            continue;
        *element = 0;
        for (int d = tensor->ndim - 1; d >= 0 && tensor->dim[d] > 0; d--) {
            *element += (int64_t)(index % (uint64_t)tensor->dim[d]) *
                        scene_dense_stride(&bundle->array[tensor->array], tensor->stride[d]);
            index /= (uint64_t)tensor->dim[d];
        }
        return *element < bundle->array[tensor->array].elements ? tensor->array : -1;
    }
    return -1;
}

/* The element's bytes after a launch of that grid; false: it did not end. */
static enum status element_of(struct minimising *m, const uint32_t *grid, int array,
                              int64_t element, uint8_t bytes[16], bool *ran, struct error *err)
{
    const struct scene_change change = {.grid = grid, .poisons = true, .poison = POISON};
    struct scene_run run;
    size_t size = dtype_bytes(m->scene->bundle->array[array].dtype);
    enum status status = scene_run(m->scene, &change, &run, err);
    m->out->runs++;
    *ran = !status && run.result.outcome == WORKER_RAN && size <= 16;
    uint8_t *dense = *ran ? scene_gather(m->scene, array, run.after) : NULL;
    memset(bytes, 0, 16);
    if (dense)
        memcpy(bytes, dense + (size_t)element * size, size);
    free(dense);
    scene_run_release(&run);
    return status;
}

static enum status shrink_grid(struct minimising *m, struct error *err)
{
    uint8_t wanted[16], got[16];
    int64_t element = 0;
    bool ran;
    int array = worst_element(m, &element);
    if (array < 0)
        return STATUS_OK;
    m->out->array = m->scene->bundle->array[array].name;
    m->out->element = element;
    enum status status = element_of(m, NULL, array, element, wanted, &ran, err);
    for (int d = 0; d < 3 && !status && ran; d++) {
        uint32_t low = 1, high = m->out->grid[d];
        while (low < high && !status) {
            m->out->grid[d] = low + (high - low) / 2;
            status = element_of(m, m->out->grid, array, element, got, &ran, err);
            bool same = !status && ran && !memcmp(wanted, got, sizeof(got));
            low = same ? low : m->out->grid[d] + 1;
            high = same ? m->out->grid[d] : high;
        }
        m->out->grid[d] = high;
        ran = true;
    }
    return status;
}

enum status minimise(struct scene *scene, enum worker_oracle oracle, struct minimal *out,
                     struct error *err)
{
    const struct bundle *bundle = scene->bundle;
    struct minimising m = {.scene = scene, .oracle = oracle, .out = out};
    memset(out, 0, sizeof(*out));
    memcpy(out->grid, bundle->grid, sizeof(out->grid));
    enum status status = still_fails(&m, &out->fails, err);
    for (int i = 0; i < bundle->arrays && out->fails && !status; i++) {
        const struct bundle_array *array = &bundle->array[i];
        if (role_reads(array->role) && dtype_is_real(array->dtype) &&
            bundle_whole(array, BUNDLE_BEFORE))
            status = shrink_input(&m, i, err);
    }
    return out->fails && !status && !bundle->cooperative && !bundle->cluster[0]
               ? shrink_grid(&m, err)
               : status;
}
