/*
 * options.c - options.def three times over: as texts for people, as parse rules, as complaints.
 */
#include "base/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "text/nearest.h"
#include "text/number.h"
#include "text/textbuf.h"

enum kind {
    KIND_STRING,
    KIND_PATH,
    KIND_PATHS,
    KIND_LIBRARY,
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
    size_t offset;          /* of the field in struct options */
    const char *low, *high; /* as the table has them; NULL: no range */
    const char *choices;
};

#define STRING                                        "text"
#define PATH                                          "path"
#define PATHS                                         "paths"
#define LIBRARY                                       "path"
#define BOOL                                          "0 or 1"
#define REAL(a, b)                                    "number " #a ".." #b
#define SHARE                                         "share (5%) or off"
#define SIZE(a, b)                                    "bytes " #a ".." #b
#define LIMIT(a, b)                                   "bytes " #a ".." #b " or off"
#define COUNT(a, b)                                   "number " #a ".." #b
#define CHOICE(names)                                 names
#define OPTION(name, field, type, fallback, sentence) {#name, type, fallback, sentence},
const struct option_row option_rows[] = {
#include "base/options.def"
};
#undef STRING
#undef PATH
#undef PATHS
#undef LIBRARY
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
#define PATH          .kind = KIND_PATH
#define PATHS         .kind = KIND_PATHS
#define LIBRARY       .kind = KIND_LIBRARY
#define BOOL          .kind = KIND_BOOL
#define REAL(a, b)    .kind = KIND_REAL, .low = #a, .high = #b
#define SHARE         .kind = KIND_SHARE
#define SIZE(a, b)    .kind = KIND_SIZE, .low = #a, .high = #b
#define LIMIT(a, b)   .kind = KIND_LIMIT, .low = #a, .high = #b
#define COUNT(a, b)   .kind = KIND_COUNT, .low = #a, .high = #b
#define CHOICE(names) .kind = KIND_CHOICE, .choices = names
#define OPTION(name, field, type, fallback, sentence)                                              \
    {.offset = offsetof(struct options, field), type},
static const struct rule option_rules[] = {
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

/* Reads a whole number of the row's kind. */
static bool read_whole(const struct rule *rule, const char *text, uint64_t *out)
{
    if (rule->kind == KIND_COUNT)
        return number_unsigned(text, out);
    return rule->kind == KIND_LIMIT ? number_limit(text, out) : number_size(text, out);
}

/* Writes a whole number that is in the row's range; 0 for `off`. */
static bool parse_whole(const struct rule *rule, const char *text, uint64_t *field)
{
    uint64_t value, low, high;
    if (!read_whole(rule, text, &value) || !read_whole(rule, rule->low, &low) ||
        !read_whole(rule, rule->high, &high))
        return false;
    bool off = rule->kind == KIND_LIMIT && value == 0;
    if (!off && (value < low || value > high))
        return false;
    *field = value;
    return true;
}

static bool parse_real_option(const struct rule *rule, const char *text, double *field)
{
    double value, low, high;
    if (!number_real(text, &value) || !number_real(rule->low, &low) ||
        !number_real(rule->high, &high) || value < low || value > high)
        return false;
    *field = value;
    return true;
}

/* Writes the field when `text` is a good value. */
static bool parse(const struct rule *rule, const char *text, struct options *options)
{
    void *field = (char *)options + rule->offset;
    switch (rule->kind) {
    case KIND_CHOICE:
        if (!is_choice(rule->choices, text))
            return false;
        *(const char **)field = text;
        return true;
    case KIND_STRING:
    case KIND_PATH:
    case KIND_PATHS:
    case KIND_LIBRARY:
        *(const char **)field = text;
        return true;
    case KIND_BOOL:
        if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
            return false;
        *(bool *)field = text[0] == '1';
        return true;
    case KIND_REAL:
        return parse_real_option(rule, text, field);
    case KIND_SHARE:
        return number_share(text, field);
    case KIND_SIZE:
    case KIND_LIMIT:
    case KIND_COUNT:
        return parse_whole(rule, text, field);
    }
    return false;
}

/* What a profile has in place of a default. */
static const struct {
    const char *profile, *name, *value;
} profiles[] = {{"sdc", "CUVET_SAMPLE", "1"},    {"sdc", "CUVET_BUDGET", "1%"},
                {"sdc", "CUVET_FREIVALDS", "1"}, {"sdc", "CUVET_SUBSET", "64K"},
                {"sdc", "CUVET_FIRST", "1"},     {"sdc", "CUVET_OUTLIER", "off"}};

static const char *default_of(const struct option_row *row, const char *profile)
{
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        if (profile && !strcmp(profiles[i].profile, profile) &&
            !strcmp(profiles[i].name, row->name))
            return profiles[i].value;
    }
    return row->fallback;
}

static void read_one(struct options *options, const char *name, size_t name_length,
                     const char *value, options_complain_fn complain, void *user)
{
    char sentence[512], question[96], word[64];
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (strlen(row->name) != name_length || memcmp(row->name, name, name_length) != 0)
            continue;
        if (!parse(&option_rules[i], value, options) && complain) {
            snprintf(sentence, sizeof sentence, "%s is '%.80s'; expected %s; it stays '%s'",
                     row->name, value, row->type, default_of(row, options->profile));
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
    static const char profile[] = "CUVET_PROFILE=";
    const char *wanted = NULL;
    for (size_t i = 0; env && env[i]; i++) {
        if (strncmp(env[i], profile, sizeof profile - 1) == 0)
            wanted = env[i] + sizeof profile - 1;
    }
    memset(options, 0, sizeof *options);
    for (size_t i = 0; i < option_row_count; i++)
        parse(&option_rules[i], default_of(&option_rows[i], wanted), options);
    for (; env && *env; env++) {
        const char *equals = strchr(*env, '=');
        if (strncmp(*env, prefix, sizeof prefix - 1) == 0 && equals)
            read_one(options, *env, (size_t)(equals - *env), equals + 1, complain, user);
    }
}

/* ---- paths ---- */

/* Whether a word of a list, or all of a single path, is relative to the current folder. */
static bool is_relative(enum kind kind, const char *path, size_t length)
{
    if (length == 0 || path[0] == '/')
        return false;
    return kind != KIND_LIBRARY || memchr(path, '/', length) != NULL;
}

/* The paths of a value, each absolute. NULL: they are already, or it cannot be done. The caller
 * frees it. */
static char *make_absolute(enum kind kind, const char *value)
{
    char folder[PATH_MAX];
    struct textbuf text;
    bool relative = false;
    if (kind != KIND_PATH && kind != KIND_PATHS && kind != KIND_LIBRARY)
        return NULL;
    textbuf_init(&text);
    for (const char *at = value; *at;) {
        size_t length = kind == KIND_PATHS ? strcspn(at, ":") : strlen(at);
        if (is_relative(kind, at, length)) {
            if (!relative &&
                (!getcwd(folder, sizeof folder) || (kind == KIND_PATHS && strchr(folder, ':'))))
                break;
            relative = true;
            textbuf_printf(&text, "%s/", folder);
        }
        textbuf_add(&text, at, length + (at[length] == ':'));
        at += length + (at[length] == ':');
    }
    if (relative && !text.failed)
        return text.data;
    textbuf_release(&text);
    return NULL;
}

/* The number of this process's threads, without starting anything. */
static bool one_thread(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;
}

/* The number of the row that a "NAME=VALUE" sets, or -1. */
static int option_number(const char *entry)
{
    size_t length = strcspn(entry, "=");
    for (size_t i = 0; entry[length] && i < option_row_count; i++) {
        if (strlen(option_rows[i].name) == length &&
            memcmp(option_rows[i].name, entry, length) == 0)
            return (int)i;
    }
    return -1;
}

/* The array is changed in its place: main gets it too, and some shells have a setenv of their own
 * that acts on another one. What is put there is never freed. */
void options_paths_absolute(char **env)
{
    int kept = errno;
    for (; env && *env; env++) {
        int row = strncmp(*env, prefix, sizeof prefix - 1) == 0 ? option_number(*env) : -1;
        char *value =
                 row >= 0 ? make_absolute(option_rules[row].kind, strchr(*env, '=') + 1) : NULL,
             *entry;
        if (value && one_thread() && asprintf(&entry, "%s=%s", option_rows[row].name, value) > 0)
            *env = entry;
        free(value);
    }
    errno = kept;
}

void options_keep(struct options *options)
{
    for (size_t i = 0; i < option_row_count; i++) {
        enum kind kind = option_rules[i].kind;
        const char **field = (const char **)((char *)options + option_rules[i].offset);
        if (kind != KIND_STRING && kind != KIND_PATH && kind != KIND_PATHS &&
            kind != KIND_LIBRARY && kind != KIND_CHOICE)
            continue;
        char *copy = make_absolute(kind, *field);
        if (!copy)
            copy = strdup(*field);
        *field = copy ? copy : "";
    }
}
