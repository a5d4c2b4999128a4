/*
 * main.c - the corpus as a program.
 *
 *   corpus registry                             the registry of its kernels
 *   corpus run FATBIN RECORDS [KEY=VALUE ...]   launches them all; under cuvet, or alone
 *   corpus report RECORDS JOURNAL ...           the table; 1 where an expectation does not hold
 *
 * Keys:
 *
 *   only=WORD      kernels whose name holds it
 *   input=KEY=VALUE,...,seed=N
 *                  of a record: this launch alone, of the kernel whose name is `only`
 *   seeds, trials, soak, study
 *                  launches of a mutant, of the usual input, of a right kernel, and of the study's
 *                  ones (of its right ones, the more of study and soak)
 *   seconds        for the soak launches of all right kernels, shared evenly; `soak` still holds
 *   elements       of an array, at most; one draw in 64 may have 64 times as many
 *   threads        that share the kernels
 *   part, parts    every parts-th operation, from `part` on: several processes share the work,
 *                  and a report takes the records of all, one behind the other
 *   ahead, megabytes
 *                  launches, and what their arrays take, for which checks may be under way: at
 *                  most CUVET_QUEUE, and half of CUVET_MEMORY
 *   progress       seconds from one line of it to the next, on standard output
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
    } keys[] = {{"seeds=", &settings->seeds},        {"trials=", &settings->trials},
                {"soak=", &settings->soak},          {"study=", &settings->study},
                {"part=", &settings->part},          {"parts=", &settings->parts},
                {"threads=", &settings->threads},    {"seconds=", &settings->seconds},
                {"progress=", &settings->progress},  {"ahead=", &settings->ahead},
                {"megabytes=", &settings->megabytes}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strncmp(word, keys[i].key, strlen(keys[i].key)) == 0) {
            *keys[i].value = atoi(word + strlen(keys[i].key));
            return;
        }
    if (strncmp(word, "only=", 5) == 0)
        settings->only = word + 5;
    else if (strncmp(word, "input=", 6) == 0)
        settings->input = word + 6;
    else if (strncmp(word, "elements=", 9) == 0)
        settings->elements = atof(word + 9);
    else
        die("'%s' is none of the keys; main.c has them", word);
}

int main(int argc, char **argv)
{
    struct settings settings = {.only = "",
                                .input = "",
                                .parts = 1,
                                .threads = 1,
                                .ahead = 128,
                                .megabytes = 128,
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
    if (strcmp(verb, "kernels") == 0 && argc == 2) {
        kernels_write();
        return 0;
    }
    if (strcmp(verb, "run") == 0 && argc >= 4) {
        for (int i = 4; i < argc; i++)
            set(&settings, argv[i]);
        if (settings.parts < 1 || settings.threads < 1 || settings.ahead < 1 ||
            settings.megabytes < 1)
            die("parts, threads, ahead and megabytes are at least 1");
        corpus_run(argv[2], argv[3], &settings);
        return 0;
    }
    if (strcmp(verb, "report") == 0 && argc >= 4)
        return corpus_report(argv[2], argc - 3, argv + 3);
    fputs("usage: corpus registry | kernels | run FATBIN RECORDS [KEY=VALUE ...] | report RECORDS "
          "JOURNAL "
          "...\n",
          stderr);
    return 2;
}
