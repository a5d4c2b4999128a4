/*
 * contract.c - what a CUDA device computes, written down, so that the stand-in can be held to it.
 *
 *   contract record FILE [KERNELS [NEWEST COPIES]]   runs everything on the driver's first device;
 * writes FILE, a line for each operation, and FILE.bin, all results. The others are the fatbins of
 * contract_kernels.cu, newest_kernels.cu and newest_copies.cu.
 *   contract compare FILE FILE       exits with 1 where they differ
 *   contract check TABLE FILE        the same for checksums alone: TABLE needs no TABLE.bin
 *   contract plain FILE              exits with 1 where a kernel differs from its plain one
 *   contract ptx ARCH                prints the modules for one compute capability ("75")
 *
 * README.md has the commands that build it.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda.h>
#include "contract.h"

/* ---- the driver ------------------------------------------------------------------------------ */

#define DRIVER(API)                                                                                \
    API(cuInit, (unsigned))                                                                        \
    API(cuDeviceGet, (CUdevice *, int))                                                            \
    API(cuDeviceGetName, (char *, int, CUdevice))                                                  \
    API(cuDeviceGetAttribute, (int *, CUdevice_attribute, CUdevice))                               \
    API(cuDriverGetVersion, (int *))                                                               \
    API(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                         \
    API(cuCtxSetCurrent, (CUcontext))                                                              \
    API(cuCtxSynchronize, (void))                                                                  \
    API(cuModuleLoad, (CUmodule *, const char *))                                                  \
    API(cuModuleLoadData, (CUmodule *, const void *))                                              \
    API(cuModuleUnload, (CUmodule))                                                                \
    API(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                               \
    API(cuMemAlloc, (CUdeviceptr *, size_t))                                                       \
    API(cuMemcpyHtoD, (CUdeviceptr, const void *, size_t))                                         \
    API(cuMemcpyDtoH, (void *, CUdeviceptr, size_t))                                               \
    API(cuMemsetD8, (CUdeviceptr, unsigned char, size_t))                                          \
    API(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
                         unsigned, CUstream, void **, void **))                                    \
    API(cuTensorMapEncodeTiled,                                                                    \
        (CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,               \
         const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,        \
         CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill))

/* The names are macros of cuda.h for the current version of each function, such as _v2. */
#define TEXT_OF(name)      #name
#define TEXT(name)         TEXT_OF(name)
#define JOIN_OF(a, b)      a##b
#define JOIN(a, b)         JOIN_OF(a, b)
#define API(name, formals) static CUresult(*JOIN(p_, name)) formals;
DRIVER(API)
#undef API
#define CALL(name) JOIN(p_, name)

static void must(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "contract: %s failed with error %d.\n", what, (int)result);
    exit(2);
}

static CUdevice open_device(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "contract: %s\n", dlerror());
        exit(2);
    }
#define API(name, formals)                                                                         \
    *(void **)&CALL(name) = dlsym(driver, TEXT(name));                                             \
    must(CALL(name) ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND, TEXT(name));
    DRIVER(API)
#undef API
    CUdevice device;
    CUcontext context;
    must(CALL(cuInit)(0), "cuInit");
    must(CALL(cuDeviceGet)(&device, 0), "cuDeviceGet");
    must(CALL(cuDevicePrimaryCtxRetain)(&context, device), "cuDevicePrimaryCtxRetain");
    must(CALL(cuCtxSetCurrent)(context), "cuCtxSetCurrent");
    return device;
}

/* ---- writing --------------------------------------------------------------------------------- */

enum { BUFFER = 1 << 20, GROUP = 48, THREADS = 128 };
static FILE *table, *raw;
static uint64_t raw_offset;
static CUdeviceptr in[SOURCES_MAX], out;
static uint8_t host[BUFFER];

/* FNV-1a. */
static uint64_t checksum(const uint8_t *bytes, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3;
    return hash;
}

static void write_result(const char *name, const char *outcome, enum kind kind, unsigned count)
{
    size_t bytes = strcmp(outcome, "ok") == 0 ? (size_t)count * result_bits(kind) / 8 : 0;
    fprintf(table, "%s\t%s\t%u\t%u\t%016" PRIx64 "\t%" PRIu64 "\n", name, outcome, (unsigned)kind,
            count, checksum(host, bytes), raw_offset);
    if (fwrite(host, 1, bytes, raw) != bytes) {
        fprintf(stderr, "contract: the results cannot be written.\n");
        exit(2);
    }
    raw_offset += bytes;
}

/* ---- running --------------------------------------------------------------------------------- */

static void upload(const struct operation *op)
{
    for (unsigned s = 0; s < op->source_count; s++) {
        unsigned bytes = kind_bits(op->sources[s]) / 8;
        for (unsigned i = 0; i < op->count; i++) {
            uint64_t value = input_of(op, s, i);
            memcpy(host + (size_t)i * bytes, &value, bytes);
        }
        must(CALL(cuMemcpyHtoD)(in[s], host, (size_t)op->count * bytes), "cuMemcpyHtoD");
    }
}

static void run_operation(CUmodule module, const struct operation *op, unsigned number)
{
    char name[32];
    snprintf(name, sizeof name, "op_%u", number);
    CUfunction function;
    must(CALL(cuModuleGetFunction)(&function, module, name), "cuModuleGetFunction");
    upload(op);
    must(CALL(cuMemsetD8)(out, 0xaa, BUFFER), "cuMemsetD8");
    unsigned count = op->count;
    void *params[] = {&out, &in[0], &in[1], &in[2], &in[3], &count};
    must(CALL(cuLaunchKernel)(function, (count + THREADS - 1) / THREADS, 1, 1, THREADS, 1, 1, 0,
                              NULL, params, NULL),
         op->name);
    must(CALL(cuCtxSynchronize)(), op->name);
    must(CALL(cuMemcpyDtoH)(host, out, (size_t)count * result_bits(op->result) / 8),
         "cuMemcpyDtoH");
    write_result(op->name, "ok", op->result, count);
}

/* All in one module; where that is refused, each in its own, to find which. */
static void run_group(const struct operation *list, unsigned first, unsigned count)
{
    char *text = module_text(list, first, count);
    CUmodule module;
    CUresult result = CALL(cuModuleLoadData)(&module, text);
    free(text);
    if (result == CUDA_SUCCESS) {
        for (unsigned i = first; i < first + count; i++)
            run_operation(module, &list[i], i);
        must(CALL(cuModuleUnload)(module), "cuModuleUnload");
    } else if (count > 1) {
        for (unsigned i = first; i < first + count; i++)
            run_group(list, i, 1);
    } else {
        fprintf(stderr, "contract: the driver refuses %s with error %d.\n", list[first].name,
                (int)result);
        write_result(list[first].name, "refused", list[first].result, list[first].count);
    }
}

static void run_operations(unsigned arch)
{
    unsigned count, next;
    const struct operation *list = operations(&count);
    for (unsigned first = 0; first < count; first = next) {
        for (next = first + 1; next < count && next < first + GROUP; next++)
            if (list[next].arch != list[first].arch)
                break;
        if (list[first].arch <= arch) {
            run_group(list, first, next - first);
            continue;
        }
        for (unsigned i = first; i < next; i++)
            write_result(list[i].name, "skipped", list[i].result, list[i].count);
        fprintf(stderr, "contract: %s and %u after it need compute capability %u.%u.\n",
                list[first].name, next - first - 1, list[first].arch / 10, list[first].arch % 10);
    }
}

static void launch(CUmodule module, const struct compiled *kernel, void **params)
{
    unsigned results = kernel->count ? kernel->count : kernel->blocks * kernel->threads;
    CUfunction function;
    must(CALL(cuModuleGetFunction)(&function, module, kernel->name), kernel->name);
    must(CALL(cuMemsetD8)(out, 0, BUFFER), "cuMemsetD8");
    must(CALL(cuLaunchKernel)(function, kernel->blocks, 1, 1, kernel->threads, 1, 1, 0, NULL,
                              params, NULL),
         kernel->name);
    must(CALL(cuCtxSynchronize)(), kernel->name);
    must(CALL(cuMemcpyDtoH)(host, out, (size_t)results * result_bits(kernel->result) / 8),
         "cuMemcpyDtoH");
    write_result(kernel->name, "ok", kernel->result, results);
}

static void run_compiled(const char *path)
{
    CUmodule module;
    must(CALL(cuModuleLoad)(&module, path), path);
    unsigned count;
    const struct compiled *kernels = compiled_kernels(&count);
    for (unsigned i = 0; i < count; i++) {
        void *params[] = {&out};
        launch(module, &kernels[i], params);
    }
}

static void make_map(const struct newest *kernel, CUtensorMap *map)
{
    const struct tensor tensor = tensor_of(kernel);
    void *address = (void *)(uintptr_t)(kernel->stores ? out : in[0]);
    must(CALL(cuTensorMapEncodeTiled)(map, tensor.type, 2, address, tensor.size, &tensor.pitch,
                                      tensor.box, tensor.steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                      tensor.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
         "cuTensorMapEncodeTiled");
}

/* Bytes that differ from place to place. */
static void upload_bytes(void)
{
    for (unsigned i = 0; i < BUFFER; i++)
        host[i] = (uint8_t)((i + 1) * 2654435761u >> 20);
    must(CALL(cuMemcpyHtoD)(in[0], host, BUFFER), "cuMemcpyHtoD");
}

/* Copies are in the second module, everything else in the first. */
static void run_newest(char *const *paths, unsigned arch)
{
    enum { ONLY_ARCH = 90, MODULES = 2 };
    CUmodule modules[MODULES];
    unsigned count;
    const struct newest *kernels = newest_kernels(&count);
    if (arch != ONLY_ARCH) {
        for (unsigned i = 0; i < count; i++)
            write_result(kernels[i].kernel.name, "skipped", kernels[i].kernel.result, 0);
        fprintf(stderr, "contract: %u kernels need compute capability 9.0 and no other.\n", count);
        return;
    }
    for (unsigned i = 0; i < MODULES; i++)
        must(CALL(cuModuleLoad)(&modules[i], paths[i]), paths[i]);
    upload_bytes();
    for (unsigned i = 0; i < count; i++) {
        CUtensorMap map = {0};
        void *params[] = {&out, &in[0], &map};
        if (kernels[i].tile >= 0)
            make_map(&kernels[i], &map);
        launch(modules[kernels[i].copies], &kernels[i].kernel, params);
    }
}

/* ---- commands -------------------------------------------------------------------------------- */

static int record(const char *path, char *const *kernels, unsigned kernel_files)
{
    CUdevice device = open_device();
    char name[64], raw_path[4096];
    int version, major, minor;
    must(CALL(cuDeviceGetName)(name, sizeof name, device), "cuDeviceGetName");
    must(CALL(cuDriverGetVersion)(&version), "cuDriverGetVersion");
    must(CALL(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
         "cuDeviceGetAttribute");
    must(CALL(cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
         "cuDeviceGetAttribute");
    snprintf(raw_path, sizeof raw_path, "%s.bin", path);
    table = fopen(path, "w");
    raw = fopen(raw_path, "wb");
    if (!table || !raw) {
        fprintf(stderr, "contract: %s cannot be written.\n", path);
        return 2;
    }
    setvbuf(table, NULL, _IOLBF, 0); /* so that a hang can be located */
    fprintf(table, "# device %s, compute capability %d.%d, driver %d\n", name, major, minor,
            version);
    for (unsigned s = 0; s < SOURCES_MAX; s++)
        must(CALL(cuMemAlloc)(&in[s], BUFFER), "cuMemAlloc");
    must(CALL(cuMemAlloc)(&out, BUFFER), "cuMemAlloc");
    run_operations((unsigned)(major * 10 + minor));
    if (kernel_files > 0)
        run_compiled(kernels[0]);
    if (kernel_files > 2)
        run_newest(kernels + 1, (unsigned)(major * 10 + minor));
    int failed = fclose(table) | fclose(raw);
    printf("%s: %" PRIu64 " bytes of results\n", path, raw_offset);
    return failed ? 2 : 0;
}

static int print_ptx(unsigned arch)
{
    unsigned count;
    size_t bytes = 0;
    const struct operation *list = operations(&count);
    for (unsigned i = 0; i < count; i++) {
        bytes += (size_t)list[i].count * result_bits(list[i].result) / 8;
        if (list[i].arch != arch)
            continue;
        char *text = module_text(list, i, 1);
        puts(strstr(text, ".visible"));
        free(text);
    }
    fprintf(stderr, "%u operations, %zu bytes of results\n", count, bytes);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 3 && strcmp(argv[1], "record") == 0)
        return record(argv[2], argv + 3, (unsigned)argc - 3);
    if (argc == 4 && strcmp(argv[1], "compare") == 0)
        return compare_records(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "check") == 0)
        return check_record(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "plain") == 0)
        return check_plain(argv[2]);
    if (argc == 3 && strcmp(argv[1], "ptx") == 0)
        return print_ptx((unsigned)atoi(argv[2]));
    fprintf(stderr, "usage: contract record FILE [KERNELS [NEWEST COPIES]] | compare FILE FILE "
                    "| check TABLE FILE | plain FILE | ptx ARCH\n");
    return 2;
}
