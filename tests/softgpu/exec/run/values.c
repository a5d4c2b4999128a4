/* values.c - reads and writes a warp's registers, whatever their width. */
#include "exec/run/state.h"

#define BLEND(type)                                                                                \
    do {                                                                                           \
        type *to = at(w, d);                                                                       \
        const type *from = values;                                                                 \
        for (unsigned i = 0; i < LANES; i++)                                                       \
            to[i] = mask >> i & 1 ? from[i] : to[i];                                               \
    } while (0)

void put(struct warp *w, ref d, unsigned width, const void *values)
{
    const uint32_t mask = w->active;
    if (d == REF_NONE)
        return;
    if (whole(w)) {
        memcpy(at(w, d), values, (size_t)width * LANES);
        return;
    }
    if (width == 4)
        BLEND(uint32_t);
    else if (width == 8)
        BLEND(uint64_t);
    else if (width == 2)
        BLEND(uint16_t);
    else
        BLEND(unsigned __int128);
}

void get64(const struct warp *w, ref r, unsigned width, uint64_t values[LANES])
{
    const void *from = at(w, r);
    for (unsigned i = 0; i < LANES; i++)
        values[i] = width == 4   ? ((const uint32_t *)from)[i]
                    : width == 8 ? ((const uint64_t *)from)[i]
                    : width == 2 ? ((const uint16_t *)from)[i]
                                 : ((const uint64_t *)from)[2 * i];
}

void put64(struct warp *w, ref d, unsigned width, const uint64_t values[LANES])
{
    uint16_t half[LANES];
    uint32_t word[LANES];
    unsigned __int128 wide[LANES];
    if (width == 8) {
        put(w, d, 8, values);
        return;
    }
    for (unsigned i = 0; width == 2 && i < LANES; i++)
        half[i] = (uint16_t)values[i];
    for (unsigned i = 0; width == 4 && i < LANES; i++)
        word[i] = (uint32_t)values[i];
    for (unsigned i = 0; width == 16 && i < LANES; i++)
        wide[i] = values[i];
    put(w, d, width, width == 2 ? (void *)half : width == 4 ? (void *)word : (void *)wide);
}

uint64_t lane_value(const struct warp *w, ref r, unsigned width, unsigned lane)
{
    const void *from = at(w, r);
    switch (width) {
    case 0:
        return pred_at(w, r) >> lane & 1;
    case 2:
        return ((const uint16_t *)from)[lane];
    case 4:
        return ((const uint32_t *)from)[lane];
    case 8:
        return ((const uint64_t *)from)[lane];
    default:
        return ((const uint64_t *)from)[2 * lane];
    }
}
