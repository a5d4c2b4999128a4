/*
 * report.c - what this process has executed: by opcode, kernel, and line of source.
 *
 * A launch counts in its own memory and adds to its program's counters when it ends; a module
 * that goes away leaves its counts in a table of names.
 */
#include <stdio.h>
#include <stdlib.h>
#include "exec/run/state.h"

struct row {
    char *name;
    uint64_t count;
};
struct table {
    struct row *rows; /* open addressing; room is a power of two */
    size_t count, room;
};

static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;
static struct exec_module *modules;
static struct table gone;

static size_t hash(const char *name)
{
    size_t h = 14695981039346656037u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return h ^ h >> 29;
}

static struct row *find_row(const struct table *t, const char *name)
{
    size_t i = hash(name) & (t->room - 1);
    while (t->rows[i].name && strcmp(t->rows[i].name, name) != 0)
        i = (i + 1) & (t->room - 1);
    return t->rows + i;
}

static bool grow(struct table *t)
{
    struct table bigger = {NULL, t->count, t->room ? t->room * 2 : 256};
    bigger.rows = calloc(bigger.room, sizeof *bigger.rows);
    if (!bigger.rows)
        return false;
    for (size_t i = 0; i < t->room; i++)
        if (t->rows[i].name)
            *find_row(&bigger, t->rows[i].name) = t->rows[i];
    free(t->rows);
    *t = bigger;
    return true;
}

static void add(struct table *t, const char *name, uint64_t count)
{
    if (t->count * 2 >= t->room && !grow(t))
        return;
    struct row *row = find_row(t, name);
    if (!row->name) {
        row->name = strdup(name);
        if (!row->name)
            return;
        t->count++;
    }
    row->count += count;
}

static void add_op(struct table *t, const struct code *code, const struct ptx_instruction *ins,
                   uint64_t count)
{
    char name[1200];
    const struct ptx_location *location = ins->location;
    snprintf(name, sizeof name, "op %s", ins->text);
    if (count)
        add(t, name, count);
    if (!location)
        return;
    snprintf(name, sizeof name, "line %s %u", location->file, location->line);
    add(t, name, count);
    snprintf(name, sizeof name, "function %s",
             location->function ? location->function : code->ptx->name);
    add(t, name, count);
}

static void add_program(struct table *t, const struct program *program)
{
    for (unsigned i = 0; i < program->code_count; i++) {
        const struct code *code = program->codes[i];
        for (uint32_t k = 0; k < code->count; k++) {
            const struct op *op = code->ops + k;
            uint64_t count =
                atomic_load_explicit(&program->totals[code->first + k], memory_order_relaxed);
            if (!op->hidden && op->instruction)
                add_op(t, code, op->instruction, count);
        }
    }
}

static void add_module(struct table *t, struct exec_module *module)
{
    pthread_mutex_lock(&module->lock);
    for (unsigned i = 0; i < module->kernel_count; i++) {
        const struct exec_function *kernel = module->kernels + i;
        char name[1200];
        if (!kernel->program)
            continue;
        snprintf(name, sizeof name, "kernel %s", kernel->ptx->name);
        add(t, name, atomic_load(&kernel->launches));
        add_program(t, kernel->program);
    }
    pthread_mutex_unlock(&module->lock);
}

void report_add_module(struct exec_module *module)
{
    pthread_mutex_lock(&report_lock);
    module->next = modules;
    modules = module;
    pthread_mutex_unlock(&report_lock);
}

void report_remove_module(struct exec_module *module)
{
    pthread_mutex_lock(&report_lock);
    add_module(&gone, module);
    for (struct exec_module **p = &modules; *p; p = &(*p)->next) {
        if (*p == module) {
            *p = module->next;
            break;
        }
    }
    pthread_mutex_unlock(&report_lock);
}

void report_launch(struct launch *l)
{
    const struct program *program = l->program;
    struct exec_function *kernel =
        program->module->kernels + (l->kernel - program->module->kernels);
    atomic_fetch_add(&kernel->launches, 1);
    for (size_t i = 0; l->counts && i < program->op_count; i++)
        if (l->counts[i])
            atomic_fetch_add_explicit(&program->totals[i], l->counts[i], memory_order_relaxed);
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

static void free_table(struct table *t)
{
    for (size_t i = 0; i < t->room; i++)
        free(t->rows[i].name);
    free(t->rows);
}

void exec_report(void (*each)(void *user, const char *line), void *user)
{
    struct table all = {0};
    pthread_mutex_lock(&report_lock);
    for (size_t i = 0; i < gone.room; i++)
        if (gone.rows[i].name)
            add(&all, gone.rows[i].name, gone.rows[i].count);
    for (struct exec_module *module = modules; module; module = module->next)
        add_module(&all, module);
    pthread_mutex_unlock(&report_lock);
    struct row *sorted = calloc(all.count + 1, sizeof *sorted);
    size_t n = 0;
    for (size_t i = 0; sorted && i < all.room; i++)
        if (all.rows[i].name)
            sorted[n++] = all.rows[i];
    if (sorted)
        qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 0; i < n; i++) {
        char line[1300];
        snprintf(line, sizeof line, "%s %llu", sorted[i].name, (unsigned long long)sorted[i].count);
        each(user, line);
    }
    free(sorted);
    free_table(&all);
}
