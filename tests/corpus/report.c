/*
 * report.c - the records of a run and the journal that cuvet left of it, as one table.
 *
 * A launch is known by its kernel and its number among that kernel's. The journal has a line for
 * each of the first 64 findings of a kernel and a few later ones, and the counts of all its
 * launches.
 */
#include "corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1 << 16, TOLD = 128, ENOUGH = 20 };

/* What was seen of one entry. */
struct row {
    const struct entry *entry;
    char name[64];
    int told;
    long found[TOLD]; /* launches with a finding that the journal has a line of */
    long launches, checked, match, mismatch, inconclusive;
    bool killed, usual_found, ran;
    long skipped; /* launches for which the device has too little memory */
    char kill[ORACLES + 1], usual[ORACLES + 1];
    int seeds, caught, first; /* seeded launches, found ones, the first of them from 1 */
    long recorded;
    double ms;
    char example[512]; /* an input on which there was a finding */
};

static struct row *rows;
static int complaints;

static void complain(const struct row *row, const char *what)
{
    complaints++;
    printf("UNEXPECTED %s: %s\n", row->name, what);
}

static struct row *row_of(const char *name, size_t length)
{
    for (size_t i = 0; i < entry_count; i++)
        if (strncmp(rows[i].name, name, length) == 0 && rows[i].name[length] == '\0')
            return &rows[i];
    return NULL;
}

/* ------------------------------------------------------------------------- the journal */

/* What follows "key": in a line, or NULL. */
static const char *field(const char *line, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(line, quoted);
    return at ? at + strlen(quoted) : NULL;
}

static long number(const char *line, const char *key)
{
    const char *at = field(line, key);
    return at ? atol(at) : 0;
}

static void journal_line(const char *line)
{
    const char *event = field(line, "event"), *kernel = field(line, "kernel");
    if (!event || !kernel || *kernel != '"')
        return;
    struct row *row = row_of(kernel + 1, strcspn(kernel + 1, "\""));
    if (!row)
        return;
    if (strncmp(event, "\"finding\"", 9) == 0) {
        if (row->told < TOLD)
            row->found[row->told++] = number(line, "launch");
    } else if (strncmp(event, "\"totals\"", 8) == 0) {
        row->launches += number(line, "launches");
        row->checked += number(line, "checked");
        row->match += number(line, "match");
        row->mismatch += number(line, "mismatch");
        row->inconclusive += number(line, "inconclusive");
    }
}

/* ------------------------------------------------------------------------- the records */

static void merge_letters(char all[ORACLES + 1], const char *letters)
{
    for (int i = 0; i < ORACLES; i++)
        all[i] = all[i] == '\0' || letters[i] == '-' ? letters[i] : all[i];
}

static bool was_found(const struct row *row, long launch)
{
    for (int i = 0; i < row->told; i++)
        if (row->found[i] == launch)
            return true;
    return false;
}

static void record_line(char *line)
{
    char *at[6];
    for (int i = 0; i < 6; i++)
        at[i] = strsep(&line, "\t\n");
    if (!at[5])
        die("a record that is none");
    struct row *row = row_of(at[0], strlen(at[0]));
    if (!row)
        die("a record of '%s', which is no entry", at[0]);
    long launch = atol(at[1]);
    bool found = was_found(row, launch);
    row->ran = true;
    row->ms += atof(at[4]);
    if (launch < 0) {
        row->skipped++;
        return;
    }
    row->recorded++;
    if (found && !*row->example)
        snprintf(row->example, sizeof row->example, "%s", at[5]);
    if (strcmp(at[2], "kill") == 0) {
        row->killed = found;
        memcpy(row->kill, at[3], ORACLES + 1);
    } else if (strcmp(at[2], "usual") == 0) {
        row->usual_found |= found;
        merge_letters(row->usual, at[3]);
    } else {
        row->seeds++;
        row->caught += found;
        if (found && !row->first)
            row->first = row->seeds;
    }
}

static void each_line(const char *path, void (*take)(char *line))
{
    static char line[LINE];
    FILE *file = fopen(path, "r");
    if (!file)
        die("%s cannot be read", path);
    while (fgets(line, sizeof line, file))
        take(line);
    fclose(file);
}

static void journal_take(char *line)
{
    journal_line(line);
}

/* -------------------------------------------------------------------------- the table */

static void print_mutant(const struct row *row)
{
    bool study = row->entry->study;
    char seeds[32] = "-", first[32] = "-";
    if (row->seeds)
        snprintf(seeds, sizeof seeds, "%d/%d", row->caught, row->seeds);
    if (row->first)
        snprintf(first, sizeof first, "%d", row->first);
    printf("%-30s %5d  %-7s %-5s  %-7s %-5s  %7s %5s  %8.1f\n", row->name, row->entry->bug_class,
           study         ? "-"
           : row->killed ? "caught"
                         : "missed",
           study ? "-" : row->kill, row->usual_found ? "caught" : "quiet", row->usual, seeds, first,
           row->ms);
}

/* With the share of inconclusive launches where that is over a tenth. */
static void print_right(const struct row *row)
{
    char share[16] = "";
    if (row->inconclusive * 10 > row->launches)
        snprintf(share, sizeof share, "%.0f %%",
                 100.0 * (double)row->inconclusive / (double)row->launches);
    printf("%-30s %9ld %9ld %9ld %12ld %5s  %-5s  %9.1f\n", row->name, row->launches, row->match,
           row->mismatch, row->inconclusive, share, row->usual, row->ms);
}

static bool wanted(const struct row *row, bool study, bool right)
{
    return row->ran && row->entry->study == study && (row->entry->kind == ENTRY_RIGHT) == right;
}

static void print_table(bool study, bool right)
{
    for (size_t i = 0; i < entry_count; i++) {
        if (!wanted(&rows[i], study, right))
            continue;
        if (right)
            print_right(&rows[i]);
        else
            print_mutant(&rows[i]);
    }
}

static void print_tables(void)
{
    static const char mutants[] =
        "                                class  killing input  usual input"
        "    seeded first        ms\n";
    static const char rights[] = "                                launches     match  mismatch"
                                 " inconclusive        usual        ms\n";
    printf("Wrong kernels of the study\n%s", mutants);
    print_table(true, false);
    printf("\nRight kernels of the study\n%s", rights);
    print_table(true, true);
    printf("\nOur mutants\n%s", mutants);
    print_table(false, false);
    printf("\nTheir right twins\n%s", rights);
    print_table(false, true);
    puts("\nkilling input, usual input: what cuvet says, and which oracles pass the kernel there: "
         "K KernelBench,\nS SOL-ExecBench, G GEAK, A torch.testing.assert_close, - for one that "
         "fails "
         "it. seeded: launches of the\nschema with a finding, and the first of them.");
}

/* ------------------------------------------------------------------------- the totals */

/* Of the study's kernels of that kind: entries (an operation, all its dtypes) that are as they
 * should be. */
static void study_total(bool right, int *good, int *all)
{
    const char *last = "";
    bool fine = true, any = false;
    *good = *all = 0;
    for (size_t i = 0; i <= entry_count; i++) {
        const struct row *row = i < entry_count ? &rows[i] : NULL;
        if (row && !wanted(row, true, right))
            continue;
        if (any && (!row || strcmp(row->entry->op, last) != 0)) {
            ++*all;
            *good += fine;
            fine = true;
        }
        if (!row)
            break;
        any = true;
        last = row->entry->op;
        fine = fine && (right ? row->mismatch == 0 : row->mismatch > 0);
    }
}

/* The first input with a finding, as words for the shell. */
static void tell_example(const struct row *row)
{
    if (!*row->example)
        return;
    printf("    again, alone: make corpus CORPUS_SETTINGS='only=%s input=", row->name);
    for (const char *at = row->example; *at; at++)
        putchar(*at == ' ' ? ',' : *at);
    puts("'");
}

static void expectations(const struct row *row)
{
    const struct entry *entry = row->entry;
    char text[128];
    if (row->launches != row->recorded || row->checked != row->launches) {
        snprintf(text, sizeof text,
                 "%ld launches recorded, %ld in the journal, %ld of them checked", row->recorded,
                 row->launches, row->checked);
        complain(row, text);
    }
    if (entry->kind == ENTRY_RIGHT) {
        if (row->mismatch) {
            complain(row, "a finding on a right kernel");
            tell_example(row);
        }
        return;
    }
    if (entry->kind == ENTRY_ESCAPES) {
        if (row->mismatch)
            complain(row, "is said to escape, and was found");
        return;
    }
    if (row->skipped)
        return;
    if (entry->study ? row->mismatch == 0 : !row->killed)
        complain(row, "not caught on its killing input");
    for (const char *letter = entry->oracles; *letter; letter++)
        if (!strchr(row->usual, *letter)) {
            snprintf(text, sizeof text,
                     "the oracles that pass it on the usual input were '%s', and are '%s'",
                     entry->oracles, row->usual);
            complain(row, text);
            break;
        }
}

struct totals {
    int mutants, killed, seeded, within, operations, skipped, escapes;
    int missed[ORACLES], missed_on_kill[ORACLES], failed_right[ORACLES], rights;
    bool enough; /* launches of each, enough to require a share of the mutants */
    int passed_by_all, caught_where_passed, passed_by_any;
    long right_launches, right_findings, right_inconclusive, right_skipped, right_least;
};

static void add_mutant(struct totals *totals, const struct row *row)
{
    int passes = 0;
    totals->mutants++;
    totals->killed += row->killed;
    totals->seeded += row->seeds > 0;
    totals->within += row->caught > 0;
    totals->enough = row->seeds >= ENOUGH && totals->mutants > ENOUGH;
    for (int o = 0; o < ORACLES; o++) {
        passes += row->usual[o] == oracle_letters[o];
        totals->missed[o] += row->usual[o] == oracle_letters[o];
        totals->missed_on_kill[o] += row->kill[o] == oracle_letters[o];
    }
    totals->passed_by_any += passes > 0;
    totals->passed_by_all += passes == ORACLES;
    totals->caught_where_passed += passes > 0 && row->usual_found;
}

static void add_right(struct totals *totals, const struct row *row)
{
    if (totals->rights++ == 0 || row->launches < totals->right_least)
        totals->right_least = row->launches;
    totals->right_skipped += row->skipped;
    totals->right_launches += row->launches;
    totals->right_findings += row->mismatch;
    totals->right_inconclusive += row->inconclusive;
    for (int o = 0; o < ORACLES; o++)
        totals->failed_right[o] += row->usual[o] == '-';
}

static void add_up(struct totals *totals)
{
    const char *last = "";
    for (size_t i = 0; i < entry_count; i++) {
        const struct row *row = &rows[i];
        if (!row->ran)
            continue;
        expectations(row);
        if (row->entry->kind == ENTRY_RIGHT) {
            add_right(totals, row);
        } else if (row->entry->kind == ENTRY_ESCAPES) {
            totals->escapes++;
        } else if (row->skipped) {
            totals->skipped++;
        } else if (!row->entry->study) {
            totals->operations += strcmp(last, row->entry->op) != 0;
            last = row->entry->op;
            add_mutant(totals, row);
        }
    }
}

static void print_totals(const struct totals *t)
{
    int good, all;
    study_total(false, &good, &all);
    printf("\nstudy: %d of %d wrong kernels caught", good, all);
    complaints += good != all;
    study_total(true, &good, &all);
    printf(", %d of %d right ones clean\n", good, all);
    printf("mutants: %d of %d caught on their killing inputs, over %d operations; %d more escape\n",
           t->killed, t->mutants, t->operations, t->escapes);
    if (t->mutants == 0 && t->rights == 0) {
        puts("UNEXPECTED: no kernel was run");
        complaints++;
    }
    if (t->enough && t->within < 0.9 * t->seeded) {
        puts("UNEXPECTED: fewer than nine in ten mutants are caught within the seeded launches");
        complaints++;
    }
    if (t->seeded)
        printf("seeded launches of the schema: %d of %d mutants caught (%.1f %%)\n", t->within,
               t->seeded, 100.0 * t->within / t->seeded);
    printf(
        "right kernels: %d, %ld launches, at least %ld of each, %ld findings, %ld inconclusive\n",
        t->rights, t->right_launches, t->right_least, t->right_findings, t->right_inconclusive);
    if (t->right_skipped)
        printf("not run, for the device has too little memory: %ld launches of right kernels\n",
               t->right_skipped);
    for (int o = 0; o < ORACLES; o++)
        printf("%s: passes %d of %d mutants on the usual input and %d on the killing one; fails %d "
               "of %d "
               "right kernels\n",
               oracle_names[o], t->missed[o], t->mutants, t->missed_on_kill[o], t->failed_right[o],
               t->rights);
    printf("passed by some oracle on the usual input: %d mutants, by all four %d; cuvet finds %d "
           "of them on "
           "that very input\n",
           t->passed_by_any, t->passed_by_all, t->caught_where_passed);
    if (t->skipped)
        printf("not run, for the device has too little memory: %d mutants\n", t->skipped);
}

int corpus_report(const char *records, int journals, char **journal)
{
    struct totals totals = {0};
    rows = calloc(entry_count, sizeof *rows);
    if (!rows)
        die("no memory for the table");
    for (size_t i = 0; i < entry_count; i++) {
        rows[i].entry = &entries[i];
        entry_symbol(&entries[i], rows[i].name);
    }
    for (int i = 0; i < journals; i++)
        each_line(journal[i], journal_take);
    each_line(records, record_line);
    print_tables();
    add_up(&totals);
    print_totals(&totals);
    free(rows);
    return complaints ? 1 : 0;
}
