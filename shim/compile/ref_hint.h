/* ref_hint.h - what a compiler's message about a reference means in the words of the dialect. */
#ifndef COMPILE_REF_HINT_H
#define COMPILE_REF_HINT_H

/* `error` begins at the line of the message in the compiler's log. A sentence, or NULL where the
 * message is clear by itself or not recognised. */
const char *ref_hint(const char *error);

#endif
