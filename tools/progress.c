#include "tools/progress.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "text/printable.h"

#define AFTER_NS INT64_C(2000000000)
#define EVERY_NS INT64_C(250000000)
enum { NAP_US = 50000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t began, shown; /* clock_ns(); under the lock */
static bool stands;

static struct {
    pthread_t thread;
    atomic_bool runs;
    char what[96]; /* under the lock */
    int64_t begin;
} ticker;

/* Under the lock. */
static bool is_due(int64_t now)
{
    began = began ? began : now;
    return now - began >= AFTER_NS && now - shown >= EVERY_NS && isatty(STDERR_FILENO);
}

bool progress_due(void)
{
    pthread_mutex_lock(&lock);
    bool due = is_due(clock_ns());
    pthread_mutex_unlock(&lock);
    return due;
}

static void show(const char *format, va_list list)
{
    shown = clock_ns();
    stands = true;
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, list);
    fflush(stderr);
}

void progress(const char *format, ...)
{
    va_list list;
    pthread_mutex_lock(&lock);
    va_start(list, format);
    if (is_due(clock_ns()))
        show(format, list);
    va_end(list);
    pthread_mutex_unlock(&lock);
}

static void *tick(void *user)
{
    (void)user;
    while (atomic_load(&ticker.runs)) {
        char what[sizeof ticker.what];
        usleep(NAP_US);
        pthread_mutex_lock(&lock);
        memcpy(what, ticker.what, sizeof what);
        pthread_mutex_unlock(&lock);
        progress("%s, %d s", what, (int)((clock_ns() - ticker.begin) / 1000000000));
    }
    return NULL;
}

void progress_tick(const char *what)
{
    if (!isatty(STDERR_FILENO))
        return;
    pthread_mutex_lock(&lock);
    printable_copy(ticker.what, sizeof ticker.what, what);
    pthread_mutex_unlock(&lock);
    if (atomic_exchange(&ticker.runs, true))
        return;
    ticker.begin = clock_ns();
    if (pthread_create(&ticker.thread, NULL, tick, NULL) != 0)
        atomic_store(&ticker.runs, false);
}

void progress_clear(void)
{
    if (atomic_exchange(&ticker.runs, false))
        pthread_join(ticker.thread, NULL);
    pthread_mutex_lock(&lock);
    if (stands)
        fputs("\r\033[K", stderr);
    stands = false;
    pthread_mutex_unlock(&lock);
}
