/*
 * name_filter.c - see name_filter.h.
 *
 * Whole words are found by the hash of each identifier of the symbol, parts by the four letters
 * that stand at each place of it.
 */
#include "names/name_filter.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST = 64, BEGIN = 4, WHOLE = 1 /* in a word's hash */ };

/* ---- words ---- */

static uint64_t word_hash(const char *word, size_t length, bool whole)
{
    uint64_t hash = XXH3_64bits(word, length);
    return whole ? hash | WHOLE : hash & ~(uint64_t)WHOLE;
}

static size_t begin_place(const struct name_filter *filter, const char *text)
{
    uint32_t letters;
    memcpy(&letters, text, BEGIN);
    return (uint64_t)letters * 0x9e3779b97f4a7c15u >> 32 & (filter->places - 1);
}

/* Where a word is, or the free place for it. */
static uint16_t *filter_place(const struct name_filter *filter, uint64_t hash)
{
    size_t at = (hash >> 1) & (filter->places - 1);
    while (filter->place[at] && filter->word[filter->place[at]].hash != hash)
        at = (at + 1) & (filter->places - 1);
    return &filter->place[at];
}

static void enter_pattern(struct name_filter *filter, uint16_t number)
{
    struct filter_word *word = &filter->word[number];
    *filter_place(filter, word->hash) = number;
    if (word->hash & WHOLE)
        return;
    uint16_t *begin = &filter->begin[begin_place(filter, word->text)];
    word->next = *begin;
    *begin = number;
}

/* Few words have a place in common, so that most letters of a symbol lead to none. */
static bool grow_places(struct name_filter *filter)
{
    size_t places = filter->places ? 2 * filter->places : 4 * FIRST;
    uint16_t *both = calloc(2 * places, sizeof *both);
    if (!both)
        return false;
    free(filter->place);
    filter->place = both;
    filter->begin = both + places;
    filter->places = places;
    for (size_t i = 1; i < filter->words; i++)
        enter_pattern(filter, (uint16_t)i);
    return true;
}

static void *grown(void *list, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return list;
    size_t more = *room ? 2 * *room : FIRST;
    void *larger = realloc(list, more * size);
    if (larger)
        *room = more;
    return larger;
}

/* Number 0 is no word. */
static bool grow_filter(struct name_filter *filter)
{
    void *words = grown(filter->word, filter->words, &filter->word_room, sizeof *filter->word);
    if (!words)
        return false;
    filter->word = words;
    if (!filter->words)
        filter->word[filter->words++] = (struct filter_word){0};
    return 4 * filter->words < filter->places || grow_places(filter);
}

bool name_filter_word(struct name_filter *filter, const char *text, bool whole, uint16_t *number)
{
    size_t length = strlen(text);
    *number = 0;
    if (!whole && length < BEGIN)
        return true;
    if (!grow_filter(filter))
        return false;
    uint64_t hash = word_hash(text, length, whole);
    *number = *filter_place(filter, hash);
    if (*number) { /* another word of that hash is not searched for */
        *number = strcmp(filter->word[*number].text, text) == 0 ? *number : 0;
        return true;
    }
    if (filter->words == NAME_FILTER_WORDS)
        return true;
    *number = (uint16_t)filter->words;
    filter->word[filter->words++] =
        (struct filter_word){.text = text, .hash = hash, .length = (uint32_t)length};
    enter_pattern(filter, *number);
    if (whole && (!filter->shortest || length < filter->shortest))
        filter->shortest = length;
    if (whole && length > filter->longest)
        filter->longest = length;
    return true;
}

/* ---- patterns ---- */

/* Under the word that has the fewest. */
static void list_pattern(struct name_filter *filter, uint32_t number)
{
    struct filter_pattern *pattern = &filter->pattern[number];
    struct filter_word *rarest = &filter->word[pattern->word[0]];
    for (size_t i = 1; i < NAME_WORDS && pattern->word[i]; i++) {
        struct filter_word *word = &filter->word[pattern->word[i]];
        if (word->patterns < rarest->patterns)
            rarest = word;
    }
    pattern->next = rarest->first;
    rarest->first = number + 1;
    rarest->patterns++;
}

bool name_filter_pattern(struct name_filter *filter, const uint16_t *number, size_t numbers,
                         uint32_t owner)
{
    void *patterns =
        grown(filter->pattern, filter->patterns, &filter->pattern_room, sizeof *filter->pattern);
    if (!patterns)
        return false;
    filter->pattern = patterns;
    if (!grow_filter(filter))
        return false;
    struct filter_pattern pattern = {.owner = owner};
    size_t words = 0;
    for (size_t i = 0; i < numbers && words < NAME_WORDS; i++) {
        if (number[i])
            pattern.word[words++] = number[i];
    }
    filter->pattern[filter->patterns] = pattern;
    list_pattern(filter, (uint32_t)filter->patterns++);
    return true;
}

bool name_filter_add(struct name_filter *filter, const char *pattern, uint32_t owner)
{
    struct name_need need;
    uint16_t number[NAME_WORDS];
    name_need_find(&need, &filter->arena, pattern);
    for (unsigned i = 0; i < need.words; i++) {
        if (!name_filter_word(filter, need.word[i].text, need.word[i].whole, &number[i]))
            return false;
    }
    return name_filter_pattern(filter, number, need.words, owner);
}

void name_filter_release(struct name_filter *filter)
{
    arena_release(&filter->arena);
    free(filter->word);
    free(filter->pattern);
    free(filter->place);
    memset(filter, 0, sizeof *filter);
}

/* ---- symbols ---- */

static bool has(const struct name_found *found, uint16_t number)
{
    return found->bit[number / 64] >> number % 64 & 1;
}

static void mark(struct name_found *found, uint16_t number)
{
    found->bit[number / 64] |= (uint64_t)1 << number % 64;
}

static void look_word(const struct name_filter *filter, const char *word, size_t length,
                      struct name_found *found)
{
    if (filter->shortest && length >= filter->shortest && length <= filter->longest)
        mark(found, *filter_place(filter, word_hash(word, length, true)));
}

/* Each identifier of a mangled name stands behind its length. Where digits of something else come
 * before that, each of them is tried as its first. */
static void look_mangled(const struct name_filter *filter, const char *symbol, size_t length,
                         struct name_found *found)
{
    for (size_t at = 0; at < length; at++) {
        if (!isdigit((unsigned char)symbol[at]) || symbol[at] == '0')
            continue;
        size_t end = at, count = 0;
        while (isdigit((unsigned char)symbol[end]) && count <= length)
            count = count * 10 + (size_t)(symbol[end++] - '0');
        if (count <= length - end)
            look_word(filter, symbol + end, count, found);
    }
}

static void look_plain(const struct name_filter *filter, const char *symbol,
                       struct name_found *found)
{
    while (*symbol) {
        size_t length = name_run(symbol);
        if (length)
            look_word(filter, symbol, length, found);
        symbol += length ? length : 1;
    }
}

static void look_parts(const struct name_filter *filter, const char *symbol, size_t length,
                       struct name_found *found)
{
    for (size_t at = 0; at + BEGIN <= length; at++) {
        uint16_t number = filter->begin[begin_place(filter, symbol + at)];
        for (; number; number = filter->word[number].next) {
            const struct filter_word *word = &filter->word[number];
            if (word->length <= length - at && memcmp(word->text, symbol + at, word->length) == 0)
                mark(found, number);
        }
    }
}

void name_filter_look(const struct name_filter *filter, const char *symbol,
                      struct name_found *found)
{
    size_t length = strlen(symbol);
    memset(found, 0, (filter->words + 63) / 64 * sizeof found->bit[0]);
    if (!filter->words)
        return;
    mark(found, 0);
    look_word(filter, symbol, length, found);
    look_parts(filter, symbol, length, found);
    if (strncmp(symbol, "_Z", 2) == 0)
        look_mangled(filter, symbol, length, found);
    else
        look_plain(filter, symbol, found);
}

static bool holds_all(const struct name_found *found, const struct filter_pattern *pattern)
{
    for (size_t i = 0; i < NAME_WORDS; i++) {
        if (!has(found, pattern->word[i]))
            return false;
    }
    return true;
}

bool name_filter_before(const struct name_filter *filter, const struct name_found *found,
                        size_t *at, uint32_t *owner)
{
    while (*at > 0) {
        const struct filter_pattern *pattern = &filter->pattern[--*at];
        *owner = pattern->owner;
        if (holds_all(found, pattern))
            return true;
    }
    return false;
}

/* Whether a pattern that is listed under the word may name the symbol. */
static bool may_of(const struct name_filter *filter, const struct name_found *found, size_t word)
{
    uint32_t number = filter->word[word].first;
    while (number && !holds_all(found, &filter->pattern[number - 1]))
        number = filter->pattern[number - 1].next;
    return number;
}

bool name_filter_may(const struct name_filter *filter, const char *symbol)
{
    struct name_found found;
    name_filter_look(filter, symbol, &found);
    for (size_t i = 0; i < (filter->words + 63) / 64; i++) {
        for (uint64_t bits = found.bit[i]; bits; bits &= bits - 1) {
            if (may_of(filter, &found, 64 * i + (size_t)__builtin_ctzll(bits)))
                return true;
        }
    }
    return false;
}
