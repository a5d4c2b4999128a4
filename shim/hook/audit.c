/*
 * audit.c - libcuvet-audit.so: gives a program the wrappers of libcuvet.so in place of the driver's
 * functions. `cuvet run` names it in LD_AUDIT.
 *
 * The loader reports each binding of a name to libcuda, by a relocation or by dlsym. An auditor
 * lives in a namespace of its own, with a libc of its own, so nothing happens here but the exchange
 * of addresses: the wrappers lie in the program's libcuvet.so, as cuvet_entry_NAME. Code of that
 * library is not called: a binding may come before it is relocated.
 */
#include <dlfcn.h>
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

static bool begins(const char *text, const char *with)
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
    if (begins(base, "libcuvet.so"))
        cuvet = map;
    if (begins(base, "libcuda.so")) {
        *cookie = IS_WRAPPED;
        return LA_FLG_BINDTO;
    }
    /* These may be called, and call the driver; libcublas calls libcublasLt, too. */
    if (begins(base, "libcublas") || begins(base, "libcudnn.so")) {
        *cookie = CALLS | IS_WRAPPED;
        return LA_FLG_BINDTO | LA_FLG_BINDFROM;
    }
    for (size_t i = 0; i < sizeof(apart) / sizeof(*apart); i++) {
        if (begins(base, apart[i]))
            return 0;
    }
    *cookie = CALLS;
    return LA_FLG_BINDFROM;
}

static void *open_cuvet(void)
{
    static void *library;
    if (!library && cuvet)
        library = dlmopen(LM_ID_BASE, cuvet->l_name, RTLD_LAZY | RTLD_NOLOAD);
    return library;
}

/* The wrapper of a driver function, or of one of a library's, which is exported under its own name;
 * NULL: it has none. */
static void *wrapper_of(const char *function)
{
    void *library = open_cuvet();
    char name[128];
    int length = snprintf(name, sizeof(name), "cuvet_entry_%s", function);
    if (!library || length < 0 || (size_t)length >= sizeof(name))
        return NULL;
    if (begins(function, "cublas") || begins(function, "cudnn"))
        return dlsym(library, function);
    void *wrapper = dlsym(library, name);
    int *bound = wrapper ? dlsym(library, "cuvet_entry_bound") : NULL;
    if (bound)
        *bound = 1;
    return bound ? wrapper : NULL;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                       unsigned *flags, const char *name)
{
    (void)index;
    *flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
    bool exchanged = (*from & CALLS) && (*to & IS_WRAPPED) && begins(name, "cu");
    void *wrapper = exchanged ? wrapper_of(name) : NULL;
    return wrapper ? (uintptr_t)wrapper : symbol->st_value;
}
