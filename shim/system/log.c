#include "system/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "system/files.h"
#include "text/printable.h"

static _Atomic int current_level = LOG_WARN;
static atomic_bool closed;

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&current_level, (int)level, memory_order_relaxed);
}

enum log_level log_level(void)
{
    return (enum log_level)atomic_load_explicit(&current_level, memory_order_relaxed);
}

void log_start(void)
{
    int saved = errno;
    if (fcntl(STDERR_FILENO, F_GETFD) < 0)
        atomic_store(&closed, true);
    errno = saved;
}

void log_text(const char *text, size_t length)
{
    int saved = errno;
    if (!atomic_load(&closed))
        files_write(STDERR_FILENO, text, length, NULL);
    errno = saved;
}

void log_line(enum log_level level, const char *format, ...)
{
    if (level == LOG_QUIET || level > log_level())
        return;
    int saved = errno;
    char line[2048];
    int prefix = snprintf(line, sizeof line, "cuvet: ");
    va_list args;
    va_start(args, format);
    int body = vsnprintf(line + prefix, sizeof line - (size_t)prefix - 1, format, args);
    va_end(args);
    if (body >= 0) {
        printable_text(line + prefix);
        size_t length = strlen(line);
        line[length] = '\n';
        log_text(line, length + 1);
    }
    errno = saved;
}
