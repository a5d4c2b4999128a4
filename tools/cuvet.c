/* cuvet.c - the program: finds the verb in a table and hands over. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "text/printable.h"
#include "cuvet.h"
#include "tools/cmd.h"

const struct verb verbs[] = {
    {"run", "[OPTIONS] -- PROGRAM ...", "run a program under cuvet", cmd_run},
    {"check", "FILES...", "read registry files, show the table or its mistakes", cmd_check},
    {"compile", "FILES...", "compile their own references into the cache", cmd_compile},
    {"fuzz", "-c FILE [OPTIONS] IMAGE", "launch kernels with drawn inputs, judge each launch",
     cmd_fuzz},
    {"discover", "[OPTIONS] -- PROGRAM ...", "write a registry for kernels without an entry",
     cmd_discover},
    {"xla", "[-o FILE] FOLDER", "write a registry for the fusions that XLA dumped", cmd_xla},
    {"inductor", "[-o FILE] FOLDER...", "write a registry for the kernels that Inductor generated",
     cmd_inductor},
    {"ctl", "[PID WORD]", "list, watch and steer running processes", cmd_ctl},
    {"plugin", "FILE.so", "call a plugin once, with a made-up finding", cmd_plugin},
    {"replay", "[OPTIONS] BUNDLE", "run the launch of a finding again, alone", cmd_replay},
    {"probe", "[OPTIONS] BUNDLE", "checks of a finding's launch that need no formula", cmd_probe},
    {"lift", "[OPTIONS] BUNDLE | --check FILE...",
     "the instructions at which a finding's launch loses its digits", cmd_lift},
    {"worker", "[--device auto|gpu|interpreter]", "show the device that replays run on",
     cmd_worker},
    {"report", "FOLDER...", "merge journals into one report: a page, text, JSON, CI formats",
     cmd_report},
    {"trace", "FOLDER...", "a run's launches by kernel, range or layer, or for Perfetto",
     cmd_trace},
    {"diff", "RUN_A RUN_B", "the first launch in which two runs differ", cmd_diff},
    {"lint", "[OPTIONS] FILE|FOLDER...", "what is suspicious in a kernel's PTX, with the line",
     cmd_lint},
    {"help", "[VERB | options | buckets | ...]", "this text; a verb's page; variables; outcomes",
     cmd_help},
    {NULL, NULL, NULL, NULL},
};

/* A reader that has enough, such as `head`, closes its end. */
static bool reader_has_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) > 0 && out.revents & POLLERR;
}

int cmd_end(const char *name, int status)
{
    errno = 0;
    int why = fflush(stdout) != 0 ? errno : 0;
    if (!why && !ferror(stdout))
        return status;
    if (!reader_has_gone())
        fprintf(stderr, "cuvet %s: standard output cannot be written%s%s\n", PRINTABLE(name),
                why ? ": " : "", why ? strerror(why) : "");
    return 1;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        cmd_help(1, argv);
        return 2;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("cuvet %s\n", cuvet_version());
        return 0;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    for (const struct verb *verb = verbs; verb->name; verb++)
        if (strcmp(verb->name, name) == 0)
            return verb->run(argc - 1, argv + 1);
    fprintf(stderr, "cuvet: unknown verb '%s'; `cuvet help` lists them.\n", PRINTABLE(name));
    return 2;
}

int main(int argc, char **argv)
{
    return cmd_end(argc < 2 ? "help" : argv[1], run(argc, argv));
}
