/* ref_host.cpp - the references compiled for the host: the CPU oracle. See ref_host.h. */
#include "ref_host.h"
#include "refs.cu"

namespace
{
struct host_entry {
    const char *name;
    void (*run)(const ref_call *call, int wide);
};

const host_entry host_entries[] = {
#include "ref_host_table.inc"
};
} // namespace

extern "C" int ref_host_run(const char *name, const ref_call *call, int wide)
{
    for (const host_entry &entry : host_entries) {
        if (strcmp(entry.name, name) == 0) {
            entry.run(call, wide);
            return 0;
        }
    }
    return -1;
}
