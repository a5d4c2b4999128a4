#include "verify/ref_compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "driver/nvrtc_api.h"
#include "verify/embedded.h"
#include "verify/ref_hint.h"

/* How the text is called inside NVRTC, whatever its file is called. */
#define TEXT_NAME "cuvet_text"

enum { HEADERS_MAX = 32, MESSAGE = 240, QUOTED = 100 };
static const int64_t patience_ns = 120 * 1000000000LL;

struct compiling {
    const struct user_text *text;
    const atomic_bool *cancel;
    int64_t until;
    struct nvrtc_program *program;
    struct error *err;
};

/* ---- what NVRTC gets ---- */

/* ref.h, then the text, whose lines count from 1. The caller frees it. */
static char *whole_text(const struct user_text *text)
{
    static const char before[] = "#include \"ref.h\"\n#line 1 \"" TEXT_NAME "\"\n";
    size_t length = strlen(text->text);
    char *whole = malloc(sizeof before + length + 2);
    if (whole) {
        memcpy(whole, before, sizeof before - 1);
        memcpy(whole + sizeof before - 1, text->text, length);
        memcpy(whole + sizeof before - 1 + length, "\n", 2);
    }
    return whole;
}

/* ref_formals.h for the references of the text, each as one kernel. The caller frees it. */
static char *formals_header(const struct user_text *text)
{
    char *header = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&header, &size);
    if (!memory)
        return NULL;
    for (unsigned i = 0; i < text->declared; i++)
        ref_text_write(memory, &text->declaration[i], REF_FORM_ONCE);
    if (fclose(memory) == 0)
        return header;
    free(header);
    return NULL;
}

static enum status create(struct compiling *c)
{
    const char *header[HEADERS_MAX], *name[HEADERS_MAX];
    int headers = 1, result = -1;
    char *whole = whole_text(c->text), *formals = formals_header(c->text);
    header[0] = formals;
    name[0] = "ref_formals.h";
    for (const struct embedded_text *h = cuvet_ref_headers; h->name && headers < HEADERS_MAX; h++) {
        header[headers] = h->text;
        name[headers++] = h->name;
    }
    if (whole && formals)
        result = nvrtc.create(&c->program, whole, "cuvet", headers, header, name);
    free(whole);
    free(formals);
    return result ? error_set(c->err, STATUS_NO_MEMORY, "%s: NVRTC does not take the text",
                              c->text->where)
                  : STATUS_OK;
}

/* Asked by NVRTC, on whatever thread. Once 1 it stays 1. */
static int should_end(void *user, void *unused)
{
    const struct compiling *c = user;
    (void)unused;
    return (c->cancel && atomic_load(c->cancel)) || clock_ns() > c->until;
}

/* ---- what NVRTC says ---- */

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
    static const char own[] = TEXT_NAME "(", used[] = " of " TEXT_NAME;
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

static enum status tell_error(struct compiling *c)
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
                  c->text->where, error ? message : "NVRTC does not say why");
    }
    free(log);
    return STATUS_INVALID;
}

/* ---- the whole ---- */

static char *fetch(struct compiling *c, int (*size_of)(struct nvrtc_program *, size_t *),
                   int (*get)(struct nvrtc_program *, char *))
{
    size_t size = 0;
    char *bytes = size_of(c->program, &size) || !size ? NULL : malloc(size);
    if (bytes && get(c->program, bytes)) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

static enum status compile(struct compiling *c, const char *architecture)
{
    const char *option[] = {architecture, "-default-device", "-std=c++17"};
    if (nvrtc.set_flow)
        nvrtc.set_flow(c->program, should_end, c);
    int result = nvrtc.compile(c->program, 3, option);
    if (result && should_end(c, NULL))
        return error_set(c->err, STATUS_TIMEOUT,
                         "%.300s: the reference did not compile within 120 s", c->text->where);
    return result ? tell_error(c) : STATUS_OK;
}

enum status ref_compile(const struct user_text *text, int arch, const atomic_bool *cancel,
                        struct ref_image *out, struct error *err)
{
    struct compiling c = {text, cancel, clock_ns() + patience_ns, NULL, err};
    char architecture[48];
    int known = nvrtc_nearest_arch(arch), major = 0, minor = 0;
    *out = (struct ref_image){NULL, NULL};
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
        status = compile(&c, architecture);
    if (!status) {
        out->ptx = fetch(&c, nvrtc.ptx_size, nvrtc.ptx);
        out->cubin = known == arch ? fetch(&c, nvrtc.cubin_size, nvrtc.cubin) : NULL;
        if (!out->ptx && !out->cubin)
            status = error_set(err, STATUS_NO_MEMORY, "%.300s: NVRTC gives no code", text->where);
    }
    if (c.program)
        nvrtc.destroy(&c.program);
    return status;
}

void ref_image_release(struct ref_image *image)
{
    free(image->cubin);
    free(image->ptx);
    *image = (struct ref_image){NULL, NULL};
}
