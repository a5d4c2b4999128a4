/*
 * control_words.h - the requests of `cuvet ctl` and their answers; the protocol is described in
 * system/control_socket.h. No sockets here. Called on the serving thread; never waits: a request
 * that has to is begun, and ended when the checks are done or its time is over.
 */
#ifndef CONTROL_CONTROL_WORDS_H
#define CONTROL_CONTROL_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include "text/textbuf.h"

/*
 * Carries out a request and appends the answer. `line` is what came, `length` bytes without the
 * newline, whatever they are. True: there is no answer yet; call control_words_end as soon as
 * control_words_idle is true, or after *wait_ms.
 */
bool control_words_begin(const char *line, size_t length, struct textbuf *answer, int *wait_ms);

/* Whether no check is under way. */
bool control_words_idle(void);

/* The answer to a request that waited: whether the checks are done. */
void control_words_end(struct textbuf *answer);

/* The answer to a request that never became a line. */
void control_words_refuse(struct textbuf *answer, const char *sentence);

#endif
