#include "tools/report/trace/layer_order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status layer_order_number(struct layer_order *order, const char *text, struct error *err)
{
    char *end = NULL;
    order->every = strtoull(text, &end, 10);
    return *end || order->every == 0 || order->every > LAYER_MOST
               ? error_set(err, STATUS_INVALID, "--layers expects a number from 1 to %d, not %.60s",
                           LAYER_MOST, text)
               : STATUS_OK;
}

enum status layer_order_begins(struct layer_order *order, const char *pattern, struct error *err)
{
    if (order->begins)
        regfree(&order->regex);
    order->begins = !regcomp(&order->regex, pattern, REG_EXTENDED | REG_NOSUB);
    return order->begins
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "--begins: no regular expression: %.60s", pattern);
}

void layer_order_release(struct layer_order *order)
{
    if (order->begins)
        regfree(&order->regex);
    for (uint32_t i = 0; i < order->kernels; i++)
        free(order->kernel[i].name);
    free(order->launch);
    *order = (struct layer_order){0};
}

/* LAYER_KERNELS: there is none of that name. */
static uint32_t find_kernel(const struct layer_order *order, const char *name)
{
    for (uint32_t i = 0; i < order->kernels; i++) {
        if (strcmp(order->kernel[i].name, name) == 0)
            return i;
    }
    return LAYER_KERNELS;
}

static uint32_t kernel_of(struct layer_order *order, const char *name)
{
    uint32_t found = find_kernel(order, name);
    if (found < LAYER_KERNELS || order->kernels == LAYER_KERNELS ||
        !(order->kernel[order->kernels].name = strdup(name)))
        return found;
    return order->kernels++;
}

static bool matches(const struct layer_order *order, const char *const names[2])
{
    for (int i = 0; i < 2; i++) {
        if (names[i] && regexec(&order->regex, names[i], 0, NULL, 0) == 0)
            return true;
    }
    return false;
}

enum status layer_order_add(struct layer_order *order, uint64_t process, uint64_t sequence,
                            uint64_t number, const char *const names[2], struct error *err)
{
    if (!names[0] || (order->begins && !matches(order, names)))
        return STATUS_OK;
    uint32_t kernel = kernel_of(order, names[0]);
    if (kernel == LAYER_KERNELS)
        return STATUS_OK;
    if (order->count == order->capacity) {
        size_t capacity = order->capacity ? 2 * order->capacity : 1024;
        void *launch = realloc(order->launch, capacity * sizeof(*order->launch));
        if (!launch)
            return error_set(err, STATUS_NO_MEMORY, "no memory for the order of launches");
        order->launch = launch;
        order->capacity = capacity;
    }
    order->launch[order->count++] = (struct layer_launch){process, sequence, kernel};
    struct layer_kernel *of = &order->kernel[kernel];
    of->launches++;
    of->most = number + 1 > of->most ? number + 1 : of->most;
    return STATUS_OK;
}

static int by_place(const void *left, const void *right)
{
    const struct layer_launch *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

/* The number of launches that most kernels have; of several such numbers each counts. */
static unsigned share(const struct layer_order *order, uint64_t launches)
{
    unsigned kernels = 0;
    for (uint32_t i = 0; i < order->kernels; i++)
        kernels += order->kernel[i].launches == launches;
    return kernels;
}

/* Of one kernel, between launches of the one that it is held against. */
struct spans {
    uint64_t last;            /* the span that it was launched in last, from 1 on */
    uint64_t here;            /* launches in that */
    uint64_t any, often, odd; /* spans with launches, several, such as no whole layers explain */
    uint64_t next, apart;     /* launches in the span behind the last one's, and farther on */
};

static void end_span(struct spans *s, uint64_t every)
{
    s->any++;
    s->often += s->here > 1;
    s->odd += s->here > 1 && every && s->here % every != 0 && (s->here - 1) % every != 0;
    s->here = 0;
}

/* Holds the launches of each kernel against those of kernel `by`: before its first and behind its
 * last one nothing is known. */
static void judge_by(struct layer_order *order, uint32_t by)
{
    struct spans *spans = calloc(order->kernels, sizeof(*spans));
    uint64_t span = 0, all = 0, process = 0;
    for (size_t i = 0; spans && i < order->count; i++) {
        const struct layer_launch *launch = &order->launch[i];
        struct spans *of = &spans[launch->kernel];
        if (i == 0 || launch->process != process)
            span = 0;
        process = launch->process;
        for (uint32_t k = 0; launch->kernel == by && k < order->kernels; k++) {
            if (span == 0)
                spans[k].here = 0;
            else if (k != by && spans[k].here)
                end_span(&spans[k], order->every);
        }
        all += launch->kernel == by && span > 0;
        span += launch->kernel == by;
        of->next += of->last && span == of->last + 1;
        of->apart += of->last && span > of->last + 1;
        of->last = span;
        of->here++;
    }
    for (uint32_t k = 0; spans && k < order->kernels; k++) {
        const struct spans *of = &spans[k];
        order->kernel[k].repeats |= of->odd > 0 || of->often * 4 > all;
        bool few = order->kernel[k].launches<order->every, apart = of->apart> of->next &&
                   of->often * 2 <= of->any; /* and no phase of many */
        order->kernel[k].rare |= apart || (few && order->kernel[by].launches >= order->every);
    }
    free(spans);
}

static bool put_note(const struct layer_order *order, char *text, size_t size)
{
    const struct layer_kernel *first = NULL;
    unsigned kernels = 0;
    if (order->begins && order->gaps) {
        snprintf(text, size,
                 "launches of the kernel that begins a layer are missing, so layers are wrong: "
                 "--begins needs digests of all launches (CUVET_SAMPLE=1, CUVET_BUDGET=off)");
        return true;
    }
    if (order->begins && order->count == 0) {
        snprintf(text, size,
                 "no kernel is launched whose name --begins matches: no layer is known");
        return true;
    }
    for (uint32_t i = 0; !order->begins && i < order->kernels; i++) {
        if (!order->kernel[i].repeats && !order->kernel[i].rare)
            continue;
        first = first ? first : &order->kernel[i];
        kernels++;
    }
    if (first)
        snprintf(text, size,
                 "%u kernel%s not launched once a layer, the first is %.*s with %" PRIu64
                 " launches: by --layers alone %s no layer; add --begins REGEX, a kernel that "
                 "begins a layer",
                 kernels, kernels == 1 ? " is" : "s are", LAYER_NAME, first->name, first->launches,
                 kernels == 1 ? "it has" : "they have");
    return first != NULL;
}

bool layer_order_settle(struct layer_order *order, char *text, size_t size)
{
    unsigned most = 0;
    for (uint32_t i = 0; i < order->kernels; i++)
        order->gaps |= order->kernel[i].launches < order->kernel[i].most;
    if (order->count)
        qsort(order->launch, order->count, sizeof(*order->launch), by_place);
    const bool judges = !order->begins && !order->gaps;
    for (uint32_t i = 0; judges && i < order->kernels; i++) {
        unsigned kernels = share(order, order->kernel[i].launches);
        most = kernels > most ? kernels : most;
    }
    for (uint32_t i = 0, judged = 0; judges && i < order->kernels && judged < 16; i++) {
        if (share(order, order->kernel[i].launches) == most)
            judge_by(order, i), judged++;
    }
    return order->every && put_note(order, text, size);
}

/* Launches that begin a layer, up to this one. */
static uint64_t begun(const struct layer_order *order, uint64_t process, uint64_t sequence)
{
    const struct layer_launch now = {process, sequence, 0}, first = {process, 0, 0};
    size_t bound[2];
    for (int which = 0; which < 2; which++) {
        size_t low = 0, high = order->count;
        while (low < high) {
            size_t middle = (low + high) / 2;
            int order_of = by_place(&order->launch[middle], which ? &now : &first);
            if (which ? order_of <= 0 : order_of < 0)
                low = middle + 1;
            else
                high = middle;
        }
        bound[which] = low;
    }
    return bound[1] - bound[0];
}

int64_t layer_order_find(const struct layer_order *order, uint64_t process, uint64_t sequence,
                         const char *kernel, uint64_t number)
{
    if (order->begins) {
        uint64_t layers = begun(order, process, sequence);
        return layers ? (int64_t)((layers - 1) % order->every) : -1;
    }
    uint32_t k = kernel ? find_kernel(order, kernel) : LAYER_KERNELS;
    if (k == LAYER_KERNELS || order->kernel[k].repeats || order->kernel[k].rare)
        return -1;
    return (int64_t)(number % order->every);
}
