/* targets_tools.c - what the verbs read that other programs wrote, and what cuvet recorded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "shim/lift/lift.h"
#include "tests/fuzz/targets.h"
#include "tools/ctl/ctl_view.h"
#include "tools/discover/draft.h"
#include "tools/discover/facts/triton_names.h"
#include "tools/fuzz/image.h"
#include "tools/fuzz/symbols.h"
#include "tools/inductor/entry.h"
#include "tools/ptx/lines.h"
#include "tools/worker/image.h"

/* ---- drafts of registries ---- */

static void write_draft(struct xla_draft *draft)
{
    FILE *null = fopen("/dev/null", "w");
    struct xla_counts counts = xla_draft_count(draft);
    xla_draft_registry(draft, null, "stem");
    for (unsigned i = 0; i < counts.texts; i++)
        xla_draft_text(draft, null, i);
    fclose(null);
}

/* A file that Inductor generated. */
void target_inductor(const uint8_t *data, size_t size)
{
    struct xla_draft *draft;
    struct source_kernel *first = NULL;
    char *text = target_text(data, size);
    if (xla_draft_create(&draft, "inductor"))
        abort();
    enum status status = source_read(text, xla_draft_arena(draft), &first);
    for (struct source_kernel *k = first; k && !status; k = k->next)
        status = entry_add(k, draft);
    write_draft(draft);
    xla_draft_destroy(draft);
    free(text);
}

/* A module, and from the line "BufferAssignment:" on the file beside it. */
void target_xla(const uint8_t *data, size_t size)
{
    struct xla_draft *draft;
    struct error err = {{0}};
    char *text = target_text(data, size), *buffers = strstr(text, "\nBufferAssignment:");
    if (buffers)
        *buffers++ = '\0';
    char *module = strdup(text), *beside = buffers ? strdup(buffers) : NULL;
    if (!module || xla_draft_create(&draft, "xla"))
        abort();
    xla_draft_add(draft, module, beside, &err);
    write_draft(draft);
    xla_draft_destroy(draft);
    free(module);
    free(beside);
    free(text);
}

/* ---- a record ---- */

static char folder[64], names[2][128];

static void remove_folder(void)
{
    unlink(names[0]);
    unlink(names[1]);
    rmdir(folder);
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/cuvet-fuzz-XXXXXX");
    if (!mkdtemp(folder) || atexit(remove_folder))
        abort();
    snprintf(names[0], sizeof names[0], "%.60s/discover-x.jsonl", folder);
    snprintf(names[1], sizeof names[1], "%.60s/discover-x.jsonl.bytes", folder);
}

static void make_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file))
        abort();
}

/* The lines of a record, and behind an empty line its bytes. */
void target_record(const uint8_t *data, size_t size)
{
    const struct draft_settings settings = {.program = "p"};
    struct draft_counts counts;
    struct record record;
    struct error err = {{0}};
    const uint8_t *end = memmem(data, size, "\n\n", 2);
    size_t lines = end ? (size_t)(end - data) + 1 : size, rest = size - lines;
    FILE *null = fopen("/dev/null", "w");
    if (!folder[0])
        make_folder();
    make_file(names[0], data, lines);
    make_file(names[1], data + size - rest + (rest > 0), rest - (rest > 0));
    if (!record_read(&record, folder, &err))
        draft_write(&record, NULL, &settings, null, &counts, &err);
    record_release(&record);
    fclose(null);
}

/* ---- images ---- */

/* The kernels of an image by name, and the lines of its cubins. */
void target_pieces(const uint8_t *data, size_t size)
{
    struct image_piece *pieces = NULL;
    struct fuzz_symbols symbols;
    struct arena arena = {0};
    struct error err = {{0}};
    uint8_t *copy = malloc(size + !size);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    size_t count = image_split(copy, size, &pieces, &err);
    for (size_t i = 0; i < count; i++)
        ptx_lines_free(ptx_lines_read(pieces[i].bytes, pieces[i].count, "kernel"));
    fuzz_symbols_read(&symbols, &arena, copy, size, &err);
    arena_release(&arena);
    free(pieces);
    free(copy);
}

/* PTX whose kernels are held against it, as under CUVET_LIFT=1. */
void target_lift(const uint8_t *data, size_t size)
{
    struct ptx_module *module = NULL;
    struct error err = {{0}};
    char *text = target_text(data, size);
    if (!ptx_read(text, size, "m.ptx", &module, &err)) {
        for (unsigned i = 0; i < module->function_count; i++) {
            struct lift *lift = NULL;
            struct textbuf out;
            textbuf_init(&out);
            if (module->functions[i].is_entry &&
                lift_make(&lift, text, size, module->functions[i].name, 0, &err) == LIFT_OK)
                lift_write(lift, &out, &err);
            lift_free(lift);
            textbuf_release(&out);
        }
        ptx_free(module);
    }
    free(text);
}

/* ---- small texts ---- */

/* What a process replies to `cuvet ctl PID status`. */
void target_status(const uint8_t *data, size_t size)
{
    static struct ctl_status status;
    struct textbuf out;
    char *text = target_text(data, size);
    textbuf_init(&out);
    if (ctl_view_read(&status, text)) {
        ctl_view_text(&status, &out);
        ctl_view_json(&status, &out);
        ctl_view_top(&status, &status, 24, true, &out);
    }
    textbuf_release(&out);
    free(text);
}

void target_triton(const uint8_t *data, size_t size)
{
    struct triton_argument argument[LAYOUT_MAX];
    char *text = target_text(data, size);
    triton_names_read(text, "f", argument);
    free(text);
}

/* Triton's KERNEL.json. */
void target_metadata(const uint8_t *data, size_t size)
{
    struct fuzz_known known[FUZZ_KNOWN] = {{0}};
    struct error err = {{0}};
    char *text = target_text(data, size);
    if (fuzz_known_read(known, text, size, "k.json", &err) && !*err.text)
        abort();
    free(text);
}
