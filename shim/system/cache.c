#include "system/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/clock.h"
#include "system/files.h"

/* Every file of a cache ends with SUFFIX; others in the folder are left alone. */
#define SUFFIX      ".cuvet"
#define NEW_PREFIX  ".new-"
#define LOCK_SUFFIX ".lock" SUFFIX

enum { PATH_BYTES = CACHE_NAME + 16, LISTED_MAX = 8192, STALE_S = 3600, LOCK_NAP_NS = 20000000 };

/* What a file begins with. */
struct cache_header {
    char magic[8];
    uint64_t size;
    uint64_t sum[2];
    char name[CACHE_NAME];
};
static const char magic[8] = "CUVETC1";

/* ---- the folder ---- */

void cache_place(struct cache *cache, const char *option)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    char here[PATH_MAX];
    cache->limit = CACHE_BYTES;
    if (strcmp(option, "off") == 0)
        length = 0;
    else if (*option == '/')
        length = snprintf(cache->folder, sizeof cache->folder, "%s", option);
    else if (*option && getcwd(here, sizeof here))
        length = snprintf(cache->folder, sizeof cache->folder, "%s/%s", here, option);
    else if (xdg && *xdg == '/')
        length = snprintf(cache->folder, sizeof cache->folder, "%s/cuvet", xdg);
    else if (home && *home == '/')
        length = snprintf(cache->folder, sizeof cache->folder, "%s/.cache/cuvet", home);
    if (length <= 0 || (size_t)length >= sizeof cache->folder)
        cache->folder[0] = '\0';
}

/* Root makes no folder in another user's home, where that user could not use it. */
static bool may_make(const char *folder)
{
    char part[PATH_MAX];
    struct stat facts;
    snprintf(part, sizeof part, "%s", folder);
    for (char *slash; (slash = strrchr(part, '/'));) {
        *slash = '\0';
        if (stat(*part ? part : "/", &facts) == 0)
            return geteuid() != 0 || facts.st_uid == 0;
    }
    return false;
}

static enum status open_cache_folder(const struct cache *cache, bool make, int *out,
                                     struct error *err)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    struct stat facts;
    *out = -1;
    if (!cache->folder[0])
        return error_set(err, STATUS_NOT_FOUND, "there is no cache folder");
    int fd = open(cache->folder, flags);
    if (fd < 0 && errno == ENOENT && make && may_make(cache->folder)) {
        enum status status = files_make_folders(cache->folder, err);
        if (status)
            return status;
        fd = open(cache->folder, flags);
    }
    if (fd < 0)
        return error_set(err, STATUS_IO, "the cache folder %s cannot be opened: %m", cache->folder);
    if (fstat(fd, &facts) || facts.st_uid != geteuid() || (facts.st_mode & 022)) {
        close(fd);
        return error_set(err, STATUS_INVALID,
                         "the cache folder %s is not used: it belongs to another user, or others "
                         "may write to it",
                         cache->folder);
    }
    *out = fd;
    return STATUS_OK;
}

enum status cache_prepare(const struct cache *cache, struct error *err)
{
    int folder;
    enum status status = open_cache_folder(cache, true, &folder, err);
    if (!status && faccessat(folder, ".", W_OK | X_OK, AT_EACCESS))
        status = error_set(err, STATUS_IO, "the cache folder %s cannot be written to: %m",
                           cache->folder);
    if (folder >= 0)
        close(folder);
    return status;
}

static const char *cache_file_name(char out[PATH_BYTES], const char *name, const char *suffix)
{
    snprintf(out, PATH_BYTES, "%s%s", name, suffix);
    return out;
}

/* ---- reading ---- */

static void make_header(struct cache_header *header, const char *name, const void *bytes,
                        size_t size)
{
    XXH128_hash_t sum = XXH3_128bits(bytes, size);
    memset(header, 0, sizeof *header);
    memcpy(header->magic, magic, sizeof magic);
    snprintf(header->name, sizeof header->name, "%s", name);
    header->size = size;
    header->sum[0] = sum.low64;
    header->sum[1] = sum.high64;
}

static bool read_cached(int fd, char *at, size_t count)
{
    while (count > 0) {
        ssize_t got = read(fd, at, count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        count -= (size_t)got;
    }
    return true;
}

/* The payload of a sound file, or NULL. */
static char *read_sound(int fd, const char *name, size_t *size)
{
    struct cache_header header, expected;
    struct stat facts;
    if (fstat(fd, &facts) || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid() ||
        facts.st_size < (off_t)sizeof header ||
        facts.st_size > (off_t)(CACHE_FILE_BYTES + sizeof header))
        return NULL;
    *size = (size_t)facts.st_size - sizeof header;
    char *bytes = malloc(*size + 1);
    if (bytes && read_cached(fd, (char *)&header, sizeof header) && read_cached(fd, bytes, *size)) {
        make_header(&expected, name, bytes, *size);
        bytes[*size] = '\0';
        if (memcmp(&header, &expected, sizeof header) == 0)
            return bytes;
    }
    free(bytes);
    return NULL;
}

enum status cache_read(const struct cache *cache, const char *name, char **bytes, size_t *size)
{
    char path[PATH_BYTES];
    int kept = errno, folder, fd = -1;
    *bytes = NULL;
    if (!open_cache_folder(cache, false, &folder, NULL)) {
        fd = openat(folder, cache_file_name(path, name, SUFFIX),
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        close(folder);
    }
    if (fd >= 0) {
        *bytes = read_sound(fd, name, size);
        if (*bytes)
            futimens(fd, NULL);
        close(fd);
    }
    errno = kept;
    return *bytes ? STATUS_OK : STATUS_NOT_FOUND;
}

/* ---- the limit ---- */

struct cache_entry {
    char name[PATH_BYTES];
    time_t changed;
    uint64_t bytes;
};

static int older_first(const void *a, const void *b)
{
    const struct cache_entry *one = a, *other = b;
    return (one->changed > other->changed) - (one->changed < other->changed);
}

static bool is_left_over(const struct cache_entry *entry)
{
    bool passing = strncmp(entry->name, NEW_PREFIX, sizeof NEW_PREFIX - 1) == 0 ||
                   strstr(entry->name, LOCK_SUFFIX);
    return passing && entry->changed + STALE_S < time(NULL);
}

static size_t list_entries(DIR *files, struct cache_entry *entry, size_t most)
{
    size_t count = 0;
    struct stat facts;
    for (struct dirent *row; count < most && (row = readdir(files));) {
        size_t length = strlen(row->d_name), suffix = sizeof SUFFIX - 1;
        if (length >= sizeof entry->name || length < suffix ||
            strcmp(row->d_name + length - suffix, SUFFIX) != 0 ||
            fstatat(dirfd(files), row->d_name, &facts, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(facts.st_mode))
            continue;
        memcpy(entry[count].name, row->d_name, length + 1);
        entry[count].changed = facts.st_mtime;
        entry[count++].bytes = (uint64_t)facts.st_size;
    }
    return count;
}

/* Down to three quarters of the limit, so that not every write has to do it. */
static void remove_oldest(const struct cache *cache, int folder)
{
    int copy = fcntl(folder, F_DUPFD_CLOEXEC, 3);
    DIR *files = copy < 0 ? NULL : fdopendir(copy);
    struct cache_entry *entry = calloc(LISTED_MAX, sizeof *entry);
    size_t count = files && entry ? list_entries(files, entry, LISTED_MAX) : 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += entry[i].bytes;
    bool over = bytes > cache->limit || count == LISTED_MAX;
    uint64_t aim = over ? cache->limit / 4 * 3 : UINT64_MAX;
    size_t keep = over ? LISTED_MAX / 4 * 3 : LISTED_MAX;
    if (count)
        qsort(entry, count, sizeof *entry, older_first);
    for (size_t i = 0; i < count; i++) {
        if ((bytes > aim || count - i > keep || is_left_over(&entry[i])) &&
            unlinkat(folder, entry[i].name, 0) == 0)
            bytes -= entry[i].bytes;
    }
    free(entry);
    if (files)
        closedir(files);
    else if (copy >= 0)
        close(copy);
}

/* ---- writing ---- */

static enum status write_new(int folder, const char *temporary, const char *name, const void *bytes,
                             size_t size, struct error *err)
{
    struct cache_header header;
    char path[PATH_BYTES];
    struct own_fd into = OWN_FD_NONE, file = OWN_FD_NONE;
    own_fd_take(&into, folder);
    enum status status = files_create(&into, temporary, &file, err);
    if (status)
        return status;
    make_header(&header, name, bytes, size);
    status = files_write_own(&file, &header, sizeof header, err);
    if (!status)
        status = files_write_own(&file, bytes, size, err);
    if (own_fd_close(&file) && !status)
        status = error_set(err, STATUS_IO, "%m");
    if (!status && renameat(folder, temporary, folder, cache_file_name(path, name, SUFFIX)))
        status = error_set(err, STATUS_IO, "%m");
    if (status)
        unlinkat(folder, temporary, 0);
    return status;
}

enum status cache_write(const struct cache *cache, const char *name, const void *bytes, size_t size,
                        struct error *err)
{
    static unsigned written;
    char temporary[64];
    int kept = errno, folder;
    if (size > CACHE_FILE_BYTES)
        return error_set(err, STATUS_FULL, "%zu bytes are too large for the cache", size);
    enum status status = open_cache_folder(cache, true, &folder, err);
    if (!status) {
        snprintf(temporary, sizeof temporary, NEW_PREFIX "%lx-%x-%llx" SUFFIX, (long)getpid(),
                 __atomic_fetch_add(&written, 1, __ATOMIC_RELAXED), (unsigned long long)clock_ns());
        status = write_new(folder, temporary, name, bytes, size, err);
        error_prefix(err, "the cache folder %s", cache->folder);
        remove_oldest(cache, folder);
        close(folder);
    }
    errno = kept;
    return status;
}

/* ---- locks ---- */

int cache_lock(const struct cache *cache, const char *name, int timeout_ms)
{
    const struct timespec nap = {.tv_nsec = LOCK_NAP_NS};
    int64_t until = clock_ns() + (int64_t)timeout_ms * 1000000;
    char path[PATH_BYTES];
    int folder, fd;
    if (open_cache_folder(cache, true, &folder, NULL))
        return -1;
    fd = openat(folder, cache_file_name(path, name, LOCK_SUFFIX),
                O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    close(folder);
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK || clock_ns() > until) {
            close(fd);
            return -1;
        }
        nanosleep(&nap, NULL);
    }
    return fd;
}

/* A process that waits for a file that is removed still gets its lock, and finds the work done. */
void cache_unlock(const struct cache *cache, const char *name, int lock)
{
    char path[PATH_BYTES];
    int folder;
    if (lock < 0)
        return;
    if (!open_cache_folder(cache, false, &folder, NULL)) {
        unlinkat(folder, cache_file_name(path, name, LOCK_SUFFIX), 0);
        close(folder);
    }
    close(lock);
}
