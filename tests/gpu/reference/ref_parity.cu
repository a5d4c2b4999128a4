/*
 * ref_parity.cu - every built-in reference on the GPU and on the host: the same answers.
 *
 *   ref_parity REFS.fatbin REFS_WIDE.fatbin [WORD]      only the references whose name holds WORD
 *
 * For each reference, shape and dtype: inputs are drawn, store mode gives the outputs, which are
 * rounded to their dtype one after the other (a later one may depend on what an earlier one holds),
 * and some elements are spoilt. That problem is then judged by each kernel
 * for that dtype, with 32 and with 256 lanes a row, and once by the host. Integers must be equal,
 * but for `wide`, whose criteria are comparisons of rounded figures. The general kernels read
 * rows as dense as can be, the special ones rows padded to 16 bytes; padding is all NaN.
 *
 * The host takes most of the time, so that as many processes as there are cores share the work, a
 * reference in one shape and kind at a time. The counts are those of all; lines that begin with
 * "measured:" show where the time went.
 *
 * Unlike the other programs it is made of this tree's parts (programs.mk).
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <thread>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ref_problem.cuh"
#include "refs/abi/ref_batch.h"

/* A process takes about half a GiB of the GPU's memory, and makes so many complaints at most. */
enum { BLOCKS = 24, COMPLAINTS_MAX = 50, PROCESSES_MAX = 32, UNITS_MAX = 8192 };
enum { SLOWEST = 8, SLOW_S = 5 };

/* The largest sizes of references whose work grows faster than their arrays (suited). */
static const long long COSTLY_LONG = 300, COSTLY_SHORT = 8, COSTLY_N = 12;

/* Each point makes two more problems of one; elements of the largest shape that has them. */
enum { POINTS_SIZE_MAX = 20000 };

static const shape shapes[] = {{1, 1, 1, 1, false, false},
                               {3, 17, 5, 2, true, true},
                               {64, 1021, 24, 2, false, false},
                               {40, 4096, 8, 1, true, false},
                               {300, 64, 40, 3, false, true}};

/* One way to run a reference; `special` kernels need padded rows. */
struct way {
    enum dtype dtype;
    enum ref_variant variant;
    bool wide;
};

static const way ways[] = {{DTYPE_F32, REF_ANY, false},  {DTYPE_F32, REF_F32, false},
                           {DTYPE_BF16, REF_ANY, false}, {DTYPE_BF16, REF_BF16, false},
                           {DTYPE_F16, REF_ANY, false},  {DTYPE_F16, REF_F16, false},
                           {DTYPE_F32, REF_WIDE, true},  {DTYPE_F64, REF_WIDE, true}};

/* What was done for a unit of work, and how long it took: in all, and on the host. */
struct counts {
    uint64_t complaints, compared, checks, faults;
    double all_s, host_s;

    void operator+=(const counts &other)
    {
        complaints += other.complaints;
        compared += other.compared;
        checks += other.checks;
        faults += other.faults;
        all_s += other.all_s;
        host_s += other.host_s;
    }
};

static counts done;

/* Adds the seconds of its own life to a sum. */
class stopwatch
{
    typedef std::chrono::steady_clock clock;
    double &sum;
    clock::time_point start = clock::now();

  public:
    explicit stopwatch(double &sum) : sum(sum)
    {
    }
    ~stopwatch()
    {
        sum += std::chrono::duration<double>(clock::now() - start).count();
    }
};

static void complain(const std::string &where, const char *what, double gpu, double host)
{
    static int said;
    done.complaints++;
    if (++said <= COMPLAINTS_MAX)
        printf("%s: %s %.17g on the GPU, %.17g on the host\n", where.c_str(), what, gpu, host);
}

/* ----------------------------------------------------------------------------- the GPU */

struct gpu {
    CUmodule module, wide;
    struct ref_verdict *answer; /* pinned */
    CUdeviceptr partial, ticket, store;
    size_t store_count;
};

static gpu open_gpu(const char *fatbin, const char *wide)
{
    gpu g = {};
    CUdevice device;
    CUcontext context;
    void *pinned;
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuDevicePrimaryCtxRetain(&context, device));
    TRY(cuCtxSetCurrent(context));
    TRY(cuModuleLoad(&g.module, fatbin));
    TRY(cuModuleLoad(&g.wide, wide));
    TRY(cuMemHostAlloc(&pinned, sizeof *g.answer, CU_MEMHOSTALLOC_DEVICEMAP));
    g.answer = (struct ref_verdict *)pinned;
    g.store_count = 1 << 21;
    TRY(cuMemAlloc(&g.partial, REF_MAX_BLOCKS * sizeof *g.answer));
    TRY(cuMemAlloc(&g.ticket, 4));
    TRY(cuMemAlloc(&g.store, g.store_count * sizeof(double)));
    TRY(cuMemsetD8(g.ticket, 0, 4));
    return g;
}

static struct ref_verdict run_gpu(gpu &g, const problem &p, const way &w, struct ref_call call,
                                  uint32_t group)
{
    CUfunction function;
    CUdeviceptr answer;
    const char *symbol = p.reference->symbol[w.variant];
    CUmodule module = strcmp(symbol, p.reference->symbol[REF_WIDE]) ? g.module : g.wide;
    TRY(cuModuleGetFunction(&function, module, symbol));
    TRY(cuMemHostGetDevicePointer(&answer, g.answer, 0));
    static uint64_t sequence;
    ref_verdict_clear(g.answer);
    call.group = group;
    call.sequence = ++sequence;
    call.partial = (struct ref_verdict *)(uintptr_t)g.partial;
    call.ticket = (uint32_t *)(uintptr_t)g.ticket;
    call.answer = (struct ref_verdict *)(uintptr_t)answer;
    struct ref_batch batch = {};
    ref_batch_alone(&batch, &call, BLOCKS);
    void *params[] = {&batch};
    TRY(cuLaunchKernel(function, BLOCKS, 1, 1, REF_THREADS, 1, 1, 0, NULL, params, NULL));
    TRY(cuCtxSynchronize());
    if (g.answer->sequence != sequence)
        complain(p.name, "sequence", (double)g.answer->sequence, (double)sequence);
    return *g.answer;
}

static struct ref_verdict run_host(const problem &p, struct ref_call call)
{
    struct ref_verdict answer;
    stopwatch watch(done.host_s);
    ref_verdict_clear(&answer);
    call.answer = &answer;
    call.group = 1;
    if (ref_host_run(p.reference->name, &call, p.wide))
        complain(p.name, "unknown to the host", 0, 0);
    return answer;
}

/* -------------------------------------------------------------------------- store mode */

static void aim_store(struct ref_call &call, const array &a, double *store)
{
    call.store = store;
    call.store_count = a.count;
    call.store_tensor = (uint32_t)a.formal->slot;
}

/* Elements that a sample leaves out stay NaN. */
static std::vector<double> store_gpu(gpu &g, const problem &p, const way &w, const array &a,
                                     uint32_t group)
{
    std::vector<double> values((size_t)a.count);
    struct ref_call call = call_of(p, false, w.variant > REF_WIDE);
    if (values.size() > g.store_count) {
        printf("%s: more elements than there is room for\n", p.name.c_str());
        exit(3);
    }
    TRY(cuMemsetD8(g.store, 0xff, values.size() * sizeof(double)));
    aim_store(call, a, (double *)(uintptr_t)g.store);
    run_gpu(g, p, w, call, group);
    TRY(cuMemcpyDtoH(values.data(), g.store, values.size() * sizeof(double)));
    return values;
}

static std::vector<double> store_host(const problem &p, const array &a)
{
    std::vector<double> values((size_t)a.count, NAN);
    struct ref_call call = call_of(p, true, false);
    aim_store(call, a, values.data());
    run_host(p, call);
    return values;
}

/* 1e-9 of the value, or of 0.01: below it lie differences of numbers about 1. */
static bool same_value(double a, double b)
{
    if (std::isnan(a) || std::isnan(b) || std::isinf(a) || std::isinf(b))
        return a == b || (std::isnan(a) && std::isnan(b));
    double size = std::max(std::max(std::fabs(a), std::fabs(b)), 0.01);
    return std::fabs(a - b) <= 1e-9 * size;
}

/* Copies to one place by several indices: each of them is right, and the last one stays. Either the
 * indices are any, or there are more of them than places. */
static bool any_is_right(const problem &p)
{
    for (const char *name : {"scatter", "scatter_each", "index_copy"}) {
        if (strcmp(p.reference->name, name) == 0)
            return true;
    }
    for (const array &a : p.arrays) {
        const struct ref_input *kind = ref_input_find(p.reference->name, a.formal->name);
        if (kind && (kind->kind == NO_TWICE || kind->kind == NO_TWICE_WITH_GAPS) &&
            a.count > size_named(p.size, kind->below))
            return true;
    }
    return false;
}

static void compare_values(const std::string &where, const array &a, const std::vector<double> &gpu,
                           const std::vector<double> &host)
{
    done.compared++;
    for (size_t i = 0; i < host.size(); i++) {
        if (!same_value(gpu[i], host[i])) {
            std::string place = where + " " + a.formal->name + "[" + std::to_string(i) + "]";
            complain(place, "value", gpu[i], host[i]);
            return; /* one of an array is enough */
        }
    }
}

/* ------------------------------------------------------------------------------ faults */

/* The outputs become what a right kernel writes, but for every 97th element or so. */
static void write_outputs(problem &p, const array &out, const std::vector<double> &values)
{
    for (array &a : p.arrays) {
        if (a.formal != out.formal)
            continue;
        for (size_t i = 0; i < values.size(); i++) {
            uint64_t bits = encode(a.dtype, values[i]);
            int fate = (int)(random_value(p.seed + 99, i, 1) * 97 + 97);
            if (fate == 0 || (fate == 1 && !p.size.wild))
                bits = encode(a.dtype, values[i] * 1.5 + 1);
            else if (fate == 1)
                bits = encode(a.dtype, i % 2 ? NAN : INFINITY);
            else if (fate < 6 && std::isfinite(values[i]))
                bits++; /* a neighbour: wrong only where the bound is narrow */
            a.bits[i] = bits;
        }
        publish(a);
    }
}

/* -------------------------------------------------------------------------- comparison */

static bool same_ratio(double a, double b, bool f64)
{
    if (std::isinf(a) || std::isinf(b))
        return a == b;
    /* In f64 the two sides' own rounding is a part of what a bound allows. */
    return std::fabs(a - b) <= 0.01 * std::max(a, b) + (f64 ? 0.5 : 1e-6);
}

static void compare_verdicts(const std::string &where, const problem &p,
                             const struct ref_verdict &gpu, const struct ref_verdict &host)
{
    /* In f64 the planted violations lie as near to the bound as the two sides' own roundings, of
     * which the GPU contracts some. */
    const uint64_t edge = p.dtype == DTYPE_F64 ? (host.violations + 99) / 100 : 0;
    const struct {
        const char *name;
        uint64_t gpu, host, slack;
    } counts[] = {{"checked", gpu.checked, host.checked, 0},
                  {"violations", gpu.violations, host.violations, edge},
                  {"class_mismatch", gpu.class_mismatch, host.class_mismatch, 0},
                  {"wide", gpu.wide, host.wide, (host.checked + 999) / 1000},
                  {"refused", gpu.refused, host.refused, 0},
                  {"first_index", gpu.first_index, host.first_index, 0},
                  {"first_tensor", gpu.first_tensor, host.first_tensor, 0}};
    done.compared++;
    for (const auto &c : counts) {
        uint64_t distance = c.gpu > c.host ? c.gpu - c.host : c.host - c.gpu;
        if (distance > c.slack)
            complain(where, c.name, (double)c.gpu, (double)c.host);
    }
    if (!same_ratio(gpu.max_ratio, host.max_ratio, p.dtype == DTYPE_F64))
        complain(where, "max_ratio", gpu.max_ratio, host.max_ratio);
}

/* One problem by every kernel for its dtype and width. */
static void run_problem(gpu &g, problem &p)
{
    std::vector<std::vector<double>> host_values;
    for (size_t i = 0; i < p.arrays.size(); i++)
        if (is_output(p.arrays[i]) && p.arrays[i].given)
            write_outputs(
                p, p.arrays[i],
                store_gpu(g, p, {p.dtype, p.wide ? REF_WIDE : REF_ANY, p.wide}, p.arrays[i], 32));
    for (const array &a : p.arrays)
        host_values.push_back(is_output(a) && a.given ? store_host(p, a) : std::vector<double>());
    struct ref_verdict host = run_host(p, call_of(p, true, false));
    done.checks += host.checked;
    done.faults += host.violations;
    for (const way &w : ways) {
        if (w.dtype != p.dtype || w.wide != p.wide || !p.reference->symbol[w.variant] ||
            (p.point && w.variant > REF_WIDE))
            continue;
        for (uint32_t group : {32u, (uint32_t)REF_THREADS}) {
            static const char *const variants[REF_VARIANTS] = {"any", "wide", "bf16", "f16", "f32"};
            std::string where =
                p.name + " by " + variants[w.variant] + ", group " + std::to_string(group);
            if (host.refused) { /* no verdict: which elements a thread gave up at does not matter */
                struct ref_verdict gpu =
                    run_gpu(g, p, w, call_of(p, false, w.variant > REF_WIDE), group);
                if (!gpu.refused)
                    complain(where, "refused", 0, (double)host.refused);
                continue;
            }
            for (size_t i = 0; i < p.arrays.size(); i++)
                if (!host_values[i].empty() && !any_is_right(p))
                    compare_values(where, p.arrays[i], store_gpu(g, p, w, p.arrays[i], group),
                                   host_values[i]);
            struct ref_call call = call_of(p, false, w.variant > REF_WIDE);
            compare_verdicts(where, p, run_gpu(g, p, w, call, group), host);
        }
    }
}

/* Whether its work is a product of more sizes than there are elements: the host would take most of
 * the time for these few. */
static bool is_costly(const char *name)
{
    static const char *const words[] = {"attention",
                                        "scatter",
                                        "index_",
                                        "topk",
                                        "embedding_backward",
                                        "embedding_positions_backward",
                                        "embedding_rmsnorm_backward"};
    return std::any_of(std::begin(words), std::end(words),
                       [name](const char *word) { return strstr(name, word) != NULL; });
}

/* Columns that block formats are read along come in whole blocks of any of them. Costly references
 * get fewer elements; of rows and columns the more numerous stay more than a group has lanes. */
static shape suited(const struct ref_builtin &reference, shape size)
{
    if (strstr(reference.name, "_blocks"))
        size.cols = (size.cols + 255) / 256 * 256;
    if (is_costly(reference.name)) {
        size.rows = std::min(size.rows, COSTLY_LONG);
        size.cols = std::min(size.cols, COSTLY_LONG);
        size.n = std::min(size.n, COSTLY_N);
        long long &shorter = size.rows < size.cols ? size.rows : size.cols;
        shorter = std::min(shorter, COSTLY_SHORT);
    }
    return size;
}

/* Dtypes and widths of bounds that a reference is run in. */
struct kind {
    const char *name;
    enum dtype dtype;
    bool wide;
};

static const kind kinds[] = {{"f32", DTYPE_F32, false},
                             {"bf16", DTYPE_BF16, false},
                             {"f16", DTYPE_F16, false},
                             {"f32 wide", DTYPE_F32, true},
                             {"f64", DTYPE_F64, true}};

/* What a process takes at a time: a reference in one shape and one kind. */
struct unit {
    const struct ref_builtin *reference;
    const shape *size;
    const struct kind *kind;
};

static std::string name_of(const unit &u, const shape &size)
{
    return std::string(u.reference->name) + " " + u.kind->name + " " + std::to_string(size.rows) +
           "x" + std::to_string(size.cols);
}

static void run_unit(gpu &g, const unit &u)
{
    uint64_t seed = 1 + (uint64_t)(u.size - shapes) * std::size(kinds) + (uint64_t)(u.kind - kinds);
    problem p = {};
    struct error err = {};
    p.reference = u.reference;
    if (formals_parse(&p.formals, u.reference->formals, &err)) {
        printf("%s: %s\n", u.reference->name, err.text);
        exit(3);
    }
    p.size = suited(*u.reference, *u.size);
    p.dtype = u.kind->dtype;
    p.wide = u.kind->wide;
    p.name = name_of(u, p.size);
    p.turn = (unsigned)seed;
    p.seed = 1000 * seed;
    make_arrays(p);
    run_problem(g, p);
    bool small = p.size.rows * p.size.cols <= POINTS_SIZE_MAX;
    for (int point : {(int)DTYPE_BF16, DTYPE_F16 | (int)REF_POINT_MAY}) {
        p.point = point;
        if (p.formals.points && small)
            run_problem(g, p);
    }
    drop_arrays(p);
}

/* ----------------------------------------------------------------------- the processes */

/* What parent and children see in common. */
struct common {
    std::atomic<size_t> next; /* first unit that is not taken */
    counts of[UNITS_MAX];
};

/* Whether it is nothing but what the wide kind runs too: one kernel stands for both. */
static bool said_twice(const unit &u)
{
    return u.kind->dtype == DTYPE_F32 && !u.kind->wide &&
           !strcmp(u.reference->symbol[REF_ANY], u.reference->symbol[REF_WIDE]);
}

/* The large shapes first, so that all processes end at about the same time. */
static std::vector<unit> units_of(const char *word)
{
    std::vector<unit> units;
    for (size_t i = 0; i < ref_builtin_count; i++)
        for (const shape &size : shapes)
            for (const struct kind &kind : kinds)
                if (strstr(ref_builtins[i].name, word))
                    units.push_back({&ref_builtins[i], &size, &kind});
    units.erase(std::remove_if(units.begin(), units.end(), said_twice), units.end());
    if (units.size() > UNITS_MAX) {
        printf("%zu references, shapes and kinds, room for %d\n", units.size(), UNITS_MAX);
        exit(3);
    }
    std::stable_sort(units.begin(), units.end(), [](const unit &a, const unit &b) {
        return a.size->rows * a.size->cols > b.size->rows * b.size->cols;
    });
    return units;
}

/* A child: takes units until there are none. One that is slow prints so at once, for it may be what
 * never ends. */
static void work(common *common, const std::vector<unit> &units, char **files)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    gpu g = open_gpu(files[0], files[1]);
    for (size_t i; (i = common->next++) < units.size();) {
        const unit &u = units[i];
        done = {};
        {
            stopwatch watch(done.all_s);
            run_unit(g, u);
        }
        if (done.all_s > SLOW_S)
            printf("measured: %s took %.1f s\n", name_of(u, *u.size).c_str(), done.all_s);
        common->of[i] = done;
    }
    exit(0);
}

/* Forks before anything of CUDA, which does not outlive a fork. False where a process did not end
 * well, and so has not counted. */
static bool share(common *common, const std::vector<unit> &units, char **files)
{
    size_t count = std::min<size_t>(std::max(std::thread::hardware_concurrency(), 1u),
                                    std::min<size_t>(units.size(), PROCESSES_MAX));
    pid_t child[PROCESSES_MAX];
    bool well = true;
    for (size_t i = 0; i < count; i++)
        if ((child[i] = fork()) == 0)
            work(common, units, files);
    for (size_t i = 0; i < count; i++) {
        int status = 0;
        if (child[i] > 0 && waitpid(child[i], &status, 0) == child[i] && status == 0)
            continue;
        printf("process %zu of %zu: %s %d\n", i, count,
               child[i] < 0          ? "no fork, status"
               : WIFSIGNALED(status) ? "ended by signal"
                                     : "ended with",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        well = false;
    }
    return well;
}

/* Where the time went, all shapes of a reference together. */
static void print_slowest(const common *common, const std::vector<unit> &units, const counts &all)
{
    std::map<std::string, counts> by_name;
    for (size_t i = 0; i < units.size(); i++)
        by_name[units[i].reference->name] += common->of[i];
    std::vector<std::pair<std::string, counts>> rows(by_name.begin(), by_name.end());
    std::sort(rows.begin(), rows.end(),
              [](const auto &a, const auto &b) { return a.second.all_s > b.second.all_s; });
    printf("measured: %.1f s of all processes, %.1f s of them on the host\n", all.all_s,
           all.host_s);
    for (size_t i = 0; i < rows.size() && i < SLOWEST; i++)
        printf("measured: %-28s %6.1f s, %6.1f s of them on the host\n", rows[i].first.c_str(),
               rows[i].second.all_s, rows[i].second.host_s);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        printf("usage: ref_parity REFS.fatbin REFS_WIDE.fatbin [WORD]\n");
        return 2;
    }
    void *memory =
        mmap(NULL, sizeof(common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        return 3;
    }
    common *common = new (memory) struct common();
    std::vector<unit> units = units_of(argc > 3 ? argv[3] : "");
    if (!share(common, units, argv + 1))
        return 3;
    counts all = {};
    for (size_t i = 0; i < units.size(); i++)
        all += common->of[i];
    print_slowest(common, units, all);
    printf("%llu comparisons over %llu elements with %llu violations: %llu disagreements\n",
           (unsigned long long)all.compared, (unsigned long long)all.checks,
           (unsigned long long)all.faults, (unsigned long long)all.complaints);
    return all.complaints || !all.faults ? 1 : 0;
}
