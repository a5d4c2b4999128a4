/* lint_serve.h - the process beside a program under CUVET_LINT (linter/linter_client.h). */
#ifndef TOOLS_LINT_SERVE_H
#define TOOLS_LINT_SERVE_H

enum { LINT_SERVE_ARGUMENTS = 4 };

/*
 * `cuvet lint --serve VERSION CONFIG TOLERANCES TABLES`, with a socket as standard input.
 * `argument` are the four: the version of the library, and what CUVET_CONFIG, CUVET_TOLERANCES and
 * CUVET_TABLES are in the program. Returns the exit status.
 */
int lint_serve(char **argument);

#endif
