/* run_child.h - runs a program in our place: its signals and its end are ours. */
#ifndef TOOLS_RUN_CHILD_H
#define TOOLS_RUN_CHILD_H

/* How the program ended. */
struct run_child {
    int exec_errno; /* not 0: it could not be started */
    int status;     /* as of waitpid */
};

/* Called in the child before exec; sets its environment. */
typedef void (*run_child_prepare_fn)(void *user);

/*
 * Starts argv and waits for its end. Signals that end or steer programs and are sent to us by a
 * process are passed on; those that the terminal sends reached the program by themselves.
 * Returns 0, or -1 with errno set when no process could be made.
 */
int run_child(struct run_child *out, char *const *argv, run_child_prepare_fn prepare, void *user);

/* Ends this process as the program ended when a signal killed it: the same wait status for the
 * parent. Returns 128 + signal when that fails. */
int run_child_die_alike(int status);

#endif
