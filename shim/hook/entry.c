#include "hook/entry.h"

#include <dlfcn.h>
#include <string.h>
#include "core/core.h"
#include "hook/entry_table.h"

struct entry_table entry_table;

/* Set by libcuvet-audit.so when it gives the program a wrapper. */
extern __attribute__((visibility("default"))) int cuvet_entry_bound;
int cuvet_entry_bound;

/* The wrappers' addresses; their types are in the files that define them. */
#define ENTRY(symbol, name, version, stream)                                                       \
    extern __attribute__((visibility("default"))) void cuvet_entry_##symbol(void);
#include "hook/entry_apis.def"
#undef ENTRY

enum { STREAM_LEGACY, STREAM_PTSZ };

static const struct entry_row {
    const char *name;
    int version, stream;
    enum entry_id id;
    void (*wrapper)(void);
} entry_rows[] = {
#define ENTRY(symbol, name, version, stream)                                                       \
    {#name, version, STREAM_##stream, ENTRY_##symbol, cuvet_entry_##symbol},
#include "hook/entry_apis.def"
#undef ENTRY
};

static const char *const symbols[] = {
#define ENTRY(symbol, name, version, stream) #symbol,
#include "hook/entry_apis.def"
#undef ENTRY
};

static struct {
    atomic_bool allowed;
    atomic_bool init;     /* the program has called cuInit's wrapper */
    atomic_flag finished; /* core_init_finished was called */
    void (*at_init)(void);
} entry = {.finished = ATOMIC_FLAG_INIT};

APART void *entry_find(enum entry_id id)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
    void *none = NULL, *real = library ? dlsym(library, symbols[id]) : NULL;
    if (library)
        dlclose(library); /* still loaded by the caller */
    if (real)
        atomic_compare_exchange_strong(&entry_table.real[id], &none, real);
    return real;
}

/* Which form of a name the driver gave: the one that it exports there. Where that is none, the
 * newest that a program of CUDA `version` gets, for its kind of default stream where there are two.
 */
static const struct entry_row *wrapper_row(const char *name, int version, bool per_thread,
                                           void *given)
{
    const struct entry_row *best = NULL;
    for (size_t i = 0; i < sizeof(entry_rows) / sizeof(*entry_rows); i++) {
        const struct entry_row *row = &entry_rows[i];
        if (strcmp(row->name, name))
            continue;
        if (given == entry_real(row->id))
            return row;
        if (row->version > version || (row->stream == STREAM_PTSZ && !per_thread))
            continue;
        if (!best || row->stream > best->stream ||
            (row->stream == best->stream && row->version > best->version))
            best = row;
    }
    return best;
}

void *entry_substitute(const char *name, int version, bool per_thread, void *given)
{
    void *none = NULL, *wrapper;
    if (!atomic_load(&entry.allowed))
        return given;
    const struct entry_row *row = wrapper_row(name, version, per_thread, given);
    if (!row)
        return given;
    atomic_compare_exchange_strong(&entry_table.real[row->id], &none, given);
    memcpy(&wrapper, &row->wrapper, sizeof(wrapper));
    return wrapper;
}

CUcontext entry_context(void)
{
    CUcontext context = NULL;
    return cuda.cuCtxGetCurrent(&context) ? NULL : context;
}

void entry_init_finished(void)
{
    if (!atomic_flag_test_and_set(&entry.finished))
        core_init_finished();
}

void entry_allow(void (*at_init)(void))
{
    entry.at_init = at_init;
    atomic_store(&entry.allowed, true);
}

bool entry_by_audit(void)
{
    return cuvet_entry_bound;
}

bool entry_reached(void)
{
    return cuvet_entry_bound || atomic_load(&entry.init);
}

enum status entry_start(struct error *err)
{
    if (!cuda.cuCtxGetCurrent || !cuda.cuFuncGetName || !cuda.cuKernelGetName)
        return error_set(err, STATUS_NOT_FOUND,
                         "the driver has no cuFuncGetName, which CUDA 12.3 added");
    atomic_store(&entry_table.on, true);
    return STATUS_OK;
}

void entry_before_init(void)
{
    atomic_store(&entry.init, true);
}

void entry_after_init(void)
{
    if (entry.at_init)
        entry.at_init();
    if (entry_reports())
        entry_init_finished();
}
