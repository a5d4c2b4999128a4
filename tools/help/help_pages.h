/* help_pages.h - the manual pages (tools/man, config/README.md) inside the program. */
#ifndef TOOLS_HELP_PAGES_H
#define TOOLS_HELP_PAGES_H

#include <stdbool.h>

/* Prints the page of a verb or a topic as it is written; false: there is none. */
bool help_page(const char *name);

/* Prints the names that help_page takes, one a line. */
void help_page_names(void);

#endif
