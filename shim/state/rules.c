#include "state/rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lang/dtype.h"
#include "state/guard.h"

enum { MOST_OWNED = 1 << 11 /* rows or pages of a launch that are held against each other */ };

bool state_find(struct state_report *report, const char *rule, const char *format, ...)
{
    va_list args;
    report->rule = rule;
    va_start(args, format);
    vsnprintf(report->sentence, sizeof(report->sentence), format, args);
    va_end(args);
    return true;
}

int64_t state_number(const struct check *check, const struct expr *expr, int64_t otherwise)
{
    int64_t value;
    return expr && expr_eval(expr, check->binding.slot, &value) ? value : otherwise;
}

void state_case_open(struct state_case *of, const struct check *check,
                     const struct state_view *view)
{
    const struct binding_plan *plan = check_spec(check)->plan;
    *of = (struct state_case){
        .check = check,
        .plan = plan,
        .view = view,
        .rows = state_number(check, plan->state->rows, 0),
        .page = state_number(check, plan->state->page, 0),
        .null = state_number(check, plan->state->null, -1),
    };
}

static const char *rule_array_name(const struct state_case *of, int plan_array)
{
    return plan_array < 0 ? "?" : of->plan->array[plan_array].item->name;
}

static const char *cache_name(const struct state_case *of)
{
    return rule_array_name(of, of->plan->state->cache[0]);
}

/* Rows or pages, each with its first owner; open addressing. */
struct owners {
    struct owner {
        int64_t what; /* -1: empty */
        int32_t sequence, number;
    } owner[2 * MOST_OWNED];
};

static void owners_clear(struct owners *owners)
{
    memset(owners, 0xff, sizeof(*owners));
}

/* The owner before, or NULL: the given one is recorded. `what` is not negative. */
static const struct owner *owners_add(struct owners *owners, int64_t what, int64_t sequence,
                                      int64_t number)
{
    size_t at = (size_t)what % (2 * MOST_OWNED);
    while (owners->owner[at].what >= 0 && owners->owner[at].what != what)
        at = (at + 1) % (2 * MOST_OWNED);
    struct owner *owner = &owners->owner[at];
    if (owner->what == what)
        return owner;
    *owner = (struct owner){what, (int32_t)sequence, (int32_t)number};
    return NULL;
}

/* ---- what is appended ---- */

static bool append_beyond(const struct state_case *of, struct state_report *report)
{
    const struct state_ids *ids = &of->view->append;
    for (int64_t i = 0; ids->bytes && of->rows > 0 && i < ids->count; i++) {
        int64_t row = state_id(ids, i);
        if (row >= of->rows)
            return state_find(report, "beyond",
                              "'%s' gives token %lld row %lld; '%s' has %lld rows",
                              rule_array_name(of, of->plan->state->append), (long long)i,
                              (long long)row, cache_name(of), (long long)of->rows);
    }
    return false;
}

/* The null page takes what is thrown away. */
static bool row_is_null(const struct state_case *of, int64_t row)
{
    return of->null >= 0 && row / (of->page > 0 ? of->page : 1) == of->null;
}

static bool append_twice(const struct state_case *of, struct state_report *report)
{
    struct owners owners;
    const struct state_ids *ids = &of->view->append;
    int64_t count = ids->bytes && ids->count < MOST_OWNED ? ids->count : MOST_OWNED;
    owners_clear(&owners);
    for (int64_t i = 0; ids->bytes && i < count; i++) {
        int64_t row = state_id(ids, i);
        const struct owner *first =
            row < 0 || row_is_null(of, row) ? NULL : owners_add(&owners, row, 0, i);
        if (first)
            return state_find(report, "twice",
                              "'%s' gives tokens %d and %lld the same row, %lld, of '%s'",
                              rule_array_name(of, of->plan->state->append), first->number,
                              (long long)i, (long long)row, cache_name(of));
    }
    return false;
}

static bool row_is_named(const struct state_ids *ids, int64_t row)
{
    for (int64_t i = 0; ids->bytes && i < ids->count; i++) {
        if (state_id(ids, i) == row)
            return true;
    }
    return false;
}

/* The row of the cache that the element is of; INT64_MIN: it is no element of a guarded row. */
static int64_t guarded_row(const struct state_case *of, const struct state_guard *guard, int64_t at,
                           int64_t col)
{
    const struct state_ids *ids = &of->view->append;
    const struct bound_array *array = guard->array;
    if (bound_ids(array) < 0)
        return guard_row(&of->check->binding, array, at, col);
    int64_t row = ids->bytes && at < ids->count ? state_id(ids, at) : -1;
    return row < 0 || row >= array->rows.limit ? INT64_MIN : row + 1;
}

/* Whether the row must not change. What lies in front of the cache may be another array's: it
 * counts where padding leads there. */
static bool must_stay(const struct state_ids *ids, int64_t row)
{
    return row != INT64_MIN && row_is_named(ids, row) == (row < 0);
}

static bool guard_changed(const struct state_case *of, const struct state_guard *guard,
                          struct state_report *report)
{
    const struct bound_array *array = guard->array;
    const char *cache = of->check->binding.array[array->guard - 1].name;
    int64_t size = dtype_bytes(array->dtype), rows = array->ndim > 1 ? array->dim[0] : 1;
    int64_t cols = array->dim[array->ndim - 1];
    for (int64_t at = 0; at < rows; at++) {
        int64_t offset = array->ndim > 1 ? at * guard->stride[0] * size : 0;
        if (!memcmp(guard->before + offset, guard->after + offset, (size_t)(cols * size)))
            continue;
        for (int64_t col = 0; col < cols; col++) {
            int64_t byte = offset + col * size, row = guarded_row(of, guard, at, col);
            if (memcmp(guard->before + byte, guard->after + byte, (size_t)size) &&
                must_stay(&of->view->append, row))
                return state_find(
                    report, "changed", "row %lld of '%s' changed, which no element of '%s' names%s",
                    (long long)row, cache, rule_array_name(of, of->plan->state->append),
                    row < 0 ? ": it lies in front of the cache, where -1 leads" : "");
        }
    }
    return false;
}

static bool append_changed(const struct state_case *of, struct state_report *report)
{
    if (moment_is_shared(&of->check->moment_of_state))
        return false; /* an append on another stream may have written between the copies */
    for (int i = 0; of->view->append.bytes && i < of->view->guards; i++) {
        if (guard_changed(of, &of->view->guard[i], report))
            return true;
    }
    return false;
}

/* ---- what is read ---- */

/* A table in CSR: where the pages of each sequence begin is an array of its own. */
static bool is_csr(const struct state_case *of)
{
    return of->plan->state->indptr >= 0;
}

/* Whether all that gives a table in CSR was copied. */
static bool has_csr(const struct state_case *of)
{
    const struct state_view *view = of->view;
    return view->table.bytes && view->indptr.bytes && view->indptr.count > 1 &&
           (of->plan->state->last < 0 ||
            (view->last.bytes && view->last.count >= view->indptr.count - 1));
}

/* Without a table each sequence has one page, the cache's own row of places. */
int64_t state_sequences(const struct state_case *of)
{
    const struct state_view *view = of->view;
    if (of->page <= 0 || (of->plan->state->table >= 0 && !view->table.bytes))
        return 0;
    if (is_csr(of))
        return has_csr(of) ? view->indptr.count - 1 : 0;
    if (of->plan->state->length)
        return 1;
    return view->lengths.bytes && view->lengths.count > 0 ? view->lengths.count : 0;
}

/* The entry of the table that is the sequence's first. */
static int64_t sequence_first(const struct state_case *of, int64_t sequence)
{
    const struct state_view *view = of->view;
    return is_csr(of) ? state_id(&view->indptr, sequence)
                      : view->table.count / state_sequences(of) * sequence;
}

/* Pages that the table has for the sequence; 0 where they are outside of it. */
static int64_t sequence_pages(const struct state_case *of, int64_t sequence)
{
    if (!of->view->table.bytes)
        return 1;
    if (!is_csr(of))
        return of->view->table.count / state_sequences(of);
    int64_t first = sequence_first(of, sequence), end = sequence_first(of, sequence + 1);
    return first < 0 || end < first || end > of->view->table.count ? 0 : end - first;
}

static int64_t csr_length(const struct state_case *of, int64_t sequence)
{
    int64_t pages = sequence_pages(of, sequence);
    int64_t last = of->view->last.bytes ? state_id(&of->view->last, sequence) : of->page;
    return pages > 0 ? (pages - 1) * of->page + last : 0;
}

int64_t state_length(const struct state_case *of, int64_t sequence)
{
    if (is_csr(of))
        return csr_length(of, sequence);
    const struct expr *length = of->plan->state->length;
    return length ? state_number(of->check, length, 0) : state_id(&of->view->lengths, sequence);
}

int64_t state_page(const struct state_case *of, int64_t sequence, int64_t place)
{
    return of->view->table.bytes
               ? state_id(&of->view->table, sequence_first(of, sequence) + place / of->page)
               : sequence;
}

int64_t state_reach(const struct state_case *of, int64_t sequence)
{
    int64_t length = state_length(of, sequence), most = sequence_pages(of, sequence) * of->page;
    return length < most ? length : most;
}

/* Pages of the sequence that are read, and that the table has. */
static int64_t used_pages(const struct state_case *of, int64_t sequence)
{
    return (state_reach(of, sequence) + of->page - 1) / of->page;
}

/* Calls `rule` for each page that is read, until one is broken. */
static bool each_page(const struct state_case *of, struct state_report *report,
                      bool (*rule)(const struct state_case *of, int64_t sequence, int64_t number,
                                   struct state_report *report))
{
    int64_t sequences = state_sequences(of);
    for (int64_t n = 0; n < sequences; n++) {
        for (int64_t i = 0; i < used_pages(of, n); i++) {
            if (rule(of, n, i, report))
                return true;
        }
    }
    return false;
}

static bool csr_beyond(const struct state_case *of, struct state_report *report)
{
    int64_t sequences = is_csr(of) ? state_sequences(of) : 0;
    for (int64_t n = 0; n < sequences; n++) {
        int64_t first = sequence_first(of, n), end = sequence_first(of, n + 1);
        if (first < 0 || end < first || end > of->view->table.count)
            return state_find(
                report, "beyond", "'%s' gives sequence %lld entries %lld to %lld; '%s' has %lld",
                rule_array_name(of, of->plan->state->indptr), (long long)n, (long long)first,
                (long long)end, rule_array_name(of, of->plan->state->table),
                (long long)of->view->table.count);
    }
    return false;
}

static bool read_long(const struct state_case *of, struct state_report *report)
{
    int64_t sequences = state_sequences(of);
    for (int64_t n = 0; n < sequences; n++) {
        int64_t length = state_length(of, n);
        if (length > sequence_pages(of, n) * of->page)
            return state_find(report, "beyond",
                              "sequence %lld has length %lld; '%s' has %lld places for it",
                              (long long)n, (long long)length, cache_name(of),
                              (long long)(sequence_pages(of, n) * of->page));
    }
    return false;
}

static bool page_beyond(const struct state_case *of, int64_t sequence, int64_t number,
                        struct state_report *report)
{
    int64_t page = state_page(of, sequence, number * of->page);
    if (!of->view->table.bytes)
        return false;
    if (page < 0)
        return state_find(report, "beyond",
                          "sequence %lld reads page %lld by entry %lld of '%s': there is none",
                          (long long)sequence, (long long)page, (long long)number,
                          rule_array_name(of, of->plan->state->table));
    return of->rows > 0 && page >= of->rows &&
           state_find(report, "beyond",
                      "sequence %lld reads page %lld by entry %lld of '%s'; '%s' has %lld pages",
                      (long long)sequence, (long long)page, (long long)number,
                      rule_array_name(of, of->plan->state->table), cache_name(of),
                      (long long)of->rows);
}

static bool page_null(const struct state_case *of, int64_t sequence, int64_t number,
                      struct state_report *report)
{
    return of->null >= 0 && of->view->table.bytes &&
           state_page(of, sequence, number * of->page) == of->null &&
           state_find(report, "null",
                      "sequence %lld reads the null page, %lld, by entry %lld of '%s': its length "
                      "is %lld",
                      (long long)sequence, (long long)of->null, (long long)number,
                      rule_array_name(of, of->plan->state->table),
                      (long long)state_length(of, sequence));
}

/* Whether two sequences begin with the same pages, up to number `number`. */
static bool same_prefix(const struct state_case *of, int64_t a, int64_t b, int64_t number)
{
    for (int64_t i = 0; i <= number; i++) {
        if (state_page(of, a, i * of->page) != state_page(of, b, i * of->page))
            return false;
    }
    return true;
}

/* A page that is still being filled belongs to one sequence, whatever they share. */
static bool may_share_row(const struct state_case *of, int64_t a, int64_t i, int64_t b, int64_t j)
{
    enum plan_sharing shared = of->plan->state->shared;
    if (shared != SHARED_PREFIX)
        return shared == SHARED_YES;
    bool full =
        state_length(of, a) >= (i + 1) * of->page && state_length(of, b) >= (j + 1) * of->page;
    return i == j && full && same_prefix(of, a, b, i);
}

static bool shares(const struct state_case *of, const struct owner *first, int64_t sequence,
                   int64_t number, struct state_report *report)
{
    if (sequence != first->sequence &&
        may_share_row(of, first->sequence, first->number, sequence, number))
        return false;
    return state_find(report, "shared",
                      "page %lld of '%s' is entry %d of sequence %d and entry %lld of sequence "
                      "%lld in '%s'",
                      (long long)first->what, cache_name(of), first->number, first->sequence,
                      (long long)number, (long long)sequence,
                      rule_array_name(of, of->plan->state->table));
}

static bool read_shared(const struct state_case *of, struct state_report *report)
{
    struct owners owners;
    int64_t sequences = of->view->table.bytes ? state_sequences(of) : 0, seen = 0;
    owners_clear(&owners);
    for (int64_t n = 0; n < sequences; n++) {
        for (int64_t i = 0; i < used_pages(of, n) && seen < MOST_OWNED; i++, seen++) {
            const struct owner *first = owners_add(&owners, state_page(of, n, i * of->page), n, i);
            if (first && shares(of, first, n, i, report))
                return true;
        }
    }
    return false;
}

/* The first bytes of a place, or NULL. Of a dense cache the copy may end with the places that are
 * read. */
static const uint8_t *head_of(const struct state_case *of, int64_t sequence, int64_t place)
{
    const struct state_heads *heads = &of->view->heads;
    bool paged = of->view->table.bytes != NULL;
    int64_t block = paged && heads->numbered ? sequence_first(of, sequence) + place / of->page
                                             : state_page(of, sequence, place);
    int64_t at = paged ? place % of->page : place;
    if (!heads->bytes || (paged && heads->page != of->page) || at >= heads->page || block < 0 ||
        block >= heads->blocks)
        return NULL;
    return heads->bytes + (size_t)(block * heads->page + at) * heads->width;
}

static bool page_blank(const struct state_case *of, int64_t sequence, int64_t number,
                       struct state_report *report)
{
    static const uint8_t zeros[STATE_HEAD];
    int64_t end = state_length(of, sequence);
    if (end > (number + 1) * of->page)
        end = (number + 1) * of->page;
    for (int64_t place = number * of->page; place < end; place++) {
        const uint8_t *head = head_of(of, sequence, place);
        if (!head || memcmp(head, zeros, of->view->heads.width))
            continue;
        return state_find(report, "blank",
                          "sequence %lld reads place %lld of %lld, in page %lld of '%s', which was "
                          "never written: it holds zeros",
                          (long long)sequence, (long long)place,
                          (long long)state_length(of, sequence),
                          (long long)state_page(of, sequence, place), cache_name(of));
    }
    return false;
}

static void add_live(const struct state_case *of, int64_t row, struct state_live *out)
{
    if (out->count < STATE_LIVE && row >= 0 && row < of->rows * (of->page > 0 ? of->page : 1) &&
        !row_is_null(of, row))
        out->row[out->count++] = row;
}

void state_live(const struct state_case *of, struct state_live *out)
{
    const struct state_ids *ids = &of->view->append;
    uint64_t draw = of->check->launch * 0x9e3779b97f4a7c15u >> 8;
    int64_t sequences = of->view->table.bytes ? state_sequences(of) : 0;
    *out = (struct state_live){.cache = of->check->moment_of_state.cache};
    for (uint64_t i = 0; ids->bytes && ids->count > 0 && i < STATE_LIVE; i++)
        add_live(of, state_id(ids, (int64_t)((draw + i) % (uint64_t)ids->count)), out);
    for (uint64_t i = 0; sequences > 0 && i < STATE_LIVE; i++) {
        int64_t n = (int64_t)((draw + i) % (uint64_t)sequences), pages = used_pages(of, n);
        if (pages > 0)
            add_live(of,
                     state_page(of, n, (int64_t)((draw >> 16) + i) % pages * of->page) * of->page,
                     out);
    }
}

bool state_rules(const struct state_case *of, struct state_report *report)
{
    static bool (*const of_launch[])(const struct state_case *, struct state_report *) = {
        append_beyond, append_twice, append_changed, csr_beyond, read_long};
    static bool (*const of_page[])(const struct state_case *, int64_t, int64_t,
                                   struct state_report *) = {page_beyond, page_null, page_blank};
    for (size_t i = 0; i < sizeof(of_launch) / sizeof(of_launch[0]); i++) {
        if (of_launch[i](of, report))
            return true;
    }
    for (size_t i = 0; i < sizeof(of_page) / sizeof(of_page[0]); i++) {
        if (each_page(of, report, of_page[i]))
            return true;
    }
    return read_shared(of, report);
}
