#include "text/textbuf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void textbuf_init(struct textbuf *text)
{
    *text = (struct textbuf){0};
}

void textbuf_init_fixed(struct textbuf *text, char *buffer, size_t size)
{
    *text = (struct textbuf){.data = buffer, .capacity = size, .fixed = true, .failed = size == 0};
    if (size > 0)
        buffer[0] = '\0';
}

void textbuf_release(struct textbuf *text)
{
    if (!text->fixed)
        free(text->data);
    *text = (struct textbuf){0};
}

void textbuf_clear(struct textbuf *text)
{
    text->length = 0;
    text->failed = text->fixed && text->capacity == 0;
    if (text->capacity > 0)
        text->data[0] = '\0';
}

/* Room for `count` more bytes and the NUL. */
static bool reserve(struct textbuf *text, size_t count)
{
    size_t capacity = text->capacity ? text->capacity : 512;
    char *data;

    if (text->failed)
        return false;
    if (count < text->capacity - text->length)
        return true;
    if (text->fixed || count > SIZE_MAX / 4)
        goto failed;
    while (capacity - text->length <= count)
        capacity *= 2;
    data = realloc(text->data, capacity);
    if (!data)
        goto failed;
    text->data = data;
    text->capacity = capacity;
    return true;
failed:
    text->failed = true;
    return false;
}

void textbuf_add(struct textbuf *text, const char *bytes, size_t count)
{
    if (!reserve(text, count))
        return;
    memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void textbuf_printf(struct textbuf *text, const char *format, ...)
{
    va_list args;
    int count;

    va_start(args, format);
    count = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (count < 0) {
        text->failed = true;
        return;
    }
    if (!reserve(text, (size_t)count))
        return;
    va_start(args, format);
    vsnprintf(text->data + text->length, (size_t)count + 1, format, args);
    va_end(args);
    text->length += (size_t)count;
}
