/*
 * program.c - arrays behind addresses in device memory: `program FATBIN KERNEL [HOW ...]`, where
 * HOW is any of
 *
 *   packed     the matrices lie in one allocation, at odd places; else each has one of its own
 *   pool       each has its own allocation, of a pool
 *   virtual    all lie in a range that is mapped in pieces
 *   many       70 matrices instead of 5
 *   anew       they move before each launch, and what they were in two launches before is freed
 *   twice      the last two matrices that the kernel writes are one
 *   stale      a matrix is freed after some launches; the later ones list it still, and leave it
 * alone large      60 launches, once with a matrix b a thousand times as large null, garbage, odd,
 * beyond an address that the kernel leaves alone, of the first array, is nothing: null,
 * unallocated, between two elements, or so near the end of its memory that no matrix fits
 *
 * Launches are some milliseconds apart, the first two half a second: so that the addresses
 * of one may have been read by the next.
 */
#include "common/program.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FEW = 5, MANY = 70, M = 6, N = 5, K = 7, PITCH = 9, SKIPPED = 3 };
enum { LAUNCHES = 30, MORE_LAUNCHES = 60, ODD = 40, STALE = 10 };
enum { FLOATS = 128, PIECE_ROOM = 3 * FLOATS + 3 }; /* of one matrix, of three and an odd place */

static int batch = FEW;
static CUdeviceptr pool, matrix[3][MANY], list[3];

static bool how(const char *what)
{
    for (int i = 1; word(i)[0]; i++) {
        if (strcmp(word(i), what) == 0)
            return true;
    }
    return false;
}

/* Two pieces of memory, side by side in a range of three. */
static CUdeviceptr map_pieces(void)
{
    CUmemAllocationProp prop;
    CUmemGenericAllocationHandle piece;
    CUmemAccessDesc access;
    CUdeviceptr range;
    size_t step = 0;
    memset(&access, 0, sizeof access);
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CHECK(cuMemGetAllocationGranularity(&step, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(cuMemAddressReserve(&range, 3 * step, 0, 0, 0));
    for (int i = 0; i < 2; i++) {
        CHECK(cuMemCreate(&piece, step, &prop, 0));
        CHECK(cuMemMap(range + (size_t)i * step, step, 0, piece, 0));
        CHECK(cuMemRelease(piece));
    }
    CHECK(cuMemSetAccess(range, 2 * step, &access, 1));
    return range + step - 2 * PIECE_ROOM * sizeof(float) - 80; /* on both sides of the seam */
}

static void place_matrices(void)
{
    if (how("virtual"))
        pool = pool ? pool : map_pieces();
    else if (how("packed"))
        CHECK(cuMemAlloc(&pool, (size_t)batch * PIECE_ROOM * sizeof(float)));
    for (int i = 0; i < batch; i++) {
        for (int j = 0; j < 3; j++) {
            if (pool)
                matrix[j][i] = pool + sizeof(float) * (size_t)(i * PIECE_ROOM + j * (FLOATS + 1));
            else if (how("pool"))
                CHECK(cuMemAllocAsync(&matrix[j][i], FLOATS * sizeof(float), NULL));
            else
                CHECK(cuMemAlloc(&matrix[j][i], FLOATS * sizeof(float)));
            fill(matrix[j][i], FLOATS, (unsigned)(10 * i + j + 1));
        }
    }
}

/* What the launch before the last one used. */
static void free_old(void)
{
    static CUdeviceptr old[3][MANY];
    for (int i = 0; i < batch && old[0][0]; i++) {
        for (int j = 0; j < 3; j++)
            CHECK(how("pool") ? cuMemFreeAsync(old[j][i], NULL) : cuMemFree(old[j][i]));
    }
    memcpy(old, matrix, sizeof old);
}

static void write_lists(void)
{
    for (int j = 0; j < 3; j++) {
        CUdeviceptr address[MANY];
        memcpy(address, matrix[j], sizeof address);
        if (j == 0 && how("null"))
            address[SKIPPED] = 0;
        else if (j == 0 && how("garbage"))
            address[SKIPPED] = 0x123456789000;
        else if (j == 0 && how("odd"))
            address[SKIPPED] += 2;
        else if (j == 0 && how("beyond"))
            address[SKIPPED] += sizeof(float) * (FLOATS - 20);
        if (j == 2 && how("twice"))
            address[batch - 2] = address[batch - 1];
        if (!list[j])
            CHECK(cuMemAlloc(&list[j], sizeof address));
        CHECK(cuMemcpyHtoD(list[j], address, sizeof(CUdeviceptr) * (size_t)batch));
    }
}

static void launch_one(bool leaves_stale)
{
    struct {
        CUdeviceptr a, c, b;
    } lists = {list[0], list[2], matrix[1][0]};
    bool skips = how("null") || how("garbage") || how("odd") || how("beyond") || leaves_stale;
    int m = M, n = N, k = K, pitch = PITCH, skipped = skips ? SKIPPED : -1;
    void *of_multiply[] = {&list[0], &list[1], &list[2], &m, &n, &k, &pitch, &skipped};
    void *of_share[] = {&lists, &m, &n, &k, &pitch, &skipped};
    void *of_sum[] = {&list[0], &list[2], &m, &k, &skipped};
    bool shares = strncmp(word(0), "share", 5) == 0, sums = strncmp(word(0), "sum", 3) == 0;
    launch(kernel(word(0)), (unsigned)batch, 64, NULL,
           shares ? of_share
           : sums ? of_sum
                  : of_multiply);
    CHECK(cuCtxSynchronize());
}

static void fill_first(unsigned number)
{
    float host[FLOATS];
    fill(matrix[1][0], FLOATS, 100 + number);
    CHECK(cuMemcpyDtoH(host, matrix[1][0], sizeof host));
    for (int i = 0; i < FLOATS && number == ODD; i++)
        host[i] *= 1000;
    CHECK(cuMemcpyHtoD(matrix[1][0], host, sizeof host));
}

int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = 8000000}, long_pause = {.tv_nsec = 500000000};
    start(argc, argv);
    batch = how("many") ? MANY : FEW;
    for (unsigned i = 0; i < (how("large") ? MORE_LAUNCHES : LAUNCHES); i++) {
        if (i == 0 || how("anew")) {
            free_old();
            place_matrices();
            write_lists();
        }
        if (how("large"))
            fill_first(i);
        bool stale = how("stale") && i >= STALE;
        if (stale && i == STALE)
            CHECK(cuMemFree(matrix[0][SKIPPED]));
        launch_one(stale);
        nanosleep(i == 0 ? &long_pause : &pause, NULL);
    }
    for (int i = 0; i < batch - (how("twice") ? 2 : 0); i++) /* the last ones */
        print_sum(word(0), matrix[2][i], M * N * sizeof(float));
    finish();
    return 0;
}
