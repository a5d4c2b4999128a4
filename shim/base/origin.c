#include "base/origin.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/rank.h"

/* Replaces what does not belong into a file's name. */
static void make_plain(char *text)
{
    for (char *at = text; *at; at++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_", *at))
            *at = '_';
    }
}

void origin_read(struct origin *origin, const char *run)
{
    *origin = (struct origin){.pid = getpid()};
    if (gethostname(origin->host, sizeof origin->host) != 0)
        snprintf(origin->host, sizeof origin->host, "host");
    origin->host[sizeof origin->host - 1] = '\0';
    make_plain(origin->host);
    snprintf(origin->run, sizeof origin->run, "%s", run ? run : "");
    origin->has_rank = rank_read(&origin->rank);
}

void origin_file_name(const struct origin *origin, const char *kind, char name[ORIGIN_FILE_BYTES])
{
    char run[sizeof origin->run];
    snprintf(run, sizeof run, "%s", origin->run);
    make_plain(run);
    snprintf(name, ORIGIN_FILE_BYTES, "%s-%s-%lld%s%s.jsonl", kind, origin->host,
             (long long)origin->pid, *run ? "-" : "", run);
}

static void put_time(struct json_out *json)
{
    struct timespec now = {0};
    struct tm utc = {0};
    char text[96];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", utc.tm_year + 1900,
             utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
             now.tv_nsec / 1000000);
    json_put_string(json, "time", text);
}

void origin_begin(const struct origin *origin, struct json_out *json, int version,
                  const char *event)
{
    json_begin_object(json);
    json_put_int(json, "v", version);
    json_put_string(json, "event", event);
    put_time(json);
    json_put_string(json, "host", origin->host);
    json_put_int(json, "pid", origin->pid);
    if (origin->has_rank)
        json_put_int(json, "rank", origin->rank);
    if (origin->run[0])
        json_put_string(json, "run", origin->run);
}

void origin_put_program(struct json_out *json)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    json_put_string(json, "program", path);
}
