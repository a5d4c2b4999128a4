/* lane_find.c - finds the function of an instruction by its words and the widths of its operands.
 */
#include "exec/lane/lane.h"
#if defined __x86_64__
#include <cpuid.h>
#endif
#include <fenv.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "exec/lane/lane_loop.h"

static const struct lane_family *const FAMILIES[] = {
    &lane_int_family,       &lane_wide_family,       &lane_bits_family,
    &lane_logic_family,     &lane_float_family,      &lane_double_family,
    &lane_half_family,      &lane_setp_family,       &lane_set_family,
    &lane_cvt_int_family,   &lane_cvt_to_int_family, &lane_cvt_from_int_family,
    &lane_cvt_float_family, &lane_cvt_small_family,  &lane_approx_family,
};
enum { FAMILY_COUNT = sizeof FAMILIES / sizeof FAMILIES[0] };

static const char *const OPCODES[] = {
    "abs",   "add",      "addc",  "and",       "bfe",  "bfi",  "bfind", "bmsk",  "brev", "clz",
    "cnot",  "copysign", "cos",   "cvt",       "div",  "dp2a", "dp4a",  "ex2",   "fma",  "fns",
    "lg2",   "lop3",     "mad",   "mad24",     "madc", "max",  "min",   "mov",   "mul",  "mul24",
    "neg",   "not",      "or",    "popc",      "prmt", "rcp",  "rem",   "rsqrt", "sad",  "selp",
    "set",   "setp",     "shf",   "shl",       "shr",  "sin",  "slct",  "sqrt",  "sub",  "subc",
    "szext", "tanh",     "testp", "vabsdiff4", "xor",
};

/* ---- an index of all rows by key ------------------------------------------------------------- */

enum { SLOTS = 1 << 15, KEY_MAX = 128 };
static const struct lane_row *slots[SLOTS];
static bool have_fast;
static pthread_once_t indexed = PTHREAD_ONCE_INIT;

/* FNV-1a. */
static unsigned slot_of(const char *key)
{
    uint32_t hash = 2166136261u;
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 16777619u;
    return (hash ^ hash >> 15) % SLOTS;
}

static void add_row(const struct lane_row *row)
{
    unsigned slot = slot_of(row->key);
    while (slots[slot])
        slot = (slot + 1) % SLOTS;
    slots[slot] = row;
}

#if defined __x86_64__
/* clang's __builtin_cpu_supports has no name for it before version 18. */
static bool has_lzcnt(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & (1u << 5));
}
#endif

static void make_index(void)
{
    for (unsigned f = 0; f < FAMILY_COUNT; f++)
        for (unsigned r = 0; r < FAMILIES[f]->count; r++)
            add_row(&FAMILIES[f]->rows[r]);
#if defined __x86_64__
    have_fast = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt") && has_lzcnt();
#endif
}

/* The row of `key` after `*slot` (start with slot_of(key)); NULL at the end. */
static const struct lane_row *next_row(const char *key, unsigned *slot)
{
    for (; slots[*slot]; *slot = (*slot + 1) % SLOTS) {
        const struct lane_row *row = slots[*slot];
        if (strcmp(row->key, key) == 0) {
            *slot = (*slot + 1) % SLOTS;
            return row;
        }
    }
    return NULL;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void append(char *key, const char *word)
{
    size_t length = strlen(key);
    snprintf(key + length, KEY_MAX - length, "%s%s", length ? "." : "", word);
}

static void make_key(const struct ptx_instruction *instruction, char *key)
{
    key[0] = '\0';
    append(key, instruction->opcode);
    for (unsigned i = 0; i < instruction->modifier_count; i++)
        if (strcmp(instruction->modifiers[i], "rn") != 0)
            append(key, instruction->modifiers[i]);
    for (unsigned i = 0; i < instruction->type_count; i++)
        append(key, ptx_type_name(instruction->types[i]));
}

static char letter_of(unsigned width)
{
    switch (width) {
    case 0:
        return 'p';
    case 16:
        return 'h';
    case 32:
        return 'w';
    case 64:
        return 'd';
    case 128:
        return 'q';
    default:
        return '?';
    }
}

static unsigned width_of(char letter)
{
    static const char LETTERS[] = "hwdq";
    const char *at = strchr(LETTERS, letter);
    return letter && at ? 16u << (at - LETTERS) : 0;
}

/* ---- what is wrong --------------------------------------------------------------------------- */

/* Whether some instruction of this opcode has `word` among its words. */
static bool opcode_has_word(const char *opcode, const char *word)
{
    char inner[KEY_MAX], last[KEY_MAX];
    size_t length = strlen(opcode);
    snprintf(inner, sizeof inner, ".%s.", word);
    snprintf(last, sizeof last, ".%s", word);
    for (unsigned s = 0; s < SLOTS; s++) {
        const char *key = slots[s] ? slots[s]->key : "";
        if (strncmp(key, opcode, length) != 0 || key[length] != '.')
            continue;
        size_t rest = strlen(key), tail = strlen(last);
        if (strstr(key + length, inner) || (rest >= tail && strcmp(key + rest - tail, last) == 0))
            return true;
    }
    return false;
}

static void explain_key(const struct ptx_instruction *instruction, struct error *err)
{
    for (unsigned i = 0; i < instruction->modifier_count; i++) {
        const char *word = instruction->modifiers[i];
        if (strcmp(word, "rn") != 0 && !opcode_has_word(instruction->opcode, word)) {
            error_set(err, STATUS_UNSUPPORTED, "%s: .%s is not a known modifier of %s.",
                      instruction->text, word, instruction->opcode);
            return;
        }
    }
    for (unsigned i = 0; i < instruction->type_count; i++) {
        const char *word = ptx_type_name(instruction->types[i]);
        if (!opcode_has_word(instruction->opcode, word)) {
            error_set(err, STATUS_UNSUPPORTED, "%s: %s has no type .%s.", instruction->text,
                      instruction->opcode, word);
            return;
        }
    }
    error_set(err, STATUS_UNSUPPORTED,
              "%s: each of these words is known for %s, but not all of them together.",
              instruction->text, instruction->opcode);
}

static void explain_operands(const struct ptx_instruction *instruction, const unsigned *widths,
                             const struct lane_row *row, struct error *err)
{
    unsigned expected = (unsigned)strlen(row->operands);
    if (instruction->operand_count != expected) {
        error_set(err, STATUS_UNSUPPORTED, "%s takes %u operands, and this one has %u.",
                  instruction->text, expected, instruction->operand_count);
        return;
    }
    for (unsigned i = 0; i < expected; i++)
        if (letter_of(widths[i]) != row->operands[i]) {
            error_set(err, STATUS_UNSUPPORTED,
                      "%s: operand %u is %u bits wide; expected %u (0 stands for a predicate).",
                      instruction->text, i, widths[i], width_of(row->operands[i]));
            return;
        }
}

/* ---- for the families ------------------------------------------------------------------------ */

void lane_rounded(lane_fn *loop, int mode, const struct lane_args *args)
{
    int before = fegetround();
    fesetround(mode);
    loop(args);
    fesetround(before);
}

/* ---- lane.h ---------------------------------------------------------------------------------- */

lane_fn *lane_find(const struct ptx_instruction *instruction, const unsigned *widths,
                   struct error *err)
{
    if (!lane_is_arithmetic(instruction->opcode)) {
        error_set(err, STATUS_UNSUPPORTED, "%s: %s is not an arithmetic instruction.",
                  instruction->text, instruction->opcode);
        return NULL;
    }
    pthread_once(&indexed, make_index);
    char key[KEY_MAX], operands[LANE_SOURCES + 3] = "";
    make_key(instruction, key);
    for (unsigned i = 0; i < instruction->operand_count && i < LANE_SOURCES + 2; i++)
        operands[i] = letter_of(widths[i]);
    const struct lane_row *first = NULL, *row;
    unsigned slot = slot_of(key);
    while ((row = next_row(key, &slot))) {
        if (strcmp(row->operands, operands) == 0)
            return have_fast ? row->fast : row->plain;
        if (!first)
            first = row;
    }
    if (first)
        explain_operands(instruction, widths, first, err);
    else
        explain_key(instruction, err);
    return NULL;
}

unsigned lane_width(const struct ptx_instruction *instruction, unsigned index)
{
    pthread_once(&indexed, make_index);
    char key[KEY_MAX];
    make_key(instruction, key);
    unsigned slot = slot_of(key);
    const struct lane_row *row = next_row(key, &slot);
    return row && index < strlen(row->operands) ? width_of(row->operands[index]) : 0;
}

bool lane_is_arithmetic(const char *opcode)
{
    for (size_t i = 0; i < sizeof OPCODES / sizeof OPCODES[0]; i++)
        if (strcmp(OPCODES[i], opcode) == 0)
            return true;
    return false;
}
