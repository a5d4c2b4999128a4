#include "tools/serve/lint_serve.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "cuvet.h"
#include "linter/linter.h"
#include "linter/linter_wire.h"
#include "tools/serve/inherited.h"
#include "tools/lint/input.h"

enum {
    HOST = STDIN_FILENO,
    ALARM_S = LINTER_KERNEL_MS / 1000 + 10, /* for one kernel; the signal ends the process */
    NICE = 19                               /* the program's threads come first */
};

static const rlim_t MEMORY = (rlim_t)2 << 30;

static bool receive(void *bytes, size_t count)
{
    return recv(HOST, bytes, count, MSG_WAITALL) == (ssize_t)count;
}

static bool send_all(const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count) {
        ssize_t done = send(HOST, at, count, MSG_NOSIGNAL);
        if (done < 0 && errno != EINTR)
            return false;
        at += done > 0 ? done : 0;
        count -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

/* What a sanitizer maps is larger than any bound. */
static void bound_memory(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const struct rlimit most = {MEMORY, MEMORY};
    setrlimit(RLIMIT_AS, &most);
#endif
}

static bool answer(enum lint_outcome outcome, uint32_t notes, const struct textbuf *body)
{
    struct lint_answer head;
    lint_wire_answer(&head, outcome, notes, body->length);
    return send_all(&head, sizeof head) && send_all(body->data, body->length);
}

/* As many findings as fit into an answer; returns how many. */
static uint32_t put_findings(struct textbuf *body, const struct lint_report *report)
{
    uint32_t notes = 0;
    for (size_t i = 0; i < report->findings; i++) {
        const struct lint_finding *f = &report->finding[i];
        size_t before = body->length;
        lint_wire_put(body, &(struct lint_note){.rule = f->rule->id,
                                                .severity = lint_severity_text(f->severity),
                                                .sentence = f->text,
                                                .source = f->source,
                                                .line = f->line,
                                                .source_line = f->source_line,
                                                .more = f->more});
        if (body->failed || body->length > LINTER_ANSWER_BYTES) {
            body->length = before;
            break;
        }
        notes++;
    }
    return notes;
}

static bool serve_kernel(struct registry *registry, const struct lint_request *head,
                         const char *symbol, const char *image)
{
    struct lint_launch launch = {.shared = head->shared};
    struct lint_report report = {
        .settings = {
            .registry = registry, .symbol = symbol, .launch = &launch, .least = LINT_NOTE}};
    struct textbuf body;
    struct error err = {{0}};
    memcpy(launch.grid, head->grid, sizeof launch.grid);
    memcpy(launch.block, head->block, sizeof launch.block);
    textbuf_init(&body);
    enum status status = lint_image(&report, image, head->image, "image", &err);
    enum lint_outcome outcome = report.kernels                               ? LINT_DONE
                                : report.skipped || status == STATUS_INVALID ? LINT_UNREAD
                                                                             : LINT_NO_PTX;
    uint32_t notes = put_findings(&body, &report);
    bool sent = answer(outcome, notes, &body);
    textbuf_release(&body);
    lint_release(&report);
    return sent;
}

static void pass_over(void *user, const char *sentence)
{
    (void)user;
    (void)sentence;
}

/* The program's registry, whose complaints are the library's; NULL: none. */
static struct registry *open_registry(char **argument)
{
    struct registry *registry = NULL;
    const struct registry_source source = {.files = argument[1],
                                           .tolerances = *argument[2] ? argument[2] : NULL,
                                           .tables = !strcmp(argument[3], "on")};
    registry_load(&registry, &source, pass_over, NULL);
    return registry;
}

int lint_serve(char **argument)
{
    struct lint_request head;
    bool same = !strcmp(argument[0], cuvet_version()), goes_on = true;
    inherited_close();
    inherited_end_with_host();
    if (nice(NICE) < 0)
        errno = 0;
    bound_memory();
    struct registry *registry = same ? open_registry(argument) : NULL;
    while (goes_on && receive(&head, sizeof head) && lint_wire_is_request(&head)) {
        size_t bytes = (size_t)head.symbol + head.image;
        char *body = malloc(bytes + 1);
        alarm(ALARM_S);
        goes_on = body && receive(body, bytes);
        if (goes_on) {
            body[head.symbol - 1] = body[bytes] = '\0';
            goes_on = same ? serve_kernel(registry, &head, body, body + head.symbol)
                           : answer(LINT_OTHER_BUILD, 0, &(struct textbuf){0});
        }
        alarm(0);
        free(body);
    }
    registry_destroy(registry);
    return 0;
}
