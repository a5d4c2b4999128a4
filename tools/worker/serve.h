/* serve.h - the serving side of a worker: serves requests on a socket until it is closed. */
#ifndef TOOLS_WORKER_SERVE_H
#define TOOLS_WORKER_SERVE_H

/* The exit status of the process. */
int worker_serve(int socket);

#endif
