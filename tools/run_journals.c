#include "tools/run_journals.h"

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

static void close_unended(struct run_totals *totals, struct process *process)
{
    if (!process->open)
        return;
    process->open = false;
    totals->mismatch += process->findings;
    totals->inconclusive += process->inconclusive;
    totals->checked += process->findings + process->inconclusive;
    if (still_running(process)) {
        totals->running++;
        return;
    }
    if (totals->unended < RUN_LOST_SHOWN)
        totals->unended_pid[totals->unended] = process->pid;
    totals->unended++;
}

static void add_field(uint64_t *sum, const char *line, const char *key)
{
    uint64_t value = 0;

    if (journal_line_uint(line, key, &value))
        *sum += value;
}

static void read_line(struct run_totals *totals, struct process *process, const char *line)
{
    if (journal_line_is(line, "start")) {
        close_unended(totals, process);
        *process = (struct process){.open = true};
        journal_line_uint(line, "pid", &process->pid);
        journal_line_text(line, "host", process->host, sizeof process->host);
        totals->processes++;
    } else if (journal_line_is(line, "finding")) {
        process->findings++;
    } else if (journal_line_is(line, "inconclusive")) {
        process->inconclusive++;
    } else if (journal_line_is(line, "end") && process->open) {
        bool balanced = true;

        process->open = false;
        add_field(&totals->seen, line, "seen");
        add_field(&totals->checked, line, "checked");
        add_field(&totals->match, line, "match");
        add_field(&totals->mismatch, line, "mismatch");
        add_field(&totals->inconclusive, line, "inconclusive");
        add_field(&totals->lost_lines, line, "lost_lines");
        for (enum skip skip = SKIP_NONE + 1; skip < SKIP_COUNT; skip++)
            add_field(&totals->skipped[skip], line, skip_text(skip));
        if (journal_line_bool(line, "balanced", &balanced) && !balanced)
            totals->unbalanced++;
    }
}

static void read_journal(struct run_totals *totals, FILE *file, const char *run)
{
    struct process process = {0};
    bool unreadable = false;
    size_t size = 0;
    char *line = NULL, of_run[128];

    while (getline(&line, &size, file) > 0) {
        if (!journal_line_whole(line))
            unreadable |= strchr(line, '\n') != NULL; /* a last line may be cut off */
        else if (journal_line_text(line, "run", of_run, sizeof of_run) && strcmp(of_run, run) == 0)
            read_line(totals, &process, line);
    }
    close_unended(totals, &process);
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
            read_journal(totals, file, run);
            fclose(file);
        }
    }
    if (entries)
        closedir(entries);
}
