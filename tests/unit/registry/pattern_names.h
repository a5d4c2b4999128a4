/* pattern_names.h - names that a pattern names, drawn from its text, and whether the filter of a
 * registry loses one; for unit tests. */
#ifndef TESTS_UNIT_REGISTRY_PATTERN_NAMES_H
#define TESTS_UNIT_REGISTRY_PATTERN_NAMES_H

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "registry/registry_parts.h"
#include "text/textbuf.h"

/* What the named groups stand for. */
struct drawn_groups {
    unsigned count;
    struct {
        char name[32], text[200];
    } group[32];
};

struct drawing {
    const char *at;
    struct drawn_groups *groups; /* NULL: of a glob */
    unsigned long seed;
};

static inline unsigned draw(struct drawing *d, unsigned below)
{
    d->seed = d->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(d->seed >> 33) % below;
}

static inline void draw_choice(struct drawing *d, struct textbuf *out);

/* '\\' and what follows. */
static inline void draw_escape(struct drawing *d, struct textbuf *out)
{
    char c = *++d->at;
    d->at += c != '\0';
    if (c == 'd')
        textbuf_printf(out, "%u", draw(d, 10));
    else if (c == 'w')
        textbuf_printf(out, "%c", "ab_7"[draw(d, 4)]);
    else if (c == 's')
        textbuf_printf(out, " ");
    else if (c != 'b' && c != 'B')
        textbuf_printf(out, "%c", c);
}

/* "[...]": its first character, or one that none of a negated class is. */
static inline void draw_class(struct drawing *d, struct textbuf *out)
{
    bool negated = d->at[1] == '^' || d->at[1] == '!';
    const char *first = d->at + (negated ? 2 : 1);
    d->at = first;
    while (*d->at && *d->at != ']')
        d->at += *d->at == '\\' && d->at[1] ? 2 : 1;
    d->at += *d->at == ']';
    if (negated)
        textbuf_printf(out, "x");
    else if (*first == '\\')
        draw_escape(&(struct drawing){first, d->groups, d->seed}, out);
    else
        textbuf_printf(out, "%c", *first);
}

/* The number of a group; a new one where there is none of the name. */
static inline unsigned drawn_group(struct drawn_groups *groups, const char *name, size_t length)
{
    unsigned i = 0;
    while (i < groups->count && (strlen(groups->group[i].name) != length ||
                                 strncmp(groups->group[i].name, name, length) != 0))
        i++;
    if (i == groups->count) {
        assert_true(i < 32 && length < sizeof groups->group[i].name);
        memcpy(groups->group[i].name, name, length);
        groups->count++;
    }
    return i;
}

/* Behind "(?P=": what the group of that name was. */
static inline void draw_again(struct drawing *d, struct textbuf *out)
{
    size_t length = strcspn(d->at, ")");
    unsigned number = drawn_group(d->groups, d->at, length);
    textbuf_printf(out, "%s", d->groups->group[number].text);
    d->at += length + 1;
}

/* "(...)": an assertion gives nothing. */
static inline void draw_group(struct drawing *d, struct textbuf *out)
{
    bool nothing = false;
    const char *name = NULL;
    size_t length = 0;
    if (!strncmp(d->at, "(?P=", 4)) {
        d->at += 4;
        draw_again(d, out);
        return;
    }
    if (*++d->at == '?') {
        nothing = d->at[1] == '=' || d->at[1] == '!';
        name = strcspn(d->at, "<") < strcspn(d->at, ":>=!") ? strchr(d->at, '<') + 1 : NULL;
        length = name ? strcspn(name, ">") : 0;
        d->at += strcspn(d->at, ":>=!");
        d->at += *d->at != '\0';
    }
    struct textbuf text;
    textbuf_init(&text);
    draw_choice(d, &text);
    if (name) {
        unsigned number = drawn_group(d->groups, name, length);
        snprintf(d->groups->group[number].text, sizeof d->groups->group[number].text, "%s",
                 text.length ? text.data : "");
    }
    if (!nothing && text.length)
        textbuf_add(out, text.data, text.length);
    textbuf_release(&text);
    d->at += *d->at == ')';
}

static inline void draw_atom(struct drawing *d, struct textbuf *out)
{
    if (*d->at == '\\')
        draw_escape(d, out);
    else if (*d->at == '[')
        draw_class(d, out);
    else if (d->groups && *d->at == '(')
        draw_group(d, out);
    else if (d->groups && (*d->at == '^' || *d->at == '$'))
        d->at++;
    else if (*d->at == (d->groups ? '.' : '?'))
        textbuf_printf(out, "%c", "a<7"[draw(d, 3)]), d->at++;
    else
        textbuf_printf(out, "%c", *d->at++);
}

/* How often the atom that ends at `at` is to stand there. */
static inline unsigned draw_count(struct drawing *d)
{
    unsigned count = 1;
    if (*d->at == '?')
        count = draw(d, 2);
    else if (*d->at == '*')
        count = draw(d, 3);
    else if (*d->at == '+')
        count = 1 + draw(d, 3);
    else if (*d->at == '{')
        count = (unsigned)strtoul(d->at + 1, NULL, 10);
    else
        return 1;
    d->at = *d->at == '{' ? strchr(d->at, '}') + 1 : d->at + 1;
    d->at += *d->at == '?' || *d->at == '+'; /* lazy, possessive */
    return count;
}

static inline void draw_sequence(struct drawing *d, struct textbuf *out)
{
    while (*d->at && *d->at != '|' && *d->at != ')') {
        struct drawing atom = *d, again;
        struct textbuf skipped;
        textbuf_init(&skipped);
        draw_atom(d, &skipped);
        textbuf_release(&skipped);
        unsigned count = draw_count(d);
        for (unsigned i = 0; i < count; i++) {
            again = atom;
            again.seed = d->seed + 977 * i;
            draw_atom(&again, out);
        }
        draw(d, 2);
    }
}

/* One of "a|b|c". */
static inline void draw_choice(struct drawing *d, struct textbuf *out)
{
    struct drawing counting = *d;
    unsigned choices = 1;
    for (;; choices++, counting.at++) {
        struct textbuf skipped;
        textbuf_init(&skipped);
        draw_sequence(&counting, &skipped);
        textbuf_release(&skipped);
        if (*counting.at != '|')
            break;
    }
    unsigned chosen = draw(d, choices);
    for (unsigned i = 0;; i++, d->at++) {
        struct textbuf other;
        textbuf_init(&other);
        draw_sequence(d, i == chosen ? out : &other);
        textbuf_release(&other);
        if (*d->at != '|')
            break;
    }
}

/* A name that `pattern` may name; the caller's to free. */
static inline char *name_of_pattern(const char *pattern, unsigned long seed)
{
    struct textbuf out;
    size_t length = strlen(pattern);
    textbuf_init(&out);
    if (pattern[0] == '/') {
        char *text = strndup(pattern + 1, length - 2);
        struct drawn_groups groups = {0};
        draw_choice(&(struct drawing){text, &groups, seed * 7919 + 1}, &out);
        free(text);
    } else if (strpbrk(pattern, "*?[")) {
        struct drawing d = {pattern, NULL, seed * 7919 + 1};
        while (*d.at) {
            if (*d.at == '*')
                textbuf_printf(&out, "%s", draw(&d, 2) ? "any" : ""), d.at++;
            else
                draw_atom(&d, &out);
        }
    } else {
        textbuf_add(&out, pattern, length);
    }
    char *name = strdup(out.length ? out.data : "");
    textbuf_release(&out);
    return name;
}

/* As a compiler would spell the identifiers and numbers of a demangled name. */
static inline char *mangled_like(const char *name)
{
    struct textbuf out;
    textbuf_init(&out);
    textbuf_printf(&out, "_ZN");
    while (*name) {
        size_t length = name_run(name);
        if (length && isdigit((unsigned char)*name))
            textbuf_printf(&out, "Li%.*sE", (int)length, name);
        else if (length)
            textbuf_printf(&out, "%zu%.*s", length, (int)length, name);
        name += length ? length : 1;
    }
    char *mangled = strdup(out.data);
    textbuf_release(&out);
    return mangled;
}

/* Whether the filter lets the entry's pattern be tried on the symbol. */
static inline bool is_tried(const struct registry *registry, const char *symbol, size_t entry)
{
    const struct name_filter *filter = &registry->content.filter;
    struct name_found found;
    size_t at = filter->patterns;
    uint32_t owner;
    name_filter_look(filter, symbol, &found);
    while (name_filter_before(filter, &found, &at, &owner)) {
        if (owner >> REGISTRY_ROLE_BITS == entry)
            return name_filter_may(filter, symbol);
    }
    return false;
}

/* Tries the pattern of every entry on the names; fails where it names them and the filter leaves
 * it out. Returns how many name them. */
static inline unsigned none_is_lost(struct registry *registry, const struct symbol_names *names)
{
    struct arena arena = {0};
    unsigned named = 0;
    for (size_t i = 0; i < registry_entries(registry); i++) {
        struct captures captures;
        const struct pattern *pattern = registry_content_pattern(&registry->content, i);
        assert_non_null(pattern);
        if (pattern_match(pattern, names, &arena, &captures) != PATTERN_YES)
            continue;
        named++;
        if (!is_tried(registry, names->mangled, i))
            fail_msg("%s names %s, and is not tried", pattern_text(pattern), names->mangled);
    }
    arena_release(&arena);
    return named;
}

static inline unsigned none_is_lost_of(struct registry *registry, const char *symbol)
{
    struct arena arena = {0};
    struct symbol_names names;
    assert_true(symbol_describe(&names, &arena, symbol));
    unsigned named = none_is_lost(registry, &names);
    arena_release(&arena);
    return named;
}

#endif
