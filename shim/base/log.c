#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static _Atomic int current_level = LOG_WARN;

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&current_level, (int)level, memory_order_relaxed);
}

enum log_level log_level(void)
{
    return (enum log_level)atomic_load_explicit(&current_level, memory_order_relaxed);
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
        size_t length = (size_t)prefix + (size_t)body;
        if (length > sizeof line - 2) /* cut to what vsnprintf could place */
            length = sizeof line - 2;
        line[length] = '\n';
        ssize_t written;
        do {
            written = write(STDERR_FILENO, line, length + 1);
        } while (written < 0 && errno == EINTR);
    }
    errno = saved;
}
