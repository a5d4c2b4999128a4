#include "lang/ref_text.h"

#include <stdbool.h>
#include <string.h>

/* The macros that declare a reference, and those that make its kernels. */
static const struct form {
    const char *mark, *entry;
    int special; /* a kernel for each usual dtype too */
} forms[] = {
    [REF_FORM_FULL] = {"REFERENCE(", "REF_ENTRY", 1},
    [REF_FORM_SAMPLED] = {"REFERENCE_SAMPLED(", "REF_ENTRY", 0},
    [REF_FORM_ONCE] = {"REFERENCE_ONCE(", "REF_ENTRY_ONCE", 0},
};

enum { FORMS = sizeof forms / sizeof *forms };

/* ---- reading ---- */

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

static int line_of(const char *text, const char *at)
{
    int line = 1;
    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

/* Adjacent string literals at `at`, joined into `out`; NULL if there is none or it is too long. */
static const char *take_literals(const char *at, char out[REF_FORMALS_TEXT])
{
    size_t length = 0;
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (*at != '"')
            break;
        for (at++; *at && *at != '"' && *at != '\\'; at++) {
            if (length + 1 == REF_FORMALS_TEXT)
                return NULL;
            out[length++] = *at;
        }
        if (*at++ != '"')
            return NULL;
    }
    out[length] = '\0';
    return length ? at : NULL;
}

/* What stands at `at`, behind the opening parenthesis. */
static enum status take_declaration(const char **at, struct ref_declaration *out, struct error *err)
{
    const char *next = *at + strspn(*at, " \t\r\n");
    size_t length = strspn(next, letters);
    if (length == 0 || length >= FORMAL_NAME)
        return error_set(err, STATUS_INVALID, "expected a name of at most 31 characters");
    memcpy(out->name, next, length);
    out->name[length] = '\0';
    next += length + strspn(next + length, " \t\r\n");
    if (*next != ',' || !(next = take_literals(next + 1, out->text)) || *next != ')')
        return error_set(err, STATUS_INVALID, "expected REFERENCE(name, \"formals\")");
    *at = next + 1;
    return formals_parse(&out->formals, out->text, err);
}

/* The form that the line at `at` declares a reference in, or -1. */
static int form_at(const char *at)
{
    for (int form = 0; form < FORMS; form++) {
        if (strncmp(at, forms[form].mark, strlen(forms[form].mark)) == 0)
            return form;
    }
    return -1;
}

/* The next line from `at` on, the start of one, that declares a reference, or the end. */
static const char *find_line(const char *at)
{
    while (*at && form_at(at) < 0) {
        const char *end = strchr(at, '\n');
        at = end ? end + 1 : at + strlen(at);
    }
    return at;
}

/* ---- what a body uses ---- */

/* Behind a comment or a literal that begins at `at`; `at` itself where none does. */
static const char *skip_quoted(const char *at, const char *end)
{
    bool line = at[0] == '/' && at[1] == '/', block = at[0] == '/' && at[1] == '*';
    char quote = *at;
    if (line || block) {
        const char *close = strstr(at + 2, line ? "\n" : "*/");
        return !close || close > end ? end : line ? close : close + 2;
    }
    if (quote != '"' && quote != '\'')
        return at;
    for (at++; at < end && *at != quote && *at != '\n'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at + 1 : end;
}

static unsigned use_of(const char *word, size_t length, const char *behind)
{
    static const struct {
        const char *name;
        unsigned use;
    } macros[] = {{"MASKED", REF_USES_MASKED},
                  {"MIX", REF_USES_MIX},
                  {"ROW", REF_USES_ROW},
                  {"REPEATED", REF_REPEATS}};
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++) {
        if (strlen(macros[i].name) == length && memcmp(macros[i].name, word, length) == 0 &&
            behind[strspn(behind, " \t")] == '(')
            return macros[i].use;
    }
    return 0;
}

/* Of the text from `at` to `end`, or of its preprocessor lines alone. */
static unsigned find_uses(const char *at, const char *end, bool directives)
{
    unsigned uses = 0;
    bool fresh = true, inside = false; /* nothing on the line yet; it belongs to a directive */
    while (at < end) {
        const char *behind = skip_quoted(at, end);
        size_t length = strspn(at, letters);
        if (behind > at) {
            at = behind;
            continue;
        }
        if (length > 0 && (inside || !directives))
            uses |= use_of(at, length, at + length);
        inside = *at == '\n' ? inside && at[-1] == '\\' : inside || (fresh && *at == '#');
        fresh = *at == '\n' || (fresh && (*at == ' ' || *at == '\t'));
        at += length > 0 ? length : 1;
    }
    return uses;
}

/* Of the reference whose body begins at `body`. A macro of the text may stand for others. */
static unsigned uses_of(const char *text, const char *body)
{
    const char *first = find_line(text);
    return find_uses(text, first, false) | find_uses(first, body, true) |
           find_uses(body, find_line(body), false);
}

enum status ref_text_next(const char *text, const char **at, struct ref_declaration *out,
                          struct error *err)
{
    *at = find_line(*at);
    int form = form_at(*at);
    if (form < 0)
        return STATUS_NOT_FOUND;
    out->form = (enum ref_form)form;
    out->line = line_of(text, *at);
    *at += strlen(forms[form].mark);
    enum status status = take_declaration(at, out, err);
    if (!status)
        out->uses = uses_of(text, *at);
    return status;
}

/* ---- writing ---- */

static void write_members(FILE *out, const struct formals *formals)
{
    for (int i = 0; i < formals->count; i++) {
        const struct formal *f = &formals->formal[i];
        if (f->kind == FORMAL_REAL)
            fprintf(out, "    typename ref_variable<E, D>::formal %s; \\\n", f->name);
        else if (f->kind == FORMAL_IN)
            fprintf(out, "    %s<E, D, %d, %s> %s; \\\n", f->coded ? "ref_coded" : "ref_in",
                    f->ndim, f->optional ? "true" : "false", f->name);
        else if (f->kind == FORMAL_POINT)
            fprintf(out, "    ref_point<E, D> %s; \\\n", f->name);
        else if (f->kind != FORMAL_INT)
            fprintf(out, "    ref_out<E, D, %d> %s; \\\n", f->ndim, f->name);
    }
    for (int i = 0; i < formals->sizes; i++)
        fprintf(out, "    long long %s; \\\n", formals->size_name[i]);
}

/* Initialisers in the order of the members. */
static void write_initialisers(FILE *out, const struct formals *formals)
{
    for (int i = 0; i < formals->count; i++) {
        const struct formal *f = &formals->formal[i];
        if (f->kind == FORMAL_REAL)
            fprintf(out, ", \\\n          %s(frame_.call.scalar[%d], frame_.k)", f->name, f->slot);
        else if (f->kind == FORMAL_POINT)
            fprintf(out, ", \\\n          %s(frame_, %d)", f->name, f->slot);
        else if (f->kind != FORMAL_INT)
            fprintf(out, ", \\\n          %s(frame_, frame_.call.tensor[%d])", f->name, f->slot);
    }
    for (int i = 0; i < formals->sizes; i++)
        fprintf(out, ", \\\n          %s(frame_.size(%d))", formals->size_name[i], i);
}

/* Sizes that are dims: int formals come after them and may have any value. */
static int named_dims(const struct formals *formals)
{
    int dims = formals->sizes;
    for (int i = 0; i < formals->count; i++)
        dims -= formals->formal[i].kind == FORMAL_INT;
    return dims;
}

void ref_text_write(FILE *out, const struct ref_declaration *ref, enum ref_form form)
{
    const char *name = ref->name;
    fprintf(out, "\n#define FORMALS_%s \\\n", name);
    fprintf(out, "template <class E, int D> struct reference_%s : ref_body<E> { \\\n", name);
    fprintf(out, "    typedef typename ref_variable<E, D>::type real; \\\n");
    write_members(out, &ref->formals);
    fprintf(out, "    REF_FN reference_%s(ref_frame<E> &frame_) \\\n", name);
    fprintf(out, "        : ref_body<E>(frame_, %d)", named_dims(&ref->formals));
    write_initialisers(out, &ref->formals);
    fprintf(out, " \\\n    { \\\n    } \\\n    REF_FN void run(); \\\n}; \\\n");
    fprintf(out, "%s(%s) \\\n", forms[form].entry, name);
    if (forms[form].special)
        fprintf(out, "REF_SPECIAL_ENTRIES(%s) \\\n", name);
    fprintf(out, "template <class E, int D> REF_FN void reference_%s<E, D>::run()\n", name);
}
