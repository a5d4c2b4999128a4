/* input.c - what a kernel is launched with: drawn, parsed, and made into arrays. */
#include "corpus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static double uniform(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* From a table, for arrays are many and large. */
static float normals[1 << 16];

void inputs_start(void)
{
    uint64_t state = 1;
    for (size_t i = 0; i < sizeof normals / sizeof *normals; i++)
        normals[i] = (float)(sqrt(-2 * log(uniform(&state) + 1e-300)) *
                             cos(6.283185307179586 * uniform(&state)));
}

static double normal(uint64_t *state)
{
    return (double)normals[random_next(state) >> 48];
}

/* ------------------------------------------------------------------- words of an input */

void input_add(struct input *input, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, " ,"), key = strcspn(text, "=");
        int at = 0;
        if (strncmp(text, "seed=", 5) == 0) {
            input->seed = strtoull(text + 5, NULL, 10);
            text += length + strspn(text + length, " ,");
            continue;
        }
        if (key >= length || key >= WORD || length - key > WORD)
            die("'%.*s' is no KEY=VALUE of at most %d letters", (int)length, text, WORD - 1);
        while (at < input->pairs &&
               (strncmp(input->pair[at].key, text, key) != 0 || input->pair[at].key[key] != '\0'))
            at++;
        if (at == PAIRS)
            die("an input of over %d words", PAIRS);
        input->pairs = at == input->pairs ? at + 1 : input->pairs;
        snprintf(input->pair[at].key, WORD, "%.*s", (int)key, text);
        snprintf(input->pair[at].word, WORD, "%.*s", (int)(length - key - 1), text + key + 1);
        text += length + strspn(text + length, " ,");
    }
}

const char *input_word(const struct input *input, const char *key, const char *otherwise)
{
    for (int i = 0; i < input->pairs; i++)
        if (strcmp(input->pair[i].key, key) == 0)
            return input->pair[i].word;
    return otherwise;
}

double input_number(const struct input *input, const char *key, double otherwise)
{
    const char *word = input_word(input, key, NULL);
    if (!word && isnan(otherwise))
        die("an input without '%s'", key);
    return word ? atof(word) : otherwise;
}

void input_print(const struct input *input, char text[512])
{
    int length = 0;
    for (int i = 0; i < input->pairs; i++)
        length += snprintf(text + length, (size_t)(512 - length), "%s=%s ", input->pair[i].key,
                           input->pair[i].word);
    snprintf(text + length, (size_t)(512 - length), "seed=%llu", (unsigned long long)input->seed);
}

/* ----------------------------------------------------------------------- distributions */

enum dist {
    DIST_NORMAL,   /* N(0, 1): randn */
    DIST_UNIFORM,  /* [0, 1): rand */
    DIST_WIDE,     /* [-10, 10), the study's */
    DIST_POSITIVE, /* 0.25 + |N|: sums grow */
    DIST_NEGATIVE, /* -5 - |N| */
    DIST_LOW,      /* -60000 + N */
    DIST_TINY,     /* 0.002 N: a mean square like eps */
    DIST_DUST,     /* 2^-20 N; not drawn, see schemas */
    DIST_HUGE,     /* 1000 N */
    DIST_SPARSE,   /* nine in ten are 0 */
    DIST_ZERO,     /* all 0 */
    DIST_OFFSET,   /* 1000 + N */
    DIST_SPIKES,   /* N, and one in 32 is 100 more or less */
    DIST_RISING,   /* N and up to 40 along the row */
    DIST_CONSTANT, /* the same number all along a row */
    DIST_NAN,      /* N, and NaN in one row of three */
    DIST_INF,      /* N, and an infinity in one row of three; -Inf all along one of nine */
    DISTS
};

static const char *const dists[DISTS] = {
    "normal", "uniform", "wide",   "positive", "negative", "low",      "tiny", "dust", "huge",
    "sparse", "zero",    "offset", "spikes",   "rising",   "constant", "nan",  "inf"};

static enum dist dist_of(const char *word)
{
    for (int i = 0; i < DISTS; i++)
        if (strcmp(dists[i], word) == 0)
            return (enum dist)i;
    die("dist=%s is unknown", word);
}

/* Element `c` of row `r`, where rows are `cols` long. */
static double drawn(enum dist dist, int64_t r, int64_t c, int64_t cols, uint64_t *state)
{
    double n = normal(state);
    uint64_t row = (uint64_t)r * 0x9e3779b97f4a7c15 + 1;
    uint64_t chosen = random_next(&row);
    switch (dist) {
    case DIST_UNIFORM:
        return uniform(state);
    case DIST_WIDE:
        return 20 * uniform(state) - 10;
    case DIST_POSITIVE:
        return 0.25 + fabs(n);
    case DIST_NEGATIVE:
        return -5 - fabs(n);
    case DIST_LOW:
        return -60000 + n;
    case DIST_TINY:
        return 0.002 * n;
    case DIST_DUST:
        return 0x1p-20 * n;
    case DIST_HUGE:
        return 1000 * n;
    case DIST_SPARSE:
        return random_next(state) % 10 ? 0 : n;
    case DIST_ZERO:
        return 0;
    case DIST_OFFSET:
        return 1000 + n;
    case DIST_SPIKES:
        return random_next(state) % 32 ? n : n + (random_next(state) % 2 ? 100 : -100);
    case DIST_RISING:
        return n + 40.0 * (double)c / (double)cols;
    case DIST_CONSTANT:
        return (double)(chosen % 64) / 8 - 4;
    case DIST_NAN:
        return r % 3 == 0 && c == (int64_t)(chosen % (uint64_t)cols) ? NAN : n;
    case DIST_INF:
        if (r % 9 == 4)
            return -INFINITY;
        return r % 3 == 0 && c == (int64_t)(chosen % (uint64_t)cols) ? r % 2 ? INFINITY : -INFINITY
                                                                     : n;
    default:
        return n;
    }
}

/* ---------------------------------------------------------------------------- drawing */

/* Copies candidate number `chosen`, modulo how many there are, of "a,b,c". */
static void candidate(const char *from, size_t length, uint64_t chosen, char word[WORD])
{
    uint64_t count = 1, at = 0;
    for (size_t i = 0; i < length; i++)
        count += from[i] == ',';
    for (chosen %= count; at < chosen; from++)
        at += *from == ',';
    snprintf(word, WORD, "%.*s", (int)strcspn(from, ", "), from);
}

static void draw_words(struct input *input, const char *schema, uint64_t *state)
{
    while (*schema) {
        size_t length = strcspn(schema, " "), key = strcspn(schema, "=") + 1;
        char word[WORD], pair[2 * WORD];
        candidate(schema + key, length - key, random_next(state) >> 20, word);
        snprintf(pair, sizeof pair, "%.*s%s", (int)(key < WORD ? key : WORD - 1), schema, word);
        input_add(input, pair);
        schema += length + strspn(schema + length, " ");
    }
}

/* Elements of an array, or 0 for a scalar; *spread is how far its ends lie apart on the device. */
static double elements_of(const struct input *input, const struct param *param, double *spread)
{
    double count = param->ndim > 0;
    for (int d = param->ndim - 1; d >= 0; d--) {
        const struct dim *dim = &param->dim[d];
        double size = dim->number ? (double)dim->number : input_number(input, dim->name, NAN);
        *spread = dim->pitched ? (size - 1) * (count + input_number(input, "pad", 0)) : *spread;
        count *= size;
    }
    return count;
}

void input_draw(struct input *input, const struct operation *op, uint64_t seed, double elements)
{
    uint64_t state = seed;
    double most, spread = 0;
    do {
        *input = (struct input){.seed = seed};
        draw_words(input, op->schema, &state);
        for (int dist = DIST_DUST; dist == DIST_DUST && !input_word(input, "dist", NULL);) {
            char word[2 * WORD];
            dist = (int)(random_next(&state) % DISTS);
            snprintf(word, sizeof word, "dist=%s", dists[dist]);
            if (dist != DIST_DUST)
                input_add(input, word);
        }
        if (!input_word(input, "ids", NULL))
            draw_words(input, "ids=uniform,zipf", &state);
        most = 0;
        for (int i = 0; i < op->params; i++)
            most = fmax(most, elements_of(input, &op->param[i], &spread));
    } while (most > elements || spread > 0x1p33);
}

/* ----------------------------------------------------------------------------- arrays */

static int64_t size_of(const struct input *input, const struct dim *dim)
{
    return dim->number ? dim->number : (int64_t)input_number(input, dim->name, NAN);
}

static void array_shape(struct array *array, const struct param *param, const struct problem *p)
{
    array->param = param;
    array->dtype = dtype_of(param->type, p->dtype);
    array->ndim = param->ndim;
    array->count = 1;
    array->pitch = 0;
    for (int d = param->ndim - 1; d >= 0; d--) {
        if (param->dim[d].pitched)
            array->pitch = array->count + (int64_t)input_number(&p->input, "pad", 0);
        array->dim[d] = size_of(&p->input, &param->dim[d]);
        array->count *= array->dim[d];
    }
    size_t bytes = (size_t)array->count * dtype_size(array->dtype);
    if (bytes > array->room) {
        free(array->before);
        free(array->after);
        free(array->want);
        array->room = bytes;
        array->before = malloc(bytes);
        array->after = malloc(bytes);
        array->want = malloc(bytes);
        if (!array->before || !array->after || !array->want)
            die("no memory for an array of %zu bytes", bytes);
    }
}

/* An index under `below`: what makes sums of rows of a table long or short. */
static double drawn_index(const struct problem *p, int64_t below, int64_t i, uint64_t *state)
{
    const char *ids = input_word(&p->input, "ids", "uniform");
    double u = uniform(state);
    if (strcmp(ids, "unique") == 0)
        return (double)(i % below);
    if (strcmp(ids, "last") == 0)
        return (double)(below - 1);
    if (strcmp(ids, "zipf") == 0)
        return floor(pow((double)below + 1, u)) - 1; /* density 1 / x */
    return floor(u * (double)below);
}

static bool is_weight(const struct operation *op, const struct param *param, double *neutral)
{
    const struct formal *formal = operation_formal(op, param->name);
    *neutral = formal ? formal->fallback : 0;
    return (formal && formal->optional && formal->kind == FORMAL_IN && param->ndim < 3) ||
           strcmp(param->name, "bias") == 0 || (strcmp(param->name, "w") == 0 && param->ndim == 1);
}

/* An element of softmax_masked's mask. */
static double drawn_mask(const char *mask, int64_t r, uint64_t *state)
{
    uint64_t draw = random_next(state);
    if (strcmp(mask, "none") == 0)
        return 0;
    if (strcmp(mask, "full") == 0 && r % 2 == 0)
        return -INFINITY;
    return draw % 3 == 0 ? -INFINITY : draw % 3 == 1 ? -2 : 0;
}

const struct kind *kind_of(const char *reference, const char *param)
{
    static const struct kind kinds[] = {
        {NULL, "ids", "entries", false, false},    {NULL, "index", "entries", false, false},
        {NULL, "target", "classes", false, false}, {NULL, "position", "positions", false, false},
        {"histogram", "x", "bins", false, false},  {"dropout", "mask", NULL, true, false},
        {"adamw", "v", NULL, false, true},         {NULL, "rstd", NULL, false, true},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].param, param) == 0 &&
            (!kinds[i].reference || strcmp(kinds[i].reference, reference) == 0))
            return &kinds[i];
    return NULL;
}

/* One row of what an array holds before the launch. */
struct recipe {
    const struct problem *problem;
    const struct kind *kind;
    bool weight, mask, target;
    double neutral;
    enum dist dist;
    int64_t below;
};

static double drawn_element(const struct recipe *recipe, int64_t r, int64_t c, int64_t cols,
                            uint64_t *state)
{
    const struct input *input = &recipe->problem->input;
    if (recipe->below) {
        if (recipe->target && input_number(input, "ignored", 0) != 0 && c % 8 == 3)
            return -100;
        return drawn_index(recipe->problem, recipe->below, r * cols + c, state);
    }
    if (recipe->kind && recipe->kind->bit)
        return uniform(state) < 0.9;
    if (recipe->kind && recipe->kind->positive)
        return 0.5 + uniform(state);
    if (recipe->mask)
        return drawn_mask(input_word(input, "mask", "none"), r, state);
    if (recipe->weight)
        return input_number(input, "neutral", 0) != 0 ? recipe->neutral
                                                      : recipe->neutral + 0.3 * normal(state);
    return drawn(recipe->dist, r, c, cols, state);
}

static void array_fill(struct array *array, const struct problem *p, uint64_t *state)
{
    const struct param *param = array->param;
    struct recipe recipe = {.problem = p, .dist = dist_of(input_word(&p->input, "dist", "normal"))};
    int64_t cols = array->dim[array->ndim - 1];
    recipe.kind = kind_of(p->op->reference, param->name);
    recipe.weight = is_weight(p->op, param, &recipe.neutral);
    recipe.mask =
        strcmp(p->op->reference, "softmax_masked") == 0 && strcmp(param->name, "mask") == 0;
    recipe.target = strcmp(param->name, "target") == 0;
    if (recipe.kind && recipe.kind->below)
        recipe.below = (int64_t)input_number(&p->input, recipe.kind->below, NAN);
    if (param->role == ROLE_INOUT) {
        const char *held = input_word(&p->input, "inout", "normal");
        recipe.dist = strcmp(held, "zero") == 0 ? DIST_ZERO : DIST_NORMAL;
        if (strcmp(held, "nan") == 0)
            recipe.dist = DIST_NAN;
    }
    for (int64_t i = 0; i < array->count; i++)
        dtype_encode(array->dtype, array->before, i,
                     drawn_element(&recipe, i / cols, i % cols, cols, state));
}

void problem_make(struct problem *problem, const struct operation *op, enum dtype dtype,
                  const struct input *input)
{
    uint64_t state = input->seed;
    problem->op = op;
    problem->dtype = dtype;
    problem->input = *input;
    problem->arrays = 0;
    for (int i = 0; i < op->params; i++) {
        const struct param *param = &op->param[i];
        if (param->role == ROLE_SCALAR)
            continue;
        struct array *array = &problem->array[problem->arrays++];
        array_shape(array, param, problem);
        if (param->role == ROLE_CONST || param->role == ROLE_INOUT)
            array_fill(array, problem, &state);
    }
}

void problem_free(struct problem *problem)
{
    for (int i = 0; i < REF_MAX_TENSORS; i++) {
        free(problem->array[i].before);
        free(problem->array[i].after);
        free(problem->array[i].want);
    }
}

double scalar_usual(const char *name)
{
    static const struct {
        const char *name;
        double value;
    } usual[] = {{"eps", 1e-5},     {"alpha", 0.7},      {"scale", 0.7}, {"direction", -1},
                 {"p", 0.1},        {"beta", 0.7},       {"beta1", 0.9}, {"beta2", 0.99},
                 {"c1", 0.271},     {"c2", 0.0297},      {"lr", 0.01},   {"decay", 0.1},
                 {"momentum", 0.9}, {"dampening", 0.25}, {"softcap", 0}};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strcmp(usual[i].name, name) == 0)
            return usual[i].value;
    return (double)NAN;
}

double problem_scalar(const struct problem *problem, const struct param *param)
{
    if (strcmp(param->name, "pitch") == 0) {
        for (int i = 0; i < problem->arrays; i++)
            if (problem->array[i].pitch)
                return (double)problem->array[i].pitch;
    }
    if (strcmp(param->name, "scale") == 0 && input_word(&problem->input, "dim", NULL))
        return (double)(float)(1 / sqrt(input_number(&problem->input, "dim", NAN)));
    double value = input_number(&problem->input, param->name, scalar_usual(param->name));
    return param->type[0] == 'f' ? (double)(float)value : value;
}
