#include "context/outlier_window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct outlier_window {
    uint32_t size, count, next;
    float quantile;
    float *order; /* room to select in */
    float distance[];
};

enum status outlier_window_create(struct outlier_window **out, uint32_t size, float quantile)
{
    struct outlier_window *window = calloc(1, sizeof(*window) + size * sizeof(float));
    *out = NULL;
    if (!window)
        return STATUS_NO_MEMORY;
    window->order = calloc(size, sizeof(float));
    if (!window->order) {
        free(window);
        return STATUS_NO_MEMORY;
    }
    window->size = size;
    window->quantile = quantile;
    *out = window;
    return STATUS_OK;
}

void outlier_window_destroy(struct outlier_window *window)
{
    if (!window)
        return;
    free(window->order);
    free(window);
}

void outlier_window_clear(struct outlier_window *window)
{
    window->count = window->next = 0;
}

/* Puts the element of rank `rank` into its place, smaller ones before it (Hoare's selection). */
static void select_rank(float *value, int64_t count, int64_t rank)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        float pivot = value[(low + high) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (value[i] < pivot)
                i++;
            while (value[j] > pivot)
                j--;
            if (i <= j) {
                float held = value[i];
                value[i++] = value[j];
                value[j--] = held;
            }
        }
        if (rank <= j)
            high = j;
        else if (rank >= i)
            low = i;
        else
            return;
    }
}

float outlier_window_add(struct outlier_window *window, const float *distance, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        window->distance[window->next] = distance[i];
        window->next = (window->next + 1) % window->size;
        window->count += window->count < window->size;
    }
    if (!window->count)
        return -1;
    double place = (double)window->quantile * (window->count - 1);
    int64_t rank = (int64_t)place;
    memcpy(window->order, window->distance, window->count * sizeof(float));
    select_rank(window->order, window->count, rank);
    float below = window->order[rank], above = INFINITY;
    if (rank + 1 == window->count)
        return below;
    for (int64_t i = rank + 1; i < window->count; i++)
        above = window->order[i] < above ? window->order[i] : above;
    return below + (float)(place - (double)rank) * (above - below);
}
