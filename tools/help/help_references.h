/* help_references.h - `cuvet help references` and `cuvet help reference NAME`. */
#ifndef TOOLS_HELP_REFERENCES_H
#define TOOLS_HELP_REFERENCES_H

/* Prints each reference with its formula and its formals. Returns the exit status. */
int help_references(void);

/* Prints one reference, formal by formal, and an entry to begin with. `name` may be NULL. Returns
 * the exit status. */
int help_reference(const char *name);

#endif
