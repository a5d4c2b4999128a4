/*
 * stage.h - the launch of a bundle in the interpreter, in this process: memory at the program's own
 * addresses, the kernel's PTX, and runs of it.
 */
#ifndef TOOLS_LIFT_STAGE_H
#define TOOLS_LIFT_STAGE_H

#include "exec/exec.h"
#include "tools/ptx/lines.h"
#include "tools/replay/scene.h"

struct stage_region {
    uint64_t begin, bytes;
    uint8_t *room, *host; /* host is aligned as begin is */
};

enum { STAGE_VARIABLES = 4096 };

struct stage {
    const struct scene *scene;
    char *text;              /* PTX */
    struct ptx_lines *lines; /* of a cubin's PTX, or NULL */
    uint8_t *code;           /* of a fatbin, where `lines` lie in it; else NULL */
    size_t length;
    struct ptx_module *ptx;
    struct exec_host host;
    struct exec_module *module;
    struct exec_function *kernel;
    struct stage_region region[SCENE_REGIONS + STAGE_VARIABLES]; /* and the module's variables */
    int regions;
    uint64_t *blocks; /* of its owner: numbers of those that run; NULL: all */
    uint64_t block_count;
};

/* The image of the scene, whose PTX may be in a fatbin, or beside machine code that was compiled
 * with line information. STATUS_UNSUPPORTED: no PTX, or an instruction that is not known. */
enum status stage_open(struct stage **out, const struct scene *scene, struct error *err);
void stage_close(struct stage *stage); /* NULL is fine */

/* A module and memory as before the launch, for one run: the kernel is prepared. */
enum status stage_set(struct stage *stage, struct error *err);

/* Runs the launch; `watch` as in struct exec_launch. After `seconds` it is stopped. */
enum exec_outcome stage_run(struct stage *stage, void *watch, unsigned seconds,
                            struct exec_fault *fault);

/* The host's address of a byte of the program's memory; NULL. */
uint8_t *stage_at(const struct stage *stage, uint64_t address);

#endif
