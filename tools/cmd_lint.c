/*
 * cmd_lint.c - `cuvet lint`: rules that kernels' PTX is held against without running it;
 * `cuvet lint --serve ...`: for a program (linter/linter_client.h).
 *
 * Exit status: 0 no warning, 1 a failure of ours, 2 wrong input, 3 warnings.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text/printable.h"
#include "text/textbuf.h"
#include "tools/cmd.h"
#include "tools/fuzz/symbols.h"
#include "tools/lint/input.h"
#include "tools/lint/out.h"
#include "tools/serve/lint_serve.h"
#include "tools/progress.h"

enum { EXIT_OURS = 1, EXIT_INPUT = 2, EXIT_FINDINGS = 3, MOST_RULES = 128 };

static const char usage[] =
    "usage: cuvet lint [OPTIONS] FILE|FOLDER...\n"
    "  FILE                 PTX, a cubin that carries its PTX, a fatbin, a program or shared "
    "object\n"
    "                       that holds some, or a folder such as Triton's cache\n"
    "  -c, --registry FILE  registry file whose entries the kernels are held against; may be "
    "given\n"
    "                       again, later ones win\n"
    "  -k, --kernel NAME    these kernels alone: a name, a glob or a /regex/\n"
    "      --ignore ID      leaves a rule out; may be given again\n"
    "      --all            shows hints, too\n"
    "      --json           prints one JSON object\n"
    "      --sarif          prints SARIF 2.1.0\n"
    "      --rules          lists the rules\n"
    "      --explain ID     prints why a rule matters, and when what it reports is right\n"
    "exits with 3 when there is a warning; notes and hints alone are 0\n";

struct arguments {
    struct lint_settings settings;
    struct textbuf registry; /* paths, separated by ':' */
    bool ignored[MOST_RULES];
    void (*write)(FILE *file, const struct lint_report *report);
    int done; /* -1: go on; else the exit status */
};

static int wrong(const char *sentence, const char *value)
{
    fprintf(stderr, "cuvet lint: %s%s\n%s", sentence, PRINTABLE(value), usage);
    return EXIT_INPUT;
}

static int unknown_rule(const char *id)
{
    fprintf(stderr, "cuvet lint: unknown rule '%s'; `cuvet lint --rules` lists them\n",
            PRINTABLE(id));
    return EXIT_INPUT;
}

static int ignore(struct arguments *a, const char *id)
{
    const struct lint_rule *rule = lint_find_rule(id);
    if (!rule)
        return unknown_rule(id);
    a->ignored[rule - lint_rules] = true;
    return -1;
}

static int explain(const char *id)
{
    const struct lint_rule *rule = lint_find_rule(id);
    if (!rule)
        return unknown_rule(id);
    lint_out_explain(stdout, rule);
    return 0;
}

static int take(struct arguments *a, int option)
{
    switch (option) {
    case 'c':
        textbuf_printf(&a->registry, "%s%s", a->registry.length ? ":" : "", optarg);
        return -1;
    case 'k':
        a->settings.kernel = optarg;
        return -1;
    case 'i':
        return ignore(a, optarg);
    case 'a':
        a->settings.least = LINT_HINT;
        return -1;
    case 'j':
        a->write = lint_out_json;
        return -1;
    case 's':
        a->write = lint_out_sarif;
        return -1;
    case 'r':
        lint_out_rules(stdout);
        return 0;
    case 'e':
        return explain(optarg);
    default: /* 'h' */
        fputs(usage, stdout);
        return 0;
    }
}

static int parse(int argc, char **argv, struct arguments *a)
{
    static const struct option options[] = {
        {"registry", required_argument, NULL, 'c'}, {"kernel", required_argument, NULL, 'k'},
        {"ignore", required_argument, NULL, 'i'},   {"all", no_argument, NULL, 'a'},
        {"json", no_argument, NULL, 'j'},           {"sarif", no_argument, NULL, 's'},
        {"rules", no_argument, NULL, 'r'},          {"explain", required_argument, NULL, 'e'},
        {"help", no_argument, NULL, 'h'},           {0}};
    int option;
    optind = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "c:k:h", options, NULL)) != -1) {
        int result = option == '?' ? wrong("unknown, or without its value: ", argv[optind - 1])
                                   : take(a, option);
        if (result >= 0)
            return result;
    }
    return optind < argc ? -1 : wrong("no file", "");
}

static void complain(void *user, const char *sentence)
{
    bool *any = user;
    *any = true;
    fprintf(stderr, "cuvet lint: %s\n", PRINTABLE(sentence));
}

static int open_registry(struct arguments *a)
{
    struct registry_source source = {.files = a->registry.data};
    bool any = false;
    if (!a->registry.length)
        return -1;
    if (registry_load(&a->settings.registry, &source, complain, &any) == STATUS_NO_MEMORY)
        return EXIT_OURS;
    return any ? EXIT_INPUT : -1;
}

static int no_kernel(const struct arguments *a)
{
    fprintf(stderr, "cuvet lint: no kernel is called %s\n", PRINTABLE(a->settings.kernel));
    return EXIT_INPUT;
}

static int lint_all(struct arguments *a, int argc, char **argv)
{
    struct lint_report report = {.settings = a->settings};
    struct error unfit = {0};
    bool fits;
    int result = 0;
    /* Tried on any name: is it a pattern at all? */
    if (a->settings.kernel && fuzz_symbol_matches(a->settings.kernel, "k", &fits, &unfit))
        return wrong("--kernel: ", unfit.text);
    for (int i = optind; i < argc && !result; i++) {
        struct error err = {0};
        progress_tick(argv[i]);
        enum status status = lint_path(&report, argv[i], &err);
        progress_clear();
        if (status)
            fprintf(stderr, "cuvet lint: %s\n", PRINTABLE(err.text));
        result = status == STATUS_NO_MEMORY ? EXIT_OURS : status ? EXIT_INPUT : 0;
    }
    if (report.wrong)
        fprintf(stderr, "cuvet lint: %s\n", PRINTABLE(report.wrong));
    result = report.wrong && !result ? EXIT_INPUT : result;
    if (!result && a->settings.kernel && !report.kernels && !report.skipped)
        result = no_kernel(a);
    if (!result) {
        a->write(stdout, &report);
        result = report.severity[LINT_WARNING] ? EXIT_FINDINGS : 0;
    }
    lint_release(&report);
    if (fflush(stdout) != 0 || ferror(stdout))
        result = EXIT_OURS;
    return result;
}

int cmd_lint(int argc, char **argv)
{
    if (argc == 2 + LINT_SERVE_ARGUMENTS && strcmp(argv[1], "--serve") == 0)
        return lint_serve(argv + 2);
    struct arguments a = {.settings.least = LINT_NOTE, .write = lint_out_text};
    a.settings.ignored = a.ignored;
    textbuf_init(&a.registry);
    int result = parse(argc, argv, &a);
    if (result < 0)
        result = open_registry(&a);
    if (result < 0)
        result = lint_all(&a, argc, argv);
    registry_destroy(a.settings.registry);
    textbuf_release(&a.registry);
    return result;
}
