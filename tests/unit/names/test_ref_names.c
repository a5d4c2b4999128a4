/* The other names of the built-in references: each leads to one, and the hint names it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "names/ref_names.h"

static const struct {
    const char *word, *name;
} synonyms[] = {
#define SYNONYM(word, name) {#word, #name},
#include "names/ref_names.def"
#undef SYNONYM
};

static void every_synonym_leads_to_a_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        char hint[160], expected[96];
        if (ref_names_find(synonyms[i].word))
            fail_msg("'%s' is itself a reference", synonyms[i].word);
        if (!ref_names_find(synonyms[i].name))
            fail_msg("'%s' leads to '%s', which is none", synonyms[i].word, synonyms[i].name);
        snprintf(expected, sizeof expected, "did you mean '%s'?", synonyms[i].name);
        assert_non_null(strstr(ref_names_hint(synonyms[i].word, hint, sizeof hint), expected));
    }
}

static void letters_lead_where_no_synonym_does(void **state)
{
    char hint[160];
    (void)state;
    assert_non_null(strstr(ref_names_hint("rmsnrom", hint, sizeof hint), "'rmsnorm'"));
    assert_null(strstr(ref_names_hint("zzzzzzzz", hint, sizeof hint), "did you mean"));
}

static void indices_are_known(void **state)
{
    (void)state;
    assert_true(ref_names_index(ref_names_find("embedding"), "ids"));
    assert_false(ref_names_index(ref_names_find("embedding"), "table"));
    struct ref_builtin other = *ref_names_find("embedding");
    assert_false(ref_names_index(&other, "ids"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_synonym_leads_to_a_reference),
        cmocka_unit_test(letters_lead_where_no_synonym_does),
        cmocka_unit_test(indices_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
