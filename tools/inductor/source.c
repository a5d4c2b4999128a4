#include "tools/inductor/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- pieces of text ---- */

enum dtype source_dtype(const char *text, size_t length)
{
    static const struct {
        const char *name;
        enum dtype dtype;
    } types[] = {
        {"fp64", DTYPE_F64},        {"f64", DTYPE_F64},       {"fp32", DTYPE_F32},
        {"f32", DTYPE_F32},         {"fp16", DTYPE_F16},      {"f16", DTYPE_F16},
        {"bf16", DTYPE_BF16},       {"i8", DTYPE_I8},         {"i16", DTYPE_I16},
        {"i32", DTYPE_I32},         {"i64", DTYPE_I64},       {"u8", DTYPE_U8},
        {"u16", DTYPE_U16},         {"u32", DTYPE_U32},       {"u64", DTYPE_U64},
        {"i1", DTYPE_BOOL},         {"u1", DTYPE_BOOL},       {"b8", DTYPE_BOOL},
        {"fp8e5", DTYPE_F8E5M2},    {"f8e5m2", DTYPE_F8E5M2}, {"fp8e4nv", DTYPE_F8E4M3},
        {"f8e4m3fn", DTYPE_F8E4M3},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strlen(types[i].name) == length && memcmp(types[i].name, text, length) == 0)
            return types[i].dtype;
    }
    return DTYPE_NONE;
}

static enum dtype type_of(const char *text)
{
    return source_dtype(text, strlen(text));
}

int source_numbers(const char *at, int64_t *out, int most, const char **end)
{
    int count = 0;
    if (*at != '(' && *at != '[')
        return -1;
    for (at++; *at != ')' && *at != ']'; count++) {
        char *after;
        if (count == most)
            return -1;
        out[count] = strtoll(at, &after, 10);
        if (after == at || (*after != ',' && *after != ')' && *after != ']'))
            return -1;
        for (at = after; *at == ',' || *at == ' ';)
            at++;
    }
    *end = at + 1;
    return count;
}

/* What closes the parenthesis before `at`; NULL: nothing. */
static const char *closing(const char *at)
{
    for (int depth = 1; *at; at++) {
        depth +=
            (*at == '(' || *at == '[' || *at == '{') - (*at == ')' || *at == ']' || *at == '}');
        if (depth == 0)
            return at;
    }
    return NULL;
}

/* The next item of a list up to `end`, without spaces round it; NULL: no item is left. */
static const char *next_item(const char **at, const char *end, struct arena *arena)
{
    const char *from = *at, *to;
    int depth = 0;
    while (from < end && (*from == ' ' || *from == ','))
        from++;
    for (to = from; to < end && (depth || *to != ','); to++)
        depth +=
            (*to == '(' || *to == '[' || *to == '{') - (*to == ')' || *to == ']' || *to == '}');
    *at = to;
    return from < end ? arena_text(arena, from, (size_t)(to - from)) : NULL;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Where `name` stands as a whole word with `behind` at once after it, from `at` on. */
static const char *find_word(const char *at, const char *name, const char *behind)
{
    size_t length = strlen(name);
    for (const char *from = at; (at = strstr(at, name)); at++)
        if ((at == from || (!is_word(at[-1]) && at[-1] != '.')) &&
            strncmp(at + length, behind, strlen(behind)) == 0)
            return at;
    return NULL;
}

/* ---- a kernel ---- */

/* "'in_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'" */
static bool read_signature(struct source_kernel *kernel, struct arena *arena)
{
    static const char mark[] = "'signature': {";
    const char *at = strstr(kernel->body, mark), *item;
    const char *end = at ? closing(at + sizeof mark - 1) : NULL;
    for (at = at ? at + sizeof mark - 1 : ""; end && (item = next_item(&at, end, arena));) {
        char *name = arena_text(arena, item + 1, strcspn(item + 1, "'"));
        const char *type = strstr(item, ": '");
        char *word = type ? arena_text(arena, type + 3, strcspn(type + 3, "'")) : NULL;
        bool pointer = word && word[0] == '*';
        if (!name || !word || kernel->arguments == SOURCE_ARGUMENTS)
            return false;
        /* A size of 1 is no parameter, but calls pass it; what is in capitals they do not. */
        bool constant = strcmp(word, "constexpr") == 0;
        if (constant && isupper((unsigned char)name[0]))
            continue;
        if (!pointer && !constant && type_of(word) == DTYPE_NONE)
            return false;
        kernel->argument[kernel->arguments++] =
            (struct source_argument){.name = name,
                                     .dtype = type_of(word + pointer),
                                     .pointer = pointer,
                                     .constant = constant};
    }
    return end != NULL;
}

static bool body_has(const struct source_kernel *kernel, const char *what, const char *name)
{
    size_t length = strlen(what);
    for (const char *at = kernel->body; (at = strstr(at, what)); at += length)
        if (strncmp(at + length, name, strlen(name)) == 0 && !is_word(at[length + strlen(name)]))
            return true;
    return false;
}

/* What the first call passes, for each argument in order: "NAME.run(buf0, 8, stream=stream0)". */
static bool read_call(struct source_kernel *kernel, const char *after, struct arena *arena)
{
    const char *at = find_word(after, kernel->name, ".run("), *end, *item;
    unsigned i = 0;
    at = at ? at + strlen(kernel->name) + strlen(".run(") : NULL;
    end = at ? closing(at) : NULL;
    while (end && (item = next_item(&at, end, arena)))
        if (!strchr(item, '=') && i < kernel->arguments)
            kernel->argument[i++].given = item;
    return end && i == kernel->arguments;
}

static enum status read_kernel(struct source_kernel *kernel, const char *after, struct arena *arena)
{
    if (!read_signature(kernel, arena)) {
        kernel->why = "a signature that cannot be read";
        return STATUS_OK;
    }
    for (unsigned i = 0; i < kernel->arguments; i++) {
        struct source_argument *a = &kernel->argument[i];
        bool scratch = strncmp(a->name, "ws_ptr", 6) == 0;
        a->read = a->pointer && !scratch && body_has(kernel, "tl.load(", a->name);
        a->written = a->pointer && !scratch && body_has(kernel, "tl.store(", a->name);
    }
    if (strstr(kernel->body, "tl.atomic_"))
        kernel->why = "atomics";
    else if (!read_call(kernel, after, arena))
        kernel->why = "a call that is not in its file";
    return STATUS_OK;
}

/* Behind the lines of a comment. */
static char *skip_comment(char *at)
{
    while (*at == '#') {
        char *end = strchr(at, '\n');
        at = end ? end + 1 : at + strlen(at);
    }
    return at;
}

enum status source_read(char *text, struct arena *arena, struct source_kernel **out)
{
    static const char mark[] = "# Graph fragment:\n", made[] = " = async_compile.triton(";
    struct source_kernel **end = out;
    *out = NULL;
    for (char *at = text; (at = strstr(at, mark));) {
        char *fragment = at + sizeof mark - 1, *name = skip_comment(fragment);
        char *body = strstr(name, "'''"), *stop = body ? strstr(body + 3, "'''") : NULL;
        size_t length = strcspn(name, " \n");
        at = name;
        if (!stop || !length || strncmp(name + length, made, sizeof made - 1) != 0)
            continue;
        struct source_kernel *kernel = arena_alloc(arena, sizeof *kernel);
        if (!kernel || !(kernel->name = arena_text(arena, name, length)))
            return STATUS_NO_MEMORY;
        kernel->fragment = arena_text(arena, fragment, (size_t)(name - fragment));
        kernel->body = arena_text(arena, body, (size_t)(stop - body));
        if (!kernel->fragment || !kernel->body || read_kernel(kernel, stop, arena))
            return STATUS_NO_MEMORY;
        kernel->after = stop;
        *end = kernel;
        end = &kernel->next;
        at = stop;
    }
    return STATUS_OK;
}

/* ---- arrays ---- */

/* "(4, 8), (8, 1)", sizes and strides. */
static bool read_layout(const char *at, struct hlo_shape *out)
{
    int rank = source_numbers(at, out->dim, HLO_RANK, &at);
    if (rank < 0 || strncmp(at, ", ", 2) != 0 ||
        source_numbers(at + 2, out->stride, HLO_RANK, &at) != rank)
        return false;
    out->rank = (unsigned)rank;
    out->count = hlo_elements(out->dim, out->rank);
    return out->count >= 0;
}

/* Where the array got its name last before the call: its definition, or the check of an input. */
static const char *definition(const struct source_kernel *kernel, const char *name)
{
    const char *call = find_word(kernel->after, kernel->name, ".run("), *found = NULL, *at;
    /* The last of the inputs stands in front of " = args". */
    for (at = kernel->after; (at = find_word(at, name, " = ")) && at < call; at++)
        if (strncmp(at + strlen(name), " = args\n", 8) != 0)
            found = at + strlen(name) + 3;
    for (at = kernel->after; (at = find_word(at, name, ", ")) && at < call; at++)
        if (!found && strncmp(at - strlen("assert_size_stride("), "assert_size_stride(", 19) == 0)
            found = at + strlen(name) + 2;
    return found;
}

bool source_layout(const struct source_kernel *kernel, const char *given, struct hlo_shape *out)
{
    static const char again[] = "reinterpret_tensor(", made[] = "empty_strided_cuda(";
    const char *at = given;
    char name[64];
    for (int steps = 0; at && steps < 16; steps++) {
        if (*at == '(')
            return read_layout(at, out);
        if (strncmp(at, made, sizeof made - 1) == 0)
            return read_layout(at + sizeof made - 1, out);
        if (strncmp(at, again, sizeof again - 1) == 0) {
            at = strchr(at, ',');
            return at && read_layout(at + 2, out);
        }
        size_t length = 0;
        while (is_word(at[length]))
            length++;
        char behind = at[length];
        if (!length || length >= sizeof name || behind == '.' || behind == '(' || behind == '[')
            return false;
        memcpy(name, at, length);
        name[length] = '\0';
        at = definition(kernel, name);
    }
    return false;
}
