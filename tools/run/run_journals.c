#include "tools/run/run_journals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "report/journal_read.h"

/* A process whose start line was read, while its end line was not. One file may hold several in a
 * row: a pid comes again, or a program execs another. */
struct process {
    bool open;
    uint64_t pid, findings, inconclusive;
    struct run_counts interim; /* its last counts so far */
    char host[80];
};

static bool still_running(const struct process *process)
{
    char host[80] = "";

    gethostname(host, sizeof host - 1);
    if (strcmp(host, process->host) != 0)
        return false;
    return kill((pid_t)process->pid, 0) == 0 || errno == EPERM;
}

uint64_t run_checked(const struct run_counts *counts)
{
    return counts->match + counts->mismatch + counts->inconclusive;
}

static uint64_t most_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void add_counts(struct run_counts *into, const struct run_counts *from)
{
    into->seen += from->seen;
    into->match += from->match;
    into->mismatch += from->mismatch;
    into->inconclusive += from->inconclusive;
    for (int i = 0; i < SKIP_COUNT; i++)
        into->skipped[i] += from->skipped[i];
}

/* `name`: of its journal. */
static void close_unended(struct run_totals *totals, struct process *process, const char *name)
{
    struct run_counts *counts = &process->interim;

    if (!process->open)
        return;
    process->open = false;
    counts->mismatch = most_of(counts->mismatch, process->findings);
    counts->inconclusive = most_of(counts->inconclusive, process->inconclusive);
    add_counts(&totals->counts, counts);
    if (still_running(process)) {
        totals->running++;
        return;
    }
    if (totals->unended < RUN_LOST_SHOWN) {
        struct run_unended *lost = &totals->lost[totals->unended];
        lost->pid = process->pid;
        snprintf(lost->journal, sizeof lost->journal, "%s", name);
    }
    totals->unended++;
}

static void read_counts(struct run_counts *out, const char *line)
{
    *out = (struct run_counts){0};
    journal_line_uint(line, "seen", &out->seen);
    journal_line_uint(line, "match", &out->match);
    journal_line_uint(line, "mismatch", &out->mismatch);
    journal_line_uint(line, "inconclusive", &out->inconclusive);
    for (enum skip skip = SKIP_NONE + 1; skip < SKIP_COUNT; skip++)
        journal_line_uint(line, skip_text(skip), &out->skipped[skip]);
}

static void read_end(struct run_totals *totals, const char *line)
{
    struct run_counts counts;
    uint64_t lost = 0;
    bool balanced = true;

    read_counts(&counts, line);
    add_counts(&totals->counts, &counts);
    if (journal_line_uint(line, "lost_lines", &lost))
        totals->lost_lines += lost;
    if (journal_line_bool(line, "balanced", &balanced) && !balanced)
        totals->unbalanced++;
}

static void read_line(struct run_totals *totals, struct process *process, const char *line,
                      const char *name)
{
    uint64_t seen;

    if (journal_line_is(line, "start")) {
        close_unended(totals, process, name);
        *process = (struct process){.open = true};
        journal_line_uint(line, "pid", &process->pid);
        journal_line_text(line, "host", process->host, sizeof process->host);
        totals->processes++;
    } else if (journal_line_is(line, "finding")) {
        process->findings++;
    } else if (journal_line_is(line, "inconclusive")) {
        process->inconclusive++;
    } else if (journal_line_is(line, "interim") && journal_line_uint(line, "seen", &seen)) {
        read_counts(&process->interim, line); /* those of a kernel have no `seen` */
    } else if (journal_line_is(line, "end") && process->open) {
        process->open = false;
        read_end(totals, line);
    }
}

static void read_journal(struct run_totals *totals, FILE *file, const char *name, const char *run)
{
    struct process process = {0};
    bool unreadable = false;
    size_t size = 0;
    char *line = NULL, of_run[128];

    while (getline(&line, &size, file) > 0) {
        if (!journal_line_whole(line))
            unreadable |= strchr(line, '\n') != NULL; /* a last line may be cut off */
        else if (journal_line_text(line, "run", of_run, sizeof of_run) && strcmp(of_run, run) == 0)
            read_line(totals, &process, line, name);
    }
    close_unended(totals, &process, name);
    totals->unreadable += unreadable;
    free(line);
}

/* Whether a file's name is that of a journal of the run: journal-HOST-PID-RUN.jsonl. */
static bool is_of_run(const char *name, const char *run)
{
    char end[160];
    int length = snprintf(end, sizeof end, "-%s.jsonl", run);
    size_t all = strlen(name);

    return strncmp(name, "journal-", 8) == 0 && length < (int)sizeof end &&
           all > 8 + (size_t)length && strcmp(name + all - (size_t)length, end) == 0;
}

/* A folder may be shared: another user's process may make files under any name there. */
static bool is_own(int fd)
{
    struct stat info;

    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1 &&
           (info.st_uid == geteuid() || info.st_uid == getuid());
}

static FILE *open_journal(int folder_fd, const char *name, struct run_totals *totals)
{
    int fd = openat(folder_fd, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    FILE *file = fd >= 0 && is_own(fd) ? fdopen(fd, "r") : NULL;

    if (!file)
        totals->refused++;
    if (!file && fd >= 0)
        close(fd);
    return file;
}

void run_journals_read(struct run_totals *totals, const char *folder, const char *run)
{
    DIR *entries = opendir(folder);

    *totals = (struct run_totals){0};
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        FILE *file = NULL;

        if (is_of_run(entry->d_name, run))
            file = open_journal(dirfd(entries), entry->d_name, totals);
        if (file) {
            read_journal(totals, file, entry->d_name, run);
            fclose(file);
        }
    }
    if (entries)
        closedir(entries);
}
