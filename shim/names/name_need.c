/* name_need.c - see name_need.h. */
#include "names/name_need.h"

#include <ctype.h>
#include <string.h>
#include "names/symbol.h"

enum { SHORTEST_PART = 4 };

/* Words of demangled names that the mangled ones spell otherwise: no part of them is needed. */
static const char made_up[] =
    "anonymous namespace unsigned signed float double long short char wchar_t char8_t char16_t "
    "char32_t bool void int __int128 const volatile restrict operator lambda auto unnamed type "
    "template clone abi std allocator basic_string string char_traits istream ostream iostream "
    "decltype nullptr_t nullptr true false sizeof alignof alignas noexcept throw requires typename "
    "class struct enum union new delete co_await this _Float16 __float128 __vector complex "
    "imaginary decimal32 decimal64 decimal128 half bfloat16_t parameter literal typeid const_cast "
    "static_cast dynamic_cast reinterpret_cast guard variable vtable typeinfo name for "
    "_GLOBAL__N_ _INTERNAL_ initializer thunk virtual transaction_safe";

static bool in_needed_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Runs of a pattern's letters that a symbol must hold, the longest first. */
struct run {
    const char *start;
    size_t length;
    bool whole; /* what stands on both sides is no letter of a symbol */
};

struct longest {
    struct run run[NAME_WORDS];
};

/* Takes a run, if it is among the longest so far. */
static void offer(struct longest *best, struct run run)
{
    char text[64];
    if (run.length <= best->run[NAME_WORDS - 1].length || isdigit((unsigned char)*run.start))
        return;
    if (run.length < sizeof text) { /* no made-up word is longer */
        memcpy(text, run.start, run.length);
        text[run.length] = '\0';
        if (strstr(made_up, text))
            return;
    }
    for (size_t i = 0; i < NAME_WORDS; i++) {
        struct run *other = &best->run[i];
        if (run.length == other->length && memcmp(run.start, other->start, run.length) == 0) {
            other->whole |= run.whole;
            return;
        }
    }
    size_t at = NAME_WORDS - 1;
    for (; at > 0 && run.length > best->run[at - 1].length; at--)
        best->run[at] = best->run[at - 1];
    best->run[at] = run;
}

size_t name_run(const char *text)
{
    size_t length = 0;
    while (in_needed_word(text[length]))
        length++;
    return length;
}

static struct longest longest_word(const char *text)
{
    struct longest best = {0};
    while (*text) {
        size_t length = name_run(text);
        if (length)
            offer(&best, (struct run){text, length, true});
        text += length ? length : 1;
    }
    return best;
}

/* A character that stands for itself in globs and regexes, and in no identifier. */
static bool is_edge(char c)
{
    return c && strchr(":<> ,&", c);
}

/* The run at `text`, of a glob or regex that begins at `first`; `optional` are the characters that
 * make the one before them so. */
static struct run run_at(const char *text, size_t length, const char *first, const char *optional)
{
    const char *behind = text + length;
    bool begins = text > first && is_edge(text[-1]) && (text - 1 == first || text[-2] != '\\');
    bool ends = is_edge(*behind) && !(behind[1] && strchr(optional, behind[1]));
    return (struct run){text, length, begins && ends};
}

/* The end of "[...]", behind the bracket; NULL: too odd. */
static const char *behind_class(const char *text)
{
    text += text[1] == '!' || text[1] == '^' ? 2 : 1;
    if (*text == ']')
        return NULL;
    while (*text && *text != ']') {
        if (*text == '[' || *text == '\\')
            text++;
        if (*text)
            text++;
    }
    return *text ? text + 1 : NULL;
}

static struct longest longest_of_glob(const char *text)
{
    const char *first = text;
    struct longest best = {0};
    while (text && *text) {
        size_t length = name_run(text);
        offer(&best, run_at(text, length, first, ""));
        text += length;
        if (*text == '\\')
            return (struct longest){0};
        if (*text == '[')
            text = behind_class(text);
        else if (*text && !in_needed_word(*text))
            text++;
    }
    return text ? best : (struct longest){0};
}

/* Steps over one piece of a regex that is no letter; NULL: whatever follows may be optional. */
static const char *regex_step(const char *text, int *depth)
{
    static const char groups[] = "<:P=!>";
    switch (*text) {
    case '\\':
        return text[1] && (!isalnum((unsigned char)text[1]) || strchr("wWdDsSbB", text[1]))
                   ? text + 2
                   : NULL;
    case '[':
        return behind_class(text);
    case '(':
        if (text[1] == '*' || (text[1] == '?' && (!text[2] || !strchr(groups, text[2]))))
            return NULL;
        ++*depth;
        return text + 1;
    case ')':
        --*depth;
        return text + 1;
    case '{':
        return strchr(text, '}') ? strchr(text, '}') + 1 : NULL;
    case '|':
        return *depth > 0 ? text + 1 : NULL;
    default:
        return text + 1;
    }
}

/* Of the letters that stand in no group. */
static struct longest longest_of_regex(const char *text, const char *end)
{
    static const char optional[] = "?*{";
    const char *first = text;
    struct longest best = {0};
    int depth = 0;
    while (text && text < end) {
        size_t length = name_run(text);
        const char *anchor = memchr(text, '$', length);
        const char *behind = anchor ? anchor : text + length;
        length = (size_t)(behind - text);
        bool last_is = *behind && strchr(optional, *behind);
        if (depth == 0 && length > 0)
            offer(&best, run_at(text, length - last_is, first, optional));
        text = behind < end ? regex_step(behind, &depth) : behind;
    }
    return text && depth == 0 ? best : (struct longest){0};
}

/* Without memory: fewer. */
static void keep_run(struct name_need *out, struct arena *arena, struct run run)
{
    out->word[out->words].text = arena_text(arena, run.start, run.length);
    out->word[out->words].whole = run.whole;
    out->words += out->word[out->words].text != NULL;
}

/* One word as a whole; else the longest of its plain form, which a mangled name of another build
 * has, too. */
static void need_of_exact(struct name_need *out, struct arena *arena, const char *text)
{
    struct symbol_names names;
    if (!symbol_describe(&names, arena, text))
        return;
    if (names.demangled == names.mangled && !text[name_run(text)]) {
        keep_run(out, arena, (struct run){text, strlen(text), true});
        return;
    }
    if (names.demangled == names.mangled) {
        names.plain = symbol_normalise(arena, text);
        names.plain = names.plain ? symbol_plain(arena, names.plain) : NULL;
    }
    struct longest best = names.plain ? longest_word(names.plain) : (struct longest){0};
    if (best.run[0].length)
        keep_run(out, arena, best.run[0]);
}

void name_need_find(struct name_need *out, struct arena *arena, const char *pattern)
{
    size_t length = strlen(pattern);
    struct longest best;
    *out = (struct name_need){0};
    if (pattern[0] == '/' && length > 2) {
        best = longest_of_regex(pattern + 1, pattern + length - 1);
    } else if (strpbrk(pattern, "*?[")) {
        best = longest_of_glob(pattern);
    } else {
        need_of_exact(out, arena, pattern);
        return;
    }
    for (unsigned i = 0; i < NAME_WORDS && best.run[i].length >= SHORTEST_PART; i++)
        keep_run(out, arena, best.run[i]);
}
