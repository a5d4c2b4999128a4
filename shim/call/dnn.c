#include "call/dnn.h"

#include <stdio.h>
#include <string.h>
#include "call/call_name.h"
#include "lang/dtype.h"
#include "text/textbuf.h"

static const char *const dnn_functions[] = {
#define KIND(name, function, list) function,
    DNN_KIND_LIST(KIND)
#undef KIND
};

/* ------------------------------------------------------------------------- parameters */

#define AT(i)                                                                                      \
    {                                                                                              \
        .offset = (i)*8, .size = 8                                                                 \
    }
#define AT_4(i)  AT(i), AT((i) + 1), AT((i) + 2), AT((i) + 3)
#define AT_16(i) AT_4(i), AT_4((i) + 4), AT_4((i) + 8), AT_4((i) + 12)
#define EVERY_8  AT_16(0), AT_16(16), AT_16(32), AT_16(48)

static const struct param_layout conv_layout = {DNN_CONV_ARGUMENTS, {EVERY_8}};
static const struct param_layout conv3_layout = {DNN_CONV3_ARGUMENTS, {EVERY_8}};
static const struct param_layout attention_layout = {DNN_ATTENTION_ARGUMENTS, {EVERY_8}};
static const struct param_layout norm_layout = {DNN_NORM_ARGUMENTS, {EVERY_8}};
_Static_assert(DNN_ARGUMENTS == 64, "as many places as EVERY_8 has");

const struct param_layout *dnn_layout(enum dnn_kind kind)
{
    static const struct param_layout *const lists[] = {&conv_layout, &attention_layout,
                                                       &norm_layout, &conv3_layout};
    static const uint8_t list_of[] = {
#define KIND(name, function, list) DNN_LIST_##list,
        DNN_KIND_LIST(KIND)
#undef KIND
    };
    return lists[list_of[kind]];
}

void dnn_params(const struct dnn *dnn, void *params[DNN_ARGUMENTS])
{
    for (int i = 0; i < DNN_ARGUMENTS; i++)
        params[i] = (void *)(uintptr_t)&dnn->argument[i];
}

/* ------------------------------------------------------------------------------ names */

_Static_assert(DNN_WORDS <= 28 && ACCUMULATION_COUNT <= 16 && DTYPE_COUNT <= 64,
               "the key holds types, accumulation and words");

static uint64_t dnn_key(const struct dnn *d)
{
    uint64_t types = (uint64_t)d->type[0] | (uint64_t)d->type[1] << 6 | (uint64_t)d->type[2] << 12;
    return types << 32 | (uint64_t)d->accumulation << 28 | d->words;
}

static char *make_dnn_text(const void *value)
{
    static const char *const accumulations[] = {
#define ACCUMULATION(name, text) text,
        ACCUMULATION_LIST(ACCUMULATION)
#undef ACCUMULATION
    };
    static const char *const words[] = {
#define WORD(name, text) text,
        DNN_WORD_LIST(WORD)
#undef WORD
    };
    const struct dnn *d = value;
    struct textbuf text;
    textbuf_init(&text);
    textbuf_printf(&text, "%s<%s, %s, %s, %s", dnn_functions[d->kind],
                   dtype_text((enum dtype)d->type[0]), dtype_text((enum dtype)d->type[1]),
                   dtype_text((enum dtype)d->type[2]), accumulations[d->accumulation]);
    for (int i = 0; i < DNN_WORDS; i++) {
        if (d->words >> i & 1)
            textbuf_printf(&text, ", %s", words[i]);
    }
    textbuf_printf(&text, ">");
    char *made = text.failed ? NULL : strdup(text.data);
    textbuf_release(&text);
    return made;
}

static char *make_graph_text(const void *value)
{
    char *text = NULL;
    return asprintf(&text, "%s<%s>", dnn_functions[DNN_GRAPH], (const char *)value) < 0 ? NULL
                                                                                        : text;
}

const char *dnn_graph_name(const char *operations)
{
    uint64_t key = 0xcbf29ce484222325u;
    for (const char *c = operations; *c; c++)
        key = (key ^ (uint8_t)*c) * 0x100000001b3u;
    return call_name(dnn_functions[DNN_GRAPH], key, make_graph_text, operations);
}

const char *dnn_name(const struct dnn *dnn)
{
    if (dnn->graph)
        return dnn->graph;
    return call_name(dnn_functions[dnn->kind], dnn_key(dnn), make_dnn_text, dnn);
}
