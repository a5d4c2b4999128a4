#include "tools/bundle/bundle_lists.h"

#include <string.h>
#include "lang/dtype.h"

/* Where the lists' rows are placed: beyond all addresses of programs, and below those that the
 * interpreter keeps for itself. */
#define LISTS_BEGIN ((uint64_t)1 << 47)
#define LISTS_EACH  ((uint64_t)1 << 42)
_Static_assert(LISTS_BEGIN + SPEC_MAX_ARRAYS * LISTS_EACH < (uint64_t)1 << 48, "48 bits");
enum { LISTS_ALIGN = 256 };

static struct bundle_array *find(struct bundle *bundle, const char *name)
{
    for (int i = 0; i < bundle->arrays; i++) {
        if (!strcmp(bundle->array[i].name, name))
            return &bundle->array[i];
    }
    return NULL;
}

/* Bytes from a row's first element to behind its last one; UINT64_MAX: beyond all sizes. */
static uint64_t reach(const struct bundle_array *array)
{
    uint64_t last;
    if (__builtin_mul_overflow((uint64_t)array->runs - 1, (uint64_t)array->run_stride, &last) ||
        __builtin_add_overflow(last, (uint64_t)array->run, &last) ||
        __builtin_mul_overflow(last, (uint64_t)dtype_bytes(array->dtype), &last))
        return UINT64_MAX;
    return last;
}

static bool is_known(const struct bundle_array *list, const struct bundle_array *array)
{
    bool whole = list && list->ndim == 1 && list->axis < 0 && list->dtype == DTYPE_U64 &&
                 bundle_whole(list, BUNDLE_BEFORE) && list->elements == array->seen[0];
    int64_t row;
    return whole && array->runs > 0 && array->run > 0 && array->elements > 0 &&
           !__builtin_mul_overflow(array->runs, array->run, &row) &&
           row == array->elements / array->seen[0] && row * array->seen[0] == array->elements;
}

/* The rows side by side, each as far from the next as it reaches and as aligned as the first one
 * was; the list leads to them. */
static void place(struct bundle_array *array, struct bundle_array *list, uint64_t begin)
{
    uint64_t size = dtype_bytes(array->dtype), bytes = reach(array), first;
    uint8_t *words = (uint8_t *)(uintptr_t)list->part[BUNDLE_BEFORE][0].bytes;
    if (bytes > LISTS_EACH / (uint64_t)list->elements / 2)
        return;
    uint64_t pitch = (bytes + LISTS_ALIGN - 1) / LISTS_ALIGN * LISTS_ALIGN;
    memcpy(&first, words, sizeof first);
    array->address = begin + first % LISTS_ALIGN;
    array->page = 1;
    array->row_stride[0] = (int64_t)(pitch / size);
    array->row_stride[1] = 0;
    for (int64_t row = 0; row < list->elements; row++) {
        uint64_t word = array->address + (uint64_t)row * pitch;
        memcpy(words + row * 8, &word, sizeof word);
    }
    list->lists = true;
    array->placed = true;
}

void bundle_place_lists(struct bundle *bundle)
{
    for (int i = 0; i < bundle->arrays; i++) {
        struct bundle_array *array = &bundle->array[i];
        struct bundle_array *list = array->listed ? find(bundle, array->rows_by) : NULL;
        if (list && !list->lists && is_known(list, array))
            place(array, list, LISTS_BEGIN + (uint64_t)i * LISTS_EACH);
    }
}
