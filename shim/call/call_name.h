/* call_name.h - the names of library calls, one text for each kind of call. */
#ifndef CALL_CALL_NAME_H
#define CALL_CALL_NAME_H

#include <stdint.h>

/* Makes the text of a name, by malloc; NULL: no memory. */
typedef char *call_text(const void *value);

/* The name of the call of `function`, a constant, with this key: made from `value` on the first
 * call, the same pointer from then on, valid for the life of the process. NULL: no memory, or too
 * many names. Takes a lock and allocates on the first call alone. Any thread. */
const char *call_name(const char *function, uint64_t key, call_text *make, const void *value);

#endif
