#include "tools/discover/facts/numba.h"

#include <stdlib.h>
#include <string.h>
#include "names/param_types.h"

struct words {
    struct numba_word *out;
    unsigned count;
};

static void add(struct words *words, enum numba_role role, enum dtype dtype)
{
    if (words->count < LAYOUT_MAX)
        words->out[words->count] = (struct numba_word){role, dtype};
    words->count++;
}

/* Behind the type at `text`: the comma, or the end of the list. */
static const char *end_of(const char *text)
{
    for (int depth = 0; *text && (depth > 0 || (*text != ',' && *text != ')')); text++)
        depth += (*text == '<' || *text == '(') - (*text == '>' || *text == ')');
    return text;
}

static enum dtype type_at(const char *text)
{
    struct param_spelled spelled;
    bool known = param_types_next(&text, &spelled) && spelled.known && !spelled.pointer;
    return known ? spelled.type.dtype : DTYPE_NONE;
}

/* "float, 2, C, mutable, aligned>". */
static bool add_array(struct words *words, const char *text)
{
    enum { BEFORE = 4, MOST_DIMS = 32 };
    const char *comma = end_of(text);
    long dims = *comma == ',' ? strtol(comma + 1, NULL, 10) : -1;
    if (dims < 0 || dims > MOST_DIMS)
        return false;
    for (int i = 0; i < BEFORE; i++)
        add(words, NUMBA_UNUSED, DTYPE_I64);
    add(words, NUMBA_DATA, type_at(text));
    for (long i = 0; i < dims; i++)
        add(words, NUMBA_SIZE, DTYPE_I64);
    for (long i = 0; i < dims; i++)
        add(words, NUMBA_UNUSED, DTYPE_I64);
    return true;
}

unsigned numba_words(const char *list, struct numba_word out[LAYOUT_MAX])
{
    static const char array[] = "Array<";
    struct words words = {out, 0};
    bool some = false;
    while (*list && *list != ')') {
        bool is_array = strncmp(list, array, sizeof array - 1) == 0;
        some |= is_array;
        if (!is_array)
            add(&words, NUMBA_SCALAR, type_at(list));
        else if (!add_array(&words, list + sizeof array - 1))
            return 0;
        list = end_of(list);
        list += strspn(list, ", ");
    }
    return some && words.count <= LAYOUT_MAX ? words.count : 0;
}
