/*
 * main.c - the corpus as a program.
 *
 *   corpus registry                             what cuvet is to be told of its kernels
 *   corpus run FATBIN RECORDS [KEY=VALUE ...]   launches them all; under cuvet, or alone
 *   corpus report RECORDS JOURNAL ...           the table; 1 where an expectation does not hold
 *
 * Keys: only=WORD (kernels whose name holds it), seeds, trials, soak, study (launches of a mutant,
 * of the usual input, of a right kernel and of the study's ones), elements (of an array, at most;
 * one draw in 64 may have 64 times as many), part and parts (each parts-th kernel, from `part` on:
 * several processes share the work, and a report takes the records of all, one behind the other).
 */
#include "corpus.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("corpus: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

static void set(struct settings *settings, const char *word)
{
    const struct {
        const char *key;
        int *value;
    } keys[] = {{"seeds=", &settings->seeds}, {"trials=", &settings->trials},
                {"soak=", &settings->soak},   {"study=", &settings->study},
                {"part=", &settings->part},   {"parts=", &settings->parts}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strncmp(word, keys[i].key, strlen(keys[i].key)) == 0) {
            *keys[i].value = atoi(word + strlen(keys[i].key));
            return;
        }
    if (strncmp(word, "only=", 5) == 0)
        settings->only = word + 5;
    else if (strncmp(word, "elements=", 9) == 0)
        settings->elements = atof(word + 9);
    else
        die("'%s' is none of only=, seeds=, trials=, soak=, study=, part=, parts=, elements=",
            word);
}

int main(int argc, char **argv)
{
    struct settings settings = {.only = "",
                                .parts = 1,
                                .seeds = 20,
                                .trials = 3,
                                .soak = 60,
                                .study = 30,
                                .elements = 1 << 15};
    const char *verb = argc > 1 ? argv[1] : "";
    operations_parse();
    if (strcmp(verb, "registry") == 0 && argc == 2) {
        registry_write();
        return 0;
    }
    if (strcmp(verb, "run") == 0 && argc >= 4) {
        for (int i = 4; i < argc; i++)
            set(&settings, argv[i]);
        if (settings.parts < 1)
            die("parts=%d; expected at least 1", settings.parts);
        corpus_run(argv[2], argv[3], &settings);
        return 0;
    }
    if (strcmp(verb, "report") == 0 && argc >= 4)
        return corpus_report(argv[2], argc - 3, argv + 3);
    fputs("usage: corpus registry | run FATBIN RECORDS [KEY=VALUE ...] | report RECORDS JOURNAL "
          "...\n",
          stderr);
    return 2;
}
