#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "text/printable.h"

enum status error_set(struct error *err, enum status status, const char *format, ...)
{
    if (!err || err->text[0])
        return status;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    printable_text(err->text);
    return status;
}

void error_prefix(struct error *err, const char *format, ...)
{
    if (!err || !err->text[0])
        return;
    char prefix[sizeof err->text];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(prefix, sizeof prefix - 2, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof prefix - 2)
        return; /* a prefix that leaves no room for the sentence is worth less than it */
    size_t shift = (size_t)length + 2;
    prefix[shift - 2] = ':';
    prefix[shift - 1] = ' ';
    memmove(err->text + shift, err->text, sizeof err->text - shift);
    memcpy(err->text, prefix, shift);
    err->text[sizeof err->text - 1] = '\0';
    printable_text(err->text);
}
