/*
 * pattern.c - exact names by comparison, globs and regular expressions by PCRE2.
 *
 * A glob is turned into a regex by PCRE2 itself. Matching has a step limit, so that an unlucky
 * regex costs milliseconds once for a kernel and not a program's start.
 */
#include "names/pattern.h"

#include <stdlib.h>
#include <string.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { STEP_LIMIT = 200000, HEAP_LIMIT_KIB = 8192 };

struct pattern {
    struct arena arena;
    const char *text;
    const char *normal; /* exact: with build hashes replaced */
    struct symbol_names
        exact;        /* exact: the text read as a mangled name, perhaps of another build */
    pcre2_code *code; /* NULL: exact */
    pcre2_match_context *limits;
    struct captures groups;
};

static enum status compile_code(struct pattern *pattern, const char *text, size_t length,
                                struct error *err)
{
    int code;
    PCRE2_SIZE offset;
    pattern->code =
        pcre2_compile((PCRE2_SPTR)text, length, PCRE2_NEVER_BACKSLASH_C, &code, &offset, NULL);
    if (pattern->code) {
        pattern->limits = pcre2_match_context_create(NULL);
        if (!pattern->limits)
            return error_set(err, STATUS_NO_MEMORY, "no memory");
        pcre2_set_match_limit(pattern->limits, STEP_LIMIT);
        pcre2_set_heap_limit(pattern->limits, HEAP_LIMIT_KIB);
        return STATUS_OK;
    }
    PCRE2_UCHAR message[160];
    pcre2_get_error_message(code, message, sizeof message);
    return error_set(err, STATUS_INVALID, "regex '%.100s': %s at column %zu", text,
                     (const char *)message, offset + 1);
}

static enum status compile_glob(struct pattern *pattern, const char *text, struct error *err)
{
    PCRE2_UCHAR *regex = NULL;
    PCRE2_SIZE length = 0;
    uint32_t how =
        PCRE2_CONVERT_GLOB | PCRE2_CONVERT_GLOB_NO_WILD_SEPARATOR | PCRE2_CONVERT_GLOB_NO_STARSTAR;
    int code = pcre2_pattern_convert((PCRE2_SPTR)text, strlen(text), how, &regex, &length, NULL);
    if (code) {
        PCRE2_UCHAR message[160];
        pcre2_get_error_message(code, message, sizeof message);
        return error_set(err, STATUS_INVALID, "glob '%.100s': %s at column %zu", text,
                         (const char *)message, length + 1);
    }
    enum status status = compile_code(pattern, (const char *)regex, length, err);
    pcre2_converted_pattern_free(regex);
    return status;
}

static enum status read_groups(struct pattern *pattern, struct error *err)
{
    uint32_t count = 0, entry = 0;
    PCRE2_SPTR table = NULL;
    pcre2_pattern_info(pattern->code, PCRE2_INFO_NAMECOUNT, &count);
    pcre2_pattern_info(pattern->code, PCRE2_INFO_NAMEENTRYSIZE, &entry);
    pcre2_pattern_info(pattern->code, PCRE2_INFO_NAMETABLE, &table);
    if (count > sizeof pattern->groups.capture / sizeof pattern->groups.capture[0])
        return error_set(err, STATUS_INVALID, "more than 16 named groups");
    for (uint32_t i = 0; i < count; i++) /* an entry: two bytes of number, then the name */
        pattern->groups.capture[i].name = (const char *)table + i * entry + 2;
    pattern->groups.count = count;
    return STATUS_OK;
}

static enum status compile_exact(struct pattern *pattern, struct error *err)
{
    pattern->normal = symbol_normalise(&pattern->arena, pattern->text);
    if (!pattern->normal || !symbol_describe(&pattern->exact, &pattern->arena, pattern->text))
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    return STATUS_OK;
}

enum status pattern_compile(struct pattern **out, const char *text, struct error *err)
{
    size_t length = strlen(text);
    if (length == 0)
        return error_set(err, STATUS_INVALID, "an empty name");
    struct pattern *pattern = calloc(1, sizeof *pattern);
    if (pattern)
        pattern->text = arena_text(&pattern->arena, text, length);
    enum status status;
    if (!pattern || !pattern->text)
        status = error_set(err, STATUS_NO_MEMORY, "no memory");
    else if (text[0] == '/' && length > 2 && text[length - 1] == '/')
        status = compile_code(pattern, text + 1, length - 2, err);
    else if (text[0] == '/')
        status = error_set(err, STATUS_INVALID, "regex '%.100s' does not end with '/'", text);
    else if (strpbrk(text, "*?["))
        status = compile_glob(pattern, text, err);
    else
        status = compile_exact(pattern, err);
    if (!status && pattern->code)
        status = read_groups(pattern, err);
    if (status)
        pattern_destroy(pattern);
    else
        *out = pattern;
    return status;
}

void pattern_destroy(struct pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    pcre2_match_context_free(pattern->limits);
    arena_release(&pattern->arena);
    free(pattern);
}

void pattern_groups(const struct pattern *pattern, struct captures *out)
{
    *out = pattern->groups;
}

static bool catch_groups(const struct pattern *pattern, const char *text, pcre2_match_data *match,
                         struct arena *arena, struct captures *out)
{
    *out = pattern->groups;
    PCRE2_SIZE *range = pcre2_get_ovector_pointer(match);
    for (unsigned i = 0; i < out->count; i++) {
        struct capture *capture = &out->capture[i];
        int number = pcre2_substring_number_from_name(pattern->code, (PCRE2_SPTR)capture->name);
        size_t start = number > 0 ? range[2 * number] : PCRE2_UNSET;
        size_t end = number > 0 ? range[2 * number + 1] : PCRE2_UNSET;
        bool caught = start != PCRE2_UNSET && end >= start;
        capture->text = arena_text(arena, caught ? text + start : "", caught ? end - start : 0);
        if (!capture->text)
            return false;
    }
    return true;
}

static enum pattern_match match_code(const struct pattern *pattern, const char *text,
                                     struct arena *arena, struct captures *out)
{
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    enum pattern_match result = PATTERN_NO;
    if (!match)
        return PATTERN_UNKNOWN;
    int count =
        pcre2_match(pattern->code, (PCRE2_SPTR)text, strlen(text), 0, 0, match, pattern->limits);
    if (count > 0)
        result = catch_groups(pattern, text, match, arena, out) ? PATTERN_YES : PATTERN_UNKNOWN;
    else if (count != PCRE2_ERROR_NOMATCH)
        result = PATTERN_UNKNOWN;
    pcre2_match_data_free(match);
    return result;
}

static bool matches_exact(const struct pattern *pattern, const struct symbol_names *names)
{
    return strcmp(pattern->text, names->mangled) == 0 ||
           strcmp(pattern->normal, names->demangled) == 0 ||
           strcmp(pattern->normal, names->plain) == 0 ||
           /* mangled names of two builds differ in their hashes, and are equal when demangled */
           (pattern->exact.demangled != pattern->exact.mangled &&
            strcmp(pattern->exact.demangled, names->demangled) == 0);
}

enum pattern_match pattern_match(const struct pattern *pattern, const struct symbol_names *names,
                                 struct arena *arena, struct captures *out)
{
    enum pattern_match result = PATTERN_NO;
    *out = pattern->groups;
    if (!pattern->code)
        return matches_exact(pattern, names) ? PATTERN_YES : PATTERN_NO;
    const char *forms[] = {names->mangled, names->demangled, names->plain};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        enum pattern_match one = match_code(pattern, forms[i], arena, out);
        if (one == PATTERN_YES)
            return one;
        if (one == PATTERN_UNKNOWN)
            result = one;
        while (i + 1 < sizeof forms / sizeof forms[0] && forms[i + 1] == forms[i])
            i++; /* an unmangled name has one form */
    }
    return result;
}

const char *pattern_text(const struct pattern *pattern)
{
    return pattern->text;
}
