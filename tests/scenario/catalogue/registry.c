/*
 * registry.c - writes the kernels of this scenario and their registry, from
 * the list of references, so that a new one is here by itself: `registry inc` for kernels.inc,
 * `registry yaml` for registry.yaml.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tests/scenario/catalogue/job.h"
#include "tests/scenario/catalogue/ways.h"

_Static_assert((int)JOB_ARRAYS >= (int)REF_MAX_TENSORS && (int)JOB_SIZES >= (int)REF_MAX_SIZES &&
                   (int)JOB_SCALARS >= (int)REF_MAX_SCALARS,
               "a job has room for every reference");

/* The types that the reference is run in, each a kernel of its own. */
static void write_kernels(const struct ref_builtin *reference, const struct formals *formals,
                          unsigned turn)
{
    for (int i = 0; i < WAYS; i++) {
        char name[KERNEL_NAME];
        bool named = !way_applies(&ways[i], reference);
        for (int k = 0; k < i; k++)
            named |= way_applies(&ways[k], reference) && ways[k].dtype == ways[i].dtype;
        if (named)
            continue;
        way_kernel(name, reference->name, formals, ways[i].type, turn);
        printf("KERNEL_OF(%s)\n", name);
    }
}

static void write_array(const char *reference, const struct formals *formals,
                        const struct formal *formal, unsigned turn)
{
    static const char *const roles[] = {
        [FORMAL_IN] = "const ", [FORMAL_OUT] = "", [FORMAL_INOUT] = "inout "};
    enum dtype dtype = way_dtype(reference, formal->name, DTYPE_NONE, turn);
    printf(", %s%s %s%s", roles[formal->kind], dtype == DTYPE_NONE ? "T" : dtype_text(dtype),
           formal->name, formal->optional ? "?" : "");
    for (int i = 0; i < formal->ndim; i++) {
        const struct formal_dim *dim = &formal->dim[i];
        if (dim->size < 0)
            printf("[%lld]", (long long)dim->literal);
        else
            printf("[%s]", formals->size_name[dim->size]);
    }
    printf(" @%zu", offsetof(struct job, array) + 8 * (size_t)formal->slot);
}

static void write_entry(const struct ref_builtin *reference, const struct formals *formals,
                        unsigned turn)
{
    char pattern[KERNEL_NAME];
    way_kernel(pattern, reference->name, formals, "(?<T>[a-z]+\\d+)", turn);
    printf("  - kernel: '/^%s$/'\n    reference: %s\n    signature: >\n"
           "      struct %zu { i64 bytes @%zu",
           pattern, reference->name, sizeof(struct job), offsetof(struct job, bytes));
    for (int i = 0; i < formals->sizes; i++)
        printf(", i64 %s @%zu", formals->size_name[i], offsetof(struct job, size) + 8 * (size_t)i);
    for (int i = 0; i < formals->count; i++) {
        const struct formal *formal = &formals->formal[i];
        if (formal->kind == FORMAL_REAL)
            printf(", f32 %s @%zu", formal->name,
                   offsetof(struct job, scalar) + 4 * (size_t)formal->slot);
        else if (formal_is_array(formal))
            write_array(reference->name, formals, formal, turn);
    }
    printf(" }\n");
}

int main(int argc, char **argv)
{
    if (argc != 2 || (strcmp(argv[1], "inc") != 0 && strcmp(argv[1], "yaml") != 0)) {
        fprintf(stderr, "usage: registry inc|yaml\n");
        return 2;
    }
    bool yaml = strcmp(argv[1], "yaml") == 0;
    if (yaml)
        printf("version: 1\nkernels:\n");
    for (size_t i = 0; i < ref_builtin_count; i++) {
        struct formals formals;
        struct error err = {{0}};
        if (formals_parse(&formals, ref_builtins[i].formals, &err)) {
            fprintf(stderr, "%s: %s\n", ref_builtins[i].name, err.text);
            return 1;
        }
        for (unsigned turn = 0; turn < way_turns(ref_builtins[i].name, &formals); turn++)
            (yaml ? write_entry : write_kernels)(&ref_builtins[i], &formals, turn);
    }
    return 0;
}
