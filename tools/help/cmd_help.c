/*
 * cmd_help.c - `cuvet help`; `cuvet help options` from the table options.def, `cuvet help buckets`
 * from SKIP_LIST; help_references.c has the references, help_pages.c the manual pages.
 *
 * The tables are printed as text for people, as roff for the manual page and as Markdown for
 * README.md, so that the three cannot disagree.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/options.h"
#include "text/printable.h"
#include "cuvet.h"
#include "tools/cmd.h"
#include "tools/help/help_pages.h"
#include "tools/help/help_references.h"
#include "value/skip.h"

static int help_verbs(void)
{
    printf("cuvet %s re-computes sampled CUDA kernel launches and judges every element.\n\n",
           cuvet_version());
    for (const struct verb *verb = verbs; verb->name; verb++)
        printf("  cuvet %-7s %-34s %s\n", verb->name, verb->arguments, verb->sentence);
    printf("  cuvet --version\n\nWithout this program: LD_PRELOAD=libcuvet.so "
           "CUVET_CONFIG=kernels.yaml PROGRAM ...\n");
    return 0;
}

static void row_text(const struct option_row *row)
{
    printf("%s  (%s; default: %s)\n    %s.\n", row->name, row->type,
           row->fallback[0] ? row->fallback : "none", row->sentence);
}

/* A roff line must not start with a dot or a quote, and a backslash starts an escape. */
static void roff_escaped(const char *text)
{
    for (; *text; text++)
        if (*text == '\\')
            printf("\\e");
        else if (*text == '-')
            printf("\\-");
        else
            putchar(*text);
}

/* The names, or the list of the page cuvet.1. */
static int help_verb_names(const char *form)
{
    bool man = form && strcmp(form, "--man") == 0;
    if (form && !man) {
        fprintf(stderr, "cuvet: unknown form '%s'; expected --man\n", form);
        return 2;
    }
    for (const struct verb *verb = verbs; verb->name; verb++) {
        if (!man) {
            puts(verb->name);
            continue;
        }
        printf(".TP\n.B %s\n", verb->name);
        roff_escaped(verb->arguments);
        printf("\n.br\n");
        roff_escaped(verb->sentence);
        printf(".\n");
    }
    return 0;
}

static void row_man(const struct option_row *row)
{
    printf(".TP\n.B ");
    roff_escaped(row->name);
    printf("\n");
    roff_escaped(row->sentence);
    printf(".\nType: ");
    roff_escaped(row->type);
    printf("; default: ");
    roff_escaped(row->fallback[0] ? row->fallback : "none");
    printf(".\n");
}

/* A bar inside a cell would end it. */
static void cell_escaped(const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            putchar('\\');
        putchar(*text);
    }
}

static void row_markdown(const struct option_row *row)
{
    printf("| `%s` | ", row->name);
    cell_escaped(row->type);
    printf(" | ");
    cell_escaped(row->fallback[0] ? row->fallback : "none");
    printf(" | ");
    cell_escaped(row->sentence);
    printf(" |\n");
}

static int help_options(const char *form)
{
    void (*row)(const struct option_row *) = NULL;
    if (!form)
        row = row_text;
    else if (strcmp(form, "--man") == 0)
        row = row_man;
    else if (strcmp(form, "--markdown") == 0)
        row = row_markdown;
    if (!row) {
        fprintf(stderr, "cuvet: unknown form '%s'; expected --man or --markdown\n", form);
        return 2;
    }
    if (row == row_markdown)
        printf("| variable | type | default | what it does |\n|---|---|---|---|\n");
    for (size_t i = 0; i < option_row_count; i++)
        row(&option_rows[i]);
    return 0;
}

static int help_buckets(const char *form)
{
    static const char *const verdicts[][2] = {
        {"match", "every element agrees with the reference within its bound"},
        {"mismatch", "at least one element does not"},
        {"inconclusive", "the bound is too wide for a verdict"},
    };
    bool markdown = form && strcmp(form, "--markdown") == 0;
    if (form && !markdown) {
        fprintf(stderr, "cuvet: unknown form '%s'; expected --markdown\n", form);
        return 2;
    }
    if (markdown)
        printf("| bucket | what it means |\n|---|---|\n");
    const char *row = markdown ? "| %s | %s |\n" : "%-20s %s\n";
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
        printf(row, verdicts[i][0], verdicts[i][1]);
    for (enum skip skip = SKIP_NONE + 1; skip < SKIP_COUNT; skip++)
        printf(row, skip_text(skip), skip_sentence(skip));
    return 0;
}

int cmd_help(int argc, char **argv)
{
    if (argc < 2)
        return help_verbs();
    const char *form = argc > 2 ? argv[2] : NULL;
    if (strcmp(argv[1], "options") == 0)
        return help_options(form);
    if (strcmp(argv[1], "buckets") == 0)
        return help_buckets(form);
    if (strcmp(argv[1], "references") == 0)
        return help_references();
    if (strcmp(argv[1], "reference") == 0)
        return help_reference(form);
    if (strcmp(argv[1], "verbs") == 0)
        return help_verb_names(form);
    if (strcmp(argv[1], "pages") == 0) {
        help_page_names();
        return 0;
    }
    if (help_page(argv[1]))
        return 0;
    fprintf(stderr,
            "cuvet: no help on '%s'; expected a verb, 'options', 'buckets', 'references', "
            "'reference NAME', or one of 'cuvet help pages'\n",
            PRINTABLE(argv[1]));
    return 2;
}
