/*
 * log.h - the lines that cuvet writes for people, on standard error.
 *
 * Each line is one write(2) starting "cuvet: ", errno is kept, nothing is buffered or allocated,
 * so a line is whole also from a crashing or multi-threaded program. A line is printable
 * (printable.h), and no write raises a signal (write_guard.h). Nothing is written where descriptor
 * 2 was closed when the process began, or is another file by now that is no terminal, pipe, file
 * opened to append, or standard output's: it may be a file of the program's. Any thread.
 */
#ifndef SYSTEM_LOG_H
#define SYSTEM_LOG_H

#include <stdatomic.h>
#include <stddef.h>

enum log_level { LOG_QUIET, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
enum log_level log_level(void);
enum log_level log_level_named(const char *name); /* of CUVET_LOG */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Text of several lines, as it is: what is in it has been made printable before. */
void log_text(const char *text, size_t length);

/* To be called early in the process: takes note of what standard error is. */
void log_start(void);

/* One line, at most once for each place in the source. */
#define log_once(level, ...)                                                                       \
    do {                                                                                           \
        static atomic_flag logged = ATOMIC_FLAG_INIT;                                              \
        if (!atomic_flag_test_and_set(&logged))                                                    \
            log_line((level), __VA_ARGS__);                                                        \
    } while (0)

#endif
