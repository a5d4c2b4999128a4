/*
 * refgen.c - writes what the build needs to know of the references: refgen OUTDIR refs/NAME.cu ...
 *
 * It scans the files for lines REFERENCE(name, "formals"), REFERENCE_SAMPLED and REFERENCE_ONCE,
 * which say how many kernels each becomes, and writes OUTDIR/ref_formals.h        FORMALS_name: the
 * struct, the kernels and the head of run() OUTDIR/ref_list.c           the table of
 * refs/ref_list.h OUTDIR/ref_host_table.inc   {name, function} rows for refs/ref_host.cpp Files are
 * replaced only when their text changes, so that nothing is compiled for nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/formals.h"

enum { REFERENCES_MAX = 256, TEXT_MAX = 1024 };

struct reference {
    char name[FORMAL_NAME];
    char text[TEXT_MAX];
    const char *file;
    int form; /* index into forms */
    struct formals formals;
};

/* The macros that declare a reference, and which kernels follow from each. ref_list.h says what the
 * variants are: one compiled once answers for the general ones with its wide kernel. */
static const struct form {
    const char *mark, *entry; /* the macro in the source, and the one that makes the kernels */
    int special;              /* a kernel for each usual dtype too */
    const char *any;          /* the symbol of REF_ANY goes on so */
} forms[] = {{"REFERENCE(", "REF_ENTRY", 1, ""},
             {"REFERENCE_SAMPLED(", "REF_ENTRY", 0, ""},
             {"REFERENCE_ONCE(", "REF_ENTRY_ONCE", 0, "_wide"}};

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

static int line_of(const char *text, const char *at)
{
    int line = 1;
    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

/* Adjacent string literals at `at`, joined into `out`; NULL if there is none or it is too long. */
static const char *take_literals(const char *at, char out[TEXT_MAX])
{
    size_t length = 0;
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (*at != '"')
            break;
        for (at++; *at && *at != '"' && *at != '\\'; at++) {
            if (length + 1 == TEXT_MAX)
                return NULL;
            out[length++] = *at;
        }
        if (*at++ != '"')
            return NULL;
    }
    out[length] = '\0';
    return length ? at : NULL;
}

/* One REFERENCE at `at`, which stands behind its opening parenthesis. */
static int take_reference(const char *file, const char *text, const char *at, int form)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    int line = line_of(text, at);
    if (reference_count == REFERENCES_MAX)
        return complain(file, line, "too many references");
    struct reference *ref = &references[reference_count];
    size_t length = strspn(at, letters);
    if (length == 0 || length >= FORMAL_NAME)
        return complain(file, line, "expected a name of at most 31 characters");
    memcpy(ref->name, at, length);
    at += length + strspn(at + length, " \t\r\n");
    if (*at != ',' || !(at = take_literals(at + 1, ref->text)) || *at != ')')
        return complain(file, line, "expected REFERENCE(name, \"formals\")");
    struct error err = {{0}};
    if (formals_parse(&ref->formals, ref->text, &err))
        return complain(file, line, err.text);
    for (int i = 0; i < reference_count; i++)
        if (strcmp(references[i].name, ref->name) == 0)
            return complain(file, line, "a reference of this name exists");
    ref->file = file;
    ref->form = form;
    reference_count++;
    return 0;
}

static int scan_file(const char *file)
{
    char *text = read_file(file);
    int rc = text ? 0 : complain(file, 0, "cannot be read");
    for (const char *at = text; at && rc == 0; at = strchr(at, '\n')) {
        at += *at == '\n';
        for (int form = 0; form < (int)(sizeof forms / sizeof *forms) && rc == 0; form++) {
            size_t length = strlen(forms[form].mark);
            if (strncmp(at, forms[form].mark, length) == 0)
                rc = take_reference(file, text, at + length, form);
        }
    }
    free(text);
    return rc;
}

/* ------------------------------------------------------------------------------ output */

static void write_members(FILE *out, const struct formals *formals)
{
    for (int i = 0; i < formals->count; i++) {
        const struct formal *f = &formals->formal[i];
        if (f->kind == FORMAL_REAL)
            fprintf(out, "    ref_scale<E> %s; \\\n", f->name);
        else if (f->kind == FORMAL_IN)
            fprintf(out, "    ref_in<E, D, %d, %s> %s; \\\n", f->ndim,
                    f->optional ? "true" : "false", f->name);
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

static void write_formals(FILE *out)
{
    fprintf(out, "/* Generated by tools/dev/refgen from the REFERENCE lines of refs/. */\n");
    for (int i = 0; i < reference_count; i++) {
        const struct reference *ref = &references[i];
        const char *name = ref->name;
        fprintf(out, "\n#define FORMALS_%s \\\n", name);
        fprintf(out, "template <class E, int D> struct reference_%s : ref_body<E> { \\\n", name);
        fprintf(out, "    typedef ref_real<E, 1> real; \\\n");
        write_members(out, &ref->formals);
        fprintf(out, "    REF_FN reference_%s(ref_frame<E> &frame_) \\\n", name);
        fprintf(out, "        : ref_body<E>(frame_, %d)", named_dims(&ref->formals));
        write_initialisers(out, &ref->formals);
        fprintf(out, " \\\n    { \\\n    } \\\n    REF_FN void run(); \\\n}; \\\n");
        fprintf(out, "%s(%s) \\\n", forms[ref->form].entry, name);
        if (forms[ref->form].special)
            fprintf(out, "REF_SPECIAL_ENTRIES(%s) \\\n", name);
        fprintf(out, "template <class E, int D> REF_FN void reference_%s<E, D>::run()\n", name);
    }
}

static void write_list(FILE *out)
{
    fprintf(out, "/* Generated by tools/dev/refgen from the REFERENCE lines of refs/. */\n"
                 "#include \"refs/ref_list.h\"\n\n"
                 "const struct ref_builtin ref_builtins[] = {\n");
    for (int i = 0; i < reference_count; i++) {
        const struct reference *ref = &references[i];
        fprintf(out, "    {\"%s\",\n     \"%s\",\n     {\"cuvet_ref_%s%s\", \"cuvet_ref_%s_wide\"",
                ref->name, ref->text, ref->name, forms[ref->form].any, ref->name);
        if (forms[ref->form].special)
            fprintf(out, ", \"cuvet_ref_%s_bf16\", \"cuvet_ref_%s_f16\", \"cuvet_ref_%s_f32\"",
                    ref->name, ref->name, ref->name);
        fprintf(out, "},\n     \"%s\"},\n", ref->file);
    }
    fprintf(out, "};\n\nconst size_t ref_builtin_count = "
                 "sizeof ref_builtins / sizeof *ref_builtins;\n");
}

static void write_host_table(FILE *out)
{
    for (int i = 0; i < reference_count; i++)
        fprintf(out, "{\"%s\", ref_host_%s},\n", references[i].name, references[i].name);
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
        fprintf(stderr, "usage: refgen OUTDIR refs/NAME.cu ...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        if (scan_file(argv[i]))
            return 1;
    return write_file(argv[1], "ref_formals.h", write_formals) ||
           write_file(argv[1], "ref_list.c", write_list) ||
           write_file(argv[1], "ref_host_table.inc", write_host_table);
}
