#include "tools/serve/compile_serve.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/arena.h"
#include "cuvet.h"
#include "driver/jitlink_api.h"
#include "driver/nvrtc_api.h"
#include "tools/serve/inherited.h"
#include "compile/compile_wire.h"
#include "compile/compiler.h"
#include "compile/ptx_link.h"
#include "compile/ref_cache.h"
#include "compile/ref_compile.h"

enum {
    HOST = STDIN_FILENO,
    LOCK_WAIT_MS = 60000, /* for another process that compiles the same text */
    ALARM_S = COMPILER_TEXT_MS / 1000 + 60,
    NICE = 10 /* the program's threads come first */
};

struct server {
    const char *version; /* of the program's library */
    struct find_hints hints;
    struct ref_cache cache;
    bool opened;
    struct nvrtc_file jitlink; /* the build that was opened; path "": none yet */
};

/* ---- one text ---- */

static enum status open_nvrtc(struct server *server, struct error *err)
{
    if (server->opened)
        return STATUS_OK;
    enum status status = nvrtc_api_load(&server->hints, err);
    server->opened = !status;
    if (!status && nvrtc_api_file())
        ref_cache_set_nvrtc(&server->cache, nvrtc_api_file());
    return status ? STATUS_NOT_FOUND : STATUS_OK;
}

/* False where it is not there, or its name is not known. */
static bool read_cache(struct server *server, const struct user_text *text, int arch,
                       char name[CACHE_NAME], struct ref_image *image)
{
    name[0] = '\0';
    return ref_cache_has_nvrtc(&server->cache) &&
           ref_cache_name(&server->cache, text, arch, name) &&
           ref_cache_read(&server->cache, name, image);
}

typedef enum status (*compile_fn)(const void *text, int arch, struct ref_image *image,
                                  struct error *err);

/* Compiles what no other process compiles meanwhile, and keeps it; `name` "": it is not kept. */
static enum status compile_once(struct server *server, const char *name, compile_fn work,
                                const void *text, int arch, struct ref_image *image, bool *cached,
                                struct error *err)
{
    enum status status = STATUS_OK;
    int lock = *name ? cache_lock(&server->cache.folder, name, LOCK_WAIT_MS) : -1;
    *cached = lock >= 0 && ref_cache_read(&server->cache, name, image);
    if (!*cached)
        status = work(text, arch, image, err);
    if (!*cached && !status && *name)
        ref_cache_write(&server->cache, name, image, NULL);
    cache_unlock(&server->cache.folder, name, lock);
    return status;
}

static enum status compile_text(const void *text, int arch, struct ref_image *image,
                                struct error *err)
{
    return ref_compile(text, arch, image, err);
}

static enum status compile_ptx_text(const void *text, int arch, struct ref_image *image,
                                    struct error *err)
{
    return ptx_link(text, arch, image, err);
}

static enum status compile(struct server *server, const struct user_text *text, int arch,
                           struct ref_image *image, bool *cached, struct error *err)
{
    char name[CACHE_NAME];
    *cached = read_cache(server, text, arch, name, image);
    if (*cached)
        return STATUS_OK;
    enum status status = open_nvrtc(server, err);
    if (status)
        return status;
    *cached = read_cache(server, text, arch, name, image);
    if (*cached)
        return STATUS_OK;
    return compile_once(server, name, compile_text, text, arch, image, cached, err);
}

static enum status compile_reference(struct server *server, struct user_text *text, int arch,
                                     struct arena *arena, struct ref_image *image, bool *cached,
                                     struct error *err)
{
    enum status status = user_text_scan(text, arena, err);
    return status ? status : compile(server, text, arch, image, cached, err);
}

/* By the cache, where the build of nvJitLink has compiled the same text already. */
static enum status compile_ptx(struct server *server, const char *text, int arch,
                               struct ref_image *image, bool *cached, struct error *err)
{
    char name[CACHE_NAME];
    enum status status = server->jitlink.path[0]
                             ? STATUS_OK
                             : jitlink_api_load(&server->hints, &server->jitlink, err);
    if (status)
        return STATUS_NOT_FOUND;
    ref_cache_ptx_name(&server->cache, text, arch, &server->jitlink, name);
    return compile_once(server, name, compile_ptx_text, text, arch, image, cached, err);
}

/* ---- the socket ---- */

static bool receive(void *bytes, size_t count)
{
    return recv(HOST, bytes, count, MSG_WAITALL) == (ssize_t)count;
}

static bool answer(enum status status, bool cached, const char *sentence,
                   const struct ref_image *image)
{
    size_t size, sent = 0;
    char *message = compile_wire_answer(status, cached, sentence, image, &size);
    while (message && sent < size) {
        ssize_t done = send(HOST, message + sent, size - sent, MSG_NOSIGNAL);
        if (done < 0 && errno != EINTR)
            break;
        sent += done > 0 ? (size_t)done : 0;
    }
    free(message);
    return message && sent == size;
}

static bool serve_text(struct server *server, const struct compile_request *head, const char *bytes)
{
    struct user_text text;
    struct ref_image image = {0};
    struct arena arena = {0};
    struct error err = {{0}};
    bool cached = false;
    enum status status = STATUS_NOT_FOUND;
    if (strcmp(server->version, cuvet_version()) != 0)
        error_set(&err, status, "the program cuvet is version %s, the library %s", cuvet_version(),
                  server->version);
    else if (!compile_wire_text(head, bytes, &text))
        status = error_set(&err, STATUS_INVALID, "a request to compile a reference is damaged");
    else if (head->kind == COMPILE_PTX)
        status = compile_ptx(server, text.text, head->arch, &image, &cached, &err);
    else
        status = compile_reference(server, &text, head->arch, &arena, &image, &cached, &err);
    bool sent = answer(status, cached, err.text, &image);
    ref_image_release(&image);
    arena_release(&arena);
    return sent;
}

int compile_serve(char **argument)
{
    const char *path = argument[2], *wheels = argument[4], *last = argument[5];
    struct server server = {.version = argument[0],
                            .hints = {.path = path,
                                      .major = atoi(argument[3]),
                                      .wheels = *wheels ? wheels : NULL,
                                      .last = *last ? last : NULL}};
    struct compile_request head;
    bool goes_on = true;
    inherited_close();
    inherited_end_with_host();
    if (nice(NICE) < 0)
        errno = 0;
    find_homes(&server.hints);
    ref_cache_open(&server.cache, *argument[1] ? argument[1] : "off", cuvet_version(),
                   &server.hints);
    while (goes_on && receive(&head, sizeof head)) {
        size_t follows = compile_wire_follows_request(&head);
        char *bytes = follows ? malloc(follows) : NULL;
        alarm(ALARM_S);
        goes_on = bytes && receive(bytes, follows) && serve_text(&server, &head, bytes);
        alarm(0);
        free(bytes);
    }
    return 0;
}
