/*
 * log.h - the lines that cuvet says to people, on standard error.
 *
 * Each line is one write(2) starting "cuvet: ", errno is kept, nothing is buffered or allocated,
 * so a line is whole also from a crashing or multi-threaded program. Any thread.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdatomic.h>

enum log_level { LOG_QUIET, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
enum log_level log_level(void);
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, at most once for each place in the source. */
#define log_once(level, ...)                                                                       \
    do {                                                                                           \
        static atomic_flag said = ATOMIC_FLAG_INIT;                                                \
        if (!atomic_flag_test_and_set(&said))                                                      \
            log_line((level), __VA_ARGS__);                                                        \
    } while (0)

#endif
