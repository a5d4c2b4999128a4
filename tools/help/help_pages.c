#include "tools/help/help_pages.h"

#include <stdio.h>
#include <string.h>
#include "device/embedded.h"

/* Made by the build of the pages in tools/man and of config/README.md; ends with NULLs. */
extern const struct embedded_text cuvet_man_pages[];

/* Names of verbs and topics whose page has another name. */
static const struct page_alias {
    const char *name, *page;
} page_aliases[] = {
    {"registry", "README.md"},
    {"ctl", "cuvet-control.md"},
    {"calls", "cuvet-library-calls.md"},
    {NULL, NULL},
};

static bool page_has_name(const char *file, const char *name)
{
    size_t length = strlen(name);
    return strncmp(file, "cuvet-", 6) == 0 && strncmp(file + 6, name, length) == 0 &&
           strcmp(file + 6 + length, ".md") == 0;
}

bool help_page(const char *name)
{
    const char *page = NULL;
    for (const struct page_alias *alias = page_aliases; alias->name; alias++)
        if (strcmp(alias->name, name) == 0)
            page = alias->page;
    for (const struct embedded_text *text = cuvet_man_pages; text->name; text++) {
        if (page ? strcmp(text->name, page) == 0 : page_has_name(text->name, name)) {
            fputs(text->text, stdout);
            return true;
        }
    }
    return false;
}

void help_page_names(void)
{
    for (const struct embedded_text *text = cuvet_man_pages; text->name; text++)
        if (strncmp(text->name, "cuvet-", 6) == 0)
            printf("%.*s\n", (int)(strlen(text->name + 6) - 3), text->name + 6);
    for (const struct page_alias *alias = page_aliases; alias->name; alias++)
        puts(alias->name);
}
