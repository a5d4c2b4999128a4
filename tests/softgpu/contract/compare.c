/* compare.c - two records against each other. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "contract.h"

enum { RESULTS_MAX = 8192, EXAMPLES = 3 };

/* ---- reading --------------------------------------------------------------------------------- */

struct result {
    char name[NAME_MAX_BYTES];
    char outcome[16]; /* "ok", "skipped" or "refused" */
    unsigned kind, count;
    uint64_t checksum, offset;
};

struct record {
    char device[128];
    struct result *results;
    unsigned count;
    uint8_t *raw;
};

static void fail(const char *path, const char *what)
{
    fprintf(stderr, "contract: %s: %s\n", path, what);
    exit(2);
}

static void read_raw(const char *path, struct record *record)
{
    char raw_path[4096];
    snprintf(raw_path, sizeof raw_path, "%s.bin", path);
    FILE *file = fopen(raw_path, "rb");
    if (!file)
        fail(raw_path, "cannot be opened");
    fseek(file, 0, SEEK_END);
    size_t length = (size_t)ftell(file);
    rewind(file);
    record->raw = malloc(length + 1);
    if (!record->raw || fread(record->raw, 1, length, file) != length)
        fail(raw_path, "cannot be read");
    fclose(file);
}

static void read_record(const char *path, struct record *record)
{
    FILE *file = fopen(path, "r");
    if (!file)
        fail(path, "cannot be opened");
    record->results = calloc(RESULTS_MAX, sizeof *record->results);
    char line[512];
    while (record->results && fgets(line, sizeof line, file) && record->count < RESULTS_MAX) {
        struct result *result = &record->results[record->count];
        if (line[0] == '#')
            sscanf(line, "# device %127[^\n]", record->device);
        else if (sscanf(line, "%95[^\t]\t%15s\t%u\t%u\t%" SCNx64 "\t%" SCNu64, result->name,
                        result->outcome, &result->kind, &result->count, &result->checksum,
                        &result->offset) == 6)
            record->count++;
    }
    fclose(file);
}

static uint64_t element(const struct record *record, const struct result *result, unsigned index)
{
    unsigned bytes = result_bits(result->kind) / 8;
    uint64_t value = 0;
    memcpy(&value, record->raw + result->offset + (size_t)index * bytes, bytes);
    return value;
}

/* ---- distance -------------------------------------------------------------------------------- */

static double half_value(uint64_t bits)
{
    int exponent = (int)(bits >> 10 & 31), mantissa = (int)(bits & 1023);
    double value = exponent == 31 ? (mantissa ? NAN : INFINITY)
                   : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                                  : ldexp(mantissa, -24);
    return bits & 0x8000 ? -value : value;
}

double value_of(enum kind kind, uint64_t bits)
{
    uint32_t low = (uint32_t)(kind == BF16 ? bits << 16 : bits);
    float single;
    double value;
    switch (kind) {
    case F16:
        return half_value(bits);
    case F32:
    case BF16:
        memcpy(&single, &low, sizeof single);
        return single;
    case F64:
        memcpy(&value, &bits, sizeof value);
        return value;
    default:
        return (double)bits;
    }
}

double ulps_between(enum kind kind, uint64_t a, uint64_t b)
{
    if (kind == F16X2 || kind == BF16X2) {
        enum kind half = kind == F16X2 ? F16 : BF16;
        return fmax(ulps_between(half, a & 0xffff, b & 0xffff),
                    ulps_between(half, a >> 16, b >> 16));
    }
    double x = value_of(kind, a), y = value_of(kind, b);
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y) ? 0 : INFINITY;
    uint64_t sign = 1ull << (kind_bits(kind) - 1);
    uint64_t up = a & sign ? sign - (a & (sign - 1)) : sign + a;
    uint64_t down = b & sign ? sign - (b & (sign - 1)) : sign + b;
    return up > down ? (double)(up - down) : (double)(down - up);
}

static double difference(enum kind kind, uint64_t a, uint64_t b)
{
    if (kind == F16X2 || kind == BF16X2) {
        enum kind half = kind == F16X2 ? F16 : BF16;
        return fmax(difference(half, a & 0xffff, b & 0xffff), difference(half, a >> 16, b >> 16));
    }
    double x = value_of(kind, a), y = value_of(kind, b);
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y) ? 0 : INFINITY;
    return x == y ? 0 : fabs(x - y);
}

/* ---- one operation --------------------------------------------------------------------------- */

static const struct operation *find_operation(const char *name)
{
    unsigned count;
    const struct operation *list = operations(&count);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static struct bound bound_of(const char *name)
{
    const struct operation *op = find_operation(name);
    if (op)
        return op->bound;
    unsigned count;
    const struct compiled *kernels = compiled_kernels(&count);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return kernels[i].bound;
    return (struct bound){0};
}

static void print_example(const struct operation *op, unsigned index, uint64_t a, uint64_t b)
{
    printf("    [%u]", index);
    for (unsigned s = 0; op && s < op->source_count; s++)
        printf(" %0*" PRIx64, (int)kind_bits(op->sources[s]) / 4, input_of(op, s, index));
    printf(": %" PRIx64 " and %" PRIx64 "\n", a, b);
}

static bool compare_exact(const struct record *x, const struct result *a, const struct record *y,
                          const struct result *b)
{
    const struct operation *op = find_operation(a->name);
    if (a->checksum == b->checksum)
        return true;
    unsigned differ = 0;
    for (unsigned i = 0; i < a->count; i++)
        differ += element(x, a, i) != element(y, b, i);
    printf("DIFFERS %-40s %u of %u\n", a->name, differ, a->count);
    unsigned shown = 0;
    for (unsigned i = 0; i < a->count && shown < EXAMPLES; i++)
        if (element(x, a, i) != element(y, b, i)) {
            print_example(op, i, element(x, a, i), element(y, b, i));
            shown++;
        }
    return false;
}

static bool compare_within(const struct record *x, const struct result *a, const struct record *y,
                           const struct result *b, struct bound bound)
{
    const struct operation *op = find_operation(a->name);
    double ulps = 0, error = 0, outside = 0;
    unsigned beyond = 0, example = 0;
    for (unsigned i = 0; i < a->count; i++) {
        uint64_t u = element(x, a, i), v = element(y, b, i);
        double distance = ulps_between(a->kind, u, v), apart = difference(a->kind, u, v);
        bool inside = !bound.within || !op ||
                      fabs(value_of(op->sources[0], input_of(op, 0, i))) <= bound.within;
        if (!inside) {
            outside = fmax(outside, apart);
            continue;
        }
        if (distance > bound.ulps && !(apart <= bound.absolute)) {
            example = beyond++ ? example : i;
        }
        ulps = fmax(ulps, distance);
        error = fmax(error, apart);
    }
    printf("%s %-40s max %.4g ulp (bound %.4g), max %.3g apart (bound %.3g)",
           beyond ? "DIFFERS" : "within ", a->name, ulps, bound.ulps, error, bound.absolute);
    printf(outside != 0 ? ", %.3g outside\n" : "\n", outside);
    if (beyond) {
        printf("    %u of %u beyond the bound, the first:\n", beyond, a->count);
        print_example(op, example, element(x, a, example), element(y, b, example));
    }
    return beyond == 0;
}

static const struct result *find_result(const struct record *record, const char *name)
{
    for (unsigned i = 0; i < record->count; i++)
        if (strcmp(record->results[i].name, name) == 0)
            return &record->results[i];
    return NULL;
}

/* ---- all ------------------------------------------------------------------------------------- */

int compare_records(const char *path_a, const char *path_b)
{
    struct record x = {0}, y = {0};
    read_record(path_a, &x);
    read_record(path_b, &y);
    read_raw(path_a, &x);
    read_raw(path_b, &y);
    printf("A: %s, %u operations\nB: %s, %u operations\n", x.device, x.count, y.device, y.count);
    unsigned equal = 0, differ = 0, absent = 0;
    for (unsigned i = 0; i < x.count; i++) {
        const struct result *a = &x.results[i], *b = find_result(&y, a->name);
        if (!b || strcmp(a->outcome, "ok") != 0 || strcmp(b->outcome, "ok") != 0) {
            printf("absent  %-40s %s and %s\n", a->name, a->outcome, b ? b->outcome : "not there");
            absent++;
            continue;
        }
        if (a->kind != b->kind || a->count != b->count)
            fail(path_b, "was made by another version of this program");
        struct bound bound = bound_of(a->name);
        bool same =
            bound.approximate ? compare_within(&x, a, &y, b, bound) : compare_exact(&x, a, &y, b);
        *(same ? &equal : &differ) += 1;
    }
    printf("%u agree, %u differ, %u could not be compared\n", equal, differ, absent);
    return differ != 0;
}

/* The lines of a record that a table lacks. */
static void print_absent(const struct record *table, const struct record *record)
{
    unsigned absent = 0;
    for (unsigned i = 0; i < record->count; i++) {
        const struct result *result = &record->results[i];
        const struct result *there = find_result(table, result->name);
        if (strcmp(result->outcome, "ok") != 0 || (there && strcmp(there->outcome, "ok") == 0))
            continue;
        printf("not recorded %s\n", result->name);
        absent++;
    }
    printf("%u operations are not recorded from %s\n", absent, table->device);
}

int check_record(const char *table, const char *path)
{
    struct record x = {0}, y = {0};
    read_record(table, &x);
    read_record(path, &y);
    unsigned equal = 0, bad = 0;
    for (unsigned i = 0; i < x.count; i++) {
        const struct result *a = &x.results[i], *b = find_result(&y, a->name);
        if (strcmp(a->outcome, "ok") != 0 || bound_of(a->name).approximate)
            continue;
        if (b && strcmp(b->outcome, "ok") == 0 && a->checksum == b->checksum) {
            equal++;
            continue;
        }
        printf("DIFFERS %s%s\n", a->name, b ? "" : ": absent");
        bad++;
    }
    print_absent(&x, &y);
    printf("%u operations give the bits of %s, %u do not\n", equal, x.device, bad);
    return bad != 0 || equal == 0;
}

int check_plain(const char *path)
{
    struct record record = {0};
    read_record(path, &record);
    unsigned count, equal = 0, bad = 0, skipped = 0;
    const struct newest *kernels = newest_kernels(&count);
    for (unsigned i = 0; i < count; i++) {
        const char *name = kernels[i].kernel.name;
        const struct result *a = find_result(&record, name);
        if (!kernels[i].plain)
            continue;
        const struct result *b = find_result(&record, kernels[i].plain);
        if (a && strcmp(a->outcome, "skipped") == 0) {
            skipped++;
        } else if (a && b && strcmp(a->outcome, "ok") == 0 && a->count == b->count &&
                   a->checksum == b->checksum) {
            equal++;
        } else {
            printf("DIFFERS %s from %s\n", name, kernels[i].plain);
            bad++;
        }
    }
    printf("%u kernels give the bits of plain ones, %u do not, %u were skipped\n", equal, bad,
           skipped);
    return bad != 0 || equal + skipped == 0;
}
