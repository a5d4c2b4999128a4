#include "system/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "system/files.h"
#include "text/printable.h"

static _Atomic int current_level = LOG_WARN;
static atomic_bool closed, started;
static dev_t device; /* of standard error when the process began */
static ino_t inode;

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
    struct stat info;
    if (fstat(STDERR_FILENO, &info) == 0) {
        device = info.st_dev;
        inode = info.st_ino;
    } else {
        atomic_store(&closed, true);
    }
    atomic_store(&started, true);
    errno = saved;
}

/* Whether descriptor 2 may be written: it is the file of the start, or one for messages. A regular
 * file that is not appended to may be data that got the number of a closed standard error. */
static bool is_ours(void)
{
    struct stat info, out;
    if (!atomic_load(&started))
        return true;
    if (atomic_load(&closed) || fstat(STDERR_FILENO, &info) != 0)
        return false;
    if (info.st_dev == device && info.st_ino == inode)
        return true;
    int flags = fcntl(STDERR_FILENO, F_GETFL);
    return S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode) || (flags >= 0 && flags & O_APPEND) ||
           (fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == info.st_dev &&
            out.st_ino == info.st_ino);
}

void log_text(const char *text, size_t length)
{
    int saved = errno;
    if (is_ours())
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

enum log_level log_level_named(const char *name)
{
    if (!strcmp(name, "quiet"))
        return LOG_QUIET;
    if (!strcmp(name, "info"))
        return LOG_INFO;
    return !strcmp(name, "debug") ? LOG_DEBUG : LOG_WARN;
}
