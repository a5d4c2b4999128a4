/*
 * pages.c - memory for frames, kept from one launch to the next.
 *
 * A large kernel's frames are megabytes. The allocator gives them back to the system after each
 * launch, and the page faults of the next launch then take longer than a small launch itself.
 */
#include <stdlib.h>
#include "exec/state.h"

enum { SMALLEST = 12, CLASSES = 14 }; /* classes of 4 KiB to 32 MiB */
#ifdef __SANITIZE_ADDRESS__
enum { KEPT_BYTES = 0 }; /* an access behind a piece, or after its launch, is found */
#else
enum { KEPT_BYTES = 256 << 20 };
#endif

/* In front of each piece, which is aligned to 64 bytes. */
struct piece {
    _Alignas(64) struct piece *next;
    unsigned class; /* CLASSES: larger than any, not kept */
};

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *kept[CLASSES];
static size_t kept_bytes;

static size_t class_bytes(unsigned class)
{
    return (size_t)1 << (SMALLEST + class);
}

static unsigned class_of(size_t bytes)
{
    unsigned class = 0;
    while (class < CLASSES && class_bytes(class) < bytes)
        class ++;
    return class;
}

static struct piece *take_kept(unsigned class)
{
    if (class == CLASSES)
        return NULL;
    pthread_mutex_lock(&kept_lock);
    struct piece *piece = kept[class];
    if (piece) {
        kept[class] = piece->next;
        kept_bytes -= class_bytes(class);
    }
    pthread_mutex_unlock(&kept_lock);
    return piece;
}

void *pages_take(size_t bytes)
{
    bytes = (bytes + sizeof(struct piece) + 63) & ~(size_t)63;
    unsigned class = class_of(bytes);
    struct piece *piece = take_kept(class);
    if (!piece)
        piece = aligned_alloc(64, class < CLASSES ? class_bytes(class) : bytes);
    if (!piece)
        return NULL;
    memset(piece, 0, bytes);
    piece->class = class;
    return piece + 1;
}

void pages_give(void *memory)
{
    struct piece *piece = (struct piece *)memory - 1;
    bool keep = false;
    if (piece->class < CLASSES) {
        pthread_mutex_lock(&kept_lock);
        keep = kept_bytes + class_bytes(piece->class) <= KEPT_BYTES;
        if (keep) {
            piece->next = kept[piece->class];
            kept[piece->class] = piece;
            kept_bytes += class_bytes(piece->class);
        }
        pthread_mutex_unlock(&kept_lock);
    }
    if (!keep)
        free(piece);
}
