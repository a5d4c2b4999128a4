/*
 * candidates.c - for one reference after the other: which parameter stands for which formal;
 * dims.c then finds its dims.
 */
#include "tools/discover/search/candidates.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "lang/dtype.h"
#include "tools/discover/search/search.h"
#include "tools/discover/search/words.h"

/* ---- which parameter for which formal ---- */

static bool is_output(const struct formal *formal)
{
    return formal->kind == FORMAL_OUT || formal->kind == FORMAL_INOUT;
}

/* By a formal of that kind: an input and an output may be one array. */
static bool taken(const struct search *s, unsigned fact, bool output)
{
    for (int i = 0; i < s->formals.count; i++) {
        if (s->entry.bound[i] == (int)fact && is_output(&s->formals.formal[i]) == output)
            return true;
    }
    return false;
}

/* Whether the parameter's name fits another formal of the same kind, and not this one. */
static bool is_another(const struct search *s, const struct formal *formal, const struct fact *fact)
{
    if (words_mean(fact->name, formal->name))
        return false;
    for (int i = 0; i < s->formals.count; i++) {
        const struct formal *other = &s->formals.formal[i];
        bool alike = formal_is_array(formal)
                         ? formal_is_array(other) && is_output(other) == is_output(formal)
                         : other->kind == formal->kind;
        if (alike && words_mean(fact->name, other->name))
            return true;
    }
    return false;
}

/* In the first pass an integer with a name stands for a formal of that name alone. */
static bool may_count(const struct search *s, const struct formal *formal, const struct fact *fact)
{
    return s->second || !*fact->name || words_mean(fact->name, formal->name);
}

static bool goes(const struct search *s, const struct formal *formal, const struct fact *fact,
                 bool in_place)
{
    bool array = fact->kind == FACT_ARRAY && fact->dtype != DTYPE_NONE;
    bool written = fact->writes || fact->adds;
    bool read = fact->reads || fact->adds || !s->entry.facts->reads_known;
    if (is_another(s, formal, fact))
        return false;
    switch (formal->kind) {
    case FORMAL_IN:
        return array && (in_place ? written && read : !written);
    case FORMAL_OUT:
    case FORMAL_INOUT:
        return array && written;
    case FORMAL_REAL:
        return fact->kind == FACT_REAL;
    case FORMAL_INT: /* the words of a formula's program are no parameters */
        return fact->kind == FACT_INTEGER && may_count(s, formal, fact) &&
               strcmp(s->entry.reference->name, "formula") != 0;
    default:
        return false;
    }
}

/* Whether one of the first `count` formals is an output that a parameter stands for. */
static bool has_output(const struct search *s, int count)
{
    for (int i = 0; i < count; i++) {
        if (s->entry.bound[i] >= 0 && is_output(&s->formals.formal[i]))
            return true;
    }
    return false;
}

/* Arrays and real numbers that nothing stands for: then it is another kernel. Where the name fits,
 * an output more is allowed in the second pass; it is not judged. */
static bool leaves_some(const struct search *s)
{
    const struct facts *facts = s->entry.facts;
    for (unsigned f = 0; f < facts->count; f++) {
        const struct fact *fact = &facts->fact[f];
        bool matters = fact->kind == FACT_REAL ||
                       (fact->kind == FACT_ARRAY && (fact->writes || fact->adds || !fact->null));
        bool left = matters && !taken(s, f, false) && !taken(s, f, true);
        if (left && !(s->second && s->hint && entry_leaves(&s->entry, f)))
            return true;
    }
    return !has_output(s, s->formals.count);
}

static void assign_next(struct search *s, int formal);

/* In the second pass also with each place rounded where the kernel may round. */
static void find_dims(struct search *s)
{
    dims_find(s);
    bool half = s->second && entry_half(&s->entry) != DTYPE_NONE;
    for (int i = 0; half && i < s->formals.count && !s->stop; i++) {
        if (s->formals.formal[i].kind != FORMAL_POINT)
            continue;
        s->entry.rounded[i] = true;
        dims_find(s);
        s->entry.rounded[i] = false;
    }
}

static void assign_facts(struct search *s, int number, bool in_place)
{
    const struct facts *facts = s->entry.facts;
    const struct formal *formal = &s->formals.formal[number];
    for (unsigned i = 0; i < 2 * facts->count && !s->stop;
         i++) { /* those of the formal's name first */
        unsigned f = i % facts->count;
        if (words_mean(facts->fact[f].name, formal->name) != (i < facts->count))
            continue;
        if (!goes(s, formal, &facts->fact[f], in_place) || taken(s, f, is_output(formal)))
            continue;
        s->entry.bound[number] = (int16_t)f;
        assign_next(s, number + 1);
    }
    s->entry.bound[number] = ENTRY_UNBOUND;
}

/* A number that the kernel has no parameter for stands in its code; of eps it is one of these. */
static void assign_constants(struct search *s, int number)
{
    static const char *const eps[] = {"1e-5", "1e-6", "1e-12"};
    const struct formal *formal = &s->formals.formal[number];
    bool wanted =
        formal->kind == FORMAL_REAL && !formal->optional && strcmp(formal->name, "eps") == 0;
    for (size_t i = 0; wanted && i < sizeof eps / sizeof eps[0] && !s->stop; i++) {
        s->entry.bound[number] = ENTRY_CONSTANT;
        s->entry.constant[number] = eps[i];
        assign_next(s, number + 1);
    }
    s->entry.bound[number] = ENTRY_UNBOUND;
}

/* Outputs stand behind inputs among the formals, so an input may be bound to a parameter that an
 * output gets later: then the kernel works in place. What is optional is left out first: integers,
 * and in the second pass all but the first output. */
static void assign_next(struct search *s, int number)
{
    enum { CALLS_PER_TIME = 1024, MOST_CALLS = 200000 /* of one reference */ };
    if (++s->calls % CALLS_PER_TIME == 0 && clock_ns() > s->until)
        s->stop = true;
    if (search_is_over(s) || s->calls > MOST_CALLS)
        return;
    if (number == s->formals.count) {
        if (!leaves_some(s))
            find_dims(s);
        return;
    }
    const struct formal *formal = &s->formals.formal[number];
    s->entry.bound[number] = ENTRY_UNBOUND;
    if (formal->kind == FORMAL_POINT) {
        assign_next(s, number + 1);
        return;
    }
    bool less_first = formal->kind == FORMAL_INT || (s->second && formal->kind != FORMAL_IN &&
                                                     (!is_output(formal) || has_output(s, number)));
    if (formal->optional && less_first)
        assign_next(s, number + 1);
    assign_facts(s, number, false);
    if (formal->kind == FORMAL_IN && !formal->optional)
        assign_facts(s, number, true);
    if (formal->optional && !less_first)
        assign_next(s, number + 1);
    assign_constants(s, number);
}

/* ---- references ---- */

/* Letters and digits in lower case. */
static void plain_letters(const char *text, char *out, size_t size)
{
    size_t length = 0;
    for (; *text && length + 1 < size; text++) {
        if (isalnum((unsigned char)*text))
            out[length++] = (char)tolower((unsigned char)*text);
    }
    out[length] = '\0';
}

/* The longest run of letters that both have. */
static unsigned common(const char *a, const char *b)
{
    unsigned longest = 0;
    for (; *a; a++) {
        for (const char *at = b; *at; at++) {
            unsigned length = 0;
            while (a[length] && a[length] == at[length])
                length++;
            longest = length > longest ? length : longest;
        }
    }
    return longest;
}

/* Words of many references, which distinguish none. */
static bool is_common_word(const char *word)
{
    return !strcmp(word, "row") || !strcmp(word, "rows");
}

/* How well the kernel's name fits the reference: the words that are in it, less those that are not,
 * and else a part of its name. */
static unsigned hint_by(const char *kernel, const char *reference)
{
    enum { LEAST_PART = 4, MISSING = 3 };
    char name[512], whole[64] = "", words[64], *word, *rest;
    unsigned hint = 0, missing = 0;
    plain_letters(kernel, name, sizeof name);
    snprintf(words, sizeof words, "%s", reference);
    for (word = strtok_r(words, "_", &rest); word; word = strtok_r(NULL, "_", &rest)) {
        bool there = strlen(word) > 2 && strstr(name, word);
        if (is_common_word(word))
            continue;
        hint += there ? 2 * (unsigned)strlen(word) : 0;
        missing += !there;
        snprintf(whole + strlen(whole), sizeof whole - strlen(whole), "%s", word);
    }
    if (hint)
        return hint > MISSING * missing ? hint - MISSING * missing : 0;
    unsigned part = common(whole, name);
    return part < LEAST_PART ? 0 : part > missing ? part - missing + 1 : 1;
}

/* A transposed copy is a permuted one. */
static unsigned hint_of(const char *kernel, const char *reference)
{
    unsigned hint = hint_by(kernel, reference);
    unsigned other = entry_copies(reference) ? hint_by(kernel, "transpose") : 0;
    return other > hint ? other : hint;
}

bool candidates_lenient(const struct ref_builtin *reference)
{
    return !strcmp(reference->name, "row_mode");
}

struct ranked {
    const struct ref_builtin *reference;
    unsigned hint;
    bool copies; /* a permuted copy: the recorded memory rules out almost all entries, so it is
                    first */
    int sizes, formals; /* the simpler come first */
};

static int best_first(const void *a, const void *b)
{
    const struct ranked *one = a, *other = b;
    if (one->hint != other->hint)
        return one->hint < other->hint ? 1 : -1;
    bool lenient = candidates_lenient(one->reference);
    if (lenient != candidates_lenient(other->reference))
        return lenient ? 1 : -1;
    if (one->copies != other->copies)
        return one->copies ? -1 : 1;
    if (one->sizes != other->sizes)
        return one->sizes - other->sizes;
    if (one->formals != other->formals)
        return one->formals - other->formals;
    return (one->reference > other->reference) - (one->reference < other->reference);
}

/* Which dims have the name of an integer parameter. */
static void find_named(struct search *s)
{
    const struct facts *facts = s->entry.facts;
    for (int i = 0; i < s->formals.sizes; i++) {
        s->named[i] = -1;
        for (unsigned e = s->extents->count; e-- > 0;) {
            const struct extent *extent = &s->extents->extent[e];
            bool parameter = !extent->operation && extent->part[0].atom == ATOM_FACT;
            if (parameter &&
                words_mean(facts->fact[extent->part[0].number].name, s->formals.size_name[i]))
                s->named[i] = (int16_t)e;
        }
    }
}

/* Whether rows that another array names are those of inputs, without pages. */
static bool may_touch(const struct formals *formals)
{
    for (int i = 0; i < formals->count; i++) {
        const struct formal *formal = &formals->formal[i];
        bool touched = formal_is_array(formal) && formal->ndim &&
                       entry_touch(formals, formal->dim[0].size) != NULL;
        if (touched && formal->kind != FORMAL_IN)
            return false;
    }
    for (int i = 0; i < formals->touches; i++) {
        if (formals->touch[i].size[1] >= 0)
            return false;
    }
    return true;
}

/* Random numbers are made from a seed, and any number of a kernel might be one. */
static bool draws(const struct formals *formals)
{
    return formals_find(formals, "seed_low") != NULL;
}

static void search_reference(struct search *s, const struct ranked *ranked)
{
    struct error err = {{0}};
    if (formals_parse(&s->formals, ranked->reference->formals, &err) || !may_touch(&s->formals) ||
        draws(&s->formals))
        return;
    s->entry.reference = ranked->reference;
    s->entry.formals = &s->formals;
    s->hint = ranked->hint;
    s->visited = s->all_steps = s->plain = s->calls = 0;
    for (int i = 0; i < FORMALS_MAX; i++)
        s->entry.bound[i] = s->entry.pitch[i] = ENTRY_UNBOUND;
    for (int k = 0; k < ENTRY_ORDER; k++)
        s->entry.order[k] = (uint8_t)k;
    find_named(s);
    assign_next(s, 0);
}

/* All references, the likeliest first, for free(); NULL: no memory. */
static struct ranked *rank(const struct facts *facts)
{
    struct ranked *ranked = calloc(ref_builtin_count, sizeof *ranked);
    struct formals formals;
    for (size_t i = 0; ranked && i < ref_builtin_count; i++) {
        struct error err = {{0}};
        bool parsed = !formals_parse(&formals, ref_builtins[i].formals, &err);
        ranked[i] = (struct ranked){&ref_builtins[i],
                                    hint_of(facts->kernel->names.plain, ref_builtins[i].name),
                                    entry_copies(ref_builtins[i].name), parsed ? formals.sizes : 0,
                                    parsed ? formals.count : 0};
    }
    if (ranked)
        qsort(ranked, ref_builtin_count, sizeof *ranked, best_first);
    return ranked;
}

void candidates_each(const struct facts *facts, bool second, int64_t until, candidates_fn visit,
                     void *user)
{
    struct ranked *ranked = rank(facts);
    struct extents extents;
    struct search *s = calloc(1, sizeof *s);
    extents_find(&extents, facts);
    if (s) {
        s->entry.facts = facts;
        s->extents = &extents;
        s->visit = visit;
        s->user = user;
        s->second = second;
        s->until = until;
    }
    for (size_t i = 0; s && ranked && i < ref_builtin_count && !s->stop; i++)
        search_reference(s, &ranked[i]);
    free(s);
    free(ranked);
}
