/*
 * room.c - the main of one room's unit tests: runs the group that the program's name names, as the
 * main of its file would.
 *
 *   test_NAME [ARGUMENTS]   one group
 *   room                    all, each in a process of its own, so that one which crashes ends alone
 *
 * ROOM_GROUPS is GROUP(test_NAME) for each group of the room.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GROUP(name) int main_##name(int argc, char **argv);
ROOM_GROUPS
#undef GROUP

static const struct group {
    const char *name;
    int (*main)(int argc, char **argv);
} groups[] = {
#define GROUP(name) {#name, main_##name},
    ROOM_GROUPS};

enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

/* Whether it ended well. */
static int run_apart(const struct group *group, char **argv)
{
    int status = 0;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0)
        exit(group->main(1, argv));
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0)
        return 1;
    fprintf(stderr, "%s: ended with status %d\n", group->name, status);
    return 0;
}

int main(int argc, char **argv)
{
    int bad = 0;

    for (int i = 0; i < GROUPS; i++)
        if (strcmp(groups[i].name, program_invocation_short_name) == 0)
            return groups[i].main(argc, argv);
    for (int i = 0; i < GROUPS; i++)
        bad |= !run_apart(&groups[i], argv);
    return bad;
}
