/*
 * test_driver_settings.c - what the environment of the process changes: sizes, injected failures,
 * the report, and how a process ends.
 *
 * The program calls itself with the name of a mode (see modes[]), which exits 0 where all is as it
 * should be.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include "driver_fixture.h"

/* --- modes: what the environment changes --- */

#define EXPECT(what)                                                                               \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what);                                     \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static int mode_fail_nth(void)
{
    CUcontext context;
    CUdeviceptr a;
    EXPECT(!cuInit(0) && !cuCtxCreate(&context, NULL, 0, 0));
    EXPECT(!cuMemAlloc(&a, 16));
    EXPECT(cuMemAlloc(&a, 16) == CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT(!cuMemAlloc(&a, 16));
    EXPECT(cuCtxSynchronize() == CUDA_ERROR_UNKNOWN);
    EXPECT(cuCtxSynchronize() == CUDA_ERROR_UNKNOWN);
    return 0;
}

static int mode_fail_any(void)
{
    int count;
    EXPECT(!cuInit(0));
    EXPECT(!cuDeviceGetCount(&count));
    EXPECT(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_PERMITTED);
    EXPECT(!cuDeviceGetCount(&count));
    return 0;
}

static int mode_quiet(void)
{
    CUcontext context;
    CUdeviceptr a;
    EXPECT(!cuInit(0) && !cuCtxCreate(&context, NULL, 0, 0));
    for (int i = 0; i < 5; i++)
        EXPECT(!cuMemAlloc(&a, 16));
    EXPECT(!cuCtxSynchronize());
    return 0;
}

static int mode_small(void)
{
    size_t left, total;
    CUcontext context;
    CUdeviceptr a;
    EXPECT(!cuInit(0) && !cuCtxCreate(&context, NULL, 0, 0) && !cuMemGetInfo(&left, &total));
    EXPECT(total == 8 * MIB);
    EXPECT(cuMemAlloc(&a, 9 * MIB) == CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT(!cuMemAlloc(&a, 7 * MIB));
    EXPECT(cuMemAlloc(&a, 2 * MIB) == CUDA_ERROR_OUT_OF_MEMORY);
    return 0;
}

static int mode_peers(void)
{
    CUcontext a, b;
    CUdeviceptr on_a;
    int can = 0, minor = 0, ordinal = -1, value = 5, back = 0;
    EXPECT(!cuInit(0) && !cuCtxCreate(&a, NULL, 0, 0) && !cuMemAlloc(&on_a, 64));
    EXPECT(!cuCtxCreate(&b, NULL, 0, 1));
    EXPECT(!cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 1));
    EXPECT(minor == 6);
    EXPECT(!cuDeviceCanAccessPeer(&can, 0, 1) && can == 1);
    EXPECT(!cuDeviceCanAccessPeer(&can, 1, 1) && can == 0);
    EXPECT(!cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, on_a));
    EXPECT(ordinal == 0);
    EXPECT(!cuMemcpyHtoD(on_a, &value, 4) && !cuMemcpyDtoH(&back, on_a, 4) && back == 5);
    EXPECT(cuCtxDisablePeerAccess(a) == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    EXPECT(!cuCtxEnablePeerAccess(a, 0));
    EXPECT(cuCtxEnablePeerAccess(a, 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    EXPECT(cuCtxEnablePeerAccess(b, 0) == CUDA_ERROR_INVALID_CONTEXT);
    EXPECT(!cuCtxDisablePeerAccess(a));
    return 0;
}

static int mode_version(void)
{
    int version;
    void *entry;
    EXPECT(!cuDriverGetVersion(&version) && version == 12040);
    EXPECT(cuGetProcAddress("cuInit", &entry, 13000, 0, NULL) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(!cuGetProcAddress("cuInit", &entry, 12040, 0, NULL) && entry);
    return 0;
}

static CUresult result_at_exit;

static void earlier_handler(void)
{
    int count;
    result_at_exit = cuDeviceGetCount(&count);
    if (result_at_exit != CUDA_ERROR_DEINITIALIZED)
        _exit(7);
}

static void later_handler(void)
{
    int count;
    if (cuDeviceGetCount(&count) != CUDA_SUCCESS)
        _exit(8);
}

/* Handlers run in reverse: those registered before cuInit find the driver gone. */
static int mode_exit(void)
{
    atexit(earlier_handler);
    EXPECT(!cuInit(0));
    atexit(later_handler);
    return 0;
}

static bool wants_no_call(unsigned cbid)
{
    (void)cbid;
    return false;
}

static bool wants_created(unsigned cbid)
{
    return cbid == 1;
}

static void allocate(const struct hook_resource *event)
{
    CUdeviceptr address;
    (void)event;
    cuMemAlloc(&address, 16);
}

static const struct hooks allocating_hooks = {wants_no_call, NULL, wants_created, allocate};

/* The real driver hangs here. */
static int mode_allocate_in_callback(void)
{
    CUcontext outer, inner;
    EXPECT(!cuInit(0) && !cuCtxCreate(&outer, NULL, 0, 0));
    set_hooks(&allocating_hooks);
    return cuCtxCreate(&inner, NULL, 0, 0) ? 1 : 0;
}

static void *inits(void *user)
{
    int count;
    bool ok = !cuInit(0) && !cuDeviceGetCount(&count);
    return ok ? user : NULL;
}

static int mode_threads(void)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    void *ok;
    for (int i = 0; i < THREADS; i++)
        EXPECT(!pthread_create(&threads[i], NULL, inits, threads));
    for (int i = 0; i < THREADS; i++)
        EXPECT(!pthread_join(threads[i], &ok) && ok);
    return 0;
}

static int mode_bad_setting(void)
{
    cuInit(0);
    return 0;
}

static const struct mode {
    const char *name;
    int (*run)(void);
} modes[] = {
    {"fail_nth", mode_fail_nth}, {"fail_any", mode_fail_any},
    {"quiet", mode_quiet},       {"small", mode_small},
    {"peers", mode_peers},       {"version", mode_version},
    {"exit", mode_exit},         {"bad_setting", mode_bad_setting},
    {"threads", mode_threads},   {"allocate_in_callback", mode_allocate_in_callback},
};

static int run_mode(const char *name)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
        if (!strcmp(modes[i].name, name))
            return modes[i].run();
    return 99;
}

/* The exit status, or minus the signal. `settings`: NAME=VALUE, NULL at the end. */
static int start_mode(const char *name, const char *const *settings)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int status = 0;
    assert_true(length > 0);
    self[length] = '\0';
    pid_t child = fork();
    if (!child) {
        leave_no_core();
        for (; *settings; settings++)
            putenv((char *)(uintptr_t)*settings);
        execl(self, self, name, (char *)NULL);
        _exit(98);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#define START(name, ...) start_mode(name, (const char *const[]){__VA_ARGS__, NULL})

static void injected_failures(void **state)
{
    (void)state;
    const char *both = "SOFTGPU_FAIL=cuMemAlloc:2=CUDA_ERROR_OUT_OF_MEMORY,cuCtxSynchronize:*=999";
    assert_int_equal(START("fail_nth", both), 0);
    assert_int_equal(START("fail_any", "SOFTGPU_FAIL=*:3=CUDA_ERROR_NOT_PERMITTED"), 0);
    assert_int_equal(START("quiet", "SOFTGPU_FAIL=cuMemAlloc:6=2"), 0);
    assert_int_equal(START("quiet", "SOFTGPU_FAIL=cuMemAlloc_v3:*=2,cuMemAll:*=2"), 0);
    assert_int_equal(START("fail_nth", both, "SOFTGPU_FAIL_FROM=test_driver_settings"), 0);
    assert_int_equal(START("quiet", both, "SOFTGPU_FAIL_FROM=libsomething"), 0);
}

static void settings_are_used(void **state)
{
    (void)state;
    assert_int_equal(START("small", "SOFTGPU_MEMORY=8M"), 0);
    assert_int_equal(START("peers", "SOFTGPU_DEVICES=2", "SOFTGPU_ARCH=86"), 0);
    assert_int_equal(START("version", "SOFTGPU_VERSION=12040"), 0);
    assert_int_equal(START("exit", "SOFTGPU_SEED=1"), 0);
    assert_int_equal(START("threads", "SOFTGPU_SEED=0"), 0);
}

/* Standard error goes nowhere until close_quiet(): the sentences are expected. */
static int open_quiet(void)
{
    int kept = dup(2), nowhere = open("/dev/null", O_WRONLY);
    assert_true(kept >= 0 && nowhere >= 0);
    dup2(nowhere, 2);
    close(nowhere);
    return kept;
}

static void close_quiet(int kept)
{
    dup2(kept, 2);
    close(kept);
}

static void bad_settings_abort(void **state)
{
    static const char *const bad[] = {
        "SOFTGPU_DEVICES=9",      "SOFTGPU_DEVICES=-1", "SOFTGPU_MEMORY=4X",
        "SOFTGPU_MEMORY=0",       "SOFTGPU_ARCH=60",    "SOFTGPU_FAIL=cuInit=2",
        "SOFTGPU_FAIL=cuInit:1=", "SOFTGPU_FAIL=a:0=2", "SOFTGPU_DELAY=fast:3",
        "SOFTGPU_DELAY=low:x",    "SOFTGPU_SEED=many",  "SOFTGPU_FAIL=a:1=CUDA_ERROR_X",
    };
    (void)state;
    int quiet = open_quiet();
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(START("bad_setting", bad[i]), -SIGABRT);
    close_quiet(quiet);
}

static void forbidden_in_a_callback(void **state)
{
    (void)state;
    int quiet = open_quiet();
    assert_int_equal(START("allocate_in_callback", "SOFTGPU_SEED=0"), -SIGABRT);
    close_quiet(quiet);
}

/* The text of a file that the process wrote, to be freed. */
static char *read_file(const char *path)
{
    char *text = calloc(1, 1 << 20);
    FILE *file = fopen(path, "r");
    assert_non_null(text);
    assert_non_null(file);
    size_t length = fread(text, 1, (1 << 20) - 1, file);
    assert_true(length > 0);
    fclose(file);
    return text;
}

static void report_and_calls(void **state)
{
    char folder[] = "/tmp/softgpu-core-XXXXXX", report[128], calls[128], path[128];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(report, sizeof(report), "SOFTGPU_REPORT=%s/report", folder);
    snprintf(calls, sizeof(calls), "SOFTGPU_CALLS=%s/calls", folder);
    assert_int_equal(START("quiet", report, calls), 0);
    char *text = read_file(strchr(report, '=') + 1);
    assert_non_null(strstr(text, "call cuMemAlloc_v2 5\n"));
    assert_non_null(strstr(text, "leak device 5 80\n"));
    assert_non_null(strstr(text, "leak context 1 0\n"));
    assert_null(strstr(text, "leak pinned"));
    free(text);
    text = read_file(strchr(calls, '=') + 1);
    assert_non_null(strstr(text, " cuInit CUDA_SUCCESS "));
    assert_non_null(strstr(text, "test_driver_settings\n"));
    free(text);
    snprintf(path, sizeof(path), "%s/report", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/calls", folder);
    unlink(path);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(injected_failures),  cmocka_unit_test(settings_are_used),
        cmocka_unit_test(bad_settings_abort), cmocka_unit_test(forbidden_in_a_callback),
        cmocka_unit_test(report_and_calls),
    };
    return argc > 1 ? run_mode(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}
