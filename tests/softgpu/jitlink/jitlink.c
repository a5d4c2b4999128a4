/* jitlink.c - the part of nvJitLink that cuvet calls: what is linked is the one text of PTX that
 * was added, which the stand-in driver takes for machine code. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK, UNRECOGNISED = 1, PTX_COMPILE = 4, PTX = 2 };

struct jitlink {
    char *text;
    size_t bytes;
};

int nvJitLinkCreate(struct jitlink **out, uint32_t options, const char **option)
{
    static const char *const known[] = {"-arch=sm_", "-maxrregcount="};
    for (uint32_t i = 0; i < options; i++) {
        if (i > 1 || strncmp(option[i], known[i], strlen(known[i])) != 0)
            return UNRECOGNISED;
    }
    if (!options)
        return UNRECOGNISED;
    *out = calloc(1, sizeof **out);
    return OK;
}

int nvJitLinkDestroy(struct jitlink **link)
{
    free((*link)->text);
    free(*link);
    *link = NULL;
    return OK;
}

int nvJitLinkAddData(struct jitlink *link, int type, const void *data, size_t bytes,
                     const char *name)
{
    (void)name;
    if (type != PTX || link->text || strncmp(data, ".version", strlen(".version")) != 0)
        return PTX_COMPILE;
    link->text = malloc(bytes);
    memcpy(link->text, data, bytes);
    link->bytes = bytes;
    return OK;
}

int nvJitLinkComplete(struct jitlink *link)
{
    return link->text ? OK : UNRECOGNISED;
}

int nvJitLinkGetLinkedCubinSize(struct jitlink *link, size_t *bytes)
{
    *bytes = link->bytes;
    return OK;
}

int nvJitLinkGetLinkedCubin(struct jitlink *link, void *out)
{
    memcpy(out, link->text, link->bytes);
    return OK;
}

static const char log_text[] = "no PTX";

int nvJitLinkGetErrorLogSize(struct jitlink *link, size_t *bytes)
{
    (void)link;
    *bytes = sizeof log_text;
    return OK;
}

int nvJitLinkGetErrorLog(struct jitlink *link, char *out)
{
    (void)link;
    memcpy(out, log_text, sizeof log_text);
    return OK;
}
