#include "text/number.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool number_real(const char *text, double *out)
{
    /* strtod follows the program's locale, where the decimal point may be a comma. Hex floats,
     * nan and inf are refused by their letters. */
    if (!*text || strspn(text, "+-.0123456789eE") != strlen(text))
        return false;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return false;
    char *end;
    double value = strtod_l(text, &end, plain);
    freelocale(plain);
    if (end == text || *end || !isfinite(value))
        return false;
    *out = value;
    return true;
}

static bool hexadecimal(const char *text)
{
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

bool number_unsigned(const char *text, uint64_t *out)
{
    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    char *end;
    unsigned long long value = strtoull(text, &end, hexadecimal(text) ? 16 : 10);
    if (*end || errno)
        return false;
    *out = value;
    return true;
}

bool number_integer(const char *text, int64_t *out)
{
    bool negative = text[0] == '-';
    uint64_t magnitude;
    if (!number_unsigned(text + negative, &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

bool number_share(const char *text, double *out)
{
    char digits[32];
    size_t length = strlen(text);
    double percent;
    if (strcmp(text, "off") == 0) {
        *out = 0;
        return true;
    }
    if (length < 2 || length > sizeof digits || text[length - 1] != '%')
        return false;
    memcpy(digits, text, length - 1);
    digits[length - 1] = '\0';
    if (!number_real(digits, &percent) || percent <= 0 || percent > 100)
        return false;
    *out = percent / 100;
    return true;
}

bool number_size(const char *text, uint64_t *out)
{
    static const char suffixes[] = "KMG";
    size_t length = strlen(text);
    if (length == 0 || length > 31)
        return false;
    char digits[32];
    memcpy(digits, text, length + 1);
    int shift = 0;
    const char *suffix = strchr(suffixes, toupper((unsigned char)digits[length - 1]));
    if (suffix) {
        shift = 10 * (int)(suffix - suffixes + 1);
        digits[length - 1] = '\0';
    }
    uint64_t value;
    if (!number_unsigned(digits, &value) || value > (UINT64_MAX >> shift))
        return false;
    *out = value << shift;
    return true;
}

bool number_limit(const char *text, uint64_t *out)
{
    uint64_t bytes = 0;
    bool off = strcmp(text, "off") == 0;
    if (!off && !(number_size(text, &bytes) && bytes > 0))
        return false;
    *out = bytes;
    return true;
}
