/* image.c - finds the PTX text in what a program passes as device code. */
#include "driver/module/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "driver/module/fatbin.h"
#include "driver/base/settings.h"
#include "image/carried_text.h"

enum { CHUNK = 4096, HEAD = 64 };
#define IMAGE_MAX ((uint64_t)1 << 31)

void say(const char *sentence)
{
    fprintf(stderr, "softgpu: %s\n", sentence);
}

void say_once(const char *sentence)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char last[sizeof(((struct error *)0)->text)];
    pthread_mutex_lock(&lock);
    if (strcmp(last, sentence)) {
        snprintf(last, sizeof(last), "%s", sentence);
        say(sentence);
    }
    pthread_mutex_unlock(&lock);
}

static CUresult make(char *text, size_t bytes, struct image **image)
{
    struct image *made = malloc(sizeof(*made));
    if (!made) {
        free(text);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    atomic_init(&made->holders, 1);
    made->text = text;
    made->bytes = bytes;
    *image = made;
    return CUDA_SUCCESS;
}

struct image *image_hold(struct image *image)
{
    atomic_fetch_add(&image->holders, 1);
    return image;
}

void image_drop(struct image *image)
{
    if (!image || atomic_fetch_sub(&image->holders, 1) > 1)
        return;
    free(image->text);
    free(image);
}

/* -- bytes of a known size -- */

/* Behind spaces and comments PTX begins with a directive. */
static bool looks_like_ptx(const char *text, size_t length)
{
    const char *at = text, *end = text + strnlen(text, length);
    while (at < end) {
        if (strchr(" \t\r\n\f\v", *at)) {
            at++;
        } else if (end - at >= 2 && at[0] == '/' && at[1] == '/') {
            const char *line = memchr(at, '\n', (size_t)(end - at));
            at = line ? line : end;
        } else if (end - at >= 2 && at[0] == '/' && at[1] == '*') {
            const char *close = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);
            at = close ? close + 2 : end;
        } else {
            return *at == '.';
        }
    }
    return false;
}

static CUresult take_text(const char *bytes, size_t length, struct image **image, struct error *err)
{
    if (!looks_like_ptx(bytes, length)) {
        error_set(err, STATUS_INVALID, "the image is neither PTX nor a fatbin");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    size_t used = strnlen(bytes, length);
    char *text = malloc(used + 1);
    if (!text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(text, bytes, used);
    text[used] = '\0';
    return make(text, used, image);
}

/* Machine code runs as the PTX that it carries for debuggers: Triton's, and that of nvcc -lineinfo.
 */
static CUresult take_elf(const void *bytes, size_t length, unsigned arch, struct image **image,
                         struct error *err)
{
    size_t text_bytes;
    char *text = carried_text_of(bytes, length, &text_bytes), what[40];
    if (text)
        return make(text, text_bytes, image);
    snprintf(what, sizeof(what), "sm_%u machine code", arch);
    fatbin_no_ptx(what, err);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult image_from_bytes(const void *bytes, size_t length, struct image **image, struct error *err)
{
    uint64_t size;
    unsigned arch = fatbin_elf_arch(bytes, length);
    if (arch)
        return take_elf(bytes, length, arch, image, err);
    if (!fatbin_measure(bytes, length, &size))
        return take_text(bytes, length, image, err);
    char *text;
    size_t text_bytes;
    CUresult result = fatbin_choose(bytes, length, settings()->arch, &text, &text_bytes, err);
    return result ? result : make(text, text_bytes, image);
}

/* -- the program's memory -- */

/* As many of `length` bytes as are there. Reads through the kernel, in pieces that cross no page.
 */
static size_t copy_memory(void *to, const void *from, size_t length)
{
    size_t done = 0;
    while (done < length) {
        uintptr_t at = (uintptr_t)from + done;
        size_t piece = CHUNK - at % CHUNK;
        if (piece > length - done)
            piece = length - done;
        struct iovec local = {(char *)to + done, piece};
        struct iovec remote = {(char *)(uintptr_t)from + done, piece};
        ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
        if (got < 0 && (errno == ENOSYS || errno == EPERM)) {
            memcpy((char *)to + done, (const char *)from + done, piece); /* a sandbox */
            got = (ssize_t)piece;
        }
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

static CUresult cut_off(const void *memory, struct error *err)
{
    error_set(err, STATUS_INVALID, "the image at %p is cut off: its memory ends before it", memory);
    return CUDA_ERROR_INVALID_IMAGE;
}

static CUresult read_sized(const void *memory, uint64_t size, struct image **image,
                           struct error *err)
{
    uint8_t *bytes = size <= IMAGE_MAX ? malloc(size) : NULL;
    if (!bytes) {
        error_set(err, STATUS_INVALID, "the image claims to have %llu bytes",
                  (unsigned long long)size);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    CUresult result = copy_memory(bytes, memory, size) == size
                          ? image_from_bytes(bytes, size, image, err)
                          : cut_off(memory, err);
    free(bytes);
    return result;
}

/* Text of unknown length, up to its NUL. */
static CUresult read_text(const char *memory, struct image **image, struct error *err)
{
    size_t room = 0, used = 0, got;
    char *text = NULL;
    do {
        if (used + CHUNK > room) {
            room = 2 * room + CHUNK;
            char *more = room <= IMAGE_MAX ? realloc(text, room) : NULL;
            if (!more) {
                free(text);
                return CUDA_ERROR_OUT_OF_MEMORY;
            }
            text = more;
        }
        got = copy_memory(text + used, memory + used, CHUNK);
        if (memchr(text + used, '\0', got)) {
            CUresult result = take_text(text, used + got, image, err);
            free(text);
            return result;
        }
        used += got;
    } while (got == CHUNK);
    free(text);
    return cut_off(memory, err);
}

/* The tables of sections and segments are at an ELF's end. */
static uint64_t elf_bytes(const uint8_t *head)
{
    Elf64_Ehdr elf;
    memcpy(&elf, head, sizeof(elf));
    uint64_t sections = elf.e_shoff + (uint64_t)elf.e_shnum * elf.e_shentsize;
    uint64_t segments = elf.e_phoff + (uint64_t)elf.e_phnum * elf.e_phentsize;
    return sections > segments ? sections : segments;
}

CUresult image_from_memory(const void *memory, struct image **image, struct error *err)
{
    uint8_t head[HEAD] = {0};
    if (!memory)
        return CUDA_ERROR_INVALID_VALUE;
    size_t got = copy_memory(head, memory, sizeof(head));
    if (!got)
        return cut_off(memory, err);
    if (fatbin_unwrap(head, got, &memory)) {
        got = copy_memory(head, memory, sizeof(head));
        uint64_t unused;
        if (!fatbin_measure(head, got, &unused))
            return cut_off(memory, err);
    }
    uint64_t size;
    if (fatbin_measure(head, got, &size))
        return read_sized(memory, size, image, err);
    return fatbin_elf_arch(head, got) ? read_sized(memory, elf_bytes(head), image, err)
                                      : read_text(memory, image, err);
}

/* -- files -- */

static CUresult read_whole(int file, size_t length, struct image **image, struct error *err)
{
    char *bytes = malloc(length + 1);
    if (!bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t used = 0;
    for (ssize_t got; used < length && (got = read(file, bytes + used, length - used)) > 0;)
        used += (size_t)got;
    CUresult result = image_from_bytes(bytes, used, image, err);
    free(bytes);
    return result;
}

CUresult image_from_file(const char *path, struct image **image, struct error *err)
{
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    struct stat about;
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (!path)
        return result;
    if (file < 0 || fstat(file, &about) || !S_ISREG(about.st_mode)) {
        error_set(err, STATUS_NOT_FOUND, "%s is no file that can be read", path);
        result = CUDA_ERROR_FILE_NOT_FOUND;
    } else if ((uint64_t)about.st_size > IMAGE_MAX) {
        error_set(err, STATUS_INVALID, "%s is too large", path);
        result = CUDA_ERROR_INVALID_IMAGE;
    } else {
        result = read_whole(file, (size_t)about.st_size, image, err);
    }
    if (file >= 0)
        close(file);
    return result;
}
