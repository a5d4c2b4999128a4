/*
 * formals.c - the parser of formals.h: one pass over the text, a cursor, no allocation.
 *
 * Slots of int formals come after those of all named dims, and dims may follow an int formal in
 * the text; so int formals are numbered by a last step. Numbers are read here and not by strtod,
 * which would read "0.01" as 0 in a program whose locale writes a decimal comma.
 */
#include "verify/formals.h"
#include "verify/formals_product.h"

#include <math.h>
#include <string.h>

struct cursor {
    const char *text;
    const char *at;
    struct error *err;
};

static enum status fail(const struct cursor *in, const char *at, const char *what)
{
    return error_set(in->err, STATUS_INVALID, "formals: column %d: %s in \"%s\"",
                     (int)(at - in->text) + 1, what, in->text);
}

static void skip_space(struct cursor *in)
{
    while (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r')
        in->at++;
}

/* Takes the character if it comes next. */
static bool take(struct cursor *in, char c)
{
    skip_space(in);
    if (*in->at != c)
        return false;
    in->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* An identifier into `word`; an empty one where none comes next. */
static enum status take_word(struct cursor *in, char word[FORMAL_NAME])
{
    skip_space(in);
    const char *start = in->at;
    if (is_letter(*in->at))
        while (is_letter(*in->at) || is_digit(*in->at))
            in->at++;
    size_t length = (size_t)(in->at - start);
    if (length >= FORMAL_NAME)
        return fail(in, start, "name longer than 31 characters");
    memcpy(word, start, length);
    word[length] = '\0';
    return STATUS_OK;
}

static bool kind_of(const char *word, enum formal_kind *kind)
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

static double power_of_ten(int exponent)
{
    double power = 1;
    for (int i = exponent < 0 ? -exponent : exponent; i > 0; i--)
        power *= 10;
    return power;
}

/* Digits with an optional point; *scale is the power of ten that is still missing. */
static bool take_digits(struct cursor *in, double *value, int *scale)
{
    bool any = false, point = false;
    double mantissa = 0;
    int missing = 0;
    for (;; in->at++) {
        if (*in->at == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(*in->at))
            break;
        any = true;
        if (mantissa < 0x1p53 / 10 - 1) {
            mantissa = mantissa * 10 + (*in->at - '0');
            missing -= point;
        } else {
            missing += !point;
        }
    }
    *value = mantissa;
    *scale = missing;
    return any;
}

/* The power of ten after an e. */
static bool take_exponent(struct cursor *in, int *exponent)
{
    bool negative = *in->at == '-';
    if (*in->at == '-' || *in->at == '+')
        in->at++;
    if (!is_digit(*in->at))
        return false;
    int value = 0;
    for (; is_digit(*in->at); in->at++)
        value = value < 1000 ? value * 10 + (*in->at - '0') : value;
    *exponent = negative ? -value : value;
    return true;
}

static enum status take_number(struct cursor *in, double *value)
{
    skip_space(in);
    const char *start = in->at;
    bool negative = take(in, '-');
    int scale = 0, exponent = 0;
    if (strncmp(in->at, "inf", 3) == 0 && !is_letter(in->at[3]) && !is_digit(in->at[3])) {
        in->at += 3;
        *value = INFINITY;
    } else {
        if (!take_digits(in, value, &scale))
            return fail(in, start, "expected a number");
        if (*in->at == 'e' || *in->at == 'E') {
            in->at++;
            if (!take_exponent(in, &exponent))
                return fail(in, in->at, "expected digits of an exponent");
        }
        scale += exponent;
        if (scale < -400 || scale > 400)
            return fail(in, start, "number out of range");
        *value = scale < 0 ? *value / power_of_ten(scale) : *value * power_of_ten(scale);
        if (isinf(*value))
            return fail(in, start, "number out of range");
    }
    if (is_letter(*in->at))
        return fail(in, in->at, "unexpected letter after a number");
    if (negative)
        *value = -*value;
    return STATUS_OK;
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
        return fail(in, at, "more than 12 named dims and int formals");
    memcpy(formals->size_name[formals->sizes++], name, strlen(name) + 1);
    return STATUS_OK;
}

/* What stands between [ and ]: a name or a positive integer. */
static enum status take_dim(struct cursor *in, struct formals *formals, struct formal_dim *dim)
{
    skip_space(in);
    const char *start = in->at;
    if (is_digit(*in->at)) {
        int64_t literal = 0;
        for (; is_digit(*in->at); in->at++) {
            if (literal > INT64_MAX / 16)
                return fail(in, start, "dim out of range");
            literal = literal * 10 + (*in->at - '0');
        }
        if (literal == 0)
            return fail(in, start, "a dim must be positive");
        *dim = (struct formal_dim){.size = -1, .literal = literal};
    } else {
        char name[FORMAL_NAME];
        enum status status = take_word(in, name);
        if (status)
            return status;
        if (!*name)
            return fail(in, start, "expected a dim: a name or a positive integer");
        if (formals_find(formals, name))
            return fail(in, start, "a dim has the name of a formal");
        if (find_size(formals, name) < 0)
            status = add_size(in, start, formals, name);
        if (status)
            return status;
        *dim = (struct formal_dim){.size = find_size(formals, name)};
    }
    if (!take(in, ']'))
        return fail(in, in->at, "expected ]");
    return STATUS_OK;
}

static enum status take_array(struct cursor *in, struct formals *formals, struct formal *formal)
{
    const char *start = in->at;
    if (formals->tensors == REF_MAX_TENSORS)
        return fail(in, start, "more than 12 array formals");
    formal->slot = formals->tensors++;
    formal->optional = take(in, '?');
    while (take(in, '[')) {
        if (formal->ndim == REF_MAX_DIMS)
            return fail(in, in->at, "more than 4 dims");
        enum status status = take_dim(in, formals, &formal->dim[formal->ndim++]);
        if (status)
            return status;
    }
    return STATUS_OK;
}

static enum status take_default(struct cursor *in, struct formal *formal)
{
    if (!take(in, '='))
        return STATUS_OK;
    skip_space(in);
    const char *start = in->at;
    if (formal->kind != FORMAL_IN && formal->kind != FORMAL_REAL && formal->kind != FORMAL_INT)
        return fail(in, start, "only an input or a scalar has a default");
    enum status status = take_number(in, &formal->fallback);
    if (status)
        return status;
    if (formal->kind == FORMAL_INT &&
        !(fabs(formal->fallback) < 0x1p53 && formal->fallback == (double)(int64_t)formal->fallback))
        return fail(in, start, "the default of an int must be an integer");
    formal->optional = true;
    return STATUS_OK;
}

static enum status take_name(struct cursor *in, const struct formals *formals,
                             struct formal *formal)
{
    skip_space(in);
    const char *start = in->at;
    enum formal_kind other;
    enum status status = take_word(in, formal->name);
    if (status)
        return status;
    if (!*formal->name)
        return fail(in, start, "expected a name");
    if (kind_of(formal->name, &other) || strcmp(formal->name, "each") == 0 ||
        strcmp(formal->name, "touch") == 0 || strcmp(formal->name, "product") == 0)
        return fail(in, start, "a keyword cannot be a name");
    if (formals_find(formals, formal->name) || find_size(formals, formal->name) >= 0)
        return fail(in, start, "name used twice");
    return STATUS_OK;
}

static enum status take_formal(struct cursor *in, struct formals *formals)
{
    skip_space(in);
    const char *start = in->at;
    if (formals->count == FORMALS_MAX)
        return fail(in, start, "more than 24 formals");
    struct formal formal = {0};
    char word[FORMAL_NAME];
    enum status status = take_word(in, word);
    if (status)
        return status;
    if (!kind_of(word, &formal.kind))
        return fail(in, start, "expected in, coded, out, inout, real, int or point");
    formal.coded = strcmp(word, "coded") == 0;
    status = take_name(in, formals, &formal);
    if (status)
        return status;
    if (formal.kind == FORMAL_REAL) {
        if (formals->scalars == REF_MAX_SCALARS)
            return fail(in, start, "more than 8 real formals");
        formal.slot = formals->scalars++;
    } else if (formal.kind == FORMAL_POINT) {
        if (formals->points == REF_MAX_POINTS)
            return fail(in, start, "more than 4 points");
        formal.slot = formals->points++;
        formal.optional = true;
    } else if (formal_is_array(&formal)) {
        status = take_array(in, formals, &formal);
    }
    if (!status)
        status = take_default(in, &formal);
    if (!status && find_size(formals, formal.name) >= 0)
        status = fail(in, start, "an array and its dim have one name");
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

/* Once in each output that is always there, at most once in any array. */
static enum status check_each(const struct cursor *in, const char *at,
                              const struct formals *formals, const struct formal_each *each)
{
    for (int i = 0; i < formals->count; i++) {
        const struct formal *formal = &formals->formal[i];
        bool writes = formal->kind == FORMAL_OUT || formal->kind == FORMAL_INOUT;
        int times = 0;
        for (int j = 0; j < formal->ndim; j++)
            times += formal->dim[j].size == each->size;
        if (times > 1)
            return fail(in, at, "an array has the dim of each twice");
        bool by_rows = each->by >= 0 && formals_touch(formals, formal, each->by);
        if (writes && !formal->optional && times == 0 && !by_rows)
            return fail(in, at, "an output has not the dim of each");
    }
    return STATUS_OK;
}

/* Whether `word` comes next; takes it. */
static bool take_keyword(struct cursor *in, const char *word)
{
    skip_space(in);
    size_t length = strlen(word);
    if (strncmp(in->at, word, length) != 0 || is_letter(in->at[length]) || is_digit(in->at[length]))
        return false;
    in->at += length;
    return true;
}

/* "given position" or "by slots", or nothing. */
static enum status take_condition(struct cursor *in, const struct formals *formals,
                                  struct formal_each *each)
{
    char word[FORMAL_NAME];
    skip_space(in);
    const char *start = in->at;
    bool given = take_keyword(in, "given"), by = !given && take_keyword(in, "by");
    skip_space(in);
    const char *input = in->at;
    enum status status = take_word(in, word);
    if (status)
        return status;
    if (!given && !by)
        return *word ? fail(in, start, "expected given, by, a comma or the end") : STATUS_OK;
    const struct formal *formal = formals_find(formals, word);
    bool is_input = formal && formal->kind == FORMAL_IN;
    if (given && !(is_input && formal->optional))
        return fail(in, input, "expected an input that may stay unbound");
    if (given) {
        each->given = formal->slot;
        return STATUS_OK;
    }
    for (int i = 0; is_input && i < formals->touches; i++) {
        if (formals->touch[i].by == formal->slot)
            each->by = formal->slot;
    }
    return each->by < 0 ? fail(in, input, "expected the input of a touch before") : STATUS_OK;
}

/* What stands after "each"; all formals have been read. */
static enum status take_each(struct cursor *in, struct formals *formals)
{
    char name[FORMAL_NAME];
    skip_space(in);
    const char *start = in->at;
    struct formal_each each = {.given = -1, .by = -1};
    enum status status = take_word(in, name);
    if (status)
        return status;
    each.size = formals_find(formals, name) ? -1 : find_size(formals, name);
    if (each.size < 0)
        return fail(in, start, "expected a named dim");
    if (formals->eaches == FORMALS_EACH)
        return fail(in, start, "more than 4 dims of each");
    status = take_condition(in, formals, &each);
    formals->each[formals->eaches++] = each;
    return status ? status : check_each(in, start, formals, &each);
}

static enum status take_size(struct cursor *in, const struct formals *formals, const char *what,
                             int *size)
{
    char name[FORMAL_NAME];
    skip_space(in);
    const char *start = in->at;
    enum status status = take_word(in, name);
    if (status)
        return status;
    *size = formals_find(formals, name) ? -1 : find_size(formals, name);
    return *size < 0 ? fail(in, start, what) : STATUS_OK;
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
                return fail(in, at, "what is touched must be the first dims of its arrays");
            any = true;
        }
    }
    return any ? STATUS_OK : fail(in, at, "no array has the dim of touch");
}

/* What stands after "touch". */
static enum status take_touch(struct cursor *in, struct formals *formals)
{
    char name[FORMAL_NAME];
    struct formal_touch touch = {.size = {-1, -1}};
    skip_space(in);
    const char *start = in->at;
    enum status status = take_size(in, formals, "expected a named dim", &touch.size[0]);
    if (!status && !take_keyword(in, "by")) {
        status = take_size(in, formals, "expected by, or another named dim", &touch.size[1]);
        if (!status && !take_keyword(in, "by"))
            return fail(in, in->at, "expected by");
    }
    if (status)
        return status;
    skip_space(in);
    const char *by = in->at;
    status = take_word(in, name);
    if (status)
        return status;
    const struct formal *formal = formals_find(formals, name);
    if (!formal || formal->kind != FORMAL_IN)
        return fail(in, by, "expected the input whose elements are the indices");
    if (formals->touches == FORMALS_TOUCH)
        return fail(in, start, "more than 4 dims of touch");
    touch.by = formal->slot;
    formals->touch[formals->touches++] = touch;
    return check_touch(in, start, formals, &touch);
}

/* The formal of that kind whose name comes next, in *slot; `what` was expected. */
static enum status take_slot(struct cursor *in, const struct formals *formals, bool array,
                             const char *what, int *slot)
{
    char name[FORMAL_NAME];
    skip_space(in);
    const char *start = in->at;
    enum status status = take_word(in, name);
    if (status)
        return status;
    const struct formal *formal = formals_find(formals, name);
    if (!formal || (array ? !formal_is_array(formal) : formal->kind != FORMAL_REAL))
        return fail(in, start, what);
    *slot = formal->slot;
    return STATUS_OK;
}

/* A real, if one comes next, in *slot; -1 otherwise. */
static enum status take_scale(struct cursor *in, const struct formals *formals, int *slot)
{
    char name[FORMAL_NAME];
    skip_space(in);
    const char *start = in->at;
    *slot = -1;
    enum status status = take_word(in, name);
    const struct formal *formal = status ? NULL : formals_find(formals, name);
    if (formal && formal->kind == FORMAL_REAL)
        *slot = formal->slot;
    else
        in->at = start;
    return status;
}

/* What stands after "product". */
static enum status take_product(struct cursor *in, struct formals *formals)
{
    struct formal_product product = {0};
    skip_space(in);
    const char *start = in->at;
    if (formals->has_product)
        return fail(in, start, "a second product");
    enum status status = take_slot(in, formals, true, "expected an output", &product.out);
    if (!status && formals_array(formals, product.out)->kind == FORMAL_IN)
        return fail(in, start, "expected an output");
    if (!status && !take(in, '='))
        return fail(in, in->at, "expected =");
    if (!status)
        status = take_scale(in, formals, &product.alpha);
    if (!status)
        status = take_slot(in, formals, true, "expected a real or an array", &product.a);
    if (!status)
        status = take_slot(in, formals, true, "expected an array", &product.b);
    while (!status && take(in, '+')) {
        if (product.addends == FORMALS_ADDED)
            return fail(in, in->at, "more than 2 arrays are added");
        struct formal_addend *added = &product.added[product.addends++];
        status = take_scale(in, formals, &added->scale);
        if (!status)
            status = take_slot(in, formals, true, "expected a real or an array", &added->array);
    }
    const char *wrong = status ? NULL : formals_resolve_product(formals, &product);
    formals->product = product;
    formals->has_product = true;
    return wrong ? fail(in, start, wrong) : status;
}

/* Int formals take the sizes after the named dims. */
static enum status number_ints(struct cursor *in, struct formals *formals)
{
    for (int i = 0; i < formals->count; i++) {
        struct formal *formal = &formals->formal[i];
        if (formal->kind != FORMAL_INT)
            continue;
        if (find_size(formals, formal->name) >= 0)
            return fail(in, in->at, "an int has the name of a dim");
        formal->slot = formals->sizes;
        enum status status = add_size(in, in->at, formals, formal->name);
        if (status)
            return status;
    }
    return STATUS_OK;
}

enum status formals_parse(struct formals *formals, const char *text, struct error *err)
{
    struct cursor in = {.text = text, .at = text, .err = err};
    *formals = (struct formals){0};
    enum status status;
    do {
        bool each = formals->count && take_keyword(&in, "each");
        bool touch = formals->count && !each && take_keyword(&in, "touch");
        bool product = formals->count && !each && !touch && take_keyword(&in, "product");
        if (!each && !touch && !product &&
            (formals->eaches || formals->touches || formals->has_product))
            return fail(&in, in.at, "expected each, touch or product: nothing else follows one");
        status = each      ? take_each(&in, formals)
                 : touch   ? take_touch(&in, formals)
                 : product ? take_product(&in, formals)
                           : take_formal(&in, formals);
        if (status)
            return status;
    } while (take(&in, ','));
    if (*in.at)
        return fail(&in, in.at, "expected , or the end");
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
