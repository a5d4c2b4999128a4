/*
 * test_driver_core.c - the stand-in driver's interface: initialisation, errors, entry
 * points, devices, contexts, callbacks and fork. Built and linked like any program of the driver
 * API.
 */
#include <pthread.h>
#include <stdatomic.h>
#include "driver_fixture.h"

/* --- before and at cuInit --- */

static void before_init(void **state)
{
    int value;
    CUdeviceptr address;
    const char *name = "?";
    void *entry = NULL;
    (void)state;
    FAILS(cuDeviceGetCount(&value), CUDA_ERROR_NOT_INITIALIZED);
    FAILS(cuMemAlloc(&address, 1), CUDA_ERROR_NOT_INITIALIZED);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuDriverGetVersion(&value));
    assert_int_equal(value, 13000);
    OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &name));
    assert_string_equal(name, "CUDA_ERROR_OUT_OF_MEMORY");
    OK(cuGetProcAddress("cuInit", &entry, 13000, 0, NULL));
    assert_non_null(entry);
    FAILS(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetCount(&value), CUDA_ERROR_NOT_INITIALIZED);
}

static void init(void **state)
{
    int count = 0;
    (void)state;
    OK(cuInit(0));
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    assert_int_equal(count, 1);
    FAILS(cuDeviceGetCount(NULL), CUDA_ERROR_INVALID_VALUE);
}

static void error_names(void **state)
{
    const char *text;
    (void)state;
    OK(cuGetErrorName(CUDA_SUCCESS, &text));
    assert_string_equal(text, "CUDA_SUCCESS");
    OK(cuGetErrorName(CUDA_ERROR_UNKNOWN, &text));
    assert_string_equal(text, "CUDA_ERROR_UNKNOWN");
    OK(cuGetErrorName(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, &text));
    assert_string_equal(text, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD");
    OK(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text));
    assert_string_equal(text, "invalid argument");
    FAILS(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    assert_null(text);
    FAILS(cuGetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGetErrorName(CUDA_SUCCESS, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void proc_address(void **state)
{
    CUdriverProcAddressQueryResult status;
    void *entry;
    const cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    (void)state;
    OK(cuGetProcAddress("cuMemAlloc", &entry, 12000, 0, &status));
    assert_ptr_equal(entry, symbol("cuMemAlloc_v2"));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    OK(cuGetProcAddress("cuCtxCreate", &entry, 11040, 0, NULL));
    assert_ptr_equal(entry, symbol("cuCtxCreate_v3"));
    OK(cuGetProcAddress("cuCtxCreate", &entry, 11030, 0, NULL));
    assert_ptr_equal(entry, symbol("cuCtxCreate_v2"));
    OK(cuGetProcAddress("cuCtxSynchronize", &entry, 12080, 0, NULL));
    assert_ptr_equal(entry, symbol("cuCtxSynchronize"));
#if CUDA_VERSION >= 13000
    OK(cuGetProcAddress("cuCtxSynchronize", &entry, 13000, 0, NULL));
    assert_ptr_equal(entry, symbol("cuCtxSynchronize_v2"));
#endif
    OK(cuGetProcAddress("cuLaunchKernel", &entry, 13000, per_thread, NULL));
    assert_ptr_equal(entry, symbol("cuLaunchKernel_ptsz"));
    OK(cuGetProcAddress("cuMemcpyHtoD", &entry, 13000, per_thread, NULL));
    assert_ptr_equal(entry, symbol("cuMemcpyHtoD_v2_ptds"));
    OK(cuGetProcAddress("cuMemAlloc", &entry, 13000, per_thread, NULL));
    assert_ptr_equal(entry, symbol("cuMemAlloc_v2"));
    OK(cuGetProcAddress("cuNoSuchThing", &entry, 13000, 0, &status));
    assert_null(entry);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    OK(cuGetProcAddress("cuLaunchKernelEx", &entry, 11000, 0, &status));
    assert_null(entry);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    FAILS(cuGetProcAddress("cuInit", &entry, 13010, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGetProcAddress("cuInit", &entry, 13000, 8, NULL), CUDA_ERROR_INVALID_VALUE);
}

/* --- devices --- */

static void devices(void **state)
{
    CUdevice device, again;
    CUuuid uuid;
    char text[64];
    int major = 0, minor = 0;
    size_t bytes = 0;
    (void)state;
    OK(cuDeviceGet(&device, 0));
    FAILS(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceGetName(text, sizeof(text), 0));
    assert_memory_equal(text, "softgpu", 7);
    OK(cuDeviceGetUuid(&uuid, 0));
    OK(cuDeviceTotalMem(&bytes, 0));
    assert_int_equal(bytes, (size_t)4 << 30);
    OK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    OK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
    assert_int_equal(major, 9);
    assert_int_equal(minor, 0);
    for (int i = 1; i < CU_DEVICE_ATTRIBUTE_MAX; i++)
        OK(cuDeviceGetAttribute(&major, (CUdevice_attribute)i, 0));
    FAILS(cuDeviceGetAttribute(&major, (CUdevice_attribute)9999, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 7),
          CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceGetPCIBusId(text, sizeof(text), 0));
    OK(cuDeviceGetByPCIBusId(&again, text));
    assert_int_equal(again, 0);
    FAILS(cuDeviceGetByPCIBusId(&again, "0000:99:00.0"), CUDA_ERROR_INVALID_DEVICE);
}

/* --- contexts --- */

static void no_context(void **state)
{
    CUdeviceptr address;
    CUcontext current = (CUcontext)1;
    CUdevice device;
    (void)state;
    FAILS(cuMemAlloc(&address, 16), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxPopCurrent(&current), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxGetCurrent(&current));
    assert_null(current);
    FAILS(cuCtxSetCurrent((CUcontext)0x1234), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxPushCurrent(NULL), CUDA_ERROR_INVALID_CONTEXT);
}

static void context_stack(void **state)
{
    CUcontext a, b, current;
    CUdevice device = -1;
    unsigned flags = 0;
    (void)state;
    OK(cuCtxCreate(&a, NULL, CU_CTX_SCHED_YIELD, 0));
    OK(cuCtxCreate(&b, NULL, 0, 0));
    assert_ptr_not_equal(a, b);
    OK(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, b);
    OK(cuCtxPopCurrent(&current));
    assert_ptr_equal(current, b);
    OK(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, a);
    OK(cuCtxGetFlags(&flags));
    assert_int_equal(flags, CU_CTX_SCHED_YIELD);
    OK(cuCtxGetDevice(&device));
    assert_int_equal(device, 0);
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(b));
    OK(cuCtxSetCurrent(NULL));
    OK(cuCtxGetCurrent(&current));
    assert_null(current);
    OK(cuCtxPushCurrent(a));
    OK(cuCtxDestroy(b));
    OK(cuCtxGetCurrent(&current));
    assert_ptr_equal(current, a);
    OK(cuCtxDestroy(a));
    OK(cuCtxGetCurrent(&current));
    assert_null(current);
}

static void stale_context(void **state)
{
    CUcontext gone, next;
    unsigned version;
    (void)state;
    OK(cuCtxCreate(&gone, NULL, 0, 0));
    OK(cuCtxDestroy(gone));
    FAILS(cuCtxDestroy(gone), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxPushCurrent(gone), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxGetApiVersion(gone, &version), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxCreate(&next, NULL, 0, 0));
    assert_ptr_not_equal(next, gone);
    OK(cuCtxDestroy(next));
    FAILS(cuCtxCreate(&next, NULL, 1u << 20, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuCtxCreate(&next, NULL, 0, 5), CUDA_ERROR_INVALID_DEVICE);
}

struct meeting {
    CUcontext context;
    pthread_barrier_t barrier;
};

static void *with_destroyed(void *user)
{
    struct meeting *meeting = user;
    CUdeviceptr address;
    CUcontext current = NULL;
    CUresult first = cuCtxSetCurrent(meeting->context);
    pthread_barrier_wait(&meeting->barrier); /* it is destroyed after this */
    pthread_barrier_wait(&meeting->barrier);
    CUresult then = cuMemAlloc(&address, 16);
    cuCtxGetCurrent(&current);
    bool ok = first == CUDA_SUCCESS && then == CUDA_ERROR_CONTEXT_IS_DESTROYED &&
              current == meeting->context;
    return ok ? meeting : NULL;
}

static void destroyed_elsewhere(void **state)
{
    struct meeting meeting;
    pthread_t thread;
    void *ok;
    (void)state;
    OK(cuCtxCreate(&meeting.context, NULL, 0, 0));
    pthread_barrier_init(&meeting.barrier, NULL, 2);
    pthread_create(&thread, NULL, with_destroyed, &meeting);
    pthread_barrier_wait(&meeting.barrier);
    OK(cuCtxDestroy(meeting.context));
    pthread_barrier_wait(&meeting.barrier);
    pthread_join(thread, &ok);
    pthread_barrier_destroy(&meeting.barrier);
    assert_non_null(ok);
}

struct busy {
    CUcontext context;
    atomic_bool started;
};

/* Calls until the context is gone under it. */
static void *keeps_calling(void *user)
{
    struct busy *busy = user;
    CUresult result = cuCtxSetCurrent(busy->context);
    while (!result) {
        CUdeviceptr address;
        result = cuMemAlloc(&address, 4096);
        if (!result)
            result = cuMemFree(address);
        if (!result)
            result = cuCtxSynchronize();
        atomic_store(&busy->started, true);
    }
    return (void *)(uintptr_t)result;
}

static void destroyed_in_use(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct busy busy = {0};
        pthread_t thread;
        void *result;
        OK(cuCtxCreate(&busy.context, NULL, 0, 0));
        pthread_create(&thread, NULL, keeps_calling, &busy);
        while (!atomic_load(&busy.started))
            usleep(50);
        OK(cuCtxDestroy(busy.context));
        pthread_join(thread, &result);
        assert_int_equal((uintptr_t)result, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
}

static void primary_context(void **state)
{
    CUcontext first, again, next;
    unsigned flags = 1;
    int active = 1;
    (void)state;
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(active, 0);
    FAILS(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuDevicePrimaryCtxRetain(&first, 3), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC));
    OK(cuDevicePrimaryCtxRetain(&first, 0));
    OK(cuDevicePrimaryCtxRetain(&again, 0));
    assert_ptr_equal(first, again);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(active, 1);
    assert_int_equal(flags, CU_CTX_SCHED_BLOCKING_SYNC);
    FAILS(cuCtxDestroy(first), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuCtxSetCurrent(first));
    OK(cuDevicePrimaryCtxRelease(0));
    FAILS(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuCtxGetCurrent(&again)); /* not popped */
    assert_ptr_equal(again, first);
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxRetain(&next, 0));
    assert_ptr_not_equal(next, first);
    OK(cuDevicePrimaryCtxReset(0));
    FAILS(cuCtxSetCurrent(next), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxRelease(0));
    FAILS(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
}

/* --- the error that stays --- */

static const char trapping[] = ".version 8.0\n"
                               ".target sm_75\n"
                               ".address_size 64\n"
                               ".visible .entry trapping()\n"
                               "{\n"
                               "    trap;\n"
                               "}\n";

/* A kernel's fault ends its context, and no other. */
static void sticky_error(void **state)
{
    CUcontext bad, good;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr address;
    int count;
    (void)state;
    OK(cuCtxCreate(&good, NULL, 0, 0));
    OK(cuCtxCreate(&bad, NULL, 0, 0));
    OK(cuMemAlloc(&address, 16));
    OK(cuModuleLoadData(&module, trapping));
    OK(cuModuleGetFunction(&kernel, module, "trapping"));
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CUresult error = cuCtxSynchronize();
    assert_int_not_equal(error, CUDA_SUCCESS);
    FAILS(cuMemFree(address), error);
    FAILS(cuCtxSynchronize(), error);
    FAILS(cuMemAlloc(&address, 16), error);
    OK(cuDeviceGetCount(&count));
    OK(cuCtxSetCurrent(good));
    OK(cuMemAlloc(&address, 16));
    OK(cuCtxSynchronize());
    OK(cuMemFree(address));
    OK(cuCtxDestroy(bad));
    OK(cuCtxDestroy(good));
}

/* --- callbacks --- */

struct seen {
    unsigned enters, exits;
    uint32_t correlation[2];
    CUresult result;
    CUcontext context;
    bool data_kept, nested;
};
static struct seen seen;
static unsigned wanted_cbid;

static bool wants(unsigned cbid)
{
    return wanted_cbid && cbid == wanted_cbid;
}

static bool wants_none(unsigned cbid)
{
    (void)cbid;
    return false;
}

static void on_call(const struct hook_call *call)
{
    int count;
    if (call->exit) {
        seen.exits++;
        seen.correlation[1] = call->correlation;
        seen.result = *call->result;
        seen.data_kept = *call->correlation_data == 42;
        return;
    }
    seen.enters++;
    seen.correlation[0] = call->correlation;
    seen.context = call->context;
    *call->correlation_data = 42;
    seen.nested = cuDeviceGetCount(&count) == CUDA_SUCCESS;
    assert_string_equal(call->name, "cuMemAlloc_v2");
}

static void callbacks(void **state)
{
    static const struct hooks hooks = {wants, on_call, wants_none, NULL};
    CUdeviceptr device;
    const unsigned mem_alloc = 243; /* CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2 */
    set_hooks(&hooks);
    OK(cuMemAlloc(&device, 16));
    OK(cuMemFree(device));
    assert_int_equal(seen.enters, 0);
    wanted_cbid = mem_alloc;
    OK(cuMemAlloc(&device, 16));
    OK(cuMemFree(device));
    assert_int_equal(seen.enters, 1);
    assert_int_equal(seen.exits, 1);
    assert_int_equal(seen.correlation[0], seen.correlation[1]);
    assert_int_not_equal(seen.correlation[0], 0);
    assert_true(seen.data_kept && seen.nested);
    assert_ptr_equal(seen.context, *state);
    uint32_t before = seen.correlation[0];
    FAILS(cuMemAlloc(&device, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(seen.exits, 2);
    assert_int_equal(seen.result, CUDA_ERROR_INVALID_VALUE);
    assert_true(seen.correlation[0] > before);
    set_hooks(NULL);
    wanted_cbid = 0;
    OK(cuMemAlloc(&device, 16));
    OK(cuMemFree(device));
    assert_int_equal(seen.enters, 2);
}

static unsigned created, destroyed;
static CUcontext told_of;

static void on_resource(const struct hook_resource *event)
{
    int active;
    unsigned flags;
    told_of = event->context;
    created += event->cbid == 1;
    destroyed += event->cbid == 2;
    cuDevicePrimaryCtxGetState(0, &flags, &active); /* a mere query is fine here */
}

static bool wants_contexts(unsigned cbid)
{
    return cbid == 1 || cbid == 2;
}

static const struct hooks resource_hooks = {wants_none, on_call, wants_contexts, on_resource};

static void context_callbacks(void **state)
{
    CUcontext context, primary;
    unsigned long long id = 0;
    uint32_t (*uid)(CUcontext);
    void *found = symbol("softgpu_context_uid");
    (void)state;
    memcpy(&uid, &found, sizeof(uid));
    set_hooks(&resource_hooks);
    OK(cuCtxCreate(&context, NULL, 0, 0));
    assert_int_equal(created, 1);
    assert_ptr_equal(told_of, context);
    OK(cuCtxGetId(context, &id));
    assert_int_equal(id, uid(context));
    OK(cuCtxDestroy(context));
    assert_int_equal(destroyed, 1);
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    assert_int_equal(created, 2);
    assert_ptr_equal(told_of, primary);
    assert_int_not_equal(uid(primary), (uint32_t)id);
    OK(cuDevicePrimaryCtxRelease(0));
    assert_int_equal(destroyed, 1);
    OK(cuDevicePrimaryCtxRelease(0));
    assert_int_equal(destroyed, 2);
    set_hooks(NULL);
    assert_int_equal(uid((CUcontext)0x10), 0);
}

/* --- fork --- */

static void forked_child(void **state)
{
    int status = 0;
    (void)state;
    pid_t child = fork();
    if (!child) {
        int count;
        const char *name;
        bool ok = cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
                  cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                  cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED &&
                  cuGetErrorName(CUDA_SUCCESS, &name) == CUDA_SUCCESS;
        _exit(ok ? 0 : 1);
    }
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(cuCtxSynchronize());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_init),
        cmocka_unit_test(init),
        cmocka_unit_test(error_names),
        cmocka_unit_test(proc_address),
        cmocka_unit_test(devices),
        cmocka_unit_test(no_context),
        cmocka_unit_test(context_stack),
        cmocka_unit_test(stale_context),
        cmocka_unit_test(destroyed_elsewhere),
        cmocka_unit_test(destroyed_in_use),
        cmocka_unit_test(primary_context),
        cmocka_unit_test(sticky_error),
        IN_CONTEXT(callbacks),
        cmocka_unit_test(context_callbacks),
        IN_CONTEXT(forked_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
