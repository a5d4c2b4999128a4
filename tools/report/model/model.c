#include "tools/report/model/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "value/kernel_spec.h"

struct model *model_create(void)
{
    struct model *model = calloc(1, sizeof *model);
    if (model)
        model->other.label = model->other.symbol = NULL;
    return model;
}

static void free_kernel(struct model_kernel *kernel)
{
    free(kernel->symbol);
    free(kernel->label);
    free(kernel->reference);
    free(kernel->where);
    free(kernel);
}

static void free_process(struct model_process *process)
{
    free(process->host);
    free(process->run);
    free(process->program);
    free(process->file);
}

static void free_finding(struct model_finding *finding)
{
    free(finding->gate);
    free(finding->bundle);
    free(finding->why);
    free(finding->outcome);
    free(finding->seed);
    free(finding->config);
    free(finding->image);
}

void model_destroy(struct model *model)
{
    if (!model)
        return;
    for (uint32_t i = 0; i < model->kernels; i++)
        free_kernel(model->kernel[i]);
    for (uint32_t i = 0; i < model->processes; i++) {
        free_process(model->process[i]);
        free(model->process[i]);
    }
    free_process(&model->spare);
    for (uint32_t i = 0; i < model->findings; i++)
        free_finding(&model->finding[i]);
    for (uint32_t i = 0; i < model->warnings; i++)
        free(model->warning[i].text);
    for (uint32_t i = 0; i < model->launch_errors; i++)
        free(model->launch_error[i].text);
    for (uint32_t i = 0; i < model->lints; i++)
        free(model->lint[i].text);
    free(model);
}

static int by_interest(const void *left, const void *right)
{
    const struct model_kernel *a = *(struct model_kernel *const *)left;
    const struct model_kernel *b = *(struct model_kernel *const *)right;
    static const enum verdict order[] = {VERDICT_MISMATCH, VERDICT_INCONCLUSIVE};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (a->counts.verdict[order[i]] != b->counts.verdict[order[i]])
            return a->counts.verdict[order[i]] > b->counts.verdict[order[i]] ? -1 : 1;
    }
    if (a->counts.launches != b->counts.launches)
        return a->counts.launches > b->counts.launches ? -1 : 1;
    return strcmp(a->symbol, b->symbol);
}

void model_finish(struct model *model)
{
    if (model->kernels > 0)
        qsort(model->kernel, model->kernels, sizeof *model->kernel, by_interest);
}

bool model_is_lifted(const struct model_kernel *kernel)
{
    return kernel->reference && !strcmp(kernel->reference, LIFTED_REFERENCE);
}

const char *model_kernel_name(const struct model_kernel *kernel)
{
    if (kernel->label)
        return kernel->label;
    return kernel->symbol ? kernel->symbol : "(further kernels)";
}

uint64_t model_checked(const uint64_t verdict[VERDICT_COUNT])
{
    uint64_t sum = 0;
    for (int v = 0; v < VERDICT_COUNT; v++)
        sum += verdict[v];
    return sum;
}

void model_process_text(const struct model_process *process, char *out, size_t size)
{
    const char *host = process->host ? process->host : "?";
    if (process->rank >= 0)
        snprintf(out, size, "rank %" PRId64 " on %s, pid %" PRId64, process->rank, host,
                 process->pid);
    else
        snprintf(out, size, "%s, pid %" PRId64, host, process->pid);
}
