/*
 * cmd.h - the verbs of the program cuvet: one function each.
 *
 * argv[0] is the verb. Each returns the exit status of the program: 0; 1 for a failure of ours;
 * 2 for input that is wrong; 3 for findings.
 */
#ifndef TOOLS_CMD_H
#define TOOLS_CMD_H

int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_compile(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_plugin(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_lift(int argc, char **argv);
int cmd_worker(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_discover(int argc, char **argv);
int cmd_fuzz(int argc, char **argv);
int cmd_xla(int argc, char **argv);
int cmd_inductor(int argc, char **argv);
int cmd_lint(int argc, char **argv);
int cmd_help(int argc, char **argv);

struct verb {
    const char *name;
    const char *arguments; /* "FILES..." */
    const char *sentence;
    int (*run)(int argc, char **argv);
};
extern const struct verb verbs[]; /* ends with a NULL name */

/* The end of every verb: `status`, or 1 where standard output could not be written, with a sentence
 * on standard error unless its reader has closed it. */
int cmd_end(const char *name, int status);

#endif
