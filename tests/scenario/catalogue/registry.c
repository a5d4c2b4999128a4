/*
 * registry.c - writes what the kernels of this scenario are and what cuvet is told of them, from
 * the list of references, so that a new one is here by itself: `registry inc` for kernels.inc,
 * `registry yaml` for registry.yaml.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "refs/ref_list.h"
#include "tests/ref_inputs.h"
#include "tests/scenario/catalogue/job.h"
#include "verify/formals.h"

_Static_assert((int)JOB_ARRAYS >= (int)REF_MAX_TENSORS && (int)JOB_SIZES >= (int)REF_MAX_SIZES &&
                   (int)JOB_SCALARS >= (int)REF_MAX_SCALARS,
               "a job has room for every reference");

static void write_kernels(const char *name)
{
#define TYPE(type) printf("KERNEL_OF(%s_%s)\n", name, #type);
    JOB_TYPES(TYPE)
#undef TYPE
}

static void write_array(const char *reference, const struct formals *formals,
                        const struct formal *formal)
{
    static const char *const roles[] = {
        [FORMAL_IN] = "const ", [FORMAL_OUT] = "", [FORMAL_INOUT] = "inout "};
    const struct ref_input *input = ref_input_find(reference, formal->name);
    printf(", %s%s %s%s", roles[formal->kind], input && input->below ? "i64" : "T", formal->name,
           formal->optional ? "?" : "");
    for (int i = 0; i < formal->ndim; i++) {
        const struct formal_dim *dim = &formal->dim[i];
        if (dim->size < 0)
            printf("[%lld]", (long long)dim->literal);
        else
            printf("[%s]", formals->size_name[dim->size]);
    }
    printf(" @%zu", offsetof(struct job, array) + 8 * (size_t)formal->slot);
}

static void write_entry(const struct ref_builtin *reference, const struct formals *formals)
{
    printf("  - kernel: '/^%s_(?<T>[a-z]+\\d+)$/'\n    reference: %s\n    signature: >\n"
           "      struct %zu { i64 bytes @%zu",
           reference->name, reference->name, sizeof(struct job), offsetof(struct job, bytes));
    for (int i = 0; i < formals->sizes; i++)
        printf(", i64 %s @%zu", formals->size_name[i], offsetof(struct job, size) + 8 * (size_t)i);
    for (int i = 0; i < formals->count; i++) {
        const struct formal *formal = &formals->formal[i];
        if (formal->kind == FORMAL_REAL)
            printf(", f32 %s @%zu", formal->name,
                   offsetof(struct job, scalar) + 4 * (size_t)formal->slot);
        else if (formal_is_array(formal))
            write_array(reference->name, formals, formal);
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
        if (yaml)
            write_entry(&ref_builtins[i], &formals);
        else
            write_kernels(ref_builtins[i].name);
    }
    return 0;
}
