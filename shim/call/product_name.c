/*
 * product_name.c - names of calls, made once each.
 *
 * A name follows from a key of two words: the function, the types, the accumulation and the words
 * of product.h or dnn.h. An open table without a lock for readers leads from one to the other;
 * names are added under a lock and never removed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "text/textbuf.h"
#include "base/uninterrupted.h"
#include "call/call_name.h"
#include "call/product.h"
#include "lang/dtype.h"

enum { NAMES = 1 << 11, NAMES_MOST = NAMES / 2 };

struct name {
    const char *function;
    uint64_t key;
    char *text;
};

static struct {
    _Atomic(struct name *) at[NAMES];
    pthread_mutex_t lock;
    int count;
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t product_key(const struct product *p)
{
    uint64_t types = (uint64_t)p->a_type | (uint64_t)p->b_type << 6 | (uint64_t)p->c_type << 12 |
                     (uint64_t)p->bias_type << 18;
    return types << 32 | (uint64_t)p->accumulation << 28 | p->words;
}

_Static_assert(PRODUCT_WORDS <= 28 && ACCUMULATION_COUNT <= 16 && DTYPE_COUNT <= 64,
               "the key holds a product's types, accumulation and words");

static const char *const accumulations[] = {
#define ACCUMULATION(name, text) text,
    ACCUMULATION_LIST(ACCUMULATION)
#undef ACCUMULATION
};

static const char *const product_words[] = {
#define WORD(name, text) text,
    PRODUCT_WORD_LIST(WORD)
#undef WORD
};

static char *make_product_text(const void *value)
{
    const struct product *p = value;
    struct textbuf text;
    textbuf_init(&text);
    textbuf_printf(&text, "%s<%s, %s, %s, %s", p->function, dtype_text((enum dtype)p->a_type),
                   dtype_text((enum dtype)p->b_type), dtype_text((enum dtype)p->c_type),
                   accumulations[p->accumulation]);
    for (int i = 0; i < PRODUCT_WORDS; i++) {
        if (!(p->words >> i & 1))
            continue;
        textbuf_printf(&text, ", %s", product_words[i]);
        if (1u << i == PRODUCT_BIAS && p->bias_type != p->c_type)
            textbuf_printf(&text, " %s", dtype_text((enum dtype)p->bias_type));
    }
    textbuf_printf(&text, ">");
    char *made = text.failed ? NULL : strdup(text.data);
    textbuf_release(&text);
    return made;
}

/* Where the name is, or the free place for it. */
static _Atomic(struct name *) *place_of(const char *function, uint64_t key)
{
    uint64_t hash = (key ^ (uint64_t)(uintptr_t)function) * 0x9E3779B97F4A7C15u;
    for (uint64_t at = hash >> 40;; at++) {
        _Atomic(struct name *) *place = &names.at[at % NAMES];
        const struct name *there = atomic_load_explicit(place, memory_order_acquire);
        if (!there || (there->key == key && there->function == function))
            return place;
    }
}

static const char *add_call_name(const char *function, uint64_t key, call_text *make,
                                 const void *value)
{
    struct uninterrupted kept;
    uninterrupted_begin(&kept);
    pthread_mutex_lock(&names.lock);
    _Atomic(struct name *) *place = place_of(function, key);
    struct name *made = atomic_load(place);
    if (!made && names.count < NAMES_MOST && (made = malloc(sizeof *made))) {
        *made = (struct name){function, key, make(value)};
        if (made->text) {
            names.count++;
            atomic_store_explicit(place, made, memory_order_release);
        } else {
            free(made);
            made = NULL;
        }
    }
    pthread_mutex_unlock(&names.lock);
    uninterrupted_end(&kept);
    return made ? made->text : NULL;
}

const char *call_name(const char *function, uint64_t key, call_text *make, const void *value)
{
    const struct name *there = atomic_load_explicit(place_of(function, key), memory_order_acquire);
    return there ? there->text : add_call_name(function, key, make, value);
}

const char *product_name(const struct product *product)
{
    return call_name(product->function, product_key(product), make_product_text, product);
}

/* ---- a name read back ---- */

/* The text up to the next ", " or the closing bracket, which is skipped. False: there is none. */
static bool next_part(const char **at, char part[PRODUCT_FUNCTION])
{
    size_t length = strcspn(*at, ",>");
    if (!(*at)[length] || length >= PRODUCT_FUNCTION)
        return false;
    memcpy(part, *at, length);
    part[length] = '\0';
    *at += length + ((*at)[length] == ',' && (*at)[length + 1] == ' ' ? 2 : 1);
    return true;
}

static bool read_product_type(const char **at, uint8_t *type)
{
    char part[PRODUCT_FUNCTION];
    if (!next_part(at, part))
        return false;
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (!strcmp(dtype_text((enum dtype)i), part)) {
            *type = (uint8_t)i;
            return true;
        }
    }
    return false;
}

static int index_of(const char *const *texts, int count, const char *text, size_t length)
{
    for (int i = 0; i < count; i++) {
        if (strlen(texts[i]) == length && !memcmp(texts[i], text, length))
            return i;
    }
    return -1;
}

static bool read_product_word(const char **at, struct product *out)
{
    char part[PRODUCT_FUNCTION];
    if (!next_part(at, part))
        return false;
    int word = index_of(product_words, PRODUCT_WORDS, part, strcspn(part, " "));
    out->words |= word < 0 ? 0 : 1u << word;
    const char *type = strchr(part, ' ');
    for (int i = 0; type && i < DTYPE_COUNT; i++) {
        if (!strcmp(dtype_text((enum dtype)i), type + 1))
            out->bias_type = (uint8_t)i;
    }
    return word >= 0;
}

bool product_parse(const char *name, struct product *out, char function[PRODUCT_FUNCTION])
{
    char part[PRODUCT_FUNCTION];
    size_t length = strcspn(name, "<");
    *out = (struct product){.function = function};
    if (!name[length] || length >= PRODUCT_FUNCTION)
        return false;
    memcpy(function, name, length);
    function[length] = '\0';
    const char *at = name + length + 1;
    if (!read_product_type(&at, &out->a_type) || !read_product_type(&at, &out->b_type) ||
        !read_product_type(&at, &out->c_type) || !next_part(&at, part))
        return false;
    out->bias_type = out->c_type;
    int accumulation = index_of(accumulations, ACCUMULATION_COUNT, part, strlen(part));
    out->accumulation = (uint8_t)(accumulation < 0 ? 0 : accumulation);
    while (accumulation >= 0 && *at) {
        if (!read_product_word(&at, out))
            return false;
    }
    return accumulation >= 0;
}
