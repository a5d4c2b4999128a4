/*
 * test_driver_memory.c - memory of all kinds, the driver's attributes of addresses, and the virtual
 * memory API.
 */
#include <signal.h>
#include "driver_fixture.h"

/* --- memory: each test in a context of its own --- */

static void device_memory(void **state)
{
    CUdeviceptr a, b, base;
    size_t before, after, total, bytes;
    uint8_t data[1000], back[1000];
    (void)state;
    OK(cuMemGetInfo(&before, &total));
    OK(cuMemAlloc(&a, sizeof(data)));
    assert_int_equal(a % 512, 0);
    OK(cuMemGetInfo(&after, &total));
    assert_true(after < before);
    OK(cuMemGetAddressRange(&base, &bytes, a + 10));
    assert_int_equal(base, a);
    assert_int_equal(bytes, sizeof(data));
    memset(data, 0x5a, sizeof(data));
    OK(cuMemcpyHtoD(a, data, sizeof(data)));
    OK(cuMemcpyDtoH(back, a, sizeof(back)));
    assert_memory_equal(data, back, sizeof(data));
    FAILS(cuMemcpyHtoD(a + 1, data, sizeof(data)), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemFree(a + 512), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(a));
    FAILS(cuMemFree(a), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyDtoH(back, a, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemGetAddressRange(&base, &bytes, a), CUDA_ERROR_NOT_FOUND);
    OK(cuMemAlloc(&b, sizeof(data)));
    assert_int_not_equal(a, b);
    OK(cuMemFree(b));
    OK(cuMemGetInfo(&after, &total));
    assert_int_equal(after, before);
    FAILS(cuMemAlloc(&a, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAlloc(NULL, 1), CUDA_ERROR_INVALID_VALUE);
}

static void device_memory_is_full(void **state)
{
    CUdeviceptr a, b;
    size_t left, total;
    (void)state;
    OK(cuMemGetInfo(&left, &total));
    OK(cuMemAlloc(&a, left));
    FAILS(cuMemAlloc(&b, 1), CUDA_ERROR_OUT_OF_MEMORY);
    FAILS(cuMemAlloc(&b, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemFree(a));
    OK(cuMemAlloc(&b, 1));
    OK(cuMemFree(b));
}

/* More than all addresses together: they come round, and no two living ones overlap. */
static void addresses_come_round(void **state)
{
    CUdeviceptr held, at, last = 0;
    int wraps = 0;
    (void)state;
    OK(cuMemAlloc(&held, 3 * MIB));
    for (int i = 0; i < 100; i++) {
        OK(cuMemAlloc(&at, (size_t)1 << 30));
        assert_true(at + ((size_t)1 << 30) <= held || at >= held + 3 * MIB);
        wraps += at < last;
        last = at;
        OK(cuMemFree(at));
    }
    assert_in_range(wraps, 1, 10);
    OK(cuMemFree(held));
}

/* In a child, which the kernel kills where the real one would. */
static int signal_of_touch(CUdeviceptr address)
{
    int status = 0;
    pid_t child = fork();
    if (!child) {
        leave_no_core();
        signal(SIGSEGV, SIG_DFL);
        _exit(*(volatile char *)(uintptr_t)address & 0);
    }
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void host_cannot_touch_device_memory(void **state)
{
    CUdeviceptr device, managed;
    void *pinned;
    (void)state;
    OK(cuMemAlloc(&device, 4096));
    OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocHost(&pinned, 4096));
    assert_int_equal(signal_of_touch(device), SIGSEGV);
    assert_int_equal(signal_of_touch(managed), 0);
    assert_int_equal(signal_of_touch((CUdeviceptr)(uintptr_t)pinned), 0);
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree(managed));
    assert_int_equal(signal_of_touch((CUdeviceptr)(uintptr_t)pinned), SIGSEGV);
    OK(cuMemFree(device));
}

static void fresh_memory_is_not_zero(void **state)
{
    CUdeviceptr device;
    unsigned words[4] = {0};
    (void)state;
    OK(cuMemAlloc(&device, sizeof(words)));
    OK(cuMemcpyDtoH(words, device, sizeof(words)));
    assert_int_not_equal(words[0], 0);
    assert_int_not_equal(words[3], 0);
    OK(cuMemFree(device));
}

static void pitched_memory(void **state)
{
    CUdeviceptr device, base;
    size_t pitch = 0, bytes = 0;
    (void)state;
    OK(cuMemAllocPitch(&device, &pitch, 1001, 7, 4));
    assert_true(pitch >= 1001 && pitch % 256 == 0);
    OK(cuMemGetAddressRange(&base, &bytes, device));
    assert_int_equal(bytes, pitch * 7);
    OK(cuMemFree(device));
    FAILS(cuMemAllocPitch(&device, &pitch, 1001, 7, 5), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAllocPitch(&device, &pitch, 0, 7, 4), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAllocPitch(&device, &pitch, 1 << 20, SIZE_MAX / 2, 4), CUDA_ERROR_OUT_OF_MEMORY);
}

static void pinned_memory(void **state)
{
    void *pinned;
    CUdeviceptr device = 0;
    unsigned flags = 0;
    int plain = 0;
    (void)state;
    OK(cuMemHostAlloc(&pinned, 100, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
    memset(pinned, 1, 100);
    OK(cuMemHostGetDevicePointer(&device, (char *)pinned + 5, 0));
    assert_int_equal(device, (CUdeviceptr)(uintptr_t)pinned + 5);
    OK(cuMemHostGetFlags(&flags, pinned));
    assert_int_equal(flags, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE);
    FAILS(cuMemHostGetDevicePointer(&device, &plain, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostAlloc(&pinned, 100, 0x80), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemFree((CUdeviceptr)(uintptr_t)pinned), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemFreeHost((char *)pinned + 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeHost(pinned));
    FAILS(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemFreeHost(&plain), CUDA_ERROR_INVALID_VALUE);
}

static void registered_memory(void **state)
{
    char *mine = malloc(10000);
    CUdeviceptr device = 0;
    (void)state;
    assert_non_null(mine);
    OK(cuMemHostRegister(mine, 10000, 0));
    FAILS(cuMemHostRegister(mine + 100, 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuMemHostGetDevicePointer(&device, mine + 9999, 0));
    FAILS(cuMemHostUnregister(mine + 1), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cuMemHostUnregister(mine));
    FAILS(cuMemHostUnregister(mine), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    FAILS(cuMemHostGetDevicePointer(&device, mine, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostRegister(mine, 0, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostRegister(NULL, 10, 0), CUDA_ERROR_INVALID_VALUE);
    free(mine);
}

static void memory_ends_with_its_context(void **state)
{
    CUcontext context;
    CUdeviceptr device;
    size_t before, after, total;
    (void)state;
    OK(cuMemGetInfo(&before, &total));
    OK(cuCtxCreate(&context, NULL, 0, 0));
    OK(cuMemAlloc(&device, 5 * MIB));
    OK(cuCtxDestroy(context));
    OK(cuMemGetInfo(&after, &total));
    assert_int_equal(after, before);
    FAILS(cuMemFree(device), CUDA_ERROR_INVALID_VALUE);
}

/* --- addresses --- */

static void pointer_attributes(void **state)
{
    CUdeviceptr device, start = 0;
    CUcontext context = NULL;
    size_t size = 0;
    unsigned type = 0, sync = 1, mapped = 0;
    unsigned long long id = 0, other = 0;
    int ordinal = -1;
    void *pinned, *host = NULL;
    OK(cuMemAlloc(&device, 3000));
    OK(cuMemAllocHost(&pinned, 3000));
    OK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, device + 7));
    assert_ptr_equal(context, *state);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device));
    assert_int_equal(ordinal, 0);
    OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 2999));
    assert_int_equal(start, device);
    OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, device));
    assert_int_equal(size, 3000);
    OK(cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, device));
    assert_int_equal(mapped, 1);
    OK(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, device));
    OK(cuPointerGetAttribute(&other, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                             (CUdeviceptr)(uintptr_t)pinned));
    assert_int_not_equal(id, other);
    FAILS(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, device),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER,
                             (CUdeviceptr)(uintptr_t)pinned));
    assert_ptr_equal(host, pinned);
    OK(cuPointerGetAttribute(&sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device));
    assert_int_equal(sync, 0);
    sync = 1;
    OK(cuPointerSetAttribute(&sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device));
    sync = 0;
    OK(cuPointerGetAttribute(&sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device));
    assert_int_equal(sync, 1);
    FAILS(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 3000),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                (CUdeviceptr)(uintptr_t)&type),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuPointerGetAttribute(&type, (CUpointer_attribute)99, device), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree(device));
}

static void pointer_attributes_of_nothing(void **state)
{
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                    CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT};
    CUdeviceptr start = 1;
    unsigned type = 1;
    CUcontext context = (CUcontext)1;
    void *into[] = {&start, &type, &context};
    (void)state;
    OK(cuPointerGetAttributes(3, wanted, into, (CUdeviceptr)(uintptr_t)&start));
    assert_int_equal(start, 0);
    assert_int_equal(type, 0);
    assert_null(context);
    wanted[1] = (CUpointer_attribute)77;
    FAILS(cuPointerGetAttributes(3, wanted, into, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuPointerGetAttributes(0, wanted, into, 0), CUDA_ERROR_INVALID_VALUE);
}

static CUmemAllocationProp plain_prop(void)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
    };
}

static CUmemGenericAllocationHandle physical(size_t bytes)
{
    CUmemAllocationProp prop = plain_prop();
    CUmemGenericAllocationHandle handle = 0;
    OK(cuMemCreate(&handle, bytes, &prop, 0));
    return handle;
}

static CUmemAccessDesc access_to(int device, CUmemAccess_flags flags)
{
    return (CUmemAccessDesc){{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}, flags};
}

/* Two pieces of memory one after the other, and the first a second time: one reads what the other
 * wrote. */
static void virtual_memory(void **state)
{
    const size_t unit = 2 * MIB;
    CUmemAllocationProp prop = plain_prop();
    CUmemAccessDesc access = access_to(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUmemGenericAllocationHandle one = physical(unit), two = physical(unit);
    CUdeviceptr range, start = 0;
    size_t granularity = 0, size = 0;
    unsigned mapped = 1;
    int wrote = 0x1234567, back = 0;
    (void)state;
    OK(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    assert_int_equal(granularity, unit);
    OK(cuMemAddressReserve(&range, 4 * unit, 0, 0, 0));
    OK(cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, range));
    assert_int_equal(mapped, 0);
    OK(cuMemMap(range, unit, 0, one, 0));
    OK(cuMemMap(range + unit, unit, 0, two, 0));
    OK(cuMemMap(range + 2 * unit, unit, 0, one, 0));
    FAILS(cuMemMap(range, unit, 0, two, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyHtoD(range, &wrote, 4), CUDA_ERROR_INVALID_VALUE); /* no access yet */
    OK(cuMemSetAccess(range, 3 * unit, &access, 1));
    FAILS(cuMemSetAccess(range, 4 * unit, &access, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemcpyHtoD(range + 100, &wrote, 4));
    OK(cuMemcpyDtoH(&back, range + 2 * unit + 100, 4));
    assert_int_equal(back, wrote);
    OK(cuMemsetD8(range, 7, 2 * unit)); /* across both */
    OK(cuMemcpyDtoH(&back, range + 2 * unit - 4, 4));
    assert_int_equal(back, 0x07070707);
    OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, range + unit + 1));
    OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, range + unit + 1));
    assert_int_equal(start, range);
    assert_int_equal(size, 4 * unit);
    OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, range + unit + 1));
    OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, range + unit + 1));
    assert_int_equal(start, range + unit);
    assert_int_equal(size, unit);
    FAILS(cuMemAddressFree(range, 4 * unit), CUDA_ERROR_INVALID_VALUE); /* still mapped */
    FAILS(cuMemUnmap(range + MIB, MIB), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemRelease(one));
    FAILS(cuMemRelease(one), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemcpyDtoH(&back, range, 4)); /* mapped: still there */
    OK(cuMemUnmap(range, 3 * unit));
    FAILS(cuMemcpyDtoH(&back, range, 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemRelease(two));
    OK(cuMemAddressFree(range, 4 * unit));
    FAILS(cuMemAddressFree(range, 4 * unit), CUDA_ERROR_INVALID_VALUE);
}

static void virtual_memory_counts(void **state)
{
    CUmemAllocationProp prop = plain_prop();
    CUmemGenericAllocationHandle handle, again;
    CUdeviceptr range;
    size_t before, after, total;
    (void)state;
    OK(cuMemGetInfo(&before, &total));
    FAILS(cuMemCreate(&handle, total + 2 * MIB, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
    FAILS(cuMemCreate(&handle, MIB, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    handle = physical(2 * MIB);
    OK(cuMemAddressReserve(&range, 2 * MIB, 0, 0, 0));
    OK(cuMemMap(range, 2 * MIB, 0, handle, 0));
    OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)range));
    assert_int_equal(again, handle);
    OK(cuMemRelease(handle));
    OK(cuMemUnmap(range, 2 * MIB));
    OK(cuMemGetInfo(&after, &total));
    assert_int_equal(after, before - 2 * MIB);
    OK(cuMemRelease(handle));
    OK(cuMemGetInfo(&after, &total));
    assert_int_equal(after, before);
    OK(cuMemAddressFree(range, 2 * MIB));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_CONTEXT(device_memory),
        IN_CONTEXT(device_memory_is_full),
        IN_CONTEXT(addresses_come_round),
        IN_CONTEXT(host_cannot_touch_device_memory),
        IN_CONTEXT(fresh_memory_is_not_zero),
        IN_CONTEXT(pitched_memory),
        IN_CONTEXT(pinned_memory),
        IN_CONTEXT(registered_memory),
        IN_CONTEXT(memory_ends_with_its_context),
        IN_CONTEXT(pointer_attributes),
        IN_CONTEXT(pointer_attributes_of_nothing),
        IN_CONTEXT(virtual_memory),
        IN_CONTEXT(virtual_memory_counts),
    };
    return cmocka_run_group_tests(tests, init_driver, NULL);
}
