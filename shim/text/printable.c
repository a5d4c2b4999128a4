#include "text/printable.h"

#include <string.h>
#include "text/utf8.h"

/* The length of the character at `at`. *instead is what is printed in its place, or 0. */
static size_t character(const unsigned char *at, size_t count, char *instead)
{
    size_t length = utf8_length(at, count);

    *instead = 0;
    if (*at == '\n' || *at == '\t' || *at == '\r')
        *instead = ' ';
    else if (length == 0 || utf8_steers(utf8_point(at, length)))
        *instead = '?';
    return length ? length : 1;
}

/* `out` may be `text`. */
static void filter(char *out, size_t size, const char *text)
{
    size_t count = strlen(text);
    char instead;

    while (count > 0) {
        size_t length = character((const unsigned char *)text, count, &instead);
        size_t put = instead ? 1 : length;

        if (put >= size)
            break;
        if (instead)
            *out = instead;
        else
            memmove(out, text, length);
        out += put;
        size -= put;
        text += length;
        count -= length;
    }
    *out = '\0';
}

void printable_text(char *text)
{
    filter(text, strlen(text) + 1, text);
}

char *printable_copy(char *out, size_t size, const char *text)
{
    filter(out, size, text ? text : "");
    return out;
}
