/* Copies, memsets, values that streams wait for, and stream-ordered memory. */
#include "stream_fixture.h"

enum { BYTES = 4096 };

static uint8_t pattern(size_t i)
{
    return (uint8_t)(i * 7 + i / 251 + 1);
}

static CUdeviceptr device_bytes(size_t bytes)
{
    CUdeviceptr address;
    OK(cuMemAlloc(&address, bytes));
    return address;
}

static uint8_t *pinned_bytes(size_t bytes)
{
    void *memory;
    OK(cuMemAllocHost(&memory, bytes));
    memset(memory, 0, bytes);
    return memory;
}

/* --- one row --- */

/* All starts, lengths and alignments that the words of a copy can take. */
static void copies_of_every_alignment_are_exact(void **state)
{
    (void)state;
    enum { SPAN = 64 };
    uint8_t from[SPAN], back[SPAN];
    CUdeviceptr a = device_bytes(SPAN), b = device_bytes(SPAN);
    for (size_t i = 0; i < SPAN; i++)
        from[i] = pattern(i);
    OK(cuMemcpyHtoD(a, from, SPAN));
    for (size_t to = 0; to < 9; to++) {
        for (size_t at = 0; at < 9; at++) {
            for (size_t bytes = 0; bytes < 34; bytes += bytes < 18 ? 1 : 5) {
                OK(cuMemsetD8(b, 0xee, SPAN));
                OK(cuMemcpyDtoD(b + to, a + at, bytes));
                OK(cuMemcpyDtoH(back, b, SPAN));
                for (size_t i = 0; i < SPAN; i++)
                    assert_int_equal(back[i], i >= to && i < to + bytes ? from[at + i - to] : 0xee);
            }
        }
    }
    OK(cuMemFree(a));
    OK(cuMemFree(b));
}

static void pageable_memory_is_taken_at_the_call(void **state)
{
    (void)state;
    struct gate gate = {0};
    uint32_t source = 1, result = 0;
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr word = device_bytes(4);
    close_stream(stream, &gate);
    OK(cuMemcpyHtoDAsync(word, &source, 4, stream));
    source = 2;
    open_gate(&gate);
    OK(cuMemcpyDtoHAsync(&result, word, 4, stream)); /* returns when it is there */
    assert_int_equal(result, 1);
    OK(cuMemFree(word));
    OK(cuStreamDestroy(stream));
}

static void pinned_memory_is_read_and_written_in_order(void **state)
{
    (void)state;
    struct gate gate = {0};
    uint8_t *host = pinned_bytes(2);
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr byte = device_bytes(1);
    host[0] = 1;
    close_stream(stream, &gate);
    OK(cuMemcpyHtoDAsync(byte, &host[0], 1, stream));
    OK(cuMemcpyDtoHAsync(&host[1], byte, 1, stream));
    assert_int_equal(host[1], 0);
    host[0] = 2;
    open_gate(&gate);
    OK(cuStreamSynchronize(stream));
    assert_int_equal(host[1], 2);
    OK(cuMemFree(byte));
    OK(cuMemFreeHost(host));
    OK(cuStreamDestroy(stream));
}

static void a_synchronous_copy_waits_for_blocking_streams_only(void **state)
{
    (void)state;
    struct gate gate = {0};
    uint8_t byte = 9;
    CUstream apart = new_stream(CU_STREAM_NON_BLOCKING), blocking = new_stream(0);
    CUdeviceptr at = device_bytes(1);
    OK(cuMemsetD8Async(at, 5, 1, blocking));
    close_stream(apart, &gate);
    OK(cuMemcpyDtoH(&byte, at, 1));
    assert_int_equal(byte, 5);
    assert_false(gate.passed);
    open_gate(&gate);
    OK(cuCtxSynchronize());
    OK(cuMemFree(at));
    OK(cuStreamDestroy(apart));
    OK(cuStreamDestroy(blocking));
}

static void bad_ranges_are_refused_at_the_call(void **state)
{
    (void)state;
    uint8_t host[BYTES] = {0};
    CUdeviceptr at = device_bytes(BYTES), gone = device_bytes(16);
    CUDA_MEMCPY2D plane = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = host,
                           .srcPitch = 64,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = at,
                           .dstPitch = 64,
                           .WidthInBytes = 64,
                           .Height = 64};
    OK(cuMemFree(gone));
    FAILS(cuMemcpyHtoD(at + 1, host, BYTES), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyDtoHAsync(host, at + BYTES, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyDtoD(at, gone, 16), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyHtoD((CUdeviceptr)(uintptr_t)host, host, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyDtoH(NULL, at, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemsetD32(at + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemsetD8(at, 0, BYTES + 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemcpy2D(&plane));
    plane.dstPitch = 63;
    FAILS(cuMemcpy2D(&plane), CUDA_ERROR_INVALID_VALUE);
    plane.dstPitch = 64;
    plane.Height = 65;
    FAILS(cuMemcpy2D(&plane), CUDA_ERROR_INVALID_VALUE);
    plane.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    FAILS(cuMemcpy2D(&plane), CUDA_ERROR_NOT_SUPPORTED);
    OK(cuMemcpyHtoD(at, host, 0));
    OK(cuCtxSynchronize()); /* none of it did harm */
    OK(cuMemFree(at));
}

static void the_generic_copy_knows_both_sides(void **state)
{
    (void)state;
    CUcontext context;
    uint32_t a = 11, b = 0, c = 0;
    CUdeviceptr at = device_bytes(8);
    OK(cuCtxGetCurrent(&context));
    OK(cuMemcpy(at, (CUdeviceptr)(uintptr_t)&a, 4));
    OK(cuMemcpy(at + 4, at, 4));
    OK(cuMemcpy((CUdeviceptr)(uintptr_t)&b, at + 4, 4));
    OK(cuMemcpyAsync((CUdeviceptr)(uintptr_t)&c, (CUdeviceptr)(uintptr_t)&a, 4, NULL));
    assert_int_equal(b, 11);
    assert_int_equal(c, 11);
    OK(cuMemsetD32(at, 12, 1));
    OK(cuMemcpyPeer(at + 4, context, at, context, 4));
    OK(cuMemcpyDtoH(&b, at + 4, 4));
    assert_int_equal(b, 12);
    OK(cuMemFree(at));
}

/* --- boxes --- */

/* Against the same copy written as three loops. */
static void boxes_are_copied_like_three_loops(void **state)
{
    (void)state;
    enum { PITCH = 24, ROWS = 7, PLANES = 5, ALL = PITCH * ROWS * PLANES };
    static uint8_t from[ALL], expected[ALL], back[ALL];
    CUdeviceptr a = device_bytes(ALL), b = device_bytes(ALL);
    CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                         .srcDevice = a,
                         .srcPitch = PITCH,
                         .srcHeight = ROWS,
                         .srcXInBytes = 3,
                         .srcY = 1,
                         .srcZ = 2,
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                         .dstDevice = b,
                         .dstPitch = PITCH,
                         .dstHeight = ROWS,
                         .dstXInBytes = 6,
                         .dstY = 2,
                         .dstZ = 0,
                         .WidthInBytes = 17,
                         .Height = 4,
                         .Depth = 3};
    for (size_t i = 0; i < ALL; i++)
        from[i] = pattern(i);
    OK(cuMemcpyHtoD(a, from, ALL));
    OK(cuMemsetD8(b, 0, ALL));
    OK(cuMemcpy3D(&box));
    OK(cuMemcpyDtoH(back, b, ALL));
    for (size_t z = 0; z < box.Depth; z++)
        for (size_t y = 0; y < box.Height; y++)
            memcpy(expected + (z * ROWS + y + 2) * PITCH + 6,
                   from + ((z + 2) * ROWS + y + 1) * PITCH + 3, box.WidthInBytes);
    assert_memory_equal(back, expected, ALL);
    /* Down to the host with other pitches; then one row too many in the last plane. */
    box.dstMemoryType = CU_MEMORYTYPE_HOST;
    box.dstHost = back;
    box.dstPitch = 20;
    box.dstXInBytes = 2;
    box.dstHeight = 6;
    memset(back, 0, ALL);
    OK(cuMemcpy3DAsync(&box, NULL));
    for (size_t z = 0; z < box.Depth; z++)
        for (size_t y = 0; y < box.Height; y++)
            assert_memory_equal(back + (z * 6 + y + 2) * 20 + 2,
                                from + ((z + 2) * ROWS + y + 1) * PITCH + 3, box.WidthInBytes);
    box.srcZ = 3;
    FAILS(cuMemcpy3D(&box), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(a));
    OK(cuMemFree(b));
}

static void memsets_fill_what_they_are_told(void **state)
{
    (void)state;
    uint8_t back[64];
    CUdeviceptr at = device_bytes(64);
    OK(cuMemsetD8(at, 0, 64));
    OK(cuMemsetD16(at + 2, 0x1234, 5));
    OK(cuMemsetD32(at + 16, 0xdeadbeef, 3));
    OK(cuMemsetD2D8(at + 32, 8, 0x55, 3, 4));
    OK(cuMemcpyDtoH(back, at, 64));
    for (size_t i = 0; i < 64; i++) {
        uint8_t expected = 0;
        if (i >= 2 && i < 12)
            expected = i % 2 ? 0x12 : 0x34;
        else if (i >= 16 && i < 28)
            expected = (uint8_t)(0xdeadbeef >> i % 4 * 8);
        else if (i >= 32 && i % 8 < 3)
            expected = 0x55;
        assert_int_equal(back[i], expected);
    }
    OK(cuMemFree(at));
}

/* --- values --- */

static void streams_wait_for_values(void **state)
{
    (void)state;
    CUstream a = new_stream(CU_STREAM_NON_BLOCKING), b = new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr at = device_bytes(16);
    atomic_bool ran = false;
    uint64_t back = 0;
    OK(cuMemsetD8(at, 0, 16));
    OK(cuCtxSynchronize());
    OK(cuStreamWaitValue32(a, at, 5, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamWriteValue64(a, at + 8, 77, 0));
    OK(cuLaunchHostFunc(a, set_flag, &ran));
    OK(cuStreamWriteValue32(b, at, 0x80000006u, 0)); /* far below 5: the comparison is cyclic */
    OK(cuStreamSynchronize(b));
    assert_true(stays_unset(&ran));
    OK(cuStreamWriteValue32(b, at, 6, 0));
    OK(cuStreamSynchronize(a));
    OK(cuMemcpyDtoH(&back, at + 8, 8));
    assert_int_equal(back, 77);
    FAILS(cuStreamWaitValue32(a, at + 2, 0, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamWaitValue64(a, at + 12, 0, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(at));
    OK(cuStreamDestroy(a));
    OK(cuStreamDestroy(b));
}

static void a_batch_of_values_is_done_in_order(void **state)
{
    (void)state;
    volatile uint32_t *word = (volatile uint32_t *)(void *)pinned_bytes(8);
    CUdeviceptr at;
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    OK(cuMemHostGetDevicePointer(&at, (void *)(uintptr_t)word, 0));
    CUstreamBatchMemOpParams ops[] = {
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = at, .value = 3}},
        {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                       .address = at,
                       .value = 2,
                       .flags = CU_STREAM_WAIT_VALUE_AND}},
        {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                       .address = at,
                       .value = 3,
                       .flags = CU_STREAM_WAIT_VALUE_EQ}},
        {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                       .address = at,
                       .value = 3,
                       .flags = CU_STREAM_WAIT_VALUE_NOR}},
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                        .address = at + 4,
                        .value = 9}},
    };
    OK(cuStreamBatchMemOp(stream, 5, ops, 0));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(word[0], 3);
    assert_int_equal(word[1], 9);
    ops[0].operation = (CUstreamBatchMemOpType)99;
    FAILS(cuStreamBatchMemOp(stream, 1, ops, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeHost((void *)(uintptr_t)word));
    OK(cuStreamDestroy(stream));
}

/* --- stream-ordered memory --- */

static uint64_t used(CUmemoryPool pool, CUmemPool_attribute attribute)
{
    uint64_t value;
    OK(cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

static void memory_is_freed_in_the_order_of_its_stream(void **state)
{
    (void)state;
    struct gate gate = {0};
    CUmemoryPool pool;
    CUdeviceptr at;
    uint8_t back = 0;
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    uint64_t before = used(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    uint8_t *host = pinned_bytes(1);
    OK(cuMemAllocAsync(&at, BYTES, stream));
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), before + BYTES);
    close_stream(stream, &gate);
    OK(cuMemsetD8Async(at, 8, BYTES, stream));
    OK(cuMemcpyDtoHAsync(host, at, 1, stream));
    OK(cuMemFreeAsync(at, stream));
    FAILS(cuMemFreeAsync(at, stream), CUDA_ERROR_INVALID_VALUE);
    open_gate(&gate);
    OK(cuStreamSynchronize(stream));
    assert_int_equal(*host, 8);
    FAILS(cuMemcpyDtoH(&back, at, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemFreeAsync(at, stream), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), before);
    assert_true(used(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= before + BYTES);
    FAILS(cuMemAllocAsync(&at, 0, stream), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeHost(host));
    OK(cuStreamDestroy(stream));
}

static void plain_free_takes_stream_ordered_memory(void **state)
{
    (void)state;
    CUdeviceptr at;
    OK(cuMemAllocAsync(&at, 16, NULL));
    OK(cuMemFree(at));
    FAILS(cuMemFree(at), CUDA_ERROR_INVALID_VALUE);
    at = device_bytes(16);
    FAILS(cuMemFreeAsync(at + 1, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(at));
}

static void pools_are_made_limited_and_destroyed(void **state)
{
    (void)state;
    const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                                  .maxSize = BYTES};
    CUmemoryPool pool, own, current;
    CUdeviceptr a, b;
    cuuint64_t threshold = 123, zero = 0;
    int reuse = 0;
    CUmemAccess_flags access;
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    OK(cuDeviceGetDefaultMemPool(&own, 0));
    OK(cuMemPoolCreate(&pool, &props));
    OK(cuMemAllocFromPoolAsync(&a, BYTES, pool, NULL));
    FAILS(cuMemAllocFromPoolAsync(&b, 1, pool, NULL), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 123);
    FAILS(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &threshold),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuse));
    assert_int_equal(reuse, 1);
    OK(cuMemPoolGetAccess(&access, pool, &here));
    assert_int_equal(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemPoolTrimTo(pool, 0));
    OK(cuDeviceSetMemPool(0, pool));
    OK(cuDeviceGetMemPool(&current, 0));
    assert_ptr_equal(current, pool);
    OK(cuMemPoolDestroy(pool)); /* what it gave lives on */
    OK(cuDeviceGetMemPool(&current, 0));
    assert_ptr_equal(current, own);
    OK(cuMemsetD8(a, 1, BYTES));
    OK(cuMemFreeAsync(a, NULL));
    OK(cuCtxSynchronize());
    FAILS(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemPoolDestroy(own), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetDefaultMemPool(&own, 99), CUDA_ERROR_INVALID_DEVICE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_every_alignment_are_exact),
        cmocka_unit_test(pageable_memory_is_taken_at_the_call),
        cmocka_unit_test(pinned_memory_is_read_and_written_in_order),
        cmocka_unit_test(a_synchronous_copy_waits_for_blocking_streams_only),
        cmocka_unit_test(bad_ranges_are_refused_at_the_call),
        cmocka_unit_test(the_generic_copy_knows_both_sides),
        cmocka_unit_test(boxes_are_copied_like_three_loops),
        cmocka_unit_test(memsets_fill_what_they_are_told),
        cmocka_unit_test(streams_wait_for_values),
        cmocka_unit_test(a_batch_of_values_is_done_in_order),
        cmocka_unit_test(memory_is_freed_in_the_order_of_its_stream),
        cmocka_unit_test(plain_free_takes_stream_ordered_memory),
        cmocka_unit_test(pools_are_made_limited_and_destroyed),
    };
    return cmocka_run_group_tests_name("copies", tests, use_primary, NULL);
}
