/*
 * options.c - options.def three times over: as texts for people, as parse rules, as complaints.
 */
#include "base/options.h"

#include <stdio.h>
#include <string.h>
#include "base/nearest.h"
#include "base/number.h"

enum kind {
    KIND_STRING,
    KIND_BOOL,
    KIND_REAL,
    KIND_SHARE,
    KIND_SIZE,
    KIND_LIMIT,
    KIND_COUNT,
    KIND_CHOICE
};

struct rule {
    enum kind kind;
    size_t offset; /* of the field in struct options */
    double low, high;
    const char *choices;
};

#define STRING                                        "text"
#define BOOL                                          "0 or 1"
#define REAL(a, b)                                    "number " #a ".." #b
#define SHARE                                         "share (5%) or off"
#define SIZE                                          "bytes (K, M, G)"
#define LIMIT                                         "bytes (K, M, G) or off"
#define COUNT                                         "number 0.."
#define CHOICE(names)                                 names
#define OPTION(name, field, type, fallback, sentence) {#name, type, fallback, sentence},
const struct option_row option_rows[] = {
#include "base/options.def"
};
#undef STRING
#undef BOOL
#undef REAL
#undef SHARE
#undef SIZE
#undef LIMIT
#undef COUNT
#undef CHOICE
#undef OPTION

const size_t option_row_count = sizeof option_rows / sizeof option_rows[0];

#define STRING        .kind = KIND_STRING
#define BOOL          .kind = KIND_BOOL
#define REAL(a, b)    .kind = KIND_REAL, .low = (a), .high = (b)
#define SHARE         .kind = KIND_SHARE
#define SIZE          .kind = KIND_SIZE
#define LIMIT         .kind = KIND_LIMIT
#define COUNT         .kind = KIND_COUNT
#define CHOICE(names) .kind = KIND_CHOICE, .choices = names
#define OPTION(name, field, type, fallback, sentence)                                              \
    {.offset = offsetof(struct options, field), type},
static const struct rule rules[] = {
#include "base/options.def"
};

static const char prefix[] = "CUVET_";

static bool is_choice(const char *choices, const char *text)
{
    size_t length = strlen(text);
    while (*choices) {
        size_t word = strcspn(choices, "|");
        if (word == length && memcmp(choices, text, word) == 0)
            return true;
        choices += word + (choices[word] == '|');
    }
    return false;
}

/* Writes the field when `text` is a good value. */
static bool parse(const struct rule *rule, const char *text, struct options *options)
{
    void *field = (char *)options + rule->offset;
    double real;
    switch (rule->kind) {
    case KIND_CHOICE:
        if (!is_choice(rule->choices, text))
            return false;
        *(const char **)field = text;
        return true;
    case KIND_STRING:
        *(const char **)field = text;
        return true;
    case KIND_BOOL:
        if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
            return false;
        *(bool *)field = text[0] == '1';
        return true;
    case KIND_REAL:
        if (!number_real(text, &real) || real < rule->low || real > rule->high)
            return false;
        *(double *)field = real;
        return true;
    case KIND_SHARE:
        return number_share(text, field);
    case KIND_SIZE:
        return number_size(text, field);
    case KIND_LIMIT:
        return number_limit(text, field);
    case KIND_COUNT:
        return number_unsigned(text, field);
    }
    return false;
}

static void read_one(struct options *options, const char *name, size_t name_length,
                     const char *value, options_complain_fn complain, void *user)
{
    char sentence[512], question[96], word[64];
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (strlen(row->name) != name_length || memcmp(row->name, name, name_length) != 0)
            continue;
        if (!parse(&rules[i], value, options) && complain) {
            snprintf(sentence, sizeof sentence, "%s is '%.80s'; expected %s; it stays '%s'",
                     row->name, value, row->type, row->fallback);
            complain(user, sentence);
        }
        return;
    }
    if (!complain)
        return;
    snprintf(word, sizeof word, "%.*s", (int)name_length, name);
    struct nearest nearest = {.word = word};
    for (size_t i = 0; i < option_row_count; i++)
        nearest_offer(&nearest, option_rows[i].name);
    snprintf(sentence, sizeof sentence, "unknown variable %s is ignored%s", word,
             nearest_text(&nearest, question, sizeof question));
    complain(user, sentence);
}

void options_read(struct options *options, char *const *env, options_complain_fn complain,
                  void *user)
{
    memset(options, 0, sizeof *options);
    for (size_t i = 0; i < option_row_count; i++)
        parse(&rules[i], option_rows[i].fallback, options);
    for (; env && *env; env++) {
        const char *equals = strchr(*env, '=');
        if (strncmp(*env, prefix, sizeof prefix - 1) == 0 && equals)
            read_one(options, *env, (size_t)(equals - *env), equals + 1, complain, user);
    }
}
