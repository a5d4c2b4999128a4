/*
 * world.c - a library to preload in place of libcuvet.so where there is no GPU: the control part of
 * cuvet and all that it steers, over the fake driver of the unit tests. From its constructor on it
 * serves `cuvet ctl`, and one thread launches `add` 500 times a second; every 10th launch is wrong.
 *
 * It lives in every process that is preloaded with it and that WORLD_PROGRAM names by the end of
 * its path.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "control/control.h"
#include "control/control_server.h"
#include "unit/fakes/control_world.h"

static struct control_server *server;
static pthread_t launching;
static atomic_bool ending;
static pid_t pid;

static bool is_wanted(void)
{
    const char *wanted = getenv("WORLD_PROGRAM");
    char path[512];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    size_t tail = wanted ? strlen(wanted) : 0;
    return tail && strlen(path) >= tail && !strcmp(path + strlen(path) - tail, wanted);
}

static void *launch(void *user)
{
    const struct timespec pace = {.tv_nsec = 2000000};
    for (unsigned i = 0; !atomic_load(&ending); i++) {
        control_world_launch(i % 10 == 9, false);
        nanosleep(&pace, NULL);
    }
    return user;
}

static void in_child(void)
{
    control_in_child();
    control_server_in_child(server);
}

__attribute__((constructor)) static void on_load(void)
{
    const struct gate_settings gate = {.sample = 1, .first = 2};
    struct error err = {{0}};
    if (!is_wanted())
        return;
    pid = getpid();
    control_world_open(&gate);
    if (control_server_start(&server, &(struct control_server_settings){0}, &err))
        fprintf(stderr, "world: %s\n", err.text);
    pthread_atfork(NULL, NULL, in_child);
    pthread_create(&launching, NULL, launch, NULL);
}

__attribute__((destructor)) static void on_end(void)
{
    if (getpid() != pid)
        return;
    atomic_store(&ending, true);
    pthread_join(launching, NULL);
    control_end();
    control_server_stop(server);
    if (!control_world_close())
        fprintf(stderr, "world: launches were lost\n");
}
