/*
 * wire.h - the messages between a verb and `cuvet worker --serve`: one request, one answer, in
 * turn. Both ends are the same program on one machine, so structs travel as they lie in memory.
 */
#ifndef TOOLS_WORKER_WIRE_H
#define TOOLS_WORKER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "refs/abi/ref_abi.h"

enum wire_op {
    WIRE_OPEN,     /* word: device, ordinal; answer: struct worker_about */
    WIRE_LOAD,     /* the image; answer word: module */
    WIRE_UNLOAD,   /* word: module */
    WIRE_KERNEL,   /* word: module; the symbol; answer: struct worker_kernel */
    WIRE_VARIABLE, /* word: kernel; a name with its NUL, and what the variable is to hold */
    WIRE_LIBRARY,  /* name of a call, file or "", each with its NUL; answer as of WIRE_KERNEL */
    WIRE_ALLOCATE, /* struct worker_array; answer word: address */
    WIRE_FREE,     /* word: address */
    WIRE_FREE_ALL,
    WIRE_WRITE,  /* word: address; the bytes */
    WIRE_READ,   /* word: address, count; answer: the bytes */
    WIRE_FILL,   /* word: address, count, value */
    WIRE_COPY,   /* word: to, from, count */
    WIRE_GUARDS, /* word: address; answer: struct worker_guard */
    WIRE_LAUNCH, /* struct worker_launch, parameters; answer: struct worker_result */
    WIRE_JUDGE,  /* word: oracle; struct wire_reference; answer: struct ref_verdict */
    WIRE_EXPECT, /* as WIRE_JUDGE with a window to store; answer: f64s */
    WIRE_OPS
};

enum { WIRE_MAGIC = 0x77767563, WIRE_WORDS = 3, WIRE_NAME = 64 };
#define WIRE_BYTES (UINT64_C(1) << 40)

struct wire_request {
    uint32_t magic, op;
    uint64_t word[WIRE_WORDS];
    uint64_t bytes; /* that follow */
};

/* Then the sentence without its NUL, then the bytes. */
struct wire_answer {
    uint32_t magic, status;
    uint64_t word;
    uint32_t sentence, pad;
    uint64_t bytes;
};

struct wire_reference {
    char name[WIRE_NAME];
    struct ref_call call;
};

/* All of them. False: the other end is gone. */
bool wire_send(int socket, const void *bytes, size_t count);
bool wire_receive(int socket, void *bytes, size_t count);

#endif
