#include "text/utf8.h"

size_t utf8_length(const unsigned char *bytes, size_t count)
{
    unsigned char first = bytes[0];
    unsigned char low = 0x80, high = 0xbf; /* range of the second byte */
    size_t length;

    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (length > count)
        return 0;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    if (bytes[1] < low || bytes[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

uint32_t utf8_point(const unsigned char *bytes, size_t length)
{
    static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = bytes[0] & first[length];

    for (size_t i = 1; i < length; i++)
        point = point << 6 | (bytes[i] & 0x3f);
    return point;
}

bool utf8_steers(uint32_t point)
{
    static const struct range {
        uint32_t first, last;
    } ranges[] = {
        {0x0000, 0x001f},   {0x007f, 0x009f}, /* C0, DEL, C1 */
        {0x00ad, 0x00ad},                     /* soft hyphen */
        {0x061c, 0x061c},   {0x180e, 0x180e}, /* Arabic letter mark, Mongolian vowel separator */
        {0x200b, 0x200f},                     /* no width, joiners, left-to-right marks */
        {0x2028, 0x202e},                     /* line and paragraph separators, bidi overrides */
        {0x2060, 0x206f},                     /* word joiner, bidi isolates */
        {0xfeff, 0xfeff},   {0xfff9, 0xfffb}, /* byte order mark, annotations */
        {0xe0000, 0xe0fff},                   /* tags, variation selectors */
    };

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    }
    return false;
}
