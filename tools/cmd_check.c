/*
 * cmd_check.c - `cuvet check FILES...`: read registry files as a program under cuvet would, and
 * compile the references that they bring along, where there is NVRTC.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/options.h"
#include "text/printable.h"
#include "driver/nvrtc_api.h"
#include "tools/cmd.h"
#include "tools/fuzz/case/rule.h"
#include "compile/ref_compile.h"
#include "registry/registry.h"
#include "registry/user_ref.h"

extern char **environ;

static void complain(void *user, const char *sentence)
{
    size_t *problems = user;
    ++*problems;
    fprintf(stderr, "%s\n", PRINTABLE(sentence));
}

/* "a.yaml", "b.yaml" -> "a.yaml:b.yaml", the form of CUVET_CONFIG. The caller frees it. */
static char *join_paths(int count, char **paths)
{
    size_t size = 1;
    for (int i = 0; i < count; i++)
        size += strlen(paths[i]) + 1;
    char *joined = malloc(size);
    if (!joined)
        return NULL;
    char *end = joined;
    for (int i = 0; i < count; i++) {
        if (i > 0)
            *end++ = ':';
        end = stpcpy(end, paths[i]);
    }
    *end = '\0';
    return joined;
}

/* Any architecture will do: what is wrong with a text is so for all. */
static void compile_references(const struct user_references *users, size_t *problems)
{
    struct options options;
    struct error err = {{0}};
    if (!users->texts)
        return;
    options_read(&options, environ, NULL, NULL);
    struct find_hints hints = {.path = options.nvrtc};
    find_homes(&hints);
    if (nvrtc_api_load(&hints, &err)) {
        fprintf(stderr, "cuvet: references of the registry's own were not compiled: %s\n",
                err.text);
        return;
    }
    for (unsigned i = 0; i < users->texts; i++) {
        struct ref_image image;
        err = (struct error){{0}};
        if (ref_compile(users->text[i], 0, &image, &err))
            complain(problems, err.text);
        ref_image_release(&image);
    }
}

/* What files name goes to the terminal line by line, through the filter. */
static void print_registry(struct registry *registry)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return;
    registry_print(registry, memory);
    if (fclose(memory) == 0) {
        for (char *line = text, *end; *line; line = end) {
            size_t length = strcspn(line, "\n");
            end = line + length + (line[length] == '\n');
            line[length] = '\0';
            printable_text(line);
            puts(line);
        }
    }
    free(text);
    fflush(stdout);
}

int cmd_check(int argc, char **argv)
{
    const char *tolerances = NULL;
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "--tolerances") == 0) {
        tolerances = argv[2];
        first = 3;
    }
    bool help = argc > 1 && strcmp(argv[1], "--help") == 0;
    if (help || first >= argc || argv[first][0] == '-') {
        fprintf(help ? stdout : stderr, "usage: cuvet check [--tolerances FILE] FILES...\n");
        return help ? 0 : 2;
    }

    char *files = join_paths(argc - first, argv + first);
    struct registry *registry = NULL;
    size_t problems = 0;
    enum status status = STATUS_NO_MEMORY;
    if (files) {
        const struct registry_source source = {.files = files, .tolerances = tolerances};
        status = registry_load(&registry, &source, complain, &problems);
    }
    if (registry) {
        fuzz_rules_check(registry, complain, &problems);
        print_registry(registry);
        compile_references(registry_user_references(registry), &problems);
    }
    if (problems)
        fprintf(stderr, "cuvet: %zu problem%s\n", problems, problems == 1 ? "" : "s");
    else if (status != STATUS_OK)
        fprintf(stderr, "cuvet: the registry could not be read\n");
    registry_destroy(registry);
    free(files);
    return status == STATUS_NO_MEMORY ? 1 : status || problems ? 2 : 0;
}
