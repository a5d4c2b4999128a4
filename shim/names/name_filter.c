#include "names/name_filter.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "names/symbol.h"

enum { SHORTEST_PART = 4, FIRST_WORDS = 64 };

/* ---- the word of a pattern ---- */

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

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Runs of a pattern's letters that a symbol must hold, the longest first. */
struct longest {
    const char *start[NAME_WORDS];
    size_t length[NAME_WORDS];
};

/* Takes a run, if it is among the longest so far. */
static void offer(struct longest *best, const char *start, size_t length)
{
    char run[64];
    if (length <= best->length[NAME_WORDS - 1] || isdigit((unsigned char)*start))
        return;
    if (length < sizeof run) { /* no made-up word is longer */
        memcpy(run, start, length);
        run[length] = '\0';
        if (strstr(made_up, run))
            return;
    }
    size_t at = NAME_WORDS - 1;
    for (; at > 0 && length > best->length[at - 1]; at--) {
        best->start[at] = best->start[at - 1];
        best->length[at] = best->length[at - 1];
    }
    best->start[at] = start;
    best->length[at] = length;
}

static size_t run_of(const char *text)
{
    size_t length = 0;
    while (in_word(text[length]))
        length++;
    return length;
}

static struct longest longest_word(const char *text)
{
    struct longest best = {{0}, {0}};
    while (*text) {
        size_t length = run_of(text);
        if (length)
            offer(&best, text, length);
        text += length ? length : 1;
    }
    return best;
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
    struct longest best = {{0}, {0}};
    while (text && *text) {
        size_t length = run_of(text);
        offer(&best, text, length);
        text += length;
        if (*text == '\\')
            return (struct longest){{0}, {0}};
        if (*text == '[')
            text = behind_class(text);
        else if (*text && !in_word(*text))
            text++;
    }
    return text ? best : (struct longest){{0}, {0}};
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
    struct longest best = {{0}, {0}};
    int depth = 0;
    while (text && text < end) {
        size_t length = run_of(text), anchor = strcspn(text, "$");
        length = length < anchor ? length : anchor;
        const char *behind = text + length;
        bool optional = *behind == '?' || *behind == '*' || *behind == '{';
        if (depth == 0 && length > 0)
            offer(&best, text, length - optional);
        text = behind < end ? regex_step(behind, &depth) : behind;
    }
    return text && depth == 0 ? best : (struct longest){{0}, {0}};
}

/* One word as a whole; else the longest of its plain form, which a mangled name of another build
 * has, too. */
static enum name_need need_of_exact(struct arena *arena, const char *text, const char **word)
{
    struct symbol_names names;
    if (!symbol_describe(&names, arena, text))
        return NEED_NOTHING;
    if (names.demangled == names.mangled && !text[run_of(text)]) {
        *word = names.mangled;
        return NEED_WORD;
    }
    if (names.demangled == names.mangled) {
        names.plain = symbol_normalise(arena, text);
        names.plain = names.plain ? symbol_plain(arena, names.plain) : NULL;
    }
    struct longest best = names.plain ? longest_word(names.plain) : (struct longest){{0}, {0}};
    *word = best.length[0] ? arena_text(arena, best.start[0], best.length[0]) : NULL;
    return *word ? NEED_WORD : NEED_NOTHING;
}

enum name_need name_need(struct arena *arena, const char *text, const char **word)
{
    size_t length = strlen(text);
    struct longest best = {{0}, {0}};
    if (text[0] == '/' && length > 2)
        best = longest_of_regex(text + 1, text + length - 1);
    else if (strpbrk(text, "*?["))
        best = longest_of_glob(text);
    else
        return need_of_exact(arena, text, word);
    *word =
        best.length[0] >= SHORTEST_PART ? arena_text(arena, best.start[0], best.length[0]) : NULL;
    return *word ? NEED_PART : NEED_NOTHING;
}

unsigned name_words(struct arena *arena, const char *text, const char *word[NAME_WORDS])
{
    size_t length = strlen(text);
    unsigned count = 0;
    if (text[0] != '/' || length <= 2)
        return 0;
    struct longest best = longest_of_regex(text + 1, text + length - 1);
    while (count < NAME_WORDS && best.length[count] >= SHORTEST_PART) {
        word[count] = arena_text(arena, best.start[count], best.length[count]);
        if (!word[count])
            break;
        count++;
    }
    return count;
}

/* ---- the filter ---- */

/* Never 0. */
static uint64_t hash_of(const char *word, size_t length)
{
    return XXH3_64bits(word, length) | 1;
}

static uint64_t *place_of(uint64_t *table, size_t room, uint64_t hash)
{
    size_t at = (hash >> 1) & (room - 1);
    while (table[at] && table[at] != hash)
        at = (at + 1) & (room - 1);
    return &table[at];
}

static bool grow_words(struct name_filter *filter)
{
    size_t room = filter->room ? 2 * filter->room : FIRST_WORDS;
    uint64_t *table = calloc(room, sizeof *table);
    if (!table)
        return false;
    for (size_t i = 0; i < filter->room; i++) {
        if (filter->word[i])
            *place_of(table, room, filter->word[i]) = filter->word[i];
    }
    free(filter->word);
    filter->word = table;
    filter->room = room;
    return true;
}

static bool add_word(struct name_filter *filter, const char *word)
{
    size_t length = strlen(word);
    if (2 * filter->words >= filter->room && !grow_words(filter))
        return false;
    uint64_t hash = hash_of(word, length), *place = place_of(filter->word, filter->room, hash);
    filter->words += !*place;
    *place = hash;
    if (!filter->shortest || length < filter->shortest)
        filter->shortest = length;
    if (length > filter->longest)
        filter->longest = length;
    return true;
}

static bool add_part(struct name_filter *filter, const char *part)
{
    for (size_t i = 0; i < filter->parts; i++) {
        if (strcmp(filter->part[i], part) == 0)
            return true;
    }
    if (filter->parts == filter->part_room) {
        size_t room = filter->part_room ? 2 * filter->part_room : 16;
        const char **grown = realloc(filter->part, room * sizeof *grown);
        if (!grown)
            return false;
        filter->part = grown;
        filter->part_room = room;
    }
    filter->part[filter->parts++] = part;
    return true;
}

bool name_filter_add(struct name_filter *filter, const char *pattern)
{
    const char *word = NULL;
    switch (name_need(&filter->arena, pattern, &word)) {
    case NEED_WORD:
        return add_word(filter, word);
    case NEED_PART:
        return add_part(filter, word);
    case NEED_NOTHING:
        break;
    }
    filter->any = true;
    return true;
}

void name_filter_release(struct name_filter *filter)
{
    arena_release(&filter->arena);
    free(filter->word);
    free(filter->part);
    memset(filter, 0, sizeof *filter);
}

static bool has_word(const struct name_filter *filter, const char *word, size_t length)
{
    return filter->room && length >= filter->shortest && length <= filter->longest &&
           *place_of(filter->word, filter->room, hash_of(word, length));
}

/* Whether one of the identifiers of a mangled name is a word: each stands behind its length. Where
 * digits of something else come before that, each of them is tried as its first. */
static bool has_mangled_word(const struct name_filter *filter, const char *symbol, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        if (!isdigit((unsigned char)symbol[at]) || symbol[at] == '0')
            continue;
        size_t end = at, count = 0;
        while (isdigit((unsigned char)symbol[end]) && count <= length)
            count = count * 10 + (size_t)(symbol[end++] - '0');
        if (count <= length - end && has_word(filter, symbol + end, count))
            return true;
    }
    return false;
}

static bool has_plain_word(const struct name_filter *filter, const char *symbol)
{
    while (*symbol) {
        size_t length = run_of(symbol);
        if (length && has_word(filter, symbol, length))
            return true;
        symbol += length ? length : 1;
    }
    return false;
}

bool name_filter_may(const struct name_filter *filter, const char *symbol)
{
    size_t length = strlen(symbol);
    if (filter->any || has_word(filter, symbol, length))
        return true;
    for (size_t i = 0; i < filter->parts; i++) {
        if (strstr(symbol, filter->part[i]))
            return true;
    }
    if (strncmp(symbol, "_Z", 2) == 0)
        return has_mangled_word(filter, symbol, length);
    return has_plain_word(filter, symbol);
}
