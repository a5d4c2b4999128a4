/*
 * compile_client.h - one process `cuvet compile --serve` beside the program, seen from the program.
 *
 * It compiles one text after the other and ends when its socket is closed, or when the program
 * ends. Nothing here waits: the owner polls the socket and takes steps. One thread.
 */
#ifndef COMPILE_COMPILE_CLIENT_H
#define COMPILE_COMPILE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/error.h"
#include "compile/compile_wire.h"

struct compile_client {
    int socket; /* -1: no process */
    dev_t device;
    ino_t inode;   /* a program may close what it does not own */
    char *request; /* NULL: sent, or none */
    size_t length, sent;
    struct compile_answer head;
    char *body;
    size_t got; /* of head and body together */
    int64_t deadline;
};

enum compile_step { COMPILE_UNDER_WAY, COMPILE_REPLIED, COMPILE_LOST, COMPILE_LATE };

/* What a process is started with. */
struct compile_server {
    const char *tool, *version; /* path of the program cuvet, and the library's version */
    const char *cache;          /* the cache folder; "": none */
    const char *library;        /* "libnvrtc.so": that this process has mapped it is of use there */
    const char *path;           /* of NVRTC, by its option; NULL or "": it is searched */
    int major;                  /* of the driver */
    char *const *env;
};

/* A zeroed struct with socket -1 has no process. Blocks for some milliseconds. */
enum status compile_client_start(struct compile_client *client, const struct compile_server *server,
                                 struct error *err);

/* False: no memory. One text at a time; `timeout_ms` from now on. */
bool compile_client_request(struct compile_client *client, enum compile_kind kind,
                            const struct user_text *text, int arch, int timeout_ms);

/* Sends and receives what can be. After COMPILE_REPLIED the result is to be taken; after LOST and
 * LATE the process is gone. */
enum compile_step compile_client_step(struct compile_client *client);
enum status compile_client_take(struct compile_client *client, struct ref_image *image,
                                bool *cached, struct error *err);

/* Closes the socket, at which the process ends. */
void compile_client_end(struct compile_client *client);

#endif
