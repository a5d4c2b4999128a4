#include "text/nearest.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST = 63 };

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance where swapping two neighbours counts as one edit (bf61 for bf16). */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[3][LONGEST + 1];
    size_t *before = row[0], *above = row[1], *here = row[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = before[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        here[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t cost = a[i - 1] != b[j - 1];
            here[j] = lesser(above[j - 1] + cost, lesser(above[j], here[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                here[j] = lesser(here[j], before[j - 2] + 1);
        }
        size_t *spare = before;
        before = above;
        above = here;
        here = spare;
    }
    return above[b_length];
}

void nearest_offer(struct nearest *nearest, const char *name)
{
    size_t word_length = strlen(nearest->word), name_length = strlen(name);
    if (word_length > LONGEST || name_length > LONGEST)
        return;
    size_t allowed =
        word_length / 4 + 1; /* one edit in four letters is a slip, more is another word */
    if (word_length == 1)
        allowed = 0; /* any letter is one edit from any other */
    size_t apart =
        word_length > name_length ? word_length - name_length : name_length - word_length;
    if (apart > allowed) /* each letter more is an edit */
        return;
    size_t distance = edit_distance(nearest->word, word_length, name, name_length);
    if (distance > allowed || (nearest->name && distance >= nearest->distance))
        return;
    nearest->name = name;
    nearest->distance = distance;
}

const char *nearest_text(const struct nearest *nearest, char *text, size_t size)
{
    text[0] = '\0';
    if (nearest->name)
        snprintf(text, size, "; did you mean '%s'?", nearest->name);
    return text;
}
