/*
 * helper.h - starts another program beside the host program, invisible to it.
 *
 * A child of the host would end with SIGCHLD to its handlers and turn up in its wait(-1). So the
 * helper is a grandchild: a child that shares our memory, is cloned without an exit signal (plain
 * wait calls do not see it) and lives for a few system calls spawns the helper and ends. The helper
 * belongs to init from then on, or to the nearest subreaper among the host's ancestors. A host that
 * is a subreaper itself (PR_SET_CHILD_SUBREAPER) is none for the millisecond in which that is
 * decided, one helper after the other. Process 1 of a container inherits every orphan: there no
 * helper can be hidden, and none is started.
 */
#ifndef SYSTEM_HELPER_H
#define SYSTEM_HELPER_H

#include "base/error.h"

/* A copy of `env` without what makes a program load us or other tools (LD_PRELOAD, LD_AUDIT,
 * CUDA_INJECTION64_PATH) and without CUVET_*. One block for free(); NULL: no memory. */
char **helper_environment(char *const *env);

/*
 * Runs `path` with `fd` as standard input and /dev/null as output and error, in a process group of
 * its own, every signal unblocked and default. Descriptors of the host that are not close-on-exec
 * are open in it until it closes them. STATUS_UNSUPPORTED in process 1. Blocks for about a
 * millisecond; not for the launch path. Any thread.
 */
enum status helper_start(const char *path, char *const *argv, char *const *env, int fd,
                         struct error *err);

#endif
