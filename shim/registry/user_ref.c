#include "registry/user_ref.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "system/files.h"
#include "text/nearest.h"
#include "plan/registry_keys.h"

enum { DECLARED_MAX = 64 };

struct reading {
    struct user_references *users;
    struct arena *arena;
    const struct yaml_node *node; /* the mapping */
    struct error *err;
};

static enum status no_user_memory(const struct reading *r)
{
    return error_set(r->err, STATUS_NO_MEMORY, "%s: no memory", r->node->file);
}

void user_text_place(const struct user_text *text, int line, char *out, size_t size)
{
    if (text->first_line)
        snprintf(out, size, "%s:%u", text->file, text->first_line + (unsigned)line - 1);
    else
        snprintf(out, size, "%s:%u: line %d of the text", text->file, text->yaml_line, line);
}

/* ---- texts ---- */

/* Bytes of a file, terminated; a NUL among them would hide the rest. */
static enum status read_source(const struct reading *r, const struct yaml_node *node,
                               const char *path, const char **out)
{
    struct stat facts;
    struct error why = {{0}};
    enum status status = STATUS_OK;
    int fd = -1;
    if (files_open_read(path, &fd, &why)) {
        status = yaml_error(r->err, node, "source %s: cannot be read: %s", path, why.text);
    } else if (fstat(fd, &facts)) {
        status = yaml_error(r->err, node, "source %s: cannot be read: %m", path);
    } else if (facts.st_size > USER_TEXT_BYTES) {
        status = yaml_error(r->err, node, "source %s: larger than 1 MiB", path);
    } else {
        char *text = arena_alloc(r->arena, (size_t)facts.st_size + 1);
        ssize_t got = text ? read(fd, text, (size_t)facts.st_size) : 0;
        if (!text)
            status = no_user_memory(r);
        else if (got != facts.st_size || strlen(text) != (size_t)got)
            status = yaml_error(r->err, node, "source %s: cannot be read as text", path);
        *out = text;
    }
    if (fd >= 0)
        close(fd);
    return status;
}

/* As the include of a registry: relative to the file that names it. */
static const char *source_path(const struct reading *r, const char *path)
{
    char folder[PATH_MAX];
    size_t length = strlen(r->node->file);
    if (path[0] == '/' || length >= sizeof folder)
        return path;
    memcpy(folder, r->node->file, length + 1);
    return arena_format(r->arena, "%s/%s", dirname(folder), path);
}

enum status user_text_scan(struct user_text *text, struct arena *arena, struct error *err)
{
    struct ref_declaration *found = calloc(DECLARED_MAX + 1, sizeof *found), *kept = NULL;
    const char *at = text->text;
    char place[PATH_MAX + 64];
    enum status status = found ? STATUS_OK : STATUS_NO_MEMORY;
    text->declared = 0;
    while (!status) {
        struct ref_declaration *next = &found[text->declared];
        struct error why = {{0}};
        status = ref_text_next(text->text, &at, next, &why);
        for (unsigned i = 0; !status && i < text->declared; i++) {
            if (strcmp(found[i].name, next->name) == 0)
                status =
                    error_set(&why, STATUS_INVALID, "the text has two references '%s'", next->name);
        }
        if (!status && ++text->declared > DECLARED_MAX)
            status = error_set(&why, STATUS_INVALID, "more than 64 references in one text");
        if (status == STATUS_INVALID) {
            user_text_place(text, next->line, place, sizeof place);
            error_set(err, status, "%s: %s", place, why.text);
        }
    }
    if (status == STATUS_NOT_FOUND) {
        kept = arena_alloc(arena, (text->declared + 1) * sizeof *kept);
        status = kept ? STATUS_OK : STATUS_NO_MEMORY;
        if (kept)
            memcpy(kept, found, text->declared * sizeof *kept);
    }
    text->declaration = kept;
    free(found);
    return status == STATUS_NO_MEMORY ? error_set(err, status, "%s: no memory", text->where)
                                      : status;
}

static enum status add_user_text(const struct reading *r, const struct user_text *made,
                                 const struct user_text **out)
{
    struct user_references *users = r->users;
    if (users->texts == USER_TEXTS)
        return yaml_error(r->err, r->node, "more than 64 texts with references");
    struct user_text *text = arena_alloc(r->arena, sizeof *text);
    if (!text)
        return no_user_memory(r);
    *text = *made;
    text->number = users->texts;
    enum status status = user_text_scan(text, r->arena, r->err);
    if (!status && !text->declared)
        status = yaml_error(r->err, r->node,
                            "the text declares no reference: no line begins with "
                            "REFERENCE(name, \"formals\")");
    if (status)
        return status;
    users->text[users->texts++] = text;
    *out = text;
    return STATUS_OK;
}

static enum status read_inline(const struct reading *r, const struct yaml_node *node,
                               const struct user_text **out)
{
    struct user_text text = {.file = node->file, .yaml_line = node->line};
    enum status status = yaml_text(node, "inline", &text.text, r->err);
    if (status)
        return status;
    if (strlen(text.text) > USER_TEXT_BYTES)
        return yaml_error(r->err, node, "'inline' is longer than 1 MiB");
    text.first_line = node->literal ? node->line + 1 : 0;
    text.where = arena_format(r->arena, "inline %s:%u", node->file, node->line);
    return text.where ? add_user_text(r, &text, out) : no_user_memory(r);
}

static enum status read_file(const struct reading *r, const struct yaml_node *node,
                             const struct user_text **out)
{
    struct user_text text = {.first_line = 1};
    const char *named;
    char real[PATH_MAX];
    enum status status = yaml_text(node, "source", &named, r->err);
    if (status)
        return status;
    text.file = source_path(r, named);
    text.where = arena_format(r->arena, "source %s", named);
    if (!text.file || !text.where)
        return no_user_memory(r);
    if (!realpath(text.file, real))
        return yaml_error(r->err, node, "source %s: cannot be read: %m", text.file);
    for (unsigned i = 0; i < r->users->texts; i++) {
        if (r->users->text[i]->path && strcmp(r->users->text[i]->path, real) == 0) {
            *out = r->users->text[i];
            return STATUS_OK;
        }
    }
    text.path = arena_text(r->arena, real, strlen(real));
    if (!text.path)
        return no_user_memory(r);
    status = read_source(r, node, text.file, &text.text);
    return status ? status : add_user_text(r, &text, out);
}

/* ---- references ---- */

/* The reference called `name`, or the only one. */
static enum status choose_compiled(const struct reading *r, const struct user_text *text,
                                   unsigned *out)
{
    const struct yaml_node *node = yaml_get(r->node, "name");
    const char *name = NULL;
    char question[96], names[256] = "";
    size_t used = 0;
    *out = 0;
    if (!node && text->declared == 1)
        return STATUS_OK;
    enum status status = node ? yaml_text(node, "name", &name, r->err) : STATUS_OK;
    if (status)
        return status;
    struct nearest nearest = {.word = name ? name : ""};
    for (unsigned i = 0; i < text->declared; i++) {
        if (name && strcmp(text->declaration[i].name, name) == 0) {
            *out = i;
            return STATUS_OK;
        }
        nearest_offer(&nearest, text->declaration[i].name);
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                     text->declaration[i].name);
    }
    if (!node)
        return yaml_error(r->err, r->node,
                          "the text declares %u references (%s); expected 'name' with one of them",
                          text->declared, names);
    return yaml_error(r->err, node, "the text has no reference '%.60s' (it has: %s)%s", name, names,
                      nearest_text(&nearest, question, sizeof question));
}

/* As binding and reports see it. Its name is its place too: rows of `tolerances` are for built-in
 * references, and two texts may use one name. */
static bool describe_reference(const struct reading *r, struct user_reference *user)
{
    const struct ref_declaration *declared = &user->text->declaration[user->declaration];
    const char *symbol = arena_format(r->arena, "cuvet_ref_%s_wide", declared->name);
    user->as_builtin = (struct ref_builtin){
        .name = arena_format(r->arena, "%s (%s)", declared->name, user->text->where),
        .formals = declared->text,
        .symbol = {[REF_ANY] = symbol, [REF_WIDE] = symbol},
        .file = user->text->file,
        .user = user,
        .uses = declared->uses,
    };
    return symbol && user->as_builtin.name;
}

static enum status add_reference(const struct reading *r, const struct user_text *text,
                                 unsigned declaration, const struct ref_builtin **out)
{
    struct user_references *users = r->users;
    for (unsigned i = 0; i < users->references; i++) {
        const struct user_reference *there = users->reference[i];
        if (there->text == text && there->declaration == declaration) {
            *out = &there->as_builtin;
            return STATUS_OK;
        }
    }
    struct user_reference *user = arena_alloc(r->arena, sizeof *user);
    /* The old list stays in the arena: it is small. */
    struct user_reference **list =
        arena_alloc(r->arena, (users->references + 1) * sizeof *users->reference);
    if (!user || !list)
        return no_user_memory(r);
    user->text = text;
    user->declaration = declaration;
    user->number = users->references;
    if (!describe_reference(r, user))
        return no_user_memory(r);
    if (users->references)
        memcpy(list, users->reference, users->references * sizeof *list);
    list[users->references++] = user;
    users->reference = list;
    *out = &user->as_builtin;
    return STATUS_OK;
}

enum status user_reference_read(struct user_references *users, struct arena *arena,
                                const struct yaml_node *node, const struct ref_builtin **out,
                                struct error *err)
{
    struct reading r = {users, arena, node, err};
    const struct yaml_node *text_node = yaml_get(node, "inline"),
                           *source = yaml_get(node, "source");
    const struct user_text *text = NULL;
    unsigned declaration = 0;
    enum status status = keys_check(node, KEYS_REFERENCE, err);
    if (!status && !text_node == !source)
        status = yaml_error(err, node, "'reference' needs either 'inline' or 'source'");
    if (!status)
        status = source ? read_file(&r, source, &text) : read_inline(&r, text_node, &text);
    if (!status)
        status = choose_compiled(&r, text, &declaration);
    return status ? status : add_reference(&r, text, declaration, out);
}
