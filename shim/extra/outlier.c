#include "extra/outlier.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "base/hot.h"
#include "lang/dtype.h"

enum { TABLE = 1 << 13, PROBES = 16 };

struct outliers {
    enum outlier_detector fallback;
    atomic_int next[3]; /* free indices, by detector */
    _Atomic(uint64_t) overflow;
    _Atomic(uint32_t) epoch;
    struct outlier_claim {
        _Atomic(uint64_t) key; /* 0: free */
        atomic_int index;      /* + 1; 0: being claimed; negative: none was left */
    } claim[TABLE];
};

struct outliers *outliers_create(enum outlier_detector fallback)
{
    struct outliers *outliers = calloc(1, sizeof(*outliers));
    if (outliers)
        outliers->fallback = fallback;
    return outliers;
}

void outliers_destroy(struct outliers *outliers)
{
    free(outliers);
}

enum outlier_detector outliers_detector(const struct outliers *outliers,
                                        const struct outlier_spec *spec)
{
    if (!outliers || !spec->inputs)
        return OUTLIER_OFF;
    return spec->detector < 0 ? outliers->fallback : (enum outlier_detector)spec->detector;
}

static int take_indices(struct outliers *outliers, enum outlier_detector detector, int count)
{
    int room = detector == OUTLIER_CENTROID ? OUTLIER_CENTROIDS : OUTLIER_ENTRIES;
    int first = atomic_load(&outliers->next[detector]);
    while (first + count <= room) {
        if (atomic_compare_exchange_weak(&outliers->next[detector], &first, first + count))
            return first;
    }
    atomic_fetch_add(&outliers->overflow, 1);
    return OUTLIERS_NONE;
}

int outliers_index(struct outliers *outliers, uint64_t key, enum outlier_detector detector,
                   unsigned count)
{
    for (unsigned i = 0; i < PROBES; i++) {
        struct outlier_claim *claim = &outliers->claim[(key + i) % TABLE];
        uint64_t there = atomic_load_explicit(&claim->key, memory_order_acquire);
        if (!there && atomic_compare_exchange_strong(&claim->key, &there, key)) {
            int first = take_indices(outliers, detector, (int)count);
            atomic_store_explicit(&claim->index, first < 0 ? OUTLIERS_NONE : first + 1,
                                  memory_order_release);
            return first;
        }
        if (there == key) {
            int index = atomic_load_explicit(&claim->index, memory_order_acquire);
            return index > 0 ? index - 1 : index ? OUTLIERS_NONE : OUTLIERS_BUSY;
        }
    }
    atomic_fetch_add_explicit(&outliers->overflow, 1, memory_order_relaxed);
    return OUTLIERS_NONE;
}

void outliers_reset(struct outliers *outliers)
{
    if (outliers)
        atomic_fetch_add(&outliers->epoch, 1);
}

uint32_t outliers_epoch(const struct outliers *outliers)
{
    return atomic_load_explicit(&((struct outliers *)outliers)->epoch, memory_order_relaxed);
}

uint64_t outliers_overflow(const struct outliers *outliers)
{
    return atomic_load(&((struct outliers *)outliers)->overflow);
}

/* ---- layout ---- */

static int find_outlier_array(const struct binding *binding, const char *name)
{
    for (int i = 0; i < binding->arrays; i++) {
        if (binding->array[i].name == name)
            return i;
    }
    return -1;
}

/* The length of the innermost dim of the reference's formal: folding has hidden it in dense
 * arrays. */
static int64_t outlier_columns(const struct binding *binding, int array)
{
    for (int i = 0; i < binding->tensors; i++) {
        const struct ref_tensor *tensor = &binding->call.tensor[i];
        if (binding->tensor_array[i] == array && tensor->ndim)
            return tensor->dim[tensor->ndim - 1];
    }
    return 1;
}

static bool lay_out_input(const struct bound_array *array, uint64_t columns,
                          struct outlier_input *input)
{
    enum { SHORT = 1 << 16 };
    uint64_t size = dtype_bytes(array->dtype);
    bool dense = array->ndim == 1 && array->stride[0] == 1;
    bool pitched = array->ndim == 2 && array->stride[1] == 1 && array->stride[0] >= array->dim[1];
    if ((!dense && !pitched) || array->address % size)
        return false;
    *input = (struct outlier_input){
        .address = array->address,
        .rows = dense ? 1 : (uint64_t)array->dim[0],
        .row_bytes = size * (uint64_t)(dense ? array->dim[0] : array->dim[1]),
        .pitch = dense ? 0 : (uint64_t)array->stride[0] * size,
        .dtype = (uint8_t)array->dtype,
        .size = (uint8_t)size,
        .integer = !dtype_is_real(array->dtype),
    };
    if (dense && input->row_bytes >= SHORT)
        input->row_bytes -=
            input->row_bytes % 16; /* a few elements less, but read in whole units */
    input->aligned = (input->address | input->row_bytes | input->pitch) % 16 == 0;
    uint64_t unit = input->aligned ? 16 : size, period = columns * size / unit;
    if (input->row_bytes / OUTLIER_PIECE >= UINT32_MAX / input->rows || period > UINT32_MAX)
        return false;
    input->period = period ? (uint32_t)period : 1;
    input->pieces_per_row = (uint32_t)((input->row_bytes + OUTLIER_PIECE - 1) / OUTLIER_PIECE);
    input->pieces = input->rows * input->pieces_per_row;
    uint32_t most = input->integer ? OUTLIER_ID_PIECES : OUTLIER_PIECES;
    input->sampled = input->pieces < most ? (uint32_t)input->pieces : most;
    return true;
}

/* Each input has a share of the launch's false-alarm rate, so the window grows with the inputs. */
static uint32_t group_of(const struct outlier_spec *spec)
{
    double window = spec->inputs / spec->false_alarm;
    return (uint32_t)ceil(window / (OUTLIER_GROUPS - 1));
}

static bool lay_out_batch(const struct outlier_side *side, const struct outlier_spec *spec,
                          const struct bound_array *array, int64_t columns,
                          struct outlier_plan *plan)
{
    const struct outlier_input *input = &plan->input[0];
    struct outlier_batch *batch = &plan->batch;
    uint64_t elements = input->row_bytes / input->size, width = (uint64_t)columns;
    bool dense = array->ndim == 1;
    if (!side->centroids || columns < 1)
        return false;
    *batch = (struct outlier_batch){
        .centroid = (struct outlier_centroid *)(uintptr_t)side->centroids + plan->index,
        .quantile = (const struct outlier_quantile *)(uintptr_t)side->quantile_device + plan->index,
        .alpha = (float)spec->alpha,
        .threshold = (float)spec->threshold,
        .all_rows = dense ? elements / width : input->rows,
        .pitch = dense ? width * input->size : input->pitch,
        .columns = (uint32_t)(width < OUTLIER_COLUMNS ? width : OUTLIER_COLUMNS),
    };
    if (!dense && elements < width)
        batch->columns = (uint32_t)(elements < OUTLIER_COLUMNS ? elements : OUTLIER_COLUMNS);
    batch->rows = (uint32_t)(batch->all_rows < OUTLIER_ROWS ? batch->all_rows : OUTLIER_ROWS);
    plan->blocks = (batch->columns + OUTLIER_THREADS - 1) / OUTLIER_THREADS;
    return batch->rows > 0;
}

static void place_entry(const struct outlier_side *side, struct outlier_plan *plan, unsigned i,
                        uint32_t group)
{
    struct outlier_input *input = &plan->input[i];
    uint32_t lines = input->integer ? OUTLIER_ID_LINES : 1;
    uint32_t most = OUTLIER_LINES / plan->inputs / lines;
    input->entry = (struct outlier_entry *)(uintptr_t)side->entries + plan->index + i;
    input->group = group;
    input->first_block = plan->blocks;
    input->first_line = i * (OUTLIER_LINES / plan->inputs);
    input->blocks = (input->sampled + OUTLIER_BLOCK_PIECES - 1) / OUTLIER_BLOCK_PIECES;
    if (input->blocks > most)
        input->blocks = most;
    plan->blocks += input->blocks;
}

bool outlier_plan_make(const struct outlier_side *side, const struct outlier_spec *spec,
                       const struct binding *binding, struct outlier_plan *plan)
{
    plan->inputs = plan->detector == OUTLIER_CENTROID ? 1 : spec->inputs;
    plan->blocks = 0;
    for (unsigned i = 0; i < plan->inputs; i++) {
        int array = find_outlier_array(binding, spec->input[i]);
        plan->name[i] = spec->input[i];
        if (array < 0 || !lay_out_input(&binding->array[array],
                                        (uint64_t)outlier_columns(binding, array), &plan->input[i]))
            return false;
    }
    if (plan->detector == OUTLIER_CENTROID) {
        int array = find_outlier_array(binding, spec->input[0]);
        return lay_out_batch(side, spec, &binding->array[array], outlier_columns(binding, array),
                             plan);
    }
    for (unsigned i = 0; i < plan->inputs; i++)
        place_entry(side, plan, i, group_of(spec));
    return true;
}

/* ---- what comes back ---- */

void outlier_collect(struct outlier_side *side, const struct outlier_spec *spec, int index,
                     uint32_t epoch, const struct outlier_answer *answer)
{
    struct outlier_window **window = &side->window[index];
    int32_t ahead = (int32_t)(epoch - side->window_epoch[index]);
    if (!side->quantile || !answer->rows || answer->rows > OUTLIER_ROWS || ahead < 0)
        return;
    if (ahead > 0 && *window)
        outlier_window_clear(*window);
    side->window_epoch[index] = epoch;
    if (!*window &&
        outlier_window_create(window, (uint32_t)spec->max_distances, (float)spec->percentile))
        return;
    struct outlier_quantile quantile = {outlier_window_add(*window, answer->distance, answer->rows),
                                        epoch};
    __atomic_store(&side->quantile[index], &quantile, __ATOMIC_RELEASE);
}

const char *outlier_feature_text(uint32_t feature)
{
    static const char *const text[] = {
#define FEATURE(name, text, floor) text,
        OUTLIER_FEATURES(FEATURE)
#undef FEATURE
    };
    return feature < OUTLIER_FEATURE_COUNT ? text[feature] : "unknown";
}
