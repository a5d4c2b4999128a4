/*
 * pages.c - memory for frames, kept from one launch to the next.
 *
 * A large kernel's frames are megabytes. The allocator gives them back to the system after each
 * launch, and the page faults of the next launch then take longer than a small launch itself.
 */
#include <stdlib.h>
#include "exec/run/state.h"

enum { SMALLEST = 12, ORDERS = 14 }; /* sizes of 4 KiB to 32 MiB, powers of two */
#ifdef __SANITIZE_ADDRESS__
enum { KEPT_BYTES = 0 }; /* an access behind a piece, or after its launch, is found */
#else
enum { KEPT_BYTES = 256 << 20 };
#endif

/* In front of each piece, which is aligned to 64 bytes. */
struct piece {
    _Alignas(64) struct piece *next;
    unsigned order; /* ORDERS: larger than any, not kept */
};

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *kept[ORDERS];
static size_t kept_bytes;

static size_t order_bytes(unsigned order)
{
    return (size_t)1 << (SMALLEST + order);
}

static unsigned order_of(size_t bytes)
{
    unsigned order = 0;
    while (order < ORDERS && order_bytes(order) < bytes)
        order++;
    return order;
}

static struct piece *take_kept(unsigned order)
{
    if (order == ORDERS)
        return NULL;
    pthread_mutex_lock(&kept_lock);
    struct piece *piece = kept[order];
    if (piece) {
        kept[order] = piece->next;
        kept_bytes -= order_bytes(order);
    }
    pthread_mutex_unlock(&kept_lock);
    return piece;
}

void *pages_take(size_t bytes)
{
    bytes = (bytes + sizeof(struct piece) + 63) & ~(size_t)63;
    unsigned order = order_of(bytes);
    struct piece *piece = take_kept(order);
    if (!piece)
        piece = aligned_alloc(64, order < ORDERS ? order_bytes(order) : bytes);
    if (!piece)
        return NULL;
    memset(piece, 0, bytes);
    piece->order = order;
    return piece + 1;
}

void pages_give(void *memory)
{
    struct piece *piece = (struct piece *)memory - 1;
    bool keep = false;
    if (piece->order < ORDERS) {
        pthread_mutex_lock(&kept_lock);
        keep = kept_bytes + order_bytes(piece->order) <= KEPT_BYTES;
        if (keep) {
            piece->next = kept[piece->order];
            kept[piece->order] = piece;
            kept_bytes += order_bytes(piece->order);
        }
        pthread_mutex_unlock(&kept_lock);
    }
    if (!keep)
        free(piece);
}
