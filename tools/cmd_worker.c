/*
 * cmd_worker.c - `cuvet worker --serve`: runs kernels for another verb (tools/worker/worker.h),
 * which it serves on the socket that is its standard input. Without --serve: shows the device.
 */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>
#include "tools/cmd.h"
#include "tools/inherited.h"
#include "tools/worker/serve.h"
#include "tools/worker/worker.h"

static int show(enum worker_device device)
{
    const struct worker_settings settings = {.device = device};
    struct worker *worker;
    struct error err = {{0}};
    enum status status = worker_start(&worker, &settings, &err);
    if (status) {
        fprintf(stderr, "cuvet worker: %s\n", err.text);
        return status == STATUS_NOT_FOUND ? 2 : 1;
    }
    const struct worker_about *about = worker_about(worker);
    printf("%s: %s, sm_%d, driver %d, %d multiprocessors, %llu MiB\n", about->kind, about->name,
           about->sm, about->driver, about->multiprocessors,
           (unsigned long long)(about->memory >> 20));
    worker_end(worker);
    return 0;
}

int cmd_worker(int argc, char **argv)
{
    enum worker_device device = WORKER_AUTO;
    struct error err = {{0}};
    if (argc == 2 && !strcmp(argv[1], "--serve")) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        inherited_close();
        return worker_serve(STDIN_FILENO);
    }
    if (argc == 2 && !strcmp(argv[1], "--help")) {
        printf("usage: cuvet worker [--device auto|gpu|interpreter]\n");
        return 0;
    }
    if (argc == 3 && !strcmp(argv[1], "--device") && !worker_device_of(argv[2], &device, &err))
        return show(device);
    if (argc == 1)
        return show(WORKER_AUTO);
    fprintf(stderr, "cuvet worker: %s\n",
            *err.text ? err.text : "expected nothing, or --device auto|gpu|interpreter");
    return 2;
}
