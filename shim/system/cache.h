/*
 * cache.h - a folder of files that can be made again.
 *
 * A file is read whole or not at all: it carries its name, its size and a checksum, so one that is
 * truncated, damaged or another user's reads as absent. It is written beside its place and renamed,
 * so processes may share the folder. The folder must belong to the effective user, and no other
 * user may write to it; files in it that are not of a cache are left alone. Every function blocks
 * on files; no descriptor is kept but a lock's.
 */
#ifndef SYSTEM_CACHE_H
#define SYSTEM_CACHE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

enum { CACHE_NAME = 64, CACHE_FILE_BYTES = 64 << 20 };
#define CACHE_BYTES ((uint64_t)256 << 20) /* of all files */

struct cache {
    char folder[PATH_MAX]; /* absolute; empty: there is no cache */
    uint64_t limit;        /* bytes of all files; the oldest ones are removed */
};

/* The folder that the option names: a path, "off", or "" for XDG_CACHE_HOME/cuvet, else
 * HOME/.cache/cuvet. On a thread that may call getenv. Touches no file. */
void cache_place(struct cache *cache, const char *option);

/* Makes the folder where it is missing. STATUS_INVALID: others may write to it; STATUS_IO: it
 * cannot be made or written to; STATUS_NOT_FOUND: there is no cache. */
enum status cache_prepare(const struct cache *cache, struct error *err);

/* The bytes of a file; the caller frees them. STATUS_NOT_FOUND: there is none, or none that is
 * sound. A file that is read counts as new. */
enum status cache_read(const struct cache *cache, const char *name, char **bytes, size_t *size);

/* Writes or replaces a file, and removes the oldest ones where the folder is over its limit. Makes
 * the folder where it is missing. */
enum status cache_write(const struct cache *cache, const char *name, const void *bytes, size_t size,
                        struct error *err);

/* Waits until no other process holds the lock of that name. A descriptor for cache_unlock, or -1:
 * not within the time, or there is no cache. The lock ends with the process at the latest. */
int cache_lock(const struct cache *cache, const char *name, int timeout_ms);
void cache_unlock(const struct cache *cache, const char *name, int lock);

#endif
