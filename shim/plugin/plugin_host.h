/*
 * plugin_host.h - hands findings to the user's plugin (CUVET_PLUGIN), which runs in a process of
 * its own: what it does there cannot reach the program.
 *
 * The process is `cuvet plugin --serve`, started at the first finding; it watches over a second one
 * that loads the plugin (tools/cmd_plugin.c). They are joined to us by a socket. Findings are sent
 * without waiting: one that finds the socket full is lost, and is counted. No signal comes from any
 * of it, and none is sent: the process ends by itself when the socket is closed.
 *
 * Threads: one at a time (the collector, then the one that ends the program).
 */
#ifndef PLUGIN_PLUGIN_HOST_H
#define PLUGIN_PLUGIN_HOST_H

#include "base/error.h"
#include "text/textbuf.h"
#include "cuvet_plugin.h"
#include "plugin/plugin_wire.h"
#include "value/check_report.h"

struct plugin_host;

struct plugin_settings {
    const char *plugin;  /* path of the shared object */
    const char *tool;    /* path of the program cuvet; NULL or empty: the one beside `library` */
    const char *library; /* path of libcuvet.so */
    const char *version; /* cuvet_version() */
    char *const *env;    /* of the program */
    const char *run;     /* CUVET_RUN, or NULL */
    int64_t rank;        /* -1: none */
};

/* Checks that plugin and program are there; starts nothing. On failure *out is NULL and err names
 * what is missing. */
enum status plugin_host_create(struct plugin_host **out, const struct plugin_settings *settings,
                               struct error *err);
void plugin_host_destroy(struct plugin_host *host); /* NULL is allowed */

/* A mismatch, the `occurrence`th of its kernel; `bundle` is its path or NULL. Thinned out as in
 * thin.h. Blocks for a millisecond when it starts the process, never later. NULL does nothing. */
void plugin_host_finding(struct plugin_host *host, const struct check_report *report,
                         uint64_t occurrence, const char *bundle);

/* No more findings. Waits for the plugin, PLUGIN_EXIT_MS and a little at most. */
void plugin_host_end(struct plugin_host *host);

/* After the end: one sentence on what became of the findings, into *out, and how many were lost.
 * Nothing and 0 when there were none. */
uint64_t plugin_host_send(const struct plugin_host *host, struct textbuf *out);

#endif
