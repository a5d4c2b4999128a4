#include "plan/tolerance.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "refs/abi/ref_list.h"
#include "lang/dtype.h"
#include "lang/formals.h"
#include "names/ref_names.h"
#include "plan/registry_keys.h"

enum { DEFAULT_LAMBDA = 8 };

static const char *const rule_names[] = {[RULE_BOUND] = "bound",
                                         [RULE_CLOSE] = "close",
                                         [RULE_BITWISE] = "bitwise",
                                         [RULE_STOCHASTIC] = "stochastic"};

const char *tolerance_rule_text(enum tolerance_rule rule)
{
    return rule_names[rule];
}

static const char *const masked_names[] = {
    [MASKED_NAN] = "nan", [MASKED_ZERO] = "zero", [MASKED_ANY] = "any"};

static const char *const function_names[] = {
    [REF_FUNCTIONS_LIBM] = "libm", [REF_FUNCTIONS_APPROX] = "approx"};

static enum status read_functions(const struct yaml_node *node, struct tolerance *out,
                                  struct error *err)
{
    const char *text;
    enum status status = yaml_text(node, "functions", &text, err);
    for (int i = REF_FUNCTIONS_LIBM; !status && i <= REF_FUNCTIONS_APPROX; i++) {
        if (strcmp(function_names[i], text) == 0) {
            out->functions = (enum ref_functions)i;
            return STATUS_OK;
        }
    }
    return status ? status
                  : yaml_error(err, node, "'functions' is '%.40s'; expected libm or approx", text);
}

static enum status read_rule(const struct yaml_node *node, struct tolerance *out, struct error *err)
{
    const char *text;
    enum status status = yaml_text(node, "rule", &text, err);
    for (int i = RULE_BOUND; !status && i <= RULE_STOCHASTIC; i++) {
        if (strcmp(rule_names[i], text) == 0) {
            out->rule = (enum tolerance_rule)i;
            return STATUS_OK;
        }
    }
    return status ? status
                  : yaml_error(err, node,
                               "'rule' is '%.40s'; expected bound, close, bitwise or stochastic",
                               text);
}

static enum status read_masked(const struct yaml_node *node, struct tolerance *out,
                               struct error *err)
{
    const char *text;
    enum status status = yaml_text(node, "masked_rows", &text, err);
    for (int i = MASKED_NAN; !status && i <= MASKED_ANY; i++) {
        if (strcmp(masked_names[i], text) == 0) {
            out->masked_rows = (enum masked_rows)i;
            out->needs |= REF_USES_MASKED;
            return STATUS_OK;
        }
    }
    return status
               ? status
               : yaml_error(err, node, "'masked_rows' is '%.40s'; expected nan, zero or any", text);
}

/* Ways to add up in f32 that are coarser than that. */
static const struct {
    const char *name;
    struct chain chain;
} chains[] = {{"fp8_tensor", {TENSOR_ROUNDOFF, TENSOR_CHAIN}},
              {"fp8_fast", {TENSOR_ROUNDOFF, 0}},
              /* Parts of a sum are rounded once each, so by no more than that share of S. */
              {"f16_parts", {0x1p-11, 1}},
              {"bf16_parts", {0x1p-8, 1}},
              /* The same at each of up to 9 exchanges between the lanes of a block. */
              {"f16_lanes", {9 * 0x1p-11, 1}},
              {"bf16_lanes", {9 * 0x1p-8, 1}}};

static enum status read_accumulate(const struct yaml_node *node, struct tolerance *out,
                                   struct error *err)
{
    const char *text;
    struct type type;
    enum status status = yaml_text(node, "accumulate", &text, err);
    if (status)
        return status;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        if (strcmp(chains[i].name, text) == 0) {
            out->accumulate = DTYPE_F32;
            out->chain = chains[i].chain;
            return STATUS_OK;
        }
    }
    if (!type_parse(text, &type) || type.lanes != 1 || type.dtype < DTYPE_F64 ||
        type.dtype > DTYPE_BF16)
        return yaml_error(err, node,
                          "'accumulate' is '%.40s'; expected f64, f32, f16, bf16, fp8_tensor, "
                          "fp8_fast, f16_parts, bf16_parts, f16_lanes or bf16_lanes",
                          text);
    out->accumulate = type.dtype;
    return STATUS_OK;
}

static const struct {
    const char *name;
    struct rounding rounding;
} formats[] = {{"f16", {0x1p-11, 0x1p-25}},
               {"bf16", {0x1p-8, 0x1p-126}},
               /* Tensor cores cut off what an f32 has behind it, which is up to a whole ulp. */
               {"tf32", {0x1p-10, 0x1p-126}}};

static const char *format_name(double roundoff)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (formats[i].rounding.roundoff == roundoff)
            return formats[i].name;
    }
    return NULL;
}

/* The format that `key` names, one of those that tensor cores multiply. */
static enum status read_format(const char *key, const struct yaml_node *node, struct rounding *out,
                               struct error *err)
{
    const char *text;
    enum status status = yaml_text(node, key, &text, err);
    for (size_t i = 0; !status && i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i].name, text) == 0) {
            *out = formats[i].rounding;
            return STATUS_OK;
        }
    }
    return status ? status
                  : yaml_error(err, node, "'%s' is '%.40s'; expected f16, bf16 or tf32", key, text);
}

static enum status read_inputs(const struct yaml_node *node, struct tolerance *out,
                               struct error *err)
{
    struct rounding format = {0, 0};
    enum status status = read_format("inputs", node, &format, err);
    out->input_roundoff = format.roundoff;
    return status;
}

/* "bf16", "bf16?" or "output". */
static enum status read_tolerance_point(const char *name, const struct yaml_node *node,
                                        struct tolerance_point *out, struct error *err)
{
    const char *text;
    char word[32];
    struct type type = {.dtype = (enum dtype)POINT_OF_OUTPUT, .lanes = 1};
    enum status status = yaml_text(node, name, &text, err);
    if (status)
        return status;
    size_t length = strcspn(text, "?");
    bool may = strcmp(text + length, "?") == 0;
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    bool known = strcmp(word, "output") == 0 || type_parse(word, &type);
    if (!known || type.lanes != 1 || (text[length] && !may) || type.dtype < DTYPE_F32 ||
        (type.dtype > DTYPE_F8E5M2 && (int)type.dtype != POINT_OF_OUTPUT))
        return yaml_error(err, node,
                          "rounding at '%.40s' is '%.40s'; expected f32, f16, bf16, f8e4m3, f8e5m2 "
                          "or output, with a ? behind it where the kernel may round",
                          name, text);
    *out = (struct tolerance_point){name, (uint8_t)(type.dtype | (may ? REF_POINT_MAY : 0))};
    return STATUS_OK;
}

static enum status read_rounding(const struct yaml_node *node, struct tolerance *out,
                                 struct error *err)
{
    enum status status = yaml_expect(node, "rounding", YAML_KIND_MAPPING, err);
    if (!status && node->count > REF_MAX_POINTS)
        status = yaml_error(err, node, "more than %d rounding points", REF_MAX_POINTS);
    for (size_t i = 0; !status && i < node->count; i++) {
        status = read_tolerance_point(node->key[i]->text, node->item[i], &out->point[i], err);
        out->points = (int)i + 1;
    }
    return status;
}

static enum status read_inner(const struct yaml_node *node, struct tolerance *out,
                              struct error *err)
{
    out->needs |= REF_USES_MIX;
    return read_format("inner", node, &out->inner, err);
}

/* ref_depth counts in powers of two. */
static enum status read_lanes(const struct yaml_node *node, struct tolerance *out,
                              struct error *err)
{
    int64_t lanes = 0;
    enum status status = yaml_integer(node, "lanes", 1, 1024, &lanes, err);
    if (!status && (lanes & (lanes - 1)) != 0)
        status = yaml_error(err, node, "'lanes' is %d; expected a power of two", (int)lanes);
    out->lanes = (uint32_t)lanes;
    out->needs |= REF_USES_ROW;
    return status;
}

static const char *accumulate_name(const struct tolerance *tolerance)
{
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        if (chains[i].chain.roundoff == tolerance->chain.roundoff &&
            chains[i].chain.terms == tolerance->chain.terms)
            return chains[i].name;
    }
    return dtype_text(tolerance->accumulate);
}

void tolerance_print(const struct tolerance *tolerance, FILE *out)
{
    const char *inputs = format_name(tolerance->input_roundoff);
    const char *inner = format_name(tolerance->inner.roundoff);
    fprintf(out, ", accumulate %s", accumulate_name(tolerance));
    if (tolerance->functions != REF_FUNCTIONS_LIBM)
        fprintf(out, ", functions %s", function_names[tolerance->functions]);
    if (inputs)
        fprintf(out, ", inputs %s", inputs);
    if (inner)
        fprintf(out, ", inner %s", inner);
    if (tolerance->lanes)
        fprintf(out, ", lanes %u", (unsigned)tolerance->lanes);
    if (tolerance->false_alarm > 0)
        fprintf(out, ", false_alarm %g", tolerance->false_alarm);
    else if (tolerance->lambda != DEFAULT_LAMBDA)
        fprintf(out, ", lambda %g", tolerance->lambda);
    if (tolerance->transform > 0)
        fprintf(out, ", transform %g", tolerance->transform);
    if (tolerance->masked_rows != MASKED_NAN)
        fprintf(out, ", masked_rows %s", masked_names[tolerance->masked_rows]);
}

static enum status read_tolerance_value(const char *key, const struct yaml_node *node,
                                        struct tolerance *out, const char **reason,
                                        struct error *err)
{
    if (strcmp(key, "rule") == 0)
        return read_rule(node, out, err);
    if (strcmp(key, "accumulate") == 0)
        return read_accumulate(node, out, err);
    if (strcmp(key, "functions") == 0)
        return read_functions(node, out, err);
    if (strcmp(key, "inputs") == 0)
        return read_inputs(node, out, err);
    if (strcmp(key, "rounding") == 0)
        return read_rounding(node, out, err);
    if (strcmp(key, "inner") == 0)
        return read_inner(node, out, err);
    if (strcmp(key, "lanes") == 0)
        return read_lanes(node, out, err);
    if (strcmp(key, "reason") == 0)
        return yaml_text(node, key, reason, err);
    if (strcmp(key, "masked_rows") == 0)
        return read_masked(node, out, err);
    if (strcmp(key, "false_alarm") == 0)
        return yaml_real(node, key, 1e-15, 1, &out->false_alarm, err);
    if (strcmp(key, "transform") == 0)
        return yaml_real(node, key, 1e-9, 1e-2, &out->transform, err);
    if (strcmp(key, "lambda") == 0)
        return yaml_real(node, key, 0.5, 1000, &out->lambda, err);
    return yaml_real(node, key, 0, 1e6, key[0] == 'r' ? &out->rtol : &out->atol, err);
}

enum status tolerance_read(const struct yaml_node *node, struct tolerance *out, const char **reason,
                           struct error *err)
{
    struct tolerance row = {.rule = RULE_BOUND, .lambda = DEFAULT_LAMBDA};
    const char *why = NULL;
    enum status status = yaml_expect(node, "tolerance", YAML_KIND_MAPPING, err);
    if (!status)
        status = keys_check(node, KEYS_TOLERANCE, err);
    for (size_t i = 0; !status && i < node->count; i++)
        status = read_tolerance_value(node->key[i]->text, node->item[i], &row, &why, err);
    if (status)
        return status;
    if (row.points && row.rule == RULE_CLOSE)
        return yaml_error(err, node, "'rounding' does not go with rule close, which has margins");
    if (yaml_get(node, "lambda") && yaml_get(node, "false_alarm"))
        return yaml_error(err, node, "'lambda' and 'false_alarm' mean the same; give one");
    bool margins = yaml_get(node, "rtol") || yaml_get(node, "atol");
    if (margins && row.rule != RULE_CLOSE)
        return yaml_error(err, node, "'rtol' and 'atol' belong to rule close, not to rule %s",
                          rule_names[row.rule]);
    if (!margins && row.rule == RULE_CLOSE)
        return yaml_error(err, node, "rule close needs 'rtol', 'atol' or both");
    row.transform_alone = row.transform > 0 && node->count == 1;
    *out = row;
    if (reason)
        *reason = why;
    return STATUS_OK;
}

static const struct ref_builtin *find_op(const char *op, const struct yaml_node *node,
                                         struct error *err)
{
    const struct ref_builtin *builtin = ref_names_find(op);
    char hint[160];
    if (!builtin)
        yaml_error(err, node, "unknown reference '%.60s'%s", op,
                   ref_names_hint(op, hint, sizeof hint));
    return builtin;
}

/* A contract that the reference has no use for would be passed over in silence. */
static enum status check_uses(const struct tolerance *tolerance,
                              const struct ref_builtin *reference, const struct yaml_node *node,
                              struct error *err)
{
    static const struct {
        unsigned use;
        const char *key, *why;
    } rows[] = {
        {REF_USES_MASKED, "masked_rows", "has no rows that are masked as a whole (no MASKED)"},
        {REF_USES_MIX, "inner", "multiplies nothing that it computed with an input (no MIX)"},
        {REF_USES_ROW, "lanes", "adds up no rows (no ROW)"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (tolerance->needs & ~reference->uses & rows[i].use)
            return yaml_error(err, node, "%s: reference '%.80s' %s; leave it out", rows[i].key,
                              reference->name, rows[i].why);
    }
    return STATUS_OK;
}

enum status tolerance_fits(const struct tolerance *tolerance, const struct ref_builtin *reference,
                           const struct yaml_node *node, struct error *err)
{
    struct formals formals;
    enum status status = check_uses(tolerance, reference, node, err);
    if (!status && tolerance->points)
        status = formals_parse(&formals, reference->formals, err);
    for (int i = 0; !status && i < tolerance->points; i++) {
        const struct formal *formal = formals_find(&formals, tolerance->point[i].name);
        if (formal && formal->kind == FORMAL_POINT)
            continue;
        status = yaml_error(err, node, "rounding: reference '%s' has no point '%.40s' (it has: %s)",
                            reference->name, tolerance->point[i].name, reference->formals);
    }
    return status;
}

/* Cuts the next word off a list such as "f16, bf16"; false at the end. */
static bool next_word(const char **list, char word[64])
{
    *list += strspn(*list, ", \t");
    size_t length = strcspn(*list, ", \t");
    if (length == 0)
        return false;
    snprintf(word, 64, "%.*s", (int)length, *list);
    *list += length;
    return true;
}

static enum status add_tolerance(struct tolerance_table *table, struct arena *arena,
                                 struct tolerance_row row)
{
    if (table->count == table->room) { /* the old array stays in the arena: it is small */
        size_t room = table->room ? 2 * table->room : 64;
        struct tolerance_row *grown = arena_alloc(arena, room * sizeof *grown);
        if (!grown)
            return STATUS_NO_MEMORY;
        if (table->count)
            memcpy(grown, table->row, table->count * sizeof *grown);
        table->row = grown;
        table->room = room;
    }
    if (row.tolerance.accumulate == DTYPE_NONE)
        row.tolerance.accumulate = tolerance_fallback(row.dtype).accumulate;
    table->row[table->count++] = row;
    return STATUS_OK;
}

/* The rows of one reference, for each dtype of the list. */
static enum status add_dtypes(struct tolerance_table *table, struct arena *arena,
                              const struct ref_builtin *reference, const struct yaml_node *dtypes,
                              struct tolerance_row row, struct error *err)
{
    char dtype[64];
    enum status status = tolerance_fits(&row.tolerance, reference, dtypes, err);
    row.op = reference->name;
    for (const char *d = dtypes->text; !status && next_word(&d, dtype);) {
        struct type type;
        if (!type_parse(dtype, &type) || type.lanes != 1) {
            struct nearest nearest = {.word = dtype};
            char question[96];
            type_offer(&nearest);
            return yaml_error(err, dtypes, "unknown type '%s'%s", dtype,
                              nearest_text(&nearest, question, sizeof question));
        }
        row.dtype = type.dtype;
        if (add_tolerance(table, arena, row))
            status = error_set(err, STATUS_NO_MEMORY, "no memory");
    }
    return status;
}

/* One row for each (op, dtype) of the two lists; the op * stands for every reference. */
static enum status add_table_rows(struct tolerance_table *table, struct arena *arena,
                                  const struct yaml_node *ops, const struct yaml_node *dtypes,
                                  struct tolerance_row row, struct error *err)
{
    enum status status = STATUS_OK;
    char op[64];
    for (const char *o = ops->text; !status && next_word(&o, op);) {
        bool all = strcmp(op, "*") == 0;
        const struct ref_builtin *reference = all ? NULL : find_op(op, ops, err);
        if (!all && !reference)
            return STATUS_INVALID;
        for (size_t i = 0; all && !status && i < ref_builtin_count; i++)
            status = add_dtypes(table, arena, &ref_builtins[i], dtypes, row, err);
        if (!all)
            status = add_dtypes(table, arena, reference, dtypes, row, err);
    }
    return status;
}

enum status tolerance_add(struct tolerance_table *table, struct arena *arena,
                          const struct yaml_node *node, tolerance_complain_fn complain, void *user)
{
    struct error err = {0};
    enum status worst = yaml_expect(node, "tolerances", YAML_KIND_MAPPING, &err);
    if (worst) {
        complain(user, err.text);
        return worst;
    }
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_node *rows = node->item[i];
        err = (struct error){0};
        enum status status = yaml_expect(rows, node->key[i]->text, YAML_KIND_MAPPING, &err);
        for (size_t j = 0; !status && j < rows->count; j++) {
            struct tolerance_row row = {0};
            status = tolerance_read(rows->item[j], &row.tolerance, &row.reason, &err);
            if (!status)
                status = add_table_rows(table, arena, node->key[i], rows->key[j], row, &err);
        }
        if (status)
            complain(user, err.text);
        worst = status ? status : worst;
    }
    return worst;
}

const struct tolerance_row *tolerance_find(const struct tolerance_table *table, const char *op,
                                           enum dtype dtype)
{
    for (size_t i = table->count; i-- > 0;) {
        if (table->row[i].dtype == dtype && strcmp(table->row[i].op, op) == 0)
            return &table->row[i];
    }
    return NULL;
}

struct tolerance tolerance_fallback(enum dtype dtype)
{
    return (struct tolerance){.rule = RULE_BOUND,
                              .accumulate = dtype == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32,
                              .lambda = DEFAULT_LAMBDA};
}

double tolerance_roundoff(enum dtype accumulate)
{
    switch (accumulate) {
    case DTYPE_F64:
        return 0x1p-53;
    case DTYPE_F16:
        return 0x1p-11;
    case DTYPE_BF16:
        return 0x1p-8;
    default:
        return 0x1p-24;
    }
}

static bool is_half(enum dtype dtype)
{
    return dtype == DTYPE_F16 || dtype == DTYPE_BF16;
}

double tolerance_product_loss(const struct tolerance *tolerance, enum dtype a, enum dtype b,
                              double k)
{
    bool own = tolerance->lambda != DEFAULT_LAMBDA || tolerance->false_alarm > 0;
    if (!is_half(a) || !is_half(b) || own || tolerance->accumulate != DTYPE_F32)
        return 0;
    return k * 0x1p-25;
}

double tolerance_lambda(const struct tolerance *tolerance, double outputs)
{
    if (tolerance->false_alarm <= 0)
        return tolerance->lambda;
    return sqrt(2 * log(2 * (outputs > 1 ? outputs : 1) / tolerance->false_alarm));
}

double tolerance_underflow(enum dtype accumulate)
{
    switch (accumulate) {
    case DTYPE_F64:
        return 0x1p-1022;
    case DTYPE_F16:
        return 0x1p-14;
    default:
        return 0x1p-126; /* bf16 has f32's exponents */
    }
}
