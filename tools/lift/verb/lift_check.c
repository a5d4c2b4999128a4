/* lift_check.c - `cuvet lift --check`. */
#include <stdio.h>
#include <stdlib.h>
#include "shim/lift/lift.h"
#include "tools/ptx/ptx.h"
#include "text/json_out.h"
#include "text/printable.h"
#include "tools/lift/verb/lift_check.h"
#include "tools/lint/input.h"
#include "tools/progress.h"

struct check {
    const char *kernel; /* alone, or NULL */
    unsigned count[LIFT_REFUSALS];
    struct json_out *json; /* NULL: text */
};

static void put_json(struct json_out *json, const char *image, const char *kernel,
                     const struct lift *lift, enum lift_refusal refusal, const struct error *why)
{
    json_begin_object(json);
    json_put_string(json, "image", image);
    json_put_string(json, "kernel", kernel);
    json_put_bool(json, "held", !refusal);
    json_put_string(json, "signature", lift ? lift_signature(lift) : NULL);
    json_put_string(json, "reason", refusal ? lift_refusal_text(refusal) : NULL);
    json_put_string(json, "sentence", refusal ? why->text : NULL);
    json_end(json);
}

/* The module is written too: what is refused there counts as another reason. */
static void check_kernel(struct check *check, const struct lint_text *text, const char *kernel)
{
    const char *image = text->image;
    struct error why = {{0}};
    struct lift *lift = NULL;
    struct textbuf module;
    textbuf_init(&module);
    progress("%s: %s", PRINTABLE(image), PRINTABLE(kernel));
    enum lift_refusal refusal = lift_make(&lift, text->text, text->length, kernel, 0, &why);
    if (!refusal && lift_write(lift, &module, &why))
        refusal = LIFT_OTHER;
    check->count[refusal]++;
    progress_clear();
    if (check->json)
        put_json(check->json, image, kernel, lift, refusal, &why);
    else if (refusal)
        printf("%s: %s\n", PRINTABLE(image), PRINTABLE(why.text));
    else
        printf("%s: %s can be held against its PTX: %s\n", PRINTABLE(image), PRINTABLE(kernel),
               PRINTABLE(lift_signature(lift)));
    textbuf_release(&module);
    lift_free(lift);
}

static enum status check_text(void *user, const struct lint_text *text, struct error *err)
{
    struct check *check = user;
    struct ptx_module *module;
    enum status status = ptx_read(text->text, text->length, text->image, &module, err);
    for (unsigned i = 0; !status && i < module->function_count; i++) {
        const struct ptx_function *function = &module->functions[i];
        if (!function->is_entry || !function->has_body ||
            (check->kernel && strcmp(check->kernel, function->name) != 0))
            continue;
        check_kernel(check, text, function->name);
    }
    if (!status)
        ptx_free(module);
    return status;
}

static unsigned kernels_of(const struct check *check)
{
    unsigned all = 0;
    for (unsigned i = 0; i < LIFT_REFUSALS; i++)
        all += check->count[i];
    return all;
}

static void print_sum(const struct check *check)
{
    const unsigned all = kernels_of(check);
    printf("%u of %u kernels can be held against their PTX\n", check->count[LIFT_OK], all);
    for (unsigned i = 0; i < LIFT_REFUSALS; i++) {
        if (i != LIFT_OK && check->count[i])
            printf("  %4u  %s\n", check->count[i], lift_refusal_text((enum lift_refusal)i));
    }
}

int lift_check(char *const *paths, int count, const char *kernel, bool json)
{
    struct json_out out;
    json_out_init(&out);
    struct check check = {.kernel = kernel, .json = json ? &out : NULL};
    struct error err = {{0}};
    enum status status = STATUS_OK;
    json_begin_object(&out);
    json_put_int(&out, "version", 1);
    json_put_array(&out, "kernels");
    for (int i = 0; i < count && !status; i++)
        status = input_each(paths[i], check_text, &check, &err);
    progress_clear();
    json_end(&out);
    json_end(&out);
    if (!status && kernel && !kernels_of(&check))
        status = error_set(&err, STATUS_NOT_FOUND, "no kernel is called %s", kernel);
    if (status)
        fprintf(stderr, "cuvet lift: %s\n", PRINTABLE(err.text));
    else if (!json)
        print_sum(&check);
    else if (json_out_ok(&out))
        printf("%.*s\n", (int)out.text.length, out.text.data);
    int code = status == STATUS_NO_MEMORY || (json && !json_out_ok(&out)) ? 1 : status ? 2 : 0;
    json_out_release(&out);
    return code;
}
