#include "driver/undying.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct relocations {
    const ElfW(Rela) * first;
    size_t bytes;
};

/* The parts of a mapped library that name what it calls. The loader has made addresses of them. */
struct dynamic {
    const ElfW(Sym) * symbol;
    const char *names;
    struct relocations calls, others;
};

static struct dynamic read_dynamic(const struct link_map *map)
{
    struct dynamic found = {0};
    for (const ElfW(Dyn) *row = map->l_ld; row->d_tag != DT_NULL; row++) {
        const void *address = (const void *)(uintptr_t)row->d_un.d_ptr;
        if (row->d_tag == DT_SYMTAB)
            found.symbol = address;
        else if (row->d_tag == DT_STRTAB)
            found.names = address;
        else if (row->d_tag == DT_JMPREL)
            found.calls.first = address;
        else if (row->d_tag == DT_PLTRELSZ)
            found.calls.bytes = row->d_un.d_val;
        else if (row->d_tag == DT_RELA)
            found.others.first = address;
        else if (row->d_tag == DT_RELASZ)
            found.others.bytes = row->d_un.d_val;
    }
    return found;
}

static int register_nothing(void (*destroy)(void *), void *object, void *library)
{
    (void)destroy, (void)object, (void)library;
    return 0;
}

/* The page may have been made read-only after relocation. */
static void redirect(uintptr_t slot)
{
    int (*const to)(void (*)(void *), void *, void *) = register_nothing;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = slot / page * page;
    if (mprotect((void *)start, page, PROT_READ | PROT_WRITE) == 0)
        memcpy((void *)slot, &to, sizeof to);
}

static void redirect_all(const struct link_map *map, const struct dynamic *dynamic,
                         const struct relocations *relocations)
{
    size_t count = relocations->first ? relocations->bytes / sizeof *relocations->first : 0;
    for (size_t i = 0; i < count; i++) {
        const ElfW(Rela) *row = &relocations->first[i];
        size_t symbol = ELF64_R_SYM(row->r_info);
        if (symbol && row->r_addend == 0 &&
            strcmp(dynamic->names + dynamic->symbol[symbol].st_name, "__cxa_atexit") == 0)
            redirect(map->l_addr + row->r_offset);
    }
}

void undying_from_now(void *library)
{
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) || !map || !map->l_ld)
        return;
    struct dynamic dynamic = read_dynamic(map);
    if (!dynamic.symbol || !dynamic.names)
        return;
    redirect_all(map, &dynamic, &dynamic.calls);
    redirect_all(map, &dynamic, &dynamic.others);
}
