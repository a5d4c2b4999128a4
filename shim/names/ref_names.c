#include "names/ref_names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "lang/formals.h"
#include "text/nearest.h"

static const struct synonym {
    const char *word, *name;
} synonyms[] = {
#define SYNONYM(word, name) {#word, #name},
#include "names/ref_names.def"
#undef SYNONYM
};

const struct ref_builtin *ref_names_find(const char *name)
{
    for (size_t i = 0; i < ref_builtin_count; i++)
        if (strcmp(ref_builtins[i].name, name) == 0)
            return &ref_builtins[i];
    return NULL;
}

bool ref_names_index(const struct ref_builtin *builtin, const char *formal)
{
    char word[FORMAL_NAME + 2];
    if (builtin < ref_builtins || builtin >= ref_builtins + ref_builtin_count)
        return false;
    snprintf(word, sizeof word, " %s ", formal);
    return strstr(ref_builtin_indices[builtin - ref_builtins], word) != NULL;
}

const char *ref_names_hint(const char *name, char *text, size_t size)
{
    static const char list[] = "`cuvet help references` lists all";
    struct nearest nearest = {.word = name};
    char question[96];
    for (size_t i = 0; i < sizeof(synonyms) / sizeof(*synonyms); i++) {
        if (strcasecmp(synonyms[i].word, name) == 0) {
            snprintf(text, size, "; did you mean '%s'? %s", synonyms[i].name, list);
            return text;
        }
    }
    for (size_t i = 0; i < ref_builtin_count; i++)
        nearest_offer(&nearest, ref_builtins[i].name);
    nearest_text(&nearest, question, sizeof(question));
    snprintf(text, size, "%s%s %s", question, question[0] ? "" : ";", list);
    return text;
}
