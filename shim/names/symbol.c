#include "names/symbol.h"

#include <ctype.h>
#include <setjmp.h>
#include <string.h>
#include "text/textbuf.h"

/*
 * The demangler of the C++ runtime's support library, which is linked in statically: the form that
 * gives its text to a callback, piece by piece, and allocates nothing, so that it can be left when
 * there is too much. 0: done; it takes 1024
 * characters at most.
 */
extern int __gcclibcxx_demangle_callback(
    const char *mangled, void (*callback)(const char *text, size_t length, void *user), void *user);

enum { SUBSTITUTIONS = 16 };

static bool in_symbol_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* The demangler handles GCC's and Clang's anonymous namespaces; nvcc adds words of its own. */
static bool is_hashed(const char *word)
{
    return strncmp(word, "_GLOBAL__N_", 11) == 0 || strncmp(word, "_INTERNAL_", 10) == 0;
}

/* "[abi:v1]", in which Numba has the number of a compilation and a hash of its options; 0: none. */
static size_t tag_length(const char *text)
{
    const char *end = strncmp(text, "[abi:", 5) == 0 ? strchr(text, ']') : NULL;
    return end ? (size_t)(end - text) + 1 : 0;
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
        size_t word = 0, tag = tag_length(text);
        if (tag) {
            text += tag;
            continue;
        }
        while (in_symbol_word(text[word]))
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

const char *symbol_parameters(const char *demangled)
{
    const char *list = parameter_list(demangled);
    return list ? list + 1 : NULL;
}

const char *symbol_plain(struct arena *arena, const char *demangled)
{
    const char *end = parameter_list(demangled);
    if (!end || end == demangled)
        return demangled;
    const char *start = name_start(demangled, end);
    return start < end ? arena_text(arena, start, (size_t)(end - start)) : demangled;
}

/* The text so far, and where to go on when it is too long. */
struct demangled {
    struct textbuf text;
    jmp_buf enough;
};

static void take_demangled(const char *bytes, size_t count, void *user)
{
    struct demangled *demangled = user;
    if (count > SYMBOL_TEXT - demangled->text.length)
        longjmp(demangled->enough, 1);
    textbuf_add(&demangled->text, bytes, count);
}

/* Whether an expansion of a parameter pack in the name has a pattern of more than a parameter. */
static bool expands_patterns(const char *mangled)
{
    bool expressions = strpbrk(mangled, "X") || strstr(mangled, "DT") || strstr(mangled, "Dt") ||
                       strstr(mangled, "DO");
    for (const char *at = mangled; *at; at++) {
        bool type = at[0] == 'D' && at[1] == 'p';
        bool value = expressions && at[0] == 's' && (at[1] == 'p' || at[1] == 'Z');
        if (!type && !value)
            continue;
        const char *pattern = at + 2 + strspn(at + 2, type ? "OPRKV" : "");
        if (*pattern != 'T')
            return true;
    }
    return false;
}

/* For each such pattern the demangler walks through all that substitutions in it stand for, and
 * each of them may double that. Of 82,000 names of a compiler's libraries this is true of none. */
static bool takes_long(const char *mangled)
{
    size_t substitutions = 0;
    if (!expands_patterns(mangled))
        return false;
    for (const char *at = mangled; *at; at++)
        substitutions += *at == 'S' && (at[1] == '_' || isdigit((unsigned char)at[1]) ||
                                        isupper((unsigned char)at[1]));
    return substitutions > SUBSTITUTIONS;
}

/* False: no mangled name, or one that is too much. */
static bool demangle(struct demangled *out, const char *mangled)
{
    /* Without the prefix the demangler would read "f" as the type float. */
    if (strncmp(mangled, "_Z", 2) != 0 || takes_long(mangled))
        return false;
    if (setjmp(out->enough))
        return false;
    return __gcclibcxx_demangle_callback(mangled, take_demangled, out) == 0 && out->text.data;
}

bool symbol_describe(struct symbol_names *out, struct arena *arena, const char *mangled)
{
    struct demangled demangled;
    out->mangled = arena_text(arena, mangled, strlen(mangled));
    out->demangled = out->plain = out->mangled;
    if (!out->mangled)
        return false;
    textbuf_init(&demangled.text);
    if (demangle(&demangled, mangled) && !demangled.text.failed) {
        out->demangled = symbol_normalise(arena, demangled.text.data);
        out->plain = out->demangled ? symbol_plain(arena, out->demangled) : NULL;
    }
    bool done = out->demangled && out->plain && !demangled.text.failed;
    textbuf_release(&demangled.text);
    return done;
}
