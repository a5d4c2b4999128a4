/* module.c - the outermost level of a PTX text, and the module's life. */
#include "ptx/reader.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/text/constant.h"
#include "ptx/text/types.h"

#define TEXT_MAX (UINT64_C(1) << 30)

struct alias {
    struct name *name, *target;
    unsigned line;
};

/* .visible and the like before .entry, .func and variables. */
struct linkage {
    bool is_extern, is_visible, is_weak;
};

static bool read_linkage(struct slice word, struct linkage *linkage)
{
    if (slice_is(word, "visible"))
        linkage->is_visible = true;
    else if (slice_is(word, "extern"))
        linkage->is_extern = true;
    else if (slice_is(word, "weak") || slice_is(word, "common"))
        linkage->is_weak = true;
    else
        return false;
    return true;
}

static enum status read_version(struct reader *r)
{
    struct cursor *c = &r->cursor;
    uint64_t major = 0, minor = 0;
    if (!lex_is(lex_peek(c), LEX_DIGIT))
        return lex_fail(c, "a version such as 8.0");
    while (lex_is(*c->at, LEX_DIGIT) && major < 1000)
        major = major * 10 + (unsigned)(*c->at++ - '0');
    if (*c->at++ != '.') {
        c->at--;
        return lex_fail(c, "'.' and the second number of the version");
    }
    while (lex_is(*c->at, LEX_DIGIT) && minor < 1000)
        minor = minor * 10 + (unsigned)(*c->at++ - '0');
    r->module.version_major = (unsigned)major;
    r->module.version_minor = (unsigned)minor;
    return STATUS_OK;
}

/* sm_90a, debug, texmode_independent */
static enum status read_target(struct reader *r)
{
    struct cursor *c = &r->cursor;
    do {
        struct slice word = lex_name(c);
        if (!word.length)
            return lex_fail(c, "a target such as sm_90");
        if (r->module.target)
            continue;
        r->module.target = store_text(&r->store, word.begin, word.length);
        if (!r->module.target)
            return lex_no_memory(c);
        const char *digits = strpbrk(r->module.target, "0123456789");
        for (; digits && lex_is(*digits, LEX_DIGIT) && r->module.arch < 100000; digits++)
            r->module.arch = r->module.arch * 10 + (unsigned)(*digits - '0');
    } while (lex_accept(c, ','));
    return STATUS_OK;
}

static enum status read_address_size(struct reader *r)
{
    struct cursor before = r->cursor;
    uint64_t size = 0;
    enum status status = constant_count(&r->cursor, 64, "32 or 64", &size);
    if (!status && size != 32 && size != 64) {
        r->cursor = before;
        return lex_fail(&r->cursor, "32 or 64");
    }
    r->module.address_size = (unsigned)size;
    return status;
}

/* A function of the list, and where its text is. */
static struct ptx_function *function_at(const struct reader *r, size_t index)
{
    return (struct ptx_function *)r->functions.items + index;
}

static struct body_place *place_at(const struct reader *r, size_t index)
{
    return (struct body_place *)r->places.items + index;
}

static enum status add_function(struct reader *r, struct name *name, const struct ptx_function *f,
                                const struct body_place *place)
{
    struct ptx_function *new_function = list_add(&r->functions, sizeof *new_function);
    struct body_place *new_place = new_function ? list_add(&r->places, sizeof *new_place) : NULL;
    if (!new_place || r->functions.count > UINT32_MAX)
        return lex_no_memory(&r->cursor);
    *new_function = *f;
    *new_place = *place;
    return names_declare(&r->names, &r->cursor, name, SYMBOL_FUNCTION,
                         (uint32_t)(r->functions.count - 1), NULL);
}

/* A declaration and a definition are one function; their attributes are merged. */
static enum status merge_function(struct reader *r, size_t index, struct ptx_function *f,
                                  const struct body_place *place)
{
    struct ptx_function *old = function_at(r, index);
    if (old->has_body && f->has_body)
        return lex_refuse(&r->cursor, f->line,
                          "found a second body of '%.80s', expected one; the first is in line %u",
                          f->name, old->line);
    if (old->param_count != f->param_count || old->result_count != f->result_count ||
        old->is_entry != f->is_entry)
        return lex_refuse(
            &r->cursor, f->line,
            "found '%.80s' with other parameters or results than in line %u, expected "
            "the same",
            f->name, old->line);
    f->is_visible |= old->is_visible;
    f->is_weak |= old->is_weak;
    f->noreturn |= old->noreturn;
    f->is_extern = f->is_extern && old->is_extern;
    if (old->has_body) {
        old->is_visible = f->is_visible;
        old->is_weak = f->is_weak;
        old->noreturn = f->noreturn;
        old->is_extern = false;
        return STATUS_OK;
    }
    *old = *f;
    *place_at(r, index) = *place;
    return STATUS_OK;
}

static enum status read_function(struct reader *r, const struct linkage *linkage, bool is_entry)
{
    struct cursor *c = &r->cursor;
    struct name *name = NULL;
    struct ptx_function f = {.is_entry = is_entry,
                             .is_visible = linkage->is_visible,
                             .is_extern = linkage->is_extern,
                             .is_weak = linkage->is_weak,
                             .line = c->line};
    struct body_place place = {0};
    enum status status = function_header(r, &f, &name);
    if (status)
        return status;
    if (lex_accept(c, '{')) {
        f.has_body = true;
        f.is_extern = false;
        place = (struct body_place){c->at, c->line};
        status = lex_skip_braces(c);
    } else {
        status = lex_expect(c, ';', "'{' or ';' after the head of a function");
    }
    if (status)
        return status;
    const struct symbol *symbol = names_symbol(&r->names, name);
    if (symbol && symbol->kind == SYMBOL_FUNCTION)
        return merge_function(r, symbol->value, &f, &place);
    return add_function(r, name, &f, &place);
}

/* An extern variable and its definition are one. */
static enum status add_variable(struct reader *r, const struct ptx_variable *variable)
{
    struct name *name = name_of(variable->name);
    const struct symbol *symbol = names_symbol(&r->names, name);
    struct ptx_variable *list = r->variables.items;
    if (symbol && symbol->kind == SYMBOL_VARIABLE) {
        struct ptx_variable *old = &list[symbol->value];
        if (old->space == variable->space && (old->is_extern || variable->is_extern)) {
            if (old->is_extern)
                *old = *variable;
            old->index = symbol->value;
            return STATUS_OK;
        }
    }
    struct ptx_variable *place =
        r->variables.count < UINT32_MAX ? list_add(&r->variables, sizeof *place) : NULL;
    if (!place)
        return lex_no_memory(&r->cursor);
    *place = *variable;
    place->index = (unsigned)r->variables.count - 1;
    return names_declare(&r->names, &r->cursor, name, SYMBOL_VARIABLE, place->index, NULL);
}

static enum status read_variables(struct reader *r, const struct linkage *linkage,
                                  enum ptx_space space)
{
    struct cursor *c = &r->cursor;
    struct declaration declaration = {.space = space,
                                      .is_extern = linkage->is_extern,
                                      .is_visible = linkage->is_visible,
                                      .is_weak = linkage->is_weak,
                                      .line = c->line};
    bool may_have_value = space != PTX_SHARED && !linkage->is_extern;
    enum status status = declaration_read(r, &declaration);
    while (!status) {
        struct ptx_variable variable;
        status = variable_read(r, &declaration, may_have_value, &variable);
        if (!status)
            status = add_variable(r, &variable);
        if (!status && !lex_accept(c, ','))
            return lex_expect(c, ';', "',', '=' or ';' behind a variable");
    }
    return status;
}

/* .alias NAME, FUNCTION; */
static enum status read_alias(struct reader *r)
{
    struct cursor *c = &r->cursor;
    struct alias alias = {.line = c->line};
    struct slice name = lex_name(c);
    if (!name.length)
        return lex_fail(c, "the name of a function");
    enum status status = lex_expect(c, ',', "',' behind the name of an alias");
    struct slice target = status ? name : lex_name(c);
    if (!status && !target.length)
        return lex_fail(c, "the name of a function");
    if (!status)
        status = lex_expect(c, ';', "';' behind an alias");
    if (status)
        return status;
    alias.name = names_put(&r->names, &r->store, name);
    alias.target = names_put(&r->names, &r->store, target);
    struct alias *place = list_add(&r->aliases, sizeof *place);
    if (!alias.name || !alias.target || !place)
        return lex_no_memory(c);
    *place = alias;
    return STATUS_OK;
}

/* An alias has the body, parameters and results of its target under its own name. */
static enum status settle_aliases(struct reader *r)
{
    const struct alias *alias = r->aliases.items;
    for (size_t i = 0; i < r->aliases.count; i++, alias++) {
        const struct symbol *from = names_symbol(&r->names, alias->name);
        const struct symbol *to = names_symbol(&r->names, alias->target);
        const struct ptx_function *target =
            to && to->kind == SYMBOL_FUNCTION ? function_at(r, to->value) : NULL;
        if (!from || from->kind != SYMBOL_FUNCTION || function_at(r, from->value)->has_body)
            return lex_refuse(&r->cursor, alias->line,
                              "found an alias '%.80s', expected the name of a function that is "
                              "declared without a body",
                              alias->name->text);
        if (!target || !target->has_body)
            return lex_refuse(&r->cursor, alias->line,
                              "found '%.80s' behind an alias, expected a function with a body",
                              alias->target->text);
        struct ptx_function *f = function_at(r, from->value);
        const char *name = f->name;
        bool visible = f->is_visible, weak = f->is_weak;
        *f = *target;
        f->name = name;
        f->is_visible = visible;
        f->is_weak = weak;
        *place_at(r, from->value) = *place_at(r, to->value);
    }
    return STATUS_OK;
}

/* Reads a single directive of the outermost level. */
static enum status read_plain(struct reader *r, struct slice word, bool *found)
{
    *found = true;
    if (slice_is(word, "version"))
        return read_version(r);
    if (slice_is(word, "target"))
        return read_target(r);
    if (slice_is(word, "address_size"))
        return read_address_size(r);
    if (slice_is(word, "file"))
        return location_file(r);
    if (slice_is(word, "section"))
        return location_section(r);
    if (slice_is(word, "alias"))
        return read_alias(r);
    if (slice_is(word, "pragma"))
        return pragma_skip(r);
    *found = false;
    return STATUS_OK;
}

static enum status read_declaration(struct reader *r)
{
    struct cursor *c = &r->cursor;
    struct linkage linkage = {0};
    bool plain = false;
    lex_peek(c);
    struct cursor before = *c;
    struct slice word = lex_directive(c);
    enum status status = read_plain(r, word, &plain);
    if (status || plain)
        return status;
    while (read_linkage(word, &linkage)) {
        lex_peek(c);
        before = *c;
        word = lex_directive(c);
    }
    if (slice_is(word, "entry") || slice_is(word, "func"))
        return read_function(r, &linkage, *word.begin == 'e');
    enum ptx_space space = space_named(word);
    if (space == PTX_GLOBAL || space == PTX_CONST || space == PTX_SHARED)
        return read_variables(r, &linkage, space);
    *c = before;
    return lex_fail(c, "a directive such as .entry, .func, .global, .const or .shared");
}

static enum status read_text(struct reader *r)
{
    struct cursor *c = &r->cursor;
    enum status status = STATUS_OK;
    lex_peek(c);
    struct cursor before = *c;
    if (!slice_is(lex_directive(c), "version")) {
        *c = before;
        return lex_fail(c, "'.version' at the beginning of PTX");
    }
    *c = before;
    while (!status && lex_peek(c))
        status = lex_accept(c, ';') ? STATUS_OK : read_declaration(r);
    if (!status && !r->module.target)
        return lex_fail(c, "'.target'");
    return status ? status : settle_aliases(r);
}

static int compare_functions(const void *a, const void *b)
{
    const struct ptx_function *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int compare_variables(const void *a, const void *b)
{
    const struct ptx_variable *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* The lists of the module, and both in order of names: other threads search them while one reads
 * bodies, which changes the table of names. */
static enum status publish(struct reader *r)
{
    size_t functions = r->functions.count, variables = r->variables.count;
    struct ptx_module *module = &r->module;
    module->functions = r->functions.items;
    module->function_count = (unsigned)functions;
    module->variables = r->variables.items;
    module->variable_count = (unsigned)variables;
    r->functions_by_name = store_take(&r->store, functions * sizeof *r->functions_by_name);
    r->variables_by_name = store_take(&r->store, variables * sizeof *r->variables_by_name);
    if (!r->functions_by_name || !r->variables_by_name)
        return lex_no_memory(&r->cursor);
    for (size_t i = 0; i < functions; i++)
        r->functions_by_name[i] = &module->functions[i];
    for (size_t i = 0; i < variables; i++)
        r->variables_by_name[i] = &module->variables[i];
    if (functions)
        qsort(r->functions_by_name, functions, sizeof *r->functions_by_name, compare_functions);
    if (variables)
        qsort(r->variables_by_name, variables, sizeof *r->variables_by_name, compare_variables);
    return STATUS_OK;
}

static enum status start(struct reader *r, const char *text, size_t length, const char *name,
                         struct error *err)
{
    r->cursor = (struct cursor){.line = 1, .name = name, .err = err};
    size_t used = strnlen(text, length);
    if (used > TEXT_MAX)
        return lex_refuse(&r->cursor, 1, "found PTX of %zu bytes, expected at most 1 GiB", used);
    r->text = malloc(used + 1);
    r->module.name = store_text(&r->store, name, strlen(name));
    if (!r->text || !r->module.name)
        return lex_no_memory(&r->cursor);
    memcpy(r->text, text, used);
    r->text[used] = '\0';
    r->cursor.at = r->text;
    r->cursor.name = r->module.name;
    r->module.address_size = 64;
    return names_init(&r->names, &r->store, &r->cursor);
}

enum status ptx_read(const char *text, size_t length, const char *name, struct ptx_module **module,
                     struct error *err)
{
    *module = NULL;
    struct reader *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(err, STATUS_NO_MEMORY, "%.120s: no memory left to read the module", name);
    enum status status = start(r, text, length, name, err);
    if (!status)
        status = read_text(r);
    if (!status)
        status = publish(r);
    if (status)
        ptx_free(&r->module);
    else
        *module = &r->module;
    return status;
}

struct ptx_function *ptx_find_function(const struct ptx_module *module, const char *name)
{
    const struct reader *r = (const struct reader *)module;
    struct ptx_function wanted = {.name = name};
    const struct ptx_function *key = &wanted, **found = NULL;
    if (module->function_count)
        found = bsearch(&key, r->functions_by_name, module->function_count, sizeof key,
                        compare_functions);
    return found ? &module->functions[*found - module->functions] : NULL;
}

const struct ptx_variable *ptx_find_variable(const struct ptx_module *module, const char *name)
{
    const struct reader *r = (const struct reader *)module;
    struct ptx_variable wanted = {.name = name};
    const struct ptx_variable *key = &wanted, **found = NULL;
    if (module->variable_count)
        found = bsearch(&key, r->variables_by_name, module->variable_count, sizeof key,
                        compare_variables);
    return found ? *found : NULL;
}

void ptx_free(struct ptx_module *module)
{
    if (!module)
        return;
    struct reader *r = (struct reader *)module;
    struct list *lists[] = {&r->functions, &r->places, &r->variables,   &r->files,    &r->aliases,
                            &r->locations, &r->bytes,  &r->relocations, &r->operands, &r->registers,
                            &r->locals,    &r->fixups, &r->params};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        list_release(lists[i]);
    names_release(&r->names);
    store_release(&r->store);
    free(r->text);
    free(r);
}
