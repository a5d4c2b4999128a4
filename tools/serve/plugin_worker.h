/*
 * plugin_worker.h - the process that loads a plugin and calls it, seen from the one that watches
 * it.
 *
 * One message is under way at a time. Whatever the plugin does, the watcher gets an answer within
 * the time that it names. One thread; POSIX processes and a socket; nothing is allocated.
 */
#ifndef TOOLS_PLUGIN_WORKER_H
#define TOOLS_PLUGIN_WORKER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum worker_answer {
    WORKER_DONE,       /* the call returned */
    WORKER_READY,      /* the plugin is loaded */
    WORKER_UNLOADABLE, /* it cannot be; why stands on its standard error */
    WORKER_ENDED,      /* the process did */
    WORKER_LATE,
    WORKER_HURRY, /* the host program ended meanwhile: call again with its deadline */
};

struct plugin_worker {
    pid_t pid; /* 0: none */
    int socket;
};

/* 0, or -1 with errno. The plugin is loaded meanwhile: see plugin_worker_wait. */
int plugin_worker_start(struct plugin_worker *worker, const char *file);

/* 0, or -1 when the process has ended. */
int plugin_worker_send(const struct plugin_worker *worker, const char *message, size_t size);

/* Waits until `deadline` (clock_ns) for the answer; ends with WORKER_HURRY when the peer of the
 * socket `host` (-1: none) sends no more. */
enum worker_answer plugin_worker_wait(const struct plugin_worker *worker, int64_t deadline,
                                      int host);

/* Ends it: when it does not leave by itself until `deadline`, it and what it started are killed.
 * The status of waitpid. */
int plugin_worker_end(struct plugin_worker *worker, int64_t deadline);

#endif
