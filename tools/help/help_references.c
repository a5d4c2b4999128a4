#include "tools/help/help_references.h"

#include <stdio.h>
#include <string.h>
#include "text/textbuf.h"
#include "refs/abi/ref_list.h"
#include "lang/formals.h"
#include "names/ref_names.h"

enum { WIDTH = 100, INDENT = 8 };

/* Breaks `text` at spaces into lines of at most WIDTH columns, each behind `indent` spaces. */
static void print_wrapped(const char *text, int indent)
{
    int column = 0;
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (column == 0 || column + 1 + word > WIDTH) {
            printf("%s%*s", column ? "\n" : "", indent, "");
            column = indent;
        } else {
            putchar(' ');
            column++;
        }
        printf("%.*s", word, text);
        column += word;
        text += word;
        text += strspn(text, " ");
    }
    putchar('\n');
}

int help_references(void)
{
    for (size_t i = 0; i < ref_builtin_count; i++) {
        printf("%s\n", ref_builtins[i].name);
        print_wrapped(ref_builtin_formulas[i], 4);
        print_wrapped(ref_builtins[i].formals, 8);
    }
    printf("%zu references; `cuvet help reference NAME` shows one, with an entry to begin with.\n",
           ref_builtin_count);
    return 0;
}

/* ---- one reference ---- */

static const char *kind_sentence(const struct formal *formal)
{
    switch (formal->kind) {
    case FORMAL_IN:
        return formal->coded ? "read; may be in a block format such as q4_K" : "read";
    case FORMAL_OUT:
        return "written, compared";
    case FORMAL_INOUT:
        return "read and written, compared";
    case FORMAL_REAL:
        return "real number";
    case FORMAL_INT:
        return "integer";
    case FORMAL_POINT:
        return "place where a kernel may round (`rounding:` of a tolerance row)";
    }
    return "";
}

/* Appends "[rows][cols]". */
static void put_dims(struct textbuf *text, const struct formals *formals,
                     const struct formal *formal)
{
    for (int d = 0; d < formal->ndim; d++) {
        const struct formal_dim *dim = &formal->dim[d];
        if (dim->size >= 0)
            textbuf_printf(text, "[%s]", formals->size_name[dim->size]);
        else
            textbuf_printf(text, "[%lld]", (long long)dim->literal);
    }
}

static void print_formal(const struct formals *formals, const struct formal *formal)
{
    char line[256];
    struct textbuf text;
    textbuf_init_fixed(&text, line, sizeof line);
    textbuf_printf(&text, "%s", formal->name);
    put_dims(&text, formals, formal);
    printf("    %-36s %s", line, kind_sentence(formal));
    const bool absent = formal_is_array(formal) && formal->fallback == 0; /* `?`, not `= 0` */
    if (formal->optional && absent)
        printf("; may stay unbound");
    else if (formal->optional && formal->kind != FORMAL_POINT)
        printf("; %g where it is not bound", formal->fallback);
    putchar('\n');
}

/* Prints one parameter, on a new line where this one is full. */
static void print_parameter(int *column, const char *text)
{
    if (*column && *column + (int)strlen(text) + 2 > WIDTH - INDENT) {
        printf(",\n%*s", INDENT, "");
        *column = 0;
    } else if (*column) {
        printf(", ");
    }
    *column += printf("%s", text) + 2;
}

/* The parameters of an imaginary kernel: every array, the scalars without a default, the sizes. */
static void print_signature(const struct ref_builtin *builtin, const struct formals *formals)
{
    static const char *const role[] = {
        [FORMAL_IN] = "const ", [FORMAL_OUT] = "", [FORMAL_INOUT] = "inout ",
        [FORMAL_REAL] = "",     [FORMAL_INT] = "", [FORMAL_POINT] = NULL};
    char line[256];
    int column = 0;
    for (int i = 0; i < formals->count; i++) {
        const struct formal *formal = &formals->formal[i];
        if (!role[formal->kind] || (!formal_is_array(formal) && formal->optional))
            continue;
        struct textbuf text;
        textbuf_init_fixed(&text, line, sizeof line);
        const char *type = formal->kind == FORMAL_INT               ? "i32"
                           : ref_names_index(builtin, formal->name) ? "i64"
                                                                    : "f32";
        textbuf_printf(&text, "%s%s %s", role[formal->kind], type, formal->name);
        put_dims(&text, formals, formal);
        print_parameter(&column, line);
    }
    for (int i = 0; i < formals->sizes; i++) {
        if (formals_find(formals, formals->size_name[i]))
            continue;
        struct textbuf text;
        textbuf_init_fixed(&text, line, sizeof line);
        textbuf_printf(&text, "i32 %s", formals->size_name[i]);
        print_parameter(&column, line);
    }
}

static void print_entry(const struct ref_builtin *builtin, const struct formals *formals)
{
    printf(
        "\nAn entry to begin with, for a kernel that has these parameters in this order and its\n"
        "sizes behind them (`bind: {formal: parameter}` where names differ):\n\n"
        "  - kernel: NAME\n"
        "    signature: >\n"
        "        ");
    print_signature(builtin, formals);
    printf("\n    reference: %s\n", builtin->name);
}

int help_reference(const char *name)
{
    struct formals formals;
    struct error err = {{0}};
    char hint[160];
    if (!name) {
        fprintf(stderr, "usage: cuvet help reference NAME\n");
        return 2;
    }
    const struct ref_builtin *builtin = ref_names_find(name);
    if (!builtin) {
        fprintf(stderr, "cuvet: no reference '%s'%s\n", name,
                ref_names_hint(name, hint, sizeof hint));
        return 2;
    }
    if (formals_parse(&formals, builtin->formals, &err))
        return 1;
    printf("%s (%s)\n", name, builtin->file);
    print_wrapped(ref_builtin_formulas[builtin - ref_builtins], 4);
    putchar('\n');
    for (int f = 0; f < formals.count; f++)
        print_formal(&formals, &formals.formal[f]);
    print_entry(builtin, &formals);
    return 0;
}
