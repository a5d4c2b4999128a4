/*
 * cmd_worker.c - `cuvet worker --serve`: runs kernels for another verb (tools/worker/worker.h),
 * which it serves on the socket that is its standard input. Without --serve: shows the device.
 */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>
#include "text/json_out.h"
#include "text/printable.h"
#include "tools/cmd.h"
#include "tools/serve/inherited.h"
#include "tools/worker/serve.h"
#include "tools/worker/worker.h"

static void show_json(const struct worker_about *about)
{
    struct json_out json;
    json_out_init(&json);
    json_begin_object(&json);
    json_put_int(&json, "version", 1);
    json_put_string(&json, "kind", about->kind);
    json_put_string(&json, "name", about->name);
    json_put_int(&json, "sm", about->sm);
    json_put_int(&json, "driver", about->driver);
    json_put_int(&json, "multiprocessors", about->multiprocessors);
    json_put_uint(&json, "memory", about->memory);
    json_end(&json);
    if (json_out_ok(&json))
        printf("%s\n", json.text.data);
    json_out_release(&json);
}

static void show_text(const struct worker_about *about)
{
    printf("%s: %s, sm_%d, driver %d, %d multiprocessors, %llu MiB\n", about->kind, about->name,
           about->sm, about->driver, about->multiprocessors,
           (unsigned long long)(about->memory >> 20));
}

static int show(const struct worker_settings *settings, bool json)
{
    struct worker *worker;
    struct error err = {{0}};
    if (worker_start(&worker, settings, &err)) {
        fprintf(stderr, "cuvet worker: %s\n", err.text);
        return 1;
    }
    if (json)
        show_json(worker_about(worker));
    else
        show_text(worker_about(worker));
    worker_end(worker);
    return 0;
}

int cmd_worker(int argc, char **argv)
{
    struct worker_settings settings = {.device = WORKER_AUTO};
    bool json = false;
    struct error err = {{0}};
    if (argc == 2 && !strcmp(argv[1], "--serve")) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        inherited_close();
        return worker_serve(STDIN_FILENO);
    }
    if (argc == 2 && !strcmp(argv[1], "--help")) {
        printf("usage: cuvet worker [--json] [--device auto|gpu|interpreter|N]\n");
        return 0;
    }
    for (int i = 1; i < argc && !*err.text; i++) {
        if (!strcmp(argv[i], "--json"))
            json = true;
        else if (strcmp(argv[i], "--device") != 0 || i + 1 == argc)
            error_set(&err, STATUS_INVALID,
                      "expected nothing, --json or --device auto|gpu|interpreter|N, not %s",
                      PRINTABLE(argv[i]));
        else
            worker_device_read(argv[++i], &settings, &err);
    }
    if (!*err.text)
        return show(&settings, json);
    fprintf(stderr, "cuvet worker: %s\n", err.text);
    return 2;
}
