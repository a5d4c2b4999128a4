#include "compile/ref_compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver/nvrtc_api.h"
#include "compile/ref_hint.h"
#include "compile/ref_source.h"

enum { MESSAGE = 240, QUOTED = 100 };

struct compiling {
    const struct user_text *text;
    struct nvrtc_program *program;
    struct error *err;
};

static enum status create(struct compiling *c)
{
    struct ref_source source;
    enum status status = ref_source_make(&source, c->text, c->err);
    if (!status && nvrtc.create(&c->program, source.whole, "cuvet", source.headers, source.header,
                                source.name))
        status = error_set(c->err, STATUS_NO_MEMORY, "%.300s: NVRTC does not take the text",
                           c->text->where);
    ref_source_release(&source);
    return status;
}

/* ---- NVRTC's messages ---- */

static char *read_log(struct compiling *c)
{
    size_t size = 0;
    char *log = nvrtc.log_size(c->program, &size) || !size ? NULL : calloc(1, size + 1);
    if (log && nvrtc.log(c->program, log)) {
        free(log);
        log = NULL;
    }
    return log;
}

/* The first line "NAME(LINE): error: MESSAGE" of the log, or NULL. `message` gets the last part. */
static const char *first_error(const char *log, char message[MESSAGE])
{
    for (const char *line = log; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t length = strcspn(line, "\n");
        const char *mark = memmem(line, length, "): error", 8);
        if (!mark)
            mark = memmem(line, length, "): catastrophic error", 21);
        const char *colon =
            mark ? memmem(mark + 2, length - (size_t)(mark + 2 - line), ": ", 2) : NULL;
        if (!colon)
            continue;
        snprintf(message, MESSAGE, "%.*s", (int)(line + length - colon - 2), colon + 2);
        return line;
    }
    return NULL;
}

/* The line of the text that the error is about: its own, or where the header that it is in was
 * used. 0: unknown. */
static int error_line(const char *error)
{
    static const char own[] = REF_SOURCE_NAME "(", used[] = " of " REF_SOURCE_NAME;
    if (strncmp(error, own, sizeof own - 1) == 0)
        return atoi(error + sizeof own - 1);
    const char *at = strstr(error, used);
    while (at && at > error && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at ? atoi(at) : 0;
}

static void quote_line(const char *text, int line, char out[QUOTED])
{
    for (; line > 1 && text; line--) {
        text = strchr(text, '\n');
        text += text != NULL;
    }
    text = text ? text + strspn(text, " \t") : "";
    snprintf(out, QUOTED, "%.*s", (int)strcspn(text, "\r\n"), text);
}

static enum status report_error(struct compiling *c)
{
    char message[MESSAGE], quoted[QUOTED], place[300];
    char *log = read_log(c);
    const char *error = log ? first_error(log, message) : NULL;
    int line = error ? error_line(error) : 0;
    if (line > 0) {
        user_text_place(c->text, line, place, sizeof place);
        quote_line(c->text->text, line, quoted);
        const char *hint = ref_hint(error);
        error_set(c->err, STATUS_INVALID, "%s: the reference does not compile: %s, in '%s'%s%s",
                  place, message, quoted, hint ? "; " : "", hint ? hint : "");
    } else {
        error_set(c->err, STATUS_INVALID, "%.300s: the reference does not compile: %s",
                  c->text->where, error ? message : "NVRTC gives no reason");
    }
    free(log);
    return STATUS_INVALID;
}

/* ---- the whole ---- */

static char *fetch(struct compiling *c, int (*size_of)(struct nvrtc_program *, size_t *),
                   int (*get)(struct nvrtc_program *, char *), size_t *size)
{
    char *bytes = size_of(c->program, size) || !*size ? NULL : malloc(*size);
    if (bytes && get(c->program, bytes)) {
        free(bytes);
        bytes = NULL;
    }
    if (!bytes)
        *size = 0;
    return bytes;
}

static enum status compile_reference(struct compiling *c, const char *architecture)
{
    const char *option[1 + REF_SOURCE_OPTIONS] = {architecture};
    memcpy(&option[1], ref_source_option, sizeof ref_source_option);
    return nvrtc.compile(c->program, 1 + REF_SOURCE_OPTIONS, option) ? report_error(c) : STATUS_OK;
}

enum status ref_compile(const struct user_text *text, int arch, struct ref_image *out,
                        struct error *err)
{
    struct compiling c = {text, NULL, err};
    char architecture[48];
    int known = nvrtc_nearest_arch(arch), major = 0, minor = 0;
    *out = (struct ref_image){0};
    if (!known) {
        nvrtc.version(&major, &minor);
        return error_set(err, STATUS_UNSUPPORTED,
                         "NVRTC %d.%d compiles for no GPU of compute capability %d.%d; set "
                         "CUVET_NVRTC to an older one",
                         major, minor, arch / 10, arch % 10);
    }
    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s_%d",
             known == arch ? "sm" : "compute", known);
    enum status status = create(&c);
    if (!status)
        status = compile_reference(&c, architecture);
    if (!status) {
        out->ptx = fetch(&c, nvrtc.ptx_size, nvrtc.ptx, &out->ptx_bytes);
        if (known == arch)
            out->cubin = fetch(&c, nvrtc.cubin_size, nvrtc.cubin, &out->cubin_bytes);
        if (!out->ptx && !out->cubin)
            status = error_set(err, STATUS_NO_MEMORY, "%.300s: NVRTC gives no code", text->where);
    }
    if (c.program)
        nvrtc.destroy(&c.program);
    return status;
}
