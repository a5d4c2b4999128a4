/* What the host memory of many entries and kernels comes to: a bound for each of them, which does
 * not depend on how many there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "driver/cuda_api.h"
#include "report/counters.h"
#include "tests/unit/common/registry_fixture.h"
#include "gate/kernels.h"
#include "gate/tally.h"

enum { KERNELS = 2000 };

/* Resident, so what was only set aside does not count; in bytes. */
static size_t resident(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t each(size_t before)
{
    size_t now = resident();
    return now > before ? (now - before) / KERNELS : 0;
}

/* The result of `measure` in a process of its own, whose heap has no room left over from others. */
static size_t in_a_child(size_t (*measure)(const char *), const char *name)
{
    int ends[2], status = 0;
    size_t result = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        result = measure(name);
        _exit(write(ends[1], &result, sizeof result) != sizeof result);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], &result, sizeof result), sizeof result);
    close(ends[0]);
    close(ends[1]);
    print_message("%s: %zu bytes each\n", name, result);
    return result;
}

static size_t bytes_of_entries(const char *name)
{
    enum { ENTRY = 300 };
    struct complaints complaints = {0};
    char *text = malloc(KERNELS * ENTRY), *end = text;
    (void)name;
    end += sprintf(end, "version: 1\nkernels:\n");
    for (int i = 0; i < KERNELS; i++)
        end += sprintf(end,
                       "- kernel: \"%s%d%s\"\n"
                       "  signature: const f32 x[n], f32 y[n], i32 n\n"
                       "  reference: relu\n",
                       i % 2 ? "/relu_" : "relu_", i, i % 2 ? "<(?<T>.*)>/" : "*");
    size_t before = resident();
    struct registry *registry = registry_of(text, &complaints);
    assert_int_equal(complaints.count, 0);
    assert_int_equal(registry_entries(registry), KERNELS);
    return each(before);
}

static void an_entry_takes_a_few_kilobytes(void **state)
{
    (void)state;
    assert_true(in_a_child(bytes_of_entries, "entries") < 8 << 10);
}

static CUresult tell(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    static const size_t sizes[] = {8, 8, 4};
    (void)kernel;
    if (index >= 3)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = index * 8;
    *size = sizes[index];
    return CUDA_SUCCESS;
}

static void on_seen(void *user, const struct known_kernel *kernel, const char *sentence)
{
    assert_null(sentence);
    assert_int_equal(counters_add_kernel(user, kernel->spec), STATUS_OK);
}

/* A handle each, one launch each on one thread. */
static size_t bytes_of_kernels(const char *name)
{
    static const char text[] = "version: 1\n"
                               "kernels:\n"
                               "- kernel: relu_*\n"
                               "  signature: const f32 x[n], f32 y[n], i32 n\n"
                               "  reference: relu\n";
    static char symbol[KERNELS][24];
    struct complaints complaints = {0};
    struct counters *counters = counters_create();
    struct registry *registry = registry_of(text, &complaints);
    struct kernels *kernels = kernels_create(registry, on_seen, counters);
    cuda = (struct cuda_api){.cuKernelGetParamInfo = tell};
    for (int i = 0; i < KERNELS; i++)
        sprintf(symbol[i], "%s_%d", name, i);
    size_t before = resident();
    for (int i = 0; i < KERNELS; i++) {
        struct launch launch = {.symbol = symbol[i], .function = symbol[i]};
        const struct known_kernel *kernel = kernels_find(kernels, &launch);
        int64_t number = kernel->spec ? (int64_t)kernel->spec->number : -1;
        counters_seen(counters);
        counters_skip(counters, number, SKIP_NOT_SAMPLED);
    }
    return each(before);
}

static void a_registered_kernel_takes_a_few_kilobytes(void **state)
{
    (void)state;
    assert_true(in_a_child(bytes_of_kernels, "relu") < 3 << 10);
}

static void an_unregistered_kernel_takes_less(void **state)
{
    (void)state;
    assert_true(in_a_child(bytes_of_kernels, "other") < 1 << 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_registered_kernel_takes_a_few_kilobytes),
        cmocka_unit_test(an_unregistered_kernel_takes_less),
        cmocka_unit_test(an_entry_takes_a_few_kilobytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
