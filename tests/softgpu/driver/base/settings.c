/* settings.c - reads the environment variables of settings.h, once. */
#include "driver/base/settings.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void softgpu_abort(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "softgpu: %s\n", text);
    abort();
}

static struct settings current = {
    .devices = 1,
    .arch = 90,
    .version = 13000,
    .memory = (size_t)4 << 30,
};

/* NULL where unset or empty. */
static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

static void read_count(const char *name, uint64_t least, uint64_t most, uint64_t *value)
{
    const char *text = variable(name);
    char *end = NULL;
    if (!text)
        return;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno || *end || *text < '0' || *text > '9' || number < least || number > most)
        softgpu_abort("%s=%s: a number from %llu to %llu is wanted", name, text,
                      (unsigned long long)least, (unsigned long long)most);
    *value = number;
}

static void read_unsigned(const char *name, unsigned least, unsigned most, unsigned *value)
{
    uint64_t number = *value;
    read_count(name, least, most, &number);
    *value = (unsigned)number;
}

static void read_size(const char *name, size_t *value)
{
    static const char units[] = "KMGT";
    const char *text = variable(name);
    char *end = NULL;
    if (!text)
        return;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (errno || *text < '0' || *text > '9' || (*end && (!unit || end[1])) || !number ||
        number > (1ull << 40) >> shift)
        softgpu_abort("%s=%s: bytes up to 1T are wanted, as in 512M or 4G", name, text);
    *value = (size_t)number << shift;
}

static void read_delay(const char *item, size_t length)
{
    const char *colon = memchr(item, ':', length);
    char *end = NULL;
    size_t name = colon ? (size_t)(colon - item) : 0;
    double delay = colon ? strtod(colon + 1, &end) : 0;
    bool all = name == 3 && !memcmp(item, "all", 3);
    bool low = name == 3 && !memcmp(item, "low", 3);
    bool plain = name == 7 && !memcmp(item, "default", 7);
    if (!colon || end == colon + 1 || end != item + length || !(delay >= 0) || delay > 1e6 ||
        !(all || low || plain))
        softgpu_abort("SOFTGPU_DELAY: '%.*s' is not low:MS, default:MS or all:MS", (int)length,
                      item);
    if (all || low)
        current.delay_low = delay;
    if (all || plain)
        current.delay_default = delay;
}

static void read_delays(void)
{
    const char *text = variable("SOFTGPU_DELAY");
    for (int i = 0; text && i < SETTINGS_DELAYS; i++) {
        size_t length = strcspn(text, ",");
        read_delay(text, length);
        text = text[length] ? text + length + 1 : NULL;
    }
    if (text)
        softgpu_abort("SOFTGPU_DELAY: more than %d entries", SETTINGS_DELAYS);
}

static void read_all(void)
{
    read_unsigned("SOFTGPU_DEVICES", 1, 8, &current.devices);
    read_unsigned("SOFTGPU_ARCH", 75, 121, &current.arch);
    read_unsigned("SOFTGPU_VERSION", 11000, 99000, &current.version);
    read_unsigned("SOFTGPU_COPIES", 0, 1, &current.copies);
    read_size("SOFTGPU_MEMORY", &current.memory);
    read_count("SOFTGPU_SEED", 0, UINT64_MAX, &current.seed);
    read_count("SOFTGPU_STEPS", 0, UINT64_MAX, &current.steps);
    read_delays();
    current.fail = variable("SOFTGPU_FAIL");
    current.fail_from = variable("SOFTGPU_FAIL_FROM");
    current.report = variable("SOFTGPU_REPORT");
    current.calls = variable("SOFTGPU_CALLS");
}

const struct settings *settings(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_all);
    return &current;
}
