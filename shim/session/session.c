#include "session/session.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <pthread.h>
#include "base/hot.h"
#include "system/log.h"
#include "base/options.h"
#include "base/rank.h"
#include "system/tool.h"
#include "base/uninterrupted.h"
#include "control/control.h"
#include "control/control_server.h"
#include "core/core.h"
#include "cuvet.h"
#include "discover/recorder.h"
#include "driver/cuda_api.h"
#include "graph/graphs.h"
#include "hook/back_end.h"
#include "session/on_mismatch.h"
#include "bundle/bundle.h"
#include "report/summary_parts.h"
#include "report/contracts.h"
#include "report/counters.h"
#include "report/journal.h"
#include "report/summary.h"
#include "compile/compiler.h"
#include "judge/modules/images.h"
#include "lifts/lifts.h"
#include "lifts/own_image.h"
#include "lifts/own_ptx.h"
#include "plan/outlier_choice.h"
#include "gate/own.h"
#include "gate/passing.h"
#include "pipeline/pipeline.h"
#include "registry/registry.h"
#include "state/caches.h"
#include "state/fetch.h"
#include "state/pairs.h"
#include "session/session_lifts.h"
#include "session/session_lint.h"
#include "session/session_reports.h"
#include "session/session_summary.h"
#include "extra/digest.h"
#include "trace/tracing.h"

extern char **environ;

enum { READY_WAIT_MS = 3000, STOP_WAIT_MS = 1000, ENDING_WAIT_MS = 5000 };

/* Everything that lives as long as the process; nothing of it is freed, because threads of the
 * program may be inside a callback while the process ends. */
static struct session {
    struct options options;
    pid_t pid;
    bool watches; /* a trace, a record or notes on PTX are made: no entry is needed */
    struct registry *registry;
    struct counters *counters;
    struct quota quota;
    struct journal *journal;
    uint64_t interim_due; /* ns; the collector's */
    struct summary *summary;
    struct contract_totals contracts[CONTRACTS]; /* by contract.number */
    struct bundles *bundles;
    struct on_mismatch *on_mismatch;
    atomic_bool ended, complete; /* the last reports: begun, written */
    struct images *images;
    struct lifts *lifts;       /* NULL: CUVET_LIFT is off */
    struct session_lint *lint; /* NULL: CUVET_LINT is off */
    struct compiler *compiler; /* NULL: the registry brings no references along */
    struct ptx_compiler *ptx;  /* of `lifts`, or NULL */
    struct sink sink;
    struct pipeline pipeline;
    struct graphs *graphs;
    struct control_targets control;
    struct control_server *server;
    struct tracing tracing;
    bool *preload; /* NULL: each reference is loaded when a check needs it */
} session;

/* ---- the sink: what the judgement found goes to the reports ---- */

HOT static void on_seen(void *user)
{
    counters_seen(((struct session *)user)->counters);
}

HOT static void on_skipped(void *user, const struct kernel_spec *spec, enum skip skip)
{
    counters_skip(((struct session *)user)->counters, spec ? (int64_t)spec->number : -1, skip);
}

/* Its number among those of its kernel. Afterwards the program may have to end. */
static void act_on_mismatch(struct session *s, const struct check_report *report,
                            const char *bundle);

static void report_line(struct session *s, const char *sentence)
{
    log_line(LOG_WARN, "%s", sentence);
    journal_warning(s->journal, "%s", sentence);
}

static void on_judged(void *user, const struct check_report *report,
                      const struct bundle_source *source)
{
    struct session *s = user;
    char path[BUNDLE_PATH] = "";
    if (counters_check(s->counters, report))
        journal_dims(s->journal, report);
    journal_interim(s->journal, s->counters, &s->interim_due);
    if (s->options.digest)
        journal_digest(s->journal, report);
    session_contract_judged(&(struct session_reports){s->counters, s->journal, s->summary},
                            s->contracts, report);
    caches_found(s->pipeline.caches, &report->state.live);
    pairs_met(s->pipeline.pairs, report->parity.met ? report->parity.contract : NULL);
    if (report->verdict == VERDICT_MATCH && !report->notes)
        return;
    if (report->verdict == VERDICT_MISMATCH) {
        if (bundles_wanted(s->bundles, report->spec))
            bundles_write(s->bundles, report, source, path, sizeof(path));
        summary_finding(s->summary, report, *path ? path : NULL);
    }
    journal_check(s->journal, report, *path ? path : NULL);
    if (report->verdict == VERDICT_MISMATCH) {
        control_found(report, *path ? path : NULL);
        act_on_mismatch(s, report, path);
    }
}

static void on_counted(void *user, const struct kernel_spec *spec, enum skip skip,
                       uint64_t launches)
{
    counters_skip_all(((struct session *)user)->counters, spec ? (int64_t)spec->number : -1, skip,
                      launches);
}

static void on_spent(void *user, const struct kernel_spec *spec, const struct check_cost *cost)
{
    counters_spent(((struct session *)user)->counters, spec ? (int64_t)spec->number : -1, cost);
}

static struct tally *find_tallies(void *user, const struct kernel_spec *spec)
{
    return counters_tallies(((struct session *)user)->counters, spec ? (int64_t)spec->number : -1);
}

static void on_warned(void *user, const char *symbol, enum skip skip, const char *sentence)
{
    struct session *s = user;
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    session_warned(&(struct session_reports){s->counters, s->journal, s->summary}, symbol, skip,
                   sentence);
    uninterrupted_end(&kept);
}

static void on_launch_failed(void *user, const struct launch *launch, const char *error_name)
{
    struct session *s = user;
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    session_launch_failed(&(struct session_reports){s->counters, s->journal, s->summary}, launch,
                          error_name);
    uninterrupted_end(&kept);
}

static void on_api_failed(void *user, const struct api_error *error)
{
    struct session *s = user;
    session_api_failed(&(struct session_reports){s->counters, s->journal, s->summary}, error);
}

/* The first launch of a kernel that the registry names. */
static void on_kernel_seen(void *user, const struct known_kernel *kernel, const char *sentence)
{
    struct session *s = user;
    if (kernel->spec) {
        counters_add_kernel(s->counters, kernel->spec);
        journal_kernel(s->journal, kernel->spec);
        return;
    }
    session_unfit(&(struct session_reports){s->counters, s->journal, s->summary}, kernel->symbol,
                  sentence);
}

static void on_steered(void *user, const char *what)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    journal_control(((struct session *)user)->journal, what);
    uninterrupted_end(&kept);
}

/* ---- start ---- */

static void on_complaint(void *user, const char *sentence)
{
    (void)user;
    log_line(LOG_WARN, "%s", sentence);
}

static void on_registry_complaint(void *user, const char *sentence)
{
    struct session *s = user;
    report_line(s, sentence);
    summary_note(s->summary, "%s", sentence);
}

static enum status start_reports(struct session *s, struct error *err)
{
    struct error trouble = {{0}};
    struct bundles_settings bundles = {s->options.report,        s->options.bundles,
                                       s->options.bundle_size,   s->options.seed,
                                       s->options.vendor_images, &s->quota};
    quota_init(&s->quota, s->options.quota);
    s->on_mismatch = on_mismatch_create(&s->options, environ, on_complaint, NULL);
    s->counters = counters_create();
    s->summary = summary_create();
    if (!s->counters || !s->summary)
        return error_set(err, STATUS_NO_MEMORY, "no memory for counters");
    s->interim_due = (uint64_t)s->options.interim_ms * 1000000;
    if (journal_create(&s->journal, s->options.report, *s->options.run ? s->options.run : NULL,
                       &s->quota, &trouble))
        log_line(LOG_WARN, "no journal: %s", trouble.text);
    else if (bundles_create(&s->bundles, &bundles, &trouble))
        log_line(LOG_WARN, "no bundles: %s", trouble.text);
    return STATUS_OK;
}

static bool uses_tables(const struct session *s)
{
    return !strcmp(s->options.tables, "on");
}

static enum status load_registry(struct session *s, struct error *err)
{
    struct registry_source source = {
        s->options.config, *s->options.tolerances ? s->options.tolerances : NULL, uses_tables(s)};
    registry_load(&s->registry, &source, on_registry_complaint, s);
    if (!s->registry)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the registry");
    size_t entries = registry_entries(s->registry);
    journal_start(s->journal, &s->options, entries);
    if (!entries && !s->watches)
        return error_set(err, STATUS_NOT_FOUND, "the registry has no usable entry");
    return STATUS_OK;
}

static int outlier_detector_of(const char *name)
{
    int detector = OUTLIER_OFF;
    while (strcmp(outlier_detector_text(detector), name) != 0)
        detector++;
    return detector;
}

/* One sentence for a text, or STATUS_NOT_FOUND for all of them. */
static void on_compiler_complaint(void *user, enum status status, const char *sentence)
{
    struct error err = {{0}};
    error_set(&err, status, "%s%s",
              status == STATUS_NOT_FOUND ? "references of the registry's own are unchecked: " : "",
              sentence);
    on_registry_complaint(user, err.text);
}

/* Without the program cuvet everything else is checked. */
static void make_compiler(struct session *s)
{
    int version = 0;
    char tool[PATH_MAX];
    struct error err = {{0}};
    struct compiler_settings settings = {.users = registry_user_references(s->registry),
                                         .tool = tool,
                                         .version = cuvet_version(),
                                         .cache = s->options.cache,
                                         .nvrtc = {.path = s->options.nvrtc},
                                         .env = environ,
                                         .complain = on_compiler_complaint,
                                         .user = s};
    if (!settings.users->references)
        return;
    cuda.cuDriverGetVersion(&version);
    settings.nvrtc.major = version / 1000;
    find_homes(&settings.nvrtc);
    enum status status = tool_find(s->options.tool, tool_own_path(), "compiles them", tool, &err);
    if (!status)
        status = compiler_create(&s->compiler, &settings, &err);
    if (status)
        on_compiler_complaint(s, STATUS_NOT_FOUND, err.text);
}

static void wake_collector(void *user)
{
    collector_wake(((struct session *)user)->pipeline.collector);
}

/* A program with eager loading has kernels that wait for others while they run, so no module may be
 * loaded meanwhile, those of cuvet included. */
static bool has_eager_loading(void)
{
    const char *loading = getenv("CUDA_MODULE_LOADING");
    return loading && !strcmp(loading, "EAGER");
}

static enum status start_pipeline(struct session *s, struct error *err)
{
    struct gate_settings gate = {s->options.sample, s->options.first, s->options.seed, 0};
    struct pipeline *p = &s->pipeline;
    s->sink = (struct sink){s,         on_seen,          on_skipped,   on_judged,  on_spent,
                            on_warned, on_launch_failed, find_tallies, on_counted, on_api_failed};
    s->images = images_create(s->registry);
    p->eager = has_eager_loading();
    s->preload = p->eager ? calloc(ref_builtin_count, sizeof(bool)) : NULL;
    rank_read(&gate.rank);
    int fallback = outlier_detector_of(s->options.outlier);
    unsigned detectors = registry_detectors(s->registry, fallback);
    p->gate = gate_create(&gate);
    p->outliers = outliers_create((enum outlier_detector)fallback);
    p->kernels = kernels_create(s->registry, on_kernel_seen, s);
    p->sides = sides_create();
    p->caches = caches_create(); /* NULL: rules between launches are silent */
    p->pairs = pairs_create();
    p->images = s->images;
    p->sink = &s->sink;
    p->seed = s->options.seed;
    p->subset = s->options.digest ? 0 : s->options.subset;
    digest_all = state_reads_rows = s->options.digest;
    p->freivalds = s->options.freivalds;
    p->ready_wait_ms = READY_WAIT_MS;
    if (!s->images || (p->eager && !s->preload) || !p->gate || !p->outliers || !p->kernels ||
        !p->sides)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    bool checks = !tracing_alone(&s->options) && !recorder_wanted(&s->options);
    if (checks) {
        own_ptx_types(p);
        own_image_distinguish(p);
    }
    s->lifts = checks && s->options.lift ? lifts_start(p, s->registry) : NULL;
    s->ptx = s->lifts ? session_lifts_compiler(&s->options, environ) : NULL;
    s->lint = session_lint_start(&(struct session_lint_parts){
        {s->counters, s->journal, s->summary}, &s->options, s->images, p->kernels, environ});
    s->graphs = graphs_create(&(struct graphs_settings){p, s->options.twins});
    if (!s->graphs)
        return error_set(err, STATUS_NO_MEMORY, "no memory");
    make_compiler(s);
    if (s->options.gpu_time && timing_create(&p->timing, err))
        log_line(LOG_DEBUG, "no launch is timed: %s", err->text);
    if (recorder_create(&p->recorder, &s->options, s->images, &s->quota, err))
        return STATUS_INVALID;
    p->sync = s->options.sync;
    tally_passing &= !p->sync;
    p->trace = tracing_start(&s->tracing, &s->options, &s->quota);
    if (s->preload)
        registry_references(s->registry, s->preload);
    struct collector_settings settings = {
        .sides = p->sides,
        .side = {.memory = s->options.memory,
                 .queue = (uint32_t)s->options.queue,
                 .budget = s->options.budget,
                 .outlier = (detectors & ~(1u << OUTLIER_OFF)) != 0,
                 .centroid = (detectors & 1u << OUTLIER_CENTROID) != 0,
                 .lift = s->ptx,
                 .compiler = s->compiler},
        .sink = &s->sink,
        .images = s->images,
        .preload = s->preload,
        .chore = graphs_chore(s->graphs),
        .hardware = !strcmp(s->options.profile, "sdc"),
    };
    if (s->compiler)
        compiler_on_result(s->compiler, wake_collector, s);
    if (s->ptx)
        ptx_compiler_on_result(s->ptx, wake_collector, s);
    return collector_create(&p->collector, &settings, err);
}

static void open_control(struct session *s)
{
    struct error err = {{0}};
    s->control = (struct control_targets){&s->pipeline, s->counters, on_steered, s};
    if (tracing_alone(&s->options) || recorder_wanted(&s->options))
        cuvet_stop(0); /* until the program starts it */
    control_open(&s->control);
    if (s->options.ctl &&
        control_server_start(&s->server, &(struct control_server_settings){0}, &err))
        report_line(s, err.text);
}

/* ---- end ---- */

static void report_plugin_end(struct session *s)
{
    struct textbuf text;
    textbuf_init(&text);
    uint64_t lost = on_mismatch_end(s->on_mismatch, &text);
    if (text.length > 0 && !text.failed) {
        summary_note(s->summary, "%s", text.data);
        if (lost > 0)
            journal_warning(s->journal, "%s", text.data);
    }
    textbuf_release(&text);
}

/* Stops all threads and work of cuvet and completes the reports, once. */
static void end_reports(struct session *s)
{
    if (atomic_exchange(&s->ended, true))
        return;
    core_mute();
    if (collector_stop(s->pipeline.collector, STOP_WAIT_MS))
        collector_skip_rest(s->pipeline.collector);
    else
        counters_cut_short(s->counters);
    session_lint_end(s->lint, 0);
    lifts_stop(s->lifts, STOP_WAIT_MS);
    report_plugin_end(s);
    uint64_t dropped = tracing_end(&s->tracing, STOP_WAIT_MS);
    if (dropped > 0)
        summary_note(s->summary, "the trace lacks %llu launches, for which its rings had no room",
                     (unsigned long long)dropped);
    counters_hook(s->counters, atomic_load(&passing.hook_ns));
    timing_stop(s->pipeline.timing, STOP_WAIT_MS);
    recorder_finish(s->pipeline.recorder);
    session_gpu_time(s->counters, s->pipeline.kernels, s->pipeline.timing);
    struct textbuf unmet, contracts, lint, precision;
    textbuf_init(&contracts);
    textbuf_init(&lint);
    textbuf_init(&precision);
    if (s->lifts)
        lifts_print(s->lifts, &precision);
    session_lint_text(s->lint, &lint);
    session_contracts_end(&(struct session_reports){s->counters, s->journal, s->summary},
                          s->registry, s->contracts, &contracts);
    journal_end(s->journal, s->counters);
    textbuf_init(&unmet);
    registry_unmet(s->registry, &unmet);
    struct summary_facts facts = {.entries = registry_entries(s->registry),
                                  .journal = journal_kept_path(s->journal),
                                  .lost_lines = journal_lost(s->journal),
                                  .unmet = unmet.length ? unmet.data : NULL,
                                  .precision = precision.length ? precision.data : NULL,
                                  .contracts = contracts.length ? contracts.data : NULL,
                                  .lint = lint.length ? lint.data : NULL,
                                  .calls = registry_has_calls(s->registry),
                                  .cupti = back_end_is_cupti()};
    if (s->options.summary)
        session_summary_print(s->summary, s->counters, &facts, (size_t)s->options.unregistered);
    textbuf_release(&unmet);
    textbuf_release(&contracts);
    textbuf_release(&lint);
    textbuf_release(&precision);
    on_mismatch_end_program(s->on_mismatch);
    atomic_store(&s->complete, true);
}

/* A fork from now on finds none. */
static void end_server(struct session *s)
{
    struct control_server *server = s->server;
    s->server = NULL;
    control_server_stop(server);
}

/* Exit was called on a fault of this thread while it held locks of cuvet: taking them again would
 * wait for ever. The journal keeps what it has, without its last line. */
static void end_on_fault(void)
{
    core_mute();
    log_line(LOG_WARN, "the program ended on a fault inside cuvet: there is no summary");
}

static void finish_uncancelled(struct session *s)
{
    const struct timespec nap = {.tv_nsec = 10000000};
    /* Exit in a signal handler: the launch that it interrupted is never handed over. */
    int wait_ms = core_launch_open() || core_call_open() ? 0 : (int)s->options.exit_wait_ms;
    own_thread.work = OWN_WORK;
    session_end_compiler(s->compiler, s->summary, STOP_WAIT_MS);
    ptx_compiler_stop(s->ptx, STOP_WAIT_MS);
    control_end();
    end_server(s);
    collector_drain(s->pipeline.collector, wait_ms);
    session_lint_end(s->lint, wait_ms);
    end_reports(s);
    /* Where a mismatch is ending the program on another thread, exit does not overtake it. */
    for (int i = 0; i < ENDING_WAIT_MS / 10 && !atomic_load(&s->complete); i++)
        nanosleep(&nap, NULL);
}

static void finish_session(void)
{
    struct session *s = &session;
    if (getpid() != s->pid)
        return;
    int state = uncancelled_begin();
    if (uninterrupted_now())
        end_on_fault();
    else
        finish_uncancelled(s);
    uncancelled_end(state);
}

static void *end_by_mismatch(void *user)
{
    own_thread.work = OWN_WORK;
    end_reports(user);
    return NULL;
}

/* The collector cannot wait for its own end, so another thread does; without one, the program ends
 * the same way when it exits. It inherits the collector's mask: no signal of the program is its. */
static void act_on_mismatch(struct session *s, const struct check_report *report,
                            const char *bundle)
{
    struct counters_kernel kernel = {0};
    pthread_t thread;
    if (!s->on_mismatch)
        return;
    counters_read_kernel(s->counters, report->spec->number, &kernel);
    if (on_mismatch_found(s->on_mismatch, report, kernel.buckets.verdict[VERDICT_MISMATCH],
                          bundle) &&
        pthread_create(&thread, NULL, end_by_mismatch, s) == 0)
        pthread_detach(thread);
}

/* A forked child cannot use the parent's CUDA, and it has no collector thread. */
static void in_child(void)
{
    core_mute();
    control_in_child();
    control_server_in_child(session.server);
}

static void on_ready(void *user)
{
    (void)user;
    atexit(finish_session);
}

static enum status start_session(struct session *s, struct error *err)
{
    struct core_parts parts = {.pipeline = &s->pipeline, .ready = on_ready, .user = s};
    enum status status = start_reports(s, err);
    if (!status)
        status = cuda_api_load(err);
    if (!status)
        status = load_registry(s, err);
    if (!status)
        status = start_pipeline(s, err);
    if (status)
        return status;
    pthread_atfork(NULL, NULL, in_child);
    parts.images = s->images;
    parts.graphs = s->graphs;
    parts.end_wait_ms = (int)s->options.exit_wait_ms;
    parts.calls = registry_has_calls(s->registry);
    core_start(&parts);
    struct error instead = {{0}};
    status = back_end_start(s->options.hook, s->options.cupti, &instead, err);
    if (*instead.text)
        report_line(s, instead.text);
    if (!status)
        open_control(s);
    return status;
}

static void start_uninterrupted(struct session *s)
{
    struct error err = {{0}};
    options_read(&s->options, environ, on_complaint, NULL);
    options_keep(&s->options);
    log_set_level(log_level_named(s->options.log));
    s->pid = getpid();
    s->watches = tracing_wanted(&s->options) || recorder_wanted(&s->options) || s->options.lint;
    if (s->options.disable || !strcmp(s->options.mode, "off"))
        return;
    if (!*s->options.config && !uses_tables(s) && !s->watches) {
        log_line(LOG_WARN, "nothing is checked: no CUVET_CONFIG, and CUVET_TABLES is off");
        return;
    }
    if (start_session(s, &err)) {
        log_line(LOG_WARN, "nothing is checked: %s", err.text);
        journal_warning(s->journal, "nothing is checked: %s", err.text);
    }
}

void session_start(void)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    start_uninterrupted(&session);
    uninterrupted_end(&kept);
}
