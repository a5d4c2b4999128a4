/*
 * ref_hint.c - a table of what NVRTC's messages show, and the rule of the dialect behind each.
 *
 * A message is one line; where it is about operands or arguments, the next one names their types.
 * The first row whose two words both occur in those lines decides.
 */
#include "compile/ref_hint.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define PACK                                                                                       \
    "the index of EACH, ELEMENT and a shared SUM is a pack of neighbours, no number: NUMBER(c) "   \
    "makes numbers of it, and SUM_IF(j, n, condition, term) takes integers one by one"
#define FUNCTIONS "functions are square max min abs exp log sqrt rsqrt sigmoid tanh erf where"
#define COMPARE                                                                                    \
    "a comparison of numbers with error bounds is no bool: where(condition, a, b) chooses a "      \
    "value, and a.value(0) > 0 is a plain condition"
#define OUTPUT                                                                                     \
    "an output is only assigned to: y.before(i) is what it held, y.after(i) what the kernel "      \
    "wrote, and a variable keeps a value for use again"
#define INDEX_OF "INDEX(x(r, c)) makes an index of a loaded number"

static const struct hint {
    const char *message, *also, *sentence;
} hints[] = {
    {"identifier \"ref_scope\" is undefined", "",
     "SUM, MAX and MIN stand inside ROW, SAMPLE or ELEMENT, in the place of C's outer loops"},
    {"MIX and PRODUCT take all lanes", "",
     "compute it before as a real, or write SUM or MAX there, which each lane takes alone"},
    {"no operator \"[]\"", "", "arrays are called with their indices: x(r, c)"},
    {"no operator \"+=\"", "", "write s = s + x in a LOOP, or SUM(c, n, term)"},
    {"matches", "ref_pack<", PACK},
    {"", "ref_spot<", OUTPUT},
    {"no operator \"=\"", "ref_exact<", "inputs are read, only outputs are assigned to"},
    {"from \"ref_mask<", "", COMPARE},
    {"must have bool type", "", COMPARE},
    {" to \"int\" exists", "", INDEX_OF},
    {" to \"long long\" exists", "", INDEX_OF},
    {"an index is one number, not a pack", "",
     "inside SUM_IF(j, n, condition, term) and TERM the index is an integer"},
    {"no suitable conversion function from \"ref_", "to \"",
     "numbers with error bounds are of type real, packs of them auto; C functions take neither"},
    {"no instance of", "argument types are: (ref_", FUNCTIONS},
    {"may not be redeclared", "", "E, D and run are names of the dialect's own"},
    {"has already been declared in the current", "", "E, D and run are names of the dialect's own"},
    {"\" is undefined", "", "names are formals, dims and the indices of macros; " FUNCTIONS},
};

/* Whether `word` is in the first `length` bytes. */
static bool occurs(const char *text, size_t length, const char *word)
{
    return memmem(text, length, word, strlen(word)) != NULL;
}

const char *ref_hint(const char *error)
{
    size_t first = strcspn(error, "\n"), length = first;
    if (error[first])
        length += 1 + strcspn(error + first + 1, "\n");
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        if (occurs(error, first, hints[i].message) && occurs(error, length, hints[i].also))
            return hints[i].sentence;
    }
    return NULL;
}
