#include "session/on_mismatch.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "system/log.h"
#include "text/printable.h"
#include "base/rank.h"
#include "system/tool.h"
#include "cuvet.h"
#include "report/place.h"
#include "plugin/plugin_host.h"

struct on_mismatch {
    bool aborts;
    struct plugin_host *plugin;
    atomic_bool due;
    char sentence[2048];
};

static struct plugin_host *open_plugin(const struct options *options, char *const *env,
                                       options_complain_fn complain, void *user)
{
    struct plugin_settings settings = {.plugin = options->plugin,
                                       .tool = options->tool,
                                       .library = tool_own_path(),
                                       .version = cuvet_version(),
                                       .env = env,
                                       .run = options->run,
                                       .rank = -1};
    struct plugin_host *plugin;
    struct error err = {0};
    char sentence[sizeof err.text + 64];

    rank_read(&settings.rank);
    if (plugin_host_create(&plugin, &settings, &err)) {
        snprintf(sentence, sizeof sentence, "findings are reported, and they go to no plugin: %s",
                 err.text);
        complain(user, sentence);
    }
    return plugin;
}

struct on_mismatch *on_mismatch_create(const struct options *options, char *const *env,
                                       options_complain_fn complain, void *user)
{
    bool aborts = strcmp(options->on_mismatch, "abort") == 0;
    bool calls_plugin = strcmp(options->on_mismatch, "plugin") == 0;
    struct on_mismatch *on;

    if (*options->plugin && !calls_plugin)
        complain(user, "CUVET_PLUGIN is ignored: CUVET_ON_MISMATCH is not 'plugin'");
    if (!aborts && !calls_plugin)
        return NULL;
    on = calloc(1, sizeof *on);
    if (!on)
        return NULL;
    on->aborts = aborts;
    if (calls_plugin)
        on->plugin = open_plugin(options, env, complain, user);
    return on;
}

bool on_mismatch_found(struct on_mismatch *on, const struct check_report *report,
                       uint64_t occurrence, const char *bundle)
{
    if (!on)
        return false;
    plugin_host_finding(on->plugin, report, occurrence, bundle);
    if (!on->aborts || atomic_load(&on->due))
        return false;
    snprintf(on->sentence, sizeof on->sentence,
             "cuvet: the program is ended by SIGABRT (CUVET_ON_MISMATCH=abort): launch "
             "%" PRIu64 " of %.512s is a mismatch, %s %s\n",
             report->launch, PRINTABLE(place_kernel(report->spec)),
             *bundle ? "bundle" : "no bundle was", *bundle ? PRINTABLE(bundle) : "written");
    atomic_store(&on->due, true);
    return true;
}

uint64_t on_mismatch_end(struct on_mismatch *on, struct textbuf *out)
{
    if (!on || !on->plugin)
        return 0;
    plugin_host_end(on->plugin);
    return plugin_host_send(on->plugin, out);
}

void on_mismatch_end_program(const struct on_mismatch *on)
{
    if (!on || !atomic_load(&((struct on_mismatch *)on)->due))
        return;
    log_text(on->sentence, strlen(on->sentence));
    abort(); /* the user's word; the only place that ends the program */
}
