#include "hook/back_end.h"

#include <stdatomic.h>
#include <string.h>
#include "core/core.h"
#include "driver/cuda_api.h"
#include "driver/cupti_api.h"
#include "hook/cupti_router.h"
#include "hook/entry.h"

static atomic_bool by_cupti;

bool back_end_is_cupti(void)
{
    return atomic_load(&by_cupti);
}

static enum status back_end_cupti(const char *path, struct error *err)
{
    int version = 0;
    cuda.cuDriverGetVersion(&version);
    enum status status = cupti_api_load(path, version / 1000, err);
    if (!status)
        status = router_start(err);
    atomic_store(&by_cupti, !status);
    return status;
}

static enum status back_end_entry(struct error *err)
{
    if (!entry_reached())
        return error_set(err, STATUS_NOT_FOUND,
                         "the program's driver calls do not pass the library; cuvet run starts "
                         "programs so that they do");
    enum status status = entry_start(err);
    if (!status)
        core_graphs_redirected();
    return status;
}

enum status back_end_start(const char *choice, const char *path, struct error *instead,
                           struct error *err)
{
    struct error other = {{0}};
    bool entry = !strcmp(choice, "entry") || (!strcmp(choice, "auto") && entry_by_audit());
    enum status status = entry ? back_end_entry(err) : back_end_cupti(path, err);
    if (!status)
        return status;
    if (entry ? back_end_cupti(path, &other) : back_end_entry(&other))
        return status;
    error_set(instead, status, "%s; %s instead", err->text,
              entry ? "CUPTI reports launches" : "launches are seen at the driver's entry points");
    return STATUS_OK;
}
