/*
 * fatbin.h - the containers that nvcc puts device code into, and the PTX inside that a device runs.
 *
 * A fatbin is a header (magic, version, header size, size of what follows) and entries: kind,
 * header size, payload size, size of the compressed payload (0: not compressed), architecture,
 * flags, size of the uncompressed payload. An entry holds PTX, machine code (an ELF file) or other
 * forms that only the toolkit reads.
 *
 * Nothing in the bytes is trusted: sizes are held against the buffer before use.
 */
#ifndef SOFTGPU_FATBIN_H
#define SOFTGPU_FATBIN_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

enum {
    FATBIN_HEADER_BYTES = 16,
    FATBIN_WRAPPER_BYTES = 24, /* struct __fatBinC_Wrapper_t */
    FATBIN_NEWEST = 999,       /* for a reader, which is no device: the newest PTX of all */
};

/* Whether `bytes` begin a fatbin; then `size` is that of all of it, header included (UINT64_MAX
 * where the header has an impossible size). */
bool fatbin_measure(const uint8_t *bytes, size_t length, uint64_t *size);

/* Whether `bytes` begin the wrapper that programs pass for a fatbin; then `fatbin` is where it
 * lies. */
bool fatbin_unwrap(const uint8_t *bytes, size_t length, const void **fatbin);

/*
 * The PTX for a device of `arch` (90): of those not newer than it the newest, of two of one age the
 * one for any device before those for this family or this device alone. For FATBIN_NEWEST the
 * newest for any device, or else the newest for one alone. `text` is malloc'd, ends with a NUL and
 * is the caller's. Several fatbins may follow each other in `bytes`.
 *
 * Errors: CUDA_ERROR_NO_BINARY_FOR_GPU (nothing to run; `err` names what there is),
 * CUDA_ERROR_INVALID_IMAGE (broken), CUDA_ERROR_OUT_OF_MEMORY.
 */
CUresult fatbin_choose(const uint8_t *bytes, size_t length, unsigned arch, char **text,
                       size_t *text_bytes, struct error *err);

/* The sentence for an image without PTX: `what` is "sm_90 machine code". */
void fatbin_no_ptx(const char *what, struct error *err);

/* The architecture that an ELF file of machine code is for; 0 where it is none. */
unsigned fatbin_elf_arch(const uint8_t *bytes, size_t length);

#endif
