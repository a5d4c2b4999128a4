/*
 * formals.c - the parser of formals.h: one pass over the text, a cursor, no allocation. Slots of
 * int formals come after those of all named dims, and dims may follow an int formal in the text; so
 * int formals are numbered by a last step.
 */
#include "lang/formals.h"
#include "lang/formals_cursor.h"

#include <math.h>
#include <string.h>

static bool formal_has_size(const struct formal *formal, int size)
{
    return size >= 0 && formals_axis(formal, size) >= 0;
}

/* Fills batch, rows, cols and sum; NULL, or why the arrays cannot be those of a product. */
static const char *formals_resolve_product(const struct formals *formals,
                                           struct formal_product *product)
{
    const struct formal *out = formals_array(formals, product->out);
    const struct formal *a = formals_array(formals, product->a);
    const struct formal *b = formals_array(formals, product->b);
    int dims = out->ndim;
    if (dims < 2 || dims > 3 || a->ndim != dims || b->ndim != dims)
        return "a product is of two matrices, or of batches of them";
    product->batch = dims == 3 ? out->dim[0].size : -1;
    product->rows = out->dim[dims - 2].size;
    product->cols = out->dim[dims - 1].size;
    product->sum = -1;
    for (int i = 0; i < dims; i++) {
        int size = a->dim[i].size;
        if (formal_has_size(b, size) && !formal_has_size(out, size))
            product->sum = size;
    }
    bool fits =
        product->sum >= 0 && formal_has_size(a, product->rows) && formal_has_size(b, product->cols);
    if (dims == 3)
        fits &= formal_has_size(a, product->batch) && formal_has_size(b, product->batch);
    for (int i = 0; i < product->addends; i++) {
        const struct formal *added = formals_array(formals, product->added[i].array);
        for (int d = 0; d < added->ndim; d++)
            fits &= formal_has_size(out, added->dim[d].size);
    }
    if (product->scaled) /* a matrix of scales has its dims in the same order */
        fits &= dims == 2 && a->dim[0].size == product->rows && b->dim[1].size == product->cols &&
                formals_array(formals, product->a_scale)->ndim == 2 &&
                formals_array(formals, product->b_scale)->ndim == 2;
    fits &= !product->timed || formals_array(formals, product->times)->ndim == 1;
    return fits ? NULL : "the dims of these arrays are not those of a product";
}

static bool read_kind(const char *word, enum formal_kind *kind)
{
    static const struct {
        const char *word;
        enum formal_kind kind;
    } words[] = {{"in", FORMAL_IN},       {"coded", FORMAL_IN},  {"out", FORMAL_OUT},
                 {"inout", FORMAL_INOUT}, {"real", FORMAL_REAL}, {"int", FORMAL_INT},
                 {"point", FORMAL_POINT}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i].word) == 0) {
            *kind = words[i].kind;
            return true;
        }
    }
    return false;
}

static int find_size(const struct formals *formals, const char *name)
{
    for (int i = 0; i < formals->sizes; i++)
        if (strcmp(formals->size_name[i], name) == 0)
            return i;
    return -1;
}

static enum status add_size(const struct cursor *in, const char *at, struct formals *formals,
                            const char *name)
{
    if (formals->sizes == REF_MAX_SIZES)
        return cursor_fail(in, at, "more than 16 named dims and int formals");
    memcpy(formals->size_name[formals->sizes++], name, strlen(name) + 1);
    return STATUS_OK;
}

/* What stands between [ and ]: a name or a positive integer. */
static enum status take_dim(struct cursor *in, struct formals *formals, struct formal_dim *dim)
{
    cursor_space(in);
    const char *start = in->at;
    if (cursor_digit(*in->at)) {
        int64_t literal = 0;
        for (; cursor_digit(*in->at); in->at++) {
            if (literal > INT64_MAX / 16)
                return cursor_fail(in, start, "dim out of range");
            literal = literal * 10 + (*in->at - '0');
        }
        if (literal == 0)
            return cursor_fail(in, start, "a dim must be positive");
        *dim = (struct formal_dim){.size = -1, .literal = literal};
    } else {
        char name[FORMAL_NAME];
        enum status status = cursor_word(in, name);
        if (status)
            return status;
        if (!*name)
            return cursor_fail(in, start, "expected a dim: a name or a positive integer");
        if (formals_find(formals, name))
            return cursor_fail(in, start, "a dim has the name of a formal");
        if (find_size(formals, name) < 0)
            status = add_size(in, start, formals, name);
        if (status)
            return status;
        *dim = (struct formal_dim){.size = find_size(formals, name)};
    }
    if (!cursor_char(in, ']'))
        return cursor_fail(in, in->at, "expected ]");
    return STATUS_OK;
}

static enum status take_array(struct cursor *in, struct formals *formals, struct formal *formal)
{
    const char *start = in->at;
    if (formals->tensors == REF_MAX_TENSORS)
        return cursor_fail(in, start, "more than 12 array formals");
    formal->slot = formals->tensors++;
    formal->optional = cursor_char(in, '?');
    while (cursor_char(in, '[')) {
        if (formal->ndim == REF_MAX_DIMS)
            return cursor_fail(in, in->at, "more than 4 dims");
        enum status status = take_dim(in, formals, &formal->dim[formal->ndim++]);
        if (status)
            return status;
    }
    return STATUS_OK;
}

static enum status take_default(struct cursor *in, struct formal *formal)
{
    if (!cursor_char(in, '='))
        return STATUS_OK;
    cursor_space(in);
    const char *start = in->at;
    if (formal->kind != FORMAL_IN && formal->kind != FORMAL_REAL && formal->kind != FORMAL_INT)
        return cursor_fail(in, start, "only an input or a scalar has a default");
    enum status status = cursor_number(in, &formal->fallback);
    if (status)
        return status;
    if (formal->kind == FORMAL_INT &&
        !(fabs(formal->fallback) < 0x1p53 && formal->fallback == (double)(int64_t)formal->fallback))
        return cursor_fail(in, start, "the default of an int must be an integer");
    formal->optional = true;
    return STATUS_OK;
}

static enum status take_formal_name(struct cursor *in, const struct formals *formals,
                                    struct formal *formal)
{
    cursor_space(in);
    const char *start = in->at;
    enum formal_kind other;
    enum status status = cursor_word(in, formal->name);
    if (status)
        return status;
    if (!*formal->name)
        return cursor_fail(in, start, "expected a name");
    if (read_kind(formal->name, &other) || strcmp(formal->name, "each") == 0 ||
        strcmp(formal->name, "touch") == 0 || strcmp(formal->name, "product") == 0 ||
        strcmp(formal->name, "sums") == 0)
        return cursor_fail(in, start, "a keyword cannot be a name");
    if (formals_find(formals, formal->name) || find_size(formals, formal->name) >= 0)
        return cursor_fail(in, start, "name used twice");
    return STATUS_OK;
}

static enum status take_formal(struct cursor *in, struct formals *formals)
{
    cursor_space(in);
    const char *start = in->at;
    if (formals->count == FORMALS_MAX)
        return cursor_fail(in, start, "more than 24 formals");
    struct formal formal = {0};
    char word[FORMAL_NAME];
    enum status status = cursor_word(in, word);
    if (status)
        return status;
    if (!read_kind(word, &formal.kind))
        return cursor_fail(in, start, "expected in, coded, out, inout, real, int or point");
    formal.coded = strcmp(word, "coded") == 0;
    status = take_formal_name(in, formals, &formal);
    if (status)
        return status;
    if (formal.kind == FORMAL_REAL) {
        if (formals->scalars == REF_MAX_SCALARS)
            return cursor_fail(in, start, "more than 8 real formals");
        formal.slot = formals->scalars++;
    } else if (formal.kind == FORMAL_POINT) {
        if (formals->points == REF_MAX_POINTS)
            return cursor_fail(in, start, "more than 4 points");
        formal.slot = formals->points++;
        formal.optional = true;
    } else if (formal_is_array(&formal)) {
        status = take_array(in, formals, &formal);
    }
    if (!status)
        status = take_default(in, &formal);
    if (!status && find_size(formals, formal.name) >= 0)
        status = cursor_fail(in, start, "an array and its dim have one name");
    if (!status)
        formals->formal[formals->count++] = formal;
    return status;
}

int formals_axis(const struct formal *formal, int size)
{
    for (int i = 0; i < formal->ndim; i++)
        if (formal->dim[i].size == size)
            return i;
    return -1;
}

/* Whether a dim is one of those of the `each` clause. */
static bool is_of_each(const struct formal_each *each, int size)
{
    return size >= 0 && (size == each->size || size == each->with);
}

int formals_each_axis(const struct formal *formal, const struct formal_each *each)
{
    for (int i = 0; i < formal->ndim; i++)
        if (is_of_each(each, formal->dim[i].size))
            return i;
    return -1;
}

/* Once in each output that is always there, at most once in any array. */
static enum status check_each(const struct cursor *in, const char *at,
                              const struct formals *formals, const struct formal_each *each)
{
    for (int i = 0; i < formals->count; i++) {
        const struct formal *formal = &formals->formal[i];
        bool writes = formal->kind == FORMAL_OUT || formal->kind == FORMAL_INOUT;
        int times = 0;
        for (int j = 0; j < formal->ndim; j++)
            times += is_of_each(each, formal->dim[j].size);
        if (times > 1)
            return cursor_fail(in, at, "an array has the dim of each twice");
        bool by_rows = each->by >= 0 && formals_touch(formals, formal, each->by);
        if (writes && !formal->optional && times == 0 && !by_rows)
            return cursor_fail(in, at, "an output has not the dim of each");
    }
    return STATUS_OK;
}

/* The next word, or an empty one, and where it begins. */
static enum status take_word(struct cursor *in, char name[FORMAL_NAME], const char **start)
{
    cursor_space(in);
    *start = in->at;
    return cursor_word(in, name);
}

/* The dim that comes next, in *size; `what` was expected. */
static enum status take_size(struct cursor *in, const struct formals *formals, const char *what,
                             int *size)
{
    char name[FORMAL_NAME];
    const char *start;
    enum status status = take_word(in, name, &start);
    if (status)
        return status;
    *size = formals_find(formals, name) ? -1 : find_size(formals, name);
    return *size < 0 ? cursor_fail(in, start, what) : STATUS_OK;
}

/* "with heads" or "like scales", or nothing. */
static enum status take_linked(struct cursor *in, const struct formals *formals,
                               struct formal_each *each)
{
    each->like = cursor_keyword(in, "like");
    if (!each->like && !cursor_keyword(in, "with"))
        return STATUS_OK;
    cursor_space(in);
    const char *start = in->at;
    enum status status = take_size(in, formals, "expected another named dim", &each->with);
    if (!status && each->with == each->size)
        return cursor_fail(in, start, "expected another named dim");
    return status;
}

/* "given position" or "by slots", or nothing. */
static enum status take_condition(struct cursor *in, const struct formals *formals,
                                  struct formal_each *each)
{
    char word[FORMAL_NAME];
    cursor_space(in);
    const char *start = in->at;
    bool given = cursor_keyword(in, "given"), by = !given && cursor_keyword(in, "by");
    cursor_space(in);
    const char *input = in->at;
    enum status status = cursor_word(in, word);
    if (status)
        return status;
    if (!given && !by)
        return *word ? cursor_fail(in, start, "expected with, like, given, by, a comma or the end")
                     : STATUS_OK;
    const struct formal *formal = formals_find(formals, word);
    bool is_input = formal && formal->kind == FORMAL_IN;
    if (given && !(is_input && formal->optional))
        return cursor_fail(in, input, "expected an input that may stay unbound");
    if (given) {
        each->given = formal->slot;
        return STATUS_OK;
    }
    for (int i = 0; is_input && i < formals->touches; i++) {
        if (formals->touch[i].by == formal->slot)
            each->by = formal->slot;
    }
    return each->by < 0 ? cursor_fail(in, input, "expected the input of a touch before")
                        : STATUS_OK;
}

/* What stands after "each"; all formals have been read. */
static enum status take_each(struct cursor *in, struct formals *formals)
{
    cursor_space(in);
    const char *start = in->at;
    struct formal_each each = {.with = -1, .given = -1, .by = -1};
    enum status status = take_size(in, formals, "expected a named dim", &each.size);
    if (!status && formals->eaches == FORMALS_EACH)
        status = cursor_fail(in, start, "more than 4 dims of each");
    if (!status)
        status = take_linked(in, formals, &each);
    if (!status)
        status = take_condition(in, formals, &each);
    if (!status && each.with >= 0 && each.by >= 0)
        status = cursor_fail(in, start, "by goes with one dim alone");
    if (!status)
        status = check_each(in, start, formals, &each);
    if (!status)
        formals->each[formals->eaches++] = each;
    return status;
}

/* What an index stands for must be the first dims wherever it is a dim. */
static enum status check_touch(const struct cursor *in, const char *at,
                               const struct formals *formals, const struct formal_touch *touch)
{
    bool any = false;
    for (int i = 0; i < formals->count; i++) {
        const struct formal *formal = &formals->formal[i];
        for (int j = 0; formal_is_array(formal) && j < formal->ndim; j++) {
            int size = formal->dim[j].size;
            if (size < 0 || (size != touch->size[0] && size != touch->size[1]))
                continue;
            if (size != touch->size[j > 0] || j > 1 || formal->slot == touch->by)
                return cursor_fail(in, at, "what is touched must be the first dims of its arrays");
            any = true;
        }
    }
    return any ? STATUS_OK : cursor_fail(in, at, "no array has the dim of touch");
}

/* What stands after "touch". */
static enum status take_touch(struct cursor *in, struct formals *formals)
{
    char name[FORMAL_NAME];
    struct formal_touch touch = {.size = {-1, -1}};
    cursor_space(in);
    const char *start = in->at;
    enum status status = take_size(in, formals, "expected a named dim", &touch.size[0]);
    if (!status && !cursor_keyword(in, "by")) {
        status = take_size(in, formals, "expected by, or another named dim", &touch.size[1]);
        if (!status && !cursor_keyword(in, "by"))
            return cursor_fail(in, in->at, "expected by");
    }
    if (status)
        return status;
    cursor_space(in);
    const char *by = in->at;
    status = cursor_word(in, name);
    if (status)
        return status;
    const struct formal *formal = formals_find(formals, name);
    if (!formal || formal->kind != FORMAL_IN)
        return cursor_fail(in, by, "expected the input whose elements are the indices");
    if (formals->touches == FORMALS_TOUCH)
        return cursor_fail(in, start, "more than 4 dims of touch");
    touch.by = formal->slot;
    formals->touch[formals->touches++] = touch;
    return check_touch(in, start, formals, &touch);
}

/* The formal of that kind whose name comes next, in *slot; `what` was expected. */
static enum status take_slot(struct cursor *in, const struct formals *formals, bool array,
                             const char *what, int *slot)
{
    char name[FORMAL_NAME];
    const char *start;
    enum status status = take_word(in, name, &start);
    if (status)
        return status;
    const struct formal *formal = formals_find(formals, name);
    if (!formal || (array ? !formal_is_array(formal) : formal->kind != FORMAL_REAL))
        return cursor_fail(in, start, what);
    *slot = formal->slot;
    return STATUS_OK;
}

/* A real, if one comes next, in *slot; -1 otherwise. */
static enum status take_scale(struct cursor *in, const struct formals *formals, int *slot)
{
    char name[FORMAL_NAME];
    const char *start;
    *slot = -1;
    enum status status = take_word(in, name, &start);
    const struct formal *formal = status ? NULL : formals_find(formals, name);
    if (formal && formal->kind == FORMAL_REAL)
        *slot = formal->slot;
    else
        in->at = start;
    return status;
}

/* An output, "=" and, of a product alone, a factor; then two arrays. */
static enum status take_factors(struct cursor *in, const struct formals *formals, int *out,
                                int *alpha, int *a, int *b)
{
    const char *start;
    cursor_space(in);
    start = in->at;
    enum status status = take_slot(in, formals, true, "expected an output", out);
    if (!status && formals_array(formals, *out)->kind == FORMAL_IN)
        return cursor_fail(in, start, "expected an output");
    if (!status && !cursor_char(in, '='))
        return cursor_fail(in, in->at, "expected =");
    if (!status && alpha)
        status = take_scale(in, formals, alpha);
    if (!status)
        status = take_slot(in, formals, true,
                           alpha ? "expected a real or an array" : "expected an array", a);
    return status ? status : take_slot(in, formals, true, "expected an array", b);
}

/* What stands after "sums". */
static enum status take_sums(struct cursor *in, struct formals *formals)
{
    struct formal_sums *sums = &formals->sums;
    char name[FORMAL_NAME];
    const char *start = in->at;
    if (sums->dims)
        return cursor_fail(in, start, "a second sums");
    enum status status = take_factors(in, formals, &sums->out, NULL, &sums->a, &sums->b);
    if (!status && !cursor_keyword(in, "over"))
        return cursor_fail(in, in->at, "expected over");
    do {
        status = status ? status : take_word(in, name, &start);
        if (status)
            return status;
        if (sums->dims == FORMALS_SUMMED)
            return cursor_fail(in, start, "more than 4 dims are summed over");
        sums->size[sums->dims] = find_size(formals, name);
        if (sums->size[sums->dims++] < 0)
            return cursor_fail(in, start, "expected a named dim");
        cursor_space(in);
    } while (*in->at && *in->at != ',');
    return STATUS_OK;
}

/* Of a product, after what is added: its scales, and what it is multiplied by. */
static enum status take_product_scales(struct cursor *in, const struct formals *formals,
                                       struct formal_product *product)
{
    char name[FORMAL_NAME];
    const char *start;
    product->group = -1;
    product->scaled = cursor_keyword(in, "by");
    enum status status = STATUS_OK;
    if (product->scaled)
        status = take_slot(in, formals, true, "expected an array", &product->a_scale);
    if (product->scaled && !status)
        status = take_slot(in, formals, true, "expected an array", &product->b_scale);
    struct cursor ahead = *in;
    bool more = product->scaled && !status && !take_word(&ahead, name, &start);
    const struct formal *formal = more ? formals_find(formals, name) : NULL;
    if (formal && formal->kind == FORMAL_INT) {
        product->group = (int)(formal - formals->formal);
        in->at = ahead.at;
    }
    product->timed = !status && cursor_keyword(in, "times");
    return product->timed ? take_slot(in, formals, true, "expected an array", &product->times)
                          : status;
}

/* What stands after "product". */
static enum status take_product(struct cursor *in, struct formals *formals)
{
    struct formal_product product = {0};
    cursor_space(in);
    const char *start = in->at;
    if (formals->has_product)
        return cursor_fail(in, start, "a second product");
    enum status status =
        take_factors(in, formals, &product.out, &product.alpha, &product.a, &product.b);
    while (!status && cursor_char(in, '+')) {
        if (product.addends == FORMALS_ADDED)
            return cursor_fail(in, in->at, "more than 2 arrays are added");
        struct formal_addend *added = &product.added[product.addends++];
        status = take_scale(in, formals, &added->scale);
        if (!status)
            status = take_slot(in, formals, true, "expected a real or an array", &added->array);
    }
    status = status ? status : take_product_scales(in, formals, &product);
    const char *wrong = status ? NULL : formals_resolve_product(formals, &product);
    formals->product = product;
    formals->has_product = true;
    return wrong ? cursor_fail(in, start, wrong) : status;
}

/* Int formals take the sizes after the named dims. */
static enum status number_ints(struct cursor *in, struct formals *formals)
{
    for (int i = 0; i < formals->count; i++) {
        struct formal *formal = &formals->formal[i];
        if (formal->kind != FORMAL_INT)
            continue;
        if (find_size(formals, formal->name) >= 0)
            return cursor_fail(in, in->at, "an int has the name of a dim");
        formal->slot = formals->sizes;
        enum status status = add_size(in, in->at, formals, formal->name);
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* What stands behind the formals, by its first word. */
static const struct clause {
    const char *word;
    enum status (*take)(struct cursor *in, struct formals *formals);
} clauses[] = {
    {"each", take_each}, {"touch", take_touch}, {"product", take_product}, {"sums", take_sums}};

static const struct clause *take_clause(struct cursor *in)
{
    for (size_t i = 0; i < sizeof clauses / sizeof *clauses; i++) {
        if (cursor_keyword(in, clauses[i].word))
            return &clauses[i];
    }
    return NULL;
}

enum status formals_parse(struct formals *formals, const char *text, struct error *err)
{
    struct cursor in = {.text = text, .at = text, .err = err};
    bool behind = false;
    *formals = (struct formals){0};
    do {
        const struct clause *clause = formals->count ? take_clause(&in) : NULL;
        if (!clause && behind)
            return cursor_fail(&in, in.at,
                               "expected each, touch, product or sums: nothing else follows one");
        behind = clause != NULL;
        enum status status = clause ? clause->take(&in, formals) : take_formal(&in, formals);
        if (status)
            return status;
    } while (cursor_char(&in, ','));
    if (*in.at)
        return cursor_fail(&in, in.at, "expected , or the end");
    return number_ints(&in, formals);
}

const struct formal *formals_find(const struct formals *formals, const char *name)
{
    for (int i = 0; i < formals->count; i++)
        if (strcmp(formals->formal[i].name, name) == 0)
            return &formals->formal[i];
    return NULL;
}

const struct formal *formals_array(const struct formals *formals, int slot)
{
    const struct formal *formal = formals->formal;
    while (!formal_is_array(formal) || formal->slot != slot)
        formal++;
    return formal;
}

const struct formal_touch *formals_touch(const struct formals *formals, const struct formal *formal,
                                         int by)
{
    for (int i = 0; i < formals->touches; i++) {
        const struct formal_touch *touch = &formals->touch[i];
        if (touch->by == by && formal_is_array(formal) && formal->ndim > 0 &&
            formal->dim[0].size == touch->size[0])
            return touch;
    }
    return NULL;
}
