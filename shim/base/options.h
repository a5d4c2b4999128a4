/* options.h - the environment variables, parsed once from the table options.def. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct options {
    const char *config;
    const char *tables; /* on, off */
    const char *mode;
    bool disable;
    const char *profile;
    double sample;
    double budget;   /* a fraction; 0: no limit */
    uint64_t subset; /* bytes; 0: off */
    double freivalds;
    const char *outlier; /* off, fingerprint, centroid */
    uint64_t seed;
    uint64_t first;
    uint64_t memory;
    uint64_t queue;
    uint64_t twins;
    const char *tolerances;
    const char *report;
    bool lift;
    bool lint;
    bool trace;
    bool digest;
    bool sync;
    uint64_t bundles;
    uint64_t bundle_size;
    bool vendor_images;
    uint64_t quota;
    const char *on_mismatch;
    const char *plugin;
    const char *tool;
    bool summary;
    uint64_t unregistered;
    bool gpu_time;
    const char *log;
    uint64_t exit_wait_ms, interim_ms;
    bool ctl;
    const char *hook;
    const char *cupti;
    const char *nvrtc;
    const char *cache;
    const char *run;
};

/* One row of options.def, for help texts. */
struct option_row {
    const char *name;     /* CUVET_SAMPLE */
    const char *type;     /* "number 0..1", "bytes 1K..1024G", "0 or 1", "check|off", ... */
    const char *fallback; /* default, as text */
    const char *sentence;
};
extern const struct option_row option_rows[];
extern const size_t option_row_count;

/* Called for each complaint with one sentence (unknown variable, bad value). */
typedef void (*options_complain_fn)(void *user, const char *sentence);

/*
 * Fills *options from `environ`-like `env`. A bad value keeps the default, an unknown variable that
 * starts with CUVET_ is ignored; each is reported to `complain` with the nearest known name.
 * Strings point into `env` and live as long as it does: callers copy them.
 */
void options_read(struct options *options, char *const *env, options_complain_fn complain,
                  void *user);

/* Makes the relative paths among the variables of `environ` absolute, as seen from the current
 * folder: for this process and those that it starts, which may change theirs. Does nothing where
 * the process has a second thread, which may be reading the environment. */
void options_paths_absolute(char **env);

/* Replaces each string by a copy that is never freed, its relative paths made absolute. */
void options_keep(struct options *options);

#endif
