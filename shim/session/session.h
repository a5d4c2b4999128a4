/*
 * session.h - one process's use of cuvet, from cuInit to exit.
 *
 * Life: session_start once, inside cuInit, from the driver's injection hook; its end runs at
 * exit. Any failure turns checking off and is reported in one line; the program goes on as without
 * cuvet.
 */
#ifndef SESSION_H
#define SESSION_H

/* Reads options and registry, starts the collector, opens a back end. Never fails visibly.
 */
void session_start(void);

#endif
