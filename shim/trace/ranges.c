#include "trace/ranges.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include "trace/trace_record.h"

/* NVTX's binary interface, as its version 3 has it. */
enum { ETID_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum { CORE_PUSH_EX = 8, CORE_PUSH_A = 9, CORE_PUSH_W = 10, CORE_POP = 11 };
enum { CORE2_PUSH_EX = 4, CORE2_POP = 5, CORE2_REGISTER_A = 10, CORE2_REGISTER_W = 11 };
enum { MESSAGE_ASCII = 1, MESSAGE_WIDE = 2, MESSAGE_REGISTERED = 3 };

typedef void (*nvtx_function)(void);
struct nvtx_callbacks {
    size_t struct_size;
    int (*module_table)(int module, nvtx_function ***table, unsigned *size);
};
typedef const void *(*nvtx_export_table)(uint32_t id);

struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

enum { LEVELS = 32, NAME_BYTES = 64, REGISTERED = 1 << 16, REGISTERED_BYTES = 128 };

/* Of a thread. `path` always ends with NUL. */
static __thread struct {
    int depth;               /* open ranges; those past LEVELS are counted alone */
    uint16_t length[LEVELS]; /* of `path` before that range */
    char path[TRACE_RANGE];
} open_ranges;

static _Atomic unsigned registered;

const char *ranges_open(void)
{
    return open_ranges.path;
}

static int push(const char *name)
{
    int depth = open_ranges.depth++;
    size_t length = strlen(open_ranges.path);
    if (depth < LEVELS) {
        open_ranges.length[depth] = (uint16_t)length;
        snprintf(open_ranges.path + length, sizeof open_ranges.path - length, "%s%.*s",
                 length ? "/" : "", NAME_BYTES, name ? name : "?");
    }
    return depth;
}

static int pop(void)
{
    if (open_ranges.depth == 0)
        return -1;
    int depth = --open_ranges.depth;
    if (depth < LEVELS)
        open_ranges.path[open_ranges.length[depth]] = '\0';
    return depth;
}

/* Characters beyond ASCII become '?'. */
static const char *narrow_text(char out[NAME_BYTES], const wchar_t *wide)
{
    int length = 0;
    for (; wide && wide[length] && length < NAME_BYTES - 1; length++)
        out[length] = wide[length] > 0 && wide[length] < 127 ? (char)wide[length] : '?';
    out[length] = '\0';
    return out;
}

static int push_wide(const wchar_t *wide)
{
    char name[NAME_BYTES];
    return push(narrow_text(name, wide));
}

static int push_attributes(const struct nvtx_attributes *attributes)
{
    char name[NAME_BYTES];
    if (!attributes || attributes->size < sizeof *attributes || !attributes->message)
        return push(NULL);
    if (attributes->message_type == MESSAGE_WIDE)
        return push(narrow_text(name, attributes->message));
    bool text =
        attributes->message_type == MESSAGE_ASCII || attributes->message_type == MESSAGE_REGISTERED;
    return push(text ? attributes->message : NULL);
}

static int push_in_domain(void *domain, const struct nvtx_attributes *attributes)
{
    (void)domain;
    return push_attributes(attributes);
}

static int pop_in_domain(void *domain)
{
    (void)domain;
    return pop();
}

/* A registered text is its own handle; it lives as long as the process. */
static const void *register_text(void *domain, const char *text)
{
    (void)domain;
    bool room = atomic_fetch_add(&registered, 1) < REGISTERED;
    return room && text ? strndup(text, REGISTERED_BYTES) : NULL;
}

static const void *register_wide(void *domain, const wchar_t *wide)
{
    char name[NAME_BYTES];
    return register_text(domain, narrow_text(name, wide));
}

static void put_function(nvtx_function **table, unsigned size, unsigned index,
                         nvtx_function function)
{
    if (index < size && table[index])
        *table[index] = function;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_export_table get);

/* Called by NVTX at the program's first call of it. */
int InitializeInjectionNvtx2(nvtx_export_table get)
{
    const struct nvtx_callbacks *callbacks = get ? get(ETID_CALLBACKS) : NULL;
    nvtx_function **table;
    unsigned size = 0;
    if (!callbacks || callbacks->struct_size < sizeof *callbacks)
        return 0;
    if (callbacks->module_table(MODULE_CORE, &table, &size)) {
        put_function(table, size, CORE_PUSH_EX, (nvtx_function)push_attributes);
        put_function(table, size, CORE_PUSH_A, (nvtx_function)push);
        put_function(table, size, CORE_PUSH_W, (nvtx_function)push_wide);
        put_function(table, size, CORE_POP, (nvtx_function)pop);
    }
    if (callbacks->module_table(MODULE_CORE2, &table, &size)) {
        put_function(table, size, CORE2_PUSH_EX, (nvtx_function)push_in_domain);
        put_function(table, size, CORE2_POP, (nvtx_function)pop_in_domain);
        put_function(table, size, CORE2_REGISTER_A, (nvtx_function)register_text);
        put_function(table, size, CORE2_REGISTER_W, (nvtx_function)register_wide);
    }
    return 1;
}

void ranges_offer(const char *library)
{
    const char *trace = getenv("CUVET_TRACE"), *mode = getenv("CUVET_MODE");
    const char *digest = getenv("CUVET_DIGEST");
    if ((trace && strcmp(trace, "1") == 0) || (digest && strcmp(digest, "1") == 0) ||
        (mode && strcmp(mode, "trace") == 0))
        setenv("NVTX_INJECTION64_PATH", library, 0);
}
