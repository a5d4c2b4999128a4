#include "gate/costs.h"

static int class_of(uint64_t bytes)
{
    int class = 0;
    for (uint64_t most = 64 << 10; class + 1 < COSTS_CLASSES && bytes > most; most *= 2)
        class ++;
    return class;
}

static int64_t read_class(const struct costs *costs, int class)
{
    if (class < 0 || class >= COSTS_CLASSES)
        return 0;
    return atomic_load_explicit(&costs->ns[class], memory_order_relaxed);
}

int64_t costs_estimate(const struct costs *costs, uint64_t bytes)
{
    int class = class_of(bytes);
    for (int step = 0; step < COSTS_CLASSES; step++) {
        int64_t smaller = read_class(costs, class - step), larger = read_class(costs, class + step);
        if (smaller)
            return smaller << step;
        if (larger)
            return larger;
    }
    return 0;
}

void costs_note(struct costs *costs, uint64_t bytes, int64_t ns)
{
    cost_note(&costs->ns[class_of(bytes)], ns);
}

void cost_note(_Atomic(int64_t) *estimate, int64_t ns)
{
    int64_t usual = atomic_load_explicit(estimate, memory_order_relaxed);
    atomic_store_explicit(estimate, usual ? usual + (ns - usual) / 4 : ns, memory_order_relaxed);
}
