/*
 * program.c - a program whose descriptors are not what a library expects: `program FATBIN WORDS`.
 *
 *   closed KERNEL   closes journals, and sockets that came with the first launches, as a daemon
 *                   closes all from 3 up, and uses their numbers for a file and a socket of its own
 *   streams KERNEL  begins without descriptors 0, 1 and 2
 *
 * What became of its own is checked when it exits, after every handler that came later.
 */
#include "common/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 256, OUT = 200 };

static int own_file = -1, own_socket[2] = {-1, -1};
static bool stays[MOST];

/* What a descriptor stands for, as the kernel writes it; "" where it is closed. */
static const char *target(int fd)
{
    static char text[4096];
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    return text;
}

static bool is_socket(int fd)
{
    return !strncmp(target(fd), "socket:", 7);
}

/* The driver's own stay. */
static void find_sockets(void)
{
    for (int fd = 3; fd < MOST; fd++)
        stays[fd] = is_socket(fd);
}

static void replace(void)
{
    for (int fd = 3; fd < MOST; fd++) {
        if (strstr(target(fd), "/journal-"))
            dup2(own_file, fd);
        else if (is_socket(fd) && !stays[fd])
            dup2(own_socket[0], fd);
    }
}

static void look_at_own(void)
{
    struct stat info;
    char byte;
    ssize_t got = recv(own_socket[1], &byte, 1, MSG_DONTWAIT);
    printf("own file: %ld bytes\n", fstat(own_file, &info) == 0 ? (long)info.st_size : -1);
    printf("own socket: %s\n", got < 0 && errno == EAGAIN ? "untouched" : "touched");
    got = send(own_socket[1], "a", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    printf("own socket: %s\n", got == 1 ? "open" : "shut down");
}

static void make_own(void)
{
    char path[] = "/tmp/scenario-XXXXXX";
    own_file = mkstemp(path);
    unlink(path);
    if (own_file < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, own_socket))
        exit(2);
}

static void look_at_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        const char *is = target(fd);
        bool strange = strstr(is, "/journal-") || strstr(is, "cuvet") || !strncmp(is, "socket:", 7);
        dprintf(OUT, "%d: %s\n", fd, strange ? is : "not a tool's");
    }
}

/* Standard output goes on as OUT. */
static void begin_again(char **argv)
{
    dup2(STDOUT_FILENO, OUT);
    for (int fd = 0; fd <= 2; fd++)
        close(fd);
    execl("/proc/self/exe", argv[0], argv[1], "begun", argv[3], (char *)NULL);
    _exit(2);
}

int main(int argc, char **argv)
{
    (void)read_image(argc, argv);
    bool closes = !strcmp(word(0), "closed");
    if (!strcmp(word(0), "streams"))
        begin_again(argv);
    if (closes)
        make_own();
    atexit(closes ? look_at_own : look_at_streams);
    start(argc, argv);
    struct norm norm = norm_new(4, 80, 1);
    find_sockets();
    for (int i = 0; i < 3; i++)
        norm_launch(word(1), &norm, NULL);
    CHECK(cuCtxSynchronize());
    usleep(300000); /* what is checked has been reported */
    if (closes)
        replace();
    for (int i = 0; i < 3; i++)
        norm_launch(word(1), &norm, NULL);
    CHECK(cuCtxSynchronize());
    finish();
    return 0;
}
