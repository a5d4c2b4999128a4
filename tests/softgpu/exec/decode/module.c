/* module.c - a module's variables and kernels: places, initial values, what kernels declare. */
#include <stdlib.h>
#include "exec/decode/decode.h"

static _Atomic uint64_t modules_made;

struct place *find_place(const struct exec_module *module, const struct ptx_variable *variable)
{
    const struct ptx_module *ptx = module->ptx;
    if (variable < ptx->variables || variable >= ptx->variables + ptx->variable_count)
        return NULL;
    return module->places + (variable - ptx->variables);
}

/* Functions of different modules have different addresses, so that one is not taken for another. */
uint64_t function_address(const struct exec_module *module, const struct ptx_function *function)
{
    uint64_t index = (uint64_t)(function - module->ptx->functions) + 1;
    return EXEC_FUNCTION_BASE + (module->serial << 24) + index * 16;
}

const struct code *function_at(const struct program *program, uint64_t address)
{
    for (unsigned i = 0; i < program->code_count; i++)
        if (!program->codes[i]->ptx->is_entry &&
            function_address(program->module, program->codes[i]->ptx) == address)
            return program->codes[i];
    return NULL;
}

static bool has_place(const struct ptx_variable *v)
{
    return (v->space == PTX_GLOBAL || v->space == PTX_CONST) && !v->is_extern;
}

/* The value that a relocation puts in: 0 for what nothing defines, as a weak name has. */
static uint64_t relocated(const struct exec_module *module, const struct ptx_relocation *r)
{
    const struct ptx_variable *v = ptx_find_variable(module->ptx, r->name);
    const struct ptx_function *fn = v ? NULL : ptx_find_function(module->ptx, r->name);
    if (fn)
        return function_address(module, fn) + (uint64_t)r->addend;
    const struct place *place = v ? find_place(module, v) : NULL;
    if (!place || !place->known)
        return 0;
    return place->address + (uint64_t)r->addend;
}

static enum status set_initial(struct exec_module *module, const struct place *place,
                               struct error *err)
{
    const struct ptx_variable *v = place->variable;
    struct exec_range range;
    if (!v->data && !v->relocation_count)
        return STATUS_OK;
    if (!module->host.find(module->host.user, place->address, &range) ||
        range.bytes - (place->address - range.begin) < v->bytes)
        return error_set(err, STATUS_NO_MEMORY, "%s has no memory behind its address", v->name);
    uint8_t *to = range.host + (place->address - range.begin);
    if (v->data)
        memcpy(to, v->data, v->bytes);
    for (unsigned i = 0; i < v->relocation_count; i++) {
        const struct ptx_relocation *r = v->relocations + i;
        uint64_t value = relocated(module, r) >> r->shift;
        if (r->offset + r->bytes <= v->bytes)
            memcpy(to + r->offset, &value, r->bytes < 8 ? r->bytes : 8);
    }
    return STATUS_OK;
}

static enum status place_variables(struct exec_module *module, struct error *err)
{
    const struct ptx_module *ptx = module->ptx;
    module->places = calloc(ptx->variable_count + 1, sizeof *module->places);
    if (!module->places)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the module %s", ptx->name);
    for (unsigned i = 0; i < ptx->variable_count; i++) {
        struct place *place = module->places + i;
        place->variable = ptx->variables + i;
        if (!has_place(place->variable))
            continue;
        if (!module->host.place(module->host.user, place->variable, &place->address))
            return error_set(err, STATUS_NO_MEMORY, "no device memory for the variable %s",
                             place->variable->name);
        place->known = true;
    }
    for (unsigned i = 0; i < ptx->variable_count; i++)
        if (module->places[i].known)
            TRY(set_initial(module, module->places + i, err));
    return STATUS_OK;
}

static enum status describe(struct exec_function *kernel, struct error *err)
{
    const struct ptx_function *fn = kernel->ptx;
    struct exec_info *info = &kernel->info;
    kernel->params = calloc(fn->param_count + 1, sizeof *kernel->params);
    if (!kernel->params)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the kernel %s", fn->name);
    size_t at = 0;
    for (unsigned i = 0; i < fn->param_count; i++) {
        size_t align = fn->params[i].align ? fn->params[i].align : 1;
        at = (at + align - 1) / align * align;
        kernel->params[i] = (struct exec_param){at, fn->params[i].bytes};
        at += fn->params[i].bytes;
    }
    info->name = fn->name;
    info->params = kernel->params;
    info->param_count = fn->param_count;
    info->param_bytes = at;
    unsigned threads = 1, most = 1, given = 0;
    for (unsigned i = 0; i < 3; i++) {
        threads *= fn->reqntid[i] ? fn->reqntid[i] : 1;
        most *= fn->maxntid[i] ? fn->maxntid[i] : 1;
        given |= fn->maxntid[i];
        info->reqntid[i] = fn->reqntid[i];
        info->reqcluster[i] = fn->reqcluster[i];
    }
    info->max_threads = fn->reqntid[0] ? threads : given ? most : 1024;
    return STATUS_OK;
}

static enum status find_kernels(struct exec_module *module, struct error *err)
{
    struct ptx_module *ptx = module->ptx;
    module->kernels = calloc(ptx->function_count + 1, sizeof *module->kernels);
    if (!module->kernels)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the module %s", ptx->name);
    for (unsigned i = 0; i < ptx->function_count; i++) {
        if (!ptx->functions[i].is_entry || !ptx->functions[i].has_body)
            continue;
        struct exec_function *kernel = module->kernels + module->kernel_count++;
        kernel->module = module;
        kernel->ptx = ptx->functions + i;
        TRY(describe(kernel, err));
    }
    return STATUS_OK;
}

enum status exec_module_create(struct ptx_module *ptx, const struct exec_host *host,
                               struct exec_module **made, struct error *err)
{
    *made = NULL;
    if (ptx->address_size != 64)
        return error_set(err, STATUS_UNSUPPORTED, "%s: addresses of %u bits, expected 64",
                         ptx->name, ptx->address_size);
    struct exec_module *module = calloc(1, sizeof *module);
    if (!module)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the module %s", ptx->name);
    pthread_mutex_init(&module->lock, NULL);
    module->ptx = ptx;
    module->host = *host;
    module->serial = atomic_fetch_add(&modules_made, 1) & 0xffffff;
    report_add_module(module);
    enum status status = find_kernels(module, err);
    if (!status)
        status = place_variables(module, err);
    if (status) {
        exec_module_free(module);
        return status;
    }
    *made = module;
    return STATUS_OK;
}

void exec_module_free(struct exec_module *module)
{
    if (!module)
        return;
    report_remove_module(module);
    for (unsigned i = 0; i < module->kernel_count; i++) {
        program_free(module->kernels[i].program);
        free(module->kernels[i].params);
    }
    free(module->kernels);
    free(module->places);
    pthread_mutex_destroy(&module->lock);
    free(module);
}

struct exec_function *exec_find_kernel(struct exec_module *module, const char *name)
{
    for (unsigned i = 0; i < module->kernel_count; i++)
        if (strcmp(module->kernels[i].ptx->name, name) == 0)
            return module->kernels + i;
    return NULL;
}

bool exec_find_variable(struct exec_module *module, const char *name, uint64_t *address,
                        uint64_t *bytes)
{
    const struct ptx_variable *v = ptx_find_variable(module->ptx, name);
    const struct place *place = v ? find_place(module, v) : NULL;
    if (!place || !place->known)
        return false;
    *address = place->address;
    *bytes = v->bytes;
    return true;
}

static unsigned guess_registers(const struct exec_function *kernel)
{
    const struct ptx_function *fn = kernel->ptx;
    unsigned words = 0;
    for (unsigned i = 0; i < fn->register_count; i++)
        words += (register_bytes(fn->registers[i].type) + 3) / 4;
    /* What a compiler makes of it at most: a launch that the bounds allow has registers enough. */
    unsigned most = 65536 / ((kernel->info.max_threads + 31) / 32 * 32) / 8 * 8;
    most = most > 255 ? 255 : most < 16 ? 16 : most;
    words = (words + 16 + 7) / 8 * 8;
    return words < most ? words : most;
}

/* Blocks of one cluster would have to see each other's shared memory. */
static enum status check_cluster(const struct exec_function *kernel, struct error *err)
{
    const unsigned *n = kernel->info.reqcluster;
    if (n[0] > 1 || n[1] > 1 || n[2] > 1)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s:%u: %s asks for clusters of %u x %u x %u blocks; only clusters of one "
                         "block are supported",
                         kernel->module->ptx->name, kernel->ptx->line, kernel->ptx->name, n[0],
                         n[1] ? n[1] : 1, n[2] ? n[2] : 1);
    return STATUS_OK;
}

enum status exec_prepare(struct exec_function *kernel, struct error *err)
{
    TRY(check_cluster(kernel, err));
    enum status status = STATUS_OK;
    pthread_mutex_lock(&kernel->module->lock);
    if (!kernel->program) {
        struct program *program = NULL;
        status = program_make(kernel, &program, err);
        if (!status) {
            kernel->info.registers = guess_registers(kernel);
            kernel->info.static_shared = program->static_shared;
            kernel->info.local = program->stack_bytes;
            kernel->program = program;
        }
    }
    pthread_mutex_unlock(&kernel->module->lock);
    return status;
}

const struct exec_info *exec_describe(const struct exec_function *kernel)
{
    return &kernel->info;
}
