/*
 * audit.c - libcuvet-audit.so: gives a program the wrappers of libcuvet.so in place of the driver's
 * functions. `cuvet run` names it in LD_AUDIT.
 *
 * The loader reports each binding of a name to libcuda, by a relocation or by dlsym. An auditor
 * lives in a namespace of its own, with a libc of its own, so nothing happens here but the exchange
 * of addresses: the wrappers lie in the program's libcuvet.so, as cuvet_entry_NAME. Code of that
 * library is not called: a binding may come before it is relocated.
 */
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN unsigned la_version(unsigned version);
SHOWN unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie);
SHOWN uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                             unsigned *flags, const char *name);

static const struct link_map *cuvet; /* libcuvet.so, once it is mapped */

/* Whose own calls of the driver are not the program's: profilers and cuvet itself. */
static const char *const apart[] = {"libcuvet", "libcupti", "libnvperf_", "libcuinj64",
                                    "libToolsInjection"};

unsigned la_version(unsigned version)
{
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

static bool path_begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* In an object's cookie: the loader reports dlsym where the caller's object has LA_FLG_BINDFROM or
 * the other one LA_FLG_BINDTO, and a binding is exchanged only where both are so. A library that
 * stands in front of the driver keeps its own functions. */
enum { CALLS = 1, IS_WRAPPED = 2 };

unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    const char *slash = strrchr(map->l_name, '/'), *base = slash ? slash + 1 : map->l_name;
    *cookie = 0;
    if (space != LM_ID_BASE)
        return 0;
    if (path_begins(base, "libcuvet.so"))
        cuvet = map;
    if (path_begins(base, "libcuda.so")) {
        *cookie = IS_WRAPPED;
        return LA_FLG_BINDTO;
    }
    /* These may be called, and call the driver; libcublas calls libcublasLt, too. */
    if (path_begins(base, "libcublas") || path_begins(base, "libcudnn.so")) {
        *cookie = CALLS | IS_WRAPPED;
        return LA_FLG_BINDTO | LA_FLG_BINDFROM;
    }
    for (size_t i = 0; i < sizeof(apart) / sizeof(*apart); i++) {
        if (path_begins(base, apart[i]))
            return 0;
    }
    *cookie = CALLS;
    return LA_FLG_BINDFROM;
}

/* A table of libcuvet.so by its tag. The loader makes addresses of the values, but not everywhere.
 */
static const void *table_of(const struct link_map *map, Elf64_Sxword tag)
{
    const Elf64_Dyn *row = map->l_ld;
    while (row->d_tag != DT_NULL && row->d_tag != tag)
        row++;
    if (row->d_tag == DT_NULL)
        return NULL;
    Elf64_Addr at = row->d_un.d_ptr;
    return (const void *)(at < map->l_addr ? at + map->l_addr : at);
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (uint8_t)*name;
    return hash;
}

/* The address of an exported name, by the hash table that --hash-style=gnu makes: dlopen and dlsym
 * would relocate and initialise libcuvet.so and the C library before their turn, when a program is
 * bound as it starts. */
static void *find_wrapper(const char *name)
{
    const Elf64_Sym *symbols = cuvet ? table_of(cuvet, DT_SYMTAB) : NULL;
    const char *texts = cuvet ? table_of(cuvet, DT_STRTAB) : NULL;
    const uint32_t *head = cuvet ? table_of(cuvet, DT_GNU_HASH) : NULL, hash = gnu_hash(name);
    if (!symbols || !texts || !head || !head[0])
        return NULL;
    const uint32_t buckets = head[0], first = head[1], filters = head[2];
    const uint32_t *bucket = head + 4 + 2 * filters, *chain = bucket + buckets;
    uint32_t at = bucket[hash % buckets];
    for (; at >= first; at++) {
        const Elf64_Sym *symbol = &symbols[at];
        if ((chain[at - first] | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
            !strcmp(texts + symbol->st_name, name))
            return (void *)(cuvet->l_addr + symbol->st_value);
        if (chain[at - first] & 1)
            break;
    }
    return NULL;
}

/* The wrapper of a driver function, or of one of a library's, which is exported under its own name;
 * NULL: it has none. */
static void *wrapper_of(const char *function)
{
    char name[128];
    int length = snprintf(name, sizeof(name), "cuvet_entry_%s", function);
    if (length < 0 || (size_t)length >= sizeof(name))
        return NULL;
    if (path_begins(function, "cublas") || path_begins(function, "cudnn"))
        return find_wrapper(function);
    void *wrapper = find_wrapper(name);
    int *bound = wrapper ? find_wrapper("cuvet_entry_bound") : NULL;
    if (bound)
        *bound = 1;
    return bound ? wrapper : NULL;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                       unsigned *flags, const char *name)
{
    (void)index;
    *flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
    bool exchanged = (*from & CALLS) && (*to & IS_WRAPPED) && path_begins(name, "cu");
    void *wrapper = exchanged ? wrapper_of(name) : NULL;
    return wrapper ? (uintptr_t)wrapper : symbol->st_value;
}
