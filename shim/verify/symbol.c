#include "verify/symbol.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* From the C++ runtime's support library, linked in statically: <cxxabi.h> is C++ only. */
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

enum { LONGEST = 32 << 10 }; /* longer names stay mangled: substitutions can blow them up */

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* The demangler knows GCC's and Clang's anonymous namespaces; nvcc adds words of its own. */
static bool is_hashed(const char *word)
{
    return strncmp(word, "_GLOBAL__N_", 11) == 0 || strncmp(word, "_INTERNAL_", 10) == 0;
}

const char *symbol_normalise(struct arena *arena, const char *text)
{
    static const char anonymous[] = "(anonymous namespace)";
    size_t length = strlen(text), words = 0;
    for (const char *at = text; *at; at++)
        words += *at == '_';
    /* A hashed word starts with an underscore, and there are at most that many. */
    char *out = arena_alloc(arena, length + words * sizeof anonymous + 1);
    if (!out)
        return NULL;
    char *to = out;
    while (*text) {
        size_t word = 0;
        while (in_word(text[word]))
            word++;
        if (word == 0) {
            *to++ = *text++;
        } else if (is_hashed(text)) {
            memcpy(to, anonymous, sizeof anonymous - 1);
            to += sizeof anonymous - 1;
        } else {
            memcpy(to, text, word);
            to += word;
        }
        text += word;
    }
    return out;
}

/* The '(' of the parameter list: the last one that is at no depth of <>, () or {}, read from the
 * end. "(anonymous namespace)" and operator() stand further left. NULL where there is none. */
static const char *parameter_list(const char *text)
{
    size_t at = strlen(text);
    int depth = 0;
    while (at > 0 && text[at - 1] != ')')
        at--; /* " const" or " [clone .x]" behind the list */
    while (at-- > 0) {
        if (text[at] == ')')
            depth++;
        else if (text[at] == '(' && --depth == 0)
            return text + at;
    }
    return NULL;
}

/* Where the name starts: after the last space before `end` that is in no brackets. */
static const char *name_start(const char *text, const char *end)
{
    const char *start = text;
    int depth = 0;
    for (const char *at = text; at < end; at++) {
        if (*at == '<' || *at == '(' || *at == '{')
            depth++;
        else if (*at == '>' || *at == ')' || *at == '}')
            depth--;
        else if (*at == ' ' && depth == 0)
            start = at + 1;
    }
    return start;
}

static const char *make_plain(struct arena *arena, const char *demangled)
{
    const char *end = parameter_list(demangled);
    if (!end || end == demangled)
        return demangled;
    const char *start = name_start(demangled, end);
    return start < end ? arena_text(arena, start, (size_t)(end - start)) : demangled;
}

bool symbol_describe(struct symbol_names *out, struct arena *arena, const char *mangled)
{
    size_t length = strlen(mangled);
    out->mangled = arena_text(arena, mangled, length);
    out->demangled = out->plain = out->mangled;
    if (!out->mangled)
        return false;
    /* Without the prefix the demangler would read "f" as the type float. */
    if (strncmp(mangled, "_Z", 2) != 0 || length > LONGEST)
        return true;
    int status = -1;
    char *text = __cxa_demangle(mangled, NULL, NULL, &status);
    if (text && status == 0) {
        out->demangled = symbol_normalise(arena, text);
        out->plain = out->demangled ? make_plain(arena, out->demangled) : NULL;
    }
    free(text);
    return out->demangled && out->plain;
}
