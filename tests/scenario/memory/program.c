/*
 * program.c - kinds of memory that arrays may lie in: `program FATBIN KIND`.
 *
 *   pool     stream-ordered allocation, freed in stream order right behind the launch
 *   pinned   pinned and mapped host memory
 *   managed  managed memory
 *   virtual  the virtual memory API: a reserved range, mapped in two pieces, with a hole behind
 *   hole     the same, and an array that reaches into the hole by its signature, not in the kernel
 *   legacy   the legacy default stream and arrays that are freed at once
 */
#include "common/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4, COLS = 128, LAUNCHES = 3, BYTES = ROWS * COLS * (int)sizeof(float) };

static CUstream stream;

static void fill_host(float *array, int count, unsigned seed)
{
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        array[i] = (float)(int)(seed >> 8) / 8388608.0f - 1.0f;
    }
}

static void pool(void)
{
    struct norm norm = norm_new(ROWS, COLS, 1);
    for (int i = 0; i < LAUNCHES; i++) {
        struct norm copy = norm;
        CHECK(cuMemAllocAsync(&copy.x, BYTES, stream));
        CHECK(cuMemAllocAsync(&copy.y, BYTES, stream));
        CHECK(cuMemcpyDtoDAsync(copy.x, norm.x, BYTES, stream));
        norm_launch("norm_right", &copy, stream);
        CHECK(cuMemcpyDtoDAsync(norm.y, copy.y, BYTES, stream));
        CHECK(cuMemFreeAsync(copy.x, stream));
        CHECK(cuMemFreeAsync(copy.y, stream));
    }
    CHECK(cuStreamSynchronize(stream));
    norm_print("pool", &norm);
    norm_free(&norm);
}

static void pinned(void)
{
    struct norm norm = norm_new(ROWS, COLS, 2);
    void *x, *y;
    CHECK(cuMemHostAlloc(&x, BYTES, CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemHostAlloc(&y, BYTES, CU_MEMHOSTALLOC_DEVICEMAP));
    fill_host(x, ROWS * COLS, 3);
    CHECK(cuMemHostGetDevicePointer(&norm.x, x, 0));
    CHECK(cuMemHostGetDevicePointer(&norm.y, y, 0));
    for (int i = 0; i < LAUNCHES; i++)
        norm_launch("norm_right", &norm, stream);
    CHECK(cuStreamSynchronize(stream));
    norm_print("pinned", &norm);
    CHECK(cuMemFreeHost(x));
    CHECK(cuMemFreeHost(y));
}

static void managed(void)
{
    struct norm norm = norm_new(ROWS, COLS, 4);
    CHECK(cuMemAllocManaged(&norm.x, BYTES, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAllocManaged(&norm.y, BYTES, CU_MEM_ATTACH_GLOBAL));
    fill_host((float *)(uintptr_t)norm.x, ROWS * COLS, 5);
    for (int i = 0; i < LAUNCHES; i++)
        norm_launch("norm_right", &norm, stream);
    CHECK(cuStreamSynchronize(stream));
    norm_print("managed", &norm);
    norm_free(&norm);
}

/* Two pieces of memory side by side in a range of three; x straddles the seam. */
static void virtual_memory(bool hole)
{
    struct norm norm = norm_new(ROWS, COLS, 6);
    CUmemAllocationProp prop;
    CUmemGenericAllocationHandle piece[2];
    CUmemAccessDesc access;
    CUdeviceptr range;
    size_t step = 0;
    memset(&access, 0, sizeof(access));
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    memset(&prop, 0, sizeof(prop));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CHECK(cuMemGetAllocationGranularity(&step, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(cuMemAddressReserve(&range, 3 * step, 0, 0, 0));
    for (int i = 0; i < 2; i++) {
        CHECK(cuMemCreate(&piece[i], step, &prop, 0));
        CHECK(cuMemMap(range + (CUdeviceptr)i * step, step, 0, piece[i], 0));
    }
    CHECK(cuMemSetAccess(range, 2 * step, &access, 1));
    norm.x = range + step - BYTES / 2;
    norm.y = range + 2 * step - BYTES;
    fill(norm.x, ROWS * COLS, 7);
    for (int i = 0; i < LAUNCHES; i++)
        norm_launch(hole ? "norm_long" : "norm_right", &norm, stream);
    CHECK(cuStreamSynchronize(stream));
    norm_print("virtual", &norm);
    CHECK(cuMemUnmap(range, 2 * step));
    for (int i = 0; i < 2; i++)
        CHECK(cuMemRelease(piece[i]));
    CHECK(cuMemAddressFree(range, 3 * step));
}

static void legacy(void)
{
    for (unsigned i = 0; i < LAUNCHES; i++) {
        struct norm norm = norm_new(ROWS, COLS, 8 + i);
        norm_launch("norm_right", &norm, i % 2 ? CU_STREAM_LEGACY : NULL);
        norm_print("legacy", &norm);
        norm_launch("norm_right", &norm, NULL);
        norm_free(&norm);
    }
}

int main(int argc, char **argv)
{
    start(argc, argv);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    const char *kind = word(0);
    if (!strcmp(kind, "pool"))
        pool();
    else if (!strcmp(kind, "pinned"))
        pinned();
    else if (!strcmp(kind, "managed"))
        managed();
    else if (!strcmp(kind, "virtual") || !strcmp(kind, "hole"))
        virtual_memory(!strcmp(kind, "hole"));
    else
        legacy();
    CHECK(cuStreamDestroy(stream));
    finish();
    return 0;
}
