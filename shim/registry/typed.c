/* typed.c - see typed.h. */
#include "registry/typed.h"

#include <string.h>
#include "lang/dtype.h"
#include "plan/registry_keys.h"

static enum status read_word_list(const struct yaml_node *node, struct typed_word *out,
                                  struct error *err)
{
    bool any = false;
    enum status status = yaml_expect(node, "is", YAML_KIND_SEQUENCE, err);
    if (!status && node->count > TYPED_CODES)
        status = yaml_error(err, node, "'is' lists more than %d types", TYPED_CODES);
    for (size_t i = 0; !status && i < node->count; i++) {
        struct type type;
        const char *text;
        status = yaml_text(node->item[i], "is", &text, err);
        if (status || strcmp(text, "none") == 0)
            continue;
        if (!type_parse(text, &type))
            return yaml_error(err, node->item[i], "unknown type '%.40s'; expected a type or none",
                              text);
        out->type[i] = text;
        any = true;
    }
    out->codes = (unsigned)node->count;
    return status || any ? status : yaml_error(err, node, "'is' lists no type");
}

static enum status read_typed_word(const struct yaml_node *name, const struct yaml_node *node,
                                   struct typed_word *out, struct error *err)
{
    enum status status = yaml_expect(node, name->text, YAML_KIND_MAPPING, err);
    if (!status)
        status = keys_check(node, KEYS_TYPES, err);
    out->name = name->text;
    if (!status && yaml_get(node, "of"))
        return node->count > 1
                   ? yaml_error(err, node, "'%s' has other keys beside 'of'", name->text)
                   : yaml_text(yaml_get(node, "of"), "of", &out->of, err);
    if (!status && (!yaml_get(node, "word") || !yaml_get(node, "is")))
        status = yaml_error(err, node, "'%s' needs a 'word' and its types, 'is'; or an array, 'of'",
                            name->text);
    if (!status)
        status = yaml_text(yaml_get(node, "word"), "word", &out->word, err);
    return status ? status : read_word_list(yaml_get(node, "is"), out, err);
}

enum status typed_read(struct arena *arena, const struct yaml_node *node, const struct typed **out,
                       struct error *err)
{
    *out = NULL;
    if (!node)
        return STATUS_OK;
    struct typed *typed = arena_alloc(arena, sizeof *typed);
    if (!typed)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    enum status status = yaml_expect(node, "types", YAML_KIND_MAPPING, err);
    if (!status && node->count > TYPED_WORDS)
        status = yaml_error(err, node, "more than %d types", TYPED_WORDS);
    for (size_t i = 0; !status && i < node->count; i++)
        status = read_typed_word(node->key[i], node->item[i], &typed->word[typed->count++], err);
    typed->by_code = typed->count && typed->word[0].of;
    for (unsigned i = 0; !status && i < typed->count; i++) {
        if (!typed->word[i].of == typed->by_code)
            status = yaml_error(err, node, "some types are those of arrays, and some are not");
    }
    *out = typed;
    return status;
}

static enum status add_capture(struct captures *captures, const char *name, const char *text,
                               struct error *err)
{
    for (unsigned i = 0; i < captures->count; i++) {
        if (strcmp(captures->capture[i].name, name) == 0)
            return error_set(err, STATUS_INVALID, "types: the pattern has a group '%s' as well",
                             name);
    }
    if (captures->count == sizeof captures->capture / sizeof captures->capture[0])
        return error_set(err, STATUS_INVALID, "types: more than 16 names with the pattern's");
    captures->capture[captures->count++] = (struct capture){name, text};
    return STATUS_OK;
}

static const char *first_type(const struct typed_word *word)
{
    unsigned i = 0;
    if (word->of)
        return "f32";
    while (!word->type[i])
        i++;
    return word->type[i];
}

enum status typed_captures(const struct typed *typed, const uint8_t *codes,
                           struct captures *captures, struct error *err)
{
    enum status status = STATUS_OK;
    for (unsigned i = 0; !status && i < typed->count; i++) {
        const struct typed_word *word = &typed->word[i];
        status =
            add_capture(captures, word->name, codes ? word->type[codes[i]] : first_type(word), err);
    }
    return status;
}

enum status typed_seen(const struct typed *typed, const struct signature *signature,
                       const struct param_layout *layout, struct captures *captures,
                       struct error *err)
{
    enum status status = STATUS_OK;
    for (unsigned i = 0; !status && i < typed->count; i++) {
        const struct typed_word *word = &typed->word[i];
        const struct signature_item *item = signature_find(signature, word->of);
        bool found = item && item->array && !item->earlier && item->param < layout->count &&
                     item->param < LAYOUT_MAX;
        enum dtype dtype = found ? (enum dtype)layout->param[item->param].dtype : DTYPE_NONE;
        if (!dtype_is_usual(dtype))
            return error_set(err, STATUS_INVALID,
                             "types: the type behind '%.60s' is not known; it is known where the "
                             "kernel's image carries PTX that shows it",
                             word->of);
        status = add_capture(captures, word->name, dtype_text(dtype), err);
    }
    return status;
}

enum status typed_open(const struct typed *typed, struct captures *captures, struct error *err)
{
    enum status status = STATUS_OK;
    for (unsigned i = 0; typed && !status && i < typed->count; i++)
        status = add_capture(captures, typed->word[i].name, NULL, err);
    return status;
}

enum status typed_find(const struct typed *typed, const struct signature *signature,
                       const struct param_layout *layout, struct typed_places *out,
                       struct error *err)
{
    for (unsigned i = 0; typed->by_code && i < typed->count; i++) {
        const struct signature_item *item = signature_find(signature, typed->word[i].of);
        if (!item || !item->array)
            return error_set(err, STATUS_INVALID, "types: '%.60s' is no array of the signature",
                             typed->word[i].of);
    }
    out->count = typed->by_code ? 0 : typed->count;
    for (unsigned i = 0; i < out->count; i++) {
        const char *word = typed->word[i].word;
        const struct signature_item *item = signature_find(signature, word);
        if (!item || item->array || item->index || item->earlier ||
            dtype_is_real(item->type.dtype) || item->type.lanes != 1)
            return error_set(err, STATUS_INVALID, "types: '%.60s' is no integer of the signature",
                             word);
        out->place[i].item = item;
        out->place[i].start = item->param < LAYOUT_MAX ? layout->param[item->param].offset : 0;
    }
    return STATUS_OK;
}

bool typed_codes(const struct typed *typed, const struct typed_places *places,
                 const struct launch *launch, uint8_t codes[TYPED_WORDS], struct error *why)
{
    for (unsigned i = 0; i < places->count; i++) {
        const struct typed_word *word = &typed->word[i];
        const struct signature_item *item = places->place[i].item;
        uint64_t code = 0;
        if (!launch_read(launch, item->param, places->place[i].start, item->offset,
                         (size_t)dtype_bytes(item->type.dtype), &code)) {
            error_set(why, STATUS_INVALID, "the launch does not carry '%s'", item->name);
            return false;
        }
        if (code >= word->codes || !word->type[code]) {
            error_set(why, STATUS_INVALID, "'%s' is %llu, which stands for no type of %s",
                      item->name, (unsigned long long)code, word->name);
            return false;
        }
        codes[i] = (uint8_t)code;
    }
    return true;
}
