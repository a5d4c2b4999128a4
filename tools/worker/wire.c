#include "tools/worker/wire.h"

#include <errno.h>
#include <sys/socket.h>

bool wire_send(int socket, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count) {
        ssize_t done = send(socket, at, count, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        count -= (size_t)done;
    }
    return true;
}

bool wire_receive(int socket, void *bytes, size_t count)
{
    char *at = bytes;
    while (count) {
        ssize_t done = recv(socket, at, count, MSG_WAITALL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        count -= (size_t)done;
    }
    return true;
}
