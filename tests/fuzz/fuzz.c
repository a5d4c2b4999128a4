/*
 * fuzz.c - runs targets on their corpus and on inputs that are made of it: TAP, for `make test`.
 *
 *     fuzz [--rounds N] CORPUS [TARGET ...]     CORPUS/TARGET/ has the inputs; all targets without
 * names fuzz --seeds FOLDER                       writes the inputs that are no text to
 * FOLDER/TARGET/
 *
 * Changed inputs follow from a fixed seed, so that a failure comes again. Each input runs in this
 * process; one that takes longer than 10 s ends it, as a crash does, and the input lies in
 * fuzz-TARGET.input then.
 */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/fuzz/targets.h"

enum { LIMIT_S = 10, INPUTS = 256, LONGEST = 1 << 17 };

struct corpus {
    size_t count;
    struct input {
        uint8_t *data;
        size_t size;
    } input[INPUTS];
};

static struct {
    const char *target;
    const uint8_t *data;
    size_t size;
} running;

static uint64_t state;

static uint32_t draw(uint32_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return limit ? (uint32_t)((state >> 33) % limit) : 0;
}

/* Async-signal-safe: keeps the input that was under way. */
static void keep_input(int number)
{
    char path[64] = "fuzz-";
    strncat(path, running.target, 32);
    strcat(path, ".input");
    FILE *out = fopen(path, "wb"); /* the process ends in any case */
    if (out) {
        fwrite(running.data, 1, running.size, out);
        fclose(out);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void run(const struct target *target, const uint8_t *data, size_t size)
{
    running.target = target->name;
    running.data = data;
    running.size = size;
    alarm(LIMIT_S);
    target->run(data, size);
    alarm(0);
}

static bool read_input(const char *path, struct input *input)
{
    struct stat about;
    FILE *in = fopen(path, "rb");
    if (!in || fstat(fileno(in), &about) || !S_ISREG(about.st_mode) || about.st_size > LONGEST)
        return false;
    input->data = malloc((size_t)about.st_size + 1);
    input->size = input->data ? fread(input->data, 1, (size_t)about.st_size, in) : 0;
    fclose(in);
    return input->data;
}

static void read_corpus(const char *folder, const char *name, struct corpus *corpus)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) && corpus->count < INPUTS) {
        char file[PATH_MAX + 256];
        snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && read_input(file, &corpus->input[corpus->count]))
            corpus->count++;
    }
    if (dir)
        closedir(dir);
}

/* Puts `size` bytes of `from` into the input at `at`, over or between what is there. */
static size_t splice(uint8_t *data, size_t length, size_t at, const uint8_t *from, size_t size,
                     bool over)
{
    if (at + size > LONGEST || length + size > LONGEST)
        return length;
    if (!over)
        memmove(data + at + size, data + at, length - at);
    memcpy(data + at, from, size);
    return over ? (at + size > length ? at + size : length) : length + size;
}

static size_t change(uint8_t *data, size_t length, const struct corpus *corpus)
{
    static const char *const words[] = {
        "[",    "]",    "{", "}",  "\"", "\n", "(", ")", ":",   "9223372036854775807", "-1", "0",
        "%s%n", "\xff", ",", "&a", "*a", "@",  "<", ">", "[0]", "4294967296"};
    const struct input *other = &corpus->input[draw((uint32_t)corpus->count)];
    size_t at = draw((uint32_t)length + 1), size;
    switch (draw(6)) {
    case 0: /* a bit */
        if (at < length)
            data[at] ^= (uint8_t)(1 << draw(8));
        return length;
    case 1: /* cut off */
        return at;
    case 2: { /* cut out */
        size = draw((uint32_t)(length - at) + 1);
        memmove(data + at, data + at + size, length - at - size);
        return length - size;
    }
    case 3: { /* a piece of another */
        size_t from = draw((uint32_t)other->size + 1);
        size = draw((uint32_t)(other->size - from) + 1);
        return splice(data, length, at, other->data + from, size, draw(2));
    }
    case 4: { /* a word */
        const char *word = words[draw(sizeof(words) / sizeof(*words))];
        return splice(data, length, at, (const uint8_t *)word, strlen(word), draw(2));
    }
    default: { /* a piece again and again */
        uint8_t piece[64];
        size = draw((uint32_t)(length - at < 64 ? length - at : 64) + 1);
        memcpy(piece, data + at, size);
        for (uint32_t i = draw(200); i > 0; i--)
            length = splice(data, length, at, piece, size, false);
        return length;
    }
    }
}

static bool run_target(const struct target *target, const char *folder, uint32_t rounds)
{
    static uint8_t data[LONGEST];
    struct corpus corpus = {0};
    read_corpus(folder, target->name, &corpus);
    for (size_t i = 0; i < corpus.count; i++)
        run(target, corpus.input[i].data, corpus.input[i].size);
    state = 1;
    for (uint32_t round = 0; corpus.count && round < rounds; round++) {
        const struct input *from = &corpus.input[draw((uint32_t)corpus.count)];
        size_t length = from->size;
        memcpy(data, from->data, length);
        for (uint32_t changes = 1 + draw(4); changes > 0; changes--)
            length = change(data, length, &corpus);
        run(target, data, length);
    }
    for (size_t i = 0; i < corpus.count; i++)
        free(corpus.input[i].data);
    return corpus.count > 0;
}

static int write_seeds(const char *folder)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < target_count; i++) {
        if (!targets[i].seed)
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, targets[i].name);
        mkdir(folder, 0777);
        mkdir(path, 0777);
        targets[i].seed(path);
    }
    return 0;
}

int main(int argc, char **argv)
{
    uint32_t rounds = 2000;
    int first = 1, bad = 0, number = 0;
    if (argc > 2 && strcmp(argv[1], "--seeds") == 0)
        return write_seeds(argv[2]);
    if (argc > 2 && strcmp(argv[1], "--rounds") == 0) {
        rounds = (uint32_t)strtoul(argv[2], NULL, 10);
        first = 3;
    }
    if (first >= argc) {
        fprintf(stderr,
                "usage: fuzz [--rounds N] CORPUS [TARGET ...]\n       fuzz --seeds FOLDER\n");
        return 2;
    }
    for (int i = 0; i < 4; i++)
        signal((const int[]){SIGSEGV, SIGABRT, SIGALRM, SIGFPE}[i], keep_input);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("1..%d\n", argc > first + 1 ? argc - first - 1 : (int)target_count);
    for (size_t i = 0; i < target_count; i++) {
        bool wanted = argc == first + 1;
        for (int j = first + 1; j < argc; j++)
            wanted |= strcmp(argv[j], targets[i].name) == 0;
        if (!wanted)
            continue;
        bool ran = run_target(&targets[i], argv[first], rounds);
        printf("%s %d - %s%s\n", ran ? "ok" : "not ok", ++number, targets[i].name,
               ran ? "" : ": no corpus");
        bad += !ran;
    }
    return bad > 0;
}
