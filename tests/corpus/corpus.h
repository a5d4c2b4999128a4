/*
 * corpus.h - the corpus as data: operations, entries, inputs, and one launch made of them.
 *
 * Tables are made before there are threads; a problem and a launcher are one thread's. What fails
 * ends the program with a sentence and 2 (die).
 */
#ifndef CORPUS_H
#define CORPUS_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "refs/abi/ref_list.h"
#include "lang/formals.h"

enum { BLOCK = 128, MOST_BLOCKS = 64, DIMS = 4, PARAMS = 20, WORD = 32, PAIRS = 24 };

void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ------------------------------------------------------------------------- operations */

enum role { ROLE_CONST, ROLE_WRITTEN, ROLE_INOUT, ROLE_SCRATCH, ROLE_SCALAR };

struct dim {
    char name[WORD]; /* "" for a number */
    int64_t number;
    bool pitched; /* its elements are `pitch` apart, not as far as the inner dims take */
};

/* A kernel's parameter; `type` as it is written: T is the kernel's own. */
struct param {
    char name[WORD], type[8];
    enum role role;
    int ndim;
    struct dim dim[DIMS];
};

/* A row of ops.def; what is parsed from it, once by operations_parse. `builtin` is NULL where this
 * build has no such reference. */
struct operation {
    const char *name, *reference, *bind, *grid, *signature, *schema, *usual;
    int params;
    struct param param[PARAMS];
    const struct ref_builtin *builtin;
    struct formals formals;
};

extern struct operation operations[];
extern const size_t operation_count;
void operations_parse(void);
/* Writes the registry of all operations. */
void registry_write(void);
/* Writes a line for each kernel: "study" or "own", "right", "wrong" or "escapes", its name. */
void kernels_write(void);
/* Writes the `fuzz` mapping of an entry: from its schema and its kinds of inputs. */
void fuzz_write(const struct operation *op);
/* The formal that gets this parameter, or NULL: by `bind`, or by its name. */
const struct formal *operation_formal(const struct operation *op, const char *param);
/* The parameter that a formal gets, or NULL. */
const struct param *operation_param(const struct operation *op, const char *formal);
/* The number that `bind` gives a formal; as it is where there is none. */
void operation_number(const struct operation *op, const char *formal, double *number);

/* ---------------------------------------------------------------------------- entries */

enum entry_kind { ENTRY_RIGHT, ENTRY_WRONG, ENTRY_ESCAPES };

/* A row of entries.def. */
struct entry {
    const char *op, *dtype;
    int number; /* of the mutant */
    enum entry_kind kind;
    bool study;
    int bug_class;
    const char *kill, *usual, *oracles, *sentence;
};

extern const struct entry entries[];
extern const size_t entry_count;
const struct operation *entry_operation(const struct entry *entry);
void entry_symbol(const struct entry *entry, char name[64]);

/* ----------------------------------------------------------------------------- inputs */

/*
 * An input: words KEY=VALUE, from which and from the seed all data follow. Keys are sizes, reals,
 * and
 *
 *   dist     of what is read: see dists in input.c
 *   neutral  1: weights that multiply are 1, those that are added 0
 *   ids      of indices: uniform, zipf, unique (its own place), last
 *   ignored  1: some targets are -100
 *   mask     none, some (columns), full (some rows as a whole)
 *   inout    what is added to: normal, zero, nan
 *   fill     what an output holds before: nan, zero, right
 *   pad      elements between the rows of an array with a pitch
 *   shift    elements from an aligned address to the arrays
 */
struct input {
    uint64_t seed;
    int pairs;
    struct {
        char key[WORD], word[WORD];
    } pair[PAIRS];
};

/* What a scalar is where the input gives none; NaN: it must give one. */
double scalar_usual(const char *name);
/* What an array holds that takes no number of any kind. */
struct kind {
    const char *reference, *param; /* reference NULL: of any */
    const char *below;             /* an index under that size */
    bool bit, positive;
};
const struct kind *kind_of(const char *reference, const char *param); /* or NULL */
/* Once, before the first problem is made. */
void inputs_start(void);
/* Adds the words of `text`, with spaces or commas between; a key that is there is replaced. `seed`
 * is no word but the seed. */
void input_add(struct input *input, const char *text);
const char *input_word(const struct input *input, const char *key, const char *otherwise);
/* Ends the program where a key without `otherwise` (NaN) is missing. */
double input_number(const struct input *input, const char *key, double otherwise);
void input_print(const struct input *input, char text[512]);
/* One candidate for each key of the schema, by the seed; at most that many elements in an array. */
void input_draw(struct input *input, const struct operation *op, uint64_t seed, double elements);

/* ------------------------------------------------------------------------ one problem */

/* An array as the host has it: dense, in its dtype. */
struct array {
    const struct param *param;
    enum dtype dtype;
    int ndim;
    int64_t dim[DIMS], count, pitch; /* pitch: from row to row on the device, 0 for dense */
    size_t room;                     /* bytes of each of these */
    void *before, *after, *want;     /* the last: the right output, rounded to dtype */
};

struct problem {
    const struct operation *op;
    enum dtype dtype;
    struct input input;
    int arrays;
    struct array array[REF_MAX_TENSORS];
};

/* Draws all arrays. The problem's memory is used again. */
void problem_make(struct problem *problem, const struct operation *op, enum dtype dtype,
                  const struct input *input);
void problem_free(struct problem *problem);
/* The value of a scalar parameter. */
double problem_scalar(const struct problem *problem, const struct param *param);
/* Fills the right values of every output; those of arrays that decide ties are read from `after`.
 */
void problem_expect(struct problem *problem);

enum dtype dtype_of(const char *type, enum dtype own);
size_t dtype_size(enum dtype dtype);
double dtype_decode(enum dtype dtype, const void *array, int64_t i);
void dtype_encode(enum dtype dtype, void *array, int64_t i, double value);
uint64_t random_next(uint64_t *state);

/* ---------------------------------------------------------------------------- oracles */

enum oracle { ORACLE_KERNELBENCH, ORACLE_SOL, ORACLE_GEAK, ORACLE_ASSERT_CLOSE, ORACLES };
extern const char oracle_letters[ORACLES + 1];
extern const char *const oracle_names[ORACLES];

/* Whether they pass `got` for the right values, for all outputs of a problem: its letters, '-' for
 * no. */
void oracles_judge(const struct problem *problem, char letters[ORACLES + 1]);

/* --------------------------------------------------------------------------- launches */

/* A stream of its own, and device memory for the arrays of one launch after the other. */
struct launcher;

/* In the thread's current context. It enqueues at most `ahead` launches, or two, before it waits
 * for the first of them. */
struct launcher *launcher_create(int ahead);
void launcher_destroy(struct launcher *launcher);
/* Before another kernel's turn: what lies around its arrays is the same in every run. */
void launcher_begin(struct launcher *launcher);
/* Enqueues all arrays and the launch; false where the device has no memory for them. */
bool launcher_launch(struct launcher *launcher, CUfunction function, const struct problem *problem);
/* Waits, and reads the outputs of the last launch into `after`. */
void launcher_read(struct launcher *launcher, struct problem *problem);
/* Ends the program where a driver call failed. */
#define CHECK(call) check((call), __FILE__, __LINE__, #call)
void check(CUresult result, const char *file, int line, const char *what);

struct settings;
/* Once, before the first launch. */
void flow_start(const struct settings *settings);
/* Waits until cuvet has room for the check of a launch of so many bytes, which comes next. */
void flow_admit(size_t bytes);
/* Waits for all checks. */
void flow_finish(void);
double milliseconds(void);

/* -------------------------------------------------------------------------- the verbs */

struct settings {
    const char *only, *input; /* words, with commas between */
    int part, parts;          /* all kernels of every parts-th operation, from number `part` on */
    int threads;
    int seeds, trials, soak, study;
    int seconds, progress; /* 0 for none */
    int ahead, megabytes;  /* launches, and of arrays, for which checks may be under way */
    double elements;
};

void corpus_run(const char *fatbin, const char *records, const struct settings *settings);
/* 0 where all expectations hold. */
int corpus_report(const char *records, int journals, char **journal);

#endif
