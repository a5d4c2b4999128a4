#include "report/journal_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "report/journal.h"

bool journal_line_whole(const char *line)
{
    char head[32];
    size_t length = strlen(line);
    int head_length = snprintf(head, sizeof head, "{\"v\":%d,", JOURNAL_VERSION);

    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        length--;
    return strncmp(line, head, (size_t)head_length) == 0 && line[length - 1] == '}';
}

/* What follows `"key":`, or NULL. */
static const char *line_value(const char *line, const char *key)
{
    char quoted[80];
    const char *at;

    if (snprintf(quoted, sizeof quoted, "\"%s\":", key) >= (int)sizeof quoted)
        return NULL;
    at = strstr(line, quoted);
    return at ? at + strlen(quoted) : NULL;
}

bool journal_line_is(const char *line, const char *event)
{
    char text[32];

    return journal_line_whole(line) && journal_line_text(line, "event", text, sizeof text) &&
           strcmp(text, event) == 0;
}

bool journal_line_uint(const char *line, const char *key, uint64_t *out)
{
    const char *at = line_value(line, key);
    uint64_t value;
    char *end;

    if (!at || *at < '0' || *at > '9')
        return false;
    errno = 0;
    value = strtoull(at, &end, 10);
    if (errno || (*end != ',' && *end != '}'))
        return false;
    *out = value;
    return true;
}

bool journal_line_bool(const char *line, const char *key, bool *out)
{
    const char *at = line_value(line, key);

    if (!at || (strncmp(at, "true", 4) != 0 && strncmp(at, "false", 5) != 0))
        return false;
    *out = *at == 't';
    return true;
}

bool journal_line_text(const char *line, const char *key, char *out, size_t size)
{
    const char *at = line_value(line, key);
    size_t length;

    if (!at || *at++ != '"')
        return false;
    length = strcspn(at, "\"\\");
    if (at[length] != '"' || length >= size)
        return false;
    memcpy(out, at, length);
    out[length] = '\0';
    return true;
}
