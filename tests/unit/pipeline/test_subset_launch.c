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

#include "tests/unit/fakes/pipeline_fixture.h"
#include "report/place.h"
#include "tests/unit/copy/subset_layouts.h"
#include "lang/dtype.h"

enum { LAYOUTS = sizeof layouts / sizeof *layouts, AIM = 32 << 10, AIM_OF_HEADS = 8 << 10 };

/* The result of one check. */
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

/* The launch as the signature has it, over the program's own memory. */
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

/* Spoils element `k` of an output, one after the other, and returns its name; its index along
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
    /* By the signature's dims, which hold the same elements in the same order. */
    int ndim = b.own_ndim[i] ? b.own_ndim[i] : t->ndim;
    const int64_t *dim = b.own_ndim[i] ? b.own_dim[i] : t->dim;
    int64_t rest = 1;
    for (int d = 0; d < ndim; d++)
        rest *= dim[d];
    for (int d = 0; d < ndim; d++) {
        rest /= dim[d];
        used +=
            (size_t)snprintf(name + used, size - used, "[%lld]", (long long)(k / rest % dim[d]));
    }
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

/* The same seed selects the same items again, and each launch others. */
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
