/* jit.c - the options of a load. */
#include "driver/module/jit.h"

#include <stdint.h>
#include <string.h>
#include "driver/module/image.h"

CUresult jit_read(unsigned count, const CUjit_option *options, void **values, struct jit *jit)
{
    *jit = (struct jit){0};
    if (count && (!options || !values))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        switch ((int)options[i]) {
        case CU_JIT_WALL_TIME:
            jit->wall_time = &values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER:
            jit->info.text = values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER:
            jit->error.text = values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            jit->info.room = (uintptr_t)values[i];
            jit->info.filled = &values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            jit->error.room = (uintptr_t)values[i];
            jit->error.filled = &values[i];
            break;
        default:
            if ((int)options[i] < 0 || (int)options[i] >= CU_JIT_NUM_OPTIONS)
                return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return CUDA_SUCCESS;
}

static void fill(const struct jit_log *log, const char *sentence)
{
    size_t bytes = 0;
    if (log->text && log->room) {
        bytes = strnlen(sentence, log->room - 1);
        memcpy(log->text, sentence, bytes);
        log->text[bytes] = '\0';
    }
    if (log->filled)
        *log->filled = (void *)(uintptr_t)bytes;
}

struct jit_clock jit_start(void)
{
    struct jit_clock clock;
    clock_gettime(CLOCK_MONOTONIC, &clock.start);
    return clock;
}

void jit_finish(const struct jit *jit, CUresult result, const struct error *err,
                struct jit_clock clock)
{
    struct jit_clock now = jit_start();
    double milliseconds = (double)(now.start.tv_sec - clock.start.tv_sec) * 1e3 +
                          (double)(now.start.tv_nsec - clock.start.tv_nsec) * 1e-6;
    const char *sentence = result ? err->text : "";
    fill(&jit->error, sentence);
    fill(&jit->info, "");
    if (jit->wall_time) {
        float time = (float)milliseconds;
        memcpy(jit->wall_time, &time, sizeof(time));
    }
    if (*sentence && !(jit->error.text && jit->error.room))
        say_once(sentence);
}
