/*
 * refgen.c - writes the tables and declarations of the references for the build: refgen OUTDIR
 * refs/ROOM/NAME.cu ...
 *
 * It scans the files for lines REFERENCE(name, "formals"), REFERENCE_SAMPLED and REFERENCE_ONCE,
 * which determine how many kernels each becomes, and writes:
 *
 *   OUTDIR/ref_formals.h       FORMALS_name: the struct, the kernels and the head of run()
 *   OUTDIR/ref_list.c          the tables of refs/abi/ref_list.h; the formula of a reference is the
 *                              comment that stands right above its line
 *   OUTDIR/ref_host_table.inc  {name, function} rows for refs/abi/ref_host.cpp
 *
 * Files are replaced only when their text changes, so that nothing is compiled for nothing.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/ref_text.h"

enum { REFERENCES_MAX = 512, FORMULA_MAX = 1024, INDICES_MAX = 256 };

struct reference {
    struct ref_declaration declared;
    const char *file;
    char formula[FORMULA_MAX]; /* escaped for a literal of C */
    char indices[INDICES_MAX]; /* " ids slots ": what the body takes as indices */
};

/* The symbols of each form; ref_list.h has the variants. A reference that is compiled once has its
 * wide kernel as the general ones. */
static const struct form {
    int special;     /* a kernel for each usual dtype too */
    const char *any; /* the symbol of REF_ANY goes on so */
} forms[] = {
    [REF_FORM_FULL] = {1, ""}, [REF_FORM_SAMPLED] = {0, ""}, [REF_FORM_ONCE] = {0, "_wide"}};

static struct reference references[REFERENCES_MAX];
static int reference_count;

static int complain(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    return -1;
}

static char *read_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    char *text = NULL;
    if (in && fseek(in, 0, SEEK_END) == 0) {
        long size = ftell(in);
        rewind(in);
        text = size < 0 ? NULL : calloc(1, (size_t)size + 1);
        if (text && fread(text, 1, (size_t)size, in) != (size_t)size) {
            free(text);
            text = NULL;
        }
    }
    if (in)
        fclose(in);
    return text;
}

static const char *start_of_line(const char *text, const char *at)
{
    while (at > text && at[-1] != '\n')
        at--;
    return at;
}

static const char *start_of_number(const char *text, int number)
{
    for (; number > 1; number--)
        text = strchr(text, '\n') + 1;
    return text;
}

/* Joins the comment lines right above line `number` of `text`, without their slashes. */
static int read_formula(const char *file, const char *text, int number, char out[FORMULA_MAX])
{
    const char *end = start_of_number(text, number), *at = end;
    size_t length = 0;
    while (at > text && strncmp(start_of_line(text, at - 1), "//", 2) == 0)
        at = start_of_line(text, at - 1);
    if (at == end)
        return complain(file, number, "expected the formula, as a comment above the reference");
    for (; at < end; at++) {
        if (at[0] == '/' && at[1] == '/' && (at == text || at[-1] == '\n'))
            at += 2 + (at[2] == ' ');
        if (length + 3 > FORMULA_MAX)
            return complain(file, number, "the comment above the reference is too long");
        if (*at == '"' || *at == '\\')
            out[length++] = '\\';
        out[length++] = *at == '\n' ? ' ' : *at;
    }
    out[length - 1] = '\0'; /* for the last line's end */
    return 0;
}

/* Appends the names after each INDEX( of a text. */
static int add_indices(const char *at, const char *end, char out[INDICES_MAX])
{
    while ((at = strstr(at, "INDEX(")) && at < end) {
        char name[64];
        at += strlen("INDEX(");
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");
        if (length == 0 || (at[length] != '(' && at[length] != '.'))
            continue;
        snprintf(name, sizeof name, " %.*s ", (int)length, at);
        if (strstr(out, name) || strcmp(name, " mask ") == 0) /* which may be of any type */
            continue;
        if (strlen(out) + length + 2 > INDICES_MAX)
            return -1;
        strcat(out, name + 1);
    }
    return 0;
}

static const char *end_of_macro(const char *at)
{
    const char *end = strchr(at, '\n');
    while (end && end[-1] == '\\')
        end = strchr(end + 1, '\n');
    return end ? end : at + strlen(at);
}

/* Whether the word stands in the text, up to `end`. */
static bool has_word(const char *text, const char *end, const char *word, size_t length)
{
    for (; text + length <= end; text++)
        if (strncmp(text, word, length) == 0 && !isalnum((unsigned char)text[length]) &&
            text[length] != '_' && !isalnum((unsigned char)text[-1]) && text[-1] != '_')
            return true;
    return false;
}

/* What a body takes as indices, itself and in the macros of its file that it names. */
static int read_indices(const char *file, const char *text, const char *body, int line,
                        char out[INDICES_MAX])
{
    static const char define[] = "\n#define ";
    const char *end = strstr(body, "\n}");
    end = end ? end : body + strlen(body);
    strcpy(out, " ");
    int rc = add_indices(body, end, out);
    for (const char *at = text; (at = strstr(at, define));) {
        at += strlen(define);
        if (has_word(body, end, at, strcspn(at, "( \n")))
            rc |= add_indices(at, end_of_macro(at), out);
    }
    return rc ? complain(file, line, "too many arrays of indices") : 0;
}

/* `body` is the text behind the declaration. */
static int keep(const char *file, const char *text, const char *body,
                const struct ref_declaration *declared)
{
    for (int i = 0; i < reference_count; i++)
        if (strcmp(references[i].declared.name, declared->name) == 0)
            return complain(file, declared->line, "a reference of this name exists");
    if (reference_count == REFERENCES_MAX)
        return complain(file, declared->line, "too many references");
    struct reference *reference = &references[reference_count++];
    reference->declared = *declared;
    reference->file = file;
    return read_indices(file, text, body, declared->line, reference->indices) ||
           read_formula(file, text, declared->line, reference->formula);
}

static int scan_file(const char *file)
{
    char *text = read_file(file);
    int rc = text ? 0 : complain(file, 0, "cannot be read");
    const char *at = text;
    static struct ref_declaration declared;
    while (rc == 0) {
        struct error err = {{0}};
        enum status status = ref_text_next(text, &at, &declared, &err);
        if (status == STATUS_NOT_FOUND)
            break;
        rc = status ? complain(file, declared.line, err.text) : keep(file, text, at, &declared);
    }
    free(text);
    return rc;
}

/* ------------------------------------------------------------------------------ output */

static void write_formals(FILE *out)
{
    fprintf(out, "/* Generated by tools/dev/refgen from the REFERENCE lines of refs/. */\n");
    for (int i = 0; i < reference_count; i++)
        ref_text_write(out, &references[i].declared, references[i].declared.form);
}

static void write_list(FILE *out)
{
    fprintf(out, "/* Generated by tools/dev/refgen from the REFERENCE lines of refs/. */\n"
                 "#include \"refs/abi/ref_list.h\"\n\n"
                 "const struct ref_builtin ref_builtins[] = {\n");
    for (int i = 0; i < reference_count; i++) {
        const struct ref_declaration *ref = &references[i].declared;
        const struct form *form = &forms[ref->form];
        fprintf(out, "    {\"%s\",\n     \"%s\",\n     {\"cuvet_ref_%s%s\", \"cuvet_ref_%s_wide\"",
                ref->name, ref->text, ref->name, form->any, ref->name);
        if (form->special)
            fprintf(out, ", \"cuvet_ref_%s_bf16\", \"cuvet_ref_%s_f16\", \"cuvet_ref_%s_f32\"",
                    ref->name, ref->name, ref->name);
        fprintf(out, "},\n     \"%s\",\n     NULL,\n     %u},\n", references[i].file, ref->uses);
    }
    fprintf(out, "};\n\nconst size_t ref_builtin_count = "
                 "sizeof ref_builtins / sizeof *ref_builtins;\n\n"
                 "const char *const ref_builtin_formulas[] = {\n");
    for (int i = 0; i < reference_count; i++)
        fprintf(out, "    \"%s\",\n", references[i].formula);
    fprintf(out, "};\n\nconst char *const ref_builtin_indices[] = {\n");
    for (int i = 0; i < reference_count; i++)
        fprintf(out, "    \"%s\",\n", references[i].indices);
    fprintf(out, "};\n");
}

static void write_host_table(FILE *out)
{
    for (int i = 0; i < reference_count; i++)
        fprintf(out, "{\"%s\", ref_host_%s},\n", references[i].declared.name,
                references[i].declared.name);
}

/* Writes the file by `body` unless its text would stay the same. */
static int write_file(const char *folder, const char *name, void (*body)(FILE *))
{
    char path[4096];
    char *text = NULL;
    size_t size = 0;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return complain(name, 0, "path too long");
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return complain(path, 0, "no memory");
    body(memory);
    int rc = fclose(memory);
    char *old = read_file(path);
    if (rc == 0 && (!old || strcmp(old, text) != 0)) {
        FILE *out = fopen(path, "wb");
        rc = !out || fwrite(text, 1, size, out) != size;
        rc |= out && fclose(out) != 0;
    }
    free(old);
    free(text);
    return rc ? complain(path, 0, "cannot be written") : 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: refgen OUTDIR refs/ROOM/NAME.cu ...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        if (scan_file(argv[i]))
            return 1;
    return write_file(argv[1], "ref_formals.h", write_formals) ||
           write_file(argv[1], "ref_list.c", write_list) ||
           write_file(argv[1], "ref_host_table.inc", write_host_table);
}
