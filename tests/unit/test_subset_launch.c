/*
 * test_subset_launch.c - launches of many layouts, checked on some of their items, on a fake
 * driver.
 *
 * A perfect kernel is the reference itself, run over the whole launch in the program's memory.
 * Checked on a subset it must match; one wrong element must be found if its item is in the subset,
 * under the name that it has in the launch, and not otherwise; and what a bundle would store must
 * be what lay in the program's memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "pipeline_fixture.h"
#include "report/place.h"
#include "verify/dtype.h"

/* Parameters are pointers alone. `before`: how far from its allocation's start an array begins. */
static const struct layout {
    const char *entry;
    int pointers;
    bool in_place; /* the last pointer is the first */
    int before;    /* bytes */
} layouts[] = {
    {"const f32 a[512:80][64], const f32 b[512:96][64], f32 y[512:72][64], reference: "
     "add",
     3, false, 0},
    {"const f32 a[70001], const f32 b[70001], f32 y[70001], reference: add", 3, false, 0},
    {"const bf16 a[70001], const bf16 b[70001], bf16 y[70001], reference: add", 3, false, 6},
    {"const f32 a[512:66][64], const f32 b[512][64], f32 y[512:66][64], reference: add", 3, true,
     4},
    {"const f32 a[512][64], const f32 b[512:0][64], f32 y[512][64], reference: add", 3, false, 0},
    {"const f32 a[16][4][8][32], const f32 b[512][32], f32 y[16][4][8][32], reference: "
     "add",
     3, false, 0},
    {"const f32 a[16:32 * 33][32:33][32], const f32 b[512][32], f32 y[512][32], reference: "
     "add",
     3, false, 0},
    {"const f32 a[512:1][96:512], const f32 b[512][96], f32 y[512:1][96:512], "
     "reference: add",
     3, false, 0},
    {"const float4 x[9000], f32 y[36000], reference: gelu", 2, false, 0},
    {"const f32 x[20480], acc f32 y[20480], reference: scale, bind: {alpha: 2}", 2, false, 0},
    {"const f32 x[3][30001], acc f32 y[3][30001], reference: scale, bind: {alpha: 2}", 2, false, 8},
    {"const bf16 x[900:111][101], const bf16 w[101], bf16 y[900][101], f32 rstd[900], "
     "reference: rmsnorm, bind: {eps: 1e-5}",
     4, false, 4},
    {"const f32 x[900][96], const f32 w[96], f32 y[900][96], f32 rstd[900:3], "
     "reference: rmsnorm, bind: {eps: 1e-5}",
     4, true, 0},
    {"const f32 x[4][2][9999], f32 y[4][9999], reference: silu_and_mul", 2, false, 0},
    {"const f32 x[2][3][333][33], const f32 mask[2:333 * 33][3:0][333][33], f32 "
     "y[2][3][333][33], reference: softmax_masked",
     3, false, 0},
    {"const f32 x[60][30][31], f32 y[60][30][31], reference: softmax_causal", 2, false, 0},
    {"const f32 x[1000][32], const f32 w[8][32], const f32 bias[8], f32 y[1000][8], "
     "reference: linear",
     4, false, 0},
    {"const f32 x[8][32], const f32 w[1000][32], const f32 bias[1000], f32 "
     "y[8][1000], reference: linear",
     4, false, 0},
    {"const f32 a[60][1000], const f32 b[60][8], f32 c[1000][8], reference: "
     "matmul_tn, bind: {alpha: 1}",
     3, false, 0},
    {"const f32 a[100][8][9], const f32 b[100][9][7], f32 c[100][8][7], reference: "
     "bmm, bind: {alpha: 1}",
     3, false, 0},
    {"const f32 a[2][1024][9], const f32 b[2][9][4], f32 c[2][1024][4], reference: "
     "bmm, bind: {alpha: 1}",
     3, false, 0},
    {"const f32 a[2048][8], const f32 b[8][4], inout f32 c[2048:5][4], reference: "
     "gemm, bind: {beta: 1, alpha: 1}",
     3, false, 0},
    {"const f32 a[24:4100][4096], const f32 x[24], f32 y[4096], reference: gemv_t, "
     "bind: {n: 24}",
     3, false, 0},
    {"const f32 x[64][3001], f32 y[3001], reference: col_sum", 2, false, 0},
    {"const i64 ids[4000], const f32 table[10][8], f32 y[4000][8], reference: "
     "embedding",
     3, false, 0},
    {"const i64 ids[4][50], const f32 table[10][640], const f32 positions[50][640], "
     "f32 y[4][50][640], reference: embedding_positions",
     4, false, 0},
    {"const i32 ids[40], const f32 dy[40][5000], f32 dtable[10][5000], reference: "
     "embedding_backward, bind: {scale: 1}",
     3, false, 0},
    {"const f32 x[60][40][2][16], const f32 cos[60][16], const f32 sin[60][16], f32 "
     "y[60][40][2][16], reference: rope_halves, bind: {direction: 1}",
     4, false, 0},
    {"const f32 x[8][2][4][500], const f32 w[2][4], const f32 b[2][4], f32 "
     "y[8][2][4][500], reference: groupnorm, bind: {eps: 1e-5}",
     4, false, 0},
    {"const f32 q[20][24][8], const f32 k[20][8][8], const f32 v[20][8][8], "
     "f32 y[20][24][8], f32 lse[24][20], reference: attention, bind: {scale: 1, right: 0}",
     5, false, 0},
    {"const bf16 q[1][20:8][16:160][8], const bf16 k[1][20:8][8:160][8], "
     "const bf16 v[1][20:8][8:160][8], bf16 y[1][20:8][16:160][8], "
     "const f32 bias[1:0][16:1][20:0][20:0], f32 lse[1][16:1][20:16], "
     "reference: attention, bind: {scale: 1}",
     6, false, 4},
    {"const f32 q[20:200][8:12][8], const f32 k[20:200][8:12][8], const f32 v[20:200][8:12][8], "
     "f32 y[20:200][8:9][8], reference: attention, bind: {scale: 1}",
     4, false, 8},
    {"const f32 q[24][16][8], const f32 k[24][8][8], const f32 v[24][8][8], f32 y[24][16][8], "
     "const i32 starts[3], const i32 key_starts[3], f32 lse[16][24], "
     "reference: attention_varlen, bind: {scale: 1}",
     7, false, 0},
    {"const f32 q[24][16][8], const f32 k[24][8][8], const f32 v[24][8][8], "
     "const f32 dy[24][16][8], const i32 starts[3], const i32 key_starts[3], "
     "const f32 lse[16][24], const f32 delta[16][24], f32 dq[24][16][8], f32 dk[24][8][8], "
     "f32 dv[24][8][8], reference: attention_varlen_backward, bind: {scale: 1}",
     11, false, 0},
    {"const f32 q[1][10][16][8], const f32 k[1][12][8][8], const f32 v[1][12][8][8], "
     "const f32 dy[1][10][16][8], const f32 lse[1][16][10], const f32 y[1][10][16][8], "
     "const f32 bias[1][16][10][12], f32 dbias[1][16][10][12], f32 dq[1][10][16][8], "
     "f32 dk[1][12][8][8], f32 dv[1][12][8][8], reference: attention_backward, bind: {scale: 1}",
     11, false, 0},
    {"const f32 q[2][3][16][8], const f32 k[60][4][8][8], const f32 v[60][4][8][8], "
     "const i32 table[2][9], const i32 lengths[2], f32 y[2][3][16][8], "
     "reference: attention_paged, bind: {scale: 1}",
     6, false, 0},
    {"const q4_K w[300][512], f32 y[300][512], reference: dequantise_blocks", 2, false, 0},
    {"const q8_0 w[300:17][512], f32 y[300][512], reference: dequantise_blocks", 2, false, 0},
    {"const f32 x[2][512], const q8_0 w[300][512], f32 y[2][300], reference: linear_blocks", 3,
     false, 0},
    {"const q8_1 x[300][512], const q8_0 w[8][512], f32 y[300][8], reference: linear_blocks", 3,
     false, 0},
    {"const i8 q[300][128], const f32 scale[300][4], f32 y[300][128], reference: dequantise", 3,
     false, 0},
    {"const i8 q[4][9600], const f32 scale[4][9600], const f32 zero[4][9600], f32 y[4][9600], "
     "reference: dequantise",
     4, false, 0},
    {"const f32 x[300][128], const f32 scale[1], i8 q[300][128], "
     "reference: quantise",
     3, false, 0},
    {"const i8 x[400][128], const i8 w[8][128], const f32 x_scale[400], const f32 w_scale[1], "
     "f32 y[400][8], reference: linear_int8",
     5, false, 0},
    {"const f8e4m3 x[4][128], const f8e4m3 w[900][128], const f32 x_scale[4][4], "
     "const f32 w_scale[900][4], f32 y[4][900], reference: linear_f8",
     5, false, 0},
    {"inout f32 p[30000], const f32 g[30000], inout f32 m[30000], inout f32 v[30000], "
     "reference: adamw, bind: {lr: 1, beta1: 1, beta2: 1, eps: 1, decay: 0, c1: 1, c2: 1}",
     4, false, 0},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts, AIM = 32 << 10, AIM_OF_HEADS = 8 << 10 };

/* What one check said. */
struct said {
    int checks, subsets, matches, mismatches, stored;
    struct subset subset;
    char dim[32], first[64];
};

struct world {
    struct pipeline_fixture fixture;
    struct ticket ticket;
    struct said said;
    const char *entry;
    bool may_skip;
    char sentence[500];
};

static void on_skipped(void *user, const struct kernel_spec *spec, enum skip skip)
{
    struct world *world = user;
    (void)spec;
    if (skip == SKIP_TOO_LARGE && world->may_skip)
        return;
    fprintf(stderr, "%s: a launch is skipped: %s\n", world->entry, skip_text(skip));
    abort(); /* on the collector's thread, which cmocka cannot leave */
}

/* What the source reads back of an array is what lies in the program's memory. */
static void compare_stored(struct said *said, const struct binding *binding, int index,
                           const struct bundle_source *source)
{
    const struct bound_array *a = &binding->array[index];
    int64_t element = (int64_t)dtype_bytes(a->dtype), count = 1;
    uint8_t bytes[8];
    for (int d = 0; d < a->ndim; d++)
        count *= binding_seen(binding, index, d);
    for (int64_t i = 0; i < count; i += 1 + count / 100) {
        int64_t rest = i, at = 0;
        for (int d = a->ndim - 1; d >= 0; d--) {
            int64_t dim = binding_seen(binding, index, d), place = rest % dim;
            rest /= dim;
            if (dim != a->dim[d])
                place = subset_item(&binding->subset, place);
            at += place * a->stride[d];
        }
        assert_int_equal(source->read_array(source->user, index, role_writes(a->role),
                                            (uint64_t)(i * element), bytes, (size_t)element),
                         STATUS_OK);
        if (memcmp(bytes, (char *)(uintptr_t)a->address + at * element, (size_t)element) != 0)
            fail_msg("%s[%lld] was stored wrong", a->name, (long long)i);
        said->stored++;
    }
}

static void on_judged(void *user, const struct check_report *report,
                      const struct bundle_source *source)
{
    struct said *said = &((struct world *)user)->said;
    const struct binding *binding = report->binding;
    struct place place;
    said->checks++;
    said->subsets += binding->subset.dim != NULL;
    said->subset = binding->subset;
    snprintf(said->dim, sizeof said->dim, "%s", binding->subset.dim ? binding->subset.dim : "");
    said->matches += report->verdict == VERDICT_MATCH;
    said->mismatches += report->verdict == VERDICT_MISMATCH;
    said->first[0] = '\0';
    if (place_of(binding, report->numbers.first_tensor, report->numbers.first_index, &place))
        place_text(&place, said->first, sizeof said->first);
    for (int i = 0; i < binding->arrays; i++) /* in place: an input is no longer there */
        if (source->has_array(source->user, i, 1) ||
            (binding->array[i].role == ROLE_READ &&
             !((struct world *)user)->ticket.plan.has_before))
            compare_stored(said, binding, i, source);
}

static void on_warned(void *user, const char *symbol, enum skip skip, const char *sentence)
{
    (void)symbol, (void)skip;
    snprintf(((struct world *)user)->sentence, sizeof((struct world *)user)->sentence, "%s",
             sentence);
}

static void on_failed(void *user, const struct launch *launch, const char *error_name)
{
    (void)user, (void)launch;
    fail_msg("%s", error_name);
}

static struct world *world_new(const struct layout *layout, struct gate_settings gate)
{
    struct world *world = calloc(1, sizeof(*world));
    char text[800];
    const char *reference = strstr(layout->entry, ", reference");
    const char *signature = layout->entry;
    snprintf(text, sizeof text, "version: 1\nkernels:\n- {kernel: k, signature: \"%.*s\"%s}\n",
             (int)(reference - signature), signature, reference);
    world->entry = layout->entry;
    world->fixture = (struct pipeline_fixture){
        .registry = text,
        .params = {{(unsigned)layout->pointers, 0}},
        .skipped = on_skipped,
        .judged = on_judged,
        .warned = on_warned,
        .failed = on_failed,
        .gate = gate,
        .detector = OUTLIER_OFF,
        .side = {.memory = 1 << 20, .queue = 4},
        .subset = strstr(layout->entry, "reference: attention") ? AIM_OF_HEADS : AIM,
    };
    pipeline_fixture_open(&world->fixture);
    return world;
}

static void world_end(struct world *world)
{
    pipeline_fixture_settle(&world->fixture);
    pipeline_fixture_end(&world->fixture);
}

/* ---- the program ---- */

enum { ARRAY_BYTES = 1 << 20, POINTERS = 12 };

struct program {
    const struct layout *layout;
    void *pointer[POINTERS];
    struct launch launch;
    void *params[POINTERS];
};

static void encode(enum dtype dtype, void *at, double value)
{
    float f = (float)value;
    int64_t integer = llrint(value);
    uint32_t word;
    memcpy(&word, &f, 4);
    switch ((int)dtype) {
    case DTYPE_F32:
        memcpy(at, &f, 4);
        break;
    case DTYPE_BF16: /* to nearest even */
        word = (word + 0x7fff + (word >> 16 & 1)) >> 16;
        memcpy(at, &word, 2);
        break;
    default:
        memcpy(at, &integer, dtype_bytes(dtype));
    }
}

static void program_init(struct program *p, const struct layout *layout)
{
    *p = (struct program){.layout = layout};
    for (int i = 0; i < layout->pointers; i++) {
        p->pointer[i] = (char *)fake_alloc(ARRAY_BYTES) + layout->before;
        p->params[i] = &p->pointer[i];
    }
    if (layout->in_place)
        p->pointer[2] = p->pointer[0];
    p->launch = pipeline_fixture_launch("k", 1, p->params);
}

/* Offset of element `i` of the tensor's dims, in elements; its indices into `index`. */
static int64_t offset_of(const struct ref_tensor *t, int64_t i, int64_t *index)
{
    int64_t at = 0;
    for (int d = t->ndim - 1; d >= 0; d--) {
        index[d] = i % t->dim[d];
        at += index[d] * t->stride[d];
        i /= t->dim[d];
    }
    return at;
}

static int64_t count_of(const struct ref_tensor *t)
{
    int64_t count = 1;
    for (int d = 0; d < t->ndim; d++)
        count *= t->dim[d];
    return count;
}

/* The launch as the signature says, over the program's own memory. */
static void bind_whole(const struct world *world, struct program *p, struct binding *out)
{
    struct error why = {{0}};
    struct known_kernel *kernel = kernels_find(world->fixture.pipeline.kernels, &p->launch);
    if (binding_make(kernel->spec, &p->launch, out, &why))
        fail_msg("%s", why.text);
    for (int i = 0; i < out->tensors; i++) {
        if (out->tensor_array[i] < 0)
            continue;
        const struct bound_array *a = &out->array[out->tensor_array[i]];
        struct ref_tensor *t = &out->call.tensor[i];
        t->bytes = (int64_t)a->bytes;
        assert_true(a->bytes + 64 <= ARRAY_BYTES);
        if (a->role != ROLE_WRITE)
            t->in = (void *)(uintptr_t)a->address;
        if (role_writes(a->role))
            t->got = (void *)(uintptr_t)a->address;
    }
}

/* Numbers of small scales and small codes, whatever the format. */
static void draw_bytes(const struct bound_array *array)
{
    for (uint64_t i = 0; i < array->bytes; i++)
        ((uint8_t *)(uintptr_t)array->address)[i] = (uint8_t)(i * 31 % 10);
}

/* An index, by the name of its array. */
static double draw_index(const char *name, int64_t k)
{
    if (strstr(name, "starts"))
        return k == 0 ? 0 : k == 1 ? 9 : 24; /* of two sequences */
    return strcmp(name, "lengths") == 0 ? (double)(20 + k * 9) : (double)(k * 31 % 10);
}

static void draw_inputs(const struct binding *b)
{
    for (int i = 0; i < b->tensors; i++) {
        const struct ref_tensor *t = &b->call.tensor[i];
        const struct bound_array *array =
            &b->array[b->tensor_array[i] < 0 ? 0 : b->tensor_array[i]];
        int64_t index[REF_MAX_DIMS];
        bool bytes = t->in && (array->blocks != DTYPE_NONE || t->dtype == DTYPE_F8E4M3);
        if (bytes)
            draw_bytes(array);
        for (int64_t k = 0; t->in && !bytes && k < count_of(t); k++) {
            double value = (double)((k * 7919 + i * 104729) % 1999) / 1000 - 1;
            if (t->dtype == DTYPE_I64 || t->dtype == DTYPE_I32)
                value = draw_index(array->name, k);
            else if (t->dtype == DTYPE_I8)
                value = value * 100;
            else if (i == b->tensors - 1)
                value = 0.5 + value * value; /* adamw's v is positive */
            encode(t->dtype,
                   (char *)t->in + offset_of(t, k, index) * (int64_t)dtype_bytes(t->dtype), value);
        }
    }
}

/* What a perfect kernel computes: all outputs first, then all are written. */
static void run(const struct world *world, struct program *p)
{
    static struct binding b;
    double *value[REF_MAX_TENSORS] = {0};
    const char *name =
        kernels_find(world->fixture.pipeline.kernels, &p->launch)->spec->reference->name;
    int64_t index[REF_MAX_DIMS];
    bind_whole(world, p, &b);
    draw_inputs(&b);
    for (int i = 0; i < b.tensors; i++) {
        const struct ref_tensor *t = &b.call.tensor[i];
        if (!t->got)
            continue;
        struct ref_verdict answer;
        struct ref_call call = b.call;
        value[i] = calloc((size_t)count_of(t), sizeof(double));
        call.store = value[i];
        call.store_tensor = t->id;
        call.store_count = count_of(t);
        call.answer = &answer;
        call.group = 1;
        assert_int_equal(ref_host_run(name, &call, 1), 0);
    }
    for (int i = 0; i < b.tensors; i++) {
        const struct ref_tensor *t = &b.call.tensor[i];
        for (int64_t k = 0; value[i] && k < count_of(t); k++) {
            char *at = (char *)t->got + offset_of(t, k, index) * (int64_t)dtype_bytes(t->dtype);
            encode(t->dtype, at, value[i][k]);
        }
        free(value[i]);
    }
}

/* Spoils element `k` of an output, one after the other, and says what it is called; its index along
 * the dim `axis`, in items. */
static int64_t spoil(const struct world *world, struct program *p, int64_t k, char *name,
                     size_t size)
{
    static struct binding b;
    int64_t index[REF_MAX_DIMS];
    int i = -1, outputs = 0;
    bind_whole(world, p, &b);
    for (int j = 0; j < b.tensors; j++)
        outputs += b.call.tensor[j].got != NULL;
    for (int64_t left = (k % outputs + outputs) % outputs; left >= 0;
         left -= b.call.tensor[i].got != NULL)
        i++;
    const struct ref_tensor *t = &b.call.tensor[i];
    k = (k % count_of(t) + count_of(t)) % count_of(t);
    char *at = (char *)t->got + offset_of(t, k, index) * (int64_t)dtype_bytes(t->dtype);
    encode(t->dtype, at, dtype_load((enum dtype)t->dtype, at) * 2 + 10);
    size_t used = (size_t)snprintf(name, size, "%s", b.array[b.tensor_array[i]].name);
    for (int d = 0; d < t->ndim; d++)
        used += (size_t)snprintf(name + used, size - used, "[%lld]", (long long)index[d]);
    const struct subset *subset = &world->ticket.binding.subset;
    int64_t share = subset->linked[i] ? subset->share : 1;
    return subset->dim ? index[subset->axis[i]] / share : -1;
}

static void launch(struct world *world, struct program *p, int64_t wrong, char *name, int64_t *item)
{
    name[0] = '\0';
    pipeline_enter(&world->fixture.pipeline, &p->launch, &world->ticket);
    if (world->sentence[0] && !world->may_skip)
        fail_msg("%s", world->sentence);
    run(world, p);
    if (item)
        *item = spoil(world, p, wrong, name, 64);
    pipeline_exit(&world->fixture.pipeline, &p->launch, &world->ticket, CUDA_SUCCESS);
    pipeline_fixture_settle(&world->fixture);
}

static bool sees(const struct subset *s, int64_t item)
{
    for (int64_t i = 0; i < s->count; i++) {
        if (subset_item(s, i) == item)
            return true;
    }
    return false;
}

/* ---- tests ---- */

static const struct gate_settings always = {1, 0, 0, 0};

/* `before` inputs have to be there when the copy before the launch is taken. */
static void prepare(const struct world *world, struct program *p)
{
    static struct binding b;
    bind_whole(world, p, &b);
    draw_inputs(&b);
}

static void check_layout(const struct layout *layout)
{
    struct world *world = world_new(layout, always);
    struct program p;
    program_init(&p, layout);
    char name[64];
    int64_t item = 0;
    int found = 0, passed = 0;
    for (int i = 0; i < 2; i++) {
        prepare(world, &p);
        launch(world, &p, 0, name, NULL);
    }
    if (world->said.subsets != 2 || world->said.matches != 2)
        fail_msg("%s: %d subsets, %d match, of %d; first %s", layout->entry, world->said.subsets,
                 world->said.matches, world->said.checks, world->said.first);
    int tries = world->said.subset.select.blocks < 3 ? 30 : 8;
    for (int64_t i = 0; i < tries; i++) {
        int64_t at = i == 0 ? 0 : i == 1 ? -1 : i * 1234577;
        world->said = (struct said){0};
        prepare(world, &p);
        launch(world, &p, at, name, &item);
        bool seen = sees(&world->said.subset, item);
        found += seen;
        passed += !seen;
        if (world->said.mismatches != seen || world->said.matches == seen ||
            (seen && strcmp(name, world->said.first) != 0) || (i < 2 && !seen && tries == 8))
            fail_msg("%s along %s: %s is %s: %d mismatches, first %s", layout->entry,
                     world->said.dim, name, seen ? "seen" : "not seen", world->said.mismatches,
                     world->said.first);
    }
    if (!found || !passed || world->said.stored < 50)
        fail_msg("%s along %s: %d found, %d passed, %d stored", layout->entry, world->said.dim,
                 found, passed, world->said.stored);
    world_end(world);
}

static void all_layouts(void **state)
{
    (void)state;
    for (int i = 0; i < LAYOUTS; i++)
        check_layout(&layouts[i]);
}

/* ---- which launches are cut, and how far ---- */

/* Launches `count` times; the bytes of the last one's snapshot. */
static uint64_t launch_add(struct world *world, const struct layout *layout, int count)
{
    struct program p;
    char name[64];
    program_init(&p, layout);
    for (int i = 0; i < count; i++)
        launch(world, &p, 0, name, NULL);
    return world->ticket.plan.bytes;
}

static const struct layout small = {
    "const f32 a[10000], const f32 b[10000], f32 y[10000], reference: add", 3, false, 0};
static const struct layout large = {
    "const f32 a[70000], const f32 b[70000], f32 y[70000], reference: add", 3, false, 0};
static const struct layout larger_than_the_arena = {
    "const f32 a[200000], const f32 b[200000], f32 y[200000], reference: add", 3, false, 0};

static const struct gate_settings first = {0, 100, 0, 0};

static void first_launches_are_whole_where_they_fit(void **state)
{
    (void)state;
    struct world *world = world_new(&small, first);
    assert_in_range(launch_add(world, &small, 1), 120000, 121000);
    assert_int_equal(world->said.matches, 1);
    assert_int_equal(world->said.subsets, 0);
    world_end(world);
    world = world_new(&large, first); /* over a quarter of the arena */
    assert_in_range(launch_add(world, &large, 1), 240000, 263000);
    assert_int_equal(world->said.matches, 1);
    assert_int_equal(world->said.subsets, 1);
    world_end(world);
}

static void sampled_launches_are_cut_to_the_limit(void **state)
{
    (void)state;
    struct world *world = world_new(&small, always);
    assert_in_range(launch_add(world, &small, 1), 30000, 34000);
    assert_int_equal(world->said.subsets, 1);
    world->fixture.pipeline.subset = 8 << 10;
    assert_in_range(launch_add(world, &small, 1), 7000, 9000);
    world->fixture.pipeline.subset = 0;
    assert_in_range(launch_add(world, &small, 1), 120000, 121000);
    world->fixture.pipeline.subset = 200000;
    assert_in_range(launch_add(world, &small, 1), 120000, 121000);
    assert_int_equal(world->said.subsets, 2);
    assert_int_equal(world->said.matches, 4);
    world_end(world);
}

static void an_entry_has_the_last_word(void **state)
{
    (void)state;
    struct layout own = small;
    own.entry = "const f32 a[10000], const f32 b[10000], f32 y[10000], reference: add, subset: off";
    struct world *world = world_new(&own, always);
    assert_in_range(launch_add(world, &own, 1), 120000, 121000);
    world_end(world);
    own.entry = "const f32 a[10000], const f32 b[10000], f32 y[10000], reference: add, subset: 8K";
    world = world_new(&own, always);
    assert_in_range(launch_add(world, &own, 1), 7000, 9000);
    world_end(world);
}

static void what_no_arena_holds_is_cut_all_the_same(void **state)
{
    (void)state;
    struct world *world = world_new(&larger_than_the_arena, first);
    assert_in_range(launch_add(world, &larger_than_the_arena, 1), 240000, 263000);
    assert_int_equal(world->said.matches, 1);
    world->fixture.pipeline.subset = 0;
    world->may_skip = true;
    launch_add(world, &larger_than_the_arena, 2);
    assert_int_equal(world->fixture.skip[SKIP_TOO_LARGE], 2);
    assert_non_null(strstr(world->sentence, "does not fit CUVET_MEMORY"));
    world_end(world);
    world = world_new(&larger_than_the_arena, always);
    world->fixture.pipeline.subset = 64 << 20; /* of which the arena's part counts */
    assert_in_range(launch_add(world, &larger_than_the_arena, 1), 240000, 263000);
    assert_int_equal(world->said.matches, 1);
    world_end(world);
}

/* The same seed sees the same items again, and each launch others. */
static void runs_repeat_and_launches_differ(void **state)
{
    (void)state;
    struct subset seen[2][3];
    struct program p;
    char name[64];
    for (int run_number = 0; run_number < 2; run_number++) {
        struct world *world = world_new(&large, always);
        program_init(&p, &large);
        for (int i = 0; i < 3; i++) {
            launch(world, &p, 0, name, NULL);
            seen[run_number][i] = world->said.subset;
        }
        world_end(world);
    }
    for (int i = 0; i < 3; i++)
        assert_memory_equal(&seen[0][i].select, &seen[1][i].select, sizeof seen[0][0].select);
    assert_memory_not_equal(&seen[0][0].select, &seen[0][1].select, sizeof seen[0][0].select);
    assert_memory_not_equal(&seen[0][1].select, &seen[0][2].select, sizeof seen[0][0].select);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_layouts),
        cmocka_unit_test(first_launches_are_whole_where_they_fit),
        cmocka_unit_test(sampled_launches_are_cut_to_the_limit),
        cmocka_unit_test(an_entry_has_the_last_word),
        cmocka_unit_test(what_no_arena_holds_is_cut_all_the_same),
        cmocka_unit_test(runs_repeat_and_launches_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
