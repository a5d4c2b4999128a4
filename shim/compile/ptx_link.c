#include "compile/ptx_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver/jitlink_api.h"

enum { SM_REGISTERS = 65536, MOST_REGISTERS = 255 /* of a thread */, MOST_THREADS = 1024 };

void ptx_link_arch(const char *text, int arch, char out[PTX_LINK_ARCH])
{
    const char *target = strstr(text, ".target sm_");
    char *end = NULL;
    long number = target ? strtol(target + strlen(".target sm_"), &end, 10) : 0;
    const bool special = number == arch && (*end == 'a' || *end == 'f');
    snprintf(out, PTX_LINK_ARCH, "-arch=sm_%d%.*s", arch, special ? 1 : 0, special ? end : "");
}

unsigned ptx_link_registers(const char *text)
{
    static const char *const names[] = {"\n.reqntid ", "\n.maxntid "};
    const char *at = NULL;
    for (size_t i = 0; !at && i < sizeof names / sizeof *names; i++)
        at = strstr(text, names[i]);
    unsigned long threads = at ? 1 : 0;
    for (at = at ? strchr(at, ' ') : NULL; at; at = *at == ',' ? at + 1 : NULL) {
        char *end;
        threads *= strtoul(at, &end, 10);
        at = end;
    }
    if (!threads)
        threads = MOST_THREADS;
    unsigned each = (unsigned)(SM_REGISTERS / ((threads + 127) / 128 * 128) / 8 * 8);
    return each < MOST_REGISTERS ? each : 0;
}

static enum status link_error(struct jitlink *link, int result, struct error *err)
{
    char log[200] = "";
    size_t bytes = 0;
    char *whole = !link || jitlink.log_size(link, &bytes) || !bytes ? NULL : calloc(1, bytes + 1);
    if (whole && !jitlink.log(link, whole))
        snprintf(log, sizeof log, "%s", whole);
    free(whole);
    return error_set(err, STATUS_INVALID, "nvJitLink ended with %d: %s", result, log);
}

static int link_text(struct jitlink *link, const char *text, struct ref_image *out)
{
    int result = jitlink.add(link, JITLINK_PTX, text, strlen(text) + 1, "lifted.ptx");
    if (!result)
        result = jitlink.complete(link);
    if (!result)
        result = jitlink.cubin_size(link, &out->cubin_bytes);
    if (!result)
        out->cubin = malloc(out->cubin_bytes + 1);
    return result || !out->cubin ? result : jitlink.cubin(link, out->cubin);
}

enum status ptx_link(const char *text, int arch, struct ref_image *out, struct error *err)
{
    char option[PTX_LINK_ARCH], limit[40];
    const char *options[] = {option, limit};
    struct jitlink *link = NULL;
    const unsigned registers = ptx_link_registers(text);
    *out = (struct ref_image){0};
    ptx_link_arch(text, arch, option);
    snprintf(limit, sizeof limit, "-maxrregcount=%u", registers);
    int result = jitlink.create(&link, registers ? 2 : 1, options);
    if (!result)
        result = link_text(link, text, out);
    enum status status = result || !out->cubin ? link_error(link, result, err) : STATUS_OK;
    if (status)
        ref_image_release(out);
    if (link)
        jitlink.destroy(&link);
    return status;
}
