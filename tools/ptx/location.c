/* location.c - line information: files, the strings of inlined functions, .loc. */
#include "ptx/reader.h"

#include <string.h>

#include "ptx/text/constant.h"

/* "PATH", or "FOLDER" "NAME" as older versions of LLVM have it. */
static enum status read_path(struct reader *r, const char **path)
{
    struct cursor *c = &r->cursor;
    struct slice first, second = {0};
    enum status status = lex_string(c, &first);
    if (!status && lex_peek(c) == '"')
        status = lex_string(c, &second);
    if (status)
        return status;
    bool joined = second.length > 0 && *second.begin != '/' && first.length > 0;
    struct slice last = second.length ? second : first;
    size_t folder = joined ? first.length + 1 : 0;
    char *text = store_zeroed(&r->store, folder + last.length + 1);
    if (!text)
        return lex_no_memory(c);
    if (joined) {
        memcpy(text, first.begin, first.length);
        text[first.length] = '/';
    }
    memcpy(text + folder, last.begin, last.length);
    *path = text;
    return STATUS_OK;
}

enum status location_file(struct reader *r)
{
    struct cursor *c = &r->cursor;
    uint64_t number = 0, unused;
    const char *path = NULL;
    enum status status = constant_count(c, FILES_MAX, "the number of a file", &number);
    if (!status)
        status = read_path(r, &path);
    for (int i = 0; i < 2 && !status && lex_accept(c, ','); i++) /* time stamp, size */
        status = constant_count(c, UINT64_MAX, "a number", &unused);
    if (status)
        return status;
    if (number >= r->files.count) {
        size_t more = number + 1 - r->files.count;
        const char **place = list_reserve(&r->files, sizeof *place, more);
        if (!place)
            return lex_no_memory(c);
        memset(place, 0, more * sizeof *place);
        r->files.count += more;
    }
    ((const char **)r->files.items)[number] = path;
    return STATUS_OK;
}

struct string_label {
    struct name *name;
    unsigned line;
    size_t offset;
};

/* .b8 114, 101, 0 */
static enum status read_bytes(struct reader *r)
{
    struct cursor *c = &r->cursor;
    do {
        uint64_t value = 0;
        enum status status = constant_count(c, 255, "a byte", &value);
        uint8_t *place = status ? NULL : list_add(&r->bytes, 1);
        if (status)
            return status;
        if (!place)
            return lex_no_memory(c);
        *place = (uint8_t)value;
    } while (lex_accept(c, ','));
    return STATUS_OK;
}

/* Labels and bytes up to the closing brace. */
static enum status read_strings(struct reader *r, struct list *labels)
{
    struct cursor *c = &r->cursor;
    enum status status = STATUS_OK;
    while (!status && !lex_accept(c, '}')) {
        if (lex_peek(c) == '.') {
            struct cursor before = *c;
            if (!slice_is(lex_directive(c), "b8")) {
                *c = before;
                return lex_fail(c, "'.b8', a label or '}' in .debug_str");
            }
            status = read_bytes(r);
            continue;
        }
        struct slice text = lex_name(c);
        if (!text.length)
            return lex_fail(c, "'.b8', a label or '}' in .debug_str");
        struct string_label *label = list_add(labels, sizeof *label);
        struct name *name = names_put(&r->names, &r->store, text);
        if (!label || !name)
            return lex_no_memory(c);
        *label = (struct string_label){name, c->line, r->bytes.count};
        status = lex_expect(c, ':', "':' after a label");
    }
    return status;
}

static enum status keep_strings(struct reader *r, const struct list *labels)
{
    char *text = store_text(&r->store, r->bytes.items ? r->bytes.items : "", r->bytes.count);
    if (!text)
        return lex_no_memory(&r->cursor);
    const struct string_label *label = labels->items;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < labels->count && !status; i++)
        status =
            names_declare(&r->names, &r->cursor, label[i].name, SYMBOL_STRING,
                          (uint32_t)(r->bytes.count - label[i].offset), text + label[i].offset);
    return status;
}

enum status location_section(struct reader *r)
{
    struct cursor *c = &r->cursor;
    struct slice name = lex_directive(c);
    if (!name.length)
        return lex_fail(c, "the name of a section");
    enum status status = lex_expect(c, '{', "'{' after the name of a section");
    if (status)
        return status;
    if (!slice_is(name, "debug_str"))
        return lex_skip_braces(c);
    struct list labels = {0};
    r->bytes.count = 0;
    status = read_strings(r, &labels);
    if (!status)
        status = keep_strings(r, &labels);
    list_release(&labels);
    return status;
}

/* The string at a label of .debug_str, plus an offset. */
static enum status read_function_name(struct reader *r, const char **function)
{
    struct cursor *c = &r->cursor;
    struct cursor before = *c;
    struct slice label = lex_name(c);
    const struct symbol *symbol = names_symbol(&r->names, names_find(&r->names, label));
    if (!label.length || !symbol || symbol->kind != SYMBOL_STRING) {
        *c = before;
        return lex_fail(c, "a label of the section .debug_str");
    }
    uint64_t offset = 0;
    enum status status = STATUS_OK;
    if (lex_accept(c, '+'))
        status = constant_count(c, symbol->value, "an offset in .debug_str", &offset);
    *function = (const char *)symbol->data + offset;
    return status;
}

/* FILE LINE COLUMN */
static enum status read_place(struct reader *r, struct ptx_location *place)
{
    struct cursor *c = &r->cursor;
    uint64_t file = 0, line = 0, column = 0;
    enum status status = constant_count(c, UINT32_MAX, "the number of a file", &file);
    if (!status)
        status = constant_count(c, UINT32_MAX, "a line", &line);
    if (!status)
        status = constant_count(c, UINT32_MAX, "a column", &column);
    if (status)
        return status;
    const char *const *files = r->files.items;
    if (file >= r->files.count || !files[file])
        return lex_refuse(c, c->line, "found file %llu, expected a number that a .file has",
                          (unsigned long long)file);
    *place = (struct ptx_location){files[file], (unsigned)line, (unsigned)column, NULL, NULL};
    return STATUS_OK;
}

/* Of the locations before, the last one at a place: it has what that place itself was inlined at.
 */
static const struct ptx_location *location_before(const struct reader *r,
                                                  const struct ptx_location *place)
{
    enum { BACK = 4096 };
    const struct ptx_location *const *list = r->locations.items;
    const size_t count = r->locations.count, least = count > BACK ? count - BACK : 0;
    for (size_t i = count; i-- > least;)
        if (list[i]->file == place->file && list[i]->line == place->line &&
            list[i]->column == place->column)
            return list[i];
    return NULL;
}

static enum status read_caller(struct reader *r, struct ptx_location *place)
{
    struct ptx_location caller = {0};
    enum status status = read_place(r, &caller);
    if (status)
        return status;
    place->caller = location_before(r, &caller);
    if (!place->caller)
        place->caller = store_copy(&r->store, &caller, sizeof caller);
    return place->caller ? STATUS_OK : lex_no_memory(&r->cursor);
}

/* function_name LABEL and inlined_at FILE LINE COLUMN, in any order. */
static enum status read_inlined(struct reader *r, struct ptx_location *place)
{
    struct cursor *c = &r->cursor;
    struct cursor before = *c;
    struct slice word = lex_name(c);
    if (slice_is(word, "function_name"))
        return read_function_name(r, &place->function);
    if (slice_is(word, "inlined_at"))
        return read_caller(r, place);
    *c = before;
    return lex_fail(c, "'function_name' or 'inlined_at'");
}

enum status location_line(struct reader *r, const struct ptx_location **location)
{
    struct ptx_location place = {0};
    enum status status = read_place(r, &place);
    while (!status && lex_accept(&r->cursor, ','))
        status = read_inlined(r, &place);
    if (status)
        return status;
    const struct ptx_location *old = *location;
    if (old && old->file == place.file && old->line == place.line && old->column == place.column &&
        old->function == place.function && old->caller == place.caller)
        return STATUS_OK;
    const struct ptx_location **kept = list_add(&r->locations, sizeof *kept);
    *location = kept ? store_copy(&r->store, &place, sizeof place) : NULL;
    if (!*location)
        return lex_no_memory(&r->cursor);
    *kept = *location;
    return STATUS_OK;
}
