#include "plugin/plugin_host.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "system/helper.h"
#include "system/log.h"
#include "system/own_fd.h"
#include "system/tool.h"
#include "refs/abi/ref_list.h"
#include "report/contracts.h"
#include "report/place.h"
#include "report/thin.h"

enum { SLACK_MS = 500 }; /* for the process itself, beyond what it gives the plugin */

struct plugin_host {
    char plugin[PATH_MAX], tool[PATH_MAX];
    char version[32], host[65], run[96];
    char **env;
    int64_t rank;
    struct own_fd socket; /* none: not started, or gone */
    bool started, failed, replied;
    uint64_t sent, unsent; /* unsent: lost before they reached the process */
    struct plugin_tally tally;
    char message[PLUGIN_MESSAGE_MAX];
};

enum status plugin_host_create(struct plugin_host **out, const struct plugin_settings *settings,
                               struct error *err)
{
    struct plugin_host *host = calloc(1, sizeof *host);
    enum status status = STATUS_OK;

    *out = NULL;
    if (!host)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the plugin");
    own_fd_take(&host->socket, -1);
    host->rank = settings->rank;
    gethostname(host->host, sizeof host->host - 1);
    snprintf(host->run, sizeof host->run, "%s", settings->run ? settings->run : "");
    snprintf(host->version, sizeof host->version, "%s", settings->version);
    if (!*settings->plugin)
        status = error_set(err, STATUS_INVALID, "CUVET_PLUGIN names no plugin");
    else if (!realpath(settings->plugin, host->plugin) || access(host->plugin, R_OK) != 0)
        status = error_set(err, STATUS_NOT_FOUND, "CUVET_PLUGIN names %s, which cannot be read",
                           settings->plugin);
    if (!status)
        status = tool_find(settings->tool, settings->library, "runs plugins", host->tool, err);
    if (!status && !(host->env = helper_environment(settings->env)))
        status = error_set(err, STATUS_NO_MEMORY, "no memory for the plugin's environment");
    if (status) {
        free(host);
        return status;
    }
    *out = host;
    return STATUS_OK;
}

void plugin_host_destroy(struct plugin_host *host)
{
    if (!host)
        return;
    own_fd_close(&host->socket);
    free(host->env);
    free(host);
}

static bool make_pair(int pair[2])
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    pair[0] = own_fd_up(pair[0]);
    pair[1] = own_fd_up(pair[1]);
    if (pair[0] >= 0 && pair[1] >= 0)
        return true;
    for (int i = 0; i < 2; i++) {
        if (pair[i] >= 0)
            close(pair[i]);
    }
    return false;
}

static void start_plugin(struct plugin_host *host)
{
    char *argv[] = {"cuvet", "plugin", "--serve", host->version, host->plugin, NULL};
    struct error err = {0};
    int pair[2];

    host->started = true;
    if (!make_pair(pair)) {
        error_set(&err, STATUS_IO, "no socket");
    } else if (helper_start(host->tool, argv, host->env, pair[1], &err)) {
        close(pair[0]);
        close(pair[1]);
    } else {
        close(pair[1]);
        own_fd_take(&host->socket, pair[0]);
        return;
    }
    host->failed = true;
    log_line(LOG_WARN, "the plugin %s gets no findings: %s", host->plugin, err.text);
}

/* Reads the replies that have arrived; the last one counts. */
static void read_replies(struct plugin_host *host)
{
    struct plugin_tally tally;
    ssize_t got;
    int fd;

    while ((fd = own_fd_get(&host->socket)) >= 0) {
        got = recv(fd, &tally, sizeof tally, MSG_DONTWAIT);
        if (got == (ssize_t)sizeof tally)
            host->tally = tally, host->replied = true;
        else if (got >= 0 || (errno != EAGAIN && errno != EINTR))
            own_fd_close(&host->socket);
        else if (errno == EAGAIN)
            return;
    }
}

static struct cuvet_element plugin_element(const struct check_report *report, uint32_t tensor,
                                           uint64_t index, const double values[3])
{
    struct cuvet_element element = {0};
    struct place place;

    if (!place_of(report->binding, tensor, index, &place))
        return element;
    element.array = place.array;
    bool fits = place.ndim <= (int)(sizeof element.index / sizeof element.index[0]);
    element.dims = fits ? place.ndim : place.formal_ndim;
    for (int d = 0; d < element.dims; d++)
        element.index[d] = fits ? place.index[d] : place.formal_index[d];
    element.got = values[0];
    element.reference = values[1];
    element.bound = values[2];
    return element;
}

static struct cuvet_mismatch finding_of(const struct plugin_host *host,
                                        const struct check_report *report, uint64_t occurrence,
                                        const char *bundle)
{
    const struct ref_verdict *n = &report->numbers;
    const struct kernel_spec *spec = report->spec;
    struct cuvet_mismatch finding = {
        .size = sizeof finding,
        .kernel = spec->symbol,
        .label = place_kernel(spec),
        .reference = spec->reference ? spec->reference->name : NULL,
        .where = spec->where,
        .bundle = bundle && *bundle ? bundle : NULL,
        .host = host->host,
        .run = host->run[0] ? host->run : NULL,
        .pid = getpid(),
        .rank = host->rank,
        .launch = report->launch,
        .occurrence = occurrence,
        .device = report->device,
        .shared_bytes = report->shared_bytes,
        .elements = n->checked,
        .violations = n->violations,
        .class_mismatches = n->class_mismatch,
        .max_abs = n->max_abs,
        .max_rel = n->max_rel,
        .max_ratio = n->max_ratio,
        .worst = plugin_element(report, n->worst_tensor, n->worst_index,
                                (const double[]){n->worst_got, n->worst_ref, n->worst_bound}),
        .first = plugin_element(report, n->first_tensor, n->first_index,
                                (const double[]){n->first_got, n->first_ref, n->first_bound}),
        .differs = report->differs,
        .differs_from_launch = report->differs ? report->earlier : 0,
        .graph = report->place.graph,
        .graph_node = report->place.node,
        .graph_replay = report->place.replay,
    };
    const struct subset *subset = report->binding ? &report->binding->subset : NULL;

    if (subset && subset->dim) {
        finding.subset = subset->dim;
        finding.subset_checked = subset->count;
        finding.subset_of = subset->total;
    }
    memcpy(finding.grid, report->grid, sizeof finding.grid);
    memcpy(finding.block, report->block, sizeof finding.block);
    return finding;
}

void plugin_host_finding(struct plugin_host *host, const struct check_report *report,
                         uint64_t occurrence, const char *bundle)
{
    struct cuvet_mismatch finding;
    char contract[PARITY_TEXT];
    int before = errno;
    size_t size;
    int fd;

    if (!host || !thin_admits(occurrence, THIN_FINDINGS))
        return;
    if (!host->started)
        start_plugin(host);
    read_replies(host);
    finding = finding_of(host, report, occurrence, bundle);
    if (report->parity.differ) {
        parity_text(&report->parity, contract);
        finding.contract = contract;
    }
    size = plugin_wire_put(&finding, host->message, sizeof host->message);
    fd = own_fd_get(&host->socket);
    if (fd >= 0 && size > 0 &&
        send(fd, host->message, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size)
        host->sent++;
    else
        host->unsent++;
    errno = before;
}

void plugin_host_end(struct plugin_host *host)
{
    int64_t until = clock_ns() + (PLUGIN_EXIT_MS + SLACK_MS) * INT64_C(1000000);
    int before = errno, fd = host ? own_fd_get(&host->socket) : -1;

    if (fd < 0)
        return;
    shutdown(fd, SHUT_WR);
    read_replies(host);
    while ((fd = own_fd_get(&host->socket)) >= 0) {
        struct pollfd answer = {.fd = fd, .events = POLLIN};
        int64_t left = until - clock_ns();

        if (left <= 0)
            break;
        poll(&answer, 1, (int)(left / 1000000) + 1);
        read_replies(host);
    }
    own_fd_close(&host->socket);
    errno = before;
}

uint64_t plugin_host_send(const struct plugin_host *host, struct textbuf *out)
{
    uint64_t total, lost;

    if (!host || host->sent + host->unsent == 0)
        return 0;
    total = host->sent + host->unsent;
    lost = total > host->tally.handled ? total - host->tally.handled : 0;
    textbuf_printf(out, "the plugin %s handled %" PRIu64 " of %" PRIu64 " finding%s", host->plugin,
                   host->tally.handled, total, total == 1 ? "" : "s");
    if (host->failed)
        textbuf_printf(out, "; it could not be started");
    else if (!host->replied)
        textbuf_printf(out, "; %s, which runs it, gave no answer", host->tool);
    else if (host->tally.state == PLUGIN_UNLOADABLE)
        textbuf_printf(out, "; it could not be loaded, `cuvet plugin` prints why");
    else if (host->tally.state == PLUGIN_GIVEN_UP)
        textbuf_printf(out, "; it crashed, ended or hung too often and was given up");
    else if (host->tally.restarts > 0)
        textbuf_printf(out, "; it crashed, ended or hung and was started again %u time%s",
                       host->tally.restarts, host->tally.restarts == 1 ? "" : "s");
    if (host->unsent > 0 && !host->failed)
        textbuf_printf(out, "; %" PRIu64 " could not be handed over", host->unsent);
    return lost;
}
