/*
 * control_server.h - the thread that serves `cuvet ctl`: named cuvet-ctl, all signals blocked,
 * asleep in poll while there is no request.
 *
 * Nothing that a client does can hold it up: its descriptors do not block, a client has
 * SERVER_CLIENT_MS to send its request and as long to take its answer, at most SERVER_CLIENTS are
 * served at once (the others wait in the socket's queue), and a request that waits for checks is
 * only tried again at intervals. Should the program close descriptors that it does not own, the
 * thread detects that before it uses them, and ends.
 *
 * Life: control_server_start after control_open; control_server_stop once, at exit; what it made is
 * never freed when the thread does not end in time. NULL is allowed and does nothing.
 */
#ifndef CONTROL_CONTROL_SERVER_H
#define CONTROL_CONTROL_SERVER_H

#include <stdbool.h>
#include "base/error.h"

enum { SERVER_CLIENTS = 4, SERVER_CLIENT_MS = 2000, SERVER_STOP_MS = 1000 };

struct control_server;

/* What tests change; zeros are the usual. */
struct control_server_settings {
    const char *folder;      /* instead of the places of control_socket.h */
    int client_ms;           /* instead of SERVER_CLIENT_MS */
    bool (*allowed)(int fd); /* instead of control_peer_is_me */
};

/* Listens as this process and starts the thread. *out is written on success only. */
enum status control_server_start(struct control_server **out,
                                 const struct control_server_settings *settings, struct error *err);

/* Removes the socket and ends the thread, waiting SERVER_STOP_MS at most. */
void control_server_stop(struct control_server *server);

/* In the child of a fork: closes what it inherited. Async-signal-safe. */
void control_server_in_child(struct control_server *server);

#endif
